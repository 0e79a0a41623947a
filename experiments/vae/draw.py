"""Draw all figures and write the report, from stored results alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import repshape as rs
from experiments.common.drawing import Picture, Pictures
from experiments.common.panels import LABELS
from experiments.common.results import Arrays, read_results
from experiments.common.samples import read_sample
from experiments.vae import figure4, supplements
from experiments.vae.analysis import MATRICES
from experiments.vae.cohorts import SPRITES

FIGURES = Pictures(
    {
        "fig4": Picture("Figure 4", figure4.draw, "neighbors"),
        "supp7": Picture("Supplementary Figure 7", supplements.draw_energy, "neighbors"),
        "supp8": Picture("Supplementary Figure 8", supplements.draw_distortion, "neighbors"),
        "supp9": Picture("Supplementary Figure 9", supplements.draw_others, "other_distances"),
        "training": Picture("During training", supplements.draw_along_training, "along_training"),
        "samples": Picture("Samples of energy distances", supplements.draw_sweep, "sweep"),
    }
)


def draw_all(
    results: Path, out: Path, workers: int, on_start: Callable[[int, int], None]
) -> Iterator[dict[str, Any]]:
    """Draw what the stored results allow, and write the report; yield the name of each."""
    numbers, arrays = read_results(results)
    compared = f"{SPRITES.name}/labels" in arrays
    report = partial(write_report, numbers, arrays) if compared else None
    yield from FIGURES.draw_all(numbers, arrays, out, on_start, report)


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
