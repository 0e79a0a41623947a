"""JSON text: what is not JSON, and what becomes of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from repshape.errors import InputTypeError
from repshape.io.json import json_text, plain


def test_what_is_not_finite_is_null() -> None:
    value = {"a": [np.nan, np.inf, -np.inf, 1.5], "b": np.array([[0.0, np.nan]])}
    assert json.loads(json_text(value)) == {"a": [None, None, None, 1.5], "b": [[0.0, None]]}


def test_numpy_becomes_plain() -> None:
    value = {1: np.float32(0.5), "n": np.int64(3), "t": (np.True_, np.str_("x")), "none": None}
    found = plain(value)
    assert found == {"1": 0.5, "n": 3, "t": [True, "x"], "none": None}
    assert [type(one) for one in (found["1"], found["n"], *found["t"])] == [float, int, bool, str]


def test_other_objects_are_text_or_refused() -> None:
    assert json_text([Path("a")]) == '["a"]'
    with pytest.raises(InputTypeError, match="JSON cannot hold an object of type set"):
        json_text({"deep": [set()]}, strict=True)


def test_indentation() -> None:
    assert json_text({"a": 1}, indent=2) == '{\n  "a": 1\n}'
