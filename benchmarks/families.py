"""Errors of the metrics with few trials, on data with known distances.

    python -m benchmarks.families          # about five minutes on one core

The tables between markers in docs/evidence/families.md are replaced by the results.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.special import gammaln
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks import stamps
from benchmarks.markers import write

RESULTS = stamps.RESULTS / "families.json"
PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "families.md"
TRIALS = (5, 10, 20, 50, 100)
NEURONS = (2, 5, 10, 30)
CONDITIONS = 20
REPEATS = 4
LOUD = 1.5  # standard deviation of the noise of the second network; that of the first is 1


def held_out(x, y):
    """Energy distance, aligned on every other trial and scored on the others."""
    metric = rs.EnergyShapeMetric(n_starts=1)
    return metric.score(metric.align(x[:, ::2], y[:, ::2]), x[:, 1::2], y[:, 1::2])


METRICS = {
    "Gaussian": rs.GaussianShapeMetric(n_starts=1),
    "Gaussian, Ledoit-Wolf": rs.GaussianShapeMetric(n_starts=1, covariance="ledoit-wolf"),
    "energy, u": rs.EnergyShapeMetric(n_starts=1),
    "energy, u, held out": held_out,
    "energy, v": rs.EnergyShapeMetric(n_starts=1, estimator="v"),
    "Wasserstein": rs.WassersteinShapeMetric(n_starts=1),
}


def sample(n, L, noise, rng, means):
    return means[:, None] + noise * rng.normal(size=(len(means), L, n))


def truth(name, n):
    """Exact distance between N(mu, I) and N(mu, LOUD^2 I).

    Bures: n (LOUD - 1)^2. Energy at q = 1: with |N(0, s^2 I)| = s c on average,
    c = sqrt(2) Gamma((n + 1) / 2) / Gamma(n / 2).
    """
    if not name.startswith("energy"):
        return np.sqrt(n) * (LOUD - 1)
    c = np.sqrt(2) * np.exp(gammaln((n + 1) / 2) - gammaln(n / 2))
    return np.sqrt(c * (np.hypot(1, LOUD) - (1 + LOUD) / np.sqrt(2)))


def estimates(name, n, L, noise):
    """Mean distance between a network and a rotated one, relative to the exact distance."""
    found = []
    for seed in range(REPEATS):
        rng = np.random.default_rng([seed, n, L])
        means = rng.normal(size=(CONDITIONS, n)) * 2
        Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
        x, y = sample(n, L, 1.0, rng, means), sample(n, L, noise, rng, means) @ Q
        found.append(METRICS[name](x, y))
    return np.mean(found) / truth(name, n)


def bias_table(noise):
    lines = [
        "| neurons | family | " + " | ".join(f"L = {L}" for L in TRIALS) + " |",
        "|---|---|" + "---|" * len(TRIALS),
    ]
    for n in NEURONS:
        for name in METRICS:
            cells = [f"{estimates(name, n, L, noise):.2f}" for L in TRIALS]
            lines.append(f"| {n} | {name} | " + " | ".join(cells) + " |")
            print(lines[-1], file=sys.stderr)
    return lines


def limit_table():
    """Ratio of the sample Wasserstein to the exact Gaussian distance, for Gaussian samples."""
    trials = (10, 20, 40, 80, 160, 320)
    lines = [
        "| neurons | " + " | ".join(f"L = {L}" for L in trials) + " |",
        "|---|" + "---|" * len(trials),
    ]
    for n in (1, 2, 3, 5):
        ratios = np.mean([limit_ratios(n, trials, seed) for seed in range(REPEATS)], axis=0)
        lines.append(f"| {n} | " + " | ".join(f"{ratio:.3f}" for ratio in ratios) + " |")
        print(lines[-1], file=sys.stderr)
    return lines


def limit_ratios(n, trials, seed):
    """One repetition with ten conditions, for samples of increasing size."""
    rng = np.random.default_rng([seed, n])
    mu, A = rng.normal(size=(2, 10, n)), rng.normal(size=(2, 10, n, n)) / np.sqrt(n)
    exact = [(mu[k], A[k] @ A[k].swapaxes(1, 2)) for k in (0, 1)]
    target = rs.GaussianShapeMetric().distance(*exact)
    noise = rng.normal(size=(2, 10, trials[-1], n))
    ratios = []
    for L in trials:
        x, y = (mu[k][:, None] + noise[k, :, :L] @ A[k].swapaxes(1, 2) for k in (0, 1))
        ratios.append(rs.WassersteinShapeMetric(n_starts=3).distance(x, y) / target)
    return ratios


def main():
    tables = {"different": bias_table(LOUD), "same": bias_table(1.0), "limit": limit_table()}
    stamps.write(RESULTS, tables)
    for name, lines in tables.items():
        write(PAGE, name, lines)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
