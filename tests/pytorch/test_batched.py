"""`rs.pytorch.pairwise` gives the numbers of the compiled solver, and of the plain formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import repshape as rs
from repshape.groups import oracle
from repshape.pytorch.batched import NetworkStack, PairBatch
from repshape.reference import gaussian as reference

GROUPS = ["orthogonal", "rotation", "permutation", "identity"]


def family(group: str, count: int = 4, n: int = 4, seed: int = 0) -> list[rs.Trials]:
    """Networks that are close to each other up to the group, so that the optimum is clear."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(6, n, n)) * np.linspace(0.3, 2, n)
    base = rng.normal(size=(6, 1, n)) * 2 + rng.normal(size=(6, 25, n)) @ noise
    found = []
    for _ in range(count):
        Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
        if group == "rotation" and np.linalg.det(Q) < 0:
            Q[:, 0] *= -1
        if group == "permutation":
            Q = np.eye(n)[rng.permutation(n)]
        if group == "identity":
            Q = np.eye(n)
        found.append(rs.Trials((base + 0.2 * rng.normal(size=base.shape)) @ Q))
    return found


def assert_same(networks: Any, metric: rs.GaussianShapeMetric) -> None:
    ours = rs.pytorch.pairwise(networks, metric)
    native = rs.pairwise(networks, metric, workers=1, progress=False)
    assert ours.n_unconverged == 0
    np.testing.assert_allclose(ours.values, native.values, rtol=0, atol=1e-7)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0])
def test_distances_equal_the_compiled_ones(alpha: float, group: str) -> None:
    metric = rs.GaussianShapeMetric(alpha, group=group, weights=[1, 2, 3, 1, 2, 3])
    assert_same(family(group), metric)


def test_unequal_neurons_and_kinds_of_covariance() -> None:
    rng = np.random.default_rng(0)
    x, y, *_ = family("orthogonal", n=5)
    networks = {
        "full": rs.estimate_moments(x, "ridge"),
        "factors": rs.estimate_moments(y),
        "diagonal": rs.Gaussians(x.means, rng.uniform(0.5, 2, size=(6, 5))),
        "fewer": rs.Trials(x.stacked[:, :, :3]),
        "thin": rs.Trials(y.stacked[:, :2]),
        "points": rs.Gaussians.points(x.means),
    }
    assert_same(networks, rs.GaussianShapeMetric(1.5))


def test_preprocessing_labels_and_metadata() -> None:
    cohort = rs.Cohort()
    for k, one in enumerate(family("orthogonal")):
        cohort.add(f"net {k}", one, depth=k)
    metric = rs.GaussianShapeMetric(preprocess=rs.Preprocess(center=True))
    assert_same(cohort, metric)
    D = rs.pytorch.pairwise(cohort, metric)
    assert D.labels == cohort.labels
    assert D.metadata["depth"].tolist() == [0, 1, 2, 3]
    assert D.description["solver"] == "PyTorch on cpu"


def test_a_reflection_is_not_a_rotation() -> None:
    """The mirror image of a network of full rank is far under rotations; padded, it is not."""
    x = family("identity", count=1, n=3)[0]
    mirrored = rs.Trials(x.stacked * [1, 1, -1])
    metric = rs.GaussianShapeMetric(group="rotation")
    expected = metric.distance(x, mirrored)
    assert expected > 0.1
    near = rs.pytorch.pairwise([x, mirrored], metric)
    assert near.values[0, 1] == pytest.approx(expected, abs=1e-7)
    larger = rs.Trials(np.pad(x.stacked, ((0, 0), (0, 0), (0, 1))))
    padded = rs.pytorch.pairwise([x, mirrored, larger], metric)
    np.testing.assert_allclose(padded.values, 0, atol=1e-6)


