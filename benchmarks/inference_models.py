"""Simulated networks with known moments, for the simulations of `benchmarks.inference`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import repshape as rs

CONDITIONS = 12


@dataclass(frozen=True)
class Model:
    """Two networks: the second is the first, with each rate or mean changed by ``change``.

    Poisson networks have log-normal rates (median 2.2 spikes, a factor of 1.65 per standard
    deviation). Gaussian networks have five strong directions and isotropic noise; the signal of a
    direction falls from 3 to 1.5, and the noise within it from 1.2 to 0.6.
    """

    kind: str
    neurons: int
    change: float = 0.0

    @cached_property
    def networks(self) -> tuple[rs.Gaussians, rs.Gaussians]:
        """The two networks, as their true moments."""
        rng = np.random.default_rng([self.neurons, self.kind == "Poisson"])
        n = self.neurons
        noise = rng.normal(size=(CONDITIONS, n))
        if self.kind == "Poisson":
            rates = np.exp(0.8 + 0.5 * rng.normal(size=(CONDITIONS, n)))
            other = rates * np.exp(self.change * noise)
            return rs.Gaussians(rates, rates), rs.Gaussians(other, other)
        basis = np.linalg.qr(rng.normal(size=(n, 5)))[0].T
        falling = np.linspace(3.0, 1.5, 5)
        means = rng.normal(size=(CONDITIONS, 5)) * falling
        factors = 0.4 * rng.normal(size=(CONDITIONS, 5, 5)) * falling[:, None]
        covariances = basis.T @ (factors @ factors.transpose(0, 2, 1)) @ basis + 0.09 * np.eye(n)
        moved = (means + self.change * noise[:, :5]) @ basis
        return rs.Gaussians(means @ basis, covariances), rs.Gaussians(moved, covariances)

    def sample(
        self, which: int, trials: int | tuple[int, ...], rng: np.random.Generator
    ) -> rs.Trials:
        """Trials of one of the networks: as many in every condition, or a cycle of numbers."""
        counts = np.resize(np.atleast_1d(trials), CONDITIONS)
        network = self.networks[which]
        if self.kind == "Poisson":
            return rs.Trials(
                [
                    rng.poisson(rate, size=(L, self.neurons)).astype(float)
                    for rate, L in zip(network.means, counts, strict=True)
                ]
            )
        return rs.Trials(
            [
                rng.multivariate_normal(mean, S, size=L, method="cholesky")
                for mean, S, L in zip(network.means, network.covariances, counts, strict=True)
            ]
        )


def clouds(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Points (K, 5) that stand for networks, with their groups and blocks; see `GROUP_CELLS`."""
    sizes = {"5/15": (5, 15), "6/6/6": (6, 6, 6), "4/8/12": (4, 8, 12)}
    words = name.split(", ")
    if "animals" in words[0]:
        return animals(words, rng)
    counts = sizes.get(words[0], (10, 10))
    codes = np.repeat(np.arange(len(counts)), counts)
    points = rng.normal(size=(len(codes), 5))
    if "smaller group 1.5 times as wide" in words:
        points[codes == 0] *= 1.5
    if "one group twice as wide" in words:
        points[codes == 0] *= 2.0
    if "shifted" in words:
        points[codes == 0, 0] += 1.7
    return points, codes, None


def animals(
    words: list[str], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Recordings of eight animals: three of each, or two areas in each."""
    within = words[0] == "two areas in 8 animals"
    each = 2 if within else 3
    blocks = np.repeat(np.arange(8), each)
    points = 1.5 * rng.normal(size=(8, 5))[blocks] + rng.normal(size=(8 * each, 5))
    codes = np.tile([0, 1], 8) if within else blocks // 4
    if "shifted" in words:
        points[codes == 0, 0] += 1.7 if within else 4.0
    return points, codes, None if "permuted freely" in words else blocks


NETWORK_CELLS = {
    # Networks per group, trials, spread of the networks, gain of the first group, and its shift.
    "equal": ((10, 10), (20, 20), (0.5, 0.5), 1.0, 0.0),
    "one group twice as wide": ((10, 10), (20, 20), (1.0, 0.5), 1.0, 0.0),
    "5 trials against 40": ((10, 10), (5, 40), (0.5, 0.5), 1.0, 0.0),
    "gain 1.3": ((10, 10), (20, 20), (0.5, 0.5), 1.3, 0.0),
    "gain 2, 5/15": ((5, 15), (20, 20), (0.5, 0.5), 2.0, 0.0),
    "shape only": ((10, 10), (20, 20), (0.5, 0.5), 1.0, 0.35),
}


def groups_of_networks(name: str, rng: np.random.Generator) -> tuple[list[np.ndarray], list[int]]:
    """Two groups of networks with 8 conditions and 4 neurons, about a common shape."""
    counts, trials, spreads, gain, shift = NETWORK_CELLS[name]
    base = rng.normal(size=(8, 1, 4))
    other = base + shift * rng.normal(size=base.shape)
    other *= np.linalg.norm(base) / np.linalg.norm(other)  # the same norm
    networks, codes = [], []
    for g, (count, L, spread) in enumerate(zip(counts, trials, spreads, strict=True)):
        for _ in range(count):
            means = (base, other)[g] + spread * rng.normal(size=base.shape)
            network = means + 0.5 * rng.normal(size=(8, L, 4))
            networks.append((gain if g == 0 else 1.0) * network)
            codes.append(g)
    return networks, codes
