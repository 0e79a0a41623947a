"""EnergyShapeMetric, compared with its definition and its reference implementation."""

from __future__ import annotations

import numpy as np
import pytest

import repshape as rs
from repshape import _native
from repshape.demo.findings import quadratic_r2
from repshape.errors import InputError, InputTypeError
from repshape.groups import GROUPS, nearest_orthogonal
from repshape.reference import energy as reference

POWERS = (0.5, 0.8, 1.0, 1.5, 2.0)
TOLERANCE = 1e-10  # native against reference, relative


def network(seed, M=7, L=9, n=4, scale=1.0):
    """Trials with a different mean and covariance in each condition, (M, L, n)."""
    rng = np.random.default_rng(seed)
    mixing = scale * rng.normal(size=(M, n, n)) / np.sqrt(n)
    return rng.normal(size=(M, 1, n)) + rng.normal(size=(M, L, n)) @ mixing


def ragged(seed, M=7, n=4):
    rng = np.random.default_rng([seed, 1])
    return [one[: rng.integers(2, 12)] for one in network(seed, M, 12, n)]


def rotation(n, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]


def definition(metric, x, y, T):
    """Squared distance by eq. 4, pair by pair, with T mapping rows of y onto x."""
    weights = np.full(len(x), 1 / len(x)) if metric.weights is None else np.array(metric.weights)
    total = 0.0
    for w, a, b in zip(weights / weights.sum(), x, y, strict=True):
        b = b @ T
        cross = np.mean([[np.linalg.norm(u - v) ** metric.q for v in b] for u in a])
        within = []
        for c in (a, b):
            pairs = [
                np.linalg.norm(c[i] - c[j]) ** metric.q
                for i in range(len(c))
                for j in range(len(c))
                if metric.estimator == "v" or i != j
            ]
            within.append(np.mean(pairs))
        total += w * (cross - 0.5 * sum(within))
    return total


def squared(distance):
    return np.sign(distance) * distance**2


def native(x, q):
    counts = np.array([len(one) for one in x])
    rows = np.concatenate(list(x))
    return _native.make_samples(rows, counts, rows.shape[1], q)


@pytest.mark.parametrize("estimator", ["u", "v"])
@pytest.mark.parametrize("q", POWERS)
@pytest.mark.parametrize("group", GROUPS)
def test_distance_is_the_definition_at_its_transform(q, estimator, group):
    x, y = network(1), network(2, L=6)
    metric = rs.EnergyShapeMetric(q, estimator=estimator, group=group)
    alignment = metric.align(x, y)
    expected = definition(metric, x, y, alignment.transform)
    assert squared(alignment.distance) == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert metric.score(alignment, x, y) == pytest.approx(alignment.distance, rel=1e-9)


@pytest.mark.parametrize("estimator", ["u", "v"])
def test_ragged_trials_and_weights(estimator):
    x, y = ragged(1), ragged(2)
    metric = rs.EnergyShapeMetric(estimator=estimator, weights=[1, 2, 3, 0, 1, 1, 2])
    alignment = metric.align(rs.Trials(x), rs.Trials(y))
    expected = definition(metric, x, y, alignment.transform)
    assert squared(alignment.distance) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("flip", [False, True])
def test_unequal_neurons_are_padded_with_silent_ones(group, flip):
    x, y = network(1, n=5), network(2, n=3)
    padded = np.concatenate([y, np.zeros((*y.shape[:2], 2))], axis=2)
    metric = rs.EnergyShapeMetric(group=group, estimator="v")
    pair = (y, x) if flip else (x, y)
    alignment = metric.align(*pair)
    # With a silent neuron there is a spare dimension, and rotations can do what reflections do.
    same = rs.EnergyShapeMetric(group=group, estimator="v").distance(x, padded)
    assert alignment.distance == pytest.approx(same, rel=1e-7)
    assert alignment.transform.shape == ((5, 3) if flip else (3, 5))
    assert metric.score(alignment, *pair) == pytest.approx(alignment.distance, rel=1e-9)


def test_silent_dimensions_are_dropped_exactly():
    x, y = network(1, n=3), network(2, n=3)
    lifts = [rotation(40, seed)[:3] for seed in (1, 2)]
    metric = rs.EnergyShapeMetric(estimator="v")
    lifted = metric.align(x @ lifts[0], y @ lifts[1])
    assert lifted.distance == pytest.approx(metric.distance(x, y), rel=1e-9)
    assert metric.prepare(x @ lifts[0]).native.neurons == 3
    assert metric.score(lifted, x @ lifts[0], y @ lifts[1]) == pytest.approx(lifted.distance)


