"""`rs.pytorch.pairwise` gives the numbers of the compiled solver, and of the plain formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import repshape as rs
from repshape.groups import GROUPS as GROUP_ORACLES
from repshape.groups import oracle
from repshape.pytorch.assignment import nearest_permutations
from repshape.pytorch.pairs import NetworkStack
from repshape.pytorch.search import POLICY, BatchSearch, PairBatch
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


def searched(networks: Any, metric: rs.GaussianShapeMetric) -> BatchSearch:
    """The search of all pairs of some networks."""
    cohort = rs.Cohort.from_networks(networks)
    stack = NetworkStack.prepared(cohort, metric, torch.device("cpu"))
    return stack.search(*torch.triu_indices(len(cohort), len(cohort), 1))


def test_climbing_never_lowers_the_objective() -> None:
    rng = np.random.default_rng(0)
    search = searched([rng.normal(size=(5, 9, 4)) for _ in range(4)], rs.GaussianShapeMetric(0.0))
    every = torch.arange(6)
    T = torch.eye(4, dtype=torch.float64).repeat(6, 1, 1)
    values = []
    for _ in range(5):
        T, before, after, _ = search._steps(T, every)
        values += [before, after]
    steps = torch.stack(values).diff(dim=0)
    assert (steps >= -1e-12).all()
    assert steps.sum() > 0.1


@pytest.mark.parametrize("group", GROUPS)
def test_nothing_leaves_the_device(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the tensors of the networks to those of the results, none is copied to the host."""
    rng = np.random.default_rng(0)
    metric = rs.GaussianShapeMetric(0.5, group=group, max_iter=50)
    search = searched([rng.normal(size=(5, 9, 4)) for _ in range(3)], metric)

    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("a tensor was copied to the host")

    for name in ("cpu", "numpy", "tolist", "item", "__array__", "__float__"):
        monkeypatch.setattr(torch.Tensor, name, refused)
    found = search.solve()
    monkeypatch.undo()
    assert (found.distance > 0).all()


@pytest.mark.parametrize("group", GROUPS)
def test_steps_stay_on_the_device(group: str) -> None:
    """On the device "meta", anything that reads numbers, or mixes in the host's, raises."""
    with torch.device("meta"):
        shapes = (2, 5, 3), (2, 5, 3, 4), (2, 5, 3), (2, 5, 3, 4), (5,)
        *networks, weights = (torch.empty(one, dtype=torch.float64) for one in shapes)
        turns, every = torch.ones(2, dtype=torch.bool), torch.zeros(2, dtype=torch.long)
        batch = PairBatch(tuple(networks), weights, 0.5, group, turns)
        T = torch.empty((2, 3, 3), dtype=torch.float64)
    # Outside of the default device, so that none is assumed.
    search = BatchSearch(batch, T, T, tol=1e-6, max_iter=10)
    taken = search._steps(T, every)
    assert all(one.is_meta for one in (*taken, batch.distances(T), batch.lower_bounds()))


def test_permutations_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 12):
        G = rng.normal(size=(20, n, n))
        G[::3] = G[::3].round()  # with ties
        found = nearest_permutations(torch.tensor(G)).numpy()
        np.testing.assert_array_equal(np.sort(found, axis=1)[:, -1], 1)
        np.testing.assert_array_equal(found.sum(axis=(1, 2)), n)
        gain = [np.sum(GROUP_ORACLES["permutation"](one) * one) for one in G]
        np.testing.assert_allclose((found * G).sum((1, 2)), gain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("group", ["rotation", "permutation"])
def test_one_space_for_networks_of_unequal_sizes(group: str) -> None:
    """Silent neurons of the space count, and without them the triangle inequality would fail."""
    x, y, z = np.array([[1.0, 5.0]]), np.array([[5.0, -1.0]]), np.array([[1.0, 5.0, 0.0]])
    for pad_to in (None, 4):
        metric = rs.GaussianShapeMetric(1.0, group=group, pad_to=pad_to)
        assert_same([x, y, z], metric)
        D = rs.pytorch.pairwise([x, y, z], metric)
        assert D.description["parameters"]["pad_to"] == (pad_to or 3)


def hard_networks() -> list[rs.Gaussians]:
    rng = np.random.default_rng(1)
    return [
        rs.Gaussians.from_factors(rng.normal(size=(3, 9)), rng.normal(size=(3, 9, 9)))
        for _ in range(2)
    ]


def test_doubt_is_never_silent() -> None:
    """A pair whose starts end in many optima is reported as one that may be too long."""
    metric = rs.GaussianShapeMetric(0.0, n_starts=12)
    with pytest.warns(rs.errors.SearchWarning, match="may be longer than necessary"):
        D = rs.pytorch.pairwise(hard_networks(), metric)
    assert D.n_doubtful == 1
    assert D.n_starts[0, 1] == 12
    assert D.n_agreeing[0, 1] <= 2
    assert D.possible_excess[0, 1] == pytest.approx(5 * D.gaps[0, 1])
    assert D.gaps[0, 1] > 0
    assert 0 < D.lower_bounds[0, 1] < D.values[0, 1]


def test_more_starts_where_few_agree() -> None:
    easy = rs.pytorch.pairwise(family("orthogonal", count=2))
    hard = rs.pytorch.pairwise(hard_networks(), rs.GaussianShapeMetric(0.0))
    assert easy.n_starts[0, 1] == POLICY.fewest
    assert easy.n_agreeing[0, 1] >= POLICY.hits
    assert hard.n_starts[0, 1] == POLICY.most
    assert hard.n_agreeing[0, 1] < POLICY.hits


def test_a_given_number_of_starts_is_made() -> None:
    metric = rs.GaussianShapeMetric(0.5, n_starts=100)
    found = rs.pytorch.pairwise(family("orthogonal", count=2, n=3), metric)
    assert found.n_starts[0, 1] == 100
    assert found.n_agreeing[0, 1] > 2


def test_counts_are_those_of_the_ends() -> None:
    """Ends within the margin agree, and the next-best optimum sets the gap."""
    search = searched(hard_networks(), rs.GaussianShapeMetric(0.0))
    search._ends = torch.tensor([[4.0, 1.0, 1.0001, 9.0, torch.inf]], dtype=torch.float64)
    assert search._in_best().tolist() == [[False, True, True, False, False]]
    assert search._gap().tolist() == [1.0]


def test_few_trials_are_told() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 4, 5, 3))
    with pytest.warns(rs.errors.FewTrialsWarning, match="5 trials for 3 dimensions"):
        rs.pytorch.pairwise({"x": x, "y": y})


def test_batches_do_not_change_the_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    networks = family("orthogonal", count=5)
    whole = rs.pytorch.pairwise(networks)
    monkeypatch.setattr("repshape.pytorch.pairs.BATCH_ENTRIES", 1)
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
