"""Tests of groups that are repeated with a factor matched or removed, from the responses."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape.engine.run import pairwise
from repshape.errors import FewTrialsWarning, InputError, SearchWarning
from repshape.inference.factors import (
    COLUMNS,
    SLOW_PERMUTATIONS,
    Factor,
    find_factors,
    name_call,
    name_gain,
    without,
)
from repshape.inference.groups import GroupTest, compare_groups
from repshape.inference.permutations import make_design
from repshape.io.matched import CHOICES, Matching, check_by
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.base import ShapeMetric
from repshape.responses import Gaussians, Trials

FloatArray = npt.NDArray[np.float64]
# Match the sizes in which groups differ.
AUTO = "auto"


@dataclass(frozen=True)
class Grouped:
    """Groups and blocks of networks as text, and how labels are permuted."""

    labels: list[str]
    blocks: list[str] | None
    n_permutations: int
    random_state: int

    def test(self, D: DistanceMatrix) -> GroupTest:
        """Return the test of the groups on distances."""
        return compare_groups(
            D,
            self.labels,
            self.blocks,
            n_permutations=self.n_permutations,
            random_state=self.random_state,
        )

    def factors(self, columns: Mapping[str, npt.ArrayLike]) -> tuple[Factor, ...]:
        """Return the columns in which the groups differ."""
        return find_factors(columns, make_design(self.labels, self.blocks))

    def test_without(self, D: DistanceMatrix, covariate: npt.ArrayLike) -> float:
        """Return the p-value of the groups after regression on a covariate."""
        design = make_design(self.labels, self.blocks)
        fewer = min(self.n_permutations, SLOW_PERMUTATIONS)
        allowed = design.arrange(fewer, self.random_state)
        return without(D.values * np.abs(D.values), covariate, design, allowed)


@dataclass(frozen=True)
class Draws:
    """Which sizes to match, how often, and how to run."""

    match: str | Sequence[str]
    n_draws: int
    random_state: int
    workers: int | None
    progress: bool | None

    def __post_init__(self) -> None:
        if self.match != AUTO:
            check_by("match", self.match)  # nothing to match is refused, too
        Matching.checked("neurons", self.n_draws, self.random_state)

    def wanted(self, factors: Sequence[Factor]) -> tuple[str, ...]:
        """Return the sizes to match, given those in which groups differ."""
        if self.match == AUTO:
            return tuple(one.name for one in factors if one.name in CHOICES)
        return check_by("match", self.match)

    def pairwise(
        self, networks: Sequence[Any], metric: ShapeMetric[Any], by: Sequence[str], like: Any
    ) -> DistanceMatrix:
        """Return distances between networks of the same size."""
        with warnings.catch_warnings():
            for category in (FewTrialsWarning, SearchWarning):  # that the whole networks had, too
                warnings.simplefilter("ignore", category)
            return pairwise(
                networks,
                metric,
                labels=like.labels,
                metadata=like.metadata,
                match=by,
                n_draws=self.n_draws,
                random_state=self.random_state,
                workers=self.workers,
                progress=self.progress,
            )


def explain(
    networks: Sequence[Trials | Gaussians],
    metric: ShapeMetric[Any],
    sides: Mapping[str, DistanceMatrix],
    table: pd.DataFrame,
    grouped: Grouped | None,
    draws: Draws,
) -> tuple[tuple[Factor, ...], DistanceMatrix | None]:
    """Return what groups differ in, with the test repeated, and distances of matched networks.

    ``sides`` are the distances and, where there are any, the angles. ``table`` has a row per
    network, with columns neurons, trials, norm and overlap.
    """
    columns = {name: table[column].to_numpy() for name, column in COLUMNS.items()}
    if "angles" not in sides:
        del columns["gain"]
    factors = () if grouped is None else grouped.factors(columns)
    factors = name_gain(factors, getattr(metric, "alpha", None))
    by, D = draws.wanted(factors), sides["distances"]
    matched, reason = None, ""
    if by:
        try:
            matched = draws.pairwise(networks, metric, by, D)
        except InputError as error:
            if draws.match != AUTO:
                raise
            reason = f"networks of the same size cannot be compared ({str(error).rstrip('.')})"
    if grouped is None:
        return (), matched
    found = []
    for one in factors:
        if one.name in CHOICES:
            found.append(_settle(one, by, matched, reason, grouped))
        elif one.name == "gain":
            p = grouped.test(sides["angles"]).p_value
            found.append(_repeated(one, p, "With all networks scaled to norm 1"))
        else:
            p = grouped.test_without(D, table["overlap"])
            found.append(_repeated(one, p, "With the part that the overlap predicts removed"))
    return tuple(found), matched


def _repeated(factor: Factor, p_value: float, how: str) -> Factor:
    return replace(factor, repeated_p_value=p_value, how=how)


def _unsettled(factor: Factor, grouped: Grouped) -> Factor:
    return name_call([factor], grouped.labels, grouped.blocks)[0]


def _settle(
    factor: Factor,
    by: Sequence[str],
    matched: DistanceMatrix | None,
    reason: str,
    grouped: Grouped,
) -> Factor:
    """Return a factor with the test of networks of the same size, if this size was matched."""
    if matched is None or factor.name not in by:
        return replace(factor, how=reason) if reason else _unsettled(factor, grouped)
    return _repeated(factor, grouped.test(matched).p_value, drawn_words(matched))


def drawn_words(matched: DistanceMatrix) -> str:
    """Return how the networks of a matrix were given the same size."""
    about = matched.description["match"]
    times = f" ({about['n_draws']} draws)" if about["n_draws"] > 1 else ""
    return f"With {about['drawn']} drawn from each{times}"
