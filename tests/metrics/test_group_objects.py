"""Groups that are given as objects, by their linear oracle."""

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import pytest

import repshape as rs
from repshape.groups import BlockOrthogonal, Group, SignedPermutations, nearest_orthogonal
from repshape.metrics.identity import describe, restore

FAMILIES = {
    "gaussian": lambda **options: rs.GaussianShapeMetric(0.7, **options),
    "energy": lambda **options: rs.EnergyShapeMetric(estimator="v", **options),
    "unbiased": lambda **options: rs.EnergyShapeMetric(**options),
    "wasserstein": lambda **options: rs.WassersteinShapeMetric(**options),
    "procrustes": lambda **options: rs.ProcrustesShapeMetric(**options),
}
GROUPS = (SignedPermutations(), BlockOrthogonal([1, 2]))
for_all = pytest.mark.parametrize("family", FAMILIES)
for_groups = pytest.mark.parametrize("group", GROUPS)


@dataclass(frozen=True)
class Everything(Group):
    """The orthogonal group again, by another name."""

    takes_unequal_sizes = True

    def nearest(self, G):
        return nearest_orthogonal(G)


def trials(seed, n=3, M=5, L=6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(M, L, n)) @ rng.normal(size=(M, n, n)) + rng.normal(size=(M, 1, n))


@for_groups
def test_the_oracle_maximises_over_the_group(group):
    """<T, G> is no smaller at the oracle's T than at 200 other elements."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        G = rng.normal(size=(3, 3))
        T = group.nearest(G)
        np.testing.assert_allclose(T @ T.T, np.eye(3), atol=1e-12)
        others = [group.nearest(rng.normal(size=(3, 3))) for _ in range(200)]
        assert (T * G).sum() >= max((one * G).sum() for one in others) - 1e-12


@for_all
@for_groups
def test_a_transformed_copy_is_at_distance_zero_and_others_are_not(family, group):
    x = trials(0)
    T = group.nearest(np.random.default_rng(1).normal(size=(3, 3)))
    metric = FAMILIES["energy" if family == "unbiased" else family](group=group)
    assert metric.is_metric == (family != "wasserstein")
    assert metric.distance(x, x @ T) < 1e-6
    outside = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    assert metric.distance(x, x @ outside) > 0.1
    assert metric.distance(x, x @ outside) == metric.distance(x @ outside, x)


@for_all
def test_the_same_group_gives_the_same_distance(family):
    """The orthogonal group as an object: the same minimum, by another search."""
    named, free = (FAMILIES[family](group=one) for one in ("orthogonal", Everything()))
    for seed in range(4):
        x, y = trials(seed), trials(seed + 50, n=3 if seed % 2 else 2)
        first, second = named.align(x, y), free.align(x, y)
        assert second.distance == pytest.approx(first.distance, rel=1e-3)
        assert second.lower_bound <= second.distance
        assert free.score(second, x, y) == pytest.approx(second.distance, rel=1e-7)


@pytest.mark.parametrize("family", ["gaussian", "energy", "unbiased"])
def test_signed_permutations_against_all_of_them(family):
    """3! 2^3 candidates, each evaluated as a fixed alignment."""
    group = SignedPermutations()
    every = [
        np.eye(3)[list(order)] * signs
        for order in permutations(range(3))
        for signs in product((-1.0, 1.0), repeat=3)
    ]
    fixed = FAMILIES[family](group="identity")
    for seed in range(4):
        x, y = trials(seed), trials(seed + 50)
        best = min(fixed.distance(x, y @ T) for T in every)
        assert FAMILIES[family](group=group).distance(x, y) == pytest.approx(best, rel=1e-9)


def test_silent_neurons_change_nothing_for_signed_permutations():
    """For one of the two signs, another match never decreases a convex objective."""
    metric = rs.GaussianShapeMetric(group=SignedPermutations())
    for seed in range(4):
        x, y = trials(seed), trials(seed + 50, n=2)
        wide = np.pad(x, ((0, 0), (0, 0), (0, 2))), np.pad(y, ((0, 0), (0, 0), (0, 3)))
        assert metric.distance(*wide) == pytest.approx(metric.distance(x, y), rel=1e-6)


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_a_cohort_is_polished_and_stored(tmp_path):
    networks = [trials(seed) for seed in range(4)]
    metric = rs.GaussianShapeMetric(0.5, group=SignedPermutations())
    D = rs.pairwise(networks, metric, store=tmp_path / "store")
    again = rs.pairwise(networks, metric, store=tmp_path / "store")
    assert np.array_equal(D.values, again.values)
    assert rs.triangle_violations(D).count == 0
    assert D.values[0, 1] <= metric.distance(networks[0], networks[1]) * (1 + 1e-12)


@for_all
@for_groups
def test_the_identity_of_a_metric_describes_the_group(family, group):
    metric = FAMILIES[family](group=group)
    assert restore(metric.describe()).get_params() == metric.get_params()
    others = [FAMILIES[family](group=one) for one in ("permutation", BlockOrthogonal([2, 1]))]
    assert all(describe(one)["parameters"] != describe(metric)["parameters"] for one in others)


def test_a_group_that_cannot_be_described_needs_no_store_but_takes_none(tmp_path):
    metric = rs.GaussianShapeMetric(group=Everything())
    assert rs.pairwise([trials(0), trials(1)], metric).values[0, 1] > 0
    with pytest.raises(rs.errors.InputError, match=r"only the groups of repshape.*Everything"):
        rs.pairwise([trials(0), trials(1)], metric, store=tmp_path / "store")


@for_all
def test_sizes_that_do_not_suit_a_group_are_refused(family):
    with pytest.raises(rs.errors.InputError, match=r"acts on networks of 4 neurons. Got 3"):
        FAMILIES[family](group=BlockOrthogonal([2, 2])).distance(trials(0), trials(1))

    class Square(Everything):
        takes_unequal_sizes = False

    with pytest.raises(rs.errors.InputError, match=r"the same number of neurons. Got \d and \d"):
        FAMILIES[family](group=Square()).distance(trials(0), trials(1, n=2))


@pytest.mark.parametrize("group", ["orthogonl", 3, SignedPermutations])
def test_what_is_no_group_is_refused(group):
    with pytest.raises(rs.errors.InputError, match=r"'group' parameter .* must be one of"):
        rs.GaussianShapeMetric(group=group).distance(trials(0), trials(1))
