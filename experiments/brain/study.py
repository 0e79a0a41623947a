"""Run the study in pieces. Each is written once; an interrupted run resumes with what is missing.

The folder of a run has ``settings.json``, ``sessions/`` (spike counts), ``measured/`` (a file for
each piece), ``results.json``, the figures and ``report.html``; simulated recordings are in
``nwb/``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import repshape as rs
from experiments.brain import corrected, geometry, multiverse, protocol, truth, validation
from experiments.brain.claims import CLASSES
from experiments.brain.settings import CHOSEN, Settings, Source
from experiments.brain.sources import (
    LATE_SUFFIX,
    MIXED,
    SESSIONS,
    STIMULI,
    Stimulus,
    find_sessions,
    load_trials,
    read_records,
    read_session,
)
from experiments.brain.statistics import pairs
from experiments.common import files
from experiments.common.results import COMMIT, VERSION, source_commit
from repshape.errors import InputError

MEASURED = "measured"
PIECES, RECORDS = "pieces", "records"  # of stored runs
FEWEST_SESSIONS = 4  # for a Mantel test
# The multiverse needs estimates for each number of components, but no intervals of single pairs.
FEW_GROUPS = 5
CORRECTED_ALPHAS = (0.0, 2.0)
TRUE_COHORT, TRUE_SUBSAMPLING = "true-cohort-", "true-subsampling"
# Single trials are drawn, except where the recordings may not be shown.
SHOW_TRIALS = {Source.SIMULATED: True, Source.ALLEN: True, Source.MACAQUE: False}

Piece = tuple[str, Callable[[int], dict[str, Any]]]  # name, and function of the number of workers


@dataclass(frozen=True)
class Study:
    """A run: its folder, source, sizes and data.

    Attributes
    ----------
    out : Path
    source : Source
    settings : Settings
    data : Path or None
        Folder of the recordings, if they are not simulated.
    stored : mapping or None
        What `keep` stored of a finished run, which is then read instead of the folder.
    """

    out: Path
    source: Source
    settings: Settings
    data: Path | None = None
    stored: Mapping[str, Any] | None = None

    def summary(self) -> dict[str, Any]:
        """Return what decides the results, ready for JSON."""
        run = {"source": str(self.source), **asdict(self.settings)}
        return {"settings": run, "chosen": CHOSEN}

    @property
    def sessions(self) -> Path:
        """Folder of the spike counts."""
        return self.out / SESSIONS

    def piece(self, name: str) -> Path:
        """Return the file of a piece."""
        return self.out / MEASURED / f"{name}.json"

    def has(self, name: str) -> bool:
        """Return whether a piece was measured."""
        return self.piece(name).exists() if self.stored is None else name in self.stored[PIECES]

    def read(self, name: str) -> dict[str, Any]:
        """Return a piece that was measured."""
        found: dict[str, Any]
        if self.stored is None:
            found = json.loads(self.piece(name).read_text())
        else:
            found = self.stored[PIECES][name]
        return found

    @property
    def measured(self) -> list[str]:
        """Names of all pieces that were measured."""
        if self.stored is None:
            return sorted(path.stem for path in (self.out / MEASURED).glob("*.json"))
        return sorted(self.stored[PIECES])

    @property
    def records(self) -> list[dict[str, Any]]:
        """Records of all sessions that were read."""
        return list(read_records(self.sessions) if self.stored is None else self.stored[RECORDS])

    def load(self, key: str, least: int | None = None) -> dict[str, rs.Trials]:
        """Return the networks of a stimulus with enough neurons."""
        return load_trials(self.sessions, key, least or self.settings.n_components)

    @cached_property
    def classes(self) -> list[Stimulus]:
        """Classes of the claims that enough sessions have."""
        least = self.settings.n_components
        counts = {
            stimulus.key: sum(
                record["n_neurons"].get(stimulus.key, 0) >= least for record in self.records
            )
            for stimulus in STIMULI[self.source]
        }
        return [
            one for one in STIMULI[self.source] if one.role and counts[one.key] >= FEWEST_SESSIONS
        ]

    @cached_property
    def multiverse_sessions(self) -> set[str]:
        """Sessions of the multiverse: all that have both classes, or a random choice of them."""
        keys = [self.key_of(role) for role in CLASSES]
        names = [
            record["name"]
            for record in self.records
            if all(key in record["n_neurons"] for key in keys)
        ]
        order = np.random.default_rng(self.settings.seed).permutation(len(names))
        return {names[k] for k in order[: self.settings.multiverse_sessions]}

    def load_some(self, key: str, least: int) -> dict[str, rs.Trials]:
        """Return those networks of a stimulus that are in the multiverse."""
        found = self.load(key, least)
        return {name: one for name, one in found.items() if name in self.multiverse_sessions}

    def key_of(self, role: str) -> str:
        """Return the key of the stimulus with a role."""
        return next(one.key for one in STIMULI[self.source] if one.role == role)


def measure(
    study: Study, workers: int, on_start: Callable[[int, int], None] = lambda done, total: None
) -> Iterator[dict[str, Any]]:
    """Read the sessions and measure all pieces that are missing; yield the name of each.

    Parameters
    ----------
    study : Study
    workers : int
        Number of threads.
    on_start : callable
        Called with the number of sessions and pieces that are finished and of all, as soon as
        these are known: first for sessions, then for pieces.
    """
    files.claim_folder(study.out, study.summary(), "settings")
    for folder in (study.sessions, study.out / MEASURED):
        files.prepare_network_folder(folder)
    sessions = find_sessions(study.source, study.settings, study.data, study.out)
    missing = [one for one in sessions if not (study.sessions / f"{one.name}.json").exists()]
    on_start(len(sessions) - len(missing), len(sessions))
    for session in missing:
        yield read_session(study.sessions, session)
    if not study.classes:
        raise InputError(
            f"Fewer than {FEWEST_SESSIONS} sessions have {study.settings.n_components} units and "
            f"the same stimulus. {study.sessions} says what was left out."
        )
    todo = pieces(study)
    undone = [one for one in todo if not study.piece(one[0]).exists()]
    on_start(len(todo) - len(undone), len(todo))
    for name, function in undone:
        if study.piece(name).exists():  # another process was faster
            continue
        start = time.perf_counter(), time.process_time()
        with threadpool_limits(limits=1, user_api="blas"):  # matrices are small
            found = function(workers)
        found["seconds"] = round(time.perf_counter() - start[0], 2)
        found["cpu_seconds"] = round(time.process_time() - start[1], 2)
        found |= {COMMIT: source_commit(), VERSION: rs.__version__}
        files.write_json(study.piece(name), without_nan(found))
        yield {"name": name}


def pieces(study: Study) -> list[Piece]:
    """Return all pieces of the study, in order; later ones may read earlier ones."""
    out: list[Piece] = []
    for stimulus in study.classes:
        out += _class_pieces(study, stimulus)
    roles = {one.role for one in study.classes}
    if "natural" in roles:
        out.append(("subsampling", partial(_subsample, study)))
    if roles.issuperset(CLASSES):
        out += _multiverse_pieces(study)
    if study.source is Source.SIMULATED:
        out += [(f"truth-{one.key}", partial(_validate, study, one.key)) for one in study.classes]
        out += _truth_pieces(study)
    return out


def _truth_pieces(study: Study) -> list[Piece]:
    size = study.settings
    out: list[Piece] = [
        (f"{TRUE_COHORT}{k}", partial(truth.other_cohort, size, k))
        for k in range(1, size.truth_cohorts + 1)
    ]
    key = study.key_of("natural")
    out.append(
        (
            TRUE_SUBSAMPLING,
            lambda w: truth.true_subsampling(size, key, study.read("subsampling"), w),
        )
    )
    return out


def _class_pieces(study: Study, stimulus: Stimulus) -> list[Piece]:
    key, size = stimulus.key, study.settings
    out: list[Piece] = [
        (f"protocol-{key}", lambda w: protocol.measure_class(study.load(key), size, w))
    ]
    out += [_corrected_piece(study, key, alpha, size.n_components) for alpha in CORRECTED_ALPHAS]
    if stimulus.role in CLASSES:
        out += [
            (f"halves-{key}", lambda w: protocol.halves(study.load(key), size, w)),
            (f"geometry-{key}", lambda w: _geometry(study, key)),
            (f"example-{key}", lambda w: _example(study, key)),
            (f"ratios-{key}", lambda w: corrected.pair_ratios(study.load(key), size, w)),
        ]
    return out


def corrected_name(key: str, alpha: float, components: int) -> str:
    """Return the name of the piece with corrected distances."""
    return f"corrected-{key}-{alpha:g}-{components}"


def _corrected_piece(study: Study, key: str, alpha: float, components: int) -> Piece:
    size = study.settings
    main = components == size.n_components
    if not main:
        size = replace(size, n_groups=FEW_GROUPS, n_splits=1)

    def run(workers: int) -> dict[str, Any]:
        networks = study.load(key) if main else study.load_some(key, components)
        return corrected.measure_class(networks, size, alpha, components, workers)

    return corrected_name(key, alpha, components), run


def _geometry(study: Study, key: str) -> dict[str, Any]:
    size = study.settings
    return geometry.measure_class(study.load(key), size.n_shuffles, size.seed)


def _example(study: Study, key: str) -> dict[str, Any]:
    return geometry.example(study.load(key), show_trials=SHOW_TRIALS[study.source])


def _subsample(study: Study, workers: int) -> dict[str, Any]:
    return protocol.subsample(study.load(study.key_of("natural")), study.settings, workers)


def variants(study: Study) -> dict[str, list[str]]:
    """Return the stimuli that the multiverse uses by role, the paper's first, and the windows."""
    artificial, natural = (study.key_of(role) for role in CLASSES)
    if study.source is Source.MACAQUE:
        return {"artificial": [artificial], "natural": [natural], "window": [""]}
    return {
        "artificial": [artificial, MIXED.key],
        "natural": [natural, natural + multiverse.MATCHED],
        "window": ["", LATE_SUFFIX],
    }


