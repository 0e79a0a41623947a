"""Counts in windows: both ways give what a plain loop gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repshape.io.nwb_counts import OnsetTable, Windows

# On a grid, so that spikes often are exactly on the edges, and windows touch or overlap.
TIMES = st.integers(0, 40).map(lambda k: k / 4)


@given(
    st.lists(TIMES, max_size=60),
    st.lists(TIMES, min_size=1, max_size=12),
    st.sampled_from([0.25, 0.5, 1.5]),
    st.booleans(),
)
def test_counts_are_those_of_a_plain_loop(
    times: list[float], onsets: list[float], length: float, closed: bool
) -> None:
    begin = np.sort(np.array(onsets))
    windows = Windows.of(begin, begin + length, closed=closed)
    found = windows.count(np.sort(np.array(times)))
    wanted = [
        sum(a <= t < a + length or (closed and t == a + length) for t in times) for a in begin
    ]
    assert found.tolist() == wanted


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize(("n_spikes", "gap"), [(50, 0.5), (5000, 0.5), (50, 0.0), (50, -0.1)])
def test_both_ways_agree(n_spikes: int, gap: float, closed: bool) -> None:
    begin = np.arange(80) * (1.0 + gap)
    spikes = np.sort(np.random.default_rng(0).uniform(0, begin[-1] + 1.0, n_spikes))
    windows = Windows.of(begin, begin + 1.0, closed=closed)
    assert (windows.table is not None) == (gap > 0 or (gap == 0 and not closed))
    np.testing.assert_array_equal(windows.count(spikes), windows._count_by_window(spikes))
    if windows.table is not None:
        found = windows._count_by_spike(spikes, windows.table)
        np.testing.assert_array_equal(found, windows.count(spikes))


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20, unique=True), st.data())
def test_the_table_finds_what_a_search_finds(onsets: list[float], data: st.DataObject) -> None:
    begin = np.sort(np.array(onsets))
    table = OnsetTable.of(begin, 200.0)
    near = st.sampled_from([*begin, *np.nextafter(begin, np.inf), *np.nextafter(begin[1:], 0)])
    times = data.draw(st.lists(near | st.floats(begin[0], 200.0), min_size=1))
    if table is not None:
        wanted = np.searchsorted(begin, times, side="right") - 1
        assert table.find(np.array(times)).tolist() == wanted.tolist()


def test_a_table_of_crowded_onsets_would_be_large() -> None:
    assert OnsetTable.of(np.array([0.0, 1e-9, 1000.0]), 1001.0) is None
    assert OnsetTable.of(np.array([0.0, 0.0]), 1.0) is None
    assert OnsetTable.of(np.array([0.0]), 1.0) is not None


def test_windows_of_unequal_length() -> None:
    windows = Windows.of(np.array([0.0, 1.0]), np.array([5.0, 2.0]), closed=False)
    assert windows.count(np.array([0.5, 1.5, 4.0, 6.0])).tolist() == [3, 1]
