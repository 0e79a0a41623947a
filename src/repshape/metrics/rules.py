"""Which values the parameters of the metrics may have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from repshape.errors import (
    Rule,
    check_choice,
    check_integer,
    check_integer_or_auto,
    check_real,
)
from repshape.groups import GROUPS, check_group
from repshape.preprocess import check_preprocess


def check_integer_or_none(name: str, value: Any, low: int, *, owner: str = "") -> None:
    """Raise unless ``value`` is None or an integer of at least ``low``."""
    if value is not None:
        check_integer(name, value, low, owner=owner)


PREPROCESS_RULE: Rule = check_preprocess
PADDING_RULE: Rule = partial(check_integer_or_none, low=1)
# Rules of the parameters that every search has.
SEARCH_RULES: Mapping[str, Rule] = {
    "group": check_group,
    "tol": partial(check_real, low=0, high=1, closed="neither"),
    "max_iter": partial(check_integer, low=1),
    "random_state": partial(check_integer, low=0),
    "n_starts": partial(check_integer_or_auto, low=1),
    "preprocess": PREPROCESS_RULE,
    "pad_to": PADDING_RULE,
}
# The same for metrics that take the groups with a name only.
NAMED_GROUP_RULES: Mapping[str, Rule] = {
    **SEARCH_RULES,
    "group": partial(check_choice, choices=GROUPS),
}
