"""Spike counts from spike times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import FloatArray, real_array
from repshape._tables import is_frame
from repshape.errors import InputError, InputTypeError


def count_spikes(
    spike_times: Mapping[Any, npt.ArrayLike] | Sequence[npt.ArrayLike],
    onsets: npt.ArrayLike,
    window: tuple[float, float],
) -> tuple[FloatArray, list[Any] | None]:
    """Return counts (trials, neurons) in [onset + start, onset + stop), and names of neurons.

    >>> count_spikes([[0.1, 0.2, 0.7, 1.1]], [0.1, 0.6], (0, 0.5))[0]
    array([[2.],
           [1.]])
    """
    start, stop = _check_window(window)
    times = _vector(onsets, "onsets")
    neurons = list(spike_times) if isinstance(spike_times, Mapping) else None
    trains = list(spike_times.values()) if isinstance(spike_times, Mapping) else spike_times
    if is_frame(trains) or isinstance(trains, str) or not np.iterable(trains):
        raise InputTypeError(
            "The spike times must be a list with an array of times for each neuron, or a dict of "
            f"such arrays by name. Got {type(trains).__name__} instead."
        )
    sorted_trains = [
        np.sort(_vector(one, f"spike times of neuron {i if neurons is None else neurons[i]!r}"))
        for i, one in enumerate(trains)
    ]
    if not sorted_trains:
        raise InputError("A network must have at least one neuron. Got none.")
    begin, end = times + start, times + stop
    counts = [np.searchsorted(one, end) - np.searchsorted(one, begin) for one in sorted_trains]
    return np.stack(counts, axis=1).astype(np.float64), neurons


def _check_window(window: Any) -> tuple[float, float]:
    try:
        start, stop = (float(edge) for edge in window)
    except (TypeError, ValueError):
        start = stop = float("nan")
    if not (np.isfinite(start) and np.isfinite(stop) and start < stop):
        raise InputError(
            "The 'window' parameter must be (start, stop) in seconds after the onset, with "
            f"start < stop. Got {window!r} instead."
        )
    return start, stop


def _vector(values: Any, what: str) -> FloatArray:
    array = real_array(values, what).astype(np.float64)
    if array.ndim != 1:
        raise InputError(f"The {what} must form one list of times. Got shape {array.shape}.")
    if not np.isfinite(array).all():
        k = int(np.argmin(np.isfinite(array)))
        raise InputError(f"The {what} must be finite. Got {array[k]} at position {k}.")
    return array
