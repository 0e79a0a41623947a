"""The baselines: invariances, ranges, metric axioms, the toy networks, and bad input."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import ortho_group

import repshape as rs
from repshape.baselines import cca, cka, pwcca, riemannian, rsa, svcca
from repshape.errors import InputError, InputTypeError

FloatArray = npt.NDArray[np.float64]
Measure = Callable[..., float]

RSA = {
    f"rsa-{d}-{c}": partial(rsa, dissimilarity=d, compare=c)
    for d in ("euclidean", "correlation", "mahalanobis")
    for c in ("pearson", "spearman", "cosine")
}
CKA = {
    f"cka-{k}-{'debiased' if b else 'biased'}": partial(cka, kernel=k, debiased=b)
    for k in ("linear", "rbf")
    for b in (False, True)
}
CANONICAL = {"cca": cca, "svcca": svcca, "pwcca": pwcca}
ALL: dict[str, Measure] = {**RSA, **CKA, **CANONICAL, "riemannian": riemannian}
ANGLES = {name: partial(ALL[name], angular=True) for name in (*RSA, *CKA)}


def every(*names: str) -> pytest.MarkDecorator:
    """Parametrise a test by the measures whose names start with a prefix."""
    chosen = [name for name in ALL if name.startswith(names)]
    return pytest.mark.parametrize("measure", [ALL[name] for name in chosen], ids=chosen)


def trials(n: int, seed: int = 0, M: int = 12, L: int = 6) -> FloatArray:
    rng = np.random.default_rng([seed, n])
    means = rng.normal(size=(M, n)) * np.linspace(2, 0.5, n) + rng.normal(size=n)
    return np.asarray(means[:, None] + 0.3 * rng.normal(size=(M, L, n)))


def orthogonal(n: int) -> FloatArray:
    return np.asarray(ortho_group.rvs(n, random_state=np.random.default_rng(5)))


# All measures


@every("")
def test_same_network_is_at_zero_and_order_does_not_matter(measure: Measure) -> None:
    x, y = trials(4), trials(3, 1)
    assert measure(x, x) == pytest.approx(0.0, abs=1e-12)
    assert measure(x, y) > 1e-3
    assert isinstance(measure(x, y), float)
    assert measure(x, y) == pytest.approx(measure(y, x), rel=1e-10)


@every("")
def test_all_kinds_of_networks_are_taken_and_plug_into_pairwise(measure: Measure) -> None:
    x, y = trials(4), trials(3, 1)
    ragged = [x[0, :4], *x[1:]]
    moments = rs.estimate_moments(trials(5, 2), "unbiased")
    D = rs.pairwise([x, rs.Trials(ragged), (y.mean(1), np.ones((12, 3))), moments], measure)
    assert (D.values[np.triu_indices(4, 1)] > 0).all()
    assert np.isfinite(D.values).all()


@every("rsa-euclidean", "rsa-correlation", "cka", "cca", "svcca", "pwcca", "riemannian")
def test_only_means_count(measure: Measure) -> None:
    x, y = trials(4), trials(3, 1)
    expected = measure(x.mean(axis=1), y.mean(axis=1))
    assert measure(x, y) == pytest.approx(expected, rel=1e-12)


RANGES = {
    **{name: 1.0 if "cosine" in name else 2.0 for name in RSA},
    **{name: 2.0 if "debiased" in name else 1.0 for name in CKA},
    **dict.fromkeys(CANONICAL, 1.0),
}


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("seed", range(8))
def test_range(name: str, seed: int) -> None:
    x, y = trials(3, seed, M=6), trials(4, seed + 100, M=6)
    assert 0.0 <= ALL[name](x, y) <= RANGES[name]
    if name in ANGLES:
        assert 0.0 <= ANGLES[name](x, y) <= np.pi * RANGES[name] / 2


def test_the_far_end_of_the_ranges_is_reached() -> None:
    x = np.array([[0.0], [1.0], [3.0]])  # dissimilarities 1, 3, 2
    y = np.array([[0.0], [3.0], [1.0]])  # dissimilarities 3, 1, 2
    assert rsa(x, y) == pytest.approx(2.0)
    assert rsa(x, y, compare="spearman") == pytest.approx(2.0)
    assert rsa(x, y, angular=True) == pytest.approx(np.pi)
    a, b = np.eye(4)[:, :1] - np.eye(4)[:, 1:2], np.eye(4)[:, 2:3] - np.eye(4)[:, 3:]
    for measure in (cka, cca, svcca, pwcca):
        assert measure(a, b) == pytest.approx(1.0)
    assert cka(a, b, angular=True) == pytest.approx(np.pi / 2)


# Invariances, as the docstrings state them

ROTATED = ("rsa-euclidean", "rsa-mahalanobis", "cka", "cca", "svcca", "riemannian")
SHIFTED = ("rsa-euclidean", "rsa-mahalanobis", "cka", "cca", "svcca", "pwcca")
SCALED = (*SHIFTED, "rsa-correlation")


@every(*ROTATED)
def test_invariant_to_orthogonal_maps(measure: Measure) -> None:
    x, y = trials(4), trials(3, 1)
    turned = x @ orthogonal(4)
    assert measure(turned, y) == pytest.approx(measure(x, y), rel=1e-9)
    assert measure(x, turned) == pytest.approx(0.0, abs=1e-12)


@every(*SHIFTED)
def test_invariant_to_shifts(measure: Measure) -> None:
    x, y = trials(4), trials(3, 1)
    assert measure(x + np.arange(4.0), y) == pytest.approx(measure(x, y), rel=1e-9)


@every(*SCALED)
def test_invariant_to_scale(measure: Measure) -> None:
    x, y = trials(4), trials(3, 1)
    assert measure(7 * x, y) == pytest.approx(measure(x, y), rel=1e-9)


@every("")
def test_invariant_to_permutations(measure: Measure) -> None:
    x, y = trials(4), trials(3, 1)
    assert measure(x[..., [2, 0, 3, 1]], y) == pytest.approx(measure(x, y), rel=1e-9)


def test_cca_is_invariant_to_invertible_maps() -> None:
    x, y = trials(4), trials(3, 1)
    A = np.random.default_rng(0).normal(size=(4, 4))
    assert cca(x @ A, y) == pytest.approx(cca(x, y), rel=1e-9)
    assert svcca(x @ A, y, variance=0.8) != pytest.approx(svcca(x, y, variance=0.8), rel=1e-2)


@pytest.mark.parametrize("shared", [2, 3, 4])
def test_pwcca_is_symmetric_where_several_correlations_are_one(shared: int) -> None:
    """Two networks that share several dimensions have as many correlations of 1."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        common, first, second = rng.normal(size=(3, 30, 5))
        x = np.hstack([common[:, :shared], first]) @ rng.normal(size=(shared + 5, shared + 5))
        y = np.hstack([common[:, :shared], second]) @ rng.normal(size=(shared + 5, shared + 5))
        assert pwcca(x, y) == pytest.approx(pwcca(y, x), rel=1e-9)
        # The original definition has a unique value too, whatever the signs of the neurons.
        signs = rng.choice([-1.0, 1.0], size=y.shape[1])
        one = pwcca(x, y, symmetric=False)
        assert pwcca(x, y * signs, symmetric=False) == pytest.approx(one, rel=1e-9)


