"""Parts of networks: some of their neurons or trials, chosen or drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import IntArray, count, name_condition
from repshape.errors import InputError, InputTypeError, check_integer
from repshape.responses.gaussians import Gaussians, Kind
from repshape.responses.positions import PositionNetwork
from repshape.responses.trials import Trials


def take_neurons(network: Any, index: IntArray) -> Any:
    """Return the network with the neurons ``index``; a repeated neuron is a copy.

    >>> take_neurons(Gaussians([[1.0, 2.0]], [[3.0, 4.0]]), np.array([1])).covariances
    array([[[4.]]])
    """
    names = network.neurons
    labels = None if names is None or repeats(index) else tuple(names[k] for k in index)
    if isinstance(network, PositionNetwork):
        starts = network.n_neurons * np.arange(network.n_positions)
        flat = take_neurons(network.flat, (starts[:, None] + index).ravel())
        return PositionNetwork._trusted(flat, network.positions, labels)
    if isinstance(network, Trials):
        return network._with(pooled=np.ascontiguousarray(network.pooled[:, index]), neurons=labels)
    kind: Kind = network.kind
    stored = network.stored[:, index]
    if kind == "full":
        stored = stored[:, :, index]
    elif kind == "diagonal" and repeats(index):  # copies of a neuron are correlated
        same = index[:, None] == index[None, :]
        kind, stored = "full", stored[:, :, None] * same
    means = np.ascontiguousarray(network.means[:, index])
    stored = np.ascontiguousarray(stored)
    return Gaussians._trusted(means, stored, kind, network.conditions, neurons=labels)


def take_trials(network: Any, index: Sequence[IntArray]) -> Any:
    """Return the network with the trials ``index[m]`` of each condition m."""
    if isinstance(network, PositionNetwork):
        return network.with_responses(take_trials(network.flat, index))
    chosen = [one[rows] for one, rows in zip(network.responses, index, strict=True)]
    counts = np.array([len(one) for one in chosen], dtype=np.intp)
    pooled = np.concatenate(chosen)
    return network._with(pooled=pooled, n_trials=counts, n_dropped=np.zeros_like(counts))


def draw(rng: np.random.Generator, total: int, size: int, replace: bool) -> IntArray:
    """Return ``size`` random indices below ``total``, in ascending order."""
    index = rng.choice(total, size=size, replace=replace)
    return np.asarray(np.sort(index), dtype=np.intp)


def draw_part(
    network: Any,
    neurons: int | None,
    trials: int | npt.ArrayLike | None,
    random_state: int | np.random.SeedSequence,
) -> Any:
    """Return a random part of a network; see `Trials.draw`."""
    if neurons is None and trials is None:
        raise InputError("Say what to draw: draw(neurons=...), draw(trials=...), or both.")
    if not isinstance(random_state, np.random.SeedSequence):
        random_state = np.random.SeedSequence(check_integer("random_state", random_state, 0))
    of_neurons, of_trials = (np.random.default_rng(one) for one in random_state.spawn(2))
    if neurons is not None:
        size = check_integer("neurons", neurons, 1)
        if size > network.n_neurons:
            have = count(network.n_neurons, "neuron")
            raise InputError(f"The network has {have}, so {size} cannot be drawn.")
        network = take_neurons(network, draw(of_neurons, network.n_neurons, size, False))
    if trials is None:
        return network
    sizes = check_sizes(network, trials)
    chosen = [
        draw(of_trials, int(L), int(size), False)
        for L, size in zip(network.n_trials, sizes, strict=True)
    ]
    return take_trials(network, chosen)


def check_sizes(network: Any, trials: int | npt.ArrayLike) -> IntArray:
    """Return how many trials to draw from each condition, or raise."""
    if isinstance(network, Gaussians):
        raise InputTypeError(
            f"Trials can be drawn only from a network with trials. Got {network!r}."
        )
    given = np.asarray(trials)
    each = given if given.ndim == 1 else np.full(network.n_conditions, given)
    if len(each) != network.n_conditions:
        raise InputError(
            "The 'trials' parameter must be one number, or one for each condition. "
            f"Got {len(each)} for {count(network.n_conditions, 'condition')}."
        )
    sizes = np.array([check_integer("trials", one, 1) for one in each.tolist()], dtype=np.intp)
    short = np.flatnonzero(sizes > network.n_trials)
    if short.size:
        m = int(short[0])
        raise InputError(
            f"There are {count(int(network.n_trials[m]), 'trial')} at "
            f"{name_condition(m, network.conditions)}, so {sizes[m]} cannot be drawn."
        )
    return sizes


def repeats(index: IntArray) -> bool:
    """Whether an index occurs more than once."""
    return len(np.unique(index)) < len(index)
