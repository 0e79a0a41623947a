"""ProcessShapeMetric: inputs, groups, bounds, kernels, pairwise, stores and inference."""

from __future__ import annotations

import numpy as np
import pytest

import repshape as rs
from process_support import moments, orthogonal, var1
from repshape import _native
from repshape.coordinates.positions import make_blocks, spectra
from repshape.errors import FewTrialsWarning, InputError, InputTypeError
from repshape.groups import GROUPS
from repshape.metrics.process import ProcessShapeMetric
from repshape.reference import process as reference
from repshape.reference.gaussian import mean_gap

MODES = ("marginal", "joint", "causal")


def sample(seed: int, M: int = 3, L: int = 20, P: int = 4, n: int = 3) -> np.ndarray:
    """Trials of a random VAR(1) with random means."""
    rng = np.random.default_rng(seed)
    A = 0.7 * orthogonal(rng, n)
    x = rng.normal(size=(M, L, P, n))
    for t in range(1, P):
        x[:, :, t] += x[:, :, t - 1] @ A.T
    return x + rng.normal(size=(M, 1, P, n))


def squared_at(metric: ProcessShapeMetric, x: np.ndarray, y: np.ndarray, T: np.ndarray) -> float:
    """The squared distance at T (n_x, n_y), from the definition."""
    weights = np.full(len(x), 1 / len(x)) if metric.weights is None else np.array(metric.weights)
    one, two = (rs.PositionNetwork(net) for net in (x, y))
    A, C = (make_blocks(net, metric.mode, order=metric.order) for net in (one, two))
    rows = (net.means.reshape(-1, net.n_neurons) for net in (one, two))
    means = mean_gap(*rows, T, np.repeat(weights, one.n_positions))
    each = np.repeat(weights, A.per_condition)
    noise = reference.covariance_gap(A.factors, C.factors, T, each)
    return metric.alpha * means + (2 - metric.alpha) * noise


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("sizes", [(3, 3), (4, 2), (2, 4)])
def test_distance_is_that_of_the_definition_and_at_most_that_of_other_transforms(
    mode, group, sizes
):
    rng = np.random.default_rng(0)
    x, y = sample(1, n=sizes[0]), sample(2, n=sizes[1])
    metric = ProcessShapeMetric(0.8, mode=mode, group=group, weights=[0.5, 0.2, 0.3])
    found = metric.align(x, y)
    best = squared_at(metric, x, y, found.transform.T)
    assert found.distance**2 == pytest.approx(best, rel=1e-9)
    assert found.distance == pytest.approx(
        np.hypot(np.sqrt(0.8) * found.mean_distance, np.sqrt(1.2) * found.covariance_distance),
        rel=1e-9,
    )
    assert metric.score(found, x, y) == pytest.approx(found.distance, rel=1e-9)
    for _ in range(20):
        T = GROUPS[group](rng.normal(size=sizes))
        other = squared_at(metric, x, y, T)
        assert found.lower_bound <= np.sqrt(other) + 1e-9
        assert found.distance <= np.sqrt(other) + 1e-9