def test_pwcca_is_invariant_to_signs_but_not_rotations_unless_it_is_zero() -> None:
    x, y = trials(4), trials(3, 1)
    assert pwcca(x * [1, -1, 1, -1], y) == pytest.approx(pwcca(x, y), rel=1e-9)
    assert pwcca(x @ orthogonal(4), y) != pytest.approx(pwcca(x, y), rel=1e-3)
    assert pwcca(x @ orthogonal(4), x) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("compare", ["pearson", "spearman", "cosine"])
def test_mahalanobis_rsa_is_invariant_to_maps_of_responses_and_noise(compare: str) -> None:
    x, y = (rs.estimate_moments(trials(n, n), "unbiased") for n in (4, 3))
    A = np.random.default_rng(0).normal(size=(4, 4))
    mapped = rs.Gaussians(x.means @ A, A.T @ x.covariances @ A)
    measure = partial(rsa, dissimilarity="mahalanobis", compare=compare)
    assert measure(mapped, y) == pytest.approx(measure(x, y), rel=1e-8)


def test_correlation_rsa_ignores_a_constant_in_each_condition_but_not_rotations() -> None:
    x, y = trials(4), trials(3, 1)
    measure = partial(rsa, dissimilarity="correlation")
    raised = x + np.arange(12.0)[:, None, None]
    assert measure(raised, y) == pytest.approx(measure(x, y), rel=1e-9)
    assert measure(x @ orthogonal(4), y) != pytest.approx(measure(x, y), rel=1e-3)


