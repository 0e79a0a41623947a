"""Counting the spikes of one unit in many windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repshape._arrays import FloatArray, IntArray

# To find the window of a spike takes about as long as a fifth of a binary search.
SPIKES_PER_WINDOW = 5
CELLS_PER_WINDOW = 64  # a table of the onsets has at most this many cells for each of them


@dataclass(frozen=True)
class OnsetTable:
    """Finds the last onset before a time, without a search: time is cut into equal cells.

    No cell has more than one onset. The cell never decreases with time, so that onsets in earlier
    cells are earlier, and only the onset in the cell itself must be compared.
    """

    onsets: FloatArray  # ascending, and infinity at the end
    scale: float  # cells per second
    before: IntArray  # the last onset in the cells before each cell

    @classmethod
    def of(cls, onsets: FloatArray, last: float) -> OnsetTable | None:
        """Make a table for times up to ``last``; None if it would be large."""
        length = last - float(onsets[0])
        spacing = float(np.diff(onsets).min(initial=length))
        if not 2 * length < spacing * CELLS_PER_WINDOW * len(onsets):
            return None
        scale = 2 / spacing  # two cells from one onset to the next
        cells = _cells(onsets, onsets[0], scale)
        n = int(_cells(np.array([last]), onsets[0], scale)[0]) + 1
        before = np.searchsorted(cells, np.arange(n)) - 1
        return cls(np.append(onsets, np.inf), scale, before)

    def find(self, times: FloatArray) -> IntArray:
        """Return the last onset that is not later than each time."""
        found = self.before[_cells(times, self.onsets[0], self.scale)]
        found += self.onsets[found + 1] <= times
        return found


def _cells(times: FloatArray, first: float, scale: float) -> npt.NDArray[np.intp]:
    return ((times - first) * scale).astype(np.intp)


@dataclass(frozen=True)
class Windows:
    """Windows [begin, end), or [begin, end] if ``closed``, in ascending order of ``begin``."""

    begin: FloatArray
    end: FloatArray
    closed: bool
    last: float  # the latest end
    table: OnsetTable | None  # None if windows overlap

    @classmethod
    def of(cls, begin: FloatArray, end: FloatArray, *, closed: bool) -> Windows:
        """Make windows; whether a spike can be in two of them is found out once."""
        apart = np.less if closed else np.less_equal
        disjoint = bool(apart(end[:-1], begin[1:]).all())
        last = float(end.max())
        return cls(begin, end, closed, last, OnsetTable.of(begin, last) if disjoint else None)

    def count(self, spikes: FloatArray) -> IntArray:
        """Return the number of spikes in each window; the spikes are sorted.

        Spikes are looked up in the windows, or windows in the spikes, whichever is less work. Both
        give the same numbers.

        >>> windows = Windows.of(np.array([0.0, 1.0]), np.array([1.0, 2.0]), closed=False)
        >>> windows.count(np.array([-1.0, 0.0, 0.5, 1.0, 2.0]))
        array([2, 1])
        """
        first = np.searchsorted(spikes, self.begin[0])
        inside = spikes[first : np.searchsorted(spikes, self.last, side="right")]
        if self.table is not None and len(inside) < SPIKES_PER_WINDOW * len(self.begin):
            return self._count_by_spike(inside, self.table)
        return self._count_by_window(inside)

    def _count_by_spike(self, spikes: FloatArray, table: OnsetTable) -> IntArray:
        window = table.find(spikes)
        ends = self.end[window]
        within = spikes <= ends if self.closed else spikes < ends
        return np.bincount(window[within], minlength=len(self.begin))

    def _count_by_window(self, spikes: FloatArray) -> IntArray:
        before_end = np.searchsorted(spikes, self.end, side="right" if self.closed else "left")
        return np.asarray(before_end - np.searchsorted(spikes, self.begin))
