"""Matrices on disk: labels that look like formulas, and files that are damaged."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from repshape.errors import InputError, RepshapeError, StorageError
from repshape.matrix.distances import DistanceMatrix

LABELS = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1",
    "-x",
    "@SUM(A1)",
    "\ttab",
    "\rreturn",
    "'=1",
    "NA",
    "",
]


def example(labels: list[str] = LABELS) -> DistanceMatrix:
    points = np.random.default_rng(0).normal(size=(len(labels), 3))
    values = np.linalg.norm(points[:, None] - points[None], axis=-1)
    values[0, 1] = values[1, 0] = -0.25  # an estimate may be negative
    return DistanceMatrix(
        values,
        labels,
        pd.DataFrame({"note": labels, "rate": np.arange(float(len(labels)))}),
        lower_bounds=0.9 * values,
        converged=np.eye(len(labels)) == 0,
        description={"metric": "Example", "parameters": {"tol": 1e-9}},
    )


@pytest.mark.parametrize("name", ["d.csv", "d.npz"])
def test_every_label_comes_back(name: str, tmp_path: Path) -> None:
    example().save(tmp_path / name)
    back = DistanceMatrix.load(tmp_path / name)
    assert back.labels == tuple(LABELS)
    np.testing.assert_array_equal(back.values, example().values)


def test_csv_holds_no_formula_and_negative_numbers_stay_numbers(tmp_path: Path) -> None:
    example().save(tmp_path / "d.csv")
    with open(tmp_path / "d.csv", newline="", encoding="utf-8") as handle:
        header, *rows = list(csv.reader(handle))
    written = ["'=cmd|' /C calc'!A0", "'+1+1", "-1", "'-x", "'@SUM(A1)", "'\ttab", "'\rreturn"]
    labels = [*written, "''=1", "NA", ""]
    assert header == ["", *labels, "note", "rate"]
    assert [row[0] for row in rows] == [row[-2] for row in rows] == labels
    assert rows[0][2] == "-0.25"


def test_csv_keeps_metadata(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "a": [1, 2, 3],  # a column may have the name of a network
            "rate": [0.1, np.nan, -np.inf],
            "area": ["V1", None, "=IT"],
            "mouse": ["007", "7", "nan?"],
            "left": [True, False, True],
        }
    )
    D = DistanceMatrix([[0, 1, 2], [1, 0, 3], [2, 3, 0]], list("abc"), frame)
    D.save(tmp_path / "d.csv")
    back = DistanceMatrix.load(tmp_path / "d.csv")
    np.testing.assert_array_equal(back.values, D.values)
    pd.testing.assert_frame_equal(back.metadata, D.metadata)


def test_csv_of_a_spreadsheet_is_read(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes("\ufeff,é,b\r\né,0,1\r\nb,1,0\r\n".encode())
    assert DistanceMatrix.load(tmp_path / "d.csv").labels == ("é", "b")
    (tmp_path / "d.csv").write_text(",a,b,age\na,0,1,7\nb,1,0,\n")
    assert DistanceMatrix.load(tmp_path / "d.csv").metadata["age"].iloc[0] == 7.0
    (tmp_path / "d.csv").write_text(",a,b,age\na,0,1,7\nb,1,0\n")
    with pytest.raises(InputError, match="is not a matrix of distances"):
        DistanceMatrix.load(tmp_path / "d.csv")


def test_metadata_with_gaps_of_every_kind_comes_back(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "rate": [np.nan, np.inf, 0.1],
            "note": ["a", None, "c"],
            "mixed": [1, "b", pd.NA],
            "day": pd.to_datetime(["2024-01-02", None, "2024-03-04"]),
        }
    )
    D = DistanceMatrix(np.zeros((3, 3)), metadata=frame, description={"bound": np.float64(0.5)})
    D.save(tmp_path / "d.npz")
    back = DistanceMatrix.load(tmp_path / "d.npz")
    assert back.description == {"bound": 0.5}
    assert back.metadata["rate"].tolist()[1:] == [np.inf, 0.1]
    assert back.metadata.isna().to_numpy().tolist() == [
        [True, False, False, False],
        [False, True, False, True],
        [False, False, True, False],
    ]
    assert back.metadata["day"].iloc[2] == pd.Timestamp("2024-03-04")


def test_the_header_is_valid_json(tmp_path: Path) -> None:
    """Other readers than Python's refuse NaN and Infinity."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    frame = pd.DataFrame({"rate": [np.nan, 1.0]})
    DistanceMatrix(np.zeros((2, 2)), metadata=frame).save(tmp_path / "d.npz")
    with np.load(tmp_path / "d.npz") as stored:
        header = json.loads(str(stored["header"]), parse_constant=refuse)
    assert header["metadata"][0]["values"] == [None, 1.0]


