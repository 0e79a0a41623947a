"""RSA and the Procrustes angle, compared with rsatoolbox."""

from __future__ import annotations

import numpy as np
import pytest
from rsatoolbox.data import Dataset
from rsatoolbox.rdm import calc_rdm, compare

import repshape as rs
from repshape.baselines import rsa

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
