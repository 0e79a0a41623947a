"""`CrossDistances`: labels of rows and columns, selections, files and words."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from repshape.errors import InputError

VALUES = np.array([[3.0, 5.0, 7.0], [2.0, 4.0, 6.0]])


@pytest.fixture
def block() -> rs.CrossDistances:
    ones = np.ones((2, 3), dtype=int)
    return rs.CrossDistances(
        VALUES,
        ["mouse 1", "mouse 2"],
        ["conv1", "conv2", "mouse 1"],
        row_metadata={"mouse 2": {"age": 3}, "mouse 1": {"age": 9}},
        column_metadata=pd.DataFrame({"depth": [1, 2, 0]}),
        lower_bounds=0.5 * VALUES,
        converged=VALUES > 2,
        n_starts=16 * ones,
        n_agreeing=[[1, 8, 16], [4, 4, 4]],
        gaps=[[0.02, 0.5, 0.0], [np.nan, 0.1, 0.1]],
        description={"metric": "mine", "parameters": {"alpha": 1.0}},
    )


def assert_same(found: rs.CrossDistances, expected: rs.CrossDistances) -> None:
    for name in rs.CrossDistances.__dataclass_fields__:
        one, other = getattr(found, name), getattr(expected, name)
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
            assert not one.flags.writeable
        elif isinstance(one, pd.DataFrame):
            assert one.to_dict() == other.to_dict()
        else:
            assert one == other


def test_labels_choose_a_number_a_block_or_raise(block: rs.CrossDistances) -> None:
    assert block["mouse 2", "mouse 1"] == 6.0
    assert block["mouse 1", "conv2"] == 5.0
    part = block[["mouse 2"], ["mouse 1", "conv1"]]
    np.testing.assert_array_equal(part.values, [[6.0, 2.0]])
    np.testing.assert_array_equal(part.gaps, [[0.1, np.nan]])
    assert part.column_metadata["depth"].tolist() == [0, 1]
    assert part.description == block.description
    np.testing.assert_array_equal(block[:, 1], VALUES[:, 1])
    with pytest.raises(InputError, match="row named 'conv1'"):
        block["conv1", "mouse 1"]
    with pytest.raises(InputError, match="Give a row and a column"):
        block["mouse 1"]


def test_it_is_an_array_and_a_table(block: rs.CrossDistances) -> None:
    np.testing.assert_array_equal(np.asarray(block), VALUES)
    assert np.asarray(block, dtype=np.float32).dtype == np.float32
    frame = block.to_frame()
    assert frame.loc["mouse 2", "conv2"] == 4.0
    frame.loc["mouse 2", "conv2"] = 0.0  # a copy
    assert block["mouse 2", "conv2"] == 4.0
    assert (block.shape, len(block)) == ((2, 3), 2)


def test_it_is_frozen(block: rs.CrossDistances) -> None:
    with pytest.raises(AttributeError):
        block.values = VALUES  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        block.values[0, 0] = 1.0
    assert_same(pickle.loads(pickle.dumps(block)), block)
    assert_same(copy.deepcopy(block), block)


def test_metadata_are_joined_by_name_and_select(block: rs.CrossDistances) -> None:
    assert block.row_metadata["age"].tolist() == [9, 3]
    chosen = block.select(rows={"age": 3}, columns={"depth": lambda depth: depth > 0})
    assert (chosen.row_labels, chosen.column_labels) == (("mouse 2",), ("conv1", "conv2"))
    assert_same(block.select(), block)
    with pytest.raises(InputError, match="No network matches age=5"):
        block.select(rows={"age": 5})


def test_what_is_known_of_the_search(block: rs.CrossDistances) -> None:
    assert block.agreement is not None
    np.testing.assert_array_equal(block.agreement, [[1 / 16, 0.5, 1.0], [0.25, 0.25, 0.25]])
    assert block.n_unconverged == 1
    bare = rs.CrossDistances(VALUES)
    assert bare.agreement is None
    assert bare.possible_excess is None
    assert (bare.n_doubtful, bare.n_unconverged, bare.doubt_words()) == (0, 0, "")


def test_doubt_has_the_rule_of_matrices(block: rs.CrossDistances) -> None:
    """The same pairs in a matrix of the rows and columns together."""
    fields: dict[str, Any] = {}
    for name in ("values", "lower_bounds", "n_starts", "n_agreeing", "gaps"):
        square = np.zeros((5, 5)) + (name in ("n_starts", "n_agreeing"))
        square[:2, 2:] = getattr(block, name)
        fields[name] = np.triu(square) + np.triu(square, 1).T
    D = rs.DistanceMatrix(**fields)
    assert block.n_doubtful == D.n_doubtful > 0
    assert D.possible_excess is not None
    np.testing.assert_array_equal(block.possible_excess, D.possible_excess[:2, 2:])
    assert block.doubt_words().startswith(f"{D.n_doubtful} of 6 pairs may be longer than")


def test_files_keep_everything(block: rs.CrossDistances, tmp_path: Path) -> None:
    block.save(tmp_path / "c.npz")
    assert_same(rs.CrossDistances.load(tmp_path / "c.npz"), block)
    bare = rs.CrossDistances([[np.nan, 1.0]], missing=True)
    bare.save(tmp_path / "bare.npz")
    loaded = rs.CrossDistances.load(tmp_path / "bare.npz")
    assert_same(loaded, bare)
    assert (loaded.n_missing, loaded.complete) == (1, False)


def test_foreign_and_damaged_files_are_refused(block: rs.CrossDistances, tmp_path: Path) -> None:
    D = rs.DistanceMatrix([[0.0, 1.0], [1.0, 0.0]])
    D.save(tmp_path / "d.npz")
    block.save(tmp_path / "c.npz")
    with pytest.raises(InputError, match="does not hold distances between two sets"):
        rs.CrossDistances.load(tmp_path / "d.npz")
    with pytest.raises(InputError, match="is not a matrix of distances that repshape saved"):
        rs.DistanceMatrix.load(tmp_path / "c.npz")
    (tmp_path / "c.npz").write_bytes((tmp_path / "c.npz").read_bytes()[:100])
    with pytest.raises(InputError):
        rs.CrossDistances.load(tmp_path / "c.npz")
    with pytest.raises(InputError, match=r"\.npz"):
        block.save(tmp_path / "c.csv")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"values": [1.0, 2.0]}, r"shape \(rows, columns\). Got shape \(2,\)"),
        ({"values": [[1.0, np.nan]]}, "must be finite"),
        ({"values": [[1j]]}, "must be real"),
        ({"values": VALUES, "row_labels": ["a"]}, "label for each of 2 networks. Got 1"),
        ({"values": VALUES, "column_labels": list("aab")}, "must be unique"),
        ({"values": VALUES, "gaps": [[1.0]]}, r"'gaps' must have shape \(2, 3\)"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        rs.CrossDistances(**given)


def test_a_changed_copy_drops_what_belongs_to_the_values(block: rs.CrossDistances) -> None:
    assert block.replace(values=2 * VALUES).lower_bounds is None
    renamed = block.replace(row_labels=["a", "b"])
    assert renamed["a", "conv1"] == 3.0
    assert renamed.row_metadata.loc["a", "age"] == 9


def test_a_block_in_words(block: rs.CrossDistances) -> None:
    assert repr(block) == "CrossDistances(2 x 3 networks, distances 2 to 7, mine)"
    lines = block.summary().splitlines()
    assert lines[0] == "2 x 3 networks, 6 pairs, mine."
    assert lines[1] == "Distances from 2 (mouse 2 and conv1) to 7 (mouse 1 and mouse 1)."
    assert lines[2] == "The solver stopped before it converged for 1 pair."
    assert "<table" in block._repr_html_()


def test_a_picture_keeps_the_order_and_marks_the_nearest(block: rs.CrossDistances) -> None:
    from matplotlib.figure import Figure

    picture = rs.plots.CrossPicture.of(block, rows="brains", columns="layers")
    assert picture.row_names == ("mouse 1", "mouse 2")
    assert picture.column_names == ("conv1", "conv2", "mouse 1")
    assert picture.nearest.tolist() == [0, 0]
    assert picture.limits == (2.0, 7.0)
    ax = block.plot(rows="brains", columns="layers", ax=Figure().subplots())
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("brains", "layers")
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["mouse 1", "mouse 2"]
    image = ax.images[0].get_array()
    np.testing.assert_array_equal(image, VALUES)
    absent = rs.plots.CrossPicture.of([[np.nan, np.nan], [2.0, 1.0]])
    assert absent.nearest.tolist() == [-1, 1]
    assert "2 pairs not computed yet (grey)" in absent.caption
    many = rs.plots.CrossPicture.of(np.ones((40, 2)))
    assert many.row_names == ()