@pytest.mark.parametrize("name", ["d.npz", "d.csv"])
def test_a_path_that_cannot_be_written_is_one_sentence(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(StorageError, match=r"Cannot write to .*: it is a directory"):
        example().save(tmp_path / name)
    with pytest.raises(StorageError, match=r"Cannot write to .*: there is no directory"):
        example().save(tmp_path / "none" / name)
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_labels_without_an_encoding_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written as UTF-8"):
        example(["a", "b\udcff", "c"]).save(tmp_path / "d.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["d.npz", "d.csv"])
def test_a_path_that_cannot_be_read_is_one_sentence(name: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="There is no file"):
        DistanceMatrix.load(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(RepshapeError, match=name):
        DistanceMatrix.load(tmp_path / name)


def test_text_that_is_not_utf8_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(",a,\xe9\na,0,1\n\xe9,1,0\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"d\.csv is not text in UTF-8: line 1 has the byte 0xe9"):
        DistanceMatrix.load(tmp_path / "d.csv")


def test_a_truncated_npz_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "d.npz"
    example().save(path)
    content = path.read_bytes()
    for end in range(0, len(content), 50):
        path.write_bytes(content[:end])
        with pytest.raises(InputError, match=r"d\.npz is not a matrix .*, or is damaged"):
            DistanceMatrix.load(path)


def test_a_damaged_npz_is_one_sentence_or_is_sound(tmp_path: Path) -> None:
    """Every 50th byte is changed in turn; some carry nothing, such as a date in the archive."""
    path = tmp_path / "d.npz"
    example().save(path)
    content = path.read_bytes()
    refused = 0
    for k in range(0, len(content), 50):
        path.write_bytes(content[:k] + bytes([content[k] ^ 0xFF]) + content[k + 1 :])
        try:
            back = DistanceMatrix.load(path)
        except RepshapeError:
            refused += 1
        else:
            np.testing.assert_array_equal(back.values, example().values)
    assert refused > len(range(0, len(content), 50)) // 2


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\x93NUMPY",
        b'{"format": "repshape-distances"',
        b'{"format": "repshape-distances", "version": 1}',
        b'{"format": "repshape-distances", "version": 1, "labels": 3, "metadata": [],'
        b' "description": {}}',
        b'{"format": "repshape-distances", "version": 1, "labels": ["a", "b"],'
        b' "metadata": [{"name": "x"}], "description": {}}',
        b'{"format": "repshape-distances", "version": 1, "labels": ["a", "b"],'
        b' "metadata": [{"name": "x", "dtype": "float64", "values": [1, "y"]}], "description": {}}',
        b'{"format": "repshape-distances", "version": 1, "labels": ["a", "b"], "metadata": [],'
        b' "description": 3}',
        b'{"format": "repshape-distances", "version": 1, "labels": ["a"], "metadata": [],'
        b' "description": {}}',
        b"[]",
        b"null",
    ],
)
@pytest.mark.parametrize("values", [np.zeros((2, 2)), np.zeros(3), np.array("text"), None])
def test_a_header_that_is_cut_short_is_one_sentence(
    header: bytes, values: Any, tmp_path: Path
) -> None:
    path = tmp_path / "d.npz"
    with zipfile.ZipFile(path, "w") as archive:
        text = io.BytesIO()
        np.save(text, np.array(header.decode("latin-1")))
        archive.writestr("header.npy", text.getvalue() if header else b"")
        if values is not None:
            numbers = io.BytesIO()
            np.save(numbers, values)
            archive.writestr("values.npy", numbers.getvalue())
    with pytest.raises(InputError, match=r"d\.npz"):
        DistanceMatrix.load(path)


@pytest.mark.parametrize(
    "text", ["", "\n", ",a\n", ",a\na\n", ",a\na,x\n", ",a,b\na,0,1\nb,2,0\n", ",a\na,0,1\n", '"']
)
def test_bad_csv_is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(InputError, match=r"d\.csv"):
        DistanceMatrix.load(tmp_path / "d.csv")


def test_a_distance_below_its_lower_bound_is_refused(tmp_path: Path) -> None:
    values = np.array([[0.0, 1.0], [1.0, 0.0]])
    DistanceMatrix(values, lower_bounds=1.01 * values).save(tmp_path / "d.npz")
    words = r"d\.npz is damaged: the distance of pair \(0, 1\), 1, is below its lower bound, 1\.01"
    with pytest.raises(InputError, match=words):
        DistanceMatrix.load(tmp_path / "d.npz")
    DistanceMatrix(values, lower_bounds=(1 + 1e-9) * values).save(tmp_path / "d.npz")  # rounding
    assert DistanceMatrix.load(tmp_path / "d.npz").complete


def test_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(",a,b,area,area\na,0,1,V1,V2\nb,1,0,V1,V2\n")
    with pytest.raises(InputError, match=r"d\.csv has two columns named 'area'"):
        DistanceMatrix.load(tmp_path / "d.csv")


def test_complex_distances_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Distances must be real numbers"):
        DistanceMatrix(np.array([[0, 1j], [1j, 0]]))
    example().save(tmp_path / "d.npz")
    with np.load(tmp_path / "d.npz") as stored:
        arrays = dict(stored)
    np.savez(tmp_path / "d.npz", **(arrays | {"values": arrays["values"] + 0j}))
    with pytest.raises(InputError, match=r"holds complex numbers in 'values'"):
        DistanceMatrix.load(tmp_path / "d.npz")
