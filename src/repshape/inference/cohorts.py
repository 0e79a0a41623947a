"""Distances between all networks of a cohort, corrected for noise, with intervals and floors."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._compact import compact_repr
from repshape.engine.run import pairwise
from repshape.errors import FewTrialsWarning, check_integer, one_warning_each
from repshape.inference.calibrated import Calibrated, plan_parts
from repshape.inference.columns import read_networks
from repshape.inference.estimates import Settings, distance_interval
from repshape.inference.floor import check_floor, squared_floors
from repshape.inference.part_store import PartStore, run_rows, store_folder
from repshape.inference.subspaces import check_subspaces
from repshape.inference.terms import Term, Terms, check_metric
from repshape.io.cohort import Cohort
from repshape.io.json import plain
from repshape.io.matched import N_DRAWS, Matching
from repshape.matrix.averages import average_draws, mean_square
from repshape.matrix.distances import DistanceMatrix
from repshape.matrix.error_bars import ErrorBars
from repshape.metrics.base import ShapeMetric, in_one_space
from repshape.metrics.identity import describe
from repshape.responses import as_trials
from repshape.store.identity import Identity

FloatArray = npt.NDArray[np.float64]
# The array of a store with squared floors. Stores of 0.2 have distances of halves in "floors".
FLOORS = "network_floors"


@compact_repr
@dataclass(frozen=True, eq=False)
class EstimatedMatrix:
    """Distances between all networks of a cohort, with their intervals and noise floors.

    Attributes
    ----------
    matrix : DistanceMatrix
        Estimates of the distances that infinitely many trials would give. Negative where the
        squared estimate is. Its ``error_bars`` carry the intervals and floors along, also through
        `DistanceMatrix.save`.
    plug_in : DistanceMatrix
        The distances without any correction, as `repshape.pairwise` returns them.
    network_floors : array of shape (K,)
        The noise floor of each network.
    n_groups, random_state : int
    overlap : float or None
        The least agreement of two halves of a network's trials about its principal components.
    """

    matrix: DistanceMatrix
    plug_in: DistanceMatrix
    network_floors: FloatArray
    n_groups: int
    random_state: int
    overlap: float | None

    @property
    def error_bars(self) -> ErrorBars:
        """Intervals and floors by pair; the error bars of ``matrix``."""
        bars = self.matrix.error_bars
        assert bars is not None
        return bars

    @property
    def low(self) -> FloatArray:
        """Lower ends of the intervals, (K, K)."""
        return self.error_bars.low

    @property
    def high(self) -> FloatArray:
        """Upper ends of the intervals, (K, K)."""
        return self.error_bars.high

    @property
    def standard_errors(self) -> FloatArray:
        """Standard errors of the distances, (K, K)."""
        return self.error_bars.standard_errors

    @property
    def floors(self) -> FloatArray:
        """What ``plug_in`` would be if the two networks of a pair were equal, (K, K)."""
        return self.error_bars.floors

    @property
    def level(self) -> float:
        """Nominal coverage of the intervals."""
        return self.error_bars.level

    @property
    def floor_share(self) -> float:
        """Fraction of the mean squared plug-in distance that noise alone produces."""
        return self.error_bars.floor_share

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
        return self.matrix.summary()


def matrix(
    cohort: Cohort | Iterable[Any],
    metric: ShapeMetric[Any] | None = None,
    *,
    n_groups: int = 8,
    n_splits: int = 20,
    level: float = 0.9,
    match: str | Sequence[str] | None = None,
    n_draws: int = N_DRAWS,
    random_state: int = 0,
    store: str | os.PathLike[str] | None = None,
    scheduler: Any = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> EstimatedMatrix:
    """Estimate the distances between all networks, with intervals and noise floors.

    The estimates are those of `distance` with ``method="calibrated"``. Each network is divided in
    the same way for all of its pairs: its quarters and halves are prepared once, and the distances
    within networks are computed once. A pair needs 84 brief searches, and 168 that begin where one
    of these ended.

    Parameters
    ----------
    cohort : Cohort, mapping or iterable of K networks with trials
    metric : ShapeMetric, optional
        By default ``GaussianShapeMetric()``. Preprocessing is fitted separately in every part.
    n_groups : int
        Number of groups of trials of the jackknife: a multiple of four, at most half of the number
        of trials; other numbers are rounded down. 8 by default.
    n_splits : int
        Number of random splits for each network's noise floor.
    level : float
        Nominal coverage of the intervals, each by itself: they are not simultaneous.
    match : {"neurons", "trials"}, or both, optional
        Estimate the distances between networks of the same size, as in `repshape.pairwise`:
        squared estimates, ends of intervals and floors are averaged over ``n_draws`` draws. The
        draws share trials, so the averaged intervals are wider than necessary rather than narrower.
        Refused with a store.
    n_draws : int
        Number of draws if ``match`` is given, each of which takes as long as the whole otherwise.
    random_state : int
        Seed. The result is exactly the same for any number of workers.
    store : path, optional
        A folder in which every part is saved as soon as it is finished: the parts of the trials,
        the floor of each network, and the plug-in distances as a store of `repshape.pairwise`. An
        interrupted run resumes when you repeat the call, and gives the same bits. The store
        belongs to these networks, metric and settings; others are refused.
    scheduler : str or distributed.Client, optional
        Address of a Dask scheduler. Its workers compute parts and floors, with the same bits; the
        plug-in distances are computed here.
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
    if match is not None:
        options: dict[str, Any] = {"n_groups": n_groups, "n_splits": n_splits, "level": level}
        options |= {"scheduler": scheduler, "workers": workers, "progress": progress}
        matching = Matching.checked(match, n_draws, random_state, store)
        return _average(cohort, matching, partial(matrix, metric=metric, **options))
    settings = Settings.checked(
        "calibrated", n_groups, None, None, level, random_state, workers, progress
    )
    check_integer("n_splits", n_splits, 1)
    chosen = check_metric(metric)
    given, names = read_networks(cohort)
    networks = [as_trials(one, f"network {k}") for k, one in enumerate(given)]
    for one in networks:
        check_floor(one)
    folder = store_folder(store, "estimates")
    chosen = in_one_space(chosen, networks)
    overlap = check_subspaces(networks, chosen, random_state, stacklevel=3)
    exact = chosen._unbiased()
    i, j = np.triu_indices(len(networks), 1)
    terms = tuple(Term(exact, *pair) for pair in zip(i.tolist(), j.tolist(), strict=True))
    plan = plan_parts(Terms(tuple(networks), terms), settings)
    shapes = {"parts": (len(plan.tasks), plan.width), FLOORS: (len(networks), n_splits)}
    kept = None
    if folder is not None:
        cohort = Cohort.from_networks(networks, names.get("labels"))
        identity = Identity(plain(describe(chosen)), cohort.labels, cohort.verify())
        numbers = {"n_splits": n_splits, "random_state": random_state}
        kept = PartStore(folder, identity, {"n_groups": settings.n_groups} | numbers, shapes)
    run = partial(run_rows, store=kept, workers=workers, progress=progress, scheduler=scheduler)
    found = Calibrated(plan.collect(run(plan.solve, plan.tasks, name="parts")))
    found.warn(plan.terms)
    floors_of = partial(squared_floors, metric=chosen, n_splits=n_splits, random_state=random_state)
    floors = run(floors_of, networks, name=FLOORS).mean(axis=1)
    options = {"workers": workers, "progress": progress, **names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewTrialsWarning)  # which has been given
        plug_in = pairwise(networks, chosen, store=store_folder(store, "plug_in"), **options)
    return EstimatedMatrix(
        matrix=_with_bars(plug_in, found, floors, level),
        plug_in=plug_in,
        network_floors=_roots(floors),
        n_groups=plan.n_groups,
        random_state=random_state,
        overlap=overlap,
    )


