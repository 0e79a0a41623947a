"""Distances between disjoint pairs of untrained networks.

Untrained networks are cheap, so each is compared with one other only: pairs that share
no network are independent. What is finished is kept in one file for each group, and is used again
if the networks and the metrics are the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import repshape as rs
from experiments.common import files
from experiments.common.jobs import run_jobs
from experiments.common.samples import SECOND, PairSample
from experiments.common.stores import raw_and_centred
from experiments.vae.cohorts import metadata_of, read_network
from experiments.vae.run import Study
from experiments.vae.settings import NetworkPlan

Pair = tuple[NetworkPlan, NetworkPlan]
SUFFIX = "-pairs.json"
COLUMNS = ("objective", "cell", "initialisation")  # of the first network: both have the same
EXTREMES, CENTRED_EXTREMES = (0.0, 2.0), (2.0,)


def pair_metrics() -> dict[str, rs.GaussianShapeMetric]:
    """Return the metrics by which pairs are compared, by name."""
    return raw_and_centred(EXTREMES, CENTRED_EXTREMES)


def disjoint_pairs(plans: Sequence[NetworkPlan], first_seed: int) -> list[Pair]:
    """Return the networks in pairs of neighbouring seeds; those without a partner are left out.

    >>> plans = [NetworkPlan("mnist", "untrained", None, k, "glorot") for k in (10, 11, 13, 14, 15)]
    >>> [(x.seed, y.seed) for x, y in disjoint_pairs(plans, 10)]
    [(10, 11), (14, 15)]
    """
    known = {plan.seed: plan for plan in plans}
    return [
        (plan, known[seed + 1])
        for seed, plan in sorted(known.items())
        if (seed - first_seed) % 2 == 0 and seed + 1 in known
    ]


@dataclass(frozen=True)
class Compared:
    """The distances of one pair by metric, and a fingerprint of what decides them."""

    name: str
    fingerprint: str
    distances: Mapping[str, float]


def compare(study: Study, known: Mapping[str, Any], pair: Pair) -> Compared:
    """Return the distances of a pair: those that are known, if their fingerprint is the same."""
    networks = [read_network(study.network(plan), study.measure.n_images) for plan in pair]
    metrics = pair_metrics()
    name, fingerprint = pair[0].name, _fingerprint(networks, metrics)
    found = known.get(name, {})
    if found.get("fingerprint") == fingerprint:
        return Compared(name, fingerprint, found["distances"])
    first, second = networks
    distances = {key: float(metric.distance(first, second)) for key, metric in metrics.items()}
    return Compared(name, fingerprint, distances)


def _fingerprint(
    networks: Sequence[rs.Gaussians], metrics: Mapping[str, rs.GaussianShapeMetric]
) -> str:
    digest = hashlib.sha256(rs.__version__.encode())
    for name, metric in metrics.items():
        digest.update(json.dumps([name, metric.describe()], sort_keys=True).encode())
    for network in networks:
        digest.update(network.means.tobytes())
        digest.update(network.variances.tobytes())
    return digest.hexdigest()


def compare_pairs(study: Study, pairs: Sequence[Pair], path: Path, workers: int) -> PairSample:
    """Return the distances of all pairs, in their order; each is written as soon as it is known."""
    known = json.loads(path.read_text()) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    finished: dict[str, dict[str, Any]] = {}
    for one in run_jobs(partial(compare, study, known), pairs, workers):
        finished[one.name] = {"fingerprint": one.fingerprint, "distances": dict(one.distances)}
        if known.get(one.name) != finished[one.name]:
            files.write_json(path, known | finished)
    rows = [finished[first.name]["distances"] for first, _ in pairs]
    distances = {name: np.array([row[name] for row in rows]) for name in pair_metrics()}
    return PairSample(distances, pair_metadata(study, pairs))


def pair_metadata(study: Study, pairs: Sequence[Pair]) -> pd.DataFrame:
    """Return a row for each pair; a pair failed if one of its networks did."""
    first, second = (metadata_of(study, [pair[k] for pair in pairs]) for k in (0, 1))
    frame = first[list(COLUMNS)].copy()
    frame[SECOND] = second.index
    frame["seed"] = range(len(pairs))
    frame["failed"] = first["failed"].to_numpy() | second["failed"].to_numpy()
    return frame
