"""One rule for values that belong to networks or conditions: joined by name, or by position.

- Labels (an index, or the keys of a dict) that are the names are joined by name, in any order.
- Plain sequences, and tables with the default index 0, 1, ... go by position.
- Everything else is refused: a sorted or filtered table whose index is numbers, names that are
  missing or unknown, and labels for networks that have no names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from repshape._arrays import count
from repshape._labels import label_text, list_labels
from repshape._tables import is_frame, is_xarray
from repshape.errors import InputError, InputTypeError


def in_order(
    values: Any, names: Sequence[str] | None, number: int, parameter: str, noun: str = "network"
) -> Any:
    """Return values, one per network or condition, in the order of their names.

    A pandas Series stays one, and arrays and lists are returned as they are.

    Parameters
    ----------
    values : Series, dict, DataArray, or sequence
    names : sequence of str, or None
        None if the networks or conditions have no names.
    number : int
        Number of networks or conditions.
    parameter : str
        The name of the argument, for errors.
    noun : str

    Examples
    --------
    >>> in_order({"vae": 2, "mouse": 1}, ["mouse", "vae"], 2, "target")
    [1, 2]
    >>> in_order([2, 1], ["mouse", "vae"], 2, "target")
    [2, 1]
    """
    what = f"The '{parameter}' parameter"
    found = _as_series(values, what, noun)
    if isinstance(found, Mapping):
        cells = list(found.values())
        return [cells[k] for k in match_rows(list(found), names, number, what, noun, keys=True)]
    if is_indexed(found):
        return found.iloc[match_rows(list(found.index), names, number, what, noun)]
    if isinstance(found, str | bytes) or not np.iterable(found):
        raise InputTypeError(f"{what} must have an entry for each {noun}. Got {found!r} instead.")
    if isinstance(found, set | frozenset):
        raise InputTypeError(f"{what} must have an order, as a list has. Got a set instead.")
    listed: Any = found if hasattr(found, "__len__") else list(found)
    if len(listed) != number:
        raise _wrong_number(what, "entry", number, len(listed), noun)
    return listed


def match_rows(
    rows: Sequence[Any],
    names: Sequence[str] | None,
    number: int,
    what: str,
    noun: str = "network",
    *,
    entry: str = "entry",
    keys: bool = False,
    others: bool = False,
) -> list[int]:
    """Return which row belongs to each name, or raise one clear sentence.

    Parameters
    ----------
    rows : sequence
        The labels of the rows: an index, or keys.
    names, number, noun
        As in `in_order`.
    what, entry : str
        Where the rows come from, and what one of them is called, for errors.
    keys : bool
        Whether the labels are names in any case, as the keys of a dict are. Numbers in an index may
        be the row numbers of another table.
    others : bool
        Whether there may be rows for other networks too.
    """
    numbered = [str(k) for k in range(number)]
    known = numbered if names is None else list(names)
    texts = [label_text(row) for row in rows]
    if texts == known:
        return list(range(number))
    if not keys and _counts(rows) and not (others and len(rows) > number):
        if len(rows) != number:
            raise _wrong_number(what, entry, number, len(rows), noun)
        if set(texts) != set(known):
            return list(range(number))
        raise InputError(
            f"{what} is numbered 0, 1, ..., and the {noun}s are named by the same numbers in "
            f"another order. Set the names of the {noun}s as its index, in the order of its rows."
        )
    if known == numbered and not keys and not others:
        raise _no_names(what, texts, noun)
    return _by_name(rows, texts, known, what, noun, entry, others)


def network_names(networks: Any) -> list[str] | None:
    """Return the names that networks carry: keys of a dict, or labels of a cohort; None if none."""
    if isinstance(networks, Mapping):
        return [str(key) for key in networks]
    labels = getattr(networks, "labels", None)
    return None if labels is None else list(labels)


def is_number(row: Any) -> bool:
    """Whether a label is a whole number."""
    return isinstance(row, Integral) and not isinstance(row, bool | np.bool_)


def is_indexed(values: Any) -> bool:
    """Whether values carry an index, as those of pandas do."""
    return hasattr(values, "iloc") and hasattr(values, "index")


def _as_series(values: Any, what: str, noun: str) -> Any:
    """Return a labelled array as a Series, and the column of a table that has one."""
    if is_xarray(values):
        if values.ndim != 1:
            raise InputError(f"{what} must have one dimension. Got {values.ndim}.")
        labelled = values.dims[0] in values.coords
        return values.to_series() if labelled else values.values
    if is_frame(values):
        if len(values.columns) != 1:
            raise InputTypeError(
                f"{what} must be one value per {noun}. Got a table with "
                f"{count(len(values.columns), 'column')}: pass one of them."
            )
        return values[values.columns[0]]
    return values


def _counts(rows: Sequence[Any]) -> bool:
    return all(is_number(row) and row == k for k, row in enumerate(rows))


def _by_name(
    rows: Sequence[Any],
    texts: list[str],
    known: list[str],
    what: str,
    noun: str,
    entry: str,
    others: bool,
) -> list[int]:
    place = {text: k for k, text in enumerate(texts)}
    wanted = set(known)
    missing = [name for name in known if name not in place]
    if missing and len(missing) == len(known) and all(map(is_number, rows)):
        raise InputError(
            f"{what} is indexed by numbers that are neither the names of the {noun}s nor 0, 1, ... "
            f"in order, as after sorting or filtering a table. Set the names of the {noun}s as its "
            f"index, or reset the index if its rows are in the order of the {noun}s: "
            "reset_index(drop=True)."
        )
    unknown = [] if others else [text for text in place if text not in wanted]
    if missing:
        plural = "s" if len(missing) > 1 else ""
        extra = f" It has {list_labels(unknown)}, not among the {noun}s." if unknown else ""
        raise InputError(f"{what} has no {entry} for {noun}{plural} {list_labels(missing)}.{extra}")
    if unknown:
        raise InputError(f"{what} has {list_labels(unknown)}, not among the {noun}s.")
    times = Counter(texts)
    twice = next((name for name in known if times[name] > 1), None)
    if twice is not None:
        many = "entries" if entry == "entry" else f"{entry}s"
        raise InputError(f"{what} has {times[twice]} {many} for {noun} {twice!r}.")
    return [place[name] for name in known]


def _wrong_number(what: str, entry: str, number: int, got: int, noun: str) -> InputError:
    article = "an" if entry == "entry" else "a"
    return InputError(
        f"{what} must have {article} {entry} for each of {count(number, noun)}. Got {got}."
    )


def _no_names(what: str, texts: list[str], noun: str) -> InputError:
    return InputError(
        f"{what} is indexed by {list_labels(texts)}, but the {noun}s have no names that this index "
        f"could be matched with. Name the {noun}s, or reset the index if its "
        f"rows are in the order of the {noun}s: reset_index(drop=True)."
    )
