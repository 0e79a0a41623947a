"""How thoroughly the pairs of a matrix are searched, and what each layer of it does.

A pair of a cohort has better starts than its own: the compositions of other pairs' alignments. So
each pair gets a brief search first, then compositions are tried, and only pairs that are still
doubtful get the whole search.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from repshape.groups import FREE_COORDINATES

# In cohorts of relatives, four starts for each pair and two rounds of
# compositions reach the optima of the whole search in a third of its time. With few networks there
# are too few compositions for that.
SMALLEST_COHORT = 8
BRIEF_STARTS = 4
ROUNDS = 2
# Compositions of a pair that are rated. A rating takes about as long as a step of the search, whose
# cost grows with the third power of the dimension.
MOST_HUBS = 64
FEWEST_HUBS = 4
CHEAP_DIMENSIONS = 32
# The layer that takes over the results of an earlier polish, if there was one.
INHERITING_LAYER = 1


class Stage(Enum):
    """What a layer does with the pairs of a matrix."""

    OWN = "own"  # solve every pair from its own starts
    INHERIT = "inherit"  # take over what the polish found before networks were added or removed
    COMPOSE = "compose"  # try compositions of other pairs' alignments
    SEARCH = "search"  # search again, at length, for pairs that are still doubtful
    TRIANGLES = "triangles"  # resolve violated triangles


@dataclass(frozen=True)
class Effort:
    """How the pairs of a matrix are searched; a store keeps what it was made with.

    Attributes
    ----------
    brief : int or None
        Number of starts with which each pair is solved first; pairs on which too few starts and
        compositions agree get the whole search later. None searches every pair at once.
    rounds : int
        Number of rounds of compositions, after the first search and again after the whole one.
    hubs : int
        Most networks through which the compositions of a pair are rated.
    exact : bool
        Whether a pair with one start is solved exactly: the metric chooses the number of starts.
    inherits : bool
        Whether the first layer of the polish takes over the results of an earlier polish, because
        networks were added to the store or removed from it.
    """

    brief: int | None = None
    rounds: int = ROUNDS
    hubs: int = MOST_HUBS
    exact: bool = False
    inherits: bool = False

    @classmethod
    def of(cls, metric: Any, count: int, dimensions: int, *, polish: bool) -> Effort:
        """Return the effort for ``count`` networks of at most ``dimensions`` dimensions.

        >>> Effort.of(None, 100, 64, polish=False)
        Effort(brief=None, rounds=2, hubs=8, exact=False, inherits=False)
        """
        automatic = getattr(metric, "n_starts", None) == "auto"
        continuous = getattr(metric, "group", None) in FREE_COORDINATES
        shorter = automatic and continuous and polish and count >= SMALLEST_COHORT
        fewer = int(MOST_HUBS * (CHEAP_DIMENSIONS / max(dimensions, 1)) ** 3)
        hubs = min(max(fewer, FEWEST_HUBS), MOST_HUBS)
        return cls(BRIEF_STARTS if shorter else None, hubs=hubs, exact=automatic)

    def stage(self, layer: int) -> Stage:
        """Return what a layer does.

        >>> [Effort(brief=4, rounds=1).stage(layer).value for layer in range(5)]
        ['own', 'compose', 'search', 'compose', 'triangles']
        >>> [Effort(rounds=1, inherits=True).stage(layer).value for layer in range(4)]
        ['own', 'inherit', 'compose', 'triangles']
        """
        if self.inherits and layer > 0:
            if layer == INHERITING_LAYER:
                return Stage.INHERIT
            layer -= 1
        if layer <= self.rounds:
            return Stage.COMPOSE if layer else Stage.OWN
        later = (Stage.SEARCH, *[Stage.COMPOSE] * self.rounds) if self.brief is not None else ()
        return dict(enumerate(later, self.rounds + 1)).get(layer, Stage.TRIANGLES)

    def last_composition(self, layer: int) -> int | None:
        """Return the last layer of compositions below a layer, or None."""
        below = (one for one in range(layer - 1, 0, -1) if self.stage(one) is Stage.COMPOSE)
        return next(below, None)


PLAIN = Effort()
