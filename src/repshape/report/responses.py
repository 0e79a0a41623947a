"""What the responses behind a matrix say: numbers of trials, norms and noise floors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._parallel import run_all
from repshape.errors import FewTrialsWarning, InputError, InputTypeError
from repshape.inference.floor import squared_floors
from repshape.inference.subspaces import UnstableSubspaceWarning
from repshape.metrics.base import ShapeMetric
from repshape.metrics.subspaces import overlaps
from repshape.moments import OneTrialWarning
from repshape.report.quality import FULL
from repshape.report.sources import Source
from repshape.responses import Gaussians, Trials
from repshape.responses.positions import PositionNetwork

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Random splits of the trials of each network into halves, for its noise floor.
N_SPLITS = 5
# What a network is given as.
TRIALS, MOMENTS, POINTS = "trials", "moments", "points"
# The page says in words what these warnings say.
EXPECTED = (FewTrialsWarning, OneTrialWarning, UnstableSubspaceWarning)


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known about the K networks behind one matrix.

    Attributes
    ----------
    kinds : tuple of str
        ``"trials"``, ``"moments"`` (means and covariances) or ``"points"`` (no noise).
    neurons, dimensions : ndarray of int, shape (K,)
        Neurons, and dimensions over which the metric estimates one covariance.
    trials : ndarray of int, shape (K, M)
        Numbers of trials of each condition; 0 without trials.
    conditions : tuple of str
        Names of the M conditions; their numbers if they have no names.
    named : bool
        Whether the conditions have names.
    norms : ndarray, shape (K,)
        Norms of the responses after preprocessing; NaN if they are not known.
    floors : ndarray, shape (K,)
        Squared noise floors; NaN without enough trials.
    overlaps : ndarray, shape (K,)
        Overlap of the principal components of two halves of the trials; NaN without PCA.
    """

    kinds: tuple[str, ...]
    neurons: IntArray
    dimensions: IntArray
    trials: IntArray
    conditions: tuple[str, ...]
    named: bool
    norms: FloatArray
    floors: FloatArray
    overlaps: FloatArray

    @property
    def has_trials(self) -> bool:
        """Whether every network is given as trials."""
        return set(self.kinds) == {TRIALS}

    @property
    def fewest(self) -> IntArray:
        """Number of trials of the condition with fewest, for each network."""
        return np.asarray(self.trials.min(axis=1))

    @property
    def per_dimension(self) -> FloatArray:
        """Fewest trials of a condition, per dimension, for each network."""
        return np.asarray(self.fewest / self.dimensions)


@dataclass(frozen=True, eq=False)
class _Network:
    kind: str
    neurons: int
    dimensions: int
    trials: IntArray
    norm: float
    floor: float
    overlap: float


def read_facts(source: Source, seed: int, progress: bool | None) -> Facts | None:
    """Return what the responses behind a matrix say, or None if they were not given."""
    cohort, metric = source.cohort, source.metric
    if cohort is None:
        return None
    measured = metric if len(cohort) <= FULL else None

    def read(k: int) -> _Network:
        return _read_network(cohort[k], metric, measured, seed)

    what = f"networks of {source.name}"
    with expected_warnings():
        found = run_all(read, range(len(cohort)), what=what, progress=progress)
    names = cohort.records[0].conditions
    return Facts(
        kinds=tuple(one.kind for one in found),
        neurons=np.array([one.neurons for one in found]),
        dimensions=np.array([one.dimensions for one in found]),
        trials=np.array([one.trials for one in found]),
        conditions=tuple(map(str, range(cohort.n_conditions) if names is None else names)),
        named=names is not None,
        norms=np.array([one.norm for one in found]),
        floors=np.array([one.floor for one in found]),
        overlaps=np.array([one.overlap for one in found]),
    )


@contextmanager
def expected_warnings() -> Iterator[None]:
    """Silence the warnings whose content the page states in words."""
    with warnings.catch_warnings():
        for category in EXPECTED:
            warnings.simplefilter("ignore", category)
        yield


def _read_network(
    network: Any, metric: ShapeMetric[Any] | None, measured: ShapeMetric[Any] | None, seed: int
) -> _Network:
    flat = network.flat if isinstance(network, PositionNetwork) else network
    kind = _kind(flat)
    counts = flat.n_trials if isinstance(flat, Trials) else np.zeros(flat.n_conditions)
    phi = None if metric is None else metric.preprocess
    size = network.n_neurons if phi is None or phi.n_components is None else phi.n_components
    together = 1 if metric is None else metric._positions_together(network)
    norm = floor = overlap = float("nan")
    if measured is not None:
        norm = _norm(flat, measured)
        floor = _squared_floor(network, measured, int(counts.min()), seed)
        overlap = float(overlaps([network], measured, N_SPLITS, seed)[0])
    counts = np.asarray(counts, dtype=np.int64)
    return _Network(kind, network.n_neurons, size * together, counts, norm, floor, overlap)


def _kind(network: Trials | Gaussians) -> str:
    if isinstance(network, Trials):
        return TRIALS
    return MOMENTS if np.any(network.total_variance > 0.0) else POINTS


def _norm(network: Trials | Gaussians, metric: ShapeMetric[Any]) -> float:
    try:
        return metric._norm(network)
    except (InputError, InputTypeError):  # preprocessing of a sequence of responses, for example
        return float("nan")


def _squared_floor(network: Any, metric: ShapeMetric[Any], fewest: int, seed: int) -> float:
    """Return the squared noise floor of a network; NaN if halves of its trials are too small."""
    if fewest < 2 * metric._fewest_trials():
        return float("nan")
    try:
        found = squared_floors(network, metric, N_SPLITS, seed)
    except (InputError, InputTypeError):  # more components than half of the trials have
        return float("nan")
    return float(found.mean())
