"""The optimum: equal to exhaustive search if that is feasible, and bounded otherwise."""

import numpy as np
import pytest
from examples import (
    ALPHAS,
    GROUPS,
    distance_at,
    element,
    equal,
    exhaustive,
    make_network,
    moved,
    scale,
)
from scipy.optimize import linear_sum_assignment

from repshape import GaussianShapeMetric
from repshape.datasets import toy_networks
from repshape.groups import GROUPS as ORACLES
from repshape.reference import gaussian as reference
from repshape.reference.alternation import alternate
from repshape.responses import Gaussians


@pytest.mark.parametrize("group", ["orthogonal", "rotation"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_two_neurons_meet_the_exhaustive_search_over_angles(group, alpha):
    """n = 2: all of O(2), both determinants, is a search over one angle."""
    rng = np.random.default_rng(0)
    for M, rank in [(1, 2), (3, 1), (4, 2), (10, 2)]:
        x, y = make_network(rng, M, 2, rank), make_network(rng, M, 2)
        found = GaussianShapeMetric(alpha, group=group).distance(x, y)
        assert found == pytest.approx(exhaustive(x, y, alpha, group), rel=1e-9)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_lines_in_the_plane_meet_the_exhaustive_search(alpha):
    """Rank 1 on both sides: every condition adds corners, with a summit between any two."""
    rng = np.random.default_rng(5)
    for M in (2, 5, 9):
        x, y = make_network(rng, M, 2, 1), make_network(rng, M, 2, 1)
        found = GaussianShapeMetric(alpha).distance(x, y)
        assert found <= exhaustive(x, y, alpha, "orthogonal") * (1 + 1e-9)


def test_a_start_in_a_valley_leaves_it():
    """Mirror images on either side of the identity, which is as flat as a summit between them."""
    toys = toy_networks(rotate=False)
    x, y = (
        Gaussians.from_factors(net.means, np.linalg.cholesky(net.covariances))
        for net in (toys[6], toys[89])
    )
    best = exhaustive(x, y, 1.0, "orthogonal")
    assert distance_at(x, y, np.eye(2), 1.0) > best * (1 + 5e-5)
    for n_starts in (1, "auto"):
        assert GaussianShapeMetric(n_starts=n_starts).distance(x, y) == pytest.approx(
            best, rel=1e-9
        )


@pytest.mark.parametrize("n_starts", [1, "auto"])
@pytest.mark.parametrize("group", ["orthogonal", "rotation"])
def test_independent_neurons_are_no_farther_than_their_best_match(group, n_starts):
    """Diagonal covariances, alpha = 0: the best signed permutation is a linear assignment."""
    rng = np.random.default_rng(12)
    metric = GaussianShapeMetric(0.0, group=group, n_starts=n_starts)
    for n, k in [(3, 3), (5, 4), (8, 8), (10, 3), (50, 50)]:
        x, y = (
            Gaussians(rng.normal(size=(20, size)), np.exp(rng.normal(size=(20, size))))
            for size in (n, k)
        )
        gain = np.sqrt(x.variances).T @ np.sqrt(y.variances) / 20
        matched = gain[linear_sum_assignment(gain, maximize=True)].sum()
        total = (x.variances.sum() + y.variances.sum()) / 20
        assert metric.distance(x, y) <= np.sqrt(2 * (total - 2 * matched)) * (1 + 3e-4)


def test_unused_latents_do_not_hide_the_best_match():
    """Most variances of x and y are near one; the search once crawled there, and ended too high."""
    rng = np.random.default_rng(13)
    variances = np.exp(0.02 * rng.normal(size=(64, 50)))
    variances[:, :6] = np.exp(0.5 * rng.normal(size=(64, 6))) / 20
    order = rng.permutation(50)
    noise = np.exp(0.01 * rng.normal(size=(64, 50)))
    x = Gaussians(rng.normal(size=(64, 50)), variances)
    y = Gaussians(rng.normal(size=(64, 50)), (variances * noise)[:, order])
    found = GaussianShapeMetric(0.0).align(x, y)
    matched = np.sqrt(2 * ((np.sqrt(variances) - np.sqrt(variances * noise)) ** 2).sum() / 64)
    assert found.converged
    assert found.distance <= matched * (1 + 1e-6)


@pytest.mark.parametrize("stored", ["full", "factors"])
def test_rotated_networks_of_independent_neurons_are_recognised(stored):
    """Covariances with the same eigenvectors in all conditions: as if neurons were independent."""
    rng = np.random.default_rng(14)
    x, y = (
        Gaussians(rng.normal(size=(9, 12)), np.exp(0.3 * rng.normal(size=(9, 12))))
        for _ in range(2)
    )

    def turned(net: Gaussians) -> Gaussians:
        Q = np.linalg.qr(rng.normal(size=(12, 12)))[0]
        A = Q[None] * np.sqrt(net.variances)[:, None]
        if stored == "factors":
            return Gaussians.from_factors(net.means @ Q.T, A)
        return Gaussians(net.means @ Q.T, A @ np.swapaxes(A, 1, 2))

    for alpha in (0.0, 0.5, 1.0):
        metric = GaussianShapeMetric(alpha)
        apart = metric.distance(x, y)
        assert metric.distance(turned(x), y) == pytest.approx(apart, rel=1e-7)
        assert metric.distance(turned(x), turned(y)) == pytest.approx(apart, rel=1e-7)


def test_a_copy_is_found_where_single_precision_stalls():
    """The first start once spent all its gradients there, and none was left to finish it."""
    rng = np.random.default_rng(20)
    for rank in (10, 20):  # the second draw is the one that stalled
        M = int(rng.integers(2, 12))
        A, T = rng.normal(size=(M, 20, rank)), ORACLES["orthogonal"](rng.normal(size=(20, 20)))
    still = np.zeros((M, 20))
    x, y = (Gaussians.from_factors(still, one) for one in (A, T @ A))
    found = GaussianShapeMetric(0.5).align(x, y)
    assert found.converged
    assert found.distance < 1e-6 * np.sqrt((A**2).sum() / M)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_saddles_between_signed_permutations_are_left(alpha):
    """One condition: the match of single neurons is a saddle unless variances are sorted alike."""
    x = Gaussians([[0.0, 0.0, 0.0]], [[1.0, 4.0, 9.0]])
    y = Gaussians([[0.0, 0.0, 0.0]], [[9.0, 1.0, 4.0]])
    assert GaussianShapeMetric(alpha, n_starts=1).distance(x, y) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 1)])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_one_neuron_meets_every_direction(sizes, alpha):
    """T is a sign, or a unit vector of the plane."""
    rng = np.random.default_rng(6)
    x, y = (make_network(rng, 4, n) for n in sizes)
    found = GaussianShapeMetric(alpha).distance(x, y)
    angles = np.linspace(0, 2 * np.pi, 20_001)
    columns = (
        np.array([[1.0], [-1.0]])
        if sizes[0] == 1
        else np.stack([np.cos(angles), np.sin(angles)], 1)
    )
    best = min(distance_at(x, y, T[:, None], alpha) for T in columns)
    assert best * (1 - 1e-6) <= found <= best * (1 + 1e-12)


