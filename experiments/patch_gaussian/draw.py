"""Draw all figures and write the report, from stored results alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import repshape as rs
from experiments.common.drawing import Picture, Pictures
from experiments.common.results import Arrays, read_results
from experiments.common.samples import read_sample
from experiments.patch_gaussian import figure5, new_figures
from experiments.patch_gaussian.claims import ALPHAS, SPREAD_TAU
from experiments.patch_gaussian.folds import matrix_name
from experiments.patch_gaussian.panels import panel_title

FIGURES = Pictures(
    {
        "accuracy": Picture("Accuracy under noise", new_figures.draw_accuracy, "accuracy"),
        "fig5a": Picture("Figure 5 A", figure5.draw_examples, "accuracy"),
        "fig5b": Picture("Figure 5 B", figure5.draw_selected, "accuracy"),
        "supp10": Picture("Supplementary Figure 10", figure5.draw_matrices, "accuracy"),
        "supp11": Picture("Supplementary Figure 11", figure5.draw_embeddings, "accuracy"),
        "neighbors": Picture(
            "Predictions from neighbours", new_figures.draw_neighbors, "neighbors"
        ),
        "mantel": Picture("Correlations between alphas", new_figures.draw_mantel, "mantel"),
        "to_none": Picture(
            "Distances to networks without patches", new_figures.draw_to_none, "to_none"
        ),
    }
)


def draw_all(
    results: Path, out: Path, workers: int, on_start: Callable[[int, int], None]
) -> Iterator[dict[str, Any]]:
    """Draw what the stored results allow, and write the report; yield the name of each."""
    numbers, arrays = read_results(results)
    report = partial(write_report, numbers, arrays)
    yield from FIGURES.draw_all(numbers, arrays, out, on_start, report)


def write_report(numbers: Mapping[str, Any], arrays: Arrays, path: Path) -> None:
    """Write the interactive page about distances at one tau."""
    sample = read_sample(arrays, figure5.NETWORKS)
    labels = list(sample.metadata.index)
    matrices = {
        panel_title(alpha, SPREAD_TAU): rs.DistanceMatrix(
            sample.distances[matrix_name(alpha, SPREAD_TAU)], labels, sample.metadata
        )
        for alpha in ALPHAS
    }
    title = f"Networks trained with Patch-Gaussian augmentation, {numbers['scale']} scale"
    rs.write_report(matrices, path, title=title, progress=False)
