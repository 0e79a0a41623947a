"""A matrix of distances in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from repshape.matrix.distances import DistanceMatrix

# A gap between a distance and its proven lower bound that is worth mentioning.
LARGE_GAP = 0.05


def summarise(D: DistanceMatrix) -> str:
    """Return what a matrix holds, and how far to trust it, in sentences; see `summary`."""
    known = D.condensed()[~np.isnan(D.condensed())]
    lines = [_size(D)]
    if len(known):
        lines += [_range(D), *_search(D), *_sizes(D), *_noise(D)]
    return "\n".join(lines)


def _size(D: DistanceMatrix) -> str:
    metric = str(D.description.get("metric") or "")
    words = f"{len(D)} network{'s' * (len(D) != 1)}, {D.condensed().size} pairs"
    words += f", {metric}." if metric else "."
    if D.n_missing:
        words += f" {D.n_missing} pairs are not computed yet."
    return words


def _range(D: DistanceMatrix) -> str:
    values = np.where(np.eye(len(D), dtype=bool), np.nan, D.values)
    i, j = np.unravel_index(np.nanargmin(values), D.shape)
    k, m = np.unravel_index(np.nanargmax(values), D.shape)
    words = (
        f"Distances from {values[i, j]:.4g} ({D.labels[i]} and {D.labels[j]}) to "
        f"{values[k, m]:.4g} ({D.labels[k]} and {D.labels[m]}), median {np.nanmedian(values):.4g}."
    )
    negative = int(np.count_nonzero(D.condensed() < 0))
    if negative:
        words += f" {negative} are negative: their true values may be 0."
    return words


def _search(D: DistanceMatrix) -> list[str]:
    lines = []
    if D.n_unconverged:
        lines.append(
            f"The solver stopped before it converged for {D.n_unconverged} pairs. Increase "
            "max_iter or n_starts."
        )
    if D.lower_bounds is not None:
        upper = np.triu_indices(len(D), 1)
        bound, value = D.lower_bounds[upper], D.values[upper]
        open_ = int(np.count_nonzero(bound < (1 - LARGE_GAP) * value))
        if open_:
            lines.append(
                f"For {open_} pairs the proven lower bound is more than {100 * LARGE_GAP:g} % "
                "below the distance, so a better alignment cannot be excluded."
            )
    return lines


def _sizes(D: DistanceMatrix) -> list[str]:
    """Say in which sizes groups differ, by the columns of the metadata."""
    from repshape.inference.factors import size_sentences

    return list(size_sentences(D))


def _noise(D: DistanceMatrix) -> list[str]:
    bars = D.error_bars
    if bars is None:
        return [
            "There are no error bars: the distances include what noise alone produces. "
            "repshape.inference.matrix corrects for it, and repshape.inference.confounds shows how "
            "much is noise and how much overall gain."
        ]
    return [
        f"Corrected for noise ({bars.method}): {bars.n_above_zero} of {D.condensed().size} "
        f"distances are above 0 at level {bars.level:g}.",
        f"Noise alone gives {100 * bars.floor_share:.0f} % of the mean squared distance before "
        "the correction.",
    ]
