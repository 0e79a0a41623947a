"""The two rounds of a study: the pilot, and networks of fresh seeds that confirm what it found.

Claims were worded, and their margins chosen, with the results of the pilot at hand. So the pilot
cannot confirm them. The confirmation has the same settings and seeds that the pilot has not used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from repshape.errors import InputError

PILOT, CONFIRMATION = "pilot", "confirmation"
Settings = TypeVar("Settings")


def settings_of_round(
    rounds: Mapping[str, Mapping[str, Settings]], part: str, scale: str
) -> Settings:
    """Return the settings of a scale in one of the rounds, or raise if there are none."""
    if scale not in rounds[part]:
        scales = ", ".join(rounds[part])
        raise InputError(f"The {part} has the scales {scales}. Got {scale} instead.")
    return rounds[part][scale]


def read_seeds(text: str | None) -> range | None:
    """Return the seeds that a text names: one, or a half-open range.

    >>> read_seeds("3"), read_seeds("10:12"), read_seeds(None)
    (range(3, 4), range(10, 12), None)
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)(?::(\d+))?", text)
    if found is None:
        raise InputError(f"Seeds must be a number or a range such as 10:12. Got {text!r} instead.")
    first = int(found[1])
    return range(first, first + 1 if found[2] is None else int(found[2]))


def is_chosen(seed: int, seeds: range | None) -> bool:
    """Return whether a seed is one of those to work on; None stands for all."""
    return seeds is None or seed in seeds
