"""Which rows of a table to keep: values, lists of values, ranges and functions, per column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from repshape._labels import NUMBER, is_missing, label_text
from repshape.errors import InputError, InputTypeError
from repshape.io.nwb_tables import by_distinct

Mask = npt.NDArray[np.bool_]
Rules: TypeAlias = Mapping[str, Any]

# What the writers of NWB files store where a column of text has no value.
NO_VALUE = {"", "N/A", "NaN", "nan", "null", "None"}

NO_LIMITS = (-np.inf, np.inf)
SIGNS = (">=", "<=", "=")  # in this order: the first that a text contains is meant


def value_text(value: Any) -> str:
    """Return a value of a table as a label; text that is a number reads like that number.

    >>> value_text(90.0), value_text("0.50"), value_text("0"), value_text("im065")
    ('90', '0.5', '0', 'im065')
    """
    if isinstance(value, str) and NUMBER.fullmatch(value.strip()):
        return label_text(float(value))
    return label_text(value)


def has_no_value(value: Any) -> bool:
    """Whether a cell is empty: NaN, None, or one of the texts that stand for it."""
    return is_missing(value) or (isinstance(value, str) and value.strip() in NO_VALUE)


def matches(values: npt.NDArray[Any], rule: Any, column: str) -> Mask:
    """Return which values obey a rule.

    A rule is a value, a list of values, a range ``(low, high)`` with both ends included and None
    for no limit, or a function of the value. NaN is in no range.

    >>> matches(np.array([0.9, 0.95, np.nan]), (0.95, None), "presence_ratio")
    array([False,  True, False])
    >>> matches(np.array(["0.0", "0.25"], dtype=object), [0, 0.5], "phase")
    array([ True, False])
    """
    if callable(rule):
        return by_distinct(values, rule, bool)
    if isinstance(rule, tuple):
        return _in_range(values, rule, column)
    several = isinstance(rule, Sequence | set | frozenset | np.ndarray) and not isinstance(
        rule, str
    )
    wanted = list(rule) if several else [rule]
    texts = {value_text(one) for one in wanted if not has_no_value(one)}
    empty = any(has_no_value(one) for one in wanted)
    return by_distinct(
        values, lambda one: empty if has_no_value(one) else value_text(one) in texts, bool
    )


def _in_range(values: npt.NDArray[Any], limits: tuple[Any, ...], column: str) -> Mask:
    numbers = all(one is None or isinstance(one, Real) for one in limits)
    if len(limits) != 2 or not numbers:
        raise InputTypeError(
            f"The range of {column!r} must be (low, high), two numbers or None. Got {limits!r}; "
            "give several values as a list."
        )
    if values.dtype.kind not in "fiub":
        raise InputError(f"The column {column!r} has no range: it holds text.")
    low, high = (fill if one is None else one for one, fill in zip(limits, NO_LIMITS, strict=True))
    return np.asarray((values >= low) & (values <= high), dtype=bool)


def check_rules(name: str, rules: Any) -> dict[str, Any]:
    """Return rules by column as a dict, or raise one clear sentence."""
    if rules is None:
        return {}
    if not isinstance(rules, Mapping) or not all(isinstance(one, str) for one in rules):
        raise InputTypeError(
            f"The '{name}' parameter must be a dict of rules by column, or None. "
            f"Got {rules!r} instead."
        )
    return dict(rules)


def parse_rules(texts: Sequence[str]) -> dict[str, Any]:
    """Return the rules that a command line states.

    >>> parse_rules(["snr>=1", "quality=good", "depth>=0", "depth<=800"])
    {'snr': (1.0, None), 'quality': ['good'], 'depth': (0.0, 800.0)}
    """
    rules: dict[str, Any] = {}
    for text in texts:
        sign = next((one for one in SIGNS if one in text), None)
        if sign is None:
            raise InputError(
                f"A rule must be COLUMN=VALUE, COLUMN>=NUMBER or COLUMN<=NUMBER. Got {text!r}."
            )
        column, _, value = (part.strip() for part in text.partition(sign))
        if sign == "=":
            if not isinstance(rules.setdefault(column, []), list):
                raise InputError(f"The rules for {column!r} must be values or limits, not both.")
            rules[column].append(value)
            continue
        if not NUMBER.fullmatch(value):
            raise InputError(f"The limit in {text!r} must be a number. Got {value!r}.")
        limits = rules.get(column, (None, None))
        if not isinstance(limits, tuple):
            raise InputError(f"The rules for {column!r} must be values or limits, not both.")
        low, high = limits
        rules[column] = (float(value), high) if sign == ">=" else (low, float(value))
    return rules
