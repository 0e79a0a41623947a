"""How a claim is decided: one standard for all studies.

- The **units** are independent: seeds of networks, animals, draws. An interval comes from leaving
  out one unit at a time (jackknife, Student's t).
- A claim has one or more criteria, which are its **family**. Each criterion has an interval of
  level 1 - 0.05 / m for m criteria, so that all of them are covered together with at least 95 %.
- Intervals of shares and correlations are computed on the logit scale or as Fisher's z, so that
  they stay within their limits.
- A criterion **holds** if its whole interval is above its threshold (and its permutation test, if
  it has one, has a small p-value). It **does not hold** if the whole interval is below the
  threshold, or below the smallest effect that matters, where one is stated. It is **inconclusive**
  otherwise. An effect that is there but too small to matter does not hold.
- A claim holds if all criteria hold, does not hold if one does not hold, and is inconclusive
  otherwise.
- A claim that two things are the same, or that something is small, has an **equivalence margin**:
  it says how large a difference may be, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

FAMILY_LEVEL = 0.95
# What a statistic cannot leave; None where there is no limit.
Limits = tuple[float | None, float | None]
NO_LIMITS: Limits = (None, None)
SHARE: Limits = (0.0, 1.0)
CORRELATION: Limits = (-1.0, 1.0)
EXPLAINED: Limits = (None, 1.0)  # R^2 of predictions


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
        The criterion holds if the whole interval is above this.
    refuted_below : float
        The criterion does not hold if the whole interval is below this. It is at least ``above``:
        an effect between the two may be there, but is too small to matter.
    reason : str
        Why these thresholds: the equivalence margin, or the smallest effect that matters.
    limits : tuple
        What the statistic cannot leave, and its interval does not.
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
    reason: str = ""
    limits: Limits = NO_LIMITS
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

    @property
    def level(self) -> float:
        """Level of each criterion's interval: together they cover with `FAMILY_LEVEL`."""
        return 1 - (1 - FAMILY_LEVEL) / len(self.criteria)


class Verdict(StrEnum):
    """The three possible outcomes of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "inconclusive"


def interval_verdict(
    criterion: Criterion, lower: float, upper: float, p_value: float | None = None
) -> Verdict:
    """Decide from the interval of the statistic, and from the p-value if one is needed.

    >>> criterion = Criterion("gain", "gain in accuracy", above=0.1, refuted_below=0.15)
    >>> [str(interval_verdict(criterion, *i)) for i in ((0.12, 0.3), (0.08, 0.14), (0.08, 0.2))]
    ['holds', 'does not hold', 'inconclusive']

    A value that is not a number decides nothing.
    """
    return fold_verdict(criterion, (lower, upper), p_value)


def fold_verdict(
    criterion: Criterion, folds: Iterable[float], p_value: float | None = None
) -> Verdict:
    """Decide from several values, of which all must be on the same side.

    >>> criterion = Criterion("gain", "gain in accuracy", above=0.1, refuted_below=0.15)
    >>> [str(fold_verdict(criterion, f)) for f in ([0.12, 0.3], [0.11, 0.14], [0.08, 0.2])]
    ['holds', 'does not hold', 'inconclusive']
    """
    values = list(folds)
    if not values:
        raise ValueError("A criterion needs at least one fold.")
    if all(value < criterion.refuted_below for value in values):
        return Verdict.FAILS
    tested = criterion.largest_p is None or (p_value is not None and p_value <= criterion.largest_p)
    if tested and all(value > criterion.above for value in values):
        return Verdict.HOLDS
    return Verdict.OPEN


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a claim from those of its criteria.

    >>> combine([Verdict.HOLDS, Verdict.OPEN])
    <Verdict.OPEN: 'inconclusive'>
    """
    found = set(verdicts)
    if Verdict.FAILS in found:
        return Verdict.FAILS
    return Verdict.HOLDS if found == {Verdict.HOLDS} else Verdict.OPEN


def shifted(limits: Limits, chance: float) -> Limits:
    """Return limits of a statistic from which a number was subtracted.

    >>> shifted((0.0, 1.0), 0.25), shifted((None, 1.0), 0.25)
    ((-0.25, 0.75), (None, 0.75))
    """
    lowest, highest = (None if one is None else one - chance for one in limits)
    return lowest, highest