@pytest.mark.parametrize("mode", MODES)
def test_distance_is_symmetric_to_the_bit(mode):
    metric = ProcessShapeMetric(mode=mode)
    for x, y in ((sample(1), sample(2)), (sample(1, n=2), sample(2, n=3))):
        there, back = metric.align(x, y), metric.align(y, x)
        assert there.distance == back.distance
        assert there.lower_bound == back.lower_bound
        np.testing.assert_allclose(there.transform, back.transform.T, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", [(3, 3), (5, 2)])
def test_native_gradient_is_that_of_the_reference(mode, sizes):
    rng = np.random.default_rng(1)
    x, y = (rs.PositionNetwork(sample(k, L=30, n=n)) for k, n in enumerate(sizes))
    A, C = make_blocks(x, mode), make_blocks(y, mode)
    handles = [_native.make_positions(one.means, one.factors, spectra(one, mode)) for one in (A, C)]
    T, w = GROUPS["orthogonal"](rng.normal(size=sizes)), rng.random(3)
    value, slope = reference.objective(A.factors, C.factors, T, np.repeat(w, A.per_condition))
    gap = reference.covariance_gap(A.factors, C.factors, T, np.repeat(w, A.per_condition))
    for isa in (*_native.instruction_sets(), "blas"):
        found = _native.gradient(*handles, T, w, isa=isa)
        assert found.value == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(found.gradient, slope, rtol=1e-8, atol=1e-10)
        single = _native.gradient(*handles, T, w, isa=isa, single=True)
        np.testing.assert_allclose(single.gradient, slope, atol=2e-5 * np.abs(slope).max())
    parts = _native.evaluate(*handles, T.T.copy(), w)
    assert parts.covariances == pytest.approx(gap, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation", "identity"])
def test_one_step_is_the_gaussian_metric_to_the_bit(alpha, group):
    """Whatever the mode, the sizes, the preprocessing and the weights."""
    weights = np.random.default_rng(0).gamma(1.0, size=3)
    for sizes, settings in (
        ((4, 4), {}),
        ((5, 2), {"weights": weights}),
        ((4, 3), {"preprocess": rs.Preprocess(center=True, n_components=3)}),
    ):
        x, y = (sample(k, L=20, n=n)[:, :, :1] for k, n in enumerate(sizes))
        expected = rs.GaussianShapeMetric(alpha, group=group, **settings).align(
            x[:, :, 0], y[:, :, 0]
        )
        for mode in MODES:
            found = ProcessShapeMetric(alpha, mode=mode, group=group, **settings).align(x, y)
            assert found.distance == expected.distance
            assert found.lower_bound == expected.lower_bound
            assert found.n_agreeing == expected.n_agreeing
            np.testing.assert_array_equal(found.transform, expected.transform)


@pytest.mark.parametrize("mode", MODES)
def test_ragged_trials_and_moments_give_the_same_distance(mode):
    """Trials in a list, with a missing one, and the means and covariances of the same trials."""
    x, y = sample(3), sample(4)
    ragged = [x[0, :14], x[1], x[2, :17]]
    padded = np.full((1, 4, 3), np.nan)
    missing = [np.concatenate([ragged[0], padded]), *ragged[1:]]
    flat = [one.reshape(len(one), -1) for one in ragged]
    given = (
        np.stack([one.mean(axis=0) for one in ragged]),
        np.stack([np.cov(one.T, bias=True) for one in flat]),
    )
    metric = ProcessShapeMetric(mode=mode)
    expected = metric.distance(ragged, y)
    assert metric.distance(missing, y) == expected
    assert metric.distance(given, y) == pytest.approx(expected, rel=1e-7)


def test_thin_factors_are_as_wide_as_there_are_trials():
    network = rs.PositionNetwork(sample(0, L=8, P=50, n=4))
    assert make_blocks(network, "joint").factors.shape == (3, 50, 4, 7)


@pytest.mark.parametrize("mode", MODES)
def test_a_network_of_a_smaller_size_sits_inside_a_larger_one(mode):
    """Neurons that never respond change nothing, and a copy is found inside a larger network."""
    rng = np.random.default_rng(2)
    x = sample(5)
    larger = np.concatenate([x, np.zeros((*x.shape[:3], 2))], axis=3) @ orthogonal(rng, 5)
    metric = ProcessShapeMetric(mode=mode)
    assert metric.distance(x, larger) < 1e-6
    y = sample(6)
    assert metric.distance(larger, y) == pytest.approx(metric.distance(x, y), rel=1e-7)


def test_preprocessing_is_fitted_to_all_positions_together():
    rng = np.random.default_rng(3)
    x, y = sample(7, n=4), sample(8, n=5)
    phi = rs.Preprocess(n_components=3, scale=True)
    metric = ProcessShapeMetric(preprocess=phi)
    alignment = metric.align(x, y)
    assert alignment.transform.shape == (3, 3)
    by_hand = [
        phi.fit(one.reshape(3, -1, one.shape[3])).apply(one.reshape(3, -1, one.shape[3])).stacked
        for one in (x, y)
    ]
    expected = ProcessShapeMetric().distance(*(one.reshape(3, 20, 4, 3) for one in by_hand))
    assert alignment.distance == pytest.approx(expected, rel=1e-9)
    assert metric.distance(x, 3 * x @ orthogonal(rng, 4) + 2) < 1e-6
    assert metric.score(alignment, x, y) == pytest.approx(alignment.distance, rel=1e-9)
    whole = moments(rng, 2, 3, 4)
    thin = ProcessShapeMetric(preprocess=rs.Preprocess(whitening=0.5))
    variances = (whole[0], np.diagonal(whole[1], axis1=1, axis2=2))
    full = (whole[0], whole[1] * np.eye(12))
    assert thin.distance(whole, variances) == pytest.approx(thin.distance(whole, full), rel=1e-9)


def test_too_few_trials_for_the_causal_mode_are_refused():
    x = sample(0, L=11, P=4, n=3)
    with pytest.raises(InputError, match=r"9 numbers, and needs more than 10 trials. Got 10 at "):
        ProcessShapeMetric(mode="causal").distance(x[:, :10], x)
    ProcessShapeMetric(mode="causal").distance(x, x)
    with pytest.raises(InputError, match="Set 'order' to at most 1"):
        ProcessShapeMetric(mode="causal", order=2).distance(x[:, :7], x)
    ProcessShapeMetric(mode="causal", order=1).distance(x[:, :7], x)
    ProcessShapeMetric(mode="causal", covariance="ledoit-wolf").distance(x[:, :7], x)


@pytest.mark.parametrize(
    ("metric", "x", "y", "said"),
    [
        (ProcessShapeMetric(), np.zeros((2, 5, 3)), np.zeros((2, 5, 4, 3)), "must have positions"),
        (ProcessShapeMetric(), np.zeros((2, 5, 4, 3)), np.zeros((2, 5, 5, 3)), "4 and 5 positions"),
        (ProcessShapeMetric(), np.zeros((2, 5, 4, 3)), np.zeros((3, 5, 4, 3)), "same conditions"),
        (ProcessShapeMetric(mode="scalar"), 0, 0, "'mode' parameter of ProcessShapeMetric"),
        (ProcessShapeMetric(order=2), 0, 0, "belongs to mode='causal'"),
        (ProcessShapeMetric(mode="causal", order=0), 0, 0, "an integer of at least 1"),
        (
            ProcessShapeMetric(weights=[1, 2, 3]),
            np.zeros((2, 5, 4, 3)),
            np.zeros((2, 5, 4, 3)),
            "one entry per condition",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(metric, x, y, said):
    with pytest.raises(InputError, match=said):
        metric.distance(x, y)


def test_other_metrics_refuse_positions():
    with pytest.raises(InputTypeError, match="Got PositionNetwork instead"):
        rs.GaussianShapeMetric().distance(rs.PositionNetwork(sample(0)), sample(1))


@pytest.mark.parametrize("mode", MODES)
def test_pairwise_violates_no_triangle_and_stores_resume(mode, tmp_path):
    networks = {f"net{k}": sample(k, n=3 + k % 2) for k in range(5)}
    metric = ProcessShapeMetric(mode=mode, order=1 if mode == "causal" else None, n_starts=2)
    D = rs.pairwise(networks, metric)
    assert rs.triangle_violations(D).count == 0
    cohort = rs.Cohort.from_networks(networks).save(tmp_path / "cohort")
    again = rs.pairwise(cohort, metric, store=tmp_path / "store")
    np.testing.assert_array_equal(again.values, D.values)
    np.testing.assert_array_equal(
        rs.pairwise(cohort, metric, store=tmp_path / "store").values, D.values
    )
    assert (D.lower_bounds <= D.values + 1e-12).all()


def test_a_cohort_keeps_positions_on_disk(tmp_path):
    rng = np.random.default_rng(4)
    maps = rng.normal(size=(2, 6, 3, 4, 2))
    ragged = [maps[0, :4], maps[1]]
    given = moments(rng, 2, 12, 2)
    whole = (given[0].reshape(2, 3, 4, 2), given[1])
    cohort = rs.Cohort.from_networks({"maps": maps, "ragged": ragged, "moments": whole})
    saved = rs.Cohort.open(cohort.save(tmp_path / "cohort").path)
    assert saved.verify() == cohort.fingerprints
    for name in cohort.labels:
        assert saved[name].positions == (3, 4)
        np.testing.assert_array_equal(saved[name].means, cohort[name].means)
    assert repr(saved["ragged"]) == (
        "PositionNetwork(2 conditions, 4-6 trials each, 3 x 4 positions, 2 neurons)"
    )
    assert saved["maps"].select([1]).n_conditions == 1


def test_inference_corrects_the_bias_and_warns_of_few_trials():
    """Two samples of one process: the plug-in is far above 0, the estimate is not.

    All true means are equal, so that a single start, the alignment of the means, would be random
    and end in other optima in other halves.
    """
    rng = np.random.default_rng(5)
    S = var1(0.7 * np.eye(2), np.eye(2), 3, np.eye(2))
    x, y = (
        (rng.multivariate_normal(np.zeros(6), S, size=(4, 40))).reshape(4, 40, 3, 2)
        for _ in range(2)
    )
    metric = ProcessShapeMetric(mode="causal", order=1)
    found = rs.inference.distance(x, y, metric)
    assert found.interval[0] < 0 < found.interval[1]
    assert found.plug_in > 0.5
    with pytest.warns(FewTrialsWarning, match="10 trials per condition for 6 dimensions"):
        rs.inference.distance(x[:, :10], y[:, :10], ProcessShapeMetric(n_starts=1))
    boot = rs.inference.distance(
        x, y, ProcessShapeMetric(n_starts=1), method="bootstrap", n_resamples=20
    )
    assert boot.estimate < boot.plug_in
