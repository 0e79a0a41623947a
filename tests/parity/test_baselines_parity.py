"""Baselines compared with SciPy, scikit-learn or a second formula, also for unequal n."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.linalg import logm, sqrtm, subspace_angles
from scipy.spatial.distance import cosine, pdist
from scipy.stats import pearsonr, spearmanr
from sklearn.covariance import ledoit_wolf
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

import repshape as rs
from repshape.baselines import cca, cka, pwcca, riemannian, rsa, svcca

FloatArray = npt.NDArray[np.float64]
SIZES = ((4, 4), (3, 7), (7, 3), (5, 40))
COMPARE = {
    "pearson": lambda a, b: 1 - pearsonr(a, b).statistic,
    "spearman": lambda a, b: 1 - spearmanr(a, b).statistic,
    "cosine": cosine,
}


def trials(n: int, seed: int = 0, M: int = 12, L: int = 6) -> FloatArray:
    """Return trials of M conditions, whose means are similar for all seeds."""
    rng = np.random.default_rng([seed, n])
    latent = np.random.default_rng(9).normal(size=(M, 3))
    means = latent @ rng.normal(size=(3, n)) + 0.5 * rng.normal(size=(M, n)) + rng.normal(size=n)
    noise = rng.normal(size=(M, L, n)) @ rng.normal(size=(n, n))
    return np.asarray(means[:, None] + 0.3 * noise)


def close(found: float, expected: float) -> None:
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-10)


# RSA


@pytest.mark.parametrize(("n_x", "n_y"), SIZES)
@pytest.mark.parametrize("compare", COMPARE)
@pytest.mark.parametrize("dissimilarity", ["euclidean", "correlation"])
def test_rsa_is_scipys_pdist_and_correlations(
    n_x: int, n_y: int, compare: str, dissimilarity: str
) -> None:
    x, y = trials(n_x), trials(n_y, 1)
    rdms = [pdist(z.mean(axis=1), dissimilarity) for z in (x, y)]
    close(rsa(x, y, dissimilarity=dissimilarity, compare=compare), COMPARE[compare](*rdms))
    angle = rsa(x, y, dissimilarity=dissimilarity, compare=compare, angular=True)
    close(angle, np.arccos(1 - COMPARE[compare](*rdms)))


@pytest.mark.parametrize(("n_x", "n_y"), SIZES)
@pytest.mark.parametrize("compare", COMPARE)
def test_mahalanobis_rsa_is_scipys_with_scikit_learns_covariance(
    n_x: int, n_y: int, compare: str
) -> None:
    x, y = trials(n_x), trials(n_y, 1)
    rdms = []
    for z in (x, y):
        residuals = (z - z.mean(axis=1, keepdims=True)).reshape(-1, z.shape[2])
        covariance, _ = ledoit_wolf(residuals, assume_centered=True)
        VI = np.linalg.inv(covariance)
        rdms.append(pdist(z.mean(axis=1), "mahalanobis", VI=VI))
    close(rsa(x, y, dissimilarity="mahalanobis", compare=compare), COMPARE[compare](*rdms))
    squared = rsa(x, y, dissimilarity="mahalanobis", compare=compare, squared=True)
    close(squared, COMPARE[compare](*(rdm**2 for rdm in rdms)))


@pytest.mark.parametrize("kind", ["full", "diagonal", "factors"])
def test_mahalanobis_rsa_of_gaussians_takes_their_mean_covariance(kind: str) -> None:
    x, y = trials(4), trials(3, 1)
    networks, rdms = [], []
    for z in (x, y):
        moments = rs.estimate_moments(z)
        mu, covariances = moments.means, moments.covariances
        if kind == "diagonal":
            covariances = moments.variances[:, :, None] * np.eye(z.shape[2])
        rdms.append(pdist(mu, "mahalanobis", VI=np.linalg.inv(covariances.mean(axis=0))))
        if kind == "factors":
            networks.append(moments)
        else:
            networks.append(rs.Gaussians(mu, covariances if kind == "full" else moments.variances))
    close(rsa(*networks, dissimilarity="mahalanobis"), 1 - pearsonr(*rdms).statistic)


# CKA


def hsic(K: FloatArray, L: FloatArray) -> float:
    """Return tr(K H L H), with the centring matrices written out."""
    H = np.eye(len(K)) - 1 / len(K)
    return float(np.trace(K @ H @ L @ H))


def unbiased_hsic(K: FloatArray, L: FloatArray) -> float:
    """Song et al. (2012), eq. 5."""
    M = len(K)
    K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    ones = np.ones(M)
    total = np.trace(K @ L) + (ones @ K @ ones) * (ones @ L @ ones) / ((M - 1) * (M - 2))
    return float((total - 2 * (ones @ K @ L @ ones) / (M - 2)) / (M * (M - 3)))


def gram(z: FloatArray, kernel: str, bandwidth: float) -> FloatArray:
    mu = z.mean(axis=1)
    if kernel == "linear":
        return np.asarray(mu @ mu.T)
    scale = bandwidth * np.median(euclidean_distances(mu)[np.triu_indices(len(mu), 1)])
    return np.asarray(rbf_kernel(mu, gamma=1 / (2 * scale**2)))


@pytest.mark.parametrize(("n_x", "n_y"), SIZES)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("debiased", [False, True])
def test_cka_is_a_ratio_of_hsic(n_x: int, n_y: int, kernel: str, debiased: bool) -> None:
    x, y = trials(n_x), trials(n_y, 1)
    K, L = gram(x, kernel, 0.7), gram(y, kernel, 0.7)
    criterion = unbiased_hsic if debiased else hsic
    expected = criterion(K, L) / np.sqrt(criterion(K, K) * criterion(L, L))
    options = {"kernel": kernel, "debiased": debiased, "bandwidth": 0.7}
    close(cka(x, y, **options), 1 - expected)
    close(cka(x, y, angular=True, **options), np.arccos(expected))


def test_linear_cka_is_kornbliths_ratio_of_cross_covariances() -> None:
    x, y = trials(3), trials(5, 1)
    X, Y = (z.mean(axis=1) - z.mean(axis=(0, 1)) for z in (x, y))
    top = np.linalg.norm(X.T @ Y) ** 2
    close(cka(x, y), 1 - top / (np.linalg.norm(X.T @ X) * np.linalg.norm(Y.T @ Y)))


def test_centred_rsa_of_squared_distances_is_linear_cka() -> None:
    """Williams (2024): -1/2 H D H is the centred Gram matrix of squared distances D."""
    x, y = trials(3), trials(5, 1)
    H = np.eye(12) - 1 / 12
    grams = [-0.5 * H @ euclidean_distances(z.mean(axis=1), squared=True) @ H for z in (x, y)]
    close(cka(x, y), cosine(grams[0].ravel(), grams[1].ravel()))


# CCA


@pytest.mark.parametrize(("n_x", "n_y"), [(4, 4), (3, 7), (7, 3)])
def test_cca_is_the_mean_cosine_of_principal_angles(n_x: int, n_y: int) -> None:
    x, y = trials(n_x), trials(n_y, 1)
    X, Y = (z.mean(axis=1) - z.mean(axis=(0, 1)) for z in (x, y))
    close(cca(x, y), 1 - np.cos(subspace_angles(X, Y)).mean())


def test_cca_is_scikit_learns() -> None:
    x, y = (trials(n, seed).mean(axis=1) for n, seed in ((3, 0), (5, 1)))
    scores = CCA(n_components=3, max_iter=10_000, tol=1e-14).fit(x, y).transform(x, y)
    rho = [pearsonr(a, b).statistic for a, b in zip(*(s.T for s in scores), strict=True)]
    close(cca(x, y), 1 - np.mean(rho))


@pytest.mark.parametrize(("n_x", "n_y"), SIZES)
@pytest.mark.parametrize("variance", [0.8, 0.95])
def test_svcca_is_the_principal_angles_of_scikit_learns_components(
    n_x: int, n_y: int, variance: float
) -> None:
    x, y = trials(n_x), trials(n_y, 1)
    reduced = [PCA(variance, svd_solver="full").fit_transform(z.mean(axis=1)) for z in (x, y)]
    expected = 1 - np.cos(subspace_angles(*reduced)).mean()
    close(svcca(x, y, variance=variance), expected)


def canonical_variates(X: FloatArray, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return correlations and variates of X from the eigenproblem of CCA (Hotelling)."""
    Sxx, Syy, Sxy = X.T @ X, Y.T @ Y, X.T @ Y
    values, W = np.linalg.eig(np.linalg.solve(Sxx, Sxy) @ np.linalg.solve(Syy, Sxy.T))
    order = np.argsort(-values.real)[: min(X.shape[1], Y.shape[1])]
    H = X @ W[:, order].real
    return np.sqrt(values.real[order]), H / np.linalg.norm(H, axis=0)


