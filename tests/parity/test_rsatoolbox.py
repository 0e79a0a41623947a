"""RSA and the Procrustes angle, compared with rsatoolbox."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from rsatoolbox.data import Dataset
from rsatoolbox.inference import boot_noise_ceiling
from rsatoolbox.rdm import RDMs, calc_rdm, compare

import repshape as rs
from repshape.baselines import RDM, rdm, rdm_ceiling, rsa

FloatArray = npt.NDArray[np.float64]

METHODS = {"pearson": "corr", "spearman": "spearman", "cosine": "cosine"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dissimilarity", ["euclidean", "correlation", "mahalanobis"])
def test_rsa(method: str, dissimilarity: str) -> None:
    rng = np.random.default_rng(0)
    networks, rdms = [], []
    for n in (4, 7):
        mu, A = rng.normal(size=(12, n)), rng.normal(size=(n, 2 * n))
        networks.append((mu, np.broadcast_to(A @ A.T, (12, n, n))))
        noise = np.linalg.inv(A @ A.T) if dissimilarity == "mahalanobis" else None
        rdms.append(calc_rdm(Dataset(mu), method=dissimilarity, noise=noise))
    squared = dissimilarity != "correlation"  # rsatoolbox squares the others
    found = rsa(*networks, dissimilarity=dissimilarity, compare=method, squared=squared)
    expected = 1 - compare(*rdms, method=METHODS[method]).item()
    assert found == pytest.approx(expected, rel=1e-8)


def test_cosine_of_the_procrustes_angle_is_the_bures_similarity() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 4)), rng.normal(size=(12, 7))
    rdms = [calc_rdm(Dataset(z), method="euclidean") for z in (x, y)]
    angle = rs.ProcrustesShapeMetric(distance="angular").distance(x, y)
    assert np.cos(angle) == pytest.approx(compare(*rdms, method="bures").item(), rel=1e-7)


# RDMs as objects: the same numbers, not only the same correlations

COMPARE = METHODS | {"rho-a": "rho-a", "tau-a": "tau-a", "whitened-cosine": "cosine_cov"}


def dataset(counts: FloatArray) -> Dataset:
    """Return trials (M, L, n) as rsatoolbox has them: a row each, with condition and run."""
    M, L, n = counts.shape
    labels = {
        "condition": [f"c{m}" for m in range(M) for _ in range(L)],
        "run": [f"r{r}" for _ in range(M) for r in range(L)],
    }
    return Dataset(counts.reshape(M * L, n), obs_descriptors=labels)


def recorded(seed: int, n: int = 5) -> FloatArray:
    rng = np.random.default_rng([seed, n])
    rates = rng.gamma(3.0, 2.0, size=(9, 1, n))
    return np.asarray(rng.poisson(rates, size=(9, 6, n)), dtype=np.float64)


def assert_same(found: FloatArray, expected: FloatArray) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["euclidean", "correlation", "poisson", "mahalanobis"])
def test_rdm(method: str) -> None:
    x = recorded(0)
    A = np.random.default_rng(1).normal(size=(5, 8))
    noise = A @ A.T if method == "mahalanobis" else None
    precision = None if noise is None else np.linalg.inv(noise)
    theirs = calc_rdm(dataset(x), method=method, descriptor="condition", noise=precision)
    assert_same(rdm(x, method, noise=noise).values, theirs.get_vectors()[0])


@pytest.mark.parametrize("white", [False, True])
def test_crossnobis_of_runs(white: bool) -> None:
    x = recorded(2)
    A = np.random.default_rng(1).normal(size=(5, 8))
    noise = A @ A.T if white else np.eye(5)
    theirs = calc_rdm(
        dataset(x),
        method="crossnobis",
        descriptor="condition",
        cv_descriptor="run",
        noise=np.linalg.inv(noise),
    )
    found = rdm(x, "crossnobis", noise=noise, trials="runs")
    assert_same(found.values, theirs.get_vectors()[0])


@pytest.mark.parametrize("method", COMPARE)
@pytest.mark.parametrize("kind", ["euclidean", "crossnobis"])
def test_compare(method: str, kind: str) -> None:
    ours = [rdm(recorded(k), kind) for k in range(2)]
    # Rounded, so that some dissimilarities are tied.
    ours = [RDM(np.round(one.values, 1), kind) for one in ours]
    theirs = compare(*(one.values for one in ours), method=COMPARE[method]).item()
    assert ours[0].compare(ours[1], method) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.filterwarnings("ignore:Noise ceiling for tau")
@pytest.mark.parametrize("method", COMPARE)
def test_ceiling(method: str) -> None:
    ours = [rdm(recorded(0) + recorded(k)) for k in range(1, 5)]
    theirs = boot_noise_ceiling(RDMs(np.array([one.values for one in ours])), COMPARE[method])
    found = rdm_ceiling(ours, method)
    assert (found.lower, found.upper) == pytest.approx(theirs, abs=1e-12)
    assert found.lower < found.upper
