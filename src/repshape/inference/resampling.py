"""Parts of a network: some of its conditions, trials or neurons, repeats allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from repshape._arrays import condition_weights
from repshape.errors import InputTypeError
from repshape.metrics.base import ShapeMetric
from repshape.responses import Gaussians, Kind, Trials

IntArray = npt.NDArray[np.intp]


def take_conditions(network: Trials | Gaussians, index: IntArray) -> Trials | Gaussians:
    """Return the network on the conditions ``index``; a repeated condition counts again.

    >>> take_conditions(Trials(np.arange(6.0).reshape(3, 2, 1)), np.array([2, 0])).means
    array([[4.5],
           [0.5]])
    """
    # A name that occurs twice would name nothing, so the labels go where one repeats.
    names = network.conditions
    labels = None if names is None or _repeats(index) else tuple(names[m] for m in index)
    if isinstance(network, Gaussians):
        means, stored = network.means[index], network.stored[index]
        return Gaussians._trusted(means, stored, network.kind, labels, network.estimator)
    return _trials([network.responses[m] for m in index], labels)


def take_trials(network: Trials, index: Sequence[IntArray]) -> Trials:
    """Return the network with the trials ``index[m]`` of each condition m."""
    chosen = [one[rows] for one, rows in zip(network.responses, index, strict=True)]
    return _trials(chosen, network.conditions)


def take_neurons(network: Trials | Gaussians, index: IntArray) -> Trials | Gaussians:
    """Return the network on the neurons ``index``; a repeated neuron is a copy.

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


def _repeats(index: IntArray) -> bool:
    return len(np.unique(index)) < len(index)


def _trials(chosen: list[npt.NDArray[np.float64]], labels: tuple[str, ...] | None) -> Trials:
    counts = np.array([len(one) for one in chosen], dtype=np.intp)
    return Trials._trusted(np.concatenate(chosen), counts, np.zeros_like(counts), labels)


def as_trials(network: Trials | Gaussians, name: str) -> Trials:
    """Return the network if it has trials, or raise."""
    if isinstance(network, Trials):
        return network
    raise InputTypeError(
        f"The {name} must have trials, an array of shape (conditions, trials, neurons). "
        f"Got {network!r} instead."
    )


def draw(rng: np.random.Generator, total: int, size: int, replace: bool) -> IntArray:
    """Return ``size`` of ``total`` indices; in order if none can occur twice."""
    index = rng.choice(total, size=size, replace=replace)
    return np.asarray(np.sort(index), dtype=np.intp)


def with_conditions(metric: ShapeMetric[Any], index: IntArray, total: int) -> ShapeMetric[Any]:
    """Return the metric with the weights of the conditions ``index``."""
    if metric.weights is None:
        return metric
    weights = condition_weights(metric.weights, total)[index]
    changed: ShapeMetric[Any] = clone(metric).set_params(weights=weights)
    return changed
