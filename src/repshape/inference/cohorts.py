"""Distances between all networks of a cohort, corrected for noise, with intervals and floors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape.errors import InputError, check_integer
from repshape.inference.estimates import Moments, Settings, distance_interval
from repshape.inference.floor import split_distances
from repshape.inference.halves import replicates, unbiased
from repshape.inference.jackknife import jackknife_error
from repshape.inference.subspaces import check_subspaces
from repshape.inference.terms import Term, Terms, check_metric
from repshape.io.cohort import Cohort
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.base import ShapeMetric, check_same_conditions, in_one_space
from repshape.pairwise.run import pairwise
from repshape.responses import Trials, as_trials

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EstimatedMatrix:
    """Distances between all networks of a cohort, with their intervals and noise floors.

    Attributes
    ----------
    matrix : DistanceMatrix
        Estimates of the distances that infinitely many trials would give. Negative where the
        squared estimate is.
    plug_in : DistanceMatrix
        The distances without any correction, as `repshape.pairwise` returns them.
    low, high : arrays of shape (K, K)
        Ends of the intervals of ``matrix``; zero on the diagonal.
    standard_errors : array of shape (K, K)
    floors : array of shape (K, K)
        What ``plug_in`` would be if the two networks of a pair were equal.
    network_floors : array of shape (K,)
        The noise floor of each network.
    level : float
        Nominal coverage of the intervals.
    method : str
    n_groups, random_state : int
    overlap : float or None
        The least agreement of two halves of a network's trials about its principal components.
    """

    matrix: DistanceMatrix
    plug_in: DistanceMatrix
    low: FloatArray
    high: FloatArray
    standard_errors: FloatArray
    floors: FloatArray
    network_floors: FloatArray
    level: float
    method: str
    n_groups: int
    random_state: int
    overlap: float | None

    @property
    def floor_share(self) -> float:
        """Fraction of the mean squared plug-in distance that noise alone produces."""
        upper = np.triu_indices(len(self.matrix), 1)
        total = float(np.mean(self.plug_in.values[upper] ** 2))
        return float(np.mean(self.floors[upper] ** 2) / total) if total else float("nan")

    def to_frame(self) -> pd.DataFrame:
        """Return a row per pair."""
        names = self.matrix.labels
        i, j = np.triu_indices(len(names), 1)
        return pd.DataFrame(
            {
                "x": [names[k] for k in i],
                "y": [names[k] for k in j],
                "estimate": self.matrix.values[i, j],
                "low": self.low[i, j],
                "high": self.high[i, j],
                "standard_error": self.standard_errors[i, j],
                "plug_in": self.plug_in.values[i, j],
                "floor": self.floors[i, j],
            }
        )

    def __str__(self) -> str:
        upper = np.triu_indices(len(self.matrix), 1)
        clear = int(np.count_nonzero(self.low[upper] > 0))
        return (
            f"{len(self.matrix)} networks: {clear} of {len(upper[0])} distances are above 0 at "
            f"level {self.level:g}; noise alone gives {100 * self.floor_share:.0f} % of the mean "
            "squared plug-in distance."
        )


def matrix(
    cohort: Cohort | Iterable[Any],
    metric: ShapeMetric[Any] | None = None,
    *,
    n_groups: int = 10,
    n_splits: int = 20,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> EstimatedMatrix:
    """Estimate the distances between all networks, with intervals and noise floors.

    The estimates are those of `distance` with ``method="halves"``: each network is divided into
    halves in the same way for all of its pairs, so the distances within networks are computed
    once. A pair needs about 110 alignments with 10 groups.

    Parameters
    ----------
    cohort : Cohort, mapping or iterable of K networks with trials
    metric : ShapeMetric, optional
        By default ``GaussianShapeMetric()``. Preprocessing is fitted anew in every half.
    n_groups : int
        Number of groups of trials of the jackknife.
    n_splits : int
        Number of random splits for each network's noise floor.
    level : float
        Nominal coverage of the intervals, each by itself: they are not simultaneous.
    random_state : int
        Seed. The result is exactly the same for any number of workers.
    workers, progress
        As in `repshape.pairwise`.

    Notes
    -----
    All networks are compared with the number of trials of the network that has fewest, condition
    by condition. Estimates may be negative, and need not satisfy the triangle inequality. Use
    them to judge distances; for embeddings and neighbours, `repshape.repair` makes them a metric.

    Examples
    --------
    >>> x, y = np.random.default_rng(0).normal(size=(2, 5, 20, 2))
    >>> found = matrix({"one": x, "same": y, "other": 2 * y + 1})
    >>> found.to_frame()[["x", "y"]][found.to_frame()["low"] > 0].values.tolist()
    [['one', 'other'], ['same', 'other']]
    """
    settings = Settings.checked(
        "halves", n_groups, None, None, level, random_state, workers, progress
    )
    check_integer("n_splits", n_splits, 1)
    chosen = check_metric(metric)
    networks, names = read_cohort(cohort)
    chosen = in_one_space(chosen, networks)
    overlap = check_subspaces(networks, chosen, random_state, stacklevel=3)
    exact = unbiased(chosen)
    i, j = np.triu_indices(len(networks), 1)
    terms = tuple(Term(exact, *pair) for pair in zip(i.tolist(), j.tolist(), strict=True))
    found = replicates(Terms(tuple(networks), terms), settings)
    squares = [
        split_distances(one, chosen, n_splits, random_state, workers, progress) for one in networks
    ]
    floors = np.array([float(np.mean(one)) / 2 for one in squares])
    plug_in = pairwise(networks, chosen, workers=workers, progress=progress, **names)
    cells = np.array([_interval(found[:, k], level) for k in range(len(i))]).reshape(-1, 4)
    values, low, high, errors = (_square(column, i, j, len(networks)) for column in cells.T)
    pair_floors = (floors[:, None] + floors[None, :]) / 2 * ~np.eye(len(floors), dtype=bool)
    return EstimatedMatrix(
        matrix=plug_in.replace(values=values, lower_bounds=None, converged=None),
        plug_in=plug_in,
        low=low,
        high=high,
        standard_errors=errors,
        floors=_roots(pair_floors),
        network_floors=_roots(floors),
        level=level,
        method="matched halves",
        n_groups=len(found) - 1,
        random_state=random_state,
        overlap=overlap,
    )


def read_cohort(cohort: Cohort | Iterable[Any]) -> tuple[list[Trials], dict[str, Any]]:
    """Return the networks of a cohort with trials, and their labels and metadata if any."""
    names = {
        "labels": getattr(cohort, "labels", None),
        "metadata": getattr(cohort, "metadata", None),
    }
    items: Sequence[Any]
    if isinstance(cohort, Mapping):
        names, items = {"labels": [str(key) for key in cohort]}, list(cohort.values())
    else:
        items = list(cohort)
    networks = [as_trials(one, f"network {k}") for k, one in enumerate(items)]
    if len(networks) < 2:
        raise InputError(f"There must be at least two networks. Got {len(networks)}.")
    for one in networks[1:]:
        check_same_conditions(networks[0], one)
    return networks, names


def _interval(column: FloatArray, level: float) -> tuple[float, float, float, float]:
    """Return estimate, ends and standard error of a distance from its replicates (1 + G,)."""
    covariance, quantile = jackknife_error(column[1:, None], level)
    value, ends, error = distance_interval(Moments(column[:1], covariance, quantile))
    return value, *ends, error


def _square(
    column: FloatArray, i: npt.NDArray[np.intp], j: npt.NDArray[np.intp], count: int
) -> FloatArray:
    out = np.zeros((count, count))
    out[i, j] = column
    return out + out.T


def _roots(squared: FloatArray) -> FloatArray:
    return np.copysign(np.sqrt(np.abs(squared)), squared)
