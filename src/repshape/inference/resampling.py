"""Parts of networks: some of their conditions, trials or neurons, with or without repetition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from repshape._arrays import condition_weights
from repshape.metrics.base import ShapeMetric
from repshape.responses import Gaussians, Trials
from repshape.responses.drawing import draw, repeats

IntArray = npt.NDArray[np.intp]
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
            one._take_trials([draw(rng, int(L), int(L), True) for L in one.n_trials])
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
    labels = None if names is None or repeats(index) else tuple(names[m] for m in index)
    if isinstance(network, Gaussians):
        return Gaussians._trusted(
            network.means[index],
            network.stored[index],
            network.kind,
            labels,
            network.estimator,
            n_trials=None if network.n_trials is None else network.n_trials[index],
            halves=network._map_halves(partial(take_conditions, index=index)),
        )
    chosen = [network.responses[m] for m in index]
    counts = np.array([len(one) for one in chosen], dtype=np.intp)
    return Trials._trusted(np.concatenate(chosen), counts, np.zeros_like(counts), labels)


def is_exact(network: Any) -> bool:
    """Whether a network is given by its moments alone, so that there are no trials to divide."""
    return isinstance(getattr(network, "flat", network), Gaussians)


def with_conditions(metric: M, index: IntArray, total: int) -> M:
    """Return the metric with the weights of the conditions ``index``."""
    if metric.weights is None:
        return metric
    return metric.with_parameters(weights=condition_weights(metric.weights, total)[index])
