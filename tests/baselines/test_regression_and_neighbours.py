"""Predictivity, neighbours, distance correlation and CKA of few neurons: plain twins and peers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_predict

import repshape as rs
from repshape.baselines import cka, cknna, distance_correlation, mutual_knn, predictivity
from repshape.errors import InputError

FloatArray = npt.NDArray[np.float64]


def pair(seed: int = 0, M: int = 30) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(M, 3))
    x, y = (latent @ rng.normal(size=(3, n)) + 0.5 * rng.normal(size=(M, n)) for n in (6, 9))
    return np.asarray(x), np.asarray(y)


# Predictivity


class Ridge(RidgeCV):
    """Ridge regression whose penalties are in units of the variance of the predictors."""

    def fit(self, X: Any, y: Any) -> Any:
        self.alphas = np.logspace(-6, 2, 17) * ((X - X.mean(axis=0)) ** 2).sum()
        return super().fit(X, y)


@pytest.mark.parametrize("method", ["ridge", "pls"])
def test_predictivity_is_scikit_learns_held_out_r2(method: str) -> None:
    x, y = pair()
    model = (
        Ridge() if method == "ridge" else PLSRegression(4, scale=False, tol=1e-15, max_iter=5000)
    )
    folds = KFold(5, shuffle=True, random_state=3)
    expected = [
        r2_score(b, cross_val_predict(model, a, b, cv=folds), multioutput="variance_weighted")
        for a, b in ((x, y), (y, x))
    ]
    found = predictivity(x, y, method=method, n_components=4, random_state=3)
    # scikit-learn finds the components of PLS by iteration.
    precision = 1e-8 if method == "ridge" else 1e-6
    assert [found.raw_x_to_y, found.raw_y_to_x] == pytest.approx(expected, rel=precision)
    assert float(found) == pytest.approx(np.mean(expected), rel=precision)


def test_ridge_is_the_closed_form_with_the_best_leave_one_out_error() -> None:
    """The same by normal equations, with each condition left out in turn."""
    x, y = pair(1, M=12)
    error = 0.0
    for train, test in KFold(3, shuffle=True, random_state=0).split(x):
        a, b = x[train] - x[train].mean(axis=0), y[train] - y[train].mean(axis=0)

        def fit(a: FloatArray, b: FloatArray, penalty: float) -> FloatArray:
            return np.asarray(np.linalg.solve(a.T @ a + penalty * np.eye(6), a.T @ b))

        losses = []
        penalties = np.logspace(-6, 2, 17) * (a**2).sum()
        for penalty in penalties:
            hat = a @ np.linalg.solve(a.T @ a + penalty * np.eye(6), a.T) + 1 / len(a)
            rest = (b - hat @ b) / (1 - np.diag(hat))[:, None]
            losses.append((rest**2).sum())
        W = fit(a, b, penalties[int(np.argmin(losses))])
        predicted = y[train].mean(axis=0) + (x[test] - x[train].mean(axis=0)) @ W
        error += float(((y[test] - predicted) ** 2).sum())
    expected = 1 - error / ((y - y.mean(axis=0)) ** 2).sum()
    assert predictivity(x, y, n_folds=3).raw_x_to_y == pytest.approx(expected, rel=1e-8)


def test_the_ceiling_is_what_the_true_means_reach() -> None:
    """R^2 of the true means against noisy means, averaged over draws of the noise."""
    rng = np.random.default_rng(0)
    truth, reached, ceilings = rng.normal(size=(40, 5)), [], []
    for _ in range(60):
        y = truth[:, None] + 1.5 * rng.normal(size=(40, 4, 5))
        mean = y.mean(axis=1)
        total = ((mean - mean.mean(axis=0)) ** 2).sum()
        reached.append(1 - ((mean - truth) ** 2).sum() / total)
        ceilings.append(predictivity(truth, y).ceiling_y)
    error = np.std(np.subtract(ceilings, reached)) / np.sqrt(60)
    assert abs(np.mean(ceilings) - np.mean(reached)) < 3.5 * error
    assert np.mean(ceilings) < 0.8


def test_correction_restores_the_value_without_noise() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 4))
    y = x @ rng.normal(size=(4, 6)) + 2.0 * rng.normal(size=(200, 6))
    clean = predictivity(x, y).x_to_y
    noisy = predictivity(x, y[:, None] + 4 * rng.normal(size=(200, 5, 6)))
    assert noisy.raw_x_to_y < clean - 0.08
    assert noisy.x_to_y == pytest.approx(clean, abs=0.06)


def test_predictivity_of_unrelated_networks_is_about_zero_and_refusals() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 50, 8))
    assert -0.2 < float(predictivity(x, y)) < 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        line = np.outer(np.arange(10.0), [1.0, 2.0])  # one dimension, fewer than components
        assert float(predictivity(line, line, method="pls")) == pytest.approx(1.0)
    with pytest.raises(InputError, match=r"needs at least 5 conditions. Got 4"):
        predictivity(x[:4], y[:4])
    with pytest.raises(InputError, match=r"vary more than their noise. In y"):
        predictivity(
            x, np.tile(rng.normal(size=(2, 8)), (50, 1, 1)) * [[1.0], [-1.0]] + y[:, None] * 1e-3
        )
    with pytest.raises(InputError, match="The 'method' parameter of predictivity must be one of"):
        predictivity(x, y, method="lasso")


# Neighbours


def cosines(x: FloatArray) -> FloatArray:
    rows = x / np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(rows @ rows.T)


def neighbours(K: FloatArray, k: int) -> list[set[int]]:
    M = len(K)
    return [set(sorted(set(range(M)) - {m}, key=lambda j: -K[m, j])[:k]) for m in range(M)]


@pytest.mark.parametrize("k", [1, 5, 29])
def test_mutual_knn_counts_common_neighbours(k: int) -> None:
    x, y = pair()
    sets = zip(neighbours(cosines(x), k), neighbours(cosines(y), k), strict=True)
    assert mutual_knn(x, y, k=k) == pytest.approx(np.mean([len(a & b) / k for a, b in sets]))


def test_mutual_knn_of_independent_networks_is_chance_also_with_ties() -> None:
    rng = np.random.default_rng(0)
    tied = np.sign(rng.normal(size=(40, 1))) * [[1.0, 2.0]]  # two directions only
    values = [mutual_knn(tied, rng.normal(size=(40, 3)), k=4) for _ in range(200)]
    assert np.mean(values) == pytest.approx(4 / 39, abs=4 * np.std(values) / np.sqrt(200))


def hsic(K: FloatArray, L: FloatArray) -> float:
    """Song et al. (2012), eq. 5, by loops over rows and columns."""
    M = len(K)
    trace = sum(K[a, b] * L[b, a] for a in range(M) for b in range(M))
    middle = sum(K[a, b] * L[b, c] for a in range(M) for b in range(M) for c in range(M))
    total = trace + K.sum() * L.sum() / ((M - 1) * (M - 2)) - 2 * middle / (M - 2)
    return float(total / (M * (M - 3)))


@pytest.mark.parametrize("k", [4, 8])
def test_cknna_is_hsic_of_common_neighbours(k: int) -> None:
    x, y = pair(3, M=14)
    K, L = cosines(x), cosines(y)
    masks = []
    for one in (K, L):
        mask = np.zeros_like(one)
        for m, found in enumerate(neighbours(one, k)):
            mask[m, sorted(found)] = 1.0
        masks.append(mask)
    both = masks[0] * masks[1]
    own = [hsic(A * one, A * one) for A, one in zip(masks, (K, L), strict=True)]
    expected = hsic(both * K, both * L) / np.sqrt(own[0] * own[1])
    assert cknna(x, y, k=k) == pytest.approx(expected, rel=1e-10)


def test_cknna_of_all_neighbours_is_debiased_cka_of_cosines() -> None:
    x, y = pair(4, M=12)
    x, y = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in (x, y))
    assert cknna(x, y, k=11) == pytest.approx(1 - cka(x, y, debiased=True), rel=1e-9)


def test_neighbours_refuse_what_has_none() -> None:
    x, y = pair(M=8)
    with pytest.raises(InputError, match=r"Mutual k-NN needs at least 11 conditions. Got 8"):
        mutual_knn(x, y)
    with pytest.raises(InputError, match="'k' parameter of cknna must be an integer of at least 2"):
        cknna(x, y, k=1)
    with pytest.raises(InputError, match="only zeros in condition 2 of x"):
        mutual_knn(x * (np.arange(8) != 2)[:, None], y, k=3)


# Distance correlation


def test_distance_correlation_by_loops() -> None:
    x, y = pair(5, M=9)
    D, E = (np.array([[np.linalg.norm(a - b) for b in z] for a in z]) for z in (x, y))
    A, B = (
        np.array(
            [[d[a, b] - d[a].mean() - d[b].mean() + d.mean() for b in range(9)] for a in range(9)]
        )
        for d in (D, E)
    )
    expected = np.sqrt((A * B).sum() / np.sqrt((A * A).sum() * (B * B).sum()))
    assert distance_correlation(x, y) == pytest.approx(expected, rel=1e-12)
    ratio = hsic(D, E) / np.sqrt(hsic(D, D) * hsic(E, E))
    debiased = distance_correlation(x, y, debiased=True)
    assert np.sign(debiased) * debiased**2 == pytest.approx(ratio, rel=1e-9)


def test_distance_correlation_sees_dependence_without_correlation() -> None:
    x = np.linspace(-1, 1, 41)[:, None]
    y = x**2
    assert cka(x, y) == pytest.approx(1.0)  # no linear relation
    assert distance_correlation(x, y) > 0.4
    rng = np.random.default_rng(0)
    values = [
        distance_correlation(*rng.normal(size=(2, 15, 200)), debiased=True) for _ in range(40)
    ]
    assert abs(np.mean(np.sign(values) * np.square(values))) < 0.05
    assert distance_correlation(*rng.normal(size=(2, 15, 200))) > 0.9
    with pytest.raises(InputError, match="not all equally far apart"):
        distance_correlation(np.eye(5), rng.normal(size=(5, 2)), debiased=True)


# CKA of few neurons


def test_norms_of_few_neurons_are_products_of_different_neurons() -> None:
    x, y = pair(6, M=10)
    hollow = 1 - np.eye(10)
    grams = [[np.outer(one, one) * hollow for one in z.T] for z in (x, y)]
    top = np.mean([hsic(k, m) for k in grams[0] for m in grams[1]])
    own = [
        np.mean([hsic(k, m) for a, k in enumerate(z) for b, m in enumerate(z) if a != b])
        for z in grams
    ]
    found = cka(x, y, debiased=True, few_neurons=True)
    assert 1 - found == pytest.approx(top / np.sqrt(own[0] * own[1]), rel=1e-9)


def test_corrections_of_cka_for_few_conditions_and_few_neurons() -> None:
    """Populations with CKA 0.49, of which 50 conditions and 10 neurons are seen."""
    rng = np.random.default_rng(0)
    spread = np.arange(1, 31) ** -0.5
    found = []
    for _ in range(150):
        z, e = rng.normal(size=(2, 50, 30))
        x, y = (
            (one * spread) @ rng.normal(size=(30, 10)) for one in (z, 0.7 * z + np.sqrt(0.51) * e)
        )
        found.append([1 - cka(x, y, debiased=True), 1 - cka(x, y, debiased=True, few_neurons=True)])
    few_conditions, both = np.median(found, axis=0)
    assert few_conditions < 0.49 - 0.2
    assert both == pytest.approx(0.49, abs=0.06)


def test_few_neurons_refusals() -> None:
    x, y = pair(7)
    with pytest.raises(InputError, match=r"needs kernel='linear', debiased=True and angular=False"):
        cka(x, y, few_neurons=True)
    with pytest.raises(InputError, match=r"at least 2 neurons. Got 1 in y"):
        cka(x, y[:, :1], debiased=True, few_neurons=True)
    assert rs.baselines.MEASURES["cka"](x, y, debiased=True, few_neurons=True) < 1