def _average(
    cohort: Cohort | Iterable[Any], matching: Matching, estimate: Callable[..., EstimatedMatrix]
) -> EstimatedMatrix:
    """Return estimates of distances between networks of the same size, averaged over draws."""
    networks, names = read_networks(cohort)
    drawn, about = matching.draw(Cohort.from_networks(networks, **names))
    seeds = range(matching.random_state, matching.random_state + len(drawn))
    with one_warning_each():
        found = [estimate(one, random_state=k) for one, k in zip(drawn, seeds, strict=True)]
    overlaps = [one.overlap for one in found if one.overlap is not None]
    return EstimatedMatrix(
        matrix=average_draws([one.matrix for one in found], about),
        plug_in=average_draws([one.plug_in for one in found], about),
        network_floors=mean_square([one.network_floors for one in found]),
        n_groups=found[0].n_groups,
        random_state=matching.random_state,
        overlap=min(overlaps, default=None),
    )


def _with_bars(
    plug_in: DistanceMatrix, found: Calibrated, floors: FloatArray, level: float
) -> DistanceMatrix:
    """Return the corrected distances with their error bars, given squared floors by network."""
    K = len(plug_in)
    i, j = np.triu_indices(K, 1)
    rows = [
        (one.value, *one.ends, one.standard_error) for one in found.each(level, distance_interval)
    ]
    values, low, high, errors = (_square(column, i, j, K) for column in np.array(rows).T)
    pair_floors = (floors[:, None] + floors[None, :]) / 2 * ~np.eye(K, dtype=bool)
    bars = ErrorBars(low, high, errors, plug_in.values, _roots(pair_floors), level, found.method)
    return plug_in.replace(values=values, lower_bounds=None, converged=None, error_bars=bars)


def _square(
    column: FloatArray, i: npt.NDArray[np.intp], j: npt.NDArray[np.intp], count: int
) -> FloatArray:
    out = np.zeros((count, count))
    out[i, j] = column
    return out + out.T


def _roots(squared: FloatArray) -> FloatArray:
    return np.copysign(np.sqrt(np.abs(squared)), squared)
