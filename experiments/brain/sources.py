"""Where recordings come from, and how a session becomes spike counts of each stimulus.

Every session is read once. Its counts are kept in ``sessions/NAME.npz`` and what is known about it
in ``sessions/NAME.json``, which is written last: a run that is interrupted resumes with the
sessions that are missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import repshape as rs
from experiments.brain.nwb_files import require_pynwb, write_session
from experiments.brain.settings import Settings, Source
from experiments.brain.simulate import animals_of
from experiments.common.files import write_arrays, write_json
from repshape.errors import InputError

SESSIONS, NWB_FILES = "sessions", "nwb"
DATA_VARIABLE = "REPSHAPE_DATA"
MACAQUE_FILE = "macaque_v1_counts.npz"
WHOLE, LATE = (0.0, 0.25), (0.05, 0.25)
LATE_SUFFIX = "-late"
# A macaque unit is kept if fewer trials than this are missing; frames 0 and 10 are shared.
LARGEST_MISSING, MACAQUE_FRAMES = 0.02, slice(1, 10)


@dataclass(frozen=True)
class Stimulus:
    """A class of stimuli, and how its counts are read.

    Attributes
    ----------
    key : str
        Short name, in names of files.
    title : str
        For figures and tables.
    role : str
        Which class of the claims it is; empty for alternatives that only the multiverse uses.
    table : str
        The table of presentations in NWB files.
    where : mapping
        The presentations to keep.
    window : (start, stop)
        In seconds after the onset.
    mixed : bool
        Whether a random ``n_repeats`` of the trials of each condition are kept.
    """

    key: str
    title: str
    role: str = ""
    table: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)
    window: tuple[float, float] = WHOLE
    mixed: bool = False

    def late(self) -> Stimulus:
        """Return the same stimulus, counted from 50 ms after the onset."""
        title = f"{self.title}, from 50 ms"
        return replace(self, key=self.key + LATE_SUFFIX, title=title, role="", window=LATE)


GRATINGS = Stimulus(
    "gratings",
    "static gratings",
    "artificial",
    "static_gratings",
    {"spatial_frequency": 0.04, "phase": 0},
)
MIXED = Stimulus("gratings-mixed", "static gratings, mixed", "", "static_gratings", mixed=True)
SCENES = Stimulus("scenes", "natural scenes", "natural", "natural_scenes")
DRIFTING = tuple(
    Stimulus(
        f"drifting-{contrast:g}",
        f"drifting gratings, contrast {contrast:g}",
        f"drifting, contrast {contrast:g}",
        "drifting_gratings_75_repeats",
        {"contrast": contrast},
        window=(0.0, 2.0),
    )
    for contrast in (0.1, 0.8)
)
SYNTHETIC = Stimulus("synthetic", "synthetic images", "artificial")
NATURAL = Stimulus("natural", "natural images", "natural")

MICE = (GRATINGS, MIXED, SCENES, GRATINGS.late(), MIXED.late(), SCENES.late(), *DRIFTING)
STIMULI: dict[Source, tuple[Stimulus, ...]] = {
    Source.SIMULATED: MICE,
    Source.ALLEN: MICE,
    Source.MACAQUE: (SYNTHETIC, NATURAL),
}


@dataclass(frozen=True)
class Session:
    """A session that has not been read yet: its name, and a function that reads it."""

    name: str
    animal: str
    read: Callable[[], tuple[dict[str, rs.Trials], dict[str, str]]]


def find_sessions(
    source: Source, settings: Settings, data: Path | None, out: Path
) -> list[Session]:
    """Return all sessions of a source, or raise if there are none."""
    if source is Source.MACAQUE:
        return _macaque_sessions(settings, _data_folder(data))
    require_pynwb()
    if source is Source.SIMULATED:
        return _simulated_sessions(settings, out / NWB_FILES)
    if data is None:
        raise InputError("Name the folder of the NWB files with --data.")
    paths = sorted([*data.rglob("*.nwb"), *data.rglob("*.nwb.zarr")])
    paths = [path for path in paths if not path.name.startswith(".")]
    if not paths:
        raise InputError(f"The 'data' folder must have NWB files. Got none in {data}.")
    return [_nwb_session(path, settings) for path in paths]


def _data_folder(data: Path | None) -> Path:
    named = os.environ.get(DATA_VARIABLE)
    folder = data or (Path(named) if named else None)
    if folder is None:
        raise InputError(f"Name the folder of the recordings with --data, or set {DATA_VARIABLE}.")
    return folder


def _simulated_sessions(settings: Settings, folder: Path) -> list[Session]:
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for animal in animals_of(settings):
        path = folder / f"{animal.name}.nwb"
        session = _nwb_session(path, settings)

        def read(
            animal: Any = animal, path: Path = path, session: Session = session
        ) -> tuple[dict[str, rs.Trials], dict[str, str]]:
            if not path.exists():
                write_session(animal, path)
            return session.read()

        found.append(replace(session, read=read))
    return found


def _nwb_session(path: Path, settings: Settings) -> Session:
    name = path.name.removesuffix(".zarr").removesuffix(".nwb")
    return Session(name, name, partial(_read_nwb, path, settings))


def _read_nwb(path: Path, settings: Settings) -> tuple[dict[str, rs.Trials], dict[str, str]]:
    """Read all stimuli that the file has; return the trials, and why others are left out."""
    found, reasons = {}, {}
    with rs.io.open_nwb(path) as recording:
        for stimulus in MICE:
            if stimulus.table not in recording.stimuli:
                reasons[stimulus.key] = "no such stimulus"
                continue
            try:
                trials = rs.io.read_allen(
                    recording, stimulus.table, where=stimulus.where, window=stimulus.window
                )
            except InputError as error:
                reasons[stimulus.key] = str(error)
                continue
            if trials.n_neurons < settings.n_components:
                reasons[stimulus.key] = f"{trials.n_neurons} units"
                continue
            found[stimulus.key] = _mixed(trials, settings) if stimulus.mixed else trials
    return found, reasons


def _mixed(trials: rs.Trials, settings: Settings) -> rs.Trials:
    """Return a random ``n_repeats`` of the trials of each condition."""
    rng = np.random.default_rng(settings.seed)
    kept = [
        one[np.sort(rng.permutation(len(one))[: settings.n_repeats])] for one in trials.responses
    ]
    return rs.Trials(kept, conditions=trials.conditions, neurons=trials.neurons)


def _macaque_sessions(settings: Settings, folder: Path) -> list[Session]:
    path = folder / MACAQUE_FILE
    if not path.exists():
        raise InputError(f"The 'data' folder must have {MACAQUE_FILE}. Got {folder}.")
    with np.load(path) as file:
        names = list(file.files)
    read = partial(_read_macaque, path, min(settings.components))
    return [Session(name, name.split("_")[0], partial(read, name)) for name in names]


def _read_macaque(
    path: Path, fewest: int, name: str
) -> tuple[dict[str, rs.Trials], dict[str, str]]:
    """Read one population: an image is a condition; incomplete trials are left out."""
    with np.load(path) as file:
        both = file[name][:, :, :, MACAQUE_FRAMES]
    missing = (both < 0).mean(axis=(0, 2, 3, 5)).max(axis=0)  # of the worse class
    both = both[..., missing < LARGEST_MISSING, :]
    found = {}
    for place, stimulus in enumerate((NATURAL, SYNTHETIC)):
        counts = np.where(both[:, place] < 0, np.nan, both[:, place].astype(float))
        counts = np.swapaxes(counts.reshape(-1, *counts.shape[3:]), 1, 2)
        complete = [image[~np.isnan(image).any(axis=1)] for image in counts]
        found[stimulus.key] = rs.Trials(complete)
    if both.shape[4] < fewest:
        return {}, dict.fromkeys(found, f"{both.shape[4]} units")
    return found, {}


def read_session(folder: Path, session: Session) -> dict[str, Any]:
    """Read one session and keep its counts; return its record."""
    trials, reasons = session.read()
    arrays: dict[str, Any] = {}
    for key, one in trials.items():
        arrays[f"{key}/counts"] = one.pooled.astype(np.uint16)
        arrays[f"{key}/n_trials"] = one.n_trials
        arrays[f"{key}/conditions"] = np.array(one.conditions or range(one.n_conditions), dtype=str)
    write_arrays(folder / f"{session.name}.npz", arrays)
    record = {
        "name": session.name,
        "animal": session.animal,
        "n_neurons": {key: one.n_neurons for key, one in trials.items()},
        "n_trials": {
            key: [int(one.n_trials.min()), int(one.n_trials.max())] for key, one in trials.items()
        },
        "left_out": reasons,
    }
    write_json(folder / f"{session.name}.json", record)
    return record


def read_records(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of all sessions that were read."""
    for path in sorted(folder.glob("*.json")):
        yield json.loads(path.read_text())


def load_trials(folder: Path, key: str, least: int) -> dict[str, rs.Trials]:
    """Return the sessions with a stimulus and at least a given number of neurons, by name."""
    found = {}
    for record in read_records(folder):
        if record["n_neurons"].get(key, 0) < least:
            continue
        with np.load(folder / f"{record['name']}.npz", allow_pickle=False) as stored:
            ends = np.cumsum(stored[f"{key}/n_trials"])[:-1]
            parts = np.split(stored[f"{key}/counts"].astype(np.float64), ends)
            conditions = stored[f"{key}/conditions"].tolist()
        found[record["name"]] = rs.Trials(parts, conditions=conditions)
    return _common(found)


def _common(found: dict[str, rs.Trials]) -> dict[str, rs.Trials]:
    """Return the networks with the conditions that all of them have."""
    labels = [one.conditions or () for one in found.values()]
    if len(set(labels)) <= 1:
        return found
    shared = [label for label in labels[0] if all(label in one for one in labels[1:])]
    return {name: one.select(shared) for name, one in found.items()}