@pytest.mark.parametrize(("n_x", "n_y"), [(4, 4), (3, 7), (7, 3)])
def test_pwcca_is_morcos_formula_on_hotellings_variates(n_x: int, n_y: int) -> None:
    x, y = trials(n_x), trials(n_y, 1)
    X, Y = (z.mean(axis=1) - z.mean(axis=(0, 1)) for z in (x, y))
    results = []
    for A, B in ((X, Y), (Y, X)):
        rho, H = canonical_variates(A, B)
        alpha = [sum(abs(h @ neuron) for neuron in A.T) for h in H.T]
        results.append(1 - np.average(rho, weights=alpha))
    close(pwcca(x, y, symmetric=False), results[0])
    close(pwcca(y, x, symmetric=False), results[1])
    close(pwcca(x, y), np.mean(results))


# Riemannian


@pytest.mark.parametrize(("n_x", "n_y"), SIZES)
@pytest.mark.parametrize("shrinkage", [0.01, 0.5])
def test_riemannian_is_the_norm_of_the_matrix_logarithm(
    n_x: int, n_y: int, shrinkage: float
) -> None:
    x, y = trials(n_x), trials(n_y, 1)
    moments = []
    for z in (x, y):
        G = sum(np.outer(neuron, neuron) for neuron in z.mean(axis=1).T) / z.shape[2]
        moments.append((1 - shrinkage) * G + shrinkage * np.mean(np.diag(G)) * np.eye(12))
    half = np.linalg.inv(sqrtm(moments[0]))
    close(riemannian(x, y, shrinkage=shrinkage), np.linalg.norm(logm(half @ moments[1] @ half)))
