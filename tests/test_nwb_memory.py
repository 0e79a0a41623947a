"""Reading one area of an NWB file holds the spikes of one unit at a time."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import h5py
import numpy as np
from benchmarks.nwb import chosen, write_large

import repshape as rs

N_UNITS, N_SPIKES, N_REPEATS = 300, 3_000_000, 4


def test_spikes_of_other_units_are_not_in_memory(tmp_path: Path) -> None:
    """All spikes are 24 MB; those of the largest chosen unit, and the counts, are below 1 MB."""
    path = tmp_path / "large.nwb"
    write_large(path, N_UNITS, N_SPIKES, N_REPEATS)
    rs.io.read_allen(path)  # what is imported or cached does not count
    tracemalloc.start()
    try:
        trials = rs.io.read_allen(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert trials.neurons == tuple(str(unit) for unit in chosen(N_UNITS))
    assert peak < 0.15 * 8 * N_SPIKES

    with h5py.File(path) as file:
        table = file["intervals/natural_scenes_presentations"]
        onsets, frames = table["start_time"][:], table["frame"][:]
        trains = np.split(file["units/spike_times"][:], file["units/spike_times_index"][:-1])
    for frame in (0, 57, 117):
        starts = onsets[frames == frame]
        for neuron, unit in enumerate(chosen(N_UNITS)):
            counts = [((trains[unit] >= a) & (trains[unit] < a + 0.25)).sum() for a in starts]
            assert trials[frame][:, neuron].tolist() == counts