def test_conditions_in_subspaces_of_their_own_are_matched_one_by_one():
    """With few trials of many neurons, nearly all noise can be aligned with the other network."""
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(2, 12, 5, 3000))
    alignment = GaussianShapeMetric(n_starts=1).align(x, y)
    norm = np.sqrt((x**2).sum(-1).mean())
    assert alignment.converged
    assert alignment.distance < 0.1 * norm
    unaligned = GaussianShapeMetric(group="identity").distance(x, y)
    assert unaligned == pytest.approx(np.sqrt(2) * norm, rel=0.1)


@pytest.mark.parametrize("sizes", [(60, 60), (60, 45)])
@pytest.mark.parametrize("ranks", [(3, 3), (2, 4)])
def test_thin_conditions_end_where_alternation_rests(sizes, ranks):
    """The ascent over one small matrix per condition ends at a fixed point of the transform, where
    the two forms of the objective, one of which bounds the other, are equal."""
    rng = np.random.default_rng(8)
    x, y = (make_network(rng, 5, n, rank) for n, rank in zip(sizes, ranks, strict=True))
    found = GaussianShapeMetric(n_starts=1, tol=1e-9).align(x, y)
    assert found.converged
    T, w = np.asarray(found.transform).T, equal(5)
    parts = (x.means, x.factors, y.means, y.factors)
    value, gradient = reference.objective(*parts, T, 1.0, w)
    skew = T.T @ gradient - gradient.T @ T
    assert np.linalg.norm(skew) <= 1e-8 * value
    P = reference.polar(reference.cross_products(x.factors, y.factors, T))
    assert reference.joint_objective(*parts, P, 1.0, w) == pytest.approx(value, rel=1e-12)


