"""Time one pair, compared with the public reference code and with plain alternation.

    python -m benchmarks.solver [--quick] [--skip-large]

Times are medians on one core with one BLAS thread, and all ratios are from the same run.
NETREP_PATH names a checkout of the reference code, and REPSHAPE_DATA the directory of the
recordings; without them, those rows are left out. Saves benchmarks/results/solver.json.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks import workloads
from benchmarks.search_families import pilot, real_latents
from benchmarks.stamps import RESULTS, write
from repshape import _native
from repshape.coordinates.factors import TRIANGULAR_FROM


def timed(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Median time of a call, and its last result."""
    times, out = [], None
    for _ in range(repeats):
        begin = time.perf_counter()
        out = call()
        times.append(time.perf_counter() - begin)
    return median(times), out


def ours(pairs: workloads.Pairs, n_starts: int | str, repeats: int) -> tuple[float, list[float]]:
    """Median time of a pair from moments to distance, including preparation of both networks."""
    metric = rs.GaussianShapeMetric(1.0, n_starts=n_starts)
    found = [timed(lambda p=pair: metric.distance(*p), repeats) for pair in pairs]
    return median(t for t, _ in found), [d for _, d in found]


def ours_in_bulk(networks: list[rs.Gaussians], n_starts: int | str, repeats: int) -> float:
    """Median time of a pair if all pairs of many networks are solved, including preparation."""
    metric = rs.GaussianShapeMetric(1.0, n_starts=n_starts)
    index = np.column_stack(np.triu_indices(len(networks), 1))

    def bulk() -> None:
        metric.solve_pairs([metric.prepare(net) for net in networks], index)

    return timed(bulk, repeats)[0] / len(index)


def netrep_time(pair: tuple[rs.Gaussians, rs.Gaussians]) -> tuple[float, float]:
    cls = workloads.netrep_metric()
    data = [(np.array(net.means), np.array(net.covariances)) for net in pair]
    return timed(lambda: cls(alpha=1.0).fit_score(*data), 1)


