"""Write simulated sessions as NWB files with the tables and columns of the Allen Institute."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.brain.simulate import Animal, Table
from repshape.errors import MissingDependencyError

FloatArray = npt.NDArray[np.float64]

# Units that every session has besides its neurons: in another area, and of bad quality.
N_ELSEWHERE, N_BAD = 3, 3
FIRST_ONSET, GAP = 60.0, 30.0  # seconds before the first table, and between tables
# Spikes come late in a presentation: the fraction of time that has passed is u to this power.
LATENESS = 0.7
METRICS = {"amplitude_cutoff": 0.01, "presence_ratio": 0.99, "isi_violations": 0.05}
STIMULUS_SETS = {False: "brain_observatory_1.1", True: "functional_connectivity"}


def require_pynwb() -> None:
    """Raise an error that says how to install pynwb, if it is not installed."""
    if find_spec("pynwb") is None:
        raise MissingDependencyError("This command needs pynwb: pip install 'repshape[nwb]'.")


def write_session(animal: Animal, path: Path) -> None:
    """Write the session of an animal; the file is complete or absent."""
    from pynwb import NWBHDF5IO

    rng = animal.trials_rng()
    file = _new_file(animal)
    spikes: list[list[FloatArray]] = [[] for _ in range(animal.n_neurons)]
    start = FIRST_ONSET
    for name, table in animal.tables.items():
        order = rng.permutation(np.repeat(np.arange(len(table.rates)), table.n_repeats))
        onsets = start + table.duration * np.arange(len(order), dtype=np.float64)
        file.add_time_intervals(_presentations(name, table, order, onsets))
        for neuron, times in enumerate(_spikes(animal, table, order, onsets, rng)):
            spikes[neuron].append(times)
        start = float(onsets[-1]) + table.duration + GAP
    _add_units(file, [np.sort(np.concatenate(one)) for one in spikes], rng, start)
    temporary = path.with_name(f".{path.name}")  # hidden: not among the sessions
    with NWBHDF5IO(temporary, "w") as io:
        io.write(file)
    temporary.replace(path)


def _new_file(animal: Animal) -> Any:
    from pynwb import NWBFile
    from pynwb.file import Subject

    return NWBFile(
        session_description="simulated",
        identifier=animal.name,
        session_id=animal.name,
        session_start_time=datetime(2019, 1, 1, tzinfo=UTC),
        stimulus_notes=STIMULUS_SETS[animal.drifting],
        subject=Subject(subject_id=animal.name, species="simulated"),
    )


def _presentations(name: str, table: Table, order: npt.NDArray[np.intp], onsets: FloatArray) -> Any:
    """Return the table of presentations, in the order in which they are shown."""
    from hdmf.common import VectorData
    from pynwb.epoch import TimeIntervals

    columns: dict[str, Any] = {"start_time": onsets, "stop_time": onsets + table.duration}
    columns |= {key: values[order] for key, values in table.columns.items()}
    if "phase" in columns:  # text, as in the original files
        columns["phase"] = [str(value) for value in columns["phase"]]
    vectors = [VectorData(name=key, description=key, data=data) for key, data in columns.items()]
    return TimeIntervals(
        name=f"{name}_presentations", description=name, columns=vectors, colnames=list(columns)
    )


def _spikes(
    animal: Animal,
    table: Table,
    order: npt.NDArray[np.intp],
    onsets: FloatArray,
    rng: np.random.Generator,
) -> Iterator[FloatArray]:
    """Yield the spike times of each neuron; counts are Poisson with fluctuating gains."""
    counts = rng.poisson(table.rates[order] * animal.draw_gains(len(order), rng))
    for column in counts.T:
        where = rng.uniform(size=int(column.sum())) ** LATENESS
        # Rounding must not move a spike into the next presentation.
        yield np.repeat(onsets, column) + np.minimum(where, 1 - 1e-6) * table.duration


def _add_units(file: Any, neurons: list[FloatArray], rng: np.random.Generator, stop: float) -> None:
    """Add the neurons, and units that the reader must leave out."""
    n_extra = N_ELSEWHERE + N_BAD
    extra = [np.sort(rng.uniform(0, stop, 100)) for _ in range(n_extra)]
    trains = [*neurons, *extra]
    areas = ["VISp"] * len(neurons) + ["LGd"] * N_ELSEWHERE + ["VISp"] * N_BAD
    quality = ["good"] * (len(trains) - N_BAD) + ["noise"] * N_BAD
    device = file.create_device(name="probe")
    group = file.create_electrode_group("probeC", "simulated", "brain", device)
    file.add_electrode_column("valid_data", "whether the channel works")
    for k, area in enumerate(areas):
        file.add_electrode(id=k, location=area, group=group, valid_data=True)
    columns: dict[str, Any] = {"quality": quality, "peak_channel_id": np.arange(len(trains))}
    columns |= {name: np.full(len(trains), value) for name, value in METRICS.items()}
    file.units = _units(trains, columns)


def _units(trains: list[FloatArray], columns: dict[str, Any]) -> Any:
    """Return the table of units. It has whole columns: rows are slow with this many spikes."""
    from hdmf.common import VectorData, VectorIndex
    from pynwb.misc import Units

    spikes = VectorData(name="spike_times", description="spikes", data=np.concatenate(trains))
    ends = np.cumsum([len(times) for times in trains])
    vectors = [spikes, VectorIndex(name="spike_times_index", data=ends, target=spikes)]
    vectors += [VectorData(name=key, description=key, data=data) for key, data in columns.items()]
    return Units(
        name="units",
        description="simulated units",
        id=list(range(len(trains))),
        columns=vectors,
        colnames=["spike_times", *columns],
    )
