"""The picture of an embedding."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes

import repshape as rs
from repshape.plots import EmbeddingPicture, plot_embedding


def test_decisions(line: rs.DistanceMatrix) -> None:
    embedding = rs.embed(line)
    found = EmbeddingPicture.of(embedding, line, colour="place", connect="area")
    np.testing.assert_array_equal(found.points, embedding.points)
    assert found.colouring.kind == "continuous"
    assert found.colouring.name == "place"
    assert [len(one) for one in found.lines] == [3, 3]
    np.testing.assert_array_equal(found.lines[0], embedding.points[[0, 2, 4]])
    assert found.reach > np.abs(embedding.points).max()
    assert found.axis_labels == ("MDS, axis 1", "MDS, axis 2")  # no shares of variance
    assert "%" not in rs.embed(line, method="classical").plot().get_xlabel()
    for part in (
        "alpha = 0.5",
        "SMACOF",
        f"stress {embedding.stress:.3g}; half of the distances drawn are within",
        "Colour: place",
        "area",
    ):
        assert part in found.caption


def test_values_need_no_matrix(line: rs.DistanceMatrix) -> None:
    found = EmbeddingPicture.of(rs.embed(line), colour=list("ababab"), names=True)
    assert found.colouring.levels == ("a", "b")
    assert found.names == line.labels


def test_ready_made_colours_stay(line: rs.DistanceMatrix) -> None:
    colours = np.linspace(0, 1, 18).reshape(6, 3)
    found = EmbeddingPicture.of(rs.embed(line), colour=colours).colouring
    np.testing.assert_allclose(found.colours[:, :3], colours)
    assert found.kind == "given"


@pytest.mark.parametrize(
    ("points", "options", "words"),
    [
        (np.zeros((6, 1)), {}, "at least two columns"),
        (np.full((6, 2), np.nan), {}, "must be finite"),
        (np.zeros((5, 2)), {}, "6 networks and 5 points"),
        (np.zeros((6, 2)), {"colour": [1, 2]}, "an entry for each of 6 networks"),
        (np.zeros((6, 2)), {"colour": np.zeros((5, 3))}, "'colour' must have 6 rows"),
        (np.zeros((6, 2)), {"areas": [1, 2]}, "an entry for each of 6 networks"),
        (np.zeros((6, 2)), {"reach": 0}, "'reach' parameter"),
        (np.zeros((6, 2)), {"connect": "region"}, "no column 'region'"),
    ],
)
def test_bad_input(line: rs.DistanceMatrix, points: object, options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        EmbeddingPicture.of(points, line, **options)


def test_drawing(line: rs.DistanceMatrix, ax: Axes) -> None:
    plot_embedding(rs.embed(line), line, colour="area", connect="area", names=True, ax=ax)
    assert len(ax.lines) == 2
    assert [len(one.get_offsets()) for one in ax.collections] == [3, 3]  # one for each marker
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["V1", "V4"]
    *names, collapse = [text.get_text() for text in ax.texts]
    assert names == list(line.labels)
    assert "on a line" in collapse


@pytest.mark.parametrize("values", [["a", None, "b"], [1.0, np.nan, 2.0]])
def test_missing_values_are_drawn_underneath(values: list, ax: Axes) -> None:
    plot_embedding([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]], colour=values, ax=ax)
    assert ax.collections[0].get_offsets().tolist() == [[1.0, 1.0]]
    ax.figure.draw_without_rendering()


def test_larger_markers_lie_underneath(ax: Axes) -> None:
    plot_embedding([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]], areas=[1.0, 9.0, 4.0], ax=ax)
    assert ax.collections[0].get_sizes().tolist() == [9.0, 4.0, 1.0]


def test_numbers_get_a_colour_bar(line: rs.DistanceMatrix, ax: Axes) -> None:
    plot_embedding(rs.embed(line), line, colour="place", ax=ax)
    assert len(ax.figure.axes) == 2
    assert ax.figure.axes[1].get_ylabel() == "place"


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (np.zeros((4, 2)), "All networks coincide."),
        (np.c_[np.arange(5.0), 0.01 * np.arange(5.0) % 0.02], "lie on a line"),
        (np.r_[0.001 * np.eye(5)[:, :2], [[1.0, 0.0], [0.0, 1.0]]][:6], "so far away"),
        (np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]]), ""),
    ],
)
def test_a_collapsed_picture_says_so(points: np.ndarray, words: str, ax: Axes) -> None:
    found = EmbeddingPicture.of(points)
    plot_embedding(points, ax=ax)
    written = " ".join(text.get_text().replace("\n", " ") for text in ax.texts)
    assert words in found.caption
    assert bool(written) == bool(words)
    assert words in written
