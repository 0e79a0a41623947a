"""Presentations of a stimulus in an NWB file: their conditions, and which are invalid."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from repshape._arrays import FloatArray, IntArray
from repshape._labels import cross_labels, group_labels
from repshape.errors import InputError, InputTypeError
from repshape.io.nwb_rules import Mask, matches, value_text
from repshape.io.nwb_tables import Column, Table, by_distinct

BLANK = "blank"
SUFFIX = "_presentations"
INVALID = "invalid_times"
PROBE = re.compile("probe[A-Z]")  # also a probe that has no electrodes in the file


@dataclass(frozen=True)
class Presentations:
    """The presentations that were asked for, in the order of the file."""

    rows: IntArray  # in the table of the stimulus
    start: FloatArray
    stop: FloatArray
    condition: IntArray  # index into names
    names: tuple[str, ...]


def find_stimulus(stimulus: Any, tables: Sequence[str], file: str) -> str:
    """Return the table of a stimulus, or raise a sentence that lists them all."""
    if not isinstance(stimulus, str):
        raise InputTypeError(f"The 'stimulus' parameter must be a name. Got {stimulus!r} instead.")
    for name in (stimulus, stimulus + SUFFIX):
        if name in tables:
            return name
    listed = ", ".join(repr(one.removesuffix(SUFFIX)) for one in tables) or "none"
    raise InputError(f"{file} has no stimulus {stimulus!r}. Its stimuli are {listed}.")


def condition_columns(condition: Any) -> tuple[str, ...]:
    """Return the names of one or more condition columns."""
    names = (condition,) if isinstance(condition, str) else condition
    valid = isinstance(names, Sequence) and all(isinstance(one, str) for one in names)
    if not valid or not names or len(set(names)) < len(names):
        raise InputTypeError(
            "The 'condition' parameter must be a column, or a list of different columns. "
            f"Got {condition!r} instead."
        )
    return tuple(names)


def find_presentations(
    table: Table,
    columns: tuple[str, ...],
    *,
    where: Mapping[str, Any],
    blank_when: Mapping[str, Any],
    keep_blanks: bool,
) -> Presentations:
    """Return the presentations that match ``where``, with their conditions."""
    table.require("start_time", "stop_time", *columns, *where, *blank_when)
    blank = _blanks({name: table[name] for name in columns}, table, blank_when)
    wanted = np.ones(len(blank), dtype=bool)
    for column, rule in where.items():  # a blank has no value in the columns of the stimulus
        without = blank & matches(table[column], np.nan, column)
        wanted &= matches(table[column], rule, column) | without
    if not keep_blanks:
        wanted &= ~blank
    rows = np.flatnonzero(wanted)
    if not rows.size:
        rest = f" that matches {dict(where)!r}" if where else ", only blanks"
        raise InputError(f"The stimulus {table.name!r} has no presentation{rest}.")
    start, stop = (table[name][rows].astype(np.float64) for name in ("start_time", "stop_time"))
    if not np.isfinite(start).all():
        k = int(rows[np.argmin(np.isfinite(start))])
        raise InputError(f"Presentation {k} of {table.name!r} has no start time.")
    names, condition = _conditions(table, columns, rows, blank[rows])
    return Presentations(rows, start, stop, condition, names)


def _blanks(columns: Mapping[str, Column], table: Table, blank_when: Mapping[str, Any]) -> Mask:
    """Return which presentations are blank: without a value, or with that of ``blank_when``."""
    tests = blank_when or dict.fromkeys(columns, np.nan)
    found = [matches(table[name], [rule, np.nan], name) for name, rule in tests.items()]
    return np.asarray(np.logical_and.reduce(found), dtype=bool)


def _conditions(
    table: Table, columns: tuple[str, ...], rows: IntArray, blank: Mask
) -> tuple[tuple[str, ...], IntArray]:
    """Return the names of the conditions in order, and the condition of each presentation.

    They are sorted by the first column, then by the second, and so on; the blank is the last.
    """
    shown = rows[~blank]
    names, place = cross_labels(columns, [_ranks(table, name, shown) for name in columns])
    condition = np.full(len(rows), len(names), dtype=np.intp)
    condition[~blank] = place
    return (*names, *([BLANK] if blank.any() else [])), condition


def _ranks(table: Table, column: str, rows: IntArray) -> tuple[tuple[str, ...], IntArray]:
    """Return the sorted values as text, and the rank of the value of each row."""
    values = table[column][rows]
    empty = matches(values, np.nan, column)
    if empty.any():
        raise InputError(
            f"Presentation {rows[np.argmax(empty)]} of {table.name!r} has no {column!r}, but it is "
            "not blank. Choose presentations with 'where', or other columns."
        )
    texts = by_distinct(values, value_text, object)
    distinct = pd.unique(texts).tolist()
    names = group_labels(distinct, len(distinct))[0] if distinct else ()
    rank = {text: k for k, text in enumerate(names)}
    return names, by_distinct(texts, rank.__getitem__, np.intp)


def invalid_presentations(
    table: Table,
    shown: Presentations,
    window: tuple[FloatArray, FloatArray],
    *,
    probes: Set[str],
    chosen: Set[str],
) -> Column:
    """Return what makes each presentation invalid; empty for those that are valid.

    An interval that is tagged with probes matters if units of theirs are chosen. Times that are
    invalid for the stimulus matter during the whole presentation, others during the window.
    """
    begin, end = window
    first, last = np.minimum(begin, shown.start), np.fmax(end, shown.stop)
    reasons = np.full(len(begin), "", dtype=object)
    table.require("start_time", "stop_time")
    for row, (start, stop) in enumerate(zip(table["start_time"], table["stop_time"], strict=True)):
        tags = set(table.cells("tags", row).tolist()) if "tags_index" in table else set()
        named = {tag for tag in tags if tag in probes or PROBE.fullmatch(tag)}
        if "optotagging" in tags or (named and not named & chosen):
            continue
        recording = bool(named) or "all_probes" in tags
        low, high = (begin, end) if recording else (first, last)
        label = next(iter(sorted(named))) if named else "all_probes" if recording else "stimulus"
        reasons[(low <= stop) & (high > start) & (reasons == "")] = label
    return reasons


def unobserved(table: Table, row: int, window: tuple[FloatArray, FloatArray]) -> Mask:
    """Return during which windows a unit was not observed, by its ``obs_intervals``."""
    begin, end = window
    intervals = table.cells("obs_intervals", row).reshape(-1, 2)
    intervals = intervals[np.argsort(intervals[:, 0], kind="stable")]
    if not len(intervals):
        return np.ones(len(begin), dtype=bool)
    k = np.searchsorted(intervals[:, 0], begin, side="right") - 1
    return np.asarray((k < 0) | (end > intervals[k, 1]), dtype=bool)
