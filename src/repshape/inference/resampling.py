"""Parts of networks: some of their conditions, trials or neurons, with or without repetition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from repshape._arrays import condition_weights
from repshape.metrics.base import ShapeMetric
from repshape.responses import Gaussians, Kind, Trials

IntArray = npt.NDArray[np.intp]
Groups = list[list[IntArray]]  # trials of each group, by condition
M = TypeVar("M", bound=ShapeMetric[Any])


@dataclass(frozen=True)
class Resample:
    """Resampled networks, and the conditions that were drawn; None if all were kept."""

    networks: list[Any]
    conditions: IntArray | None


def resample(networks: Sequence[Trials], over: str, rng: np.random.Generator) -> Resample:
    """Draw with replacement: trials of each network and condition, conditions, or both.

    Trials are drawn for each network separately, conditions for all networks together.
    """
    drawn: list[Any] = list(networks)
    if over != "conditions":
        drawn = [
            take_trials(one, [draw(rng, int(L), int(L), True) for L in one.n_trials])
            for one in networks
        ]
    if over == "trials":
        return Resample(drawn, None)
    count = networks[0].n_conditions
    conditions = draw(rng, count, count, True)
    return Resample([take_conditions(one, conditions) for one in drawn], conditions)


def take_conditions(network: Trials | Gaussians, index: IntArray) -> Trials | Gaussians:
    """Return the network with the conditions ``index``, which may be repeated.

    >>> take_conditions(Trials(np.arange(6.0).reshape(3, 2, 1)), np.array([2, 0])).means
    array([[4.5],
           [0.5]])
    """
    whole: Any = network
    if hasattr(network, "flat"):  # a network with positions
        return whole.with_responses(take_conditions(whole.flat, index))  # type: ignore[no-any-return]
    # Labels must be distinct, so there are none if a condition is repeated.
    names = network.conditions
    labels = None if names is None or _repeats(index) else tuple(names[m] for m in index)
    if isinstance(network, Gaussians):
        means, stored = network.means[index], network.stored[index]
        return Gaussians._trusted(means, stored, network.kind, labels, network.estimator)
    return _trials([network.responses[m] for m in index], labels)


def take_trials(network: Trials, index: Sequence[IntArray]) -> Trials:
    """Return the network with the trials ``index[m]`` of each condition m."""
    whole: Any = network
    if hasattr(network, "flat"):  # a network with positions
        return whole.with_responses(take_trials(whole.flat, index))  # type: ignore[no-any-return]
    chosen = [one[rows] for one, rows in zip(network.responses, index, strict=True)]
    return _trials(chosen, network.conditions)


def take_neurons(network: Trials | Gaussians, index: IntArray) -> Trials | Gaussians:
    """Return the network with the neurons ``index``; a repeated neuron is a copy.

    >>> take_neurons(Gaussians([[1.0, 2.0]], [[3.0, 4.0]]), np.array([1])).covariances
    array([[[4.]]])
    """
    if isinstance(network, Trials):
        pooled = np.ascontiguousarray(network.pooled[:, index])
        return Trials._trusted(pooled, network.n_trials, network.n_dropped, network.conditions)
    kind: Kind = network.kind
    stored = network.stored[:, index]
    if kind == "full":
        stored = stored[:, :, index]
    elif kind == "diagonal" and _repeats(index):  # copies of a neuron are correlated
        same = index[:, None] == index[None, :]
        kind, stored = "full", stored[:, :, None] * same
    means = np.ascontiguousarray(network.means[:, index])
    return Gaussians._trusted(means, np.ascontiguousarray(stored), kind, network.conditions)


def split_trials(network: Trials, n_groups: int, rng: np.random.Generator) -> Groups:
    """Divide the trials of each condition into random groups; return them by group."""
    orders = [rng.permutation(int(L)) for L in network.n_trials]
    parts = [np.array_split(order, n_groups) for order in orders]
    return [[part[g] for part in parts] for g in range(n_groups)]


def _repeats(index: IntArray) -> bool:
    return len(np.unique(index)) < len(index)


def _trials(chosen: list[npt.NDArray[np.float64]], labels: tuple[str, ...] | None) -> Trials:
    counts = np.array([len(one) for one in chosen], dtype=np.intp)
    return Trials._trusted(np.concatenate(chosen), counts, np.zeros_like(counts), labels)


def draw(rng: np.random.Generator, total: int, size: int, replace: bool) -> IntArray:
    """Return ``size`` random indices below ``total``, in ascending order."""
    index = rng.choice(total, size=size, replace=replace)
    return np.asarray(np.sort(index), dtype=np.intp)


def with_conditions(metric: M, index: IntArray, total: int) -> M:
    """Return the metric with the weights of the conditions ``index``."""
    if metric.weights is None:
        return metric
    return metric.with_parameters(weights=condition_weights(metric.weights, total)[index])