def test_spearman_sees_only_the_order_of_dissimilarities() -> None:
    x, y = trials(4), trials(3, 1)
    plain, squared = (rsa(x, y, compare="spearman", squared=s) for s in (False, True))
    assert plain == pytest.approx(squared, rel=1e-12)
    assert rsa(x, y) != pytest.approx(rsa(x, y, squared=True), rel=1e-3)


@pytest.mark.parametrize("c", [0.5, 3.0])
def test_riemannian_distance_of_a_multiple_is_its_logarithm(c: float) -> None:
    x = trials(4)
    assert riemannian(x, c * x) == pytest.approx(2 * np.sqrt(12) * abs(np.log(c)), rel=1e-10)


def test_svcca_of_all_variance_is_cca() -> None:
    x, y = trials(4), trials(3, 1)
    assert svcca(x, y, variance=1.0) == cca(x, y)


# Metrics


@pytest.mark.parametrize("measure", [*ANGLES.values(), riemannian], ids=[*ANGLES, "riemannian"])
def test_triangle_inequality(measure: Measure) -> None:
    """Angles between vectors, and geodesic distances, satisfy it."""
    networks = [trials(n, seed, M=6) for seed, n in enumerate((2, 3, 4, 3, 2, 4))]
    D = rs.pairwise(networks, measure).values
    slack = D[:, :, None] + D[None, :, :] - D[:, None, :]  # d_ik + d_kj - d_ij
    assert slack.min() > -1e-12


def test_cca_and_one_less_a_cosine_are_not_metrics() -> None:
    """A network contains its part; 1 - cos of an angle is more than twice that of its half."""
    x = trials(4)
    assert cca(x, x[..., :2]) == pytest.approx(0.0, abs=1e-12)
    rng = np.random.default_rng(0)
    a, c = rng.normal(size=(2, 8, 1))
    both = np.hstack([a, c])
    assert cka(a, c) > cka(a, both) + cka(both, c)
    assert cka(a, c, angular=True) <= cka(a, both, angular=True) + cka(both, c, angular=True)


# The paper's toy networks: equal means up to rotation, different noise (Supplementary Figure 3)

BLIND = [name for name in ALL if not name.startswith("rsa-correlation")]


@pytest.mark.parametrize("name", BLIND)
def test_toy_networks_are_all_the_same(name: str) -> None:
    """Means on one line make even Mahalanobis dissimilarities proportional."""
    toy = rs.datasets.toy_networks(5, 4)
    assert rs.pairwise(toy, ALL[name]).values.max() < 1e-13
    gaussian = rs.pairwise(toy, rs.GaussianShapeMetric(n_starts=1))
    assert np.median(gaussian.condensed()) > 0.1


@pytest.mark.parametrize("distance", ["euclidean", "angular"])
@pytest.mark.parametrize("whitening", [0.0, 1.0])
def test_toy_networks_are_all_the_same_for_procrustes(distance: str, whitening: float) -> None:
    metric = rs.ProcrustesShapeMetric(distance=distance, whitening=whitening)
    assert rs.pairwise(rs.datasets.toy_networks(5, 4), metric).values.max() < 1e-13


# Rounding


def test_rounding_does_not_break_ties() -> None:
    """Equally spaced conditions have tied dissimilarities, which rotations change by rounding."""
    x = np.outer(np.arange(6.0), [1.0, 2.0, -0.7])
    turned = x @ orthogonal(3)
    assert rsa(x, turned, compare="spearman") == pytest.approx(0.0, abs=1e-15)


def test_near_copies_keep_their_digits() -> None:
    """1 - cos of an angle e is e^2 / 2; a difference from 1 would lose it below 1e-16."""
    x = trials(4).mean(axis=1)
    step = 1e-9 * trials(4, 1).mean(axis=1)
    for measure in (rsa, cka):
        angle = measure(x, x + step, angular=True)
        assert 1e-11 < angle < 1e-8
        assert measure(x, x + step) == pytest.approx(angle**2 / 2, rel=1e-6)


def test_linear_cka_is_the_same_in_few_coordinates() -> None:
    """Silent neurons change only the branch of the code."""
    x, y = (trials(3, seed).mean(axis=1) for seed in (0, 1))
    wide = np.pad(x, ((0, 0), (0, 20)))
    assert cka(wide, y) == pytest.approx(cka(x, y), rel=1e-12)


# Bad input


