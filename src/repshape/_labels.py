"""Labels of conditions, neurons and networks: reading, sorting, finding and comparing them."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from repshape._arrays import IntArray, Labels, count
from repshape.errors import DataWarning, InputError, InputTypeError

if TYPE_CHECKING:
    import pandas as pd

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# How many labels an error lists.
NEAREST, LISTED = 3, 5

COMMON = (
    "Cohort.common_conditions(networks) keeps the conditions that all networks have, in one order."
)
"""What to do about networks whose conditions differ."""


class HasConditions(Protocol):
    """A network, or what is known about one."""

    @property
    def n_conditions(self) -> int:
        """Number of conditions."""

    @property
    def conditions(self) -> Labels:
        """Labels of the conditions."""


def label_text(label: Any) -> str:
    """Return a label as text; a number reads the same in every type that can hold it.

    >>> label_text("cat"), label_text(b"cat"), label_text(90.0), label_text(np.float32(0.1))
    ('cat', 'cat', '90', '0.1')
    """
    if isinstance(label, bytes):
        return label.decode(errors="replace")
    if isinstance(label, np.floating):
        label = float(str(label))  # as written: more bits would have more digits
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)


def check_labels(labels: Sequence[Any] | None, number: int, noun: str = "condition") -> Labels:
    """Return labels as a tuple of distinct strings, one per condition or neuron."""
    if labels is None:
        return None
    if isinstance(labels, str) or not np.iterable(labels):
        raise InputTypeError(
            f"The '{noun}s' parameter must be a sequence of labels. Got {labels!r} instead."
        )
    names = tuple(label_text(label) for label in labels)
    if len(names) != number:
        raise InputError(
            f"There must be one label per {noun}. "
            f"Got {count(len(names), 'label')} for {count(number, noun)}."
        )
    if len(set(names)) < number:
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"The {noun} labels must be distinct. Got {twice!r} more than once.")
    return names


def group_labels(labels: Any, n_trials: int) -> tuple[tuple[str, ...], IntArray]:
    """Return the distinct labels in order, and the position of the label of each trial.

    Ordered categories keep their order. Otherwise numbers, and text that reads as a number, sort as
    numbers and come before other text.

    >>> group_labels([10, 9, 10], 3)
    (('9', '10'), array([1, 0, 1]))
    """
    texts = [_trial_label(label, k) for k, label in enumerate(_label_list(labels))]
    if len(texts) != n_trials:
        raise InputError(
            "There must be one label per trial. "
            f"Got {count(len(texts), 'label')} for {count(n_trials, 'trial')}."
        )
    if not texts:
        raise InputError("There must be at least one trial. Got none.")
    names = _ordered_categories(labels, set(texts)) or tuple(sorted(set(texts), key=_sort_key))
    rank = {name: m for m, name in enumerate(names)}
    return names, np.array([rank[text] for text in texts], dtype=np.intp)


def _ordered_categories(labels: Any, used: set[str]) -> tuple[str, ...]:
    """Return the used categories of ordered labels in order, and warn about those not used."""
    kind: Any = getattr(labels, "dtype", None)
    if not (hasattr(kind, "categories") and hasattr(kind, "ordered")):  # those of pandas
        return ()
    names = [label_text(one) for one in list_values(np.asarray(kind.categories))]
    unused = [name for name in names if name not in used]
    if unused:
        warnings.warn(
            f"Categories of the labels that have no trial are not conditions: "
            f"{list_labels(unused)}. If that is intended, call remove_unused_categories() on the "
            "labels first.",
            DataWarning,
            stacklevel=4,
        )
    return tuple(name for name in names if name in used) if kind.ordered else ()


def cross_labels(
    columns: Sequence[Any], labels: Sequence[tuple[Sequence[str], IntArray]]
) -> tuple[tuple[str, ...], IntArray]:
    """Combine the labels of several columns, each as `group_labels` returns them.

    Combinations that occur are sorted by the first column, then by the next.

    >>> cross_labels(["x", "y"], [(("1", "2"), np.array([1, 0])), (("a",), np.array([0, 0]))])
    (('x=1, y=a', 'x=2, y=a'), array([1, 0]))
    """
    if len(columns) == 1:
        return tuple(labels[0][0]), labels[0][1]
    key = np.zeros(len(labels[0][1]), dtype=np.intp)  # a number for each combination
    for names, rank in labels:
        key = key * len(names) + rank
    keys, place = np.unique(key, return_inverse=True)
    ranks = np.unravel_index(keys, [len(names) for names, _ in labels]) if len(keys) else ()
    found = [
        ", ".join(f"{c}={names[k]}" for c, (names, _), k in zip(columns, labels, one, strict=True))
        for one in zip(*ranks, strict=True)
    ]
    return tuple(found), place.astype(np.intp)


def _label_list(labels: Any) -> list[Any]:
    if isinstance(labels, str) or not np.iterable(labels):
        raise InputTypeError(f"The labels must be a sequence, one per trial. Got {labels!r}.")
    if isinstance(labels, list | tuple):
        found = list(labels)
    else:
        array = np.asarray(labels)
        if array.ndim != 1:
            raise InputError(
                f"The labels must have shape (trials,). Got an array of shape {array.shape}."
            )
        found = list_values(array)
    for label in found:
        if isinstance(label, list | tuple | np.ndarray):
            raise InputTypeError(f"A label must be text or a number. Got {label!r}.")
    return found


def list_values(array: npt.NDArray[Any]) -> list[Any]:
    """Return the values of an array such that `label_text` reads them as they were written."""
    if array.dtype.kind in "mM":  # as integers, dates would not be recognised
        return list(array.astype(str).tolist())
    short = array.dtype.kind == "f" and array.dtype.itemsize < 8
    return list(array) if short else list(array.tolist())


def _trial_label(label: Any, trial: int) -> str:
    if is_missing(label) or not label_text(label).strip():
        raise InputError(
            f"Every trial must have a label. Got {label!r} at trial {trial}. Drop the trials "
            "without a label, or give them one, such as 'blank'."
        )
    return label_text(label)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or another kind of gap in a table."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _sort_key(text: str) -> tuple[int, float, str]:
    return (0, float(text), text) if NUMBER.fullmatch(text) else (1, 0.0, text)


def find_label(label: Any, known: Sequence[str], noun: str) -> int:
    """Return the position of a label, or raise an error that lists those that are near.

    >>> find_label("dgo", ["cat", "dog"], "condition")
    Traceback (most recent call last):
        ...
    repshape.errors.InputError: There is no condition named 'dgo'. Did you mean 'dog'?
    See "Troubleshooting" in the documentation.
    """
    text = label_text(label)
    if text in known:
        return known.index(text)
    near = difflib.get_close_matches(text, known, NEAREST)
    if near:
        hint = f"Did you mean {' or '.join(map(repr, near))}?"
    else:
        hint = f"The {noun}s are {list_labels(known)}." if known else f"There are no {noun}s."
    raise InputError(f"There is no {noun} named {text!r}. {hint}")


def list_labels(labels: Sequence[Any]) -> str:
    """Return labels for a sentence, and the number of those that are too many to list."""
    listed = ", ".join(repr(label) for label in labels[:LISTED])
    more = len(labels) - LISTED
    return f"{listed} and {more} more" if more > 0 else listed


def find_labels(labels: Any, known: Sequence[str], noun: str) -> list[int]:
    """Return the positions of distinct labels, or raise one clear sentence."""
    if isinstance(labels, str) or not np.iterable(labels):
        raise InputTypeError(
            f"The {noun}s must be given as a sequence of labels. Got {labels!r} instead."
        )
    places = [find_label(label, known, noun) for label in labels]
    if not places:
        raise InputError(f"At least one {noun} must be selected. Got none.")
    for k, place in enumerate(places):
        if place in places[:k]:
            raise InputError(
                f"Each {noun} can be selected once. Got {known[place]!r} more than once."
            )
    return places


def find_difference(
    x: HasConditions, y: HasConditions, names: tuple[str, str] = ("one", "the other")
) -> str | None:
    """Return a sentence about the first condition in which two networks differ, or None."""
    if x.conditions is None or y.conditions is None:
        if x.n_conditions == y.n_conditions:
            return None
        return f"Got {x.n_conditions} in {names[0]} and {y.n_conditions} in {names[1]}."
    if x.conditions == y.conditions:
        return None
    shorter = min(x.n_conditions, y.n_conditions)
    pairs = list(zip(x.conditions, y.conditions, strict=False))
    m = next((k for k, (a, b) in enumerate(pairs) if a != b), shorter)
    parts = [
        repr(one.conditions[m]) if one.conditions and m < one.n_conditions else "missing"
        for one in (x, y)
    ]
    sizes = ""
    if x.n_conditions != y.n_conditions:
        sizes = f"Got {x.n_conditions} in {names[0]} and {y.n_conditions} in {names[1]}. "
    first = f"Condition {m} is {parts[0]} in {names[0]} and {parts[1]} in {names[1]}."
    return f"{sizes}{first} {COMMON}"


def shared_labels(labels: Mapping[str, Sequence[str] | None]) -> list[str]:
    """Return the conditions that all networks have, in the order of the first."""
    if not labels:
        raise InputError("There must be at least one network. Got none.")
    for name, conditions in labels.items():
        if conditions is None:
            raise InputError(
                f"Conditions are matched by label, and those of network {name!r} have none."
            )
    first, *others = [list(conditions or ()) for conditions in labels.values()]
    common = [one for one in first if all(one in other for other in others)]
    if not common:
        listed = "; ".join(f"{list_labels(list(v or ()))} in {k!r}" for k, v in labels.items())
        raise InputError(f"The networks have no condition in common: {listed}.")
    return common


def left_out(
    labels: Mapping[str, Sequence[str] | None], kept: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the conditions of each network that are not kept; networks that lose none are absent.

    >>> left_out({"x": ["a", "b"], "y": ["a"]}, ["a"])
    {'x': ('b',)}
    """
    gone = {
        name: tuple(one for one in own or () if one not in kept) for name, own in labels.items()
    }
    return {name: conditions for name, conditions in gone.items() if conditions}


def select_rows(table: pd.DataFrame, where: Mapping[str, Any]) -> list[int]:
    """Return the rows of a table that match a value, one of several, or a function, per column."""
    keep = np.ones(len(table), dtype=bool)
    for column, wanted in where.items():
        find_label(column, [str(name) for name in table.columns], "column")
        cells = [None if is_missing(cell) else cell for cell in table[column].tolist()]
        matches = np.array([_matches(cell, wanted) for cell in cells], dtype=bool)
        if not matches.any():
            present = list(dict.fromkeys(cells))
            raise InputError(
                f"No network matches {column}={wanted!r}. "
                f"The values of {column!r} are {list_labels(present)}."
            )
        keep &= matches
    if not keep.any():
        raise InputError("No network matches all of " + ", ".join(map(repr, where)) + ".")
    return [int(k) for k in np.flatnonzero(keep)]


def _matches(cell: Any, wanted: Any) -> bool:
    if callable(wanted):
        return cell is not None and bool(wanted(cell))
    several = isinstance(wanted, Iterable) and not isinstance(wanted, str | bytes)
    values = list(wanted) if several else [wanted]
    return any(cell is None if is_missing(value) else cell == value for value in values)
