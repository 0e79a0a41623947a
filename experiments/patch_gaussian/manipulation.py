"""The manipulation check: whether the networks show the effect of Patch-Gaussian at all.

It looks at the records alone, and comes before any distance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from experiments.common.verdicts import Verdict, combine, fold_verdict
from experiments.patch_gaussian.claims import (
    MANIPULATION,
    ROBUST_SIGMA,
    ROBUST_WIDTH,
    TOLERATED_LOSS,
)

Record = Mapping[str, Any]


@dataclass(frozen=True)
class ManipulationCheck:
    """Statistics of the check, by criterion and seed.

    Attributes
    ----------
    folds : dict of str to list of float
        For the name of each criterion, its statistic for each seed.
    """

    folds: dict[str, list[float]]

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """Verdict of each criterion."""
        return {c.name: fold_verdict(c, self.folds[c.name]) for c in MANIPULATION.criteria}

    @property
    def verdict(self) -> Verdict:
        """Verdict of the whole check."""
        return combine(self.verdicts.values())


def check_manipulation(records: Iterable[Record]) -> ManipulationCheck:
    """Compare accuracies with and without patches, seed by seed.

    Parameters
    ----------
    records : iterable of dict
        Records of all networks of the study.
    """
    seeds: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        seeds[record["seed"]].append(record)
    folds: dict[str, list[float]] = {c.name: [] for c in MANIPULATION.criteria}
    for seed in sorted(seeds):
        members = seeds[seed]
        folds["gain at tau = 0.3"].append(robust_gain(members, "0.3"))
        folds["gain at tau = 0.1"].append(robust_gain(members, "0.1"))
        folds["clean loss"].append(robust_gain(members, "clean"))
        folds["trade-off"].append(best_cheap_gain(members, "0.3"))
        folds["order of W"].append(order_of_widths(members, "0.3"))
    return ManipulationCheck(folds)


def is_robust(record: Record) -> bool:
    """Return whether a network is of a cell that is expected to be robust."""
    if record["width"] is None:
        return False
    wide = record["width"] >= ROBUST_WIDTH * record["settings"]["side"]
    return bool(wide and record["sigma"] >= ROBUST_SIGMA)


def robust_gain(records: Iterable[Record], noise: str) -> float:
    """Return the mean accuracy of robust cells minus that without patches."""
    found = list(records)
    robust = [record["accuracy"][noise] for record in found if is_robust(record)]
    plain = [record["accuracy"][noise] for record in found if record["width"] is None]
    return float(np.mean(robust) - np.mean(plain))


def best_cheap_gain(records: Iterable[Record], noise: str) -> float:
    """Return the largest gain over the network without patches among cells that cost little.

    It is 0 if there is no such cell. All records must be of one seed.
    """
    found = list(records)
    (plain,) = (record["accuracy"] for record in found if record["width"] is None)
    patched = [record["accuracy"] for record in found if record["width"] is not None]
    gains = [
        accuracy[noise] - plain[noise]
        for accuracy in patched
        if accuracy["clean"] >= plain["clean"] - TOLERATED_LOSS
    ]
    return max(gains, default=0.0)


def order_of_widths(records: Iterable[Record], noise: str) -> float:
    """Return Spearman's correlation between W and the accuracy averaged over sigma.

    It is not a number if all accuracies are equal.
    """
    groups: dict[int, list[float]] = defaultdict(list)
    for record in records:
        if record["width"] is not None:
            groups[record["width"]].append(record["accuracy"][noise])
    widths = sorted(groups)
    accuracy = [np.mean(groups[width]) for width in widths]
    if np.ptp(accuracy) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(widths), rankdata(accuracy))[0, 1])
