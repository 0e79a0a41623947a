"""Windows of spike counts: whether they fit the trials, and have the unit of the times."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from repshape._arrays import FloatArray, count
from repshape.errors import InputError, WindowWarning

Window: TypeAlias = tuple[float, float]

# Onsets and durations jitter: a window may exceed them by this share.
TOLERANCE = 0.01
# A window that is this many times the interval between onsets must have another unit.
LONGEST_WINDOW = 100
# Times of spikes and onsets probably have different units if a smaller share of the spikes is
# between the first and the last trial, or of the trials between the first and the last spike.
FEWEST_INSIDE, FEWEST_REACHED = 0.01, 0.05
# Shares of fewer spikes say nothing.
ENOUGH_SPIKES = 100


def check_window(window: Any) -> Window:
    """Return the start and the stop of a window in seconds, or raise one clear sentence."""
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


def window_words(window: Window) -> str:
    """Return a window as text.

    >>> window_words((-0.05, 0.25))
    '-0.05 to 0.25 s'
    """
    return f"{window[0]:.6g} to {window[1]:.6g} s"


@dataclass(frozen=True)
class TrialTimes:
    """When trials begin, how long they last if that is known, and what errors call them.

    ``others`` are the onsets of all trials, if some are not used.
    """

    onsets: FloatArray
    durations: FloatArray | None = None
    noun: str = "trial"
    others: FloatArray | None = None

    @property
    def gaps(self) -> FloatArray:
        """Time from the onset of each trial to the next; the last trial may have none."""
        every = self.onsets if self.others is None else self.others
        every = np.unique(every[np.isfinite(every)])
        after = np.searchsorted(every, self.onsets, side="right")
        followed = after < len(every)
        return np.asarray(every[after[followed]] - self.onsets[followed])

    @property
    def known_durations(self) -> FloatArray:
        """Durations of the trials that have one."""
        if self.durations is None:
            return np.array([])
        return self.durations[np.isfinite(self.durations) & (self.durations > 0)]

    def chosen(self, window: Any, call: str) -> Window:
        """Return a valid window, or raise: without one, show the times and the call to make."""
        if window is not None:
            return check_window(window)
        lasting = self.known_durations
        known = lasting if lasting.size else self.gaps
        facts = [f"last {_seconds(lasting)}"] if lasting.size else []
        facts += [f"begin {_seconds(self.gaps)} apart"] if self.gaps.size else []
        found = f"The {count(len(self.onsets), self.noun)} {' and '.join(facts)}. " if facts else ""
        edges = f"(0, {known.min():.3g})" if known.size else "(start, stop)"
        raise InputError(
            "The 'window' parameter must be given: the seconds after the onset in which spikes "
            f"count. {found}For example, call {call}window={edges})"
        )

    def check(self, window: Window, *, stacklevel: int) -> None:
        """Raise if a window has another unit than the onsets; warn if it exceeds the trials."""
        gaps, lasting = self.gaps, self.known_durations
        length = window[1] - window[0]
        if gaps.size and length >= LONGEST_WINDOW * np.median(gaps):
            raise InputError(
                f"The window must have the unit of the onsets, seconds. Got {length:.6g} s, but "
                f"the {self.noun}s begin {_seconds(gaps)} apart."
            )
        exceeded = []
        if late := _n_shorter(gaps, window[1] - min(window[0], 0.0)):
            into = "the next one" if window[0] >= 0 else "the window of the next one"
            exceeded.append(
                f"runs into {into} in {late} of {count(gaps.size, 'case')} (the {self.noun}s begin "
                f"{_seconds(gaps)} apart)"
            )
        if late := _n_shorter(lasting, window[1]):
            exceeded.append(
                f"ends after {late} of {count(lasting.size, self.noun)} (they last "
                f"{_seconds(lasting)})"
            )
        if exceeded:
            words = f"The window, {window_words(window)} after the onset of a {self.noun}, "
            warnings.warn(
                f"{words}{' and '.join(exceeded)}. Spikes may count that belong to what came next.",
                WindowWarning,
                stacklevel=stacklevel,
            )


def _n_shorter(times: FloatArray, limit: float) -> int:
    return int(np.count_nonzero(times * (1 + TOLERANCE) < limit))


def _seconds(times: FloatArray) -> str:
    """Say how long times are: one number if they are about the same."""
    low, middle, high = np.quantile(times, [0, 0.5, 1])
    if high - low <= 2 * TOLERANCE * middle:
        return f"{middle:.3g} s"
    return f"{low:.3g} to {high:.3g} s (median {middle:.3g} s)"


@dataclass
class SpikeSpan:
    """How many spikes are between the first and the last trial, and from when to when they are."""

    begin: float
    end: float
    total: int = 0
    inside: int = 0
    first: float = np.inf
    last: float = -np.inf

    def add(self, spikes: FloatArray) -> FloatArray:
        """Take the sorted spikes of one neuron into account, and return them."""
        if spikes.size:
            low, high = np.searchsorted(spikes, [self.begin, self.end])
            self.total += spikes.size
            self.inside += int(high - low)
            self.first = min(self.first, float(spikes[0]))
            self.last = max(self.last, float(spikes[-1]))
        return spikes

    def has_few_inside(self) -> bool:
        """Whether next to no spikes are between the first and the last trial."""
        return self.total >= ENOUGH_SPIKES and self.inside < FEWEST_INSIDE * self.total

    def reaches(self, begin: float, end: float) -> bool:
        """Whether a fair share of the time between the first and the last spike is in a span."""
        shared = min(self.last, end) - max(self.first, begin)
        return shared >= FEWEST_INSIDE * (self.last - self.first)

    def check(self, onsets: FloatArray, *, stacklevel: int) -> None:
        """Warn if spikes and trials are at different times; raise if they have none in common."""
        if self.total < ENOUGH_SPIKES:
            return
        reached = int(np.count_nonzero((onsets >= self.first) & (onsets <= self.last)))
        if not self.has_few_inside() and reached >= FEWEST_REACHED * len(onsets):
            return
        words = (
            "Spike times and onsets seem to have different units or clocks: "
            f"{self.inside} of {self.total} spikes are at {self.begin:.6g} to {self.end:.6g} s, "
            f"the time of the trials, and {reached} of {len(onsets)} onsets at {self.first:.6g} to "
            f"{self.last:.6g} s, the time of the spikes. Give both in seconds."
        )
        if not self.inside:
            raise InputError(words)
        warnings.warn(words, WindowWarning, stacklevel=stacklevel)