def test_either_form_of_the_objective_bounds_the_other():
    """max_T of the sum over fixed P is |G|_*; max_P over fixed T is the objective itself."""
    rng = np.random.default_rng(9)
    x, y, w = make_network(rng, 4, 6, 3), make_network(rng, 4, 6, 3), equal(4)
    parts = (x.means, x.factors, y.means, y.factors)
    for _ in range(20):
        T = element(rng, "orthogonal", 6)
        P = reference.polar(reference.cross_products(x.factors, y.factors, T))
        value = reference.objective(*parts, T, 1.0, w)[0]
        assert reference.joint_objective(*parts, P, 1.0, w) >= value * (1 - 1e-12)
        G = reference.objective(*parts, T, 1.0, w)[1]
        better = reference.polar(G)
        assert np.sum(better * G) == pytest.approx(reference.joint_objective(*parts, P, 1.0, w))
        assert reference.objective(*parts, better, 1.0, w)[0] >= np.sum(better * G) * (1 - 1e-12)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_permutations_meet_brute_force(n, alpha):
    """n <= 5: all n! permutations can be tried."""
    rng = np.random.default_rng(n)
    metric = GaussianShapeMetric(alpha, group="permutation")
    for _ in range(4 if n == 5 else 12):
        x, y = make_network(rng, 3, n), make_network(rng, 3, n, rng.integers(1, n + 1))
        found = metric.distance(x, y)
        assert found == pytest.approx(exhaustive(x, y, alpha, "permutation"), rel=1e-9)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("sizes", [(4, 4), (5, 3)])
def test_lower_bound_is_that_of_appendix_e2(group, alpha, sizes):
    """d_a^2 >= a/2 d_2^2 + (2 - a)/2 LB_0^2, d_2 exact and LB_0 from the spectra."""
    rng = np.random.default_rng(1)
    for M in (2, 9):
        x, y = make_network(rng, M, sizes[0]), make_network(rng, M, sizes[1])
        alignment = GaussianShapeMetric(alpha, group=group).align(x, y)
        if group == "identity":
            assert alignment.lower_bound == alignment.distance
            continue
        d_2 = GaussianShapeMetric(2, group=group).distance(x, y)
        spectra = [np.sqrt(np.maximum(np.linalg.eigvalsh(s.covariances), 0)) for s in (x, y)]
        width = max(sizes)
        spectra = [np.pad(s, ((0, 0), (width - s.shape[1], 0))) for s in spectra]
        lb_0 = np.sqrt(2 * np.mean(((spectra[0] - spectra[1]) ** 2).sum(1)))
        bound = np.sqrt(alpha / 2 * d_2**2 + (2 - alpha) / 2 * lb_0**2)
        # Zero eigenvalues of a covariance are known to the root of rounding only.
        assert alignment.lower_bound == pytest.approx(bound, rel=1e-6)
        assert alignment.lower_bound <= alignment.distance


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_no_transform_of_the_group_beats_the_lower_bound_or_the_optimum(group, alpha):
    """lower_bound <= distance <= d(T) for every T: in particular for very good ones."""
    rng = np.random.default_rng(2)
    x = make_network(rng, 8, 3)
    noise = make_network(rng, 8, 3)
    U = element(rng, group, 3)
    y = moved(
        Gaussians.from_factors(x.means + 0.1 * noise.means, x.factors + 0.1 * noise.factors), U
    )
    alignment = GaussianShapeMetric(alpha, group=group).align(x, y)
    for T in [U.T, *(element(rng, group, 3) for _ in range(50))]:
        at = distance_at(x, y, T, alpha)
        assert alignment.lower_bound <= at * (1 + 1e-12)
        assert alignment.distance <= at * (1 + 1e-9)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_interpolation_is_bounded_by_its_ends(alpha):
    """App. E.2: d_a^2 >= a/2 d_2^2 + (2 - a)/2 d_0^2, all three optima known at n = 2."""
    rng = np.random.default_rng(3)
    for group in GROUPS:
        for _ in range(10):
            x, y = make_network(rng, 4, 2), make_network(rng, 4, 2)
            d_0, d_a, d_2 = (
                GaussianShapeMetric(a, group=group).distance(x, y) for a in (0, alpha, 2)
            )
            assert d_a**2 >= (alpha * d_2**2 + (2 - alpha) * d_0**2) / 2 - 1e-12


