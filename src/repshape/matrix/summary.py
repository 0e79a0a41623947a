"""A matrix of distances in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from repshape._arrays import count
from repshape.matrix.base import Distances

if TYPE_CHECKING:
    from repshape.matrix.distances import DistanceMatrix

FloatArray = npt.NDArray[np.float64]
# A lower bound is mentioned if it is this close to the distance, relative to it, for most pairs.
CLOSE = 0.02


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
    lines += [f"{words}." for words in (doubt_words(D), bound_words(D)) if words]
    return lines


def _sizes(D: DistanceMatrix) -> list[str]:
    """Say in which sizes groups differ, by the columns of the metadata."""
    from repshape.inference.factors import size_sentences

    return list(size_sentences(D))


def doubt_words(D: Distances) -> str:
    """Say how many pairs may be longer than necessary, and by how much; nothing if none.

    >>> from repshape.matrix.distances import DistanceMatrix
    >>> found = {"n_starts": [[1, 8], [8, 1]], "n_agreeing": np.ones((2, 2))}
    >>> doubt_words(DistanceMatrix([[0, 1], [1, 0]], gaps=[[0, 0.02], [0.02, 0]], **found))
    '1 of 1 pair may be longer than necessary, by up to about 10 %'
    """
    total = count(D._pairs(D.values).size, "pair")
    return excess_words(D.n_doubtful, total, largest_excess(D)) if D.n_doubtful else ""


def excess_words(n_doubtful: int, total: str, excess: float | None) -> str:
    """Say how many pairs of a total may be longer than necessary, and by up to what share.

    >>> excess_words(3, "45 pairs", 0.0081)
    '3 of 45 pairs may be longer than necessary, by up to about 0.81 %'
    """
    words = f"{n_doubtful} of {total} may be longer than necessary"
    return f"{words}, by up to about {100 * excess:.2g} %" if excess else words


def largest_excess(D: Distances) -> float | None:
    """Return by about what share a distance may at most be too long; None if that is not known."""
    if D.possible_excess is None:
        return None
    return largest(D._pairs(D.possible_excess))


def largest(shares: FloatArray) -> float | None:
    """Return the largest share that is known, or None."""
    known = shares[~np.isnan(shares)]
    return float(known.max()) if known.size else None


def bound_words(D: DistanceMatrix) -> str:
    """Say for how many pairs the lower bound is close to the distance; nothing unless for most."""
    if D.lower_bounds is None:
        return ""
    upper = np.triu_indices(len(D), 1)
    bound, value = D.lower_bounds[upper], D.values[upper]
    bound, value = bound[~np.isnan(value)], value[~np.isnan(value)]
    close = int(np.count_nonzero(bound >= (1 - CLOSE) * value))
    if 2 * close <= len(value):
        return ""
    total = count(len(value), "pair")
    return (
        f"The proven lower bound is within {100 * CLOSE:g} % of the distance for {close} of {total}"
    )


def _noise(D: DistanceMatrix) -> list[str]:
    bars = D.error_bars
    if bars is None and D.sizes is not None and D.sizes["trials"].isna().all():
        return [
            "Networks have no trials. If their moments are exact, as those of a VAE are, noise "
            "adds nothing to the distances; if they are estimates, it does."
        ]
    if bars is None:
        return [
            "There are no error bars: the distances include what noise alone produces. "
            "repshape.inference.matrix corrects for it, and repshape.inference.confounds shows how "
            "much is noise and how much response strength."
        ]
    return [
        f"Corrected for noise ({bars.method}): {bars.n_above_zero} of {D.condensed().size} "
        f"distances are above 0 at level {bars.level:g}.",
        f"Noise alone gives {100 * bars.floor_share:.0f} % of the mean squared distance before "
        "the correction.",
    ]
