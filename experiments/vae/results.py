"""Measure a study: all matrices that are missing, then the verdicts and all numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

import repshape as rs
from experiments.common import files
from experiments.common.archives import read_records
from experiments.common.results import ARRAYS, RESULTS, TINY, TINY_NOTE, analysis_versions
from experiments.common.samples import PairSample, Sample
from experiments.vae import analysis
from experiments.vae.captions import count_doubts
from experiments.vae.claims import ENERGY
from experiments.vae.cohorts import SPRITES, Group, groups_of, metadata_of
from experiments.vae.decide import decide_all
from experiments.vae.known import KnownResults
from experiments.vae.measure import Measurement, repaired
from experiments.vae.run import FULL_SCORES, SCORES, Study
from experiments.vae.scores import NAMES
from experiments.vae.settings import NetworkPlan

Matrices = dict[str, rs.DistanceMatrix | PairSample]


def measure_all(
    study: Study,
    workers: int,
    on_start: Callable[[int, int], None],
    known: KnownResults | None = None,
) -> Iterator[dict[str, Any]]:
    """Compute all distances that are missing, then the results; yield the name of each step.

    Matrices that ``known`` results have of the same networks are taken from there.
    """
    measurement = Measurement(study, workers, known)
    measurement.check()
    tasks = [*measurement.tasks(), *measurement.sweep_tasks()]
    on_start(0, len(tasks) + 1)
    matrices: Matrices = {}
    for name, compute in tasks:
        matrices[name] = compute()
        yield {"name": name}
    write_results(study, measurement, matrices)
    yield {"name": "results"}


def write_results(study: Study, measurement: Measurement, matrices: Matrices) -> None:
    """Compute and write everything that is reported."""
    start = time.perf_counter()
    samples, repairs = make_samples(study, measurement, matrices)
    sweep = samples.pop("sweep", None)
    numbers: dict[str, Any] = {
        **analysis.derived_numbers(samples),
        "along_training": measurement.training_ratio(),
        "repair": repairs,
        "full_scores": full_score_differences(study),
    }
    arrays = analysis.stored_arrays(samples)
    size = study.measure
    if SPRITES.name in samples:
        more, drawn = analysis.sprite_analysis(samples[SPRITES.name], size.permutations)
        numbers |= more
        arrays |= drawn
    if sweep is not None:
        numbers["sweep"] = analysis.sweep_table(sweep, size.sweep_trials)
    found: dict[str, Any] = {
        "scale": study.scale,
        "round": study.part,
        "note": TINY_NOTE if study.scale == TINY else "",
        "measure": asdict(size),
        "scores": asdict(study.scores),
        "networks": {
            group.name: count_networks(study, group, measurement.groups.get(group.name, []))
            for group in groups_of(study)
        },
        "versions": analysis_versions(),
        "claims": decide_all(samples, size.permutations),
        "numbers": numbers,
        "doubts": count_doubts(matrices),
        "seconds": measurement.seconds,
        "taken": list(measurement.taken),
    }
    found["seconds"]["analysis"] = round(time.perf_counter() - start, 2)
    files.write_arrays(study.out / ARRAYS, arrays)
    files.write_json(study.out / RESULTS, found)


def make_samples(
    study: Study, measurement: Measurement, matrices: Matrices
) -> tuple[dict[str, Sample], dict[str, Any]]:
    """Return the networks of every group with their distances; energy distances are repaired."""
    distances: dict[str, dict[str, Any]] = {}
    repairs, paired = {}, {}
    for name, matrix in matrices.items():
        group, own = name.split("/")
        if isinstance(matrix, PairSample):
            paired[group] = matrix
            continue
        if measurement.known is not None and name in measurement.taken:
            if own == ENERGY:
                repairs[name] = measurement.known.repair(name)
        elif own == ENERGY:
            matrix, repairs[name] = repaired(matrix)
        distances.setdefault(group, {})[own] = matrix.values
    plans = measurement.groups | {"sweep": measurement.sweep_plans}
    samples = {
        group: Sample(found, metadata_of(study, plans[group])) for group, found in distances.items()
    }
    return samples | paired, repairs


def full_score_differences(study: Study) -> dict[str, Any]:
    """Return how scores at the paper's sizes differ, for the networks that have both."""
    pairs = []
    for plan in SPRITES.plans(study):
        stored = study.network(plan)
        if stored.has(SCORES) and stored.has(FULL_SCORES):
            pairs.append([stored.json(SCORES), stored.json(FULL_SCORES)])
    if not pairs:
        return {}
    own_minutes, minutes = (sum(map(score_seconds, one)) / 60 for one in zip(*pairs, strict=True))
    found: dict[str, Any] = {
        "networks": len(pairs),
        "minutes": round(minutes, 2),
        "own_minutes": round(own_minutes, 2),
    }
    for letter in NAMES:
        values = [[one["scores"][letter] for one in pair] for pair in pairs]
        both = [pair for pair in values if None not in pair]
        own, full = np.array(both, dtype=np.float64).reshape(-1, 2).T
        found[letter] = {
            "mean": float(full.mean()) if len(both) else None,
            "mean_difference": float((own - full).mean()) if len(both) else None,
            "mean_absolute_difference": float(abs(own - full).mean()) if len(both) else None,
        }
    return found


def score_seconds(found: Mapping[str, Any]) -> float:
    """Return how long a network's scores took, without encoding its images."""
    return float(sum(found.get("seconds", {}).values()))


def count_networks(study: Study, group: Group, measured: list[NetworkPlan]) -> dict[str, Any]:
    """Return how many networks of a group were planned, measured, scored, and failed.

    Planned are the networks of the seeds that were chosen; ``seeds_planned`` counts all seeds.
    ``seconds`` is the time that training them took, one after the other, and ``score_seconds``
    that of their scores.
    """
    frame = metadata_of(study, measured) if measured else None
    size = study.settings[group.dataset]
    stored = list(map(study.network, measured))
    scores = [one.json(SCORES) for one in stored if one.has(SCORES)]
    return {
        "planned": len(group.plans(study)),
        "measured": len(measured),
        "seeds": len({plan.seed for plan in measured}),
        "seeds_planned": size.seeds if group.trained else size.untrained_seeds,
        "failed": 0 if frame is None else int(frame["failed"].sum()),
        "scored": 0 if frame is None else int(frame["A"].notna().sum()),
        "seconds": sum(one["seconds"] for one in read_records(stored)),
        "score_seconds": round(sum(map(score_seconds, scores)), 2),
    }
