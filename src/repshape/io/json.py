"""JSON text of results: the one place that decides what happens to values JSON cannot hold."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from repshape.errors import InputTypeError


def json_text(value: Any, *, indent: int | None = None, strict: bool = False) -> str:
    """Return a value as JSON text that every reader of JSON accepts.

    Parameters
    ----------
    value : object
        NumPy arrays and scalars become lists and numbers. JSON has no NaN and no infinity: both
        become null.
    indent : int, optional
        Spaces of indentation; everything is on one line by default.
    strict : bool
        Whether to raise for an object of another type. By default it is written as its text,
        ``str(object)``.

    Examples
    --------
    >>> json_text({"spread": float("nan"), "networks": (1, 2)})
    '{"spread": null, "networks": [1, 2]}'
    """
    return json.dumps(plain(value, strict=strict), indent=indent, allow_nan=False)


def plain(value: Any, *, strict: bool = False) -> Any:
    """Return a value made of dicts, lists, text, finite numbers, booleans and None only."""
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(item, strict=strict) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, strict=strict) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if strict:
        raise InputTypeError(f"JSON cannot hold an object of type {type(value).__name__}.")
    return str(value)
