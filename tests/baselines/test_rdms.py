"""RDMs: plain twins of the dissimilarities and comparisons, unbiasedness, and bad input."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

import repshape as rs
from repshape.baselines import RDM, cka, rdm, rdm_ceiling, rsa
from repshape.errors import InputError, InputTypeError

FloatArray = npt.NDArray[np.float64]
METHODS = ("euclidean", "correlation", "cosine", "mahalanobis", "crossnobis", "poisson")
COMPARE = ("cosine", "pearson", "spearman", "rho-a", "tau-a", "whitened-cosine")


def trials(seed: int = 0, M: int = 8, L: int = 6, n: int = 4) -> FloatArray:
    rng = np.random.default_rng(seed)
    means = rng.gamma(4.0, 1.0, size=(M, 1, n))
    return np.asarray(np.abs(means + 0.7 * rng.normal(size=(M, L, n))))


def twin(x: FloatArray, method: str, a: int, b: int, S: FloatArray) -> float:
    """Return one dissimilarity, as the docstring says it, from trials (M, L, n)."""
    u, v = x[a].mean(axis=0), x[b].mean(axis=0)
    n, P = len(u), np.linalg.inv(S)
    if method == "euclidean":
        return float(sum((u - v) ** 2) / n)
    if method == "correlation":
        return float(1 - np.corrcoef(u, v)[0, 1])
    if method == "cosine":
        return float(1 - u @ v / np.sqrt(u @ u * (v @ v)))
    if method == "mahalanobis":
        return float((u - v) @ P @ (u - v) / n)
    if method == "poisson":
        p, q = (u + 0.1) / 1.1, (v + 0.1) / 1.1
        return float(sum(p * np.log(p / q) - p + q + q * np.log(q / p) - q + p) / n)
    # crossnobis: products of different trials only
    L = x.shape[1]
    within = [
        np.mean([x[c, k] @ P @ x[c, m] for k in range(L) for m in range(L) if k != m])
        for c in (a, b)
    ]
    return float((within[0] + within[1] - 2 * u @ P @ v) / n)


@pytest.mark.parametrize("method", METHODS)
def test_values_are_those_of_the_plain_formula(method: str) -> None:
    x = trials()
    A = np.random.default_rng(1).normal(size=(4, 6))
    S = A @ A.T
    noise = S if method in ("mahalanobis", "crossnobis") else None
    found = rdm(x, method, noise=noise)
    expected = [twin(x, method, a, b, S) for a, b in combinations(range(8), 2)]
    np.testing.assert_allclose(found.values, expected, rtol=1e-9, atol=1e-12)
    square = np.asarray(found)
    assert square.shape == (8, 8)
    assert square[2, 5] == square[5, 2] == found.values[2 * 8 - 3 + 5 - 2 - 1]


def test_crossnobis_of_runs_leaves_one_run_out() -> None:
    """Noise that all conditions of a run share cancels only if runs are kept apart."""
    x = trials(3)
    found = rdm(x, "crossnobis", noise=np.eye(4), trials="runs").values
    folds = []
    for run in range(6):
        test, train = x[:, run], np.delete(x, run, axis=1).mean(axis=1)
        pairs = combinations(range(8), 2)
        folds.append([(train[a] - train[b]) @ (test[a] - test[b]) / 4 for a, b in pairs])
    np.testing.assert_allclose(found, np.mean(folds, axis=0), atol=1e-12)
    shared = np.random.default_rng(0).normal(size=(1, 6, 4)) * 5
    moved = rdm(x + shared, "crossnobis", noise=np.eye(4), trials="runs").values
    np.testing.assert_allclose(moved, found, atol=1e-10)


@pytest.mark.parametrize("ragged", [False, True])
def test_crossnobis_is_unbiased_and_mahalanobis_is_not(ragged: bool) -> None:
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    truth = np.array([0.5, 0.0, 0.5])
    found: dict[str, list[FloatArray]] = {"crossnobis": [], "mahalanobis": []}
    for _ in range(600):
        counts = (2, 5, 3) if ragged else (3, 3, 3)
        x = rs.Trials([m + rng.normal(size=(c, 2)) for m, c in zip(means, counts, strict=True)])
        for method, values in found.items():
            values.append(rdm(x, method, noise=np.eye(2)).values)
    for method, values in found.items():
        error = np.std(values, axis=0) / np.sqrt(len(values))
        z = (np.mean(values, axis=0) - truth) / error
        if method == "crossnobis":
            assert np.abs(z).max() < 3.5
            assert np.min(values) < 0
        else:
            assert z.min() > 10


@pytest.mark.parametrize("compare", COMPARE)
@pytest.mark.parametrize("method", METHODS)
def test_rsa_is_one_minus_the_comparison_of_two_rdms(method: str, compare: str) -> None:
    x, y = trials(0), trials(1, n=5, L=7)
    squared = method in ("euclidean", "mahalanobis")
    found = rsa(x, y, dissimilarity=method, compare=compare, squared=squared)
    expected = 1 - rdm(x, method).compare(rdm(y, method), compare)
    assert found == pytest.approx(expected, abs=1e-12)


def test_rho_a_and_tau_a_are_means_over_ways_to_break_ties() -> None:
    x = RDM(np.array([1.0, 1.0, 2.0]), "euclidean")
    y = RDM(np.array([1.0, 3.0, 2.0]), "euclidean")
    broken = [np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 3.0])]
    for method in ("rho-a", "tau-a"):
        plain = "spearman" if method == "rho-a" else "tau-a"
        values = [RDM(one, "euclidean").compare(y, plain) for one in broken]
        assert x.compare(y, method) == pytest.approx(np.mean(values))
        assert x.compare(x, method) < 1


def test_whitened_cosine_of_squared_distances_is_linear_cka() -> None:
    x, y = trials(0), trials(1)
    assert rdm(x).compare(rdm(y), "whitened-cosine") == pytest.approx(1 - cka(x, y), rel=1e-10)


@pytest.mark.parametrize("method", ["cosine", "pearson"])
def test_no_rdm_is_better_than_the_upper_ceiling(method: str) -> None:
    rdms = [rdm(trials(k)) for k in range(4)]
    ceiling = rdm_ceiling(rdms, method)
    rng = np.random.default_rng(0)
    for one in [*rdms, *(RDM(rng.random(28), "euclidean") for _ in range(50))]:
        assert np.mean([one.compare(other, method) for other in rdms]) <= ceiling.upper + 1e-12


def test_values_have_the_unit_of_the_responses() -> None:
    x = trials()
    for factor in (1e-100, 1e100):
        np.testing.assert_allclose(rdm(x * factor).values, rdm(x).values * factor**2, rtol=1e-12)
        for method in ("mahalanobis", "crossnobis"):
            values = rdm(x * factor, method).values
            np.testing.assert_allclose(values, rdm(x, method).values, rtol=1e-6)
    with pytest.raises(InputError, match="too large for numbers"):
        rdm(x * 1e200)


def test_bad_input_gets_one_sentence() -> None:
    x = trials()
    with pytest.raises(InputError, match="The 'method' parameter of rdm must be one of 'euclid"):
        rdm(x, "l1")
    with pytest.raises(InputError, match=r"at least 3 conditions. Got 2"):
        rdm(x[:2])
    with pytest.raises(InputError, match=r"is for 'mahalanobis' and 'crossnobis'. Got the method"):
        rdm(x, noise=np.eye(4))
    with pytest.raises(InputError, match=r"of shape \(4, 4\). Got one of shape \(3, 3\)"):
        rdm(x, "crossnobis", noise=np.eye(3))
    with pytest.raises(InputError, match="must be symmetric"):
        rdm(x, "crossnobis", noise=np.triu(np.ones((4, 4))))
    with pytest.raises(InputError, match="at least two trials in every condition"):
        rdm(rs.Trials([x[0, :1], *x[1:]]), "crossnobis", noise=np.eye(4))
    with pytest.raises(InputError, match=r"same number of trials in every condition. Got 4 to 6"):
        rdm(rs.Trials([x[0, :4], *x[1:]]), "crossnobis", trials="runs")
    with pytest.raises(InputError, match="mean responses of at least 0"):
        rdm(x - 9, "poisson")
    with pytest.raises(InputError, match="no response to condition 3 in x"):
        rdm(x * (np.arange(8) != 3)[:, None, None], "cosine")
    with pytest.raises(InputError, match="Got 8 and 7 conditions"):
        rdm(x).compare(rdm(x[:7]))
    named = [rdm(rs.Trials(x, conditions=list(names))) for names in ("abcdefgh", "abcdefgx")]
    with pytest.raises(InputError, match="with other names"):
        named[0].compare(named[1])
    with pytest.raises(InputTypeError, match=r"RDMs are compared with RDMs. Got ndarray"):
        rdm(x).compare(x)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="A ceiling needs at least 2 RDMs"):
        rdm_ceiling([rdm(x)])
    with pytest.raises(InputError, match="'angular' parameter of rsa cannot be used with 'tau-a'"):
        rsa(x, x, compare="tau-a", angular=True)
