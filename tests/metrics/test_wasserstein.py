"""WassersteinShapeMetric, compared with POT and with the metrics that it starts from."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import repshape as rs
from repshape.errors import InputError, InputTypeError, MissingDependencyError
from repshape.groups import GROUPS
from repshape.solvers.plans import entropic_plan, exact_plan, squared_gaps

ot = pytest.importorskip("ot")


def network(seed, M=5, L=8, n=3):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(M, n, n)) / np.sqrt(n)
    return rng.normal(size=(M, 1, n)) + rng.normal(size=(M, L, n)) @ mixing


def rotation(n, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]


def by_pot(x, y, p, weights=None):
    """Root of the weighted mean of W_p^2 over conditions, by POT."""
    total = []
    for a, b in zip(x, y, strict=True):
        costs = ot.dist(a, b, metric="euclidean") ** p
        total.append(ot.emd2(ot.unif(len(a)), ot.unif(len(b)), costs) ** (2 / p))
    return np.sqrt(np.average(total, weights=weights))


@pytest.mark.parametrize("L", [8, 5])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_without_a_group_it_is_optimal_transport(p, L):
    x, y = network(1), network(2, L=L)
    metric = rs.WassersteinShapeMetric(p, group="identity", weights=[1, 2, 3, 4, 0])
    assert metric.distance(x, y) == pytest.approx(by_pot(x, y, p, [1, 2, 3, 4, 0]), rel=1e-10)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_distance_is_optimal_transport_at_its_transform(p, group):
    x, y = network(1), [one[: 3 + m] for m, one in enumerate(network(2))]
    metric = rs.WassersteinShapeMetric(p, group=group)
    alignment = metric.align(x, y)
    moved = [one @ alignment.transform for one in y]
    assert alignment.distance == pytest.approx(by_pot(x, moved, p), rel=1e-9)
    assert metric.score(alignment, x, y) == pytest.approx(alignment.distance, rel=1e-9)
    assert alignment.lower_bound <= alignment.distance
    assert alignment.converged


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("flip", [False, True])
def test_unequal_neurons_are_padded_with_silent_ones(group, flip):
    x, y = network(1, n=5), network(2, n=3)
    padded = np.concatenate([y, np.zeros((*y.shape[:2], 2))], axis=2)
    metric = rs.WassersteinShapeMetric(group=group)
    pair = (y, x) if flip else (x, y)
    alignment = metric.align(*pair)
    moved = padded[..., :3] @ (alignment.transform.T if flip else alignment.transform)
    assert alignment.transform.shape == ((5, 3) if flip else (3, 5))
    assert alignment.distance == pytest.approx(by_pot(x, moved, 2.0), rel=1e-9)
    assert metric.score(alignment, *pair) == pytest.approx(alignment.distance, rel=1e-9)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation"])
def test_never_above_the_alignments_of_the_other_families(p, group):
    for seed in range(3):
        x, y = network(seed), network(seed + 20, L=6)
        metric = rs.WassersteinShapeMetric(p, group=group)
        found = metric.distance(x, y)
        for other in (rs.GaussianShapeMetric(group=group), rs.EnergyShapeMetric(group=group)):
            assert found <= metric.score(other.align(x, y), x, y) * (1 + 1e-12)


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_more_starts_are_never_worse():
    x, y = network(1, n=4), network(2, n=4)
    found = [rs.WassersteinShapeMetric(n_starts=k).distance(x, y) for k in (1, 3, 8)]
    assert found[1] <= found[0] * (1 + 1e-12)
    assert found[2] <= found[1] * (1 + 1e-12)
    assert rs.WassersteinShapeMetric().align(x, y).distance <= found[1] * (1 + 1e-12)


@pytest.mark.parametrize("kind", [rs.EnergyShapeMetric, rs.WassersteinShapeMetric])
def test_the_same_seed_gives_the_same_bits(kind):
    x, y = network(1), network(2)
    first, second = (kind(random_state=3).align(x, y) for _ in range(2))
    assert first.distance == second.distance
    np.testing.assert_array_equal(first.transform, second.transform)


def test_rotations_turn_nothing_over():
    for seed in range(4):
        alignment = rs.WassersteinShapeMetric(group="rotation", n_starts=3).align(
            network(seed), network(seed + 30)
        )
        assert np.linalg.det(alignment.transform) == pytest.approx(1.0)


def test_points_are_single_trials():
    x, y = np.random.default_rng(0).normal(size=(2, 6, 3))
    alignment = rs.WassersteinShapeMetric().align(x, y)
    means = rs.GaussianShapeMetric(2.0).align(x, y)
    assert alignment.distance == pytest.approx(means.mean_distance, rel=1e-9)
    assert alignment.lower_bound == pytest.approx(alignment.distance, rel=1e-9)


def test_silent_dimensions_are_dropped_exactly():
    x, y = network(1), network(2)
    lifts = [rotation(40, seed)[:3] for seed in (1, 2)]
    metric = rs.WassersteinShapeMetric()
    lifted = metric.align(x @ lifts[0], y @ lifts[1])
    assert lifted.distance == pytest.approx(metric.distance(x, y), rel=1e-9)
    assert metric.score(lifted, x @ lifts[0], y @ lifts[1]) == pytest.approx(lifted.distance)


def test_pairwise_and_preprocess():
    networks = [network(seed) for seed in range(3)]
    metric = rs.WassersteinShapeMetric(preprocess=rs.Preprocess(scale=True), n_starts=1)
    D = rs.pairwise(networks, metric)
    assert D.values[0, 1] == metric.distance(networks[0], networks[1])
    alignment = metric.align(networks[0], networks[1])
    assert metric.score(alignment, networks[0], networks[1]) == pytest.approx(D.values[0, 1])


def test_entropic_cost_is_that_of_pot():
    x, y = network(1)[0], network(2, L=6)[0]
    costs = squared_gaps(x, y)
    plan = entropic_plan(costs, 0.5)
    expected = ot.sinkhorn(ot.unif(8), ot.unif(6), costs, 0.5, stopThr=1e-12)
    dense = np.zeros((8, 6))
    dense[plan.rows, plan.columns] = plan.mass
    np.testing.assert_allclose(dense, expected, atol=1e-6)
    penalty = 0.5 * (expected * np.log(expected * 48)).sum()
    assert plan.cost == pytest.approx((expected * costs).sum() + penalty, abs=1e-5)
    small = entropic_plan(costs, 0.05)
    assert exact_plan(costs).cost < small.cost < plan.cost
    with pytest.raises(InputError, match=r"did not converge.*larger regularization"):
        entropic_plan(costs, 1e-5)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_regularization(p):
    x, y = network(1), network(2, L=6)
    exact = rs.WassersteinShapeMetric(p, n_starts=1).distance(x, y)
    metric = rs.WassersteinShapeMetric(p, n_starts=1, regularization=0.1)
    alignment = metric.align(x, y)
    assert 0.5 * exact < alignment.distance < exact
    assert alignment.lower_bound <= alignment.distance
    assert metric.score(alignment, x, y) == pytest.approx(alignment.distance, rel=1e-4)
    assert metric.distance(x, x @ rotation(3)) < 1e-3  # self-transports are subtracted


@pytest.mark.parametrize("needs", [{"L": 5}, {"regularization": 0.1}])
def test_without_pot_a_sentence_says_what_to_install(monkeypatch, needs):
    monkeypatch.setitem(sys.modules, "ot", None)
    x, y = network(1), network(2, L=needs.pop("L", 8))
    with pytest.raises(MissingDependencyError, match=r"pip install 'repshape\[ot\]'"):
        rs.WassersteinShapeMetric(n_starts=1, **needs).distance(x, y)


def test_equal_numbers_of_trials_need_no_pot(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    assert rs.WassersteinShapeMetric(n_starts=1).distance(network(1), network(2)) > 0


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"p": 0.9}, r"'p' parameter of WassersteinShapeMetric must be a float in \[1, inf\)"),
        ({"p": float("inf")}, "'p' parameter"),
        ({"regularization": 0.0}, "'regularization' parameter"),
        ({"group": "linear"}, "'group' parameter"),
        ({"n_starts": 0}, "'n_starts' parameter"),
    ],
)
def test_bad_parameters(parameters, words):
    with pytest.raises(InputError, match=words):
        rs.WassersteinShapeMetric(**parameters).distance(network(1), network(2))


def test_bad_input():
    with pytest.raises(InputTypeError, match="'p' parameter"):
        rs.WassersteinShapeMetric("two").distance(network(1), network(2))
    gaussians = rs.Gaussians(np.zeros((5, 3)), np.ones((5, 3)))
    with pytest.raises(InputError, match="Gaussians have none"):
        rs.WassersteinShapeMetric().distance(gaussians, network(2))
    with pytest.raises(InputError, match="same conditions"):
        rs.WassersteinShapeMetric().distance(network(1, M=3), network(2, M=4))


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, 6.0])
@pytest.mark.parametrize("group", ["orthogonal", "permutation"])
@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_a_condition_that_is_silent_in_both_networks_adds_nothing(p, group):
    """d^2 is then the mean over the other conditions, times their share."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 4, 6, 3))
    metric = rs.WassersteinShapeMetric(p, group=group)
    whole = metric.distance(x, y)
    silent = np.zeros((1, 6, 3))
    more = metric.distance(np.concatenate([x, silent]), np.concatenate([y, silent]))
    # Two searches for one minimum among many local ones.
    assert more == pytest.approx(np.sqrt(4 / 5) * whole, rel=0.03)
    assert metric.distance(0 * x, 0 * y) == 0.0
    assert metric.distance(x, 0 * y) > 0.0


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_the_default_is_as_good_as_many_restarts(p):
    """At most 0.1 % above the best of 40 restarts from other random points."""
    rng = np.random.default_rng(int(p))
    for _ in range(3):
        x, y = network(rng.integers(2**30), M=6, L=10), network(rng.integers(2**30), M=6, L=10)
        found = rs.WassersteinShapeMetric(p).align(x, y)
        many = rs.WassersteinShapeMetric(p, n_starts=40, random_state=9).distance(x, y)
        assert found.distance <= 1.001 * many
        assert 1 <= found.n_agreeing <= found.n_starts <= 64
