"""Memory and time of reading one area from a large NWB file.

    python -m benchmarks.nwb

Writes a file of 0.8 GB into the folder for temporary files, and removes it. Saves
benchmarks/results/nwb.json.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

from benchmarks.solver import show
from benchmarks.stamps import RESULTS, write

AREA_SHARE, GOOD_SHARE = 15, 2  # one unit of 15 is in VISp, and half of these pass the filter
N_SCENES, N_REPEATS = 119, 50

# Each measurement is a process of its own. What is imported, and a small file that is read first,
# are not counted. The file is in the memory of the operating system after the first reading, so all
# times are of the processor: from a disk, reading the spikes takes longer, and the rest does not.
MEASURE = """
import json, resource, statistics, sys, time
import h5py, numpy as np
import repshape as rs
from benchmarks.nwb import chosen
path, small = sys.argv[1:]
unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

def spikes_alone(path):
    with h5py.File(path) as file:
        ends = file["units/spike_times_index"][:].astype(int)
        starts = np.concatenate([[0], ends[:-1]])
        return sum(
            file["units/spike_times"][starts[k]:ends[k]].size for k in chosen(len(ends))
        )

def seconds(function):
    times = []
    for _ in range(15):
        begin = time.process_time()
        result = function(path)
        times.append(time.process_time() - begin)
    return statistics.median(times), result

rs.io.read_allen(small)
spikes_alone(small)
before = peak()
trials = rs.io.read_allen(path)
added = peak() - before
alone, n_spikes = seconds(spikes_alone)
whole, trials = seconds(rs.io.read_allen)
with rs.io.open_nwb(path) as recording:
    rs.io.read_allen(recording)
    again, _ = seconds(lambda _: rs.io.read_allen(recording))
print(json.dumps({
    "neurons": trials.n_neurons, "trials": int(trials.n_trials.sum()), "spikes": n_spikes,
    "added_MB": added / 1e6, "spikes_MB": n_spikes * 8 / 1e6,
    "spikes_alone_cpu_s": alone, "read_cpu_s": whole, "read_again_cpu_s": again,
    "ratio": whole / alone,
}))
"""


def chosen(n_units: int) -> np.ndarray:
    """Return the rows of the units that `read_allen` must keep: in VISp, and good."""
    return np.flatnonzero(_in_visp(n_units) & _good(n_units))


def _in_visp(n_units: int) -> np.ndarray:
    return np.arange(n_units) * AREA_SHARE // n_units == AREA_SHARE // 2


def _good(n_units: int) -> np.ndarray:
    return np.arange(n_units) % GOOD_SHARE == 0


def write_large(path: Path, n_units: int, n_spikes: int, n_repeats: int = N_REPEATS) -> None:
    """Write the tables that are read, as NWB lays them out; spikes in pieces."""
    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = "2.2.2"
        electrodes = file.create_group("general/extracellular_ephys/electrodes")
        visp = _in_visp(n_units)
        electrodes["id"] = np.arange(n_units)
        electrodes["location"] = ["VISp" if one else "VISl" for one in visp]
        electrodes["valid_data"] = np.ones(n_units, dtype=bool)
        electrodes["group_name"] = ["probeC"] * n_units
        units = file.create_group("units")
        units["id"] = np.arange(n_units)
        units["peak_channel_id"] = np.arange(n_units)
        units["quality"] = ["good"] * n_units
        units["presence_ratio"] = np.where(_good(n_units), 0.99, 0.5)
        for name in ("amplitude_cutoff", "isi_violations"):
            units[name] = np.full(n_units, 0.01)
        table = file.create_group("intervals/natural_scenes_presentations")
        frames = rng.permutation(np.repeat(np.arange(-1.0, N_SCENES - 1), n_repeats))
        table["id"] = np.arange(len(frames))
        table["frame"] = frames
        table["start_time"] = np.arange(len(frames)) * 0.25 + 1000.0
        table["stop_time"] = np.arange(1, len(frames) + 1) * 0.25 + 1000.0
        ends = np.cumsum(rng.multinomial(n_spikes, rng.dirichlet(np.full(n_units, 2.0))))
        units["spike_times_index"] = ends
        times = units.create_dataset("spike_times", (n_spikes,), dtype="f8")
        for k in range(n_units):
            start, stop = int(ends[k - 1]) if k else 0, int(ends[k])
            times[start:stop] = np.sort(rng.uniform(0, 9000.0, stop - start))


def measure(n_units: int, n_spikes: int) -> dict[str, float]:
    """Return memory and times of reading a file of this size."""
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder, "large.nwb"), Path(folder, "small.nwb")
        write_large(large, n_units, n_spikes)
        write_large(small, 30, 3000, 2)
        command = [sys.executable, "-c", MEASURE, str(large), str(small)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        size = large.stat().st_size
    return {"units": n_units, "all_spikes": n_spikes, "file_MB": size / 1e6, **json.loads(printed)}


def main() -> None:
    rows = [measure(300, 10_000_000), measure(3000, 100_000_000)]
    show(rows, "one area of a large NWB file")
    write(RESULTS / "nwb.json", rows)


if __name__ == "__main__":
    main()
