"""Redraw the pages of all studies from stored results, and say what differs from the documentation.

python -m experiments.check [--docs docs]

Nothing is trained or measured. Texts must be equal, and numbers up to rounding errors. Figures must
be equal up to few pixels if they were drawn with the same version of matplotlib; other versions
place text differently, so that only the sizes are compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from matplotlib.image import imread
from PIL import Image

from experiments import standard
from experiments.brain.keep import kept_file
from experiments.brain.page import SHOWN, image_folder, redraw
from experiments.patch_gaussian import page as patch_gaussian
from experiments.vae import page as vae

LARGEST_SHARE = 1e-3  # of the pixels of a figure that may differ
VISIBLE = 0.1  # difference of a pixel, of 1
ROUNDING = 1e-9  # sums of the same numbers differ by less between processors
SIZE_TOLERANCE = 0.02  # between versions of matplotlib

Writer = Callable[[Path], list[Path]]  # writes a page and its figures into a documentation


def writers(docs: Path) -> dict[str, Writer]:
    """Return what writes each page; of visual cortex, only the sources whose distances are kept."""
    found: dict[str, Writer] = {
        "vae": lambda out: vae.write_vae_page(vae.RESULTS_FOLDER, out),
        "patch_gaussian": lambda out: patch_gaussian.write_study_page(
            patch_gaussian.RESULTS_FOLDER, out
        ),
        "standard": lambda out: standard.write_pages(out, docs),
    }
    for source in SHOWN:
        if kept_file(source).exists():
            found[f"brain-{source}"] = lambda out, source=source: _redraw_brain(source, out, docs)  # type: ignore[misc]
    return found


def _redraw_brain(source: str, out: Path, docs: Path) -> list[Path]:
    """Redraw a page of visual cortex beside the results of the other sources."""
    for other in SHOWN:
        stored = docs / image_folder(other) / "results.json"
        if other != source and stored.exists():
            target = out / image_folder(other) / stored.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(stored.read_bytes())
    return redraw(kept_file(source), out)


def differences(write: Writer, docs: Path) -> Iterator[str]:
    """Yield what differs between a page that is redrawn and the one in the documentation."""
    with TemporaryDirectory() as folder:
        for path in write(Path(folder)):
            own = docs / path.relative_to(folder)
            if not own.exists():
                yield f"{own} does not exist"
            elif path.suffix == ".png":
                if not same_figure(path, own):
                    yield f"{own} is not what the stored results give"
            elif path.suffix == ".json":
                if not same_numbers(*(json.loads(one.read_text()) for one in (path, own))):
                    yield f"{own} is not what the stored results give"
            elif path.read_bytes() != own.read_bytes():
                yield f"{own} is not what the stored results give"


def same_numbers(first: Any, second: Any) -> bool:
    """Return whether two JSON values are equal, numbers up to rounding errors.

    >>> same_numbers({"a": [0.1 + 0.2, "b"]}, {"a": [0.3, "b"]}), same_numbers([1.0], [1.001])
    (True, False)
    """
    if isinstance(first, dict) and isinstance(second, dict):
        if first.keys() != second.keys():
            return False
        return all(same_numbers(value, second[key]) for key, value in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same_numbers, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return isclose(first, second, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return type(first) is type(second) and bool(first == second)


def same_figure(first: Path, second: Path) -> bool:
    """Return whether two figures show the same, up to few pixels."""
    one, other = imread(first), imread(second)
    if drawn_with(first) != drawn_with(second):
        ratio = np.divide(one.shape[:2], other.shape[:2])
        return bool(np.abs(ratio - 1).max() <= SIZE_TOLERANCE)
    if one.shape != other.shape:
        return False
    return bool((np.abs(one - other).max(axis=-1) > VISIBLE).mean() <= LARGEST_SHARE)


def drawn_with(path: Path) -> str:
    """Return the program that drew a figure, with its version."""
    with Image.open(path) as image:
        return str(image.info.get("Software", ""))


def main(
    docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
) -> None:
    """Say which pages and figures are not what the stored results give."""
    found = [line for write in writers(docs).values() for line in differences(write, docs)]
    for line in found:
        typer.echo(line)
    raise typer.Exit(1 if found else 0)


if __name__ == "__main__":
    typer.run(main)