def row(
    name: str, pairs: workloads.Pairs, rivals: int, repeats: int, bulk: list[rs.Gaussians] | None
) -> dict[str, Any]:
    """Measure one workload; other programs are timed on its first few pairs.

    Tiny networks are timed as a cohort, where each network is prepared once for all of its pairs.
    """
    one, distances = ours(pairs, 1, repeats)
    auto, best = ours(pairs, "auto", max(1, repeats // 2))
    if bulk is not None:
        one, auto = (ours_in_bulk(bulk, n_starts, repeats) for n_starts in (1, "auto"))
    out: dict[str, Any] = {
        "workload": name,
        "pairs": len(pairs),
        "one_start_s": one,
        "auto_s": auto,
    }
    if workloads.netrep_metric() is not None:
        found = [netrep_time(pair) for pair in pairs[:rivals]]
        out["netrep_s"] = median(t for t, _ in found)
        out["ratio_netrep"], out["ratio_netrep_auto"] = (
            out["netrep_s"] / one,
            out["netrep_s"] / auto,
        )
        out["excess_over_netrep"] = max(
            ours_ / theirs - 1 for ours_, (_, theirs) in zip(distances, found, strict=False)
        )
        out["excess_over_netrep_auto"] = max(
            ours_ / theirs - 1 for ours_, (_, theirs) in zip(best, found, strict=False)
        )
        out["distance"], out["netrep_distance"] = distances[0], found[0][1]
    found = [
        timed(lambda p=pair: workloads.plain_alternation(*p, 1.0), 1) for pair in pairs[:rivals]
    ]
    out["alternation_s"] = median(t for t, _ in found)
    out["ratio_alternation"] = out["alternation_s"] / one
    return out


def kernel_rate(n: int, peak: float, repeats: int = 5) -> dict[str, float]:
    """GFLOP/s of the gradient at one size, counting the operations that are actually done."""
    M = max(16, int(2e5 / n**2) // 8 * 8)
    (x, y), *_ = workloads.random_full(M, n, 1)
    metric = rs.GaussianShapeMetric()
    px, py = metric.prepare(x), metric.prepare(y)
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(n, n)))[0]
    w = np.full(M, 1.0 / M)
    many = max(1, int(5e8 / (25 * n**3 * M)))

    def run(single: bool) -> None:
        _native.gradient(px.native, py.native, Q, w, single=single, repeats=many)

    # Products with triangular factors take half of the operations, and so do Gram matrices.
    products = 4 if n >= TRIANGULAR_FROM else 8
    steps = {single: halley_steps(x, y, Q, single) for single in (False, True)}
    double, single = (
        M
        * n**3
        * (products + steps[s] * (1 + 1 / 3 + 2))
        * many
        / timed(lambda s=s: run(s), repeats)[0]
        / 1e9
        for s in (False, True)
    )
    return {
        "n": n,
        "M": M,
        "steps": steps[False],
        "gflops": double,
        "single_gflops": single,
        "dgemm_gflops": peak,
        "share": double / peak,
    }


def kernel_rates() -> list[dict[str, float]]:
    """Rates of the gradient at many sizes, compared with dgemm on the same core."""
    a = np.random.default_rng(0).normal(size=(1024, 1024))
    peak = 2 * 1024**3 / timed(lambda: a @ a, 9)[0] / 1e9
    return [kernel_rate(n, peak) for n in (5, 10, 16, 19, 24, 32, 48, 64, 100, 128)]


def halley_steps(x: rs.Gaussians, y: rs.Gaussians, T: np.ndarray, single: bool) -> float:
    """Mean number of iterations for the polar factors of one pack of conditions.

    This follows the schedule of cpp/problems/gaussian/polar.h for the exact singular values: first
    from their bounds, then from measured gaps.
    """
    lanes, tolerance = (16, 1e-6) if single else (8, 1e-12)
    spectra = [np.sqrt(np.linalg.eigvalsh(net.covariances)) for net in (x, y)]
    roots = [np.linalg.cholesky(net.covariances) for net in (x, y)]
    X = np.swapaxes(roots[0], 1, 2) @ T @ roots[1]
    norms = np.sqrt(np.abs(X).sum(1).max(1) * np.abs(X).sum(2).max(1))
    norms = np.minimum(norms, np.sqrt((X**2).sum((1, 2))))
    norms = np.minimum(norms, spectra[0][:, -1] * spectra[1][:, -1])
    sigma = np.linalg.svd(X, compute_uv=False) / norms[:, None]
    bounds = spectra[0][:, 0] * spectra[1][:, 0] / norms
    counts = []
    for start in range(0, len(bounds), lanes):
        lower, steps = float(bounds[start : start + lanes].min()), 0
        s = sigma[start : start + lanes].copy()
        while 1 - lower >= tolerance and steps < 12:
            if steps >= 3:
                gap = float((1 - s**2).sum(1).max())
                if gap < 2 * s.shape[1] * tolerance:
                    break
                if gap < 0.5:
                    lower = max(lower, np.sqrt(1 - gap))
            l2 = max(lower, 1e-3) ** 2
            d = np.cbrt(4 * (1 - l2) / l2**2)
            a = np.sqrt(1 + d) + 0.5 * np.sqrt(
                max(8 - 4 * d + 8 * (2 - l2) / (l2 * np.sqrt(1 + d)), 0)
            )
            b = (a - 1) ** 2 / 4
            s = s * (a + b * s**2) / (1 + (a + b - 1) * s**2)
            lower = min(1.0, lower * (a + b * lower**2) / (1 + (a + b - 1) * lower**2))
            steps += 1
        counts.append(steps)
    return float(np.mean(counts))


def show(rows: list[dict[str, Any]], title: str) -> None:
    table = Table(title=title)
    columns = list(dict.fromkeys(key for one in rows for key in one))
    for column in columns:
        table.add_column(column)
    for one in rows:
        cells = [one.get(c, "") for c in columns]
        table.add_row(*(f"{c:.4g}" if isinstance(c, float) else str(c) for c in cells))
    Console(width=200).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repeat of everything")
    parser.add_argument("--skip-large", action="store_true", help="skip n = 100 (ten minutes)")
    parser.add_argument("--only", help="only workloads whose name contains this")
    options = parser.parse_args()
    repeats = 1 if options.quick else 5
    tiny = [net for pair in workloads.random_full(5, 2, 50) for net in pair]
    toy = list(rs.datasets.toy_networks())
    plan: list[tuple[str, workloads.Pairs, int, list[rs.Gaussians] | None]] = [
        ("toy size: M=5, n=2, random", workloads.random_full(5, 2, 30), 30, tiny),
        ("toy networks: M=5, n=2", workloads.toy(30), 30, toy),
        ("random full: M=119, n=19", workloads.random_full(119, 19, 5), 2, None),
        ("VAE-like diagonal: M=2048, n=10", workloads.vae_like(5), 2, None),
    ]
    if pilot("vae_pilot.npz"):
        latents = list(real_latents(np.random.default_rng(0), 5, 512))
        plan.append(("real VAE latents: M=512, n=10", latents, 2, None))
    if workloads.macaque_file():
        pairs = workloads.macaque("natural") + workloads.macaque("synthetic")
        plan.append(("macaque V1: M=180, n=18", pairs, 2, None))
    if not options.skip_large:
        plan.append(("random full: M=200, n=100", workloads.random_full(200, 100, 1), 1, None))
    saved = RESULTS / "solver.json"
    kept = json.loads(saved.read_text()) if options.only else {"pairs": [], "kernel": []}
    rows = {one["workload"]: one for one in kept["pairs"]}
    with threadpool_limits(1):
        kernel = kept["kernel"] or kernel_rates()
        show(kernel, f"gradient kernel, {_native.instruction_set()}")
        for name, pairs, rivals, bulk in plan:
            if not options.only or options.only in name:
                rows[name] = row(name, pairs, rivals, repeats, bulk)
                show([rows[name]], name)
    write(saved, {"pairs": list(rows.values()), "kernel": kernel}, continues=bool(options.only))
    show(list(rows.values()), "one pair, alpha = 1")


if __name__ == "__main__":
    main()