@every("")
def test_other_conditions_are_refused(measure: Measure) -> None:
    with pytest.raises(InputError, match="same conditions in the same order"):
        measure(trials(3), trials(3, M=11))


@every("rsa", "cka", "cca", "svcca", "pwcca")
def test_constant_responses_are_refused(measure: Measure) -> None:
    x = trials(4)
    constant = np.tile([1.0, 2.0, 0.3, 0.1], (12, 3, 1))  # means of 0.1 round
    with pytest.raises(InputError, match="same response to every condition in y"):
        measure(x, constant)


@every("rsa", "cka", "cca", "svcca", "pwcca")
def test_too_few_conditions_are_refused(measure: Measure) -> None:
    with pytest.raises(InputError, match=r"needs at least [34] conditions. Got 2."):
        measure(trials(3, M=2), trials(3, M=2))


def test_debiased_cka_needs_four_conditions() -> None:
    x = trials(3, M=3)
    assert cka(x, x) == pytest.approx(0.0, abs=1e-15)
    with pytest.raises(InputError, match=r"Debiased CKA needs at least 4 conditions. Got 3."):
        cka(x, x, debiased=True)


def test_equal_dissimilarities_have_no_correlation() -> None:
    with pytest.raises(InputError, match="The pearson correlation needs dissimilarities that"):
        rsa(np.eye(4), trials(3, M=4))
    assert rsa(np.eye(4), np.eye(4), compare="cosine") == pytest.approx(0.0, abs=1e-15)
    with pytest.raises(InputError, match="not all equally similar"):
        cka(np.eye(5), trials(3, M=5), debiased=True)


def test_patterns_without_variation_have_no_correlation() -> None:
    x = trials(3)
    x[4] = 2.0
    with pytest.raises(InputError, match="all neurons to condition 4 in x"):
        rsa(x, trials(3), dissimilarity="correlation")
    same = np.arange(12.0)[:, None] + [0.1, 0.7, 0.2]
    with pytest.raises(InputError, match="same pattern over neurons in every condition of y"):
        rsa(trials(3), same, dissimilarity="correlation")
    with pytest.raises(InputError, match="cannot be used with 'correlation'"):
        rsa(x, x, dissimilarity="correlation", squared=True)


def test_mahalanobis_needs_noise() -> None:
    measure = partial(rsa, dissimilarity="mahalanobis")
    x = trials(3)
    with pytest.raises(InputError, match="at least two trials in some condition"):
        measure(x, x[:, :1])
    thin = rs.Gaussians.from_factors(x.mean(axis=1), np.ones((12, 3, 1)))
    for silent in (x.mean(axis=1), np.repeat(x[:, :1], 3, axis=1), thin):
        with pytest.raises(InputError, match=r"noise in every direction .* singular .* in x"):
            measure(silent, x)


@pytest.mark.parametrize("measure", [cca, pwcca])
def test_cca_refuses_networks_that_contain_all_others(measure: Measure) -> None:
    with pytest.raises(InputError, match=r"12 conditions, whose .* all 11 dimensions in y"):
        measure(trials(3), trials(11))
    assert measure(trials(3), trials(10)) >= 0.0


def test_equal_responses_leave_no_bandwidth() -> None:
    x = np.zeros((6, 2))
    x[0] = 1.0
    with pytest.raises(InputError, match="median distance"):
        cka(x, trials(2, M=6), kernel="rbf")


def test_silent_networks_have_no_second_moments() -> None:
    with pytest.raises(InputError, match="Got only zeros in y"):
        riemannian(trials(3), np.zeros((12, 2)))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            partial(rsa, dissimilarity="chebyshev"),
            "The 'dissimilarity' parameter of rsa must be one",
        ),
        (partial(rsa, compare="kendall"), "The 'compare' parameter of rsa must be one of"),
        (partial(cka, kernel="cubic"), "The 'kernel' parameter of cka must be one of 'linear'"),
        (partial(cka, bandwidth=0.0), "The 'bandwidth' parameter of cka must be a float in"),
        (partial(svcca, variance=0.0), r"must be a float in \(0, 1\]. Got 0.0"),
        (partial(riemannian, shrinkage=0), r"must be a float in \(0, 1\]. Got 0 instead"),
    ],
)
def test_bad_options_get_one_sentence(call: Measure, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        call(trials(3), trials(3, 1))


def test_bad_networks_are_named() -> None:
    with pytest.raises(InputTypeError, match="The y must be Trials, Gaussians"):
        cka(trials(3), "mouse")
