"""Labelled arrays and tables (xarray, pandas) as arrays with labels.

Neither library is imported: their objects are recognised by where their class is defined.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from repshape._arrays import IntArray
from repshape._labels import (
    cross_labels,
    find_label,
    group_labels,
    is_missing,
    list_labels,
    list_values,
)
from repshape.errors import InputError, InputTypeError

ROLES = ("condition", "trial", "neuron")
# Parts of the names that people give to dimensions and columns; used for suggestions only.
HINTS = {
    "neuron": ("neuron", "unit", "cell", "channel", "feature", "roi"),
    "trial": ("trial", "repeat", "presentation", "sample"),
    "condition": ("condition", "stimul", "image", "frame", "orient", "direction", "label", "class"),
}
TIME_HINTS = ("time", "bin", "lag")
# A column of numbers with one of these names is not a neuron.
LABEL_COLUMNS = {
    "condition": (
        *("condition", "stimulus", "stimuli", "stim", "label", "odor", "odour", "image", "class"),
        *("category", "target", "orientation", "direction", "sound", "texture", "picture"),
    ),
    "other": (
        *("trial", "repeat", "repetition", "presentation", "block", "session", "subject", "animal"),
        *("time", "index", "unnamed: 0"),
    ),
}
# What may follow such a name: "trial_id", "stimulus number", "labels".
SUFFIXES = re.compile(r"(s|[ _-]?(id|ids|index|idx|name|number|num|no|nr))$")


class Labelled(NamedTuple):
    """An array, and the labels of its conditions and neurons if there are any."""

    array: Any
    conditions: list[Any] | None
    neurons: list[Any] | None


def is_xarray(value: Any) -> bool:
    """Whether a value is an xarray object."""
    ours = any(one.__module__.partition(".")[0] == "xarray" for one in type(value).__mro__)
    return ours and hasattr(value, "dims") and hasattr(value, "coords")


def is_frame(value: Any) -> bool:
    """Whether a value is a table with named columns, such as pandas makes."""
    if is_xarray(value) or is_time_series(value):
        return False
    return hasattr(value, "columns") and hasattr(value, "__getitem__")


def is_time_series(value: Any) -> bool:
    """Whether a value is a time series of pynapple, whose columns are not found by their names."""
    return hasattr(value, "time_support") and hasattr(value, "t")


def dimension_names(array: Any) -> list[Any]:
    """Return the names of the dimensions of a DataArray, or raise."""
    if hasattr(array, "data_vars"):
        names = list_labels([str(name) for name in array.data_vars])
        raise InputTypeError(
            f"A Dataset may hold several arrays. Pass one of them, dataset[name]. It holds {names}."
        )
    return list(array.dims)


def arranged(array: Any, roles: Sequence[str], what: str) -> Labelled:
    """Return an array with its dimensions in the order ``roles``; others come last.

    Anything but a DataArray is returned as it is, without labels.
    """
    if not is_xarray(array):
        return Labelled(array, None, None)
    names = dimension_names(array)
    missing = [role for role in roles if role not in names]
    if missing:
        raise InputError(
            f"The {what} must have dimensions named {', '.join(roles)}. Got {_named(names)}. "
            "Rename them, or pass the values in that order."
        )
    ordered = array.transpose(*roles, *(name for name in names if name not in roles))
    return Labelled(ordered.values, _coordinate(array, "condition"), _coordinate(array, "neuron"))


def read_dataarray(array: Any, *, points: bool = True) -> Labelled:
    """Return trials (conditions, trials, neurons) or points (conditions, neurons) by name."""
    names = dimension_names(array)
    if set(names) == set(ROLES) or (points and set(names) == {"condition", "neuron"}):
        return arranged(array, [role for role in ROLES if role in names], "array")
    if set(names) == {"condition", "neuron"}:
        raise InputError(
            "Trials need a dimension named trial. Got 'condition' and 'neuron' only: a network "
            "without noise is Gaussians.points(da)"
        )
    raise _refusal(array, names)


def map_dataarray(array: Any, condition: Any, trial: Any, neuron: Any) -> tuple[Labelled, Any]:
    """Return an array by the names of its dimensions, and the label of each trial, if any.

    ``condition`` is a dimension, or a coordinate along the trials: then the array is (trials,
    neurons), and its trials have labels.
    """
    if not is_xarray(array):
        raise InputTypeError(
            f"Trials.from_xarray needs an xarray.DataArray. Got {type(array).__name__} instead."
        )
    names = dimension_names(array)
    wanted = dict(zip(ROLES, (condition, trial, neuron), strict=True))
    if len(set(wanted.values())) < len(wanted):
        raise InputError(
            f"The three dimensions must differ. Got {list_labels([*wanted.values()])}."
        )
    along = condition in array.coords and tuple(array.coords[condition].dims) == (trial,)
    roles = ROLES[1:] if along and condition not in names else ROLES
    for role in roles:
        find_label(wanted[role], [str(name) for name in names], "dimension")
    extra = [name for name in names if name not in wanted.values()]
    if extra:
        raise InputError(
            f"The array has further dimensions: {_named(extra)}. Sum, average or select over them "
            "first."
        )
    values = array.transpose(*(wanted[role] for role in roles)).values
    labels = array.coords[condition].values if roles != ROLES else None
    conditions = _coordinate(array, condition) if labels is None else None
    return Labelled(values, conditions, _coordinate(array, neuron)), labels


def _coordinate(array: Any, name: Any) -> list[Any] | None:
    """Return the labels along a dimension, if it has any."""
    if name not in array.dims or name not in array.coords:
        return None
    return list_values(array.coords[name].values)


def _refusal(array: Any, names: list[Any]) -> InputError:
    times = [name for name in names if _is_like(name, TIME_HINTS)]
    rest = [name for name in names if name not in times]
    first = f"Sum or average over {_named(times)} first. " if times else ""
    return InputError(
        "The dimensions of a DataArray must be named condition, trial and neuron, or condition and "
        f"neuron for points. Got {_named(names)}. {first}{_suggestion(array, rest)}"
    )


def _suggestion(array: Any, names: list[Any]) -> str:
    """Return the call that reads an array with these dimensions, with its own names filled in."""
    roles = _guess(names)
    if len(names) == 3:
        return f"Say which is which: {_call(roles)}"
    if len(names) != 2:
        return 'Reduce it to three, and call Trials.from_xarray(da, condition="...", ' + (
            'trial="...", neuron="...")'
        )
    along = [
        name
        for name, one in array.coords.items()
        if tuple(one.dims) == (roles["trial"],) and name not in names
    ]
    if along:
        best = next((one for one in along if _is_like(one, HINTS["condition"])), along[0])
        return f"Say which is which: {_call({**roles, 'condition': best})}"
    return (
        f"If every entry of {roles['trial']!r} is a trial, label them: Trials.from_labels("
        f'da.transpose("{roles["trial"]}", "{roles["neuron"]}"), labels)'
    )


def _guess(names: list[Any]) -> dict[str, Any]:
    """Return which dimension is probably which; the order of the names decides what is unclear."""
    roles = ["neuron", "trial", "condition"] if len(names) == 3 else ["neuron", "trial"]
    found: dict[str, Any] = {}
    for role in roles:
        fits = [n for n in names if n not in found.values() and _is_like(n, HINTS[role])]
        if fits:
            found[role] = fits[0]
    rest = [name for name in names if name not in found.values()]
    for role in ("condition", "trial", "neuron"):
        if role in roles and role not in found and rest:
            found[role] = rest.pop(0)
    return found


def _call(roles: dict[str, Any]) -> str:
    inside = ", ".join(f'{role}="{roles[role]}"' for role in ROLES)
    return f"Trials.from_xarray(da, {inside})"


def _is_like(name: Any, hints: Sequence[str]) -> bool:
    return any(hint in str(name).lower() for hint in hints)


def _named(names: Sequence[Any]) -> str:
    return ", ".join(repr(str(name)) for name in names)


def read_frame(frame: Any, *, rows: str = "conditions") -> Labelled:
    """Return a table of numbers with a column per neuron, and a row per condition or trial."""
    columns = list(frame.columns)
    numeric = [name for name in columns if _is_numeric(frame, name)]
    others = [name for name in columns if name not in numeric]
    others += [name for name in numeric if _is_label_column(name)]
    if others:
        neurons = [name for name in numeric if name not in others]
        best = next((one for one in others if _is_label_column(one, ("condition",))), others[0])
        listed = ", ".join(f'"{name}"' for name in neurons[:2])
        listed += ", ..." if len(neurons) > 2 else ""
        why = "is not numeric" if others[0] not in numeric else "is not a neuron, by its name"
        raise InputTypeError(
            f"A table that is given as a network must hold neurons only. Its column {others[0]!r} "
            f'{why}. Say what the columns are: Trials.from_frame(frame, condition="{best}", '
            f"neurons=[{listed}])"
        )
    labels = _row_labels(frame) if rows == "conditions" else None
    return Labelled(frame_columns(frame, columns), labels, columns)


def _is_label_column(name: Any, kinds: Sequence[str] = tuple(LABEL_COLUMNS)) -> bool:
    """Whether a column holds something else than a neuron, by its name.

    >>> _is_label_column("Trial_ID"), _is_label_column("odor"), _is_label_column("unit 3")
    (True, True, False)
    """
    text = str(name).strip().lower()
    known = [one for kind in kinds for one in LABEL_COLUMNS[kind]]
    return text in known or SUFFIXES.sub("", text) in known


def _row_labels(frame: Any) -> list[Any] | None:
    index = getattr(frame, "index", None)
    if index is None or type(index).__name__ == "RangeIndex":
        return None
    rows = list(index)
    if len(set(rows)) < len(rows):
        twice = next(row for k, row in enumerate(rows) if row in rows[:k])
        raise InputError(
            f"A table that is given as a network must have a row per condition. Got {twice!r} more "
            "than once in its index. If its rows are trials, call "
            "Trials.from_labels(frame, frame.index)"
        )
    return rows


def read_rows(values: Any) -> Labelled:
    """Return trials (trials, neurons), with the labels of the neurons if they have any."""
    if is_frame(values):
        return read_frame(values, rows="trials")
    if is_time_series(values) and hasattr(values, "columns"):
        return Labelled(values.values, None, list(values.columns))
    if not is_xarray(values):
        return Labelled(values, None, None)
    names = dimension_names(values)
    if len(names) != 2:
        return Labelled(values.values, None, None)
    trial, neuron = _trial_and_neuron(names)
    return Labelled(values.transpose(trial, neuron).values, None, _coordinate(values, neuron))


def read_trials(responses: Any) -> Labelled:
    """Return trials as `pool_trials` takes them, with the labels that they carry."""
    if is_xarray(responses):
        return read_dataarray(responses, points=False)
    if is_frame(responses):
        raise InputTypeError(
            "A table needs to be told which column holds the conditions: call "
            "Trials.from_frame(frame, condition=..., neurons=[...]), or "
            "Trials.from_labels(frame, labels) if all columns are neurons."
        )
    if not isinstance(responses, list | tuple):
        return Labelled(responses, None, None)
    parts = [
        read_frame(one, rows="trials")
        if is_frame(one)
        else arranged(one, ("trial", "neuron"), "trials")
        for one in responses
    ]
    for m, part in enumerate(parts):
        if part.neurons != parts[0].neurons:
            raise InputError(
                "Every condition must have the same neurons in the same order. "
                f"Those of condition {m} are not labelled like those of condition 0."
            )
    neurons = parts[0].neurons if parts else None
    return Labelled([part.array for part in parts], None, neurons)


def _trial_and_neuron(names: list[Any]) -> tuple[Any, Any]:
    """Return which of two dimensions holds trials: by name, or else the first.

    Other names decide nothing, but an order that contradicts them is refused.
    """
    first, second = names
    if second == "trial" or first == "neuron":
        return second, first
    if first != "trial" and second != "neuron":
        swapped = _is_like(first, HINTS["neuron"]) and not _is_like(first, HINTS["trial"])
        if swapped and not _is_like(second, HINTS["neuron"]):
            raise InputError(
                f"The trials must come first. Got the dimensions {_named(names)}: transpose the "
                f'array, as in da.transpose("{second}", "{first}").'
            )
    return first, second


def frame_columns(frame: Any, names: Sequence[Any]) -> npt.NDArray[Any]:
    """Return columns of numbers as an array (rows, columns)."""
    if not names:
        raise InputError("A network must have at least one neuron. Got none.")
    return np.stack([column_numbers(frame, name) for name in names], axis=1)


def find_column(frame: Any, name: Any) -> Any:
    """Return a column, or raise an error that lists those with similar names."""
    names = list(frame.columns)
    if name not in names:
        find_label(name, [str(one) for one in names], "column")
        raise InputError(f"There is no column {name!r}, but one whose name is text: {str(name)!r}.")
    if names.count(name) > 1:
        raise InputError(f"The table has more than one column named {name!r}.")
    return frame[name]


def read_conditions(frame: Any, condition: Any) -> tuple[list[Any], tuple[str, ...], IntArray]:
    """Return the condition columns of a table, the conditions, and which of them each row has."""
    several = isinstance(condition, list | tuple) and condition not in list(frame.columns)
    columns = list(condition) if several else [condition]
    if not columns or len(set(columns)) < len(columns):
        raise InputTypeError(
            "The 'condition' parameter must be a column, or a list of different columns. "
            f"Got {condition!r} instead."
        )
    cells = [find_column(frame, name) for name in columns]
    return columns, *cross_labels(columns, [group_labels(one, len(one)) for one in cells])


def column_numbers(frame: Any, name: Any) -> npt.NDArray[Any]:
    """Return a column of numbers; gaps become NaN."""
    column = find_column(frame, name)
    array = np.asarray(column)
    if array.dtype.kind in "fiub":
        return array
    if not _is_numeric(frame, name):
        raise InputTypeError(
            f"The responses of a neuron must be numbers. Column {name!r} has dtype {column.dtype}."
        )
    return np.array([np.nan if is_missing(one) else float(one) for one in column])


def _is_numeric(frame: Any, name: Any) -> bool:
    # Nullable integers of pandas are numbers whose arrays hold objects.
    column = find_column(frame, name)
    kind = getattr(column.dtype, "kind", None) or np.asarray(column).dtype.kind
    return kind in "fiub"
