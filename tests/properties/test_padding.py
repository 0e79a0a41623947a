"""One space for a cohort: networks of different sizes, padded with silent neurons."""

from itertools import combinations, permutations

import numpy as np
import pytest

import repshape as rs
from repshape.groups import compose
from repshape.metrics.identity import restore

FAMILIES = {
    "gaussian": lambda **options: rs.GaussianShapeMetric(0.7, **options),
    "energy": lambda **options: rs.EnergyShapeMetric(estimator="v", **options),
    "wasserstein": lambda **options: rs.WassersteinShapeMetric(**options),
    "procrustes": lambda **options: rs.ProcrustesShapeMetric(center=False, **options),
    "angular": lambda **options: rs.ProcrustesShapeMetric(distance="angular", **options),
}
GROUPS = ("orthogonal", "rotation", "permutation", "identity")
for_all = pytest.mark.parametrize("family", FAMILIES)
for_groups = pytest.mark.parametrize("group", GROUPS)


def trials(rng, n, M=4, L=5):
    return rng.normal(size=(M, L, n)) + rng.normal(size=(M, 1, n))


def silenced(x, n):
    """The network with neurons that never respond, up to n of them."""
    return np.pad(x, ((0, 0), (0, 0), (0, n - x.shape[2])))


@for_all
@for_groups
def test_pad_to_is_padding_with_silent_neurons(family, group):
    """d with pad_to = N is d between the networks with silent neurons up to N."""
    rng = np.random.default_rng(0)
    for sizes in ((2, 2), (3, 2), (1, 3)):
        x, y = (trials(rng, n) for n in sizes)
        for N in (3, 4, 6):
            padded = FAMILIES[family](group=group, pad_to=N).distance(x, y)
            whole = FAMILIES[family](group=group).distance(silenced(x, N), silenced(y, N))
            # Two searches for the same minimum, which is easy to miss by transport of few trials.
            assert padded == pytest.approx(whole, rel=2e-3 if family == "wasserstein" else 1e-6)


@for_all
@for_groups
def test_the_triangle_inequality_holds_between_networks_of_different_sizes(family, group):
    """Prop. 1 in one space: d_ij <= d_ik + d_kj for all sizes."""
    rng = np.random.default_rng(1)
    for sizes in ((2, 2, 3, 1), (3, 4, 2, 4)):
        networks = [trials(rng, n, M=3) for n in sizes]
        networks.append(silenced(networks[0], max(sizes)))  # the case that breaks it without
        metric = FAMILIES[family](group=group)
        D = rs.pairwise(networks, metric, polish=False).values
        for i, j in combinations(range(len(D)), 2):
            for k in range(len(D)):
                assert D[i, j] <= D[i, k] + D[k, j] + 1e-3 * D.max()


@for_all
def test_the_size_of_the_pair_breaks_the_triangle_inequality(family):
    """x = (1, 5), y = (5, -1) and z = (1, 5, 0) under permutations: 2 > 0 + sqrt 2."""
    x, y, z = ([[[1.0, 5.0]]], [[[5.0, -1.0]]], [[[1.0, 5.0, 0.0]]])
    if family == "angular":  # one condition has no angle after centring
        metric = rs.ProcrustesShapeMetric(group="permutation", distance="angular", center=False)
    elif family == "gaussian":
        metric = rs.GaussianShapeMetric(2.0, group="permutation", weights=[1.0])
    else:
        metric = FAMILIES[family](group="permutation")
    own = [metric.distance(a, b) for a, b in ((x, y), (x, z), (z, y))]
    assert own[0] > own[1] + own[2] + 0.01
    assert not metric.is_metric
    D = rs.pairwise([np.array(one) for one in (x, y, z)], metric)
    assert D.description["parameters"]["pad_to"] == 3
    assert D.values[0, 1] == pytest.approx(own[2], rel=1e-9)
    cross = rs.cross([np.array(x)], [np.array(y), np.array(z)], metric)
    np.testing.assert_allclose(cross, D.values[:1, 1:], rtol=1e-12, atol=1e-12)


