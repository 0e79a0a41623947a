"""Compare networks of twice the width with those of the study, at the corners of its grid.

python -m experiments.patch_gaussian.wide SMALL WIDE
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from experiments.common import files
from experiments.common.results import read_results
from experiments.common.samples import Sample, read_sample
from experiments.common.stores import alpha_name
from experiments.patch_gaussian import statistics as st
from experiments.patch_gaussian.analysis import finite
from experiments.patch_gaussian.claims import ALPHAS, LARGEST_DISTINCT
from experiments.patch_gaussian.figure5 import NETWORKS
from experiments.patch_gaussian.folds import (
    between_seeds,
    correlate_ranks,
    matrix_name,
    patched,
    taus_of,
)
from repshape.errors import InputError

WIDE = "wide.json"
FEWEST = 4  # networks of each width


@dataclass(frozen=True)
class Conclusion:
    """A number of either width, and the threshold that decides which conclusion it supports."""

    name: str
    compute: Callable[[Sample], float]
    threshold: float


def mean_correlation(sample: Sample, first: float, second: float) -> float:
    """Return the rank correlation of two alphas over pairs of seeds, mean over taus."""
    found = []
    for tau in taus_of(sample):
        A, B = (between_seeds(sample, matrix_name(alpha, tau)) for alpha in (first, second))
        found += [correlate_ranks(A[pair].ravel(), B[pair].ravel()) for pair in A]
    return float(np.mean(found)) if found else float("nan")


def accuracy_gain(sample: Sample, noise: str) -> float:
    """Return the accuracy of the cell with the largest W and sigma, minus that of none."""
    part = patched(sample)
    width, sigma = (part.column(name).astype(np.float64) for name in ("width", "sigma"))
    most = (width == width.max()) & (sigma == sigma.max())
    column = f"accuracy-{noise}"
    plain = np.isnan(sample.column("width").astype(np.float64))
    return float(part.column(column)[most].mean() - sample.column(column)[plain].mean())


def nearest_share(sample: Sample, alpha: float) -> float:
    """Return how many networks of other cells are farther than the one of the own cell."""
    return st.mean_of(st.nearest_cells(sample, alpha, 0).folds)


def conclusions(side: int) -> list[Conclusion]:
    """Return what is compared: the direction of the effects that the claims are about."""
    found = [
        Conclusion(f"gain at tau = {noise}", partial(accuracy_gain, noise=noise), 0.0)
        for noise in ("0.1", "0.3")
    ]
    found.append(
        Conclusion(
            "log2(spread of none / spread of robust cells)",
            lambda s: st.mean_of(st.tighter_than_none(s, side).folds),
            0.0,
        )
    )
    found += [
        Conclusion(
            f"networks farther than the one of the own cell, alpha = {alpha:g}",
            partial(nearest_share, alpha=alpha),
            0.5,
        )
        for alpha in ALPHAS
    ]
    found.append(
        Conclusion(
            "rank correlation of alpha 0 and 2",
            lambda s: mean_correlation(s, 0.0, 2.0),
            LARGEST_DISTINCT,
        )
    )
    found.append(
        Conclusion(
            "rank correlation of alpha 1 and 2, minus that of alpha 1 and 0",
            lambda s: mean_correlation(s, 1.0, 2.0) - mean_correlation(s, 1.0, 0.0),
            0.0,
        )
    )
    return found


def compare_widths(small: Sample, wide: Sample, side: int) -> dict[str, Any]:
    """Return the numbers of both widths for the networks that both have.

    ``cells`` has the rank correlation between distances at both widths, over pairs of seeds.
    """
    shared = [name for name in wide.metadata.index if name in set(small.metadata.index)]
    if len(shared) < FEWEST:
        raise InputError(
            f"At least {FEWEST} networks of both widths are needed. Got {len(shared)}."
        )
    own, other = (sample.keep(np.isin(sample.metadata.index, shared)) for sample in (small, wide))
    rows = []
    for one in conclusions(side):
        values = [one.compute(sample) for sample in (own, other)]
        same = (values[0] > one.threshold) == (values[1] > one.threshold)
        rows.append(
            {
                "name": one.name,
                "threshold": one.threshold,
                "small": finite(values[0]),
                "wide": finite(values[1]),
                "same": bool(same) if np.isfinite(values).all() else None,
            }
        )
    return {"networks": shared, "conclusions": rows, "cells": _cell_correlations(own, other)}


def _cell_correlations(own: Sample, other: Sample) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for tau in taus_of(own):
        row = {}
        for alpha in ALPHAS:
            A, B = (between_seeds(one, matrix_name(alpha, tau)) for one in (own, other))
            values = [correlate_ranks(A[pair].ravel(), B[pair].ravel()) for pair in A]
            row[alpha_name(alpha)] = finite(np.mean(values)) if values else None
        found[f"{tau:g}"] = row
    return found


def read_wide(folder: Path) -> dict[str, Any]:
    """Return the comparison, or nothing if it was not made."""
    path = folder / WIDE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def main(
    small: Annotated[Path, typer.Argument(help="Folder of the measured small study.")],
    wide: Annotated[Path, typer.Argument(help="Folder of the measured wide networks.")],
) -> None:
    """Write the comparison into the folder of the small study."""
    (own, own_arrays), (other, other_arrays) = (read_results(folder) for folder in (small, wide))
    samples = [read_sample(arrays, NETWORKS) for arrays in (own_arrays, other_arrays)]
    found = compare_widths(samples[0], samples[1], own["settings"]["side"])
    found["manipulation"] = other["numbers"]["manipulation"]
    files.write_json(small / WIDE, found)
    same = [row["same"] for row in found["conclusions"]]
    typer.echo(f"{same.count(True)} of {len(same)} conclusions are the same at both widths.")


if __name__ == "__main__":
    typer.run(main)
