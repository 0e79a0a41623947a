"""Distances corrected for noise, with confidence intervals, for the pairs of a report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repshape._arrays import count
from repshape._parallel import run_all
from repshape.errors import InputError, InputTypeError
from repshape.inference.distances import distance
from repshape.inference.estimates import Estimate
from repshape.report.pairs import choose_pairs
from repshape.report.quality import FULL
from repshape.report.responses import Facts, expected_warnings
from repshape.report.sources import Source

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

LEVEL = 0.9
# Intervals need as many trials in every condition.
FEWEST_TRIALS = 6
# By default, intervals are computed only if they take some seconds: a pair takes 320 alignments,
# each a millisecond, 70 microseconds for each condition, and 300 gradients of M n^3 operations.
# The limit depends on sizes, not on time, so the same input gives the same page.
ALIGNMENTS = 320
ALIGNMENT_SECONDS, CONDITION_SECONDS = 1e-3, 7e-5
GRADIENTS, OPERATIONS_PER_SECOND = 300, 5e9
DEFAULT_SECONDS = 2.0
ALL_PAIRS = "For all pairs, pass the matrix that repshape.inference.matrix returns."


@dataclass(frozen=True, eq=False)
class Intervals:
    """Estimates of distances, corrected for noise.

    Attributes
    ----------
    index : ndarray of int, shape (P, 2)
        The pairs (x, y), x < y.
    values : ndarray, shape (P, 3)
        Estimate, and lower and upper end of the interval.
    level : float
        Nominal coverage of each interval by itself.
    note : str
        How they were estimated, or why there are none.
    """

    index: IndexArray
    values: FloatArray
    level: float
    note: str


def no_intervals(note: str) -> Intervals:
    """Return no intervals, and a note that says why."""
    return Intervals(np.zeros((0, 2), dtype=np.intp), np.zeros((0, 3)), LEVEL, note)


def estimate_intervals(
    source: Source, facts: Facts | None, limit: int | None, seed: int, progress: bool | None
) -> Intervals:
    """Return the intervals of a matrix, or estimate those of at most ``limit`` pairs.

    Without a limit, as many pairs as take some seconds.
    """
    if source.matrix.error_bars is not None:
        return _known(source)
    if facts is None or source.metric is None or not facts.has_trials:
        return no_intervals("")
    fewest = int(facts.fewest.min())
    if fewest < FEWEST_TRIALS:
        return no_intervals(
            "Distances are not corrected for noise: this needs at least "
            f"{FEWEST_TRIALS} trials in every condition, and the fewest are {fewest}."
        )
    index = choose_pairs(source.matrix.values, _affordable(facts) if limit is None else limit)
    if not len(index) or source.coincide or len(source.matrix) > FULL:
        return no_intervals(f"Distances are not corrected for noise. {ALL_PAIRS}")
    return _estimated(source, index, seed, progress)


def _known(source: Source) -> Intervals:
    """Return the intervals that the matrix carries."""
    bars = source.matrix.error_bars
    assert bars is not None
    i, j = np.triu_indices(len(source.matrix), 1)
    values = np.column_stack([source.matrix.values[i, j], bars.low[i, j], bars.high[i, j]])
    note = f"Distances are corrected for noise ({bars.method})."
    return Intervals(np.column_stack([i, j]), values, bars.level, note)


def _affordable(facts: Facts) -> int:
    """Return the number of pairs whose intervals take some seconds, by the size of the data."""
    M = facts.trials.shape[1]
    gradients = GRADIENTS * M * float(facts.dimensions.max()) ** 3 / OPERATIONS_PER_SECOND
    seconds = ALIGNMENT_SECONDS + CONDITION_SECONDS * M + gradients
    return int(DEFAULT_SECONDS / (ALIGNMENTS * seconds))


def _estimated(source: Source, index: IndexArray, seed: int, progress: bool | None) -> Intervals:
    cohort, metric = source.cohort, source.metric
    assert cohort is not None

    def estimate(pair: tuple[int, int]) -> Estimate:
        x, y = (cohort[k] for k in pair)
        return distance(x, y, metric, level=LEVEL, random_state=seed, workers=1, progress=False)

    pairs = [(int(i), int(j)) for i, j in index]
    what = f"intervals of {source.name}"
    try:
        with expected_warnings():
            found = run_all(estimate, pairs, what=what, progress=progress)
    except (InputError, InputTypeError) as error:
        return no_intervals(f"Distances are not corrected for noise: {error}")
    total = source.distances.size
    note = f"Distances are corrected for noise ({found[0].method})."
    if len(pairs) < total:
        verb = "is" if len(pairs) == 1 else "are"
        note = f"{len(pairs)} of {count(total, 'distance')} {verb} corrected for noise. {ALL_PAIRS}"
    values = [(one.estimate, *one.interval) for one in found]
    return Intervals(index, np.array(values), LEVEL, note)