@pytest.mark.parametrize("isa", _native.instruction_sets())
@pytest.mark.parametrize("q", [*POWERS, 0.1, 1.9])
@pytest.mark.parametrize("sizes", [(1, 1), (4, 4), (5, 2), (13, 13)])
def test_native_gradient_is_the_reference(q, sizes, isa):
    n, k = sizes
    x, y = ragged(3, n=n), ragged(4, n=k)
    weights = np.arange(1.0, 8.0) / 28
    T = nearest_orthogonal(np.random.default_rng(0).normal(size=(n, k)))
    found = _native.energy_gradient(native(x, q), native(y, q), T, weights, q, isa=isa)
    expected, expected_gradient = reference.objective(x, y, q, weights)(T)
    assert found.value == pytest.approx(expected, rel=TOLERANCE)
    np.testing.assert_allclose(
        found.gradient, expected_gradient, atol=TOLERANCE * np.abs(expected_gradient).max()
    )
    loss = _native.energy_loss(native(x, q), native(y, q), T, weights, q)
    assert loss == pytest.approx(reference.loss(x, y, T, q, weights), rel=TOLERANCE)


@pytest.mark.parametrize("isa", _native.instruction_sets())
@pytest.mark.parametrize("q", [0.5, 0.8, 1.0, 1.5])
def test_trials_that_meet_do_not_break_the_gradient(q, isa):
    x = network(5, M=2)
    y = x[:, ::-1].copy()  # every trial of x is also one of y
    weights = np.array([0.5, 0.5])
    found = _native.energy_gradient(native(x, q), native(y, q), np.eye(4), weights, q, isa=isa)
    expected, expected_gradient = reference.objective(x, y, q, weights)(np.eye(4))
    assert found.value == pytest.approx(expected, rel=TOLERANCE)
    np.testing.assert_allclose(found.gradient, expected_gradient, rtol=TOLERANCE)
    exact = _native.energy_loss(native(x, q), native(y, q), np.eye(4), weights, q)
    assert exact == pytest.approx(reference.loss(x, y, np.eye(4), q, weights), rel=TOLERANCE)


