"""Landmark scaling: an embedding of thousands of networks from distances to a few of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import count
from repshape._compact import compact_repr
from repshape.analysis.embedding import Embedding, canonical_axes, embed
from repshape.analysis.lower_bounds import NoBounds
from repshape.analysis.neighbor_job import NeighborJob, own_names
from repshape.analysis.neighbor_search import Limits, NeighborSearch, Pivots, choose_pivots
from repshape.analysis.pair_solver import pair_solver
from repshape.analysis.placement import place_points
from repshape.engine.inputs import as_sequence
from repshape.engine.plan import Settings
from repshape.engine.threads import Metric
from repshape.errors import InputError, check_integer
from repshape.io.cohort import Cohort
from repshape.metrics.base import ShapeMetric
from repshape.metrics.identity import check_identity
from repshape.metrics.registry import check_callable
from repshape.store.header import check_store_path

FloatArray = npt.NDArray[np.float64]
PathLike = str | os.PathLike[str]
LANDMARKS_PER_DIMENSION = 10


@compact_repr
@dataclass(frozen=True, eq=False)
class LandmarkEmbedding(Embedding):
    """Networks as points, from their distances to a few landmarks.

    It has the attributes of `Embedding`, whose stress is over all pairs of a network and a
    landmark, and the following.

    Attributes
    ----------
    landmarks : tuple of str
        Names of the landmarks.
    n_pairs, n_solved : int
        Number of pairs of the whole matrix, and how many of them the landmarks need.
    """

    landmarks: tuple[str, ...] = ()
    n_pairs: int = 0
    n_solved: int = 0

    @property
    def share_solved(self) -> float:
        """Fraction of the pairs of the whole matrix that were needed."""
        return self.n_solved / self.n_pairs if self.n_pairs else 0.0


def embed_landmarks(
    cohort: Cohort | Iterable[Any] | Mapping[str, Any],
    metric: Metric,
    n_components: int = 2,
    *,
    n_landmarks: int | None = None,
    method: str = "metric",
    name: str | None = None,
    store: PathLike | None = None,
    replace: Iterable[str] | None = None,
    workers: int | None = None,
    memory: str | int | None = None,
    progress: bool | None = None,
    random_state: int = 0,
) -> LandmarkEmbedding:
    """Embed many networks from their distances to a few landmarks (de Silva and Tenenbaum, 2004).

    The first landmark is the first network, and each of the others is the network that is farthest
    from those before it. The landmarks are embedded by `repshape.embed`, and then every network is
    placed as by `Embedding.place`. With L landmarks, about L K distances are solved instead of
    K^2 / 2.

    Parameters
    ----------
    cohort : Cohort, or iterable or dict of K networks
    metric : ShapeMetric or callable
    n_components : int
        Dimension of the points.
    n_landmarks : int, optional
        Number of landmarks, more than ``n_components``; by default 10 for each dimension.
    method : {"metric", "classical"}
        As in `repshape.embed`, for landmarks and for all others.
    name, store, replace, workers, memory, progress
        As in `neighbor_graph`. Both can use the same store, and then share solved pairs.
    random_state : int
        Seed of the random starts of metric scaling.

    Returns
    -------
    LandmarkEmbedding
        Its method ``place`` takes new networks.

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = embed_landmarks(points, lambda x, y: float(np.linalg.norm(x - y)), n_landmarks=6)
    >>> found.stress < 1e-6, found.n_solved, found.n_pairs
    (True, 1179, 19900)
    """
    check_integer("n_components", n_components, 1)
    check_callable(metric, name)
    items = as_sequence(cohort, "cohort")
    number = _checked_number(n_landmarks, n_components, len(items))
    safe = isinstance(metric, ShapeMetric)
    settings = Settings.checked(workers=workers, thread_safe=safe, memory=memory, progress=progress)
    if store is not None:
        check_store_path(Path(store))
        check_identity(metric, name)
    labels, frame = own_names(cohort, len(items))
    job = NeighborJob(items, labels, frame, metric, Limits(None, 0.0), settings)
    job.prepare(name, None if store is None else Path(store), replace)
    legs = _solve_legs(job, number)
    job.warn_of_doubt()
    chosen = list(legs.places)
    within = embed(legs.distance[chosen], n_components, method=method, random_state=random_state)
    everyone = place_points(legs.distance, within.points, refine=method == "metric")
    everyone[chosen] = within.points
    return _result(job, legs, within, canonical_axes(everyone))


def _checked_number(given: int | None, n_components: int, total: int) -> int:
    if given is None:
        return min(LANDMARKS_PER_DIMENSION * n_components, total)
    number = check_integer("n_landmarks", given, n_components + 1)
    if number > total:
        raise InputError(
            "The 'n_landmarks' parameter must be at most the number of networks, "
            f"{total}. Got {number} instead."
        )
    return number


def _solve_legs(job: NeighborJob, number: int) -> Pivots:
    """Solve the distances between all networks and the landmarks."""
    total = len(job.labels)
    with pair_solver(job.cohort, job.labels, job.metric, job.settings) as solver:
        search = NeighborSearch(NoBounds(), job.solved, solver.solve, total, job.limits)
        return choose_pivots(search, number, total, exact=True)


def _result(
    job: NeighborJob, legs: Pivots, within: Embedding, points: FloatArray
) -> LandmarkEmbedding:
    places = list(legs.places)
    found = np.linalg.norm(points[:, None] - points[None, places], axis=2)
    size = float((legs.distance**2).sum())
    error = float(((found - legs.distance) ** 2).sum())
    variances = points.var(axis=0)
    points.setflags(write=False)
    K, L = legs.distance.shape
    return LandmarkEmbedding(
        points=points,
        stress=float(np.sqrt(error / size)) if size else 0.0,
        n_components=points.shape[1],
        method=f"{within.method} of {count(L, 'landmark')}",
        labels=job.labels,
        explained=variances / (variances.sum() or 1.0),
        _anchors=legs.places,
        _networks=[job.cohort[place] for place in places],
        _metric=job.metric,
        landmarks=tuple(job.labels[place] for place in places),
        n_pairs=K * (K - 1) // 2,
        n_solved=L * K - L * (L + 1) // 2,
    )
