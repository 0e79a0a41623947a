"""Write the networks of a finished study into the package, for `repshape.datasets.load_vaes`.

python -m experiments.vae.cohort DIR
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.common.results import read_results
from experiments.common.stores import alpha_name
from experiments.vae.cohorts import (
    SPRITES,
    Group,
    complete_plans,
    metadata_of,
    read_networks,
    spaced,
)
from experiments.vae.data import load_data
from experiments.vae.run import Study
from experiments.vae.settings import PAPER_INITIALISATIONS
from experiments.vae.sprites import SHAPES, factors_of
from repshape.datasets import vaes
from repshape.errors import InputError

LEFT_OUT = ("cell", "training_reconstruction", "explained")


def condition_names(study: Study) -> list[str]:
    """Return the factors of every image, such as "heart, scale 5, orientation 39, x 31, y 0"."""
    size = study.settings["dsprites"]
    data = load_data("dsprites", study.images, size.architecture.side, size.n_held_out)
    chosen = data.held_out[spaced(study.measure.n_images, size.n_held_out)]
    return [
        f"{SHAPES[shape]}, scale {scale}, orientation {orientation}, x {x}, y {y}"
        for shape, scale, orientation, x, y in factors_of(chosen).tolist()
    ]


def write_cohort(study: Study, package: Path) -> list[Path]:
    """Write networks and distances into a folder; return the files."""
    counts = read_results(study.out)[0]["networks"][SPRITES.name]
    if counts["measured"] < counts["planned"]:
        raise InputError(
            f"Only {counts['measured']} of {counts['planned']} networks are measured. Finish the "
            "steps 'train', 'score' and 'measure' first."
        )
    untrained = [Group("dsprites", one, False) for one in PAPER_INITIALISATIONS]
    groups = [SPRITES, *untrained]
    plans = [plan for group in groups for plan in complete_plans(study, group)]
    networks = read_networks(study, plans, study.measure.n_images)
    frame = metadata_of(study, plans).drop(columns=list(LEFT_OUT)).dropna(axis="columns", how="all")
    files = [package / vaes.NETWORKS.name, package / vaes.DISTANCES.name]
    means = np.stack([network.means for network in networks])
    log_variances = np.log(np.stack([network.variances for network in networks]))
    vaes.write_vaes(files[0], means, log_variances, frame, condition_names(study))
    arrays = read_results(study.out)[1]
    condensed = {a: arrays[f"{SPRITES.name}/{alpha_name(a)}"] for a in vaes.ALPHAS}
    vaes.write_distances(files[1], condensed, frame[frame["trained"]])
    return files


def main(
    out: Annotated[Path, typer.Argument(help="Folder of a finished study of the small scale.")],
    package: Annotated[Path, typer.Option(help="Where to write the files.")] = (
        vaes.NETWORKS.parent
    ),
    images: Annotated[Path | None, typer.Option(help="As in the study.")] = None,
) -> None:
    """Write the networks of a study into the package."""
    for file in write_cohort(Study.of_scale("small", out, images), package):
        typer.echo(f"wrote {file} ({file.stat().st_size / 1e6:.1f} MB)", err=True)


if __name__ == "__main__":
    typer.run(main)