@for_all
@pytest.mark.parametrize("group", ["rotation", "permutation"])
def test_is_metric_is_true_only_in_one_space(family, group):
    metric = FAMILIES[family](group=group)
    fixed = metric.for_sizes([3, 5])
    assert fixed.pad_to == 5
    assert not metric.is_metric
    assert fixed.is_metric == (family != "wasserstein")
    assert fixed.for_sizes([9]) is fixed
    assert restore(fixed.describe()).get_params() == fixed.get_params()
    assert FAMILIES[family](group="orthogonal").for_sizes([3, 5]).pad_to is None


@for_all
@pytest.mark.parametrize("group", ["rotation", "permutation"])
def test_a_network_larger_than_the_space_is_refused(family, group):
    x = trials(np.random.default_rng(0), 3)
    with pytest.raises(rs.errors.InputError, match=r"at least the number of neurons.*Got 2 for"):
        FAMILIES[family](group=group, pad_to=2).distance(x, x)


def test_preprocessing_decides_the_size_of_the_space():
    metric = rs.GaussianShapeMetric(group="rotation", preprocess=rs.Preprocess(n_components=2))
    assert metric.for_sizes([4, 6]).pad_to == 2


@for_all
def test_an_alignment_with_silent_neurons_scores_its_own_distance(family):
    """Neurons that are matched with silent neurons count in full."""
    rng = np.random.default_rng(2)
    partial = 0
    for _ in range(3):
        x, y = trials(rng, 3) + 2.0, trials(rng, 2) - 1.0  # means of opposite signs do not match
        metric = FAMILIES[family](group="permutation", pad_to=5)
        for pair in ((x, y), (y, x)):
            found = metric.align(*pair)
            assert metric.score(found, *pair) == pytest.approx(found.distance, rel=1e-9)
            partial += int(found.transform.sum() < 2)
    assert partial or family == "angular"  # centred means have no sign in common


@pytest.mark.parametrize("family", ["gaussian", "energy"])
def test_permutations_in_a_larger_space_are_exact(family):
    """Against all matchings of some neurons of x with as many of y."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        x, y = trials(rng, 3, L=4), trials(rng, 2, L=4) - 1.0
        metric = FAMILIES[family](group="permutation", pad_to=5)
        whole = FAMILIES[family](group="identity")
        large = silenced(x, 5)
        every = [
            whole.distance(large, silenced(y, 5)[:, :, list(order)])
            for order in permutations(range(5))
        ]
        found = metric.align(x, y)
        assert found.distance == pytest.approx(min(every), rel=1e-9)
        assert (found.n_agreeing, found.n_starts, found.converged) == (1, 1, True)


def test_products_of_partial_permutations_are_products_in_the_whole_space():
    """Composition through k is one of the products of the permutations of N neurons."""
    rng = np.random.default_rng(4)
    n_i, n_j, n_k, N = 3, 2, 3, 5
    for _ in range(50):
        wide = [np.eye(N)[rng.permutation(N)] for _ in range(2)]
        second, first = wide[0][:n_j, :n_k], wide[1][:n_k, :n_i]
        found = compose(second, first)
        options = []
        for order in permutations(range(N - n_k)):
            middle = np.eye(N)
            middle[n_k:, n_k:] = np.eye(N - n_k)[list(order)]
            options.append((wide[0] @ middle @ wide[1])[:n_j, :n_i])
        assert any(np.array_equal(found, one) for one in options)


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_the_polish_leaves_no_violated_triangle_among_different_sizes():
    rng = np.random.default_rng(5)
    networks = [trials(rng, n, M=3) for n in (10, 9, 11, 10, 9)]
    D = rs.pairwise(networks, rs.GaussianShapeMetric(0.0, group="permutation"))
    assert D.description["parameters"]["pad_to"] == 11
    assert rs.triangle_violations(D).count == 0
