"""The networks of a study that can be compared, and what is known of each.

Only complete seeds are used: those of which every network is finished. A study may so be measured
while it is still being trained.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd

import repshape as rs
from experiments.common import files
from experiments.patch_gaussian.run import Study
from experiments.patch_gaussian.settings import NetworkPlan


def complete_plans(study: Study) -> list[NetworkPlan]:
    """Return the networks of the complete seeds: without patches, then by W, sigma and seed."""
    finished: dict[int, list[bool]] = defaultdict(list)
    for plan in study.plans():
        finished[plan.seed].append(study.network(plan).has(files.RECORD))
    plans = [plan for plan in study.plans() if all(finished[plan.seed])]
    return sorted(plans, key=_order)


def _order(plan: NetworkPlan) -> tuple[float, float, int]:
    patch = plan.patch
    return (0, 0, plan.seed) if patch is None else (patch.width, patch.sigma, plan.seed)


def metadata_of(study: Study, plans: list[NetworkPlan]) -> pd.DataFrame:
    """Return a row for each network, indexed by its name; W and sigma are NaN without patches."""
    rows = []
    for plan in plans:
        record = study.network(plan).json(files.RECORD)
        row: dict[str, Any] = {name: record[name] for name in ("cell", "seed", "failed")}
        row["width"] = np.nan if record["width"] is None else float(record["width"])
        row["sigma"] = np.nan if record["sigma"] is None else float(record["sigma"])
        row |= {f"accuracy-{noise}": value for noise, value in record["accuracy"].items()}
        rows.append(row)
    return pd.DataFrame(rows, index=[plan.name for plan in plans])


def spread(network: rs.Gaussians, n_trials: int) -> float:
    """Return within-image spread over between-image distance.

    What finite trials add to the distance between means is subtracted. The result is not a number
    if nothing is left.

    >>> means = np.array([[0.0], [4.0]])
    >>> spread(rs.Gaussians(means, np.ones((2, 1, 1))), 10**6)  # doctest: +ELLIPSIS
    0.25...
    """
    variance = float(network.total_variance.mean())
    centred = network.means - network.means.mean(axis=0)
    between = 2 * float((centred**2).sum()) / (len(centred) - 1) - 2 * variance / n_trials
    return float(np.sqrt(variance / between)) if between > 0 else float("nan")
