"""DistanceMatrix: what it accepts, keeps, saves and refuses."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.cluster import AgglomerativeClustering
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from repshape.analysis.embedding import embed
from repshape.errors import InputError
from repshape.matrix.distances import DistanceMatrix


def example(count: int = 6) -> DistanceMatrix:
    points = np.random.default_rng(0).normal(size=(count, 3))
    values = np.linalg.norm(points[:, None] - points[None], axis=-1)
    return DistanceMatrix(
        values,
        labels=[f"net, {k}" for k in range(count)],
        metadata=pd.DataFrame(
            {
                "area": ["V1", "V4", "IT"] * (count // 3),
                "units": np.arange(count),
                "rate": np.linspace(0.1, 0.3, count),
                "awake": [True, False] * (count // 2),
            }
        ),
        lower_bounds=0.9 * values,
        converged=np.ones((count, count), dtype=bool),
        description={"metric": "Example", "parameters": {"alpha": 0.1}, "repshape": "0"},
    )


def test_labels_and_metadata_by_default() -> None:
    D = DistanceMatrix([[0, 1], [1, 0]])
    assert D.labels == ("0", "1")
    assert D.metadata.shape == (2, 0)
    assert D.lower_bounds is None
    assert D.converged is None
    assert D.description == {}
    assert D.shape == (2, 2)
    assert len(D) == 2


def test_frozen_and_read_only() -> None:
    values = np.array([[0.0, 1.0], [1.0, 0.0]])
    D = DistanceMatrix(values, lower_bounds=values)
    values[0, 1] = 9.0
    assert D.values[0, 1] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        D.values[0, 1] = 2.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        D.values = values  # type: ignore[misc]


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda D: pickle.loads(pickle.dumps(D))]
)
def test_copies_are_read_only_too(duplicate: Callable[[DistanceMatrix], DistanceMatrix]) -> None:
    D = example()
    again = duplicate(D)
    for name in ("values", "lower_bounds", "converged"):
        array = getattr(again, name)
        np.testing.assert_array_equal(array, getattr(D, name))
        assert not array.flags.writeable
    assert (again.labels, again.description) == (D.labels, D.description)
    pd.testing.assert_frame_equal(again.metadata, D.metadata)
    with pytest.raises(dataclasses.FrozenInstanceError):
        again.labels = ()  # type: ignore[misc]


def test_replace_keeps_everything_else() -> None:
    D = example()
    values = D.values.copy()
    values[0, 1] = values[1, 0] = np.nan
    holes = DistanceMatrix(**(D._fields() | {"values": values}), missing=True)
    for source in (D, holes):
        frame = pd.DataFrame({"day": range(6)})
        changed = source.replace(metadata=frame)
        assert changed.metadata["day"].tolist() == list(range(6))
        assert changed.metadata.index.tolist() == list(D.labels)
        for name in ("values", "lower_bounds", "converged"):
            np.testing.assert_array_equal(getattr(changed, name), getattr(source, name))
        assert (changed.labels, changed.description) == (D.labels, D.description)
        assert changed.n_missing == source.n_missing
    assert "day" not in D.metadata


def test_replace_checks_what_it_is_given() -> None:
    holes = np.full((6, 6), np.nan)
    np.fill_diagonal(holes, 0.0)
    with pytest.raises(InputError, match="finite"):
        example().replace(values=holes)
    with pytest.raises(InputError, match=r"a label for each of 6 networks\. Got 1"):
        example().replace(labels=["a"])
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        example().replace(colour="red")


def test_rounding_is_made_symmetric_to_the_bit() -> None:
    D = DistanceMatrix([[0.0, 1.0], [1.0 + 1e-14, 1e-15]])
    np.testing.assert_array_equal(D.values, [[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("values", "arguments", "sentence"),
    [
        ([[0, 1]], {}, r"square matrix. Got shape \(1, 2\)"),
        (np.zeros((0, 0)), {}, "square matrix"),
        ([[0, np.nan], [np.nan, 0]], {}, "finite"),
        ([[0, 1], [2, 0]], {}, "Distances must be symmetric"),
        ([[0, 1], [np.nan, 0]], {"missing": True}, "Missing distances must be symmetric"),
        ([[1, 1], [1, 0]], {}, "to itself must be zero"),
        (np.zeros((2, 2)), {"labels": ["a"]}, "a label for each of 2 networks. Got 1"),
        (np.zeros((2, 2)), {"labels": ["a", "a"]}, "unique. Got 'a' more than once"),
        (np.zeros((2, 2)), {"metadata": pd.DataFrame({"x": [1]})}, "a row for each of 2"),
        (np.zeros((2, 2)), {"lower_bounds": [0.0]}, "'lower_bounds' must have shape"),
    ],
)
def test_bad_input_is_one_sentence(values: Any, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        DistanceMatrix(values, **arguments)


def test_array_protocol() -> None:
    D = example()
    assert np.asarray(D) is D.values
    assert np.asarray(D, dtype=np.float32).dtype == np.float32
    copied = np.array(D)
    copied[0, 1] = 7.0
    assert D.values[0, 1] != 7.0
    with pytest.raises(ValueError, match="copy is needed"):
        D.__array__(dtype=np.float32, copy=False)


def test_condensed_is_the_upper_triangle_by_rows() -> None:
    D = DistanceMatrix([[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    assert D.condensed().tolist() == [1.0, 2.0, 3.0]


def test_frame_has_labels_on_both_sides() -> None:
    D = example()
    frame = D.to_frame()
    assert frame.loc["net, 1", "net, 4"] == D.values[1, 4]
    frame.iloc[0, 1] = 5.0
    assert D.values[0, 1] != 5.0


def test_scikit_learn_takes_it_as_precomputed() -> None:
    D = example(12)
    y = np.arange(12) % 2
    neighbours = KNeighborsClassifier(n_neighbors=1, metric="precomputed").fit(D, y)
    np.testing.assert_array_equal(neighbours.predict(D), y)  # each is nearest to itself
    clusters = AgglomerativeClustering(metric="precomputed", linkage="average").fit(D)
    assert clusters.labels_.shape == (12,)
    model = KNeighborsClassifier(n_neighbors=3, metric="precomputed")
    np.testing.assert_array_equal(
        cross_val_score(model, D, y, cv=3), cross_val_score(model, D.values, y, cv=3)
    )


def test_npz_keeps_everything(tmp_path: Path) -> None:
    D = example()
    D.save(tmp_path / "d.npz")
    back = DistanceMatrix.load(tmp_path / "d.npz")
    np.testing.assert_array_equal(back.values, D.values)
    np.testing.assert_array_equal(back.lower_bounds, D.lower_bounds)
    np.testing.assert_array_equal(back.converged, D.converged)
    assert back.labels == D.labels
    assert back.description == D.description
    pd.testing.assert_frame_equal(back.metadata, D.metadata)


def test_npz_holds_no_pickle(tmp_path: Path) -> None:
    example().save(tmp_path / "d.npz")
    with np.load(tmp_path / "d.npz", allow_pickle=False) as stored:
        assert all(stored[name].dtype.kind in "fbU" for name in stored.files)


def test_npz_without_optional_parts(tmp_path: Path) -> None:
    DistanceMatrix([[0, 1], [1, 0]]).save(tmp_path / "d.npz")
    back = DistanceMatrix.load(tmp_path / "d.npz")
    assert back.lower_bounds is None
    assert back.metadata.shape == (2, 0)


def test_metadata_of_other_kinds(tmp_path: Path) -> None:
    dates = pd.to_datetime(["2024-01-02", "2024-03-04"])
    frame = pd.DataFrame({"day": dates, "note": ["a", None], "rate": [np.nan, 0.1]})
    DistanceMatrix([[0, 1], [1, 0]], metadata=frame).save(tmp_path / "d.npz")
    back = DistanceMatrix.load(tmp_path / "d.npz").metadata
    assert back["day"].tolist() == dates.tolist()
    assert back["note"].iloc[0] == "a"
    assert pd.isna(back["note"].iloc[1])
    assert pd.isna(back["rate"].iloc[0])
    assert back["rate"].iloc[1] == 0.1


def test_csv_keeps_labels_and_every_bit(tmp_path: Path) -> None:
    D = example()
    D.save(str(tmp_path / "d.csv"))
    back = DistanceMatrix.load(str(tmp_path / "d.csv"))
    np.testing.assert_array_equal(back.values, D.values)
    assert back.labels == D.labels


def test_unknown_suffix_lists_the_choices(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"one of '\.npz', '\.csv'. Got '.*d\.pkl'"):
        example().save(tmp_path / "d.pkl")


@pytest.mark.parametrize("name", ["d.npz", "d.csv"])
@pytest.mark.parametrize("content", [b"", b"not distances\n1\n", b"PK\x03\x04 cut short"])
def test_foreign_files_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError):
        DistanceMatrix.load(tmp_path / name)


def test_pickles_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="not a matrix of distances that repshape saved"):
        DistanceMatrix.load(tmp_path / "d.npz")


def test_a_later_format_is_refused_by_number(tmp_path: Path) -> None:
    header = '{"format": "repshape-distances", "version": 2}'
    np.savez(tmp_path / "d.npz", header=np.array(header), values=np.zeros((1, 1)))
    with pytest.raises(InputError, match="format version 2; this repshape reads version 1"):
        DistanceMatrix.load(tmp_path / "d.npz")


def test_csv_with_other_rows_than_columns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(",a,b\na,0,1\nc,1,0\n")
    with pytest.raises(InputError, match="same labels on its rows and columns"):
        DistanceMatrix.load(tmp_path / "d.csv")


def test_failed_save_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "d.npz"
    example().save(path)
    before = path.read_bytes()
    bad = DistanceMatrix([[0, 1], [1, 0]], description={"metric": object()})
    with pytest.raises(TypeError):
        bad.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_saved_file_has_ordinary_permissions(tmp_path: Path) -> None:
    example().save(tmp_path / "d.csv")
    (tmp_path / "other").write_text("")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_repr_says_what_it_is() -> None:
    D = DistanceMatrix(
        [[0, 1, 2], [1, 0, 3], [2, 3, 0]],
        converged=[[True, False, True], [False, True, True], [True, True, True]],
        description={"metric": "Energy"},
    )
    assert repr(D) == "DistanceMatrix(3 networks, distances 1 to 3, Energy, 1 not converged)"
    assert D.n_unconverged == 1
    assert "<table" in D._repr_html_()
    assert repr(DistanceMatrix([[0.0]])) == "DistanceMatrix(1 network)"


def test_an_incomplete_matrix_is_not_embedded() -> None:
    D = DistanceMatrix([[0, 1, np.nan], [1, 0, 2], [np.nan, 2, 0]], missing=True)
    assert not D.complete
    assert D.n_missing == 1
    with pytest.raises(InputError, match="not complete: 1 of 3 pairs are not computed yet"):
        embed(D)


def test_entries_and_parts_by_label() -> None:
    D = example()
    assert D["net, 1", "net, 4"] == D.values[1, 4]
    assert isinstance(D["net, 1", "net, 4"], float)
    part = D[["net, 4", "net, 0", "net, 1"]]
    assert part.labels == ("net, 4", "net, 0", "net, 1")
    index = np.ix_([4, 0, 1], [4, 0, 1])
    np.testing.assert_array_equal(part.values, D.values[index])
    np.testing.assert_array_equal(part.lower_bounds, D.lower_bounds[index])
    np.testing.assert_array_equal(part.converged, D.converged[index])
    assert part.metadata["units"].tolist() == [4, 0, 1]
    assert part.description == D.description
    np.testing.assert_array_equal(D[np.ix_([0, 1], [2])], D.values[:2, 2:3])
    assert D[0, 1] == D.values[0, 1]


def test_parts_by_metadata() -> None:
    D = example()
    assert D.select(area="IT").labels == ("net, 2", "net, 5")
    assert D.select(area=["V1", "V4"], units=lambda count: count > 2).labels == ("net, 3", "net, 4")
    holes = D.values.copy()
    holes[0, 3] = holes[3, 0] = np.nan
    part = DistanceMatrix(**(D._fields() | {"values": holes}), missing=True).select(area="V1")
    assert part.n_missing == 1


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        (("net, 1", "net, 9"), "no network named 'net, 9'. Did you mean"),
        (["net, 1", "net, 1"], "Got 'net, 1' more than once"),
        ("net, 1", "Give two labels"),
    ],
)
def test_wrong_labels_are_one_sentence(key: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        example()[key]


def test_plot_draws_the_matrix() -> None:
    axes = Figure().subplots()
    assert example().plot(order="area", ax=axes) is axes
    assert axes.images or axes.collections


def test_grid_search_takes_a_matrix() -> None:
    """scikit-learn takes parts of a precomputed matrix by index."""
    D = example(12)
    y = np.arange(12) % 2
    scores = cross_val_score(KNeighborsClassifier(1, metric="precomputed"), D, y, cv=2)
    expected = cross_val_score(KNeighborsClassifier(1, metric="precomputed"), D.values, y, cv=2)
    np.testing.assert_array_equal(scores, expected)
