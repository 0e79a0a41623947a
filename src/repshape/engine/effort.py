"""How thoroughly the pairs of a matrix are searched, and what each layer of it does.

By default every pair is searched exactly as it would be by itself. Compositions of other pairs'
alignments are extra starts, which are tried afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from repshape.groups import FREE_COORDINATES

EFFORTS = ("full", "brief")
# In cohorts of relatives, four starts for each pair and two rounds of compositions often reach the
# optima of the full search in a third of its time. In other cohorts they do not.
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
    TRIANGLES = "triangles"  # resolve violated triangles


@dataclass(frozen=True)
class Effort:
    """How the pairs of a matrix are searched; a store keeps what it was made with.

    Attributes
    ----------
    brief : int or None
        Number of starts with which each pair is solved, if the caller asked for a brief search.
        None searches every pair as the metric does.
    rounds : int
        Number of rounds of compositions.
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
    def of(cls, metric: Any, dimensions: int, name: str = "full") -> Effort:
        """Return the effort that a caller names, for networks of at most ``dimensions`` dimensions.

        Only a metric that chooses the number of starts itself can be searched briefly.

        >>> Effort.of(None, 64)
        Effort(brief=None, rounds=2, hubs=8, exact=False, inherits=False)
        """
        automatic = getattr(metric, "n_starts", None) == "auto"
        continuous = getattr(metric, "group", None) in FREE_COORDINATES
        shorter = name == "brief" and automatic and continuous
        fewer = int(MOST_HUBS * (CHEAP_DIMENSIONS / max(dimensions, 1)) ** 3)
        hubs = min(max(fewer, FEWEST_HUBS), MOST_HUBS)
        return cls(BRIEF_STARTS if shorter else None, hubs=hubs, exact=automatic)

    @property
    def name(self) -> str:
        """What the caller asked for: "full" or "brief"."""
        return EFFORTS[self.brief is not None]

    @property
    def whole(self) -> bool:
        """Whether the metric chooses the number of starts, and is not made to be brief."""
        return self.exact and self.brief is None

    def stage(self, layer: int) -> Stage:
        """Return what a layer does.

        >>> [Effort(rounds=1).stage(layer).value for layer in range(4)]
        ['own', 'compose', 'triangles', 'triangles']
        >>> [Effort(rounds=1, inherits=True).stage(layer).value for layer in range(4)]
        ['own', 'inherit', 'compose', 'triangles']
        """
        if layer == 0:
            return Stage.OWN
        if self.inherits and layer == INHERITING_LAYER:
            return Stage.INHERIT
        return Stage.COMPOSE if layer <= self.rounds + self.inherits else Stage.TRIANGLES

    def last_composition(self, layer: int) -> int | None:
        """Return the last layer of compositions below a layer, or None."""
        below = (one for one in range(layer - 1, 0, -1) if self.stage(one) is Stage.COMPOSE)
        return next(below, None)


PLAIN = Effort()
