"""Spike counts from spike times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import FloatArray, real_array
from repshape._labels import find_label
from repshape._tables import find_column, is_frame, is_time_series
from repshape.errors import InputError, InputTypeError
from repshape.responses.windows import SpikeSpan, TrialTimes, Window

# What tables of trials call the begin and the end: pynapple, and NWB.
EDGES = (("start", "end"), ("start_time", "stop_time"))


def count_spikes(
    spike_times: Mapping[Any, npt.ArrayLike] | Sequence[npt.ArrayLike],
    onsets: npt.ArrayLike,
    window: Window,
    *,
    stacklevel: int = 2,
) -> tuple[FloatArray, list[Any] | None]:
    """Return counts (trials, neurons) in [onset + start, onset + stop), and names of neurons.

    >>> count_spikes([[0.1, 0.2, 0.7, 1.1]], [0.1, 0.6], (0, 0.5))[0]
    array([[2.],
           [1.]])
    """
    times = _vector(onsets, "onsets")
    neurons, trains = _trains(spike_times)
    if not trains:
        raise InputError("A network must have at least one neuron. Got none.")
    begin, end = times + window[0], times + window[1]
    if times.size:
        span = SpikeSpan(float(begin.min()), float(end.max()))
        for train in trains:
            span.add(train)
        span.check(times, stacklevel=stacklevel + 1)
    counts = [np.searchsorted(one, end) - np.searchsorted(one, begin) for one in trains]
    return np.stack(counts, axis=1).astype(np.float64), neurons


def _trains(spike_times: Any) -> tuple[list[Any] | None, list[FloatArray]]:
    """Return the names of neurons, if they have any, and their sorted spike times."""
    named = isinstance(spike_times, Mapping) or type(spike_times).__name__ == "Series"
    listed = np.iterable(spike_times) and not isinstance(spike_times, str)
    if not named and (not listed or is_frame(spike_times) or is_time_series(spike_times)):
        raise InputTypeError(
            "The spike times must be a list with an array of times for each neuron, or a dict of "
            f"such arrays by name. Got {type(spike_times).__name__} instead."
        )
    pairs = list(spike_times.items() if named else enumerate(spike_times))
    neurons = [name for name, _ in pairs] if named else None
    return neurons, [
        np.sort(_vector(one, f"spike times of neuron {name!r}")) for name, one in pairs
    ]


def read_trial_times(onsets: Any) -> TrialTimes:
    """Return when trials begin, from their onsets or from a table of their intervals."""
    edges = _edges(onsets)
    if edges is None:
        return TrialTimes(_vector(onsets, "onsets"))
    start, stop = (np.asarray(onsets[name], dtype=np.float64) for name in edges)
    return TrialTimes(_vector(start, "onsets"), stop - start)


def read_trial_labels(onsets: Any, labels: Any) -> Any:
    """Return the labels of trials, which may be a column of the table of their intervals."""
    if not isinstance(labels, str) or _edges(onsets) is None:
        return labels
    # The metadata of pynapple's intervals are columns that its `columns` leave out.
    further = [str(name) for name in getattr(onsets, "metadata_columns", ())]
    if further and labels not in onsets.columns:
        return onsets[further[find_label(labels, further, "column")]]
    return find_column(onsets, labels)


def _edges(onsets: Any) -> tuple[str, str] | None:
    """Return the columns in which a table of intervals holds their begin and end."""
    if not is_frame(onsets):
        return None
    names = list(onsets.columns)
    found = next((pair for pair in EDGES if set(pair) <= set(names)), None)
    if found is None:
        listed = " or ".join(f"{start!r} and {stop!r}" for start, stop in EDGES)
        raise InputError(
            f"A table of trials must have the columns {listed}. Got {', '.join(map(repr, names))}."
        )
    return found


def _vector(values: Any, what: str) -> FloatArray:
    if is_time_series(values):
        values = values.t
    array = real_array(values, what).astype(np.float64)
    if array.ndim != 1:
        raise InputError(f"The {what} must form one list of times. Got shape {array.shape}.")
    if not np.isfinite(array).all():
        k = int(np.argmin(np.isfinite(array)))
        raise InputError(f"The {what} must be finite. Got {array[k]} at position {k}.")
    return array
