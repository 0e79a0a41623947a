"""Convert spike counts of macaque V1 into the file that this study reads.

python -m experiments.brain.macaque DIR --axes zoom,category,movie,frame,unit,repeat --out FOLDER

DIR has one file for each population, named after the monkey and the population, such as
``ay2_u003.mat``. A file has one array of counts, as ``.npy`` or as the only variable with six
dimensions of a MATLAB file (not of version 7.3). ``--axes`` says what its dimensions are, in the
order of the file. Missing trials are NaN or negative.

The file of the study is ``macaque_v1_counts.npz``. It has one array of int8 for each population, of
shape (zoom 2, category 2: natural and synthetic, movie 10, frame 11, unit, repeat), where -1 is a
trial that is missing. Frames 0 and 10 of a synthetic sequence are the natural ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console
from scipy.io import loadmat

from experiments.brain.sources import MACAQUE_FILE
from experiments.common.command import reported
from experiments.common.files import write_whole
from repshape.errors import InputError

AXES = ("zoom", "category", "movie", "frame", "unit", "repeat")
SIZES = {"zoom": 2, "category": 2, "movie": 10, "frame": 11}  # of all populations
MISSING, LARGEST = -1, 127


def read_counts(path: Path) -> npt.NDArray[Any]:
    """Return the one array with six dimensions that a file has."""
    if path.suffix == ".npy":
        return np.asarray(np.load(path, allow_pickle=False))
    try:
        found = loadmat(path)
    except (NotImplementedError, ValueError) as error:
        raise InputError(f"{path.name} cannot be read as a MATLAB file before 7.3.") from error
    arrays = [
        one for one in found.values() if isinstance(one, np.ndarray) and one.ndim == len(AXES)
    ]
    if len(arrays) != 1:
        raise InputError(f"{path.name} must have one array of 6 dimensions. Got {len(arrays)}.")
    return arrays[0]


def convert(counts: npt.ArrayLike, axes: Sequence[str], name: str) -> npt.NDArray[np.int8]:
    """Return counts in the order of `AXES`, as int8 with -1 where a trial is missing.

    >>> counts = np.zeros((11, 10, 2, 2, 3, 5))
    >>> counts[0, 0, 0, 0, 2, 4] = np.nan
    >>> found = convert(counts, ("frame", "movie", "zoom", "category", "unit", "repeat"), "a")
    >>> found.shape, int(found.min()), int((found < 0).sum())
    ((2, 2, 10, 11, 3, 5), -1, 1)
    """
    if sorted(axes) != sorted(AXES):
        raise InputError(f"'axes' must name each of {', '.join(AXES)} once. Got {list(axes)}.")
    values = np.asarray(counts, dtype=np.float64)
    if values.ndim != len(AXES):
        raise InputError(f"{name} must have 6 dimensions. Got {values.ndim}.")
    values = values.transpose([list(axes).index(axis) for axis in AXES])
    for axis, expected in SIZES.items():
        size = values.shape[AXES.index(axis)]
        if size != expected:
            raise InputError(f"{name} must have {expected} along {axis!r}. Got {size}.")
    present = values[~(np.isnan(values) | (values < 0))]
    if not np.array_equal(present, np.round(present)) or present.max(initial=0.0) > LARGEST:
        raise InputError(f"{name} must have whole counts up to {LARGEST}. Got others.")
    return np.where(np.isnan(values) | (values < 0), MISSING, values).astype(np.int8)


def convert_folder(folder: Path, axes: Sequence[str], out: Path) -> Path:
    """Write the file of the study from a folder of populations; return its path."""
    files = sorted([*folder.glob("*.npy"), *folder.glob("*.mat")])
    if not files:
        raise InputError(f"The folder must have .npy or .mat files. Got none in {folder}.")
    found = {path.stem: convert(read_counts(path), axes, path.name) for path in files}
    out.mkdir(parents=True, exist_ok=True)
    with write_whole(out / MACAQUE_FILE) as handle:
        np.savez_compressed(handle, allow_pickle=False, **found)
    return out / MACAQUE_FILE


def main(
    folder: Annotated[Path, typer.Argument(help="One file for each population.")],
    axes: Annotated[str, typer.Option(help="Dimensions of the files, in their order.")] = (
        ",".join(AXES)
    ),
    out: Annotated[Path, typer.Option(help="Folder of the converted file.")] = Path(),
) -> None:
    """Convert spike counts of macaque V1 into the file that the study reads."""
    with reported(Console(stderr=True)):
        path = convert_folder(folder, axes.split(","), out)
    typer.echo(f"wrote {path}", err=True)


if __name__ == "__main__":
    typer.run(main)
