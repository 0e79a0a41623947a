"""Simulations of bias correction and coverage of intervals, and a study of macaque V1.

    python -m benchmarks.inference [--simulations 200] [--only simulations | macaque]

Saves benchmarks/results/inference.json and the tables of docs/evidence/inference.md. Takes less
than ten minutes on one core. The recordings are used if REPSHAPE_DATA names their directory.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks import inference_v1, workloads
from benchmarks.inference_tables import replace_table, save
from repshape.solvers.starts import random_orthogonal

RESULTS = Path(__file__).parent / "results" / "inference.json"
CONDITIONS = 8
# Size of the perturbation of the second network of a related pair, relative to the first network.
PERTURBATION = 0.5
TRIALS = (10, 20, 50, 200)
NEURONS = (5, 19)
# Group, alpha, whether the second network is a perturbed copy of the first, and sizes.
DESIGNS = (
    ("identity", 1.0, True, NEURONS),
    ("identity", 0.0, True, NEURONS),
    ("orthogonal", 1.0, True, NEURONS),
    ("orthogonal", 0.0, True, (5,)),
    ("orthogonal", 1.0, False, (5,)),
)
TRUTH_STARTS, TOLERANCE = 50, 1e-5
# Cross-validation is slow with many neurons, and its bias is clear from fewer simulations.
CROSSED_SIMULATIONS = {5: 200, 19: 40}

Network = tuple[np.ndarray, np.ndarray]  # means (M, n), factors (M, n, n)


def true_networks(n: int, group: str, related: bool) -> tuple[Network, Network]:
    """Two networks with decaying spectra: a network and its perturbation, or independent ones."""
    rng = np.random.default_rng([n, related])
    decay = np.exp(-np.arange(n) / (n / 2))

    def draw() -> tuple[np.ndarray, np.ndarray]:
        factors = rng.normal(size=(CONDITIONS, n, 2 * n)) / np.sqrt(2 * n)
        return rng.normal(size=(CONDITIONS, n)) * decay, np.sqrt(decay)[:, None] * factors

    (mu, A), (nu, B) = draw(), draw()
    if related:
        nu, B = mu + PERTURBATION * nu, A + PERTURBATION * B
    Q = np.eye(n) if group == "identity" else random_orthogonal(n, rng)
    return (mu, _triangle(A)), (nu @ Q, _triangle(Q.T @ B))


def _triangle(A: np.ndarray) -> np.ndarray:
    return np.linalg.cholesky(A @ A.transpose(0, 2, 1))


def sample(network: Network, L: int, rng: np.random.Generator) -> rs.Trials:
    means, factors = network
    noise = rng.normal(size=(len(means), L, means.shape[1]))
    return rs.Trials(means[:, None] + noise @ factors.transpose(0, 2, 1))


def cell(
    group: str, alpha: float, related: bool, n: int, L: int, simulations: int
) -> dict[str, object]:
    """Bias of the squared distance, and coverage of the 90 % interval, over simulations."""
    x, y = true_networks(n, group, related)
    searched = rs.GaussianShapeMetric(alpha, group=group, n_starts=TRUTH_STARTS)
    truth = searched.distance(*(rs.Gaussians.from_factors(*one) for one in (x, y)))
    metric = rs.GaussianShapeMetric(alpha, group=group, tol=TOLERANCE)
    rng = np.random.default_rng([n, L, int(2 * alpha), related, group == "identity"])
    rows, crossed = [], []
    for k in range(simulations):
        pair = sample(x, L, rng), sample(y, L, rng)
        found = rs.inference.distance(*pair, metric, random_state=k, workers=1)
        low, high = found.interval
        rows.append((found.plug_in**2, _square(found.estimate), low <= truth <= high))
        if group != "identity" and k < CROSSED_SIMULATIONS[n]:
            options = {"alignment": "crossvalidated", "n_groups": 5, "workers": 1}
            crossed.append(_square(rs.inference.distance(*pair, metric, **options).estimate))
    plug_in, corrected, covered = np.array(rows, dtype=float).T
    return {
        "group": group,
        "alpha": alpha,
        "networks": "related" if related else "independent",
        "n": n,
        "L": L,
        "squared_distance": truth**2,
        "plug_in_bias": float(plug_in.mean() - truth**2),
        "corrected_bias": float(corrected.mean() - truth**2),
        "corrected_bias_error": float(corrected.std() / np.sqrt(simulations)),
        "crossvalidated_bias": float(np.mean(crossed) - truth**2) if crossed else None,
        "coverage": float(covered.mean()),
        "simulations": simulations,
    }


def _square(signed: float) -> float:
    return signed * abs(signed)


def holds(row: dict[str, object]) -> bool:
    """Whether the bias is below a third of the plug-in bias, and coverage in [0.80, 0.97]."""
    small = abs(row["corrected_bias"]) < abs(row["plug_in_bias"]) / 3
    return bool(small and 0.80 <= row["coverage"] <= 0.97)


def table(rows: list[dict[str, object]]) -> str:
    head = "| group | alpha | networks | n | L | L / n | d² | plug-in bias | corrected bias | "
    head += "cross-validated bias | coverage | holds |"
    lines = [head, "|" + "---|" * 12]
    for r in rows:
        crossed = r["crossvalidated_bias"]
        cells = [r["group"], f"{r['alpha']:g}", r["networks"], r["n"], r["L"]]
        cells += [f"{r['L'] / r['n']:.1f}", f"{r['squared_distance']:.2f}"]
        cells += [f"{r['plug_in_bias']:+.3f}"]
        cells += [f"{r['corrected_bias']:+.3f} ± {r['corrected_bias_error']:.3f}"]
        cells += ["" if crossed is None else f"{crossed:+.3f}", f"{r['coverage']:.3f}"]
        cells += [("yes" if holds(r) else "no") + ("" if r["L"] >= 2 * r["n"] else " (warns)")]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def simulate(simulations: int) -> list[dict[str, object]]:
    warnings.simplefilter("ignore", rs.inference.FewTrialsWarning)
    rows = []
    for group, alpha, related, sizes in DESIGNS:
        for n in sizes:
            for L in TRIALS:
                rows.append(cell(group, alpha, related, n, L, simulations))
                print(table(rows[-1:]).splitlines()[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--only", choices=("simulations", "macaque"))
    options = parser.parse_args()
    with threadpool_limits(limits=1, user_api="blas"):
        if options.only != "macaque":
            begin = time.process_time()
            rows = simulate(options.simulations)
            save(RESULTS, "simulations", rows)
            save(RESULTS, "simulation_cpu_seconds", round(time.process_time() - begin))
            replace_table("simulations", table(rows))
        if options.only != "simulations" and workloads.macaque_file() is not None:
            found = inference_v1.study()
            save(RESULTS, "macaque_v1", found)
            replace_table("macaque", inference_v1.table(found))


if __name__ == "__main__":
    main()
