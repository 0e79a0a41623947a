"""Tables: what is written comes back, and what is damaged is refused in one sentence."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from repshape.errors import InputError, RepshapeError, StorageError
from repshape.io import import_cohort
from repshape.io.tables import read_metadata, read_points, write_table

LABELS = ["=1+1", "-x", "NA", "007", "'quoted", "a\rb", '"c", d']


def table() -> pd.DataFrame:
    frame = pd.DataFrame({"note": ["@a", "b", None, "d", "+e", "f", "-2"]}, index=LABELS)
    frame["rate"] = [-1.5, np.nan, 0.1, 2.0, 3.0, 4.0, 5.0]
    frame["x0"] = np.linspace(-1.0, 1.0, 7)
    frame["x1"] = np.linspace(-1.0, 1.0, 7) ** 2 / 3
    return frame


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".json"])
def test_points_come_back_to_the_bit_in_any_order(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{suffix}"
    write_table(path, table(), {"stress": 0.1})
    order = LABELS[::-1]
    expected = table().loc[order, ["x0", "x1"]].to_numpy()
    np.testing.assert_array_equal(read_points(path, order), expected)


def test_metadata_comes_back_from_csv(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", table(), {})
    back = read_metadata(tmp_path / "t.csv", LABELS)
    assert back.index.tolist() == LABELS
    assert back["rate"].dtype.kind == "f"
    np.testing.assert_array_equal(back["rate"], table()["rate"])
    assert back["note"].fillna("gone").tolist() == ["@a", "b", "gone", "d", "+e", "f", "-2"]


def test_csv_holds_no_formula(tmp_path: Path) -> None:
    frame = table().rename(columns={"note": "=HYPERLINK()"})
    write_table(tmp_path / "t.csv", frame, {})
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as handle:
        rows = list(csv.reader(handle))
    assert rows[0] == ["network", "'=HYPERLINK()", "rate", "x0", "x1"]
    assert rows[1][:3] == ["'=1+1", "'@a", "-1.5"]
    assert rows[2][:3] == ["'-x", "b", ""]
    assert read_metadata(tmp_path / "t.csv", LABELS).columns[0] == "=HYPERLINK()"


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".json"])
@pytest.mark.parametrize("name", ["file", "network", "summary"])
def test_awkward_names_of_columns(name: str, suffix: str, tmp_path: Path) -> None:
    """An archive of NumPy takes a "file", and the column of the index is called "network"."""
    path = tmp_path / f"t{suffix}"
    frame = pd.DataFrame({name: ["p", "q"], "x0": [1.0, 2.0]}, index=["a", "b"])
    write_table(path, frame, {"stress": 0.1})
    np.testing.assert_array_equal(read_points(path, ["a", "b"]), [[1.0], [2.0]])


def test_dates_and_gaps(tmp_path: Path) -> None:
    days = pd.to_datetime(["2024-01-02", None])
    frame = pd.DataFrame({"day": days, "note": [None, pd.NA]}, index=["a", "b"])
    write_table(tmp_path / "t.csv", frame, {})
    assert (tmp_path / "t.csv").read_text() == "network,day,note\na,2024-01-02,\nb,,\n"
    write_table(tmp_path / "t.json", frame, {"n": 1})
    saved = json.loads((tmp_path / "t.json").read_text())
    assert saved == {
        "n": 1,
        "table": {"network": ["a", "b"], "day": ["2024-01-02", None], "note": [None, None]},
    }
    write_table(tmp_path / "t.npz", frame, {})
    with np.load(tmp_path / "t.npz", allow_pickle=False) as stored:
        assert stored["note"].tolist() == ["", ""]


@pytest.mark.parametrize(
    ("name", "error", "sentence"),
    [
        ("t.pkl", InputError, r"must end in one of '\.csv', '\.npz', '\.json'"),
        ("none/t.csv", StorageError, "there is no directory"),
        ("folder.csv", StorageError, "it is a directory"),
    ],
)
def test_paths_that_cannot_be_written(
    name: str, error: type[Exception], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(error, match=sentence):
        write_table(tmp_path / name, table(), {})
    assert [one.name for one in tmp_path.iterdir()] == ["folder.csv"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "cannot be read as a table"),
        (b"name,x\na,1\na,2\n", "has 2 rows for network 'a'"),
        (b"name,x\nb,1\n", "has no row for network 'a'"),
        (b"name,x\n\xff,1\n", "not text in UTF-8"),
        (b'name,x\n"a,1\n', "cannot be read as a table"),
    ],
)
def test_bad_metadata_is_one_sentence(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_bytes(content)
    with pytest.raises(RepshapeError, match=sentence):
        read_metadata(tmp_path / "m.csv", ["a"])
    with pytest.raises(StorageError, match="is a directory"):
        read_metadata(tmp_path, ["a"])


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".json"])
@pytest.mark.parametrize("labels", [["a"], LABELS])
def test_damaged_points_are_one_sentence(suffix: str, labels: list[str], tmp_path: Path) -> None:
    path = tmp_path / f"t{suffix}"
    write_table(path, table(), {})
    content = path.read_bytes()
    last = len(content) - 30  # what cuts the last number of a CSV file short cannot be seen
    damaged = [content[:end] for end in range(0, last, 50)]
    for one in [*damaged, b"\xff", b"[]", b'{"table": 3}', b"network,x0\n"]:
        path.write_bytes(one)
        with pytest.raises(RepshapeError, match=r"not an embedding|not text in UTF-8"):
            read_points(path, labels)


def test_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("network,area,area\na,V1,V2\n")
    with pytest.raises(
        InputError, match=r"(?m)^In .*t\.csv: The table has two columns named 'area'\.$"
    ):
        read_metadata(tmp_path / "t.csv", ["a"])
    (tmp_path / "t.csv").write_text("name,file,area,area\na,a.npy,V1,V2\n")
    with pytest.raises(
        InputError, match=r"(?m)^In .*t\.csv: The table has two columns named 'area'\.$"
    ):
        import_cohort([tmp_path / "t.csv"], tmp_path / "cohort")
    (tmp_path / "t.csv").write_text("network,area,,\na,V1,,\n")  # empty columns of a spreadsheet
    assert read_metadata(tmp_path / "t.csv", ["a"])["area"].tolist() == ["V1"]


def test_a_manifest_with_a_short_row_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name,file\na,a.npy\nb\n")
    with pytest.raises(InputError, match=r"has no 'file' in line 3"):
        import_cohort([tmp_path / "t.csv"], tmp_path / "cohort")
