"""Keep finished networks of a study in one file, which the commands read with ``--kept``.

python -m experiments.patch_gaussian.keep DIR --round confirmation --seeds 3
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from experiments.common import files
from experiments.common.archives import Contents, add_to_archive, archive_name, require_finished
from experiments.common.command import reported
from experiments.common.options import Part, PartOption, Seeds
from experiments.common.rounds import read_seeds
from experiments.patch_gaussian.__main__ import Scale, ScaleOption
from experiments.patch_gaussian.run import KEPT, Study


def keep_networks(study: Study, part: str, target: Path) -> Path:
    """Add the networks of the study's seeds, with their weights, to its archive; return it."""
    stored = {plan.name: study.network(plan) for plan in study.plans()}
    require_finished({name: one.has(files.RECORD) for name, one in stored.items()})
    networks: dict[str, Contents] = {
        name: {files.WEIGHTS: one.arrays(files.WEIGHTS), files.RECORD: one.read(files.RECORD)}
        for name, one in stored.items()
    }
    path = target / archive_name(study.scale, "cifar10", part)
    stated = {"study": "patch_gaussian", "dataset": "cifar10", "scale": study.scale, "round": part}
    add_to_archive(path, networks, {**stated, "settings": asdict(study.settings)})
    return path


def main(
    out: Annotated[Path, typer.Argument(help="Folder of a study.")],
    scale: ScaleOption = Scale.SMALL,
    target: Annotated[Path, typer.Option(help="Where to keep them.")] = KEPT,
    part: PartOption = Part.PILOT,
    seeds: Seeds = None,
) -> None:
    """Keep networks with their weights."""
    with reported(Console(stderr=True)):
        study = Study.of_scale(scale.value, out, None, part.value, read_seeds(seeds))
        path = keep_networks(study, part.value, target)
    typer.echo(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)", err=True)


if __name__ == "__main__":
    typer.run(main)