def starts_and_ends(rng, group, alpha, count):
    """Pairs, and the results of plain alternation from the means, a unique start."""
    for _ in range(count):
        n = int(rng.integers(2, 5))
        M = int(rng.integers(n + 1, 2 * n + 1))
        x, y = make_network(rng, M, n, rng.integers(1, n + 1)), make_network(rng, M, n)
        w = equal(M)

        def objective(T, x=x, y=y, w=w):
            return reference.objective(x.means, x.factors, y.means, y.factors, T, alpha, w)

        start = ORACLES[group](reference.mean_term(x.means, y.means, w))
        end = alternate(objective, start, group, max_iter=1000)
        yield x, y, distance_at(x, y, end.transform, alpha)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 1.7])
def test_never_worse_than_alternation_from_the_means(group, alpha):
    """The default is never worse than alternation from the means."""
    rng = np.random.default_rng(4)
    metric = GaussianShapeMetric(alpha, group=group)
    excess = [
        metric.distance(x, y) / rival - 1 for x, y, rival in starts_and_ends(rng, group, alpha, 30)
    ]
    assert max(excess) < 1e-9


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_auto_starts_are_never_worse_than_the_means_alone(group, alpha):
    """Every start of n_starts=1 is among those of "auto"."""
    rng = np.random.default_rng(5)
    one = GaussianShapeMetric(alpha, group=group, n_starts=1)
    auto = GaussianShapeMetric(alpha, group=group)
    for _ in range(20):
        n = int(rng.integers(2, 7))
        x, y = make_network(rng, 10, n), make_network(rng, 10, n)
        assert auto.distance(x, y) <= one.distance(x, y) * (1 + 1e-9)


def conflict(group, turn):
    """Supplementary Figure 2: the same covariances, but means that another transform aligns."""
    rng = np.random.default_rng(6)
    x = make_network(rng, 3, len(turn))
    return x, Gaussians.from_factors(x.means @ turn.T, x.factors)


@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_supplementary_figure_2(group, alpha):
    """Zero at alpha = 0 and 2, strictly above the bound, which is zero, between."""
    quarter, cycle = np.array([[0.0, -1.0], [1.0, 0.0]]), np.eye(3)[[1, 2, 0]]
    x, y = conflict(group, cycle if group == "permutation" else quarter)
    alignment = GaussianShapeMetric(alpha, group=group).align(x, y)
    assert alignment.lower_bound < 1e-7 * scale(x)
    if alpha in (0, 2):
        assert alignment.distance < 1e-7 * scale(x)
    else:
        assert alignment.distance > 0.1 * scale(x)


def test_supplementary_figure_2_rotations():
    """The best rotation is 90 degrees for means, and 0 or 180 degrees for covariances."""
    quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
    x, y = conflict("rotation", quarter)
    for group in ("orthogonal", "rotation"):
        means = GaussianShapeMetric(2, group=group).align(x, y).transform
        np.testing.assert_allclose(means, quarter, atol=1e-7)
        covariances = GaussianShapeMetric(0, group=group).align(x, y).transform
        np.testing.assert_allclose(covariances * covariances[0, 0], np.eye(2), atol=1e-6)


@pytest.mark.parametrize("n", [1, 3, 5, 9])
def test_rotations_of_an_odd_dimension_are_orthogonal_where_means_do_not_matter(n: int) -> None:
    """Covariances are the same at T and -T, and one of the two is a rotation if n is odd."""
    rng = np.random.default_rng(n)
    x, y = make_network(rng, 6, n, n), make_network(rng, 6, n)
    found = GaussianShapeMetric(0, group="rotation").align(x, y)
    assert found.distance == pytest.approx(GaussianShapeMetric(0).distance(x, y), rel=1e-6)
    assert np.linalg.det(found.transform) == pytest.approx(1)


@pytest.mark.parametrize("shape", [(6, 3, 16), (4, 6, 24), (8, 4, 32)], ids=str)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_near_copies_with_few_trials_are_found(shape: tuple[int, int, int], alpha: float) -> None:
    rng = np.random.default_rng(shape)
    n = shape[-1]
    x, Q = rng.normal(size=shape), np.linalg.qr(rng.normal(size=(n, n)))[0]
    y = x + 0.03 * rng.normal(size=shape)
    metric = GaussianShapeMetric(alpha)
    # The planted rotation is one candidate, so the minimum is at most the distance without one.
    planted = metric.with_parameters(group="identity").distance(x, y)
    assert metric.distance(x, y @ Q) <= planted * (1 + 1e-9)
