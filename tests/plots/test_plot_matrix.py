"""The picture of a matrix: order, bars, limits, words."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes

import repshape as rs
from repshape.plots import MatrixPicture, plot_matrix


def test_hierarchical_order_of_points_on_a_line_is_the_line(line: rs.DistanceMatrix) -> None:
    found = MatrixPicture.of(line, order="hierarchical")
    assert found.order.tolist() == [0, 2, 4, 1, 5, 3]
    np.testing.assert_array_equal(found.values, line.values[np.ix_(found.order, found.order)])
    assert found.names == ("n0", "n2", "n4", "n1", "n5", "n3")


@pytest.mark.parametrize(
    ("order", "rows"),
    [
        ("input", [0, 1, 2, 3, 4, 5]),
        ("area", [0, 2, 4, 1, 3, 5]),  # stable
        ("place", [0, 2, 4, 1, 5, 3]),  # as numbers, not as text
        ([5, 4, 3, 2, 1, 0], [5, 4, 3, 2, 1, 0]),
    ],
)
def test_orders(line: rs.DistanceMatrix, order: object, rows: list[int]) -> None:
    assert MatrixPicture.of(line, order=order).order.tolist() == rows


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 5, 6]])
def test_positions_must_hold_every_network_once(line: rs.DistanceMatrix, order: list[int]) -> None:
    with pytest.raises(ValueError, match="'order' parameter must hold each index from 0 to 5 once"):
        MatrixPicture.of(line, order=order)


def test_unknown_columns_are_named(line: rs.DistanceMatrix) -> None:
    for option in ("order", "groups"):
        with pytest.raises(ValueError, match="no column 'region'"):
            MatrixPicture.of(line, **{option: "region"})


def test_groups_are_named_beside_their_rows_only_where_they_are_together() -> None:
    D = rs.DistanceMatrix(1.0 - np.eye(40))
    together = MatrixPicture.of(D, groups=["a"] * 10 + ["b"] * 30)
    assert together.spans == ((5.0, "a"), (25.0, "b"))
    assert together.names == ()  # too many to read
    assert MatrixPicture.of(D, groups=["a", "b"] * 20).spans == ()


def test_groups_follow_the_order(line: rs.DistanceMatrix) -> None:
    found = MatrixPicture.of(line, order="place", groups="area")
    assert found.groups is not None
    assert found.groups.codes.tolist() == [0, 0, 0, 1, 1, 1]


def test_many_levels_have_distinct_colours() -> None:
    D = rs.DistanceMatrix(1.0 - np.eye(12))
    for values in (range(12), [f"g{k:02d}" for k in range(12)]):
        groups = MatrixPicture.of(D, groups=list(values)).groups
        assert groups is not None
        assert len(set(groups.level_colours)) == 12


def test_limits_start_at_zero_or_at_the_most_negative() -> None:
    assert MatrixPicture.of([[0, 2], [2, 0]]).limits == (0.0, 2.0)
    assert MatrixPicture.of([[0, -2, 1], [-2, 0, 1], [1, 1, 0]]).limits == (-2.0, 1.0)
    assert MatrixPicture.of([[0, 0], [0, 0]]).limits == (0.0, 1.0)


def test_caption_tells_metric_settings_order_and_what_is_missing(line: rs.DistanceMatrix) -> None:
    words = MatrixPicture.of(line, order="hierarchical", groups="area").caption
    settings = ("alpha = 0.5", "group = rotation", "6 networks, 15 pairs")
    for part in (*settings, "optimal leaf order", "Bars: area"):
        assert part in words
    gaps = rs.DistanceMatrix([[0, np.nan], [np.nan, 0]], missing=True)
    with pytest.raises(ValueError, match="not complete"):
        MatrixPicture.of(gaps, order="hierarchical")
    three = np.array([[0, 1, np.nan], [1, 0, 1], [np.nan, 1, 0]])
    assert "1 pair not computed" in MatrixPicture.of(three).caption


def test_drawing(line: rs.DistanceMatrix, ax: Axes) -> None:
    assert plot_matrix(line, groups="cost $", ax=ax) is ax
    assert len(ax.images) == 3  # the matrix and two bars
    np.testing.assert_array_equal(ax.images[0].get_array(), line.values)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(line.labels)
    assert ax.get_legend().get_title().get_text() == r"cost \$"
    ax.figure.draw_without_rendering()


def test_one_network_can_be_drawn(ax: Axes) -> None:
    plot_matrix([[0.0]], order="hierarchical", ax=ax)
    ax.figure.draw_without_rendering()
