"""Keep networks of a study in few bytes: their records, and the latents that are measured.

python -m experiments.vae.keep DIR --only cifar10

Weights are left out, and latents are rounded to half precision, so that a repository can hold them.
To compute distances that can be repeated from what is kept, copy the folders to ``networks`` of a
study before measuring it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from experiments.common import files
from experiments.vae.__main__ import Dataset
from experiments.vae.cohorts import spaced
from experiments.vae.run import KEPT, LATENTS, Study

Arrays = dict[str, npt.NDArray[Any]]
# Latents of one step, and of several along the training: images are the last axis but one.
ROUNDED = ("means", "log_variances", "checkpoint_means", "checkpoint_log_variances")


def measured_latents(stored: Arrays, n_images: int) -> Arrays:
    """Return the latents of the images that are measured, in half precision.

    >>> kept = measured_latents({"means": np.ones((4, 1)), "log_variances": np.ones((4, 1))}, 2)
    >>> kept["means"].shape, kept["means"].dtype
    ((2, 1), dtype('float16'))
    """
    chosen = spaced(n_images, len(stored["means"]))
    return {
        name: values[..., chosen, :].astype(np.float16) if name in ROUNDED else values
        for name, values in stored.items()
    }


def keep_networks(study: Study, target: Path) -> list[Path]:
    """Write the finished networks of a study into a folder; return a folder for each."""
    found = []
    for plan in study.plans():
        source = study.folder(plan)
        if not (source / files.RECORD).exists():
            continue
        folder = target / plan.name
        files.prepare_network_folder(folder)
        with np.load(source / LATENTS, allow_pickle=False) as stored:
            kept = measured_latents(dict(stored), study.measure.n_images)
        with files.write_whole(folder / LATENTS) as handle:
            np.savez_compressed(handle, allow_pickle=False, **kept)
        shutil.copy(source / files.RECORD, folder / files.RECORD)
        found.append(folder)
    return found


def main(
    out: Annotated[Path, typer.Argument(help="Folder of a study of the small scale.")],
    only: Annotated[Dataset, typer.Option(help="Keep the networks of this data set.")],
    target: Annotated[Path, typer.Option(help="Where to keep them.")] = KEPT,
) -> None:
    """Keep the networks of a data set, without weights."""
    found = keep_networks(Study.of_scale("small", out, None, only.value), target)
    size = sum(path.stat().st_size for folder in found for path in folder.iterdir())
    typer.echo(f"kept {len(found)} networks in {size / 1e6:.1f} MB", err=True)


if __name__ == "__main__":
    typer.run(main)
