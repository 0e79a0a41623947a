"""Families of pairs on which the search for the best alignment is measured.

They use the root of repshape only, so that other versions can be measured on the same pairs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import repshape as rs

Pair = tuple[rs.Gaussians, rs.Gaussians]
Network = Callable[[np.random.Generator], rs.Gaussians]


def pilot(name: str) -> Path | None:
    """Return a file of the directory that REPSHAPE_DATA names, if it is there."""
    folder = os.environ.get("REPSHAPE_DATA")
    path = Path(folder) / name if folder else None
    return path if path is not None and path.exists() else None


def relatives(rng: np.random.Generator, M: int = 60, n: int = 10) -> Pair:
    """Rotated copies of one network, each perturbed by half of its size."""
    decay = np.exp(-np.arange(n) / 3)
    A, mu = rng.normal(size=(M, n, n)) * decay, 0.3 * rng.normal(size=(M, n)) * decay
    out = []
    for _ in range(2):
        Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
        B = A + 0.5 * rng.normal(size=A.shape) * decay
        nu = mu + 0.3 * rng.normal(size=mu.shape) * decay
        out.append(rs.Gaussians.from_factors(nu @ Q, Q.T @ B))
    return out[0], out[1]


def code_like(rng: np.random.Generator, M: int = 40, n: int = 12) -> rs.Gaussians:
    """Tuned rates; the noise grows with the rate, and has shared parts."""
    W, z = rng.normal(size=(4, n)), rng.normal(size=(M, 4))
    mu = np.log1p(np.exp(z @ W + rng.normal(size=n)))
    L = 0.3 * rng.normal(size=(n, 2))
    S = 0.15 * mu[:, :, None] * mu[:, None, :] + (L @ L.T) * mu.mean(1)[:, None, None]
    return rs.Gaussians(mu - mu.mean(0), S + (0.5 * mu + 0.05)[:, :, None] * np.eye(n))


def low_rank(rng: np.random.Generator, M: int = 40, n: int = 10) -> rs.Gaussians:
    """Covariances of rank two, as of three trials, within a few strong directions."""
    B = rng.normal(size=(n, n)) * np.exp(-np.arange(n) / 4)
    means = 0.5 * rng.normal(size=(M, n)) @ B.T
    return rs.Gaussians.from_factors(means, B @ rng.normal(size=(M, n, 2)))


def few_trials(rng: np.random.Generator, M: int = 30, n: int = 8) -> rs.Gaussians:
    """Moments of six trials of eight neurons."""
    noise = rng.normal(size=(M, 6, n)) * np.linspace(0.3, 1.5, n)
    return rs.estimate_moments(rs.Trials(rng.normal(size=(M, 1, n)) + noise))


def nearly_isotropic(rng: np.random.Generator, M: int = 60, n: int = 12) -> rs.Gaussians:
    """Noise within 40 % of isotropic, and weak means."""
    A = rng.normal(size=(M, n, n)) / np.sqrt(n)
    values, U = np.linalg.eigh(np.eye(n) + 0.2 * (A + A.transpose(0, 2, 1)))
    S = (U * np.maximum(values, 0.05)[:, None]) @ U.transpose(0, 2, 1)
    return rs.Gaussians(0.3 * rng.normal(size=(M, n)), S)


def vae_like(rng: np.random.Generator, M: int = 512, n: int = 10) -> rs.Gaussians:
    """Diagonal covariances: some latents are informative, and the others follow the prior."""
    active = np.arange(n) < rng.integers(4, 9)
    means = rng.normal(size=(M, n)) * np.where(active, 1.0, 0.05)
    return rs.Gaussians(means, np.where(active, 0.05, 1.0) * np.exp(0.4 * rng.normal(size=(M, n))))


def layer_like(rng: np.random.Generator, M: int = 200, n: int = 100) -> rs.Gaussians:
    """A random ReLU network with noise in its inputs, which are the same for all networks."""
    inputs = np.random.default_rng(0).normal(size=(M, 40))
    first = rng.normal(size=(40, 200)) / np.sqrt(40)
    second = rng.normal(size=(200, n)) * np.exp(-np.arange(n) / 30) / np.sqrt(200)
    hidden = inputs @ first
    out = np.maximum(hidden, 0) @ second
    slopes = (first[None] * (hidden > 0)[:, None]) @ second * (out > 0)[:, None]
    S = 0.25 * slopes.transpose(0, 2, 1) @ slopes + 1e-4 * np.eye(n)
    means = np.maximum(out, 0)
    return rs.Gaussians(means - means.mean(0), S)


def real_latents(rng: np.random.Generator, count: int, M: int = 256) -> Iterator[Pair]:
    """Latents of trained VAEs."""
    with np.load(str(pilot("vae_pilot.npz"))) as file:
        means, variances = (file[key][:, :M].astype(float) for key in ("means", "variances"))
    for _ in range(count):
        i, j = rng.choice(len(means), 2, replace=False)
        yield rs.Gaussians(means[i], variances[i]), rs.Gaussians(means[j], variances[j])


def real_layers(rng: np.random.Generator, count: int) -> Iterator[Pair]:
    """Responses of a trained layer to noisy images: 64 images, 50 passes, 100 units."""
    with np.load(str(pilot("layer_pilot.npz"))) as file:
        responses = file["responses"].astype(float)
    networks = [rs.estimate_moments(rs.Trials(one)) for one in responses]
    index = [(i, j) for i in range(len(networks)) for j in range(i)]
    for k in rng.permutation(len(index))[:count]:
        yield networks[index[k][0]], networks[index[k][1]]


def cortex(rng: np.random.Generator, count: int) -> Iterator[Pair]:
    """Populations of macaque V1, reduced to 16 principal components."""
    from benchmarks import workloads

    pairs = workloads.macaque("natural", 16) + workloads.macaque("synthetic", 16)
    for k in rng.permutation(len(pairs))[:count]:
        yield pairs[k]


def few_conditions(rng: np.random.Generator) -> Pair:
    """Counts of two small populations: 5 to 15 conditions, 8 to 20 trials, 3 to 12 neurons."""
    M, L, n = int(rng.integers(5, 16)), int(rng.integers(8, 21)), int(rng.integers(3, 13))
    z = rng.normal(size=(M, 3))
    rates = [np.log1p(np.exp(z @ rng.normal(size=(3, n)) + 1)) for _ in range(2)]
    counts = (np.sqrt(rng.poisson(3 * one[:, None], size=(M, L, n))) for one in rates)
    x, y = (rs.estimate_moments(rs.Trials(one)) for one in counts)
    return x, y


def unrelated(rng: np.random.Generator) -> Pair:
    """Networks that share nothing, of different sizes and spectra."""
    M, out = int(rng.integers(6, 25)), []
    for _ in range(2):
        n = int(rng.integers(6, 19))
        B = rng.normal(size=(n, n)) * np.exp(-np.arange(n) / rng.uniform(2, n))
        A = B @ rng.normal(size=(M, n, n)) / np.sqrt(n)
        out.append(rs.Gaussians.from_factors(rng.normal(size=(M, n)) @ B.T, A))
    return out[0], out[1]


def symmetric(rng: np.random.Generator, M: int = 12, n: int = 8) -> rs.Gaussians:
    """Covariances and means that many rotations leave as they are."""
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.repeat(rng.gamma(2.0, size=(M, n // 2)), 2, axis=1)  # every eigenvalue twice
    means = np.zeros((M, n))
    means[:, 0] = rng.choice([-1.0, 1.0], size=M)
    return rs.Gaussians(means @ Q.T, (Q * values[:, None]) @ Q.T)


def partly_noiseless(rng: np.random.Generator, M: int = 20, n: int = 9) -> rs.Gaussians:
    """A third of the conditions have no noise, others noise in two directions."""
    A = rng.normal(size=(M, n, n)) * np.exp(-np.arange(n) / 4)
    A[: M // 3] = 0
    A[M // 3 : 2 * M // 3, :, 2:] = 0
    return rs.Gaussians.from_factors(0.5 * rng.normal(size=(M, n)), A)


def heavy_tails(rng: np.random.Generator, M: int = 20, L: int = 30, n: int = 40) -> rs.Gaussians:
    """Counts with gains that differ from trial to trial, reduced to ten components."""
    z = rng.normal(size=(M, 5))
    rates = 4 * np.log1p(np.exp(z @ rng.normal(size=(5, n))))[:, None]
    gains = rng.gamma(1.5, 1 / 1.5, size=(M, L, 1)) * rng.gamma(2.0, 0.5, size=(M, L, n))
    trials = rs.Trials(rng.poisson(rates * gains).astype(float))
    phi = rs.Preprocess(n_components=10).fit(trials)
    return rs.estimate_moments(phi.apply(trials))


INDEPENDENT: dict[str, Network] = {
    "code-like": code_like,
    "low rank": low_rank,
    "few trials": few_trials,
    "nearly isotropic": nearly_isotropic,
    "VAE-like": vae_like,
    "layer-like": layer_like,
}
FROM_DATA = {
    "real VAE latents": ("vae_pilot.npz", real_latents),
    "real layers": ("layer_pilot.npz", real_layers),
    "macaque V1": ("macaque_v1_counts.npz", cortex),
}
# Added later, on data that had no part in the development of the search: the order of the names is
# part of the seeds.
NEW_PAIRS = {"few conditions": few_conditions, "unrelated": unrelated}
NEW_NETWORKS: dict[str, Network] = {
    "symmetric": symmetric,
    "partly noiseless": partly_noiseless,
    "unequal weights": code_like,
    "heavy tails": heavy_tails,
}
NAMES = ("relatives", *INDEPENDENT, *FROM_DATA, *NEW_PAIRS, *NEW_NETWORKS)


def weights_of(name: str, pair: Pair) -> np.ndarray | None:
    """Return the weights of the conditions of a pair, where its family has any."""
    if name != "unequal weights":
        return None
    M = pair[0].n_conditions
    weights = np.random.default_rng(M).gamma(0.3, size=M)
    return weights / weights.sum()


def make_pairs(name: str, count: int, seed: int) -> list[Pair]:
    """Return pairs of a family; none if it needs data that are not there."""
    rng = np.random.default_rng([seed, NAMES.index(name)])
    if name in FROM_DATA:
        file, read = FROM_DATA[name]
        return list(read(rng, count)) if pilot(file) else []
    if name == "relatives" or name in NEW_PAIRS:
        return [NEW_PAIRS.get(name, relatives)(rng) for _ in range(count)]
    network = (INDEPENDENT | NEW_NETWORKS)[name]
    return [(network(rng), network(rng)) for _ in range(count)]
