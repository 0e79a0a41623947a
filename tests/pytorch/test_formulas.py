"""The formulas of `repshape.reference`: one body for NumPy and PyTorch, equal to native code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import repshape as rs
from repshape import _native
from repshape.coordinates.factors import factorise
from repshape.coordinates.positions import make_blocks, spectra
from repshape.reference import energy, gaussian, ground, process

TOLERANCE = 1e-12
SEEDS = range(3)
SIZES = [(1, 1), (4, 4), (5, 2), (9, 9)]


def as_tensor(array: Any) -> Any:
    return torch.tensor(np.asarray(array))


def as_meta(array: Any) -> Any:
    return torch.empty(np.shape(array), dtype=torch.float64, device="meta")


LIBRARIES: dict[str, Callable[[Any], Any]] = {"numpy": np.asarray, "torch": as_tensor}


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return LIBRARIES[request.param]


def assert_same(found: tuple[Any, Any], native: _native.Slope) -> None:
    """Value and gradient agree in units of their size."""
    value, gradient = (np.asarray(one) for one in found)
    assert float(value) == pytest.approx(native.value, rel=TOLERANCE)
    size = np.abs(native.gradient).max()
    np.testing.assert_allclose(gradient, native.gradient, rtol=0, atol=TOLERANCE * size)


def weights_of(rng: np.random.Generator, M: int) -> Any:
    w = rng.uniform(0.5, 1, size=M)
    return w / w.sum()


def transform(rng: np.random.Generator, sizes: tuple[int, int]) -> Any:
    return np.linalg.qr(rng.normal(size=sizes))[0]


def networks(rng: np.random.Generator, sizes: tuple[int, int], M: int = 6) -> list[Any]:
    """Means and factors of x, and those of y."""
    return [one for n in sizes for one in (rng.normal(size=(M, n)), rng.normal(size=(M, n, n)))]


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("seed", SEEDS)
def test_gaussian_formulas_are_the_native_ones(library, alpha, sizes, seed):
    rng = np.random.default_rng(seed)
    given, w, T = networks(rng, sizes), weights_of(rng, 6), transform(rng, sizes)
    nets = [factorise(rs.Gaussians.from_factors(*given[k : k + 2])) for k in (0, 2)]
    x, y = (
        _native.make_network(net.means, net.factors, net.spectrum, diagonal=net.diagonal)
        for net in nets
    )
    arrays, weights = [library(one) for one in (*given, T)], library(w)
    noise = _native.gradient(x, y, T, w)
    means = np.einsum("m,mi,mj->ij", w, given[0], given[2])
    value = alpha * np.sum(means * T) + (2 - alpha) * noise.value
    whole = _native.Slope(float(value), alpha * means + (2 - alpha) * noise.gradient)
    assert_same(gaussian.objective(*arrays, alpha, weights), whole)
    parts = _native.evaluate(x, y, np.ascontiguousarray(T.T), w)
    squared = alpha * parts.means + (2 - alpha) * parts.covariances
    found = gaussian.distance_squared(*arrays, alpha, weights)
    assert float(found) == pytest.approx(squared, rel=TOLERANCE)


@pytest.mark.parametrize("q", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("sizes", SIZES)
def test_energy_formulas_are_the_native_ones(library, q, sizes):
    rng = np.random.default_rng(0)
    x, y = ([rng.normal(size=(L, n)) for L in (3, 5, 8)] for n in sizes)
    w, T = weights_of(rng, 3), transform(rng, sizes)
    handles = [
        _native.make_samples(np.concatenate(net), np.array([3, 5, 8]), net[0].shape[1], q)
        for net in (x, y)
    ]
    first, second = ([library(one) for one in net] for net in (x, y))
    found = energy.objective(first, second, q, library(w))(library(T))
    assert_same(found, _native.energy_gradient(*handles, T, w, q))
    loss = energy.loss(first, second, library(T), q, library(w))
    assert float(loss) == pytest.approx(_native.energy_loss(*handles, T, w, q), rel=TOLERANCE)


@pytest.mark.parametrize("mode", ["marginal", "joint", "causal"])
@pytest.mark.parametrize("sizes", [(3, 3), (5, 2)])
def test_process_formulas_are_the_native_ones(library, mode, sizes):
    rng = np.random.default_rng(1)
    nets = [rs.PositionNetwork(rng.normal(size=(3, 40, 4, n))) for n in sizes]
    blocks = [make_blocks(one, mode) for one in nets]
    handles = [_native.make_positions(b.means, b.factors, spectra(b, mode)) for b in blocks]
    w, T = weights_of(rng, 3), transform(rng, sizes)
    each = np.repeat(w, blocks[0].per_condition)
    arrays = [library(one) for one in (*(b.factors for b in blocks), T, each)]
    assert_same(process.objective(*arrays), _native.gradient(*handles, T, w))
    noise = _native.evaluate(*handles, np.ascontiguousarray(T.T), w).covariances
    assert float(process.covariance_gap(*arrays)) == pytest.approx(noise, rel=TOLERANCE)


def test_gradients_are_those_of_autograd():
    rng = np.random.default_rng(2)
    given = [as_tensor(one) for one in networks(rng, (4, 3))]
    T, w = as_tensor(transform(rng, (4, 3))).requires_grad_(), as_tensor(weights_of(rng, 6))
    value, gradient = gaussian.objective(*given, T, 0.7, w)
    (automatic,) = torch.autograd.grad(value, T)
    np.testing.assert_allclose(gradient.detach(), automatic, atol=TOLERANCE * 10)


def test_the_trainable_distance_has_the_slope_of_the_formula():
    rng = np.random.default_rng(6)
    given = [as_tensor(one).requires_grad_() for one in networks(rng, (4, 3))]
    x, y = (rs.pytorch.TensorGaussians.from_factors(*given[k : k + 2]) for k in (0, 2))
    metric = rs.GaussianShapeMetric(0.7)
    loss = rs.pytorch.distance(x, y, metric, squared=True)
    T = as_tensor(metric.align(x.detached(), y.detached()).transform.T)
    squared = gaussian.distance_squared(*given, T, 0.7, torch.full((6,), 1 / 6, dtype=T.dtype))
    assert loss.item() == pytest.approx(squared.item(), rel=TOLERANCE)
    slopes, expected = (torch.autograd.grad(one, given) for one in (loss, squared))
    for slope, other in zip(slopes, expected, strict=True):
        np.testing.assert_allclose(slope, other, atol=1e-11)


def test_leading_dimensions_are_those_of_many_pairs_and_transforms():
    rng = np.random.default_rng(3)
    pairs = [networks(rng, (4, 3)) for _ in range(2)]
    transforms = [[transform(rng, (4, 3)) for _ in range(3)] for _ in pairs]
    w = weights_of(rng, 6)
    given = [np.array(one)[:, None] for one in zip(*pairs, strict=True)]
    T = np.array(transforms)
    values, gradients = gaussian.objective(*given, T, 0.7, w)
    squared = gaussian.distance_squared(*given, T, 0.7, w)
    bounds = gaussian.lower_bound_squared(*given, T, 0.7, w)
    assert squared.shape == bounds.shape == (2, 3)
    for p, s in np.ndindex(2, 3):
        one = *pairs[p], transforms[p][s], 0.7, w
        value, gradient = gaussian.objective(*one)
        assert values[p, s] == pytest.approx(value, rel=TOLERANCE)
        np.testing.assert_allclose(gradients[p, s], gradient, atol=TOLERANCE)
        assert squared[p, s] == pytest.approx(gaussian.distance_squared(*one), rel=TOLERANCE)
        assert bounds[p, s] == pytest.approx(gaussian.lower_bound_squared(*one), rel=TOLERANCE)


def test_formulas_stay_on_the_device():
    """On the device "meta", anything that reads numbers, or mixes in the host's, raises."""
    rng = np.random.default_rng(4)
    given, T = [as_meta(one) for one in networks(rng, (4, 3))], as_meta(np.zeros((4, 3)))
    w, S = as_meta(np.zeros(6)), as_meta(np.zeros((6, 4, 4)))
    trials = [[as_meta(np.zeros((5, n)))] * 6 for n in (4, 3)]
    blocks = [process.marginal_blocks(S, 2), process.joint_blocks(S, 2)]
    found = [
        *gaussian.objective(*given, T, 0.5, w),
        gaussian.distance_squared(*given, T, 0.5, w),
        gaussian.lower_bound_squared(*given, T, 0.5, w),
        gaussian.bures_squared(S, S),
        *energy.objective(*trials, 1.0, w)(T),
        energy.energy_squared(*trials, T, 1.0, w, "u"),
        *blocks,
        *process.objective(blocks[1], blocks[1], as_meta(np.zeros((2, 2))), w),
        *(one(S[0], S[0]) for one in ground.GROUND_METRICS.values()),
    ]
    assert all(one.is_meta for one in found)


@pytest.mark.parametrize("name", ground.GROUND_METRICS)
def test_ground_metrics_of_tensors_are_those_of_arrays(name):
    A, C = np.random.default_rng(5).normal(size=(2, 4, 9))
    S, R = A @ A.T, C @ C.T
    formula = ground.GROUND_METRICS[name]
    assert float(formula(as_tensor(S), as_tensor(R))) == pytest.approx(formula(S, R), rel=1e-11)
