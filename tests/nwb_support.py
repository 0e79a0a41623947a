"""A small session as the Allen Institute writes it, with known spike counts.

Needs pynwb and NumPy only, so that `write_nwb_zarr.py` can use it in an environment of its own.
Nothing is random: other versions of NumPy could draw other numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from pynwb import NWBHDF5IO, NWBFile
from pynwb.epoch import TimeIntervals
from pynwb.file import Subject

WINDOW = 0.25  # seconds; all onsets are multiples, so that window edges are exact
N_ELECTRODES = 30
FIRST_ELECTRODE, FIRST_UNIT = 850_000, 950_000

# Location of the electrodes, row by row; the last of probe A lies outside the brain.
LOCATIONS = ["VISp"] * 10 + ["VISl"] * 3 + ["LGd-sh"] * 2 + ["None"] + ["VISp"] * 4 + ["LGd"] * 10
PROBES = ["probeA"] * 16 + ["probeC"] * 14
INVALID_ELECTRODE = 9
OUTSIDE = 15

GOOD = {
    "quality": "good",
    "amplitude_cutoff": 0.01,
    "presence_ratio": 0.99,
    "isi_violations": 0.05,
    "peak": 0,
}
# What is special about each unit; `peak` is the row of its electrode.
SPECIAL: list[dict[str, Any]] = [
    {},
    {"presence_ratio": 0.95, "amplitude_cutoff": 0.1, "isi_violations": 0.5},  # on every limit
    {"quality": "noise"},
    {"amplitude_cutoff": np.nextafter(0.1, 1)},
    {"amplitude_cutoff": np.nan},
    {"presence_ratio": np.nextafter(0.95, 0)},
    {"isi_violations": np.nextafter(0.5, 1)},
    {"peak": INVALID_ELECTRODE},
    {"peak": OUTSIDE},
    {"peak": None},  # a channel that is not among the electrodes
    {"peak": 10},
    {"peak": 11},
    {"peak": 13},
    {"peak": 16},  # VISp on probe C
    {"peak": 21},
    *({"peak": k} for k in range(1, 9)),
    {"silent": True},
]
N_UNITS = len(SPECIAL)
FAILS = {2: "quality", 3: "amplitude_cutoff", 4: "amplitude_cutoff", 5: "presence_ratio"} | {
    6: "isi_violations",
    7: "valid_data",
    8: "area",
    9: "area",
}
VISP = [
    k for k, s in enumerate(SPECIAL) if k not in FAILS and LOCATIONS[s.get("peak", 0)] == "VISp"
]
VISP_C = 13

N_IMAGES, N_REPEATS = 6, 8
ORIENTATIONS = [0.0, 30.0, 60.0, 90.0, 120.0, 150.0]
FREQUENCIES, PHASES = [0.02, 0.04], ["0.0", "0.25"]


@dataclass
class Session:
    """A file, and what it must give."""

    file: NWBFile
    counts: dict[str, np.ndarray] = field(default_factory=dict)  # (presentations, units)
    onsets: dict[str, np.ndarray] = field(default_factory=dict)
    labels: dict[str, list[Any]] = field(default_factory=dict)


def planted(n_presentations: int, shift: int = 0) -> np.ndarray:
    """Return numbers of spikes inside the windows: not equal, and not a product of two factors."""
    p, u = np.arange(n_presentations)[:, None] + shift, np.arange(N_UNITS)[None, :]
    found = (7 * p + 3 * u + p * u + p * p // 5) % 5
    found[:, [k for k, s in enumerate(SPECIAL) if s.get("silent")]] = 0
    return found


def shuffled(items: list[Any], step: int = 17) -> list[Any]:
    assert np.gcd(step, len(items)) == 1
    return [items[step * k % len(items)] for k in range(len(items))]


def scenes() -> list[int]:
    """Frames in the order of presentation; the blank is -1, and frame 5 has one repeat less."""
    frames = [m for m in range(-1, N_IMAGES) for _ in range(N_REPEATS)]
    return shuffled(frames[:-1])


def gratings() -> list[tuple[float, float, str] | None]:
    """Orientation, frequency and phase in the order of presentation; None is a blank."""
    shown = [(o, f, p) for o in ORIENTATIONS for f in FREQUENCIES for p in PHASES]
    return shuffled([*shown, *shown, *shown, None, None, None, None, None])


def drifting() -> list[tuple[float, float] | None]:
    shown = [(o, f) for o in (0.0, 45.0, 315.0) for f in (1.0, 15.0)]
    return shuffled([*shown, *shown, None], 5)


def write_session(path: Path, **options: Any) -> Session:
    session = make_session(**options)
    with NWBHDF5IO(path, "w") as io:
        io.write(session.file)
    with h5py.File(path, "a") as opened:  # as in older files; pynwb does not write an empty text
        opened["general/extracellular_ephys/electrodes/location"][OUTSIDE] = ""
    return session


def make_session(*, channel_number: str = "local_index", empty: str = "") -> Session:
    """Return the session in memory.

    ``channel_number`` is the column of channels, which newer files call "probe_channel_number";
    ``empty`` is what a column of text contains for a blank, in newer files "N/A".
    """
    file = NWBFile(
        session_description="a synthetic session",
        identifier="715093703",
        session_id="715093703",
        session_start_time=datetime(2019, 1, 1, tzinfo=UTC),
        stimulus_notes="brain_observatory_1.1",
        subject=Subject(
            subject_id="699733573", species="Mus musculus", genotype="wt/wt", sex="M", age="P118D"
        ),
    )
    session = Session(file)
    _add_electrodes(file, channel_number)
    _add_stimuli(session, empty)
    _add_units(session)
    _add_invalid_times(session)
    return session


def _add_electrodes(file: NWBFile, channel_number: str) -> None:
    groups = {}
    for name in ("probeA", "probeC"):
        device = file.create_device(name=name)
        groups[name] = file.create_electrode_group(
            name, description="a probe", location="brain", device=device
        )
    columns = ["probe_id", "valid_data", channel_number]
    columns += ["probe_vertical_position", "probe_horizontal_position"]
    for name in columns:
        file.add_electrode_column(name, description=name)
    for row in range(N_ELECTRODES):
        cells = (row // 16, row != INVALID_ELECTRODE, row, 20 * row, 43)
        values = dict(zip(columns, cells, strict=True))
        file.add_electrode(
            id=FIRST_ELECTRODE + 2 * row,
            location=LOCATIONS[row],
            group=groups[PROBES[row]],
            group_name=PROBES[row],
            **values,
        )


def _add_stimuli(session: Session, empty: str) -> None:
    frames = scenes()
    half = len(frames) // 2
    onsets = np.arange(len(frames)) * WINDOW + 10.0
    onsets[half:] += 60.0  # the second block comes after the gratings
    blocks = [2.0 if k < half else 5.0 for k in range(len(frames))]
    columns = {"frame": [float(one) for one in frames], "stimulus_block": blocks}
    _add_table(session, "natural_scenes", onsets, WINDOW, columns)
    session.labels["natural_scenes"] = frames

    shown = gratings()
    columns = {
        "orientation": [np.nan if one is None else one[0] for one in shown],
        "spatial_frequency": [np.nan if one is None else one[1] for one in shown],
        "phase": [empty if one is None else one[2] for one in shown],
        "stimulus_block": [3.0] * len(shown),
    }
    onsets = np.arange(len(shown)) * WINDOW + 30.0
    _add_table(session, "static_gratings", onsets, WINDOW, columns)
    session.labels["static_gratings"] = shown

    moving = drifting()
    columns = {
        "orientation": [np.nan if one is None else one[0] for one in moving],
        "temporal_frequency": [np.nan if one is None else one[1] for one in moving],
    }
    _add_table(session, "drifting_gratings", np.arange(len(moving)) * 3.0 + 100.0, 2.0, columns)
    session.labels["drifting_gratings"] = moving


def _add_table(
    session: Session, name: str, onsets: np.ndarray, duration: float, columns: dict[str, list[Any]]
) -> None:
    table = TimeIntervals(name=f"{name}_presentations", description=name)
    columns = {**columns, "stimulus_name": [name] * len(onsets), "color": ["[1, 1]"] * len(onsets)}
    columns["stimulus_index"] = [float(len(session.counts))] * len(onsets)
    for column in columns:
        table.add_column(column, description=column)
    for k, onset in enumerate(onsets):
        row = {column: values[k] for column, values in columns.items()}
        table.add_interval(
            start_time=onset, stop_time=onset + duration, tags=["stimulus_time_interval"], **row
        )
    session.file.add_time_intervals(table)
    session.onsets[name] = onsets
    session.counts[name] = planted(len(onsets), shift=len(session.counts))


def _add_units(session: Session) -> None:
    """Spikes on the edges: at the onset, which count, and at the end of a block, which do not."""
    metrics = ["amplitude_cutoff", "presence_ratio", "isi_violations"]
    others = ["firing_rate", "snr", "d_prime", "max_drift", "local_index", "cluster_id"]
    for name in ("quality", *metrics, *others, "peak_channel_id"):
        session.file.add_unit_column(name, description=name)
    session.file.add_unit_column("spike_amplitudes", description="uV", index=True)
    for unit, special in enumerate(SPECIAL):
        values = GOOD | special
        silent, peak = values.pop("silent", False), values.pop("peak")
        times = np.array([]) if silent else np.sort(np.concatenate(list(_spikes(session, unit))))
        session.file.add_unit(
            id=FIRST_UNIT + 3 * unit,
            spike_times=times,
            spike_amplitudes=np.ones(len(times)),
            waveform_mean=np.zeros((4, 2)),
            peak_channel_id=1 if peak is None else FIRST_ELECTRODE + 2 * peak,
            **values,
            **dict.fromkeys(others, float(unit)),
        )


def _spikes(session: Session, unit: int) -> Iterator[np.ndarray]:
    for name, counts in session.counts.items():
        onsets = session.onsets[name]
        for k, onset in enumerate(onsets):
            number = int(counts[k, unit])
            yield onset + WINDOW * (np.arange(number) + 1) / (number + 1)
            if (k + unit) % 5 == 0:
                counts[k, unit] += 1
                yield np.array([onset])
            if k + 1 == len(onsets) or onsets[k + 1] > onset + WINDOW:
                yield np.array([onset + WINDOW, np.nextafter(onsets[k], 0)][: 1 + (k == 0)])
    yield np.array([0.5, 1.5, 29.0, 400.0])


def _add_invalid_times(session: Session) -> None:
    """One interval in scene 3, one of probe C in scenes 10 and 11, and two without effect."""
    onsets = session.onsets["natural_scenes"]
    rows = [
        (onsets[3] + 0.1, onsets[3] + 0.2, ["EcephysSession", "715093703", "stimulus"]),
        (onsets[10] + 0.2, onsets[11] + 0.05, ["EcephysProbe", "2", "probeC"]),
        (onsets[20], onsets[21], ["EcephysSession", "715093703", "optotagging"]),
        (onsets[-1] + WINDOW, onsets[-1] + 5.0, ["EcephysSession", "715093703", "all_probes"]),
    ]
    for start, stop, tags in rows:
        session.file.add_invalid_time_interval(start_time=start, stop_time=stop, tags=tags)
