"""The errors and warnings of repshape, and the checks of parameters, with one phrasing for all."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, TypeAlias

__all__ = [
    "CopyWarning",
    "DataWarning",
    "FewTrialsWarning",
    "InputError",
    "InputTypeError",
    "MissingDependencyError",
    "NotConvergedWarning",
    "RepshapeError",
    "RepshapeWarning",
    "SearchWarning",
    "SilentNetworkWarning",
    "StorageError",
    "TransposedWarning",
    "WindowWarning",
    "WrappedIntegersWarning",
]

# Called as rule(name, value, owner=...), which raises unless the value is allowed. Most rules are
# one of the functions below with its range filled in by `functools.partial`.
Rule: TypeAlias = Callable[..., Any]
# Packages that a warning to the user passes over; two run cached properties and contexts.
INSIDE = (__package__, "functools", "contextlib")
SEE = 'See "Troubleshooting" in the documentation.'


class RepshapeError(Exception):
    """Base class of every error that repshape raises on purpose.

    Tracebacks show the page that explains it below the message.

    Examples
    --------
    >>> InputError("The 'k' parameter must be an integer.").__notes__
    ['See "Troubleshooting" in the documentation.']
    """

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.add_note(SEE)


class InputError(RepshapeError, ValueError):
    """An argument has the right type but a value that cannot be used."""


class InputTypeError(RepshapeError, TypeError):
    """An argument has a type that cannot be used."""


class StorageError(RepshapeError, OSError):
    """Something on disk cannot be read, written or continued."""


class RepshapeWarning(UserWarning):
    """Base class of every warning of repshape; its text ends with the page that explains it.

    Examples
    --------
    >>> str(SearchWarning("One pair may be longer than necessary."))
    'One pair may be longer than necessary. See "Troubleshooting" in the documentation.'
    """

    def __str__(self) -> str:
        """Return the message and the page."""
        return f"{super().__str__()} {SEE}"


class NotConvergedWarning(RepshapeWarning):
    """An iteration stopped before it converged; its result may still improve."""


class MissingDependencyError(RepshapeError, ImportError):
    """An optional dependency is needed but not installed."""


class SearchWarning(RepshapeWarning):
    """Too few starts agree on the best alignment of a pair, so a better one may exist."""


class DataWarning(RepshapeWarning):
    """Data can be used, but are probably not what was meant: the base of more special warnings."""


class CopyWarning(DataWarning):
    """A network has exactly the responses of another one under another name."""


class SilentNetworkWarning(DataWarning):
    """All responses of a network are zero."""


class TransposedWarning(DataWarning):
    """A network without names has as many neurons as another one has trials."""


class WindowWarning(DataWarning):
    """A window of spike counts does not fit the trials, or the times of the spikes."""


class WrappedIntegersWarning(DataWarning):
    """Unsigned integers seem to have wrapped around, as 2 - 5 = 253 in 8 bits."""


class FewTrialsWarning(RepshapeWarning):
    """There are too few trials per dimension: distances are mostly noise, or poorly corrected."""


def words_of(message: Warning | str) -> str:
    """Return the text of a warning without the page that its text ends with."""
    return str(message.args[0]) if isinstance(message, Warning) else message


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line outside of this package that made the call."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def one_warning_each() -> Iterator[None]:
    """Collect the warnings of repeated work, and give the first of each category at its end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for category in dict.fromkeys(one.category for one in caught):
        first = next(one for one in caught if one.category is category)
        warn_user(words_of(first.message), category)


# Covariances of fewer trials per dimension than this are mostly noise.
TRIALS_PER_DIMENSION = 2


def _phrase(owner: str, name: str, expected: str, value: Any) -> str:
    of = f" of {owner}" if owner else ""
    return f"The '{name}' parameter{of} must be {expected}. Got {value!r} instead."


def check_parameters(owner: str, values: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Raise unless every parameter that has a rule obeys it.

    >>> from functools import partial
    >>> check_parameters("embed", {"n_init": 0}, {"n_init": partial(check_integer, low=1)})
    Traceback (most recent call last):
        ...
    repshape.errors.InputError: The 'n_init' parameter of embed must be an integer of at least 1. \
Got 0 instead.
    See "Troubleshooting" in the documentation.
    """
    for name, rule in rules.items():
        rule(name, values[name], owner=owner)


def check_real(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    closed: str = "both",
    owner: str = "",
) -> float:
    """Return ``value`` as a float in the given interval, or raise.

    ``closed`` is ``"both"``, ``"left"``, ``"right"`` or ``"neither"``, as in scikit-learn.

    >>> check_real("alpha", 3, 0, 2, owner="GaussianShapeMetric")
    Traceback (most recent call last):
        ...
    repshape.errors.InputError: The 'alpha' parameter of GaussianShapeMetric must be a float \
in [0, 2]. Got 3 instead.
    See "Troubleshooting" in the documentation.
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
    """Return ``value`` as an int of at least ``low``, or raise."""
    expected = f"an integer of at least {low}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputTypeError(_phrase(owner, name, expected, value))
    if int(value) < low:
        raise InputError(_phrase(owner, name, expected, value))
    return int(value)


def check_integer_or_auto(name: str, value: Any, low: int, *, owner: str = "") -> None:
    """Raise unless ``value`` is "auto" or an integer of at least ``low``."""
    if not (isinstance(value, str) and value == "auto"):
        check_integer(name, value, low, owner=owner)


def check_integer_or_none(name: str, value: Any, low: int, *, owner: str = "") -> None:
    """Raise unless ``value`` is None or an integer of at least ``low``."""
    if value is not None:
        check_integer(name, value, low, owner=owner)


def check_boolean(name: str, value: Any, *, owner: str = "") -> bool:
    """Return ``value`` if it is True or False, or raise."""
    if not isinstance(value, bool):
        raise InputTypeError(_phrase(owner, name, "True or False", value))
    return value


def check_optional(name: str, value: Any, kind: type, *, owner: str = "") -> None:
    """Raise unless ``value`` is None or an instance of ``kind``."""
    if value is not None and not isinstance(value, kind):
        raise InputTypeError(_phrase(owner, name, f"a {kind.__name__} or None", value))


def check_choice(name: str, value: Any, choices: Iterable[str], *, owner: str = "") -> str:
    """Return ``value`` if it is one of ``choices``, or raise an error that lists them."""
    allowed = tuple(choices)
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(repr(choice) for choice in allowed)
        raise InputError(_phrase(owner, name, f"one of {listed}", value))
    return value
