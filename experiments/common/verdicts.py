"""How a claim is decided: criteria, thresholds and verdicts.

A study decides a criterion either from an interval of its statistic (`interval_verdict`) or from
the values of the statistic in independent folds (`fold_verdict`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True)
class Criterion:
    """A statistic that must exceed a threshold.

    Attributes
    ----------
    name : str
        Short and unique within its claim.
    statistic : str
        What is computed, precisely. Claims that something is small are stated for its negative.
    above : float
        The criterion holds if the whole interval, or every fold, is above this.
    refuted_below : float
        The criterion does not hold if the whole interval, or every fold, is below this. It is at
        least ``above``: an effect between the two may be there, but is too small to matter.
    largest_p : float or None
        If given, the criterion also needs a permutation test with a p-value of at most this.
    null : str
        What that test permutes.
    note : str
        What else a reader must know of the criterion, such as a threshold that was changed.
    """

    name: str
    statistic: str
    above: float
    refuted_below: float
    largest_p: float | None = None
    null: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.refuted_below < self.above:
            raise ValueError("'refuted_below' must be at least 'above'.")
        if (self.largest_p is None) != (not self.null):
            raise ValueError("A p-value needs a null, and a null a p-value.")


@dataclass(frozen=True)
class Claim:
    """A statement, where it is made, and what decides it.

    Attributes
    ----------
    name, sentence : str
    source : str
        Place in the paper.
    criteria : tuple of Criterion
        All of them must hold; one that does not hold refutes the claim.
    """

    name: str
    sentence: str
    source: str
    criteria: tuple[Criterion, ...]


class Verdict(StrEnum):
    """The three possible outcomes of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "cannot be told"


def interval_verdict(
    criterion: Criterion, lower: float, upper: float, p_value: float | None = None
) -> Verdict:
    """Decide from the interval of the statistic, and from the p-value if one is needed.

    >>> criterion = Criterion("gain", "gain in accuracy", above=0.1, refuted_below=0.15)
    >>> [str(interval_verdict(criterion, *i)) for i in ((0.12, 0.3), (0.08, 0.14), (0.08, 0.2))]
    ['holds', 'does not hold', 'cannot be told']
    """
    return fold_verdict(criterion, (lower, upper), p_value)


def fold_verdict(
    criterion: Criterion, folds: Iterable[float], p_value: float | None = None
) -> Verdict:
    """Decide from the statistic in each fold, and from the p-value if one is needed.

    >>> criterion = Criterion("gain", "gain in accuracy", above=0.1, refuted_below=0.15)
    >>> [str(fold_verdict(criterion, f)) for f in ([0.12, 0.3], [0.08, 0.14], [0.08, 0.2])]
    ['holds', 'does not hold', 'cannot be told']

    A value that is not a number decides nothing.
    """
    values = list(folds)
    if not values:
        raise ValueError("A criterion needs at least one fold.")
    exceeds = all(value > criterion.above for value in values)
    tested = criterion.largest_p is None
    if criterion.largest_p is not None and p_value is not None:
        tested = p_value <= criterion.largest_p
    if exceeds and tested:
        return Verdict.HOLDS
    if not exceeds and all(value < criterion.refuted_below for value in values):
        return Verdict.FAILS
    return Verdict.OPEN


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a claim from those of its criteria.

    >>> combine([Verdict.HOLDS, Verdict.OPEN])
    <Verdict.OPEN: 'cannot be told'>
    """
    found = set(verdicts)
    if Verdict.FAILS in found:
        return Verdict.FAILS
    return Verdict.HOLDS if found == {Verdict.HOLDS} else Verdict.OPEN