@pytest.mark.parametrize("q", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation"])
def test_one_start_is_no_worse_than_reweighted_least_squares(q, group):
    x, y = network(1, M=20), network(2, M=20)
    weights = np.full(20, 1 / 20)
    means = np.einsum("mi,mj->ij", x.mean(1), y.mean(1))
    start = GROUPS[group](means)
    irls = reference.irls(x, y, start, q, weights, group)
    found = rs.EnergyShapeMetric(q, group=group, n_starts=1).align(x, y)
    assert found.converged
    assert reference.loss(x, y, found.transform.T, q, weights) <= -irls.values[-1] * (1 + 1e-9)


def test_more_starts_are_never_worse():
    for seed in range(5):
        x, y = network(seed, M=5, n=6), network(seed + 50, M=5, n=6)
        one, auto = (
            rs.EnergyShapeMetric(estimator="v", n_starts=n).distance(x, y) for n in (1, "auto")
        )
        assert auto <= one * (1 + 1e-7)  # both stop at a tolerance


def test_rotations_turn_nothing_over():
    for seed in range(6):
        x, y = network(seed), network(seed + 30)
        alignment = rs.EnergyShapeMetric(group="rotation", estimator="v").align(x, y)
        assert np.linalg.det(alignment.transform) == pytest.approx(1.0)
        free = rs.EnergyShapeMetric(estimator="v").distance(x, y)
        assert alignment.distance >= free * (1 - 1e-9)


def test_many_pairs_give_the_same_bits_as_one():
    networks = [network(s, n=n, L=L) for s, n, L in [(1, 4, 9), (2, 3, 7), (3, 5, 6)]]
    metric = rs.EnergyShapeMetric()
    prepared = [metric.prepare(one) for one in networks]
    pairs = [(0, 1), (2, 0), (1, 2)]
    found = metric.solve_pairs(prepared, pairs, keep=True)
    one_by_one = [metric.align(networks[i], networks[j]) for i, j in pairs]
    assert found.distance.tolist() == [a.distance for a in one_by_one]
    assert found.lower_bound.tolist() == [a.lower_bound for a in one_by_one]
    assert found.transforms is not None
    # A search that starts from the solution ends there.
    again = metric.solve_pairs(prepared, pairs, starts=[t[None] for t in found.transforms])
    np.testing.assert_allclose(again.distance, found.distance, rtol=1e-9)
    assert (again.distance <= found.distance + 1e-12).all()


def test_pairwise_takes_the_metric():
    networks = [network(seed) for seed in range(3)]
    metric = rs.EnergyShapeMetric(estimator="v")
    D = rs.pairwise(networks, metric, polish=False)
    assert D.values[0, 1] == metric.distance(networks[0], networks[1])


def test_toy_networks_are_recovered_from_trials():
    """Measures of means fail here, but samples recover correlation and scale."""
    toys = rs.datasets.toy_networks(n_correlations=5, n_scales=4, n_trials=100)
    exact = rs.datasets.toy_networks(n_correlations=5, n_scales=4)
    D = rs.pairwise(toys.networks, rs.EnergyShapeMetric(estimator="v")).values
    points = rs.embed(D).points
    for name in ("correlation", "scale"):
        assert quadratic_r2(points, toys.metadata[name]) > 0.9
    upper = np.triu_indices(len(D), 1)
    gaussian = rs.pairwise(exact.networks, rs.GaussianShapeMetric()).values
    assert np.corrcoef(D[upper], gaussian[upper])[0, 1] > 0.9


def test_score_on_held_out_trials_uses_the_alignment_as_it_is():
    x, y = network(1, L=20), network(2, L=20)
    metric = rs.EnergyShapeMetric(preprocess=rs.Preprocess(center=True, scale=True))
    alignment = metric.align(x[:, :10], y[:, :10])
    phi = [metric.preprocess.fit(one[:, :10]) for one in (x, y)]
    held = [p.apply(one[:, 10:]).stacked for p, one in zip(phi, (x, y), strict=True)]
    plain = rs.EnergyShapeMetric()
    expected = definition(plain, *held, alignment.transform)
    assert squared(metric.score(alignment, x[:, 10:], y[:, 10:])) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_spike_counts_with_silent_trials():
    rng = np.random.default_rng(0)
    x, y = rng.poisson(0.3, size=(2, 6, 10, 4)).astype(float)
    metric = rs.EnergyShapeMetric(0.5)
    alignment = metric.align(x, y)
    # Some trials coincide up to rounding, a few 1e-16, of which the definition takes the root.
    expected = definition(metric, x, y, alignment.transform)
    assert squared(alignment.distance) == pytest.approx(expected, abs=1e-7)


def test_a_network_that_never_responds():
    silent = np.zeros((4, 5, 3))
    metric = rs.EnergyShapeMetric(estimator="v")
    assert metric.distance(silent, silent) == 0
    x = network(1, M=4, n=3)
    expected = definition(metric, x, silent, np.eye(3))
    assert squared(metric.distance(x, silent)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"q": 0}, r"'q' parameter of EnergyShapeMetric must be a float in \(0, 2\]. Got 0"),
        ({"q": 2.5}, r"'q' parameter of EnergyShapeMetric must be a float in \(0, 2\]. Got 2.5"),
        ({"q": float("nan")}, "'q' parameter"),
        ({"estimator": "w"}, "'estimator' parameter of EnergyShapeMetric must be one of 'u', 'v'"),
        ({"group": "linear"}, "'group' parameter"),
        ({"n_starts": 0}, "'n_starts' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"weights": [1.0, 2.0]}, "weights must have one entry per condition"),
    ],
)
def test_bad_parameters(parameters, words):
    with pytest.raises(InputError, match=words):
        rs.EnergyShapeMetric(**parameters).distance(network(1), network(2))


def test_bad_types():
    with pytest.raises(InputTypeError, match="'q' parameter"):
        rs.EnergyShapeMetric("one").distance(network(1), network(2))
    with pytest.raises(InputTypeError, match="'preprocess' parameter"):
        rs.EnergyShapeMetric(preprocess="pca").distance(network(1), network(2))


def test_one_trial_needs_the_other_estimator():
    x = ragged(1)
    x[3] = x[3][:1]
    with pytest.raises(InputError, match=r"'u' needs at least two trials.*condition 3.*'v'"):
        rs.EnergyShapeMetric().distance(rs.Trials(x), network(2))
    with pytest.raises(InputError, match="at least two trials"):
        rs.EnergyShapeMetric().distance(np.eye(3), np.eye(3))
    assert rs.EnergyShapeMetric(estimator="v").distance(rs.Trials(x), network(2)) > 0


def test_gaussians_have_no_trials():
    gaussians = rs.Gaussians(np.zeros((7, 4)), np.ones((7, 4)))
    with pytest.raises(InputError, match="single trials, and Gaussians have none"):
        rs.EnergyShapeMetric().distance(gaussians, network(2))


def test_different_conditions():
    with pytest.raises(InputError, match="same conditions"):
        rs.EnergyShapeMetric().distance(network(1, M=3), network(2, M=4))
