"""Time `repair` and `triangle_violations`: python -m benchmarks.repair [--quick] [--osqp].

Writes benchmarks/results/repair.json, except with --quick. With --osqp, the same rounds of active
constraints are also solved with OSQP, at the sizes for which it finishes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_matrix, identity
from scipy.spatial.distance import pdist, squareform

from benchmarks.markers import table
from benchmarks.stamps import write
from repshape import repair, triangle_violations
from repshape.matrix.triangles import scan_triangles

FloatArray = npt.NDArray[np.float64]
RESULTS = Path(__file__).parent / "results" / "repair.json"
OSQP_SIZES = (40, 100)
# A thousand noisy points on a line were not repaired within 13 minutes of processor time.
LARGEST = {"line, 5 % noise": 300}


def noisy(dimension: int, noise: float, count: int) -> FloatArray:
    """Return distances between Gaussian points, with noise relative to the mean distance."""
    rng = np.random.default_rng(0)
    exact = pdist(rng.normal(size=(count, dimension)))
    matrix: FloatArray = squareform(exact + noise * exact.mean() * rng.normal(size=len(exact)))
    return matrix


def uniform(count: int) -> FloatArray:
    matrix: FloatArray = squareform(np.random.default_rng(0).uniform(size=count * (count - 1) // 2))
    return matrix


CASES: dict[str, Callable[[int], FloatArray]] = {
    "5-D points, 5 % noise": lambda count: noisy(5, 0.05, count),
    "plane, 2 % noise": lambda count: noisy(2, 0.02, count),
    "line, 5 % noise": lambda count: noisy(1, 0.05, count),
    "uniform random": uniform,
}


def timed(function: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = function()
    seconds = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return found, {name: round(value, 2) for name, value in seconds.items()}


def bench_repair(case: str, count: int) -> dict[str, Any]:
    D = CASES[case](count)
    result, seconds = timed(lambda: repair(D))
    return {"case": case} | result.summary() | seconds


def bench_check(count: int, noise: float) -> dict[str, Any]:
    D = noisy(5, noise, count)
    found, seconds = timed(lambda: triangle_violations(D))
    return {"networks": count, "noise": noise, "violations": found.count} | seconds


def solve_with_osqp(given: FloatArray, rows: npt.NDArray[np.int64], tol: float) -> FloatArray:
    import osqp

    index, values = np.repeat(np.arange(len(rows)), 3), np.tile([-1.0, 1.0, 1.0], len(rows))
    solver = osqp.OSQP()
    solver.setup(
        identity(len(given), format="csc"),
        -given,
        csc_matrix((values, (index, rows.ravel())), shape=(len(rows), len(given))),
        np.zeros(len(rows)),
        np.full(len(rows), np.inf),
        verbose=False,
        eps_abs=tol / 4,
        eps_rel=0.0,
        max_iter=100_000,
    )
    solution: FloatArray = solver.solve(raise_error=True).x
    return solution


def osqp_rounds(D: FloatArray, tol: float = 1e-7) -> tuple[FloatArray, int]:
    """Solve the same rounds with OSQP, for comparison."""
    upper, scale = np.triu_indices(len(D), 1), np.abs(D).max()
    pair = squareform(np.arange(len(upper[0])))
    given = solution = D[upper] / scale
    rows = np.zeros((0, 3), dtype=np.int64)
    rounds = 0
    while (scan := scan_triangles(squareform(solution), tol)).excess.max() > tol:
        i, j = np.nonzero(scan.excess > tol)
        k = scan.middle[i, j]
        found = np.stack([pair[i, j], pair[i, k], pair[k, j]], axis=1)
        rows = np.unique(np.concatenate([rows, found]), axis=0)
        solution = solve_with_osqp(given, rows, tol)
        rounds += 1
    return solution * scale, rounds


def bench_osqp(case: str, count: int) -> dict[str, Any]:
    D = CASES[case](count)
    (solution, rounds), seconds = timed(lambda: osqp_rounds(D))
    moved = float(np.linalg.norm(solution - D[np.triu_indices(count, 1)]))
    return {"case": case, "networks": count, "rounds": rounds, "moved": moved} | seconds


def tables(found: dict[str, Any]) -> dict[str, str]:
    """Return the tables of docs/evidence/repair.md."""
    sizes = sorted({row["networks"] for row in found["repair"]})
    rows: list[dict[str, Any]] = []
    for case in CASES:
        of = {row["networks"]: row for row in found["repair"] if row["case"] == case}
        row: dict[str, Any] = {"case": case, "violated": of[300]["violations_before"]}
        row |= {f"s{n}": of[n]["cpu_seconds"] if n in of else "–" for n in sizes}
        osqp = [r for r in found["osqp"] if r["case"] == case and r["networks"] == sizes[0]]
        rows.append(row | {"osqp": osqp[0]["cpu_seconds"] if osqp else ""})
    columns = {"case": "distances", "violated": "violated at K = 300"}
    columns |= {f"s{n}": f"s, K = {n}" for n in sizes} | {"osqp": f"s, OSQP at K = {sizes[0]}"}
    return {"repair": table(rows, columns)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    parser.add_argument("--osqp", action="store_true", help="compare with OSQP")
    options = parser.parse_args()
    Jobs = list[tuple[str, Callable[..., dict[str, Any]], tuple[Any, ...]]]
    checked = 100 if options.quick else 1800
    jobs: Jobs = [
        ("triangle_violations", bench_check, (checked, noise)) for noise in (0.0, 0.01, 0.1)
    ]
    for size in [30] if options.quick else [100, 300, 1000]:
        cases = [case for case in CASES if size <= LARGEST.get(case, size)]
        jobs += [("repair", bench_repair, (case, size)) for case in cases]
    if options.osqp:
        sizes = [20] if options.quick else OSQP_SIZES
        jobs += [("osqp", bench_osqp, (case, size)) for size in sizes for case in CASES]
    results: dict[str, Any] = {}
    for name, function, arguments in jobs:
        results.setdefault(name, []).append(function(*arguments))
        print(name, json.dumps(results[name][-1]), flush=True)
        if not options.quick:
            write(RESULTS, results)


if __name__ == "__main__":
    main()
