"""Responses of one network, trial by trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import (
    FloatArray,
    IntArray,
    Labels,
    converted,
    count,
    digest,
    drop_missing,
    frozen,
    name_condition,
    pool_trials,
    real_array,
)
from repshape._labels import check_labels, group_labels
from repshape._tables import (
    frame_columns,
    is_frame,
    map_dataarray,
    read_conditions,
    read_rows,
    read_trials,
)
from repshape.errors import InputError, InputTypeError
from repshape.responses.base import Network, is_one_label, refuse_slices
from repshape.responses.drawing import labels_of
from repshape.responses.spikes import count_spikes, read_trial_labels, read_trial_times
from repshape.responses.windows import Window, window_words

# What `Trials._trusted` takes, in order.
PARTS = ("pooled", "n_trials", "n_dropped", "conditions", "neurons", "window")


class Trials(Network):
    """Responses of one network to M conditions, trial by trial.

    Parameters
    ----------
    responses : array of shape (M, L, n), or list of M arrays of shape (L_m, n)
        Trials of n neurons, of any real dtype. The number of trials may differ between
        conditions. A trial that is NaN in every neuron counts as missing, and is dropped.
        The dimensions of an xarray.DataArray are found by their names.
    conditions, neurons : sequences of M and n labels, optional
        Distinct names of the conditions and of the neurons.

    Attributes
    ----------
    pooled : array of shape (sum of n_trials, n)
        All trials, condition after condition.
    n_trials, n_dropped : int arrays of shape (M,)
        Numbers of trials that were kept, and of missing trials that were dropped, per condition.
    n_conditions, n_neurons : int
        M and n.
    window : (start, stop) or None
        The seconds after the onset in which spikes were counted; None for other responses.

    Examples
    --------
    >>> import numpy as np
    >>> trials = Trials([[[1, 2], [3, 4]], [[5, 6], [np.nan, np.nan]]], conditions=["a", "b"])
    >>> trials
    Trials(2 conditions, 1-2 trials each, 2 neurons, 1 missing trial dropped)
    >>> trials.means
    array([[2., 3.],
           [5., 6.]])

    A label gives the trials of its condition, and a list of labels a network.

    >>> trials["b"]
    array([[5., 6.]])
    >>> trials[["b", "a"]].conditions
    ('b', 'a')
    """

    pooled: FloatArray
    n_trials: IntArray
    n_dropped: IntArray
    window: Window | None

    def __init__(
        self,
        responses: npt.ArrayLike | Sequence[npt.ArrayLike],
        *,
        conditions: Sequence[Any] | None = None,
        neurons: Sequence[Any] | None = None,
    ) -> None:
        given = read_trials(responses)
        rows, counts = pool_trials(given.array)
        labels = check_labels(given.conditions if conditions is None else conditions, len(counts))
        names = check_labels(given.neurons if neurons is None else neurons, rows.shape[1], "neuron")
        rows, kept = drop_missing(rows, counts, labels)
        if not kept.all():
            empty = name_condition(int(np.argmin(kept)), labels)
            raise InputError(f"Every condition must have at least one trial. Got none at {empty}.")
        self._set(**vars(self._trusted(rows, kept, counts - kept, labels, names)))

    @classmethod
    def _trusted(
        cls,
        pooled: FloatArray,
        n_trials: IntArray,
        n_dropped: IntArray,
        conditions: Labels,
        neurons: Labels = None,
        window: Window | None = None,
    ) -> Trials:
        """Make trials from valid arrays that nothing else refers to."""
        self = cls.__new__(cls)
        self._set(pooled=pooled, n_trials=n_trials, n_dropped=n_dropped, window=window)
        self._set(conditions=conditions, neurons=neurons)
        self._set(n_conditions=len(n_trials), n_neurons=int(pooled.shape[1]))
        return self

    @classmethod
    def from_labels(cls, X: npt.ArrayLike, y: npt.ArrayLike | Sequence[Any]) -> Trials:
        """Make trials from single trials with a label each, as scikit-learn has them.

        Parameters
        ----------
        X : array of shape (trials, neurons)
            The columns of a table become the labels of the neurons.
        y : sequence of labels, one per trial
            Text or numbers. The conditions are the distinct labels: numbers, and text that reads
            as a number, in ascending order, then other text in alphabetical order. Ordered
            categories of pandas keep their order; those without a trial are named in a warning.

        Examples
        --------
        >>> trials = Trials.from_labels([[1.0], [2.0], [3.0]], ["dog", "cat", "dog"])
        >>> trials.conditions, trials["dog"].ravel()
        (('cat', 'dog'), array([1., 3.]))
        """
        given = read_rows(X)
        rows = real_array(given.array, "trials")
        if rows.ndim != 2:
            event = rows.ndim == 3 and isinstance(y, Sized) and len(y) == rows.shape[1]
            call = " If it is (neurons, trials, time), call Trials.from_labels(X.sum(axis=2).T, y)"
            raise InputError(
                "The trials must be an array of shape (trials, neurons), with a label for each "
                f"trial. Got an array of shape {rows.shape} instead.{call if event else ''}"
            )
        return cls._grouped(rows, *group_labels(y, len(rows)), given.neurons)

    @classmethod
    def _grouped(
        cls, rows: npt.NDArray[Any], conditions: Labels, which: IntArray, neurons: Any
    ) -> Trials:
        """Make trials from single trials and the condition of each; they keep their order."""
        ends = np.cumsum(np.bincount(which))[:-1]
        parts = np.split(rows[np.argsort(which, kind="stable")], ends)
        return cls(parts, conditions=conditions, neurons=neurons)

    @classmethod
    def from_frame(cls, frame: Any, *, condition: Any, neurons: Sequence[Any]) -> Trials:
        """Make trials from a table with a row per trial.

        Parameters
        ----------
        frame : pandas.DataFrame
            A table; those of other libraries work too if ``frame[column]`` does.
        condition : column name, or list of column names
            The columns that label the condition of every trial; sorted as by `from_labels`. With
            several, labels read ``"orientation=30, phase=0.5"``.
        neurons : sequence of column names
            The columns of responses. Other columns are ignored.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"image": ["b", "a", "b"], "u1": [3, 1, 5], "u2": [0, 2, 4]})
        >>> Trials.from_frame(frame, condition="image", neurons=["u1", "u2"]).means
        array([[1., 2.],
               [4., 2.]])
        >>> frame = frame.assign(eye=["left", "left", "right"])
        >>> Trials.from_frame(frame, condition=["image", "eye"], neurons=["u1"]).conditions
        ('image=a, eye=left', 'image=b, eye=left', 'image=b, eye=right')
        """
        if not is_frame(frame):
            raise InputTypeError(
                f"Trials.from_frame needs a table with columns. Got {type(frame).__name__} instead."
            )
        if isinstance(neurons, str) or not np.iterable(neurons):
            raise InputTypeError(
                f"The 'neurons' parameter must be a sequence of columns. Got {neurons!r} instead."
            )
        names = list(neurons)
        columns, conditions, which = read_conditions(frame, condition)
        for column in columns:
            if column in names:
                raise InputError(f"The column {column!r} cannot be a condition and a neuron.")
        return cls._grouped(frame_columns(frame, names), conditions, which, names)

    @classmethod
    def from_xarray(cls, da: Any, *, condition: Any, trial: Any, neuron: Any) -> Trials:
        """Make trials from an xarray.DataArray by the names of its dimensions, in any order.

        Parameters
        ----------
        da : xarray.DataArray
            Its coordinates become labels.
        condition : str
            A dimension, or a coordinate along the trials that labels each of them. In the latter
            case the array is (trials, neurons), and conditions are sorted as by `from_labels`.
        trial, neuron : str
            Dimensions.

        Examples
        --------
        >>> import xarray as xr
        >>> da = xr.DataArray([[[1, 2], [3, 4]]], dims=["unit", "image", "repeat"])
        >>> Trials.from_xarray(da, condition="image", trial="repeat", neuron="unit").means
        array([[1.5],
               [3.5]])
        """
        found, labels = map_dataarray(da, condition, trial, neuron)
        if labels is None:
            return cls(found.array, conditions=found.conditions, neurons=found.neurons)
        parts = cls.from_labels(found.array, labels)
        return parts._with(neurons=check_labels(found.neurons, parts.n_neurons, "neuron"))

    @classmethod
    def from_spikes(
        cls,
        spike_times: Mapping[Any, npt.ArrayLike] | Sequence[npt.ArrayLike],
        onsets: npt.ArrayLike,
        labels: npt.ArrayLike | Sequence[Any],
        window: tuple[float, float] | None = None,
    ) -> Trials:
        """Count spikes in a window after the onset of each trial.

        A spike at time t counts if onset + start <= t < onset + stop, so that windows that touch
        count no spike twice.

        Parameters
        ----------
        spike_times : list of arrays, or dict of arrays by name
            Times of the spikes of each neuron, in seconds, in any order. A neuron may have none. A
            TsGroup of pynapple and a column of spike times in pandas are such dicts.
        onsets : array of shape (trials,), or table
            Time at which each trial began, in seconds. Or a table with columns "start" and "end",
            as an IntervalSet of pynapple has, or "start_time" and "stop_time", as in NWB.
        labels : sequence of labels, one per trial, or column of the table
            Conditions, sorted as by `from_labels`.
        window : (start, stop)
            In seconds after the onset; negative before it. There is no default: without a window,
            the error shows how long trials last, or how far apart they begin.

        Warns
        -----
        WindowWarning
            If the window runs into the next trial or ends after its own, or if next to no spikes
            are between the first and the last trial.

        Examples
        --------
        >>> spikes = [[0.0, 0.1, 0.25, 1.1], [1.2]]
        >>> trials = Trials.from_spikes(spikes, [0.0, 1.0], ["a", "b"], window=(0, 0.25))
        >>> trials
        Trials(2 conditions, 1 trial each, 2 neurons, window 0 to 0.25 s)
        >>> trials.means
        array([[2., 0.],
               [1., 1.]])
        """
        times = read_trial_times(onsets)
        edges = times.chosen(window, "Trials.from_spikes(spike_times, onsets, labels, ")
        times.check(edges, stacklevel=3)
        counts, neurons = count_spikes(spike_times, times.onsets, edges, stacklevel=3)
        parts = cls.from_labels(counts, read_trial_labels(onsets, labels))
        names = check_labels(neurons, parts.n_neurons, "neuron")
        return parts._with(neurons=names, window=edges)

    def _with(self, **changes: Any) -> Trials:
        """Return the trials with other valid arrays or labels, and the rest as it is."""
        kept = dict(zip(PARTS, self._parts, strict=True))
        return Trials._trusted(**(kept | changes))

    @property
    def _parts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in PARTS)

    def in_unit(self, unit: float) -> Trials:
        """Return the trials divided by a unit, a power of two."""
        return self if unit == 1 else self._with(pooled=self.pooled / unit)

    def __reduce__(self) -> tuple[Any, ...]:
        return Trials._trusted, self._parts

    def __getitem__(self, key: Any) -> Any:
        """Return the trials of one condition, (L_m, n), or the network of several."""
        refuse_slices(key, "Trials", "np.asarray(trials), of shape (conditions, trials, neurons)")
        return self.responses[self._position(key)] if is_one_label(key) else self.select(key)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the trials as an array (M, L, n), or raise if their number varies."""
        if (stacked := self.stacked) is None:
            raise InputError(
                "Conditions with different numbers of trials do not form one array: use responses."
            )
        return converted(stacked, dtype, copy)

    def _take(self, index: IntArray) -> Trials:
        rows = np.concatenate([self.responses[m] for m in index])
        return self._with(
            pooled=rows,
            n_trials=self.n_trials[index],
            n_dropped=self.n_dropped[index],
            conditions=self._labels_at(index),
        )

    def _take_neurons(self, index: IntArray) -> Trials:
        pooled = np.ascontiguousarray(self.pooled[:, index])
        return self._with(pooled=pooled, neurons=labels_of(self.neurons, index))

    def _take_trials(self, index: Sequence[IntArray]) -> Trials:
        chosen = [one[rows] for one, rows in zip(self.responses, index, strict=True)]
        counts = np.array([len(one) for one in chosen], dtype=np.intp)
        pooled = np.concatenate(chosen)
        return self._with(pooled=pooled, n_trials=counts, n_dropped=np.zeros_like(counts))

    @property
    def _trials(self) -> Trials:
        return self

    @cached_property
    def responses(self) -> tuple[FloatArray, ...]:
        """One array (L_m, n) of trials per condition."""
        ends = np.cumsum(self.n_trials).tolist()
        starts = [0, *ends[:-1]]
        return tuple(self.pooled[a:b] for a, b in zip(starts, ends, strict=True))

    @property
    def stacked(self) -> FloatArray | None:
        """Array (M, L, n) if every condition has the same number of trials, else None."""
        if self.n_trials.min() < self.n_trials.max():
            return None
        return self.pooled.reshape(self.n_conditions, -1, self.n_neurons)

    @cached_property
    def means(self) -> FloatArray:
        """Mean response to each condition, (M, n)."""
        if self.stacked is not None:
            return frozen(self.stacked.mean(axis=1))
        return frozen(np.stack([trials.mean(axis=0) for trials in self.responses]))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the trials that were kept; labels are not included."""
        return digest("trials", self.n_trials.astype(np.int64), self.pooled)

    def __repr__(self) -> str:
        low, high, dropped = self.n_trials.min(), self.n_trials.max(), int(self.n_dropped.sum())
        each = count(int(low), "trial") if low == high else f"{low}-{high} trials"
        parts = [count(self.n_conditions, "condition"), f"{each} each"]
        parts.append(count(self.n_neurons, "neuron"))
        if dropped:
            parts.append(f"{count(dropped, 'missing trial')} dropped")
        if self.window is not None:
            parts.append(f"window {window_words(self.window)}")
        return f"Trials({', '.join(parts)})"
