"""Keep finished networks of a study in one file, which the commands read with ``--kept``.

python -m experiments.vae.keep DIR --only dsprites --round confirmation --seeds 10

Records, scores and the latents of the images that are measured are kept; weights are not. Latents
of MNIST and CIFAR-10 are rounded to half precision, so that a repository can hold them. Untrained
networks of the confirmation are left out: their seeds give them again in seconds.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from experiments.common import files
from experiments.common.archives import (
    Arrays,
    Contents,
    NetworkFiles,
    add_to_archive,
    archive_name,
    require_finished,
)
from experiments.common.command import reported
from experiments.common.options import Part, PartOption, Seeds
from experiments.common.rounds import PILOT, read_seeds
from experiments.vae.__main__ import Dataset
from experiments.vae.cohorts import spaced
from experiments.vae.run import FULL_SCORES, KEPT, LATENTS, SCORES, Study, is_scored
from experiments.vae.settings import UNTRAINED, NetworkPlan

# Latents of one step, and of several along the training: images are the last axis but one.
PER_IMAGE = ("means", "log_variances", "checkpoint_means", "checkpoint_log_variances")
EXACT = "dsprites"  # whose latents are not rounded


def measured_latents(stored: Arrays, n_images: int, *, exact: bool = False) -> Arrays:
    """Return the latents of the images that are measured, in half precision unless exact.

    >>> kept = measured_latents({"means": np.ones((4, 1)), "log_variances": np.ones((4, 1))}, 2)
    >>> kept["means"].shape, kept["means"].dtype
    ((2, 1), dtype('float16'))
    """
    chosen = spaced(n_images, len(stored["means"]))
    found = {}
    for name, values in stored.items():
        if name in PER_IMAGE:
            values = values[..., chosen, :]
            values = values if exact else values.astype(np.float16)
        found[name] = values
    return found


def kept_contents(stored: NetworkFiles, n_images: int, *, exact: bool) -> Contents:
    """Return what is kept of one network."""
    texts = [name for name in (files.RECORD, SCORES, FULL_SCORES) if stored.has(name)]
    latents = measured_latents(stored.arrays(LATENTS), n_images, exact=exact)
    return {LATENTS: latents} | {name: stored.read(name) for name in texts}


def keep_networks(study: Study, part: str, target: Path) -> Path:
    """Add the networks of one data set, of the study's seeds, to its archive; return it."""
    dataset = study.only or EXACT
    plans = [plan for plan in study.plans() if part == PILOT or plan.objective != UNTRAINED]
    require_finished({plan.name: _is_finished(study, plan) for plan in plans})
    networks = {
        plan.name: kept_contents(
            study.network(plan), study.measure.n_images, exact=dataset == EXACT
        )
        for plan in plans
    }
    path = target / archive_name(study.scale, dataset, part)
    settings = asdict(study.settings[dataset])
    stated = {"study": "vae", "dataset": dataset, "scale": study.scale, "round": part}
    add_to_archive(path, networks, {**stated, "settings": settings})
    return path


def _is_finished(study: Study, plan: NetworkPlan) -> bool:
    stored = study.network(plan)
    return stored.has(files.RECORD) and (not is_scored(plan) or stored.has(SCORES))


def main(
    out: Annotated[Path, typer.Argument(help="Folder of a study of the small scale.")],
    only: Annotated[Dataset, typer.Option(help="Keep the networks of this data set.")],
    target: Annotated[Path, typer.Option(help="Where to keep them.")] = KEPT,
    part: PartOption = Part.PILOT,
    seeds: Seeds = None,
) -> None:
    """Keep the networks of a data set, without weights."""
    with reported(Console(stderr=True)):
        chosen = read_seeds(seeds)
        study = Study.of_scale("small", out, None, only.value, part.value, chosen)
        path = keep_networks(study, part.value, target)
    typer.echo(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)", err=True)


if __name__ == "__main__":
    typer.run(main)
