"""The one family of errors, and the one phrasing of a bad argument."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

__all__ = [
    "InputError",
    "InputTypeError",
    "MissingDependencyError",
    "RepshapeError",
    "StorageError",
]


class RepshapeError(Exception):
    """Base of every error that repshape raises on purpose."""


class InputError(RepshapeError, ValueError):
    """An argument has the right type but a value that cannot be used."""


class InputTypeError(RepshapeError, TypeError):
    """An argument has a type that cannot be used."""


class StorageError(RepshapeError, OSError):
    """Something on disk cannot be read, written or continued."""


class MissingDependencyError(RepshapeError, ImportError):
    """An optional dependency is needed and not installed."""


def _phrase(owner: str, name: str, expected: str, value: Any) -> str:
    of = f" of {owner}" if owner else ""
    return f"The '{name}' parameter{of} must be {expected}. Got {value!r} instead."


def check_real(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    closed: str = "both",
    owner: str = "",
) -> float:
    """Return ``value`` as a float in the given interval, or raise one clear sentence.

    ``closed`` is ``"both"``, ``"left"``, ``"right"`` or ``"neither"``, as in scikit-learn.

    >>> check_real("alpha", 3, 0, 2, owner="GaussianShapeMetric")
    Traceback (most recent call last):
        ...
    repshape.errors.InputError: The 'alpha' parameter of GaussianShapeMetric must be a float \
in [0, 2]. Got 3 instead.
    """
    left = "[" if closed in ("both", "left") else "("
    right = "]" if closed in ("both", "right") else ")"
    expected = f"a float in {left}{low:g}, {high:g}{right}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputTypeError(_phrase(owner, name, expected, value))
    number = float(value)
    above = number >= low if left == "[" else number > low
    below = number <= high if right == "]" else number < high
    if not (above and below):  # also catches NaN
        raise InputError(_phrase(owner, name, expected, value))
    return number


def check_integer(name: str, value: Any, low: int, *, owner: str = "") -> int:
    """Return ``value`` as an int of at least ``low``, or raise one clear sentence."""
    expected = f"an integer of at least {low}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputTypeError(_phrase(owner, name, expected, value))
    if int(value) < low:
        raise InputError(_phrase(owner, name, expected, value))
    return int(value)


def check_boolean(name: str, value: Any, *, owner: str = "") -> bool:
    """Return ``value`` if it is True or False, or raise one clear sentence."""
    if not isinstance(value, bool):
        raise InputTypeError(_phrase(owner, name, "True or False", value))
    return value


def check_choice(name: str, value: Any, choices: Iterable[str], *, owner: str = "") -> str:
    """Return ``value`` if it is one of ``choices``, or raise a sentence that lists them."""
    allowed = tuple(choices)
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(repr(choice) for choice in allowed)
        raise InputError(_phrase(owner, name, f"one of {listed}", value))
    return value
