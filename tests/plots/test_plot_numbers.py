"""Pictures of numbers: sweeps, parts, distortion, neighbours, intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes

import repshape as rs
from repshape.plots import (
    DistortionPicture,
    IntervalsPicture,
    NeighborsPicture,
    PartsPicture,
    SweepPicture,
)


@pytest.fixture(scope="module")
def sweep() -> rs.analysis.Interpolation:
    networks = rs.datasets.toy_networks(3, 1)
    return rs.analysis.interpolate(networks, [1.0], labels=["a", "b $", "c"], progress=False)


def estimate(value: float, low: float, high: float, plug_in: float) -> rs.inference.Estimate:
    return rs.inference.Estimate(value, (low, high), 0.9, 0.1, plug_in, "bootstrap", 50, 0)


def test_sweep_is_that_of_the_pair(sweep: rs.analysis.Interpolation) -> None:
    for pair in (1, ("a", "c"), ("c", "a")):
        found = SweepPicture.of(sweep, pair)
        np.testing.assert_array_equal(found.distances, sweep.distances[:, 1])
        np.testing.assert_array_equal(found.lower_bounds, sweep.lower_bounds[:, 1])
        assert found.top > found.distances.max()
    assert "between a and b $," in SweepPicture.of(sweep, 0).caption


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (3, "There are 3 pairs"),
        (("a", "x"), "no network named 'x'"),
        (("a", "a"), "two different networks"),
    ],
)
def test_bad_pairs(sweep: rs.analysis.Interpolation, pair: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SweepPicture.of(sweep, pair)


def test_drawing_a_sweep(sweep: rs.analysis.Interpolation, ax: Axes) -> None:
    rs.plots.plot_sweep(sweep, 2, ax=ax, caption=True)
    assert len(ax.lines) == 3
    assert len({line.get_linestyle() for line in ax.lines}) == 3  # told apart in greyscale
    ax.figure.draw_without_rendering()


def test_parts_of_a_sweep_and_of_matrices_agree(sweep: rs.analysis.Interpolation) -> None:
    networks = rs.datasets.toy_networks(3, 1).networks
    d_0, d_2 = (
        rs.pairwise(networks, rs.GaussianShapeMetric(alpha=a), labels=sweep.labels, progress=False)
        for a in (0.0, 2.0)
    )
    found, same = PartsPicture.of(sweep), PartsPicture.of(d_2, d_0)
    np.testing.assert_allclose(found.points, same.points, atol=1e-6)
    np.testing.assert_array_equal(same.points[:, 0], d_2.condensed())
    with pytest.raises(ValueError, match=r"Expected distances at alpha = 2\. Got alpha = 0"):
        PartsPicture.of(d_0, d_2)
    with pytest.raises(ValueError, match="must be None if 'means' is an Interpolation"):
        PartsPicture.of(sweep, d_0)
    with pytest.raises(ValueError, match="'covariances' parameter must hold distances at alpha"):
        PartsPicture.of(d_2)


def test_pairs_are_coloured_by_the_group_of_both(line: rs.DistanceMatrix, ax: Axes) -> None:
    plain_matrix = replaced(line)
    found = PartsPicture.of(plain_matrix, plain_matrix, groups="area")
    assert found.colouring.levels == ("V1", "V4", "between groups")
    assert np.bincount(found.colouring.codes).tolist() == [3, 3, 9]
    assert found.colouring.codes[0] == 2  # n0 is V1 and n1 is V4
    assert "Above the diagonal: 0 pairs" in found.caption
    found.draw(ax)
    assert sum(len(one.get_offsets()) for one in ax.collections) == 15


def replaced(D: rs.DistanceMatrix) -> rs.DistanceMatrix:
    return rs.DistanceMatrix(D.values, D.labels, D.metadata)


def test_parts_need_the_same_networks(line: rs.DistanceMatrix) -> None:
    other = rs.DistanceMatrix(line.values)
    with pytest.raises(ValueError, match="same networks in the same order"):
        PartsPicture.of(replaced(line), other)


def test_distortion_bands_are_the_percentiles(ax: Axes) -> None:
    D = np.random.default_rng(0).uniform(1, 2, size=(8, 8))
    D = np.triu(D, 1) + np.triu(D, 1).T
    curve = rs.analysis.distortion_curve(D, [3, 1, 2])
    found = DistortionPicture.of(curve)
    assert found.dimensions.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(found.middle, curve.to_frame().sort_index()["p50"])
    assert [name for name, _, _ in found.bands] == [
        "5th to 95th percentile",
        "25th to 75th percentile",
    ]
    np.testing.assert_array_equal(found.bands[0][2], curve.to_frame().sort_index()["p95"])
    assert found.top >= curve.values.max()
    rs.plots.plot_distortion(curve, ax=ax)
    assert len(ax.collections) == 2
    assert len(ax.lines) == 2  # the median and the line at 1


def test_infinite_distortion_leaves_the_window_and_is_told(ax: Axes) -> None:
    curve = rs.analysis.distortion_curve(1.0 - np.eye(5), [1, 2])
    values = curve.values.copy()
    values[0, -1] = np.inf
    found = DistortionPicture.of(replace(curve, values=values))
    assert np.isfinite(found.top)
    assert found.bands[0][2][0] > found.top
    assert "At 1 of 2 dimensions a percentile is infinite" in found.caption
    found.draw(ax)
    ax.figure.draw_without_rendering()


def test_neighbours(line: rs.DistanceMatrix, ax: Axes) -> None:
    places = np.random.default_rng(0).uniform(size=40)
    D = np.abs(places[:, None] - places)
    scores = {
        "with $": rs.analysis.knn_classify(D, places > 0.5, n_permutations=19, n_repeats=5),
        "without": rs.analysis.knn_classify(D, np.arange(40) % 2, n_repeats=5, n_permutations=0),
    }
    found = NeighborsPicture.of(scores)
    first = scores["with $"]
    assert found.names == (r"with \$", "without")
    assert found.notes == (f"p = {first.p_value:.2g}", "")
    assert found.estimates[0] == first.estimate
    np.testing.assert_array_equal(found.intervals[0], first.interval)
    np.testing.assert_allclose(found.nulls[0], np.percentile(first.null, [5, 95]))
    assert np.isnan(found.nulls[1]).all()
    assert found.limits[0] < found.intervals.min() <= found.intervals.max() < found.limits[1]
    assert first.method in found.caption
    rs.plots.plot_neighbors(scores, ax=ax, caption=True)
    assert len(ax.get_legend().get_texts()) == 3
    ax.figure.draw_without_rendering()
    mixed = {"a": first, "b": rs.analysis.knn_regress(D, places, n_repeats=5)}
    with pytest.raises(ValueError, match="scores of one kind"):
        NeighborsPicture.of(mixed)


def test_intervals(ax: Axes) -> None:
    rows = {"a": estimate(1.0, 0.5, 1.5, 1.2), "b": estimate(np.nan, np.nan, np.nan, np.nan)}
    floor = estimate(0.2, 0.1, 0.3, 0.28)
    found = IntervalsPicture.of(rows, {"a": floor}, reference=0.0)
    assert found.floors[0].tolist() == [0.2, 0.1, 0.3]
    assert np.isnan(found.floors[1]).all()
    assert found.limits[0] < 0.0 < 1.5 < found.limits[1]
    assert "90 %, bootstrap, 50 resamples" in found.caption
    found.draw(ax)
    assert [text.get_text() for text in ax.texts] == ["undefined"]
    assert len(ax.get_legend().get_texts()) == 3
    ax.figure.draw_without_rendering()


def test_an_interval_without_end_runs_to_the_edge(ax: Axes) -> None:
    rows = {"a": estimate(1.0, 0.5, np.inf, 1.2), "b": estimate(2.0, 1.5, 2.5, 2.2)}
    found = IntervalsPicture.of(rows)
    found.draw(ax)
    lines = ax.collections[-2].get_segments()  # before the estimates
    np.testing.assert_allclose([one[1, 0] for one in lines], [found.limits[1], 2.5])
    assert "no upper end" in found.caption


def test_one_floor_serves_all_rows_and_one_estimate_needs_no_name(ax: Axes) -> None:
    one, floor = estimate(1.0, 0.5, 1.5, 1.2), estimate(0.2, 0.1, 0.3, 0.28)
    assert IntervalsPicture.of({"a": one, "b": one}, floor).floors.shape == (2, 3)
    assert rs.plots.plot_intervals(one, ax=ax) is ax


def test_bad_rows() -> None:
    one = estimate(1.0, 0.5, 1.5, 1.2)
    with pytest.raises(ValueError, match="no estimate named 'c'"):
        IntervalsPicture.of({"a": one}, {"c": one})
    with pytest.raises(ValueError, match="at least one entry"):
        IntervalsPicture.of({})
    with pytest.raises(TypeError, match=r"must hold Estimates\. Got float at 'a'"):
        IntervalsPicture.of({"a": 1.0})
    with pytest.raises(TypeError, match="must hold NeighborScores"):
        NeighborsPicture.of(one)
