"""Short descriptions of results, for the prompt and for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

# Arrays and sequences up to this length are written out.
SHORT = 6
# Significant digits of a number; the attribute itself has them all.
DIGITS = 6
# No value of a result takes more characters than this.
WIDEST = 160


def compact_repr(cls: type[T]) -> type[T]:
    """Give a dataclass a short ``repr``, and a table for notebooks.

    Large arrays and tables are described by their shape. Fields whose name begins with an
    underscore are left out. A notebook also shows the sentences that ``print`` shows, if the class
    has any.

    >>> from dataclasses import dataclass
    >>> @compact_repr
    ... @dataclass
    ... class Result:
    ...     name: str
    ...     distances: np.ndarray
    >>> Result("mean", np.zeros((40, 3)))
    Result(name='mean', distances=<float64 array of shape (40, 3)>)
    """

    def __repr__(self: Any) -> str:  # noqa: N807
        parts = [f"{name}={text}" for name, text in _fields(self)]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self: Any) -> str:
        table = html_table(type(self).__name__, dict(_fields(self)))
        lines = str(self).splitlines() if cls.__str__ is not object.__str__ else []
        return table + "".join(f"<p>{escape(line)}</p>" for line in lines)

    cls.__repr__ = __repr__  # type: ignore[method-assign]
    cls._repr_html_ = _repr_html_  # type: ignore[attr-defined]
    return cls


def html_table(title: str, rows: Mapping[str, str]) -> str:
    """Return a title and rows of two columns as HTML."""
    lines = [
        f"<tr><th style='text-align: left'>{escape(name)}</th>"
        f"<td style='text-align: left'>{escape(text)}</td></tr>"
        for name, text in rows.items()
    ]
    return f"<p>{escape(title)}</p><table>{''.join(lines)}</table>"


def _fields(result: Any) -> Iterator[tuple[str, str]]:
    for name, field in result.__dataclass_fields__.items():
        if field.repr and not name.startswith("_"):
            yield name, describe_value(getattr(result, name))


def describe_value(value: Any) -> str:
    """Return a value in a few words: large arrays, tables and lists by their size.

    >>> describe_value(np.arange(3)), describe_value(list(range(40)))
    ('[0, 1, 2]', '<list of 40>')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if isinstance(value, np.ndarray):
        if value.ndim == 1 and len(value) <= SHORT and value.dtype.kind in "fiub":
            form = "{:.4g}" if value.dtype.kind == "f" else "{}"
            return f"[{', '.join(map(form.format, value.tolist()))}]"
        return f"<{value.dtype} array of shape {value.shape}>"
    if hasattr(value, "columns") and hasattr(value, "shape"):
        return f"<table of {value.shape[0]} rows and {value.shape[1]} columns>"
    if isinstance(value, list | tuple | set | frozenset | dict) and len(value) > SHORT:
        return f"<{type(value).__name__} of {len(value)}>"
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        inside = ", ".join(map(describe_value, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, list):
        return f"[{', '.join(map(describe_value, value))}]"
    if isinstance(value, dict):
        return f"<dict of {', '.join(map(str, value))}>" if value else "{}"
    text = repr(value)
    return text if len(text) <= WIDEST else f"<{type(value).__name__}>"
