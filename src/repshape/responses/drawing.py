"""Random parts of networks: what is drawn, and how much of it there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import IntArray, Labels, count, name_condition
from repshape.errors import InputError, check_integer


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
    """Return a random part of a network; see `repshape.Trials.draw`."""
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
        network = network._take_neurons(draw(of_neurons, network.n_neurons, size, False))
    if trials is None:
        return network
    counts = network._trials.n_trials
    sizes = _check_sizes(counts, trials, network.conditions)
    pairs = zip(counts.tolist(), sizes.tolist(), strict=True)
    return network._take_trials([draw(of_trials, L, size, False) for L, size in pairs])


def _check_sizes(n_trials: IntArray, trials: int | npt.ArrayLike, conditions: Labels) -> IntArray:
    """Return how many trials to draw from each condition, or raise."""
    given = np.asarray(trials)
    each = given if given.ndim == 1 else np.full(len(n_trials), given)
    if len(each) != len(n_trials):
        raise InputError(
            "The 'trials' parameter must be one number, or one for each condition. "
            f"Got {len(each)} for {count(len(n_trials), 'condition')}."
        )
    sizes = np.array([check_integer("trials", one, 1) for one in each.tolist()], dtype=np.intp)
    short = np.flatnonzero(sizes > n_trials)
    if short.size:
        m = int(short[0])
        raise InputError(
            f"There are {count(int(n_trials[m]), 'trial')} at {name_condition(m, conditions)}, so "
            f"{sizes[m]} cannot be drawn."
        )
    return sizes


def labels_of(names: Labels, index: IntArray) -> Labels:
    """Return the labels of neurons; none if a neuron is repeated, since labels are distinct."""
    return None if names is None or repeats(index) else tuple(names[k] for k in index)


def repeats(index: IntArray) -> bool:
    """Whether an index occurs more than once."""
    return len(np.unique(index)) < len(index)
