"""Metrics of time series and maps in a larger space (pad_to), and with extreme numbers."""

from __future__ import annotations

import numpy as np
import pytest

import repshape as rs
from process_support import moments
from repshape.errors import InputError

MODES = ("marginal", "joint", "causal")
PADDED = ("permutation", "rotation")


def sample(seed: int, shape: tuple[int, ...] = (2, 25, 3, 3)) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape).cumsum(axis=2) + 2 * rng.normal(size=(shape[0], 1, *shape[2:]))


def silent(x: np.ndarray, n: int) -> np.ndarray:
    """The responses of a network with neurons that never respond after its own."""
    return np.concatenate([x, np.zeros((*x.shape[:-1], n - x.shape[-1]))], axis=-1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("group", PADDED)
@pytest.mark.parametrize("sizes", [(3, 3), (3, 2), (2, 3)])
def test_padding_is_the_same_as_adding_silent_neurons(mode, group, sizes):
    x, y = (sample(k, (2, 25, 3, n)) for k, n in enumerate(sizes))
    plain = rs.ProcessShapeMetric(0.8, mode=mode, group=group)
    padded = plain.with_parameters(pad_to=5)
    found = padded.align(x, y)
    by_hand = plain.distance(_moments(x, 5), _moments(y, 5))
    assert found.distance == pytest.approx(by_hand, rel=1e-7)
    assert found.lower_bound <= found.distance
    assert found.distance <= plain.distance(x, y) + 1e-9
    assert padded.distance(y, x) == found.distance
    assert padded.score(found, x, y) == pytest.approx(found.distance, rel=1e-9)


def _moments(x: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    whole = silent(x, n)
    flat = whole.reshape(*whole.shape[:2], -1)
    return whole.mean(axis=1), np.stack([np.cov(one.T, bias=True) for one in flat])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("group", PADDED)
def test_one_step_in_a_larger_space_is_the_gaussian_metric(mode, group):
    rng = np.random.default_rng(1)
    x, y = moments(rng, 4, 1, 3), moments(rng, 4, 1, 2)
    found = rs.ProcessShapeMetric(0.7, mode=mode, group=group, pad_to=4).distance(x, y)
    expected = rs.GaussianShapeMetric(0.7, group=group, pad_to=4).distance(
        (x[0][:, 0], x[1]), (y[0][:, 0], y[1])
    )
    assert found == pytest.approx(expected, rel=1e-8)


def test_the_triangle_inequality_needs_one_space():
    """Neurons with means (1, 5), (5, -1) and (1, 5, 0): by hand, 2 > 1 + 0 in units of root 2."""
    x, y, z = (rs.PositionNetwork.points([[mean]]) for mean in ([1, 5], [5, -1], [1, 5, 0]))
    alone = rs.ProcessShapeMetric(group="permutation")
    assert not alone.is_metric
    assert alone.distance(x, z) == 0
    assert alone.distance(x, y) == pytest.approx(2)
    assert alone.distance(z, y) == pytest.approx(np.sqrt(2))
    D = rs.pairwise([x, y, z], alone)
    assert D.description["parameters"]["pad_to"] == 3
    assert D.values[0, 1] == pytest.approx(np.sqrt(2))
    assert rs.triangle_violations(D).count == 0


@pytest.mark.parametrize("cls", [rs.ProcessShapeMetric, rs.ConvShapeMetric])
def test_is_metric_if_all_networks_share_one_space(cls):
    assert cls().is_metric
    assert not cls(group="rotation").is_metric
    assert cls(group="rotation", pad_to=4).is_metric
    assert cls(group="permutation").for_sizes([2, 5, 3]).pad_to == 5
    network = np.zeros((2, 3, 2, 2, 5))
    with pytest.raises(InputError, match="Got 4 for a network of 5 neurons"):
        cls(group="rotation", pad_to=4).distance(network, network)


@pytest.mark.parametrize("mode", ["marginal", "joint"])
def test_shifts_in_a_larger_space_are_those_of_brute_force(mode):
    x, y = (sample(k, (2, 6, 2, 3, n)) for k, n in ((3, 3), (4, 2)))
    plain = rs.ConvShapeMetric(0.7, mode=mode, group="permutation", pad_to=4)
    every = [plain.distance(x, np.roll(y, (i, j), axis=(2, 3))) for i in range(2) for j in range(3)]
    found = plain.with_parameters(shifts=True).align(x, y)
    assert found.distance == pytest.approx(min(every), rel=1e-9)
    assert found.lower_bound <= min(every)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("group", ["orthogonal", "permutation"])
@pytest.mark.parametrize("size", [1e-290, 1e-160, 1e160, 1e290])
def test_distances_scale_with_responses_of_any_size(mode, group, size):
    """d(c x, c y) = c d(x, y), where squares overflow or vanish."""
    x, y = sample(5), sample(6)
    metric = rs.ProcessShapeMetric(mode=mode, group=group)
    plain, found = metric.align(x, y), metric.align(size * x, size * y)
    assert found.distance / size == pytest.approx(plain.distance, rel=1e-9)
    assert found.lower_bound / size == pytest.approx(plain.lower_bound, rel=1e-9)
    assert found.mean_distance / size == pytest.approx(plain.mean_distance, rel=1e-6)
    assert metric.score(found, size * x, size * y) / size == pytest.approx(plain.distance, rel=1e-9)


def test_networks_of_very_different_sizes_are_as_far_apart_as_the_larger_one_is_large():
    x, y = sample(7), sample(8)
    metric = rs.ProcessShapeMetric()
    alone = metric.distance(x, 0 * y)
    assert metric.distance(x, 1e-200 * y) == pytest.approx(alone, rel=1e-12)
    assert metric.distance(1e200 * x, y) / 1e200 == pytest.approx(alone, rel=1e-12)
    assert rs.ProcessShapeMetric(2.0).distance(1e-200 * x, 1e-200 * y) / 1e-200 == pytest.approx(
        rs.ProcessShapeMetric(2.0).distance(x, y), rel=1e-9
    )


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0])
def test_shifts_of_maps_of_any_size_are_found(size, alpha):
    x, y = (sample(k, (2, 6, 3, 4, 2)) for k in (9, 10))
    metric = rs.ConvShapeMetric(alpha, shifts=True)
    plain, found = metric.align(x, y), metric.align(size * x, size * y)
    assert found.shift == plain.shift
    assert found.distance / size == pytest.approx(plain.distance, rel=1e-9)
    assert found.lower_bound / size == pytest.approx(plain.lower_bound, rel=1e-9)
