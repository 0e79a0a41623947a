"""Draw all figures and write the report, from stored results alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import repshape as rs
from experiments.common import files
from experiments.vae import figure4, supplements
from experiments.vae.analysis import MATRICES, Arrays, read_sample
from experiments.vae.cohorts import SPRITES
from experiments.vae.panels import LABELS
from experiments.vae.results import read_results

# Dates and versions would make equal figures differ.
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 200, "metadata": {"Software": None}},
    "pdf": {"dpi": 300, "metadata": {"CreationDate": None}},
}
REPORT = "report.html"


@dataclass(frozen=True)
class Picture:
    """A figure: its title, how it is drawn, and the entry of the results that it needs."""

    title: str
    draw: Callable[[Mapping[str, Any], Arrays], Figure]
    needs: str


FIGURES = {
    "fig4": Picture("Figure 4", figure4.draw, "neighbors"),
    "supp7": Picture("Supplementary Figure 7", supplements.draw_energy, "neighbors"),
    "supp8": Picture("Supplementary Figure 8", supplements.draw_distortion, "neighbors"),
    "supp9": Picture("Supplementary Figure 9", supplements.draw_others, "distances"),
    "training": Picture("Along the training", supplements.draw_along_training, "along_training"),
    "samples": Picture("Samples of energy distances", supplements.draw_sweep, "sweep"),
}


def draw_all(
    results: Path, out: Path, workers: int, on_start: Callable[[int, int], None]
) -> Iterator[dict[str, Any]]:
    """Draw what the stored results allow, and write the report; yield the name of each."""
    numbers, arrays = read_results(results)
    chosen = drawable(numbers)
    on_start(0, len(chosen) + 1)
    out.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        draw_one(name, numbers, arrays, out, tuple(FORMATS))
        yield {"name": name}
    if f"{SPRITES.name}/labels" in arrays:
        write_report(numbers, arrays, out / REPORT)
    yield {"name": REPORT}


def drawable(numbers: Mapping[str, Any]) -> list[str]:
    """Return the names of the figures that the results allow."""
    return [name for name, one in FIGURES.items() if numbers["numbers"].get(one.needs)]


def draw_one(
    name: str, numbers: Mapping[str, Any], arrays: Arrays, out: Path, formats: tuple[str, ...]
) -> None:
    """Draw one figure and write it in several formats."""
    with rs.plots.style():
        figure = FIGURES[name].draw(numbers, arrays)
        for suffix in formats:
            with files.write_whole(out / f"{name}.{suffix}") as handle:
                figure.savefig(handle, format=suffix, **FORMATS[suffix])


def write_report(numbers: Mapping[str, Any], arrays: Arrays, path: Path) -> None:
    """Write the interactive page about the trained sprite networks."""
    sample = read_sample(arrays, SPRITES.name)
    labels = list(sample.metadata.index)
    matrices = {
        LABELS[name]: rs.DistanceMatrix(sample.distances[name], labels, sample.metadata)
        for name in MATRICES
    }
    title = f"VAEs trained on sprites, {numbers['scale']} scale"
    rs.write_report(matrices, path, title=title, progress=False)
