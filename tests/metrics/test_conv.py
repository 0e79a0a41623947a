"""ConvShapeMetric: shifts, the screen by Fourier transforms, and deterministic maps."""

from __future__ import annotations

import numpy as np
import pytest

import repshape as rs
from process_support import orthogonal
from repshape.errors import InputError
from repshape.metrics.conv import correlate, correlate_sum

MODES = ("marginal", "joint")


def maps(seed, shape=(3, 8, 3, 4, 2)):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) + rng.normal(size=(shape[0], 1, *shape[2:]))


def roll(x, shift):
    return np.roll(x, shift, axis=(-3, -2))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0])
def test_a_shifted_copy_is_at_zero_with_shifts_and_not_without(mode, alpha):
    x = maps(0)
    y = roll(x, (1, 3)) @ orthogonal(np.random.default_rng(1), 2)
    with_shifts = rs.ConvShapeMetric(alpha, mode=mode, shifts=True)
    found = with_shifts.align(x, y)
    assert found.distance < 1e-6
    assert found.shift == (2, 1)
    assert with_shifts.align(y, x).shift == (1, 3)
    assert rs.ConvShapeMetric(alpha, mode=mode).distance(x, y) > 0.5
    held_out = maps(2), maps(3)
    moved = roll(held_out[1], found.shift) @ found.transform
    fixed = rs.ConvShapeMetric(alpha, mode=mode, group="identity").distance(held_out[0], moved)
    assert with_shifts.score(found, *held_out) == pytest.approx(fixed, rel=1e-9)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation", "identity"])
def test_the_best_shift_is_that_of_brute_force(mode, group):
    """All 12 shifts of small maps, each solved by the metric without shifts."""
    plain = rs.ConvShapeMetric(0.7, mode=mode, group=group)
    for seed in range(2):
        x, y = maps(2 * seed), maps(2 * seed + 1)
        every = [plain.distance(x, roll(y, (i, j))) for i in range(3) for j in range(4)]
        found = plain.with_parameters(shifts=True).align(x, y)
        assert found.distance == pytest.approx(min(every), rel=1e-9)
        assert found.distance == pytest.approx(plain.distance(x, roll(y, found.shift)), rel=1e-9)
        assert found.lower_bound <= min(every) * (1 + 1e-12)
        assert plain.with_parameters(shifts=True).distance(y, x) == found.distance


def test_bounds_of_the_screen_hold_for_every_shift():
    metric = rs.ConvShapeMetric(mode="joint", shifts=True)
    x, y = maps(4), maps(5)
    bounds = metric._shift_bounds(metric.prepare(x), metric.prepare(y), 1.0)
    plain = rs.ConvShapeMetric(mode="joint")
    for i, j in np.ndindex(3, 4):
        assert bounds[i, j] <= plain.distance(x, roll(y, (i, j))) ** 2 + 1e-9


def test_correlations_by_fourier_transforms_are_those_of_loops():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(2, 3, 5, 4)), rng.normal(size=(2, 3, 5, 2))
    found = correlate(x, y)
    for i, j in np.ndindex(3, 5):
        expected = np.einsum("mhwa,mhwb->ab", x, roll(y, (i, j)))
        np.testing.assert_allclose(found[i, j], expected, atol=1e-12)
    np.testing.assert_allclose(
        correlate_sum(x[..., :2], y),
        np.trace(correlate(x[..., :2], y), axis1=2, axis2=3),
        atol=1e-12,
    )


def test_deterministic_maps_are_a_special_case():
    """d^2 = |X|^2 + |Y|^2 - 2 max_s |R_s|_*, in units of the mean over conditions, times 2."""
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(2, 5, 3, 4, 3))
    found = rs.ConvShapeMetric(2.0, shifts=True).distance(x, y)
    nuclear = np.linalg.norm(correlate(x, y), "nuc", axis=(2, 3)).max()
    expected = 2 * ((x**2).sum() + (y**2).sum() - 2 * nuclear) / 5
    assert found**2 == pytest.approx(expected, rel=1e-9)
    points = rs.PositionNetwork.points(x), rs.PositionNetwork.points(y)
    assert rs.ConvShapeMetric(2.0, shifts=True).distance(*points) == found


def test_without_shifts_pixels_are_positions():
    x, y = maps(8), maps(9)
    series = [one.reshape(3, 8, 12, 2) for one in (x, y)]
    for mode in MODES:
        assert rs.ConvShapeMetric(mode=mode).distance(x, y) == (
            rs.ProcessShapeMetric(mode=mode).distance(*series)
        )


def test_pairwise_with_shifts_obeys_the_triangle_inequality():
    networks = [maps(k) for k in range(3)] + [roll(maps(0), (1, 1))]
    D = rs.pairwise(networks, rs.ConvShapeMetric(shifts=True, n_starts=2))
    assert D.values[0, 3] < 1e-6
    assert rs.triangle_violations(D).count == 0


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (np.zeros((2, 3, 4)), "must have positions"),
        ([np.zeros((3, 4, 2))], "must be maps"),
        (np.full((2, 3, 4, 2), np.nan), "must be finite"),
    ],
)
def test_bad_input_is_refused(x, said):
    with pytest.raises(InputError, match=said):
        rs.ConvShapeMetric().distance(x, x)


def test_parameters_are_checked():
    with pytest.raises(InputError, match="'mode' parameter of ConvShapeMetric must be one of"):
        rs.ConvShapeMetric(mode="causal").distance(maps(0), maps(0))
    with pytest.raises(InputError, match="needs shifts=False"):
        rs.analysis.geodesic(maps(0), maps(1), 0.5, rs.ConvShapeMetric(shifts=True))
