"""CSV text: safe in a spreadsheet, and restored exactly."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repshape.errors import InputError
from repshape.io.csv import csv_bytes, csv_cells, escape, unescape

DANGEROUS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=", "-", "'=1", "''-x"]
HARMLESS = ["", "mouse 1", "a=b", "'t Hooft", "''", "-1", "+2.5", "-1e-3", "-.5", "07", " =1"]
texts = st.text(st.sampled_from("'=+-@\t\r\n\",;ax1. é"), max_size=6)


@pytest.mark.parametrize("text", DANGEROUS)
def test_a_formula_becomes_text(text: str) -> None:
    assert escape(text) == "'" + text
    assert unescape(escape(text)) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_and_numbers_stay(text: str) -> None:
    assert escape(text) == text
    assert unescape(text) == text


@given(texts)
def test_every_text_comes_back(text: str) -> None:
    assert unescape(escape(text)) == text


@given(st.lists(st.lists(texts, min_size=2, max_size=2), min_size=1, max_size=4))
def test_every_table_comes_back(rows: list[list[str]]) -> None:
    """Line breaks of every kind stay inside their cell, in every version of Python."""
    assert csv_cells(csv_bytes(rows).decode()) == rows


def test_no_cell_starts_a_formula() -> None:
    cells = next(csv.reader(io.StringIO(csv_bytes([DANGEROUS]).decode(), newline="")))
    assert [cell[0] for cell in cells] == ["'"] * len(DANGEROUS)


def test_numbers_and_gaps_are_written_as_they_are() -> None:
    assert csv_bytes([["x", -1.5, -2, None, True, 0.1 + 0.2]]) == (
        b"x,-1.5,-2,,True,0.30000000000000004\n"
    )


def test_text_without_an_encoding_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"'a\\udcff' cannot be written as UTF-8"):
        csv_bytes([["a\udcff"]])
