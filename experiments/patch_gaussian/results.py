"""Measure a study: responses and matrices that are missing, then verdicts and all numbers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

import repshape as rs
from experiments.common import archives, files
from experiments.common.reproducible import require_torch
from experiments.common.results import ARRAYS, RESULTS, TINY, TINY_NOTE, Arrays, analysis_versions
from experiments.common.samples import Sample, store_sample
from experiments.common.verdicts import Verdict
from experiments.patch_gaussian import analysis
from experiments.patch_gaussian.decide import NETWORKS, Evidence, decide_all
from experiments.patch_gaussian.measure import Measurement
from experiments.patch_gaussian.reference import compare_reference
from experiments.patch_gaussian.run import Study
from experiments.patch_gaussian.search import check_search

EXAMPLES = "examples.npz"


def measure_all(
    study: Study, workers: int, on_start: Callable[[int, int], None]
) -> Iterator[dict[str, Any]]:
    """Compute all responses and distances that are missing, then the results; yield each step."""
    measurement = Measurement(study, workers)
    tasks = list(measurement.tasks())
    more = len(tasks) + 4
    yield from collect_responses(study, workers, lambda done, total: on_start(0, total + more))
    examples = collect_once(measurement)
    yield {"name": "examples"}
    matrices = {}
    for name, compute in tasks:
        matrices[name] = compute()
        yield {"name": name}
    search = check_search(measurement, matrices)
    yield {"name": "search"}
    reference = compare_reference(measurement)
    yield {"name": "reference code"}
    write_results(measurement, matrices, examples, search, reference)
    yield {"name": "results"}


def collect_responses(
    study: Study, workers: int, on_start: Callable[[int, int], None]
) -> Iterator[dict[str, Any]]:
    """Collect the responses that are missing; yield the name of each network, or of each tau."""
    require_torch()
    from experiments.patch_gaussian.collecting import collect_all

    measurement = Measurement(study, workers)
    measurement.check()
    on_start(0, len(measurement.plans) if workers == 1 else len(study.settings.taus))
    start = time.perf_counter()
    yield from collect_all(study, measurement.plans, workers)
    measurement.stores.add_seconds("responses", time.perf_counter() - start)


def collect_once(measurement: Measurement) -> Arrays:
    """Return the arrays of the examples, from their file if it is there."""
    from experiments.patch_gaussian.examples import collect_examples

    study = measurement.study
    path = study.out / f"{len(measurement.plans)}-{EXAMPLES}"
    if not path.exists():
        files.write_arrays(path, collect_examples(study, measurement.plans))
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


def write_results(
    measurement: Measurement,
    matrices: dict[str, rs.DistanceMatrix],
    examples: Arrays,
    search: dict[str, Any],
    reference: dict[str, Any],
) -> None:
    """Compute and write everything that is reported."""
    start = time.perf_counter()
    study = measurement.study
    metadata = measurement.metadata.join(measurement.spreads())
    distances = {name: np.asarray(matrix.values) for name, matrix in matrices.items()}
    sample = Sample(distances, metadata)
    numbers = tabulate(study, measurement, sample) | {
        "search": search,
        "reference": reference,
    }
    verdict = Verdict(numbers["manipulation"]["verdict"])
    evidence = Evidence(sample, study.settings.side, study.measure.permutations)
    seconds = measurement.stores.seconds
    found: dict[str, Any] = {
        "scale": study.scale,
        "round": study.part,
        "note": TINY_NOTE if study.scale == TINY else "",
        "settings": asdict(study.settings),
        "measure": asdict(study.measure),
        "networks": count_networks(study, measurement),
        "versions": analysis_versions(),
        "claims": decide_all(evidence, verdict, study.scale),
        "numbers": numbers,
        "seconds": seconds | {"analysis": round(time.perf_counter() - start, 2)},
    }
    columns = [str(name) for name in metadata if name != "cell"]
    arrays = store_sample(NETWORKS, sample, ("cell",), columns)
    files.write_arrays(study.out / ARRAYS, arrays | analysis.planes(sample) | examples)
    files.write_json(study.out / RESULTS, found)


def tabulate(study: Study, measurement: Measurement, sample: Sample) -> dict[str, Any]:
    """Return the tables of the results."""
    return {
        "manipulation": analysis.manipulation_table(read_records(measurement)),
        **analysis.tables_of_distances(sample, study.measure.permutations),
    }


def read_records(measurement: Measurement) -> list[dict[str, Any]]:
    """Return the records of the networks that are measured."""
    return list(archives.read_records(map(measurement.study.network, measurement.plans)))


def count_networks(study: Study, measurement: Measurement) -> dict[str, Any]:
    """Return how many networks were planned, measured and failed, and what training took.

    Planned are the networks of the seeds that were chosen; ``seeds_planned`` counts all seeds.
    """
    records = read_records(measurement)
    return {
        "planned": len(study.plans()),
        "measured": len(records),
        "seeds": len({record["seed"] for record in records}),
        "seeds_planned": study.settings.seeds,
        "failed": sum(record["failed"] for record in records),
        "training_core_seconds": round(sum(record["core_seconds"] for record in records), 1),
        "records": json.loads(json.dumps([slim(record) for record in records])),
    }


def slim(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record without the settings, which are the same for all networks."""
    return {name: value for name, value in record.items() if name not in ("settings", "versions")}