@pytest.mark.parametrize("group", GROUPS)
def test_objective_and_gradient_are_those_of_the_reference(group: str) -> None:
    metric = rs.GaussianShapeMetric(0.7, group=group)
    x, y = family("identity", count=2, n=3)
    cohort = rs.Cohort.from_networks([x, y])
    stack = NetworkStack.prepared(cohort, metric, torch.device("cpu"))
    batch = PairBatch(stack, torch.tensor([0]), torch.tensor([1]))
    T = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    value, gradient = batch._objective(torch.tensor(T)[None], torch.tensor([0]))
    mu, nu, A, C = (one.numpy() for one in (*stack.means, *stack.factors))
    expected = reference.objective(mu, A, nu, C, T, 0.7, stack.weights.numpy())
    assert value.item() == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient[0].numpy(), expected[1], atol=1e-12)


def test_climbing_never_lowers_the_objective() -> None:
    metric = rs.GaussianShapeMetric(0.0)
    rng = np.random.default_rng(0)
    cohort = rs.Cohort.from_networks([rng.normal(size=(5, 9, 4)) for _ in range(4)])
    stack = NetworkStack.prepared(cohort, metric, torch.device("cpu"))
    i, j = np.triu_indices(4, 1)
    batch = PairBatch(stack, torch.from_numpy(i), torch.from_numpy(j))
    every = torch.arange(6)
    T = torch.eye(4, dtype=torch.float64).repeat(6, 1, 1)
    values = [batch._objective(T, every)[0]]
    for _ in range(15):
        T, value, _ = batch._climb(T, every, 2)
        values.append(value)
    steps = torch.stack(values).diff(dim=0)
    assert (steps >= -1e-12).all()
    assert steps.sum() > 0.1


def test_batches_do_not_change_the_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    networks = family("orthogonal", count=5)
    whole = rs.pytorch.pairwise(networks)
    monkeypatch.setattr("repshape.pytorch.batched.BATCH_ENTRIES", 1)
    np.testing.assert_allclose(rs.pytorch.pairwise(networks).values, whole.values, atol=1e-12)


def test_one_start_is_that_of_the_means() -> None:
    """At alpha = 2 it is the optimum: orthogonal Procrustes of the means."""
    x, y = family("orthogonal", count=2)
    for group in ("orthogonal", "permutation"):
        metric = rs.GaussianShapeMetric(2.0, group=group, n_starts=1)
        found = rs.pytorch.pairwise([x, y], metric).values[0, 1]
        G = x.means.T @ y.means / 6
        T = oracle(group)(G)
        gap = reference.mean_gap(x.means, y.means, T, np.full(6, 1 / 6))
        assert found == pytest.approx(np.sqrt(2 * gap), rel=1e-12)


def test_networks_without_any_response() -> None:
    D = rs.pytorch.pairwise([np.zeros((3, 2)), np.ones((3, 2))], rs.GaussianShapeMetric(1.0))
    assert D.values[0, 1] == pytest.approx(np.sqrt(2))


class TestBadInput:
    def test_a_device_that_is_not_there(self) -> None:
        with pytest.raises(rs.errors.InputError, match="Got 'meta'"):
            rs.pytorch.pairwise([np.zeros((3, 2))], device="meta")
        with pytest.raises(rs.errors.InputError, match="must have double precision and be avail"):
            rs.pytorch.pairwise([np.zeros((3, 2))], device="nonsense")

    def test_other_metrics_and_no_networks(self) -> None:
        with pytest.raises(rs.errors.InputTypeError, match="must be a GaussianShapeMetric"):
            rs.pytorch.pairwise([np.zeros((3, 2))], rs.EnergyShapeMetric())
        with pytest.raises(rs.errors.InputError, match="at least one network"):
            rs.pytorch.pairwise([])

    def test_other_conditions(self) -> None:
        with pytest.raises(rs.errors.InputError, match="the same conditions"):
            rs.pytorch.pairwise([np.zeros((3, 2)), np.zeros((4, 2))])
