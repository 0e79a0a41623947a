"""The pairs of networks that the benchmarks use, and the programs that they compare with."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

import repshape as rs
from repshape.coordinates.factors import factorise
from repshape.reference import gaussian as reference
from repshape.reference.alternation import alternate

Pairs = list[tuple[rs.Gaussians, rs.Gaussians]]


def random_full(M: int, n: int, count: int) -> Pairs:
    """Wishart covariances of n + 5 degrees of freedom, standard normal means."""
    rng = np.random.default_rng([M, n])

    def network() -> rs.Gaussians:
        A = rng.normal(size=(M, n, n + 5))
        return rs.Gaussians(rng.normal(size=(M, n)), A @ A.transpose(0, 2, 1) / (n + 5))

    return [(network(), network()) for _ in range(count)]


def vae_like(count: int, M: int = 2048, n: int = 10) -> Pairs:
    """Diagonal covariances: some latents are informative, and the others follow the prior."""
    rng = np.random.default_rng([M, n, 1])

    def network() -> rs.Gaussians:
        active = np.arange(n) < rng.integers(4, 9)
        means = rng.normal(size=(M, n)) * np.where(active, 1.0, 0.05)
        variances = np.where(active, 0.05, 1.0) * np.exp(0.4 * rng.normal(size=(M, n)))
        return rs.Gaussians(means, variances)

    return [(network(), network()) for _ in range(count)]


def toy(count: int) -> Pairs:
    """Pairs of the paper's 99 toy networks."""
    networks = rs.datasets.toy_networks()
    rng = np.random.default_rng(0)
    return [tuple(networks[k] for k in rng.choice(99, 2, replace=False)) for _ in range(count)]


def macaque_file() -> Path | None:
    """The recordings of Henaff et al. (2021), in the directory that REPSHAPE_DATA names."""
    folder = os.environ.get("REPSHAPE_DATA")
    path = Path(folder) / "macaque_v1_counts.npz" if folder else None
    return path if path is not None and path.exists() else None


def macaque_populations(category: str, n_components: int) -> dict[str, rs.Trials]:
    """Populations with enough units: frames 1-9, without units missing in 2 % of trials or more."""
    path = macaque_file()
    if path is None:
        return {}
    populations = {}
    with np.load(path) as file:
        for name in file.files:
            counts = file[name][:, ["natural", "synthetic"].index(category), :, 1:10]
            counts = np.where(counts < 0, np.nan, counts.astype(float))
            kept = counts[..., np.isnan(counts).mean(axis=(0, 1, 2, 4)) < 0.02, :]
            if kept.shape[3] < n_components:
                continue
            kept = np.swapaxes(kept.reshape(-1, *kept.shape[3:]), 1, 2)
            kept[np.isnan(kept).any(axis=2)] = np.nan  # incomplete trials are missing
            populations[name] = rs.Trials(kept)
    return populations


def macaque(category: str, n_components: int = 18) -> Pairs:
    """All pairs of macaque V1 populations, reduced by PCA to the same dimension."""
    phi = rs.Preprocess(n_components=n_components)
    networks = [
        rs.estimate_moments(phi.fit(trials).apply(trials))
        for trials in macaque_populations(category, n_components).values()
    ]
    return [(networks[i], networks[j]) for i in range(len(networks)) for j in range(i)]


def related(count: int, M: int = 60, n: int = 14) -> Pairs:
    """Rotated copies of one network, strongly perturbed: means may suggest a wrong alignment."""
    rng = np.random.default_rng(1)
    decay = np.exp(-np.arange(n) / 3.0)

    def pair() -> tuple[rs.Gaussians, rs.Gaussians]:
        A, mu = rng.normal(size=(M, n, n)) * decay, 0.3 * rng.normal(size=(M, n)) * decay
        out = []
        for _ in range(2):
            Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
            B = A + 0.5 * rng.normal(size=A.shape) * decay
            nu = mu + 0.3 * rng.normal(size=mu.shape) * decay
            out.append(rs.Gaussians.from_factors(nu @ Q, Q.T @ B))
        return out[0], out[1]

    return [pair() for _ in range(count)]


def nearly_isotropic(count: int, M: int = 60, n: int = 12) -> Pairs:
    """Independent networks with weak means, and noise within 40 % of isotropic."""
    rng = np.random.default_rng(2)

    def network() -> rs.Gaussians:
        A = rng.normal(size=(M, n, n)) / np.sqrt(n)
        values, U = np.linalg.eigh(np.eye(n) + 0.2 * (A + A.transpose(0, 2, 1)))
        S = (U * np.maximum(values, 0.05)[:, None]) @ U.transpose(0, 2, 1)
        return rs.Gaussians(0.3 * rng.normal(size=(M, n)), S)

    return [(network(), network()) for _ in range(count)]


def netrep_metric() -> Any:
    """Return the class of the public reference code, if NETREP_PATH names a checkout of it."""
    path = os.environ.get("NETREP_PATH")
    if not path:
        return None
    sys.path.insert(0, path)
    return importlib.import_module("netrep.metrics").GaussianStochasticMetric


def plain_alternation(x: rs.Gaussians, y: rs.Gaussians, alpha: float) -> float:
    """Plain alternation from the means, for 1000 steps or until it converges."""
    A, C = factorise(x).dense, factorise(y).dense
    w = np.full(x.n_conditions, 1.0 / x.n_conditions)
    start = reference.polar(reference.mean_term(x.means, y.means, w))

    def objective(T: np.ndarray) -> tuple[float, np.ndarray]:
        return reference.objective(x.means, A, y.means, C, T, alpha, w)

    T = alternate(objective, start, tol=1e-9).transform
    means = reference.mean_gap(x.means, y.means, T, w)
    return float(np.sqrt(alpha * means + (2 - alpha) * reference.covariance_gap(A, C, T, w)))