def _multiverse_pieces(study: Study) -> list[Piece]:
    keys = multiverse.needed_keys(multiverse.cells(study.settings, variants(study)))
    stimuli = dict.fromkeys(key.stimulus for key in keys)
    out: list[Piece] = [
        (f"multiverse-{name}", partial(_multiverse, study, [k for k in keys if k.stimulus == name]))
        for name in stimuli
    ]
    others = [k for k in study.settings.components if k != study.settings.n_components]
    for role in CLASSES:
        for components in others:
            for alpha in CORRECTED_ALPHAS:
                out.append(_corrected_piece(study, study.key_of(role), alpha, components))
    return out


def _multiverse(study: Study, keys: list[multiverse.Key], workers: int) -> dict[str, Any]:
    n_matched = next(iter(study.load(study.key_of("artificial")).values())).n_conditions
    found = multiverse.measure(keys, study.load_some, study.settings, n_matched, workers)
    return {key.text: {"names": names, "distances": pairs(D).tolist()} for key, names, D in found}


def _validate(study: Study, key: str, workers: int) -> dict[str, Any]:
    """Compare a class with the truth; needs the pieces of the class."""
    size, networks = study.settings, study.load(key)
    moments = validation.true_networks(size, key, list(networks))
    truth = validation.true_distances(moments, size.n_components, workers)
    estimates = {
        alpha: study.read(corrected_name(key, float(alpha), size.n_components)) for alpha in truth
    }
    plug_in = study.read(f"protocol-{key}")["distances"]
    paper = {alpha: pairs(np.array(plug_in[alpha])).tolist() for alpha in truth}
    out: dict[str, Any] = {
        "truth": truth,
        "distances": validation.compare(truth, estimates, paper),
        "gamma": validation.shrinkage_errors(networks, moments, size),
    }
    if study.has(f"ratios-{key}"):
        out["ratios"] = validation.compare_ratios(truth, study.read(f"ratios-{key}"))
    return out


def without_nan(value: Any) -> Any:
    """Replace NaN by None, which JSON knows.

    >>> without_nan({"a": [1.0, float("nan")]})
    {'a': [1.0, None]}
    """
    if isinstance(value, dict):
        return {key: without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
