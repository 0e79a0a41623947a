"""`rs.pytorch.distance`: its value, and its gradient against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import repshape as rs
from repshape.pytorch import TensorGaussians, distance

GROUPS = ["orthogonal", "rotation", "permutation", "identity"]


def tensor(*shape: int, seed: int, grad: bool = True) -> Tensor:
    array = np.random.default_rng(seed).normal(size=shape)
    return torch.tensor(array, dtype=torch.float64, requires_grad=grad)


def metric_of(alpha: float, group: str) -> rs.GaussianShapeMetric:
    return rs.GaussianShapeMetric(alpha, group=group, weights=[1.0, 2.0, 3.0])


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", [0.0, 0.7, 2.0])
def test_gradients_in_factors(alpha: float, group: str) -> None:
    """Networks of 3 and 2 neurons, factors of widths 3 and 2."""

    def function(mu: Tensor, A: Tensor, nu: Tensor, C: Tensor) -> Tensor:
        x, y = TensorGaussians.from_factors(mu, A), TensorGaussians.from_factors(nu, C)
        return distance(x, y, metric_of(alpha, group))

    shapes = [(3, 3), (3, 3, 3), (3, 2), (3, 2, 2)]
    values = [tensor(*shape, seed=k) for k, shape in enumerate(shapes)]
    assert torch.autograd.gradcheck(function, values)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", [0.0, 1.3])
def test_gradients_in_covariances(alpha: float, group: str) -> None:
    """Covariances must be symmetric, so they are perturbed through a square root."""

    def function(mu: Tensor, A: Tensor, nu: Tensor, v: Tensor) -> Tensor:
        x = (mu, A @ A.transpose(1, 2))
        return distance(x, (nu, v.exp()), metric_of(alpha, group), squared=True)

    shapes = [(3, 2), (3, 2, 2), (3, 2), (3, 2)]
    values = [tensor(*shape, seed=k) for k, shape in enumerate(shapes)]
    assert torch.autograd.gradcheck(function, values)


@pytest.mark.parametrize("covariance", ["mle", "unbiased"])
def test_gradients_in_trials(covariance: str) -> None:
    metric = rs.GaussianShapeMetric(covariance=covariance)

    def function(x: Tensor, y: Tensor) -> Tensor:
        return distance(x, y, metric)

    assert torch.autograd.gradcheck(function, (tensor(2, 4, 2, seed=0), tensor(2, 2, 3, seed=1)))


def test_the_value_is_that_of_the_metric() -> None:
    x, y = tensor(5, 8, 4, seed=0), tensor(5, 8, 3, seed=1)
    for metric in (
        rs.GaussianShapeMetric(tol=1e-9),
        rs.GaussianShapeMetric(0.3, group="permutation"),
    ):
        expected = metric.distance(x.detach().numpy(), y.detach().numpy())
        assert distance(x, y, metric).item() == pytest.approx(expected, rel=1e-12)
        assert distance(x, y, metric, squared=True).item() == pytest.approx(expected**2)


def test_means_alone_match_a_deterministic_derivative() -> None:
    """At alpha = 2 and the identity, the squared distance is 2 |x - y|^2 / M; its slope 4 / M."""
    x, y = tensor(3, 2, seed=0), tensor(3, 2, seed=1)
    value = distance(x, y, rs.GaussianShapeMetric(2.0, group="identity"), squared=True)
    value.backward()
    gap = (x - y).detach()
    assert value.item() == pytest.approx(2 * float((gap**2).sum()) / 3)
    assert x.grad is not None
    assert y.grad is not None
    torch.testing.assert_close(x.grad, 4 * gap / 3)
    torch.testing.assert_close(y.grad, -4 * gap / 3)


def test_second_derivatives_are_refused() -> None:
    x = tensor(3, 2, seed=0)
    value = distance(x, tensor(3, 2, seed=1, grad=False))
    with pytest.raises(rs.errors.InputError, match="Second derivatives of the distance"):
        torch.autograd.grad(value, x, create_graph=True)


class TestWhereThereIsNoGradient:
    def test_distance_zero(self) -> None:
        x = tensor(3, 6, 2, seed=0)
        for squared in (False, True):
            x.grad = None
            value = distance(x, x.detach(), squared=squared)
            value.backward()
            assert value.item() < 1e-7
            assert x.grad is not None
            assert torch.isfinite(x.grad).all()
        assert x.grad.abs().max() < 1e-7  # of the square

    def test_exactly_zero(self) -> None:
        x = tensor(3, 2, seed=0)
        distance(x, x.detach(), rs.GaussianShapeMetric(group="identity")).backward()
        assert x.grad is not None
        assert not x.grad.any()

    def test_singular_covariances_have_the_slope_inside_their_range(self) -> None:
        """S = s u u' and R = r v v': B^2 = s + r - 2 sqrt(s r) |u'v|, with slope 1 - |u'v| in s."""
        u, v = np.array([1.0, 0.0]), np.array([0.6, 0.8])
        s = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
        S = s * torch.tensor(np.outer(u, u))[None]
        R = torch.tensor(np.outer(v, v))[None]
        zero = torch.zeros(1, 2, dtype=torch.float64)
        metric = rs.GaussianShapeMetric(0.0, group="identity")
        value = distance((zero, S), (zero, R), metric, squared=True)
        value.backward()
        assert value.item() == pytest.approx(2 * (2 - 2 * 0.6))
        assert s.grad is not None
        assert s.grad.item() == pytest.approx(2 * (1 - 0.6))

    @pytest.mark.parametrize("kind", ["diagonal", "full", "factors"])
    def test_no_noise_at_all(self, kind: str) -> None:
        shape = (3, 2) if kind == "diagonal" else (3, 2, 2)
        stored = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
        means = tensor(3, 2, seed=0)
        make: Any = TensorGaussians.from_factors if kind == "factors" else TensorGaussians
        distance(make(means, stored), tensor(3, 6, 2, seed=1)).backward()
        for one in (means, stored):
            assert one.grad is not None
            assert torch.isfinite(one.grad).all()


class TestInputs:
    def test_a_constant_network(self) -> None:
        x = tensor(3, 6, 2, seed=0).detach().float().requires_grad_()
        target = rs.Trials(np.random.default_rng(1).normal(size=(3, 5, 2)))
        for value in (distance(x, target), distance(target, x)):
            assert value.dtype == torch.float32
            value.backward()
        assert x.grad is not None
        assert x.grad.dtype == torch.float32
        points = distance(x, np.zeros((3, 2)))
        assert points.requires_grad

    @pytest.mark.parametrize(
        ("x", "y", "words"),
        [
            (torch.zeros(3, 2), torch.zeros(3, 2, device="meta"), "on one device"),
            (torch.zeros(3, 2, device="meta"),) * 2 + ("must hold numbers",),
            (torch.zeros(3, 2), torch.zeros(4, 2), "the same conditions"),
            (torch.zeros(3), torch.zeros(4, 2), "The x must be a tensor of real numbers"),
            ((torch.zeros(3, 2), torch.ones(3, 3)), torch.zeros(3, 2), "must match the means"),
            ((torch.zeros(3, 2), np.ones((3, 2))), torch.zeros(3, 2), "must be a tensor"),
            ((torch.zeros(3, 2),) * 3, torch.zeros(3, 2), "a tuple of two tensors"),
            (
                (torch.zeros(3, 2), torch.ones(3, 2, device="meta")),
                torch.zeros(3, 2),
                "means and the covariances must be on one device",
            ),
            (torch.zeros(3, 2, dtype=torch.int64), torch.zeros(3, 2), "of real numbers"),
            ([np.zeros((2, 2)), np.zeros((3, 2))], torch.zeros(2, 2), "as many trials"),
        ],
    )
    def test_bad_networks(self, x: Any, y: Any, words: str) -> None:
        with pytest.raises(rs.errors.RepshapeError, match=words):
            distance(x, y)

    def test_a_single_trial_has_no_unbiased_covariance(self) -> None:
        with pytest.raises(rs.errors.InputError, match="at least 2 trials"):
            TensorGaussians.from_trials(torch.zeros(3, 1, 2), "unbiased")

    @pytest.mark.parametrize(
        ("metric", "words"),
        [
            (rs.EnergyShapeMetric(), "must be a GaussianShapeMetric"),
            (rs.GaussianShapeMetric(preprocess=rs.Preprocess()), "must have no preprocessing"),
            (rs.GaussianShapeMetric(covariance="oas"), "one of 'mle', 'unbiased'"),
        ],
    )
    def test_bad_metrics(self, metric: Any, words: str) -> None:
        with pytest.raises(rs.errors.RepshapeError, match=words):
            distance(torch.zeros(3, 4, 2), torch.zeros(3, 4, 2), metric)


def test_training_matches_the_noise_of_another_network() -> None:
    """Started with isotropic noise, the distance falls below a tenth of where it was."""
    target = rs.Gaussians.from_factors(
        np.random.default_rng(0).normal(size=(6, 3)),
        np.random.default_rng(1).normal(size=(6, 3, 3)),
    )
    means = torch.tensor(target.means)
    factors = 0.3 * torch.eye(3, dtype=torch.float64).repeat(6, 1, 1)
    factors.requires_grad_()
    optimiser = torch.optim.Adam([factors], lr=0.05)
    history = []
    for _ in range(120):
        optimiser.zero_grad()
        loss = distance(TensorGaussians.from_factors(means, factors), target, squared=True)
        loss.backward()
        optimiser.step()
        history.append(loss.item() ** 0.5)
    assert history[-1] < history[0] / 10
