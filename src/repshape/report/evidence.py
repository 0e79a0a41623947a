"""What could explain the distances of a matrix: groups, gain, noise and numbers of trials."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape.errors import InputError
from repshape.inference.confounds import decompose
from repshape.inference.explanations import AUTO, Draws, Grouped, explain
from repshape.inference.factors import Factor, strength
from repshape.inference.groups import GroupTest
from repshape.inference.matrices import mantel
from repshape.inference.permutations import make_design
from repshape.io.matched import N_DRAWS
from repshape.io.tables import is_numeric
from repshape.matrix.distances import DistanceMatrix
from repshape.report.quality import FULL
from repshape.report.responses import Facts, expected_warnings
from repshape.report.sources import Inputs, Source

FloatArray = npt.NDArray[np.float64]

# Permutations of networks: fewer with many networks, where each takes milliseconds.
N_PERMUTATIONS, FEW_PERMUTATIONS, MANY_NETWORKS = 999, 99, 150
# The distances of networks of the same size are computed with at most this many alignments.
MOST_ALIGNMENTS = 5000
# A Mantel test needs this many networks.
FEWEST_NETWORKS = 4
# What would settle it, in words for readers of the page, who may not have the code at hand.
SAME_SIZE = "a page made with the responses compares networks of the same size"
UNSETTLED = {
    "neurons": SAME_SIZE,
    "trials": SAME_SIZE,
    "gain": "only networks of the same norm would show whether it does",
    "components": "a report with responses would show whether it does",
}


@dataclass(frozen=True)
class Grouping:
    """Groups of networks, and blocks that are not independent, by columns of the metadata.

    ``chosen`` is True if the page chose the column, because the user named none.
    """

    column: str
    labels: tuple[str, ...]
    block_column: str | None = None
    blocks: tuple[str, ...] | None = None
    chosen: bool = False


@dataclass(frozen=True)
class Share:
    """A share of the distances, with a p-value unless it is an exact part of them."""

    value: float
    p_value: float | None = None


@dataclass(frozen=True, eq=False)
class Evidence:
    """What could explain the distances of one matrix. None stands for what is not known.

    Attributes
    ----------
    facts : Facts or None
        What the responses say.
    floors : ndarray, shape (K, K), or None
        Noise floor of each pair, NaN if it is not known.
    gain : Share or None
        How much of the distances differences of norm explain.
    trial_counts : Share or None
        How much of the differences between squared distances numbers of trials explain.
    grouping : Grouping or None
        The groups that were tested.
    test, test_without_gain : GroupTest or None
        Tests of the groups on the distances, and on distances between networks of norm 1.
    factors : tuple of Factor
        What the groups differ in besides their distances.
    strength : str
        What norms measure.
    """

    facts: Facts | None
    floors: FloatArray | None
    gain: Share | None = None
    trial_counts: Share | None = None
    grouping: Grouping | None = None
    test: GroupTest | None = None
    test_without_gain: GroupTest | None = None
    factors: tuple[Factor, ...] = ()
    strength: str = "response strength"

    @property
    def factor_names(self) -> tuple[str, ...]:
        """What the groups differ in besides their distances, by name."""
        return tuple(one.name for one in self.factors)


def find_groups(inputs: Inputs, column: str | None, blocks: str | None) -> Grouping | None:
    """Return the groups that the user named, or else those of the first column that has some.

    >>> from repshape.report.sources import read_inputs
    >>> table = pd.DataFrame({"age": [1, 2, 3, 4], "area": ["V1", "V1", "LM", "LM"]})
    >>> D = DistanceMatrix(1 - np.eye(4), metadata=table)
    >>> find_groups(read_inputs(D), None, None).column
    'area'
    """
    table = inputs.metadata
    units = None if blocks is None else _column(table, blocks, "blocks")
    if column is not None:
        labels = _column(table, column, "labels")
        make_design(list(labels), None if units is None else list(units))
        return Grouping(column, labels, blocks, units)
    for name in map(str, table.columns):
        if name == blocks or is_numeric(table[name]) or table[name].isna().any():
            continue
        labels = tuple(table[name].astype(str))
        try:
            make_design(list(labels), None if units is None else list(units))
        except InputError:
            continue
        return Grouping(name, labels, blocks, units, chosen=True)
    return None


def _column(table: pd.DataFrame, name: str, parameter: str) -> tuple[str, ...]:
    if name not in table:
        listed = ", ".join(map(repr, table.columns)) or "none"
        raise InputError(
            f"The '{parameter}' parameter must be a column of the metadata. "
            f"Got {name!r}; the columns are: {listed}."
        )
    if table[name].isna().any():
        network = table.index[int(table[name].isna().to_numpy().argmax())]
        raise InputError(
            f"The '{parameter}' parameter must have a value for every network. "
            f"Column {name!r} has none for network {network!r}."
        )
    return tuple(table[name].astype(str))


def weigh(source: Source, facts: Facts | None, grouping: Grouping | None, seed: int) -> Evidence:
    """Return what could explain the distances of a matrix."""
    floors = _pair_floors(source, facts)
    if source.n_missing or source.coincide or len(source.matrix) > FULL:
        return Evidence(facts, floors, grouping=grouping)
    split = _split_gain(source, facts)
    gain = trial_counts = None
    if facts is not None:
        gain = _exact_gain(source, split[0]) if split else _gain_by_norms(source, facts, seed)
        trial_counts = _trial_share(source, facts, seed)
    measures = strength(getattr(source.metric, "alpha", None))
    found = Evidence(facts, floors, gain, trial_counts, grouping, strength=measures)
    if grouping is None:
        return found
    tested = _grouped(grouping, len(source.matrix), seed)
    D = _with_sizes(source.matrix, facts)
    test = tested.test(D)
    return replace(
        found,
        test=test,
        test_without_gain=tested.test(split[1]) if split else None,
        factors=_factors(source, facts, grouping, tested, test, split),
    )


def _grouped(grouping: Grouping, size: int, seed: int) -> Grouped:
    units = None if grouping.blocks is None else list(grouping.blocks)
    return Grouped(list(grouping.labels), units, _permutations(size), seed)


def _with_sizes(D: DistanceMatrix, facts: Facts | None) -> DistanceMatrix:
    """Return a matrix with the sizes of the responses, which older files do not record."""
    if facts is None:
        return D
    trials = facts.fewest.astype(np.float64)
    trials[trials == 0] = np.nan
    return D.replace(sizes={"neurons": facts.neurons, "trials": trials})


def _factors(
    source: Source,
    facts: Facts | None,
    grouping: Grouping,
    tested: Grouped,
    test: GroupTest,
    split: tuple[DistanceMatrix, DistanceMatrix] | None,
) -> tuple[Factor, ...]:
    """Return what the groups differ in, with the test repeated where the responses allow it."""
    unsettled = tuple(replace(one, how=UNSETTLED[one.name]) for one in test.factors)
    K = len(source.matrix)
    n_draws = min(N_DRAWS, MOST_ALIGNMENTS // max(1, K * (K - 1) // 2))
    if facts is None or source.cohort is None or source.metric is None or not n_draws:
        return unsettled
    D = _with_sizes(source.plug_in, facts)
    assert D.sizes is not None
    table = D.sizes.assign(norm=facts.norms, overlap=facts.overlaps)
    sides = {"distances": D} | ({"angles": split[1]} if split else {})
    draws = Draws(AUTO, n_draws, tested.random_state, None, False)
    with expected_warnings():
        return explain(list(source.cohort), source.metric, sides, table, tested, draws)[0]


def _pair_floors(source: Source, facts: Facts | None) -> FloatArray | None:
    """Return the noise floor of each pair; None if no pair has one."""
    if source.matrix.error_bars is not None:
        return source.matrix.error_bars.floors
    if facts is None or np.isnan(facts.floors).all():
        return None
    squared = (facts.floors[:, None] + facts.floors[None, :]) / 2
    return np.asarray(np.copysign(np.sqrt(np.abs(squared)), squared))


def _split_gain(
    source: Source, facts: Facts | None
) -> tuple[DistanceMatrix, DistanceMatrix] | None:
    """Return differences of norm, and distances of networks of norm 1; None if d has no such parts.

    Only Gaussian distances have them, and only if each network has a response.
    """
    metric = source.metric
    if facts is None or metric is None or not metric._splits_gain:
        return None
    if np.isnan(facts.norms).any():
        return None
    try:
        return decompose(source.plug_in, facts.norms)
    except InputError:
        return None


def _exact_gain(source: Source, gains: DistanceMatrix) -> Share:
    return Share(_total(gains) / _total(source.plug_in))


def _total(D: DistanceMatrix) -> float:
    return float(np.sum(D.condensed() ** 2))


def _gain_by_norms(source: Source, facts: Facts, seed: int) -> Share | None:
    """Return how much of the squared distances differences of norm predict."""
    gaps = (facts.norms[:, None] - facts.norms[None, :]) ** 2
    return _explained(source, gaps, seed)


def _trial_share(source: Source, facts: Facts, seed: int) -> Share | None:
    """Return how much of the squared distances 1/L predicts: noise adds about a/L_x + b/L_y."""
    if not facts.has_trials:
        return None
    inverse = (1.0 / facts.trials).mean(axis=1)
    predictor = inverse[:, None] + inverse[None, :]
    np.fill_diagonal(predictor, 0.0)
    return _explained(source, predictor, seed, at_all=bool(np.ptp(inverse) > 0.0))


def _explained(
    source: Source, predictor: FloatArray, seed: int, *, at_all: bool = True
) -> Share | None:
    """Return the squared correlation of squared distances with a predictor, if it is positive."""
    K = len(predictor)
    if not at_all:
        return Share(0.0)
    if K < FEWEST_NETWORKS or not np.isfinite(predictor).all():
        return None
    values = source.plug_in.values
    found = mantel(
        values * np.abs(values), predictor, n_permutations=_permutations(K), random_state=seed
    )
    return Share(max(found.correlation, 0.0) ** 2, found.p_value)


def _permutations(size: int) -> int:
    return N_PERMUTATIONS if size <= MANY_NETWORKS else FEW_PERMUTATIONS
