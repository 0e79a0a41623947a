"""The default search compared with the best of many restarts, and with another version.

    python -m benchmarks.optimum [--pairs 30] [--large 8] [--seed 0] [--other PYTHON] [--only NAME]
        [--out FILE]

The best known distance of a pair is the smallest of all runs: the default with two seeds, 100
restarts (20 for 60 neurons or more), and the other version, of which PYTHON is an interpreter.
Times are processor seconds of a pair that is prepared, all on one core in turn. Saves
FILE (benchmarks/results/optimum.json), one family after the other, and continues from it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks.search_families import NAMES, Pair, make_pairs, weights_of
from benchmarks.stamps import write

RESULTS = Path(__file__).parent / "results" / "optimum.json"
ALPHAS = (0.0, 0.5, 1.0)
LARGE = ("layer-like", "real layers")
# As in docs/evidence/benchmarks.md: the excess that is allowed, in percent.
MEAN, TAIL = 0.02, 0.5


def run(name: str, pairs: list[Pair], alpha: float, **options: Any) -> dict[str, list[float]]:
    """Return distances, processor seconds and convergence, pair by pair."""
    out: dict[str, list[float]] = {"distance": [], "seconds": [], "converged": [], "agreement": []}
    for x, y in pairs:
        metric = rs.GaussianShapeMetric(alpha, weights=weights_of(name, (x, y)), **options)
        prepared = metric.prepare(x), metric.prepare(y)
        begin = time.process_time()
        found = metric.align_prepared(*prepared)
        out["seconds"].append(time.process_time() - begin)
        out["distance"].append(found.distance)
        out["converged"].append(float(found.converged))
        out["agreement"].append(float(getattr(found, "agreement", np.nan)))
    return out


def run_child(python: str, module: str, *arguments: str) -> Any:
    """Return what a benchmark of this folder finds with another version, in its own process."""
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        child = [python, "-m", module, "--child", str(file), *arguments]
        subprocess.run(child, check=True, cwd=Path(__file__).parents[1], env=plain)
        return json.loads(file.read_text())


def run_other(
    python: str, name: str, alpha: float, count: int, seed: int
) -> dict[str, list[float]]:
    """Return the same of another version, in a process of its own."""
    options = ["--only", name, "--alpha", str(alpha), "--pairs", str(count), "--seed", str(seed)]
    found: dict[str, list[float]] = run_child(python, "benchmarks.optimum", *options)
    return found


def study(name: str, alpha: float, pairs: list[Pair], seed: int, other: str | None) -> Any:
    """Compare the default on one family at one alpha."""
    restarts = 20 if name in LARGE else 100
    runs = {
        "default": run(name, pairs, alpha),
        "one": run(name, pairs, alpha, n_starts=1),
        "again": run(name, pairs, alpha, random_state=1),
        "restarts": run(name, pairs, alpha, n_starts=restarts + 1, random_state=1),
    }
    if other is not None and name != "macaque V1":
        runs["other"] = run_other(other, name, alpha, len(pairs), seed)
    distance = {key: np.array(one["distance"]) for key, one in runs.items()}
    best = np.min(list(distance.values()), axis=0)
    excess = {key: 100 * (one / best - 1) for key, one in distance.items()}
    seconds = {key: float(np.mean(one["seconds"])) for key, one in runs.items()}
    row: dict[str, Any] = {
        "family": name,
        "alpha": alpha,
        "pairs": len(pairs),
        "restarts": restarts,
        "mean_%": float(excess["default"].mean()),
        "worst_%": float(excess["default"].max()),
        "restarts_mean_%": float(excess["restarts"].mean()),
        "agreement": float(np.mean(runs["default"]["agreement"])),
        "converged": float(np.mean(runs["default"]["converged"])),
        "ms": 1e3 * seconds["default"],
        "times_one_start": seconds["default"] / seconds["one"],
        "excess_%": excess["default"].tolist(),
    }
    if "other" in runs:
        row |= {
            "other_mean_%": float(excess["other"].mean()),
            "other_ms": 1e3 * seconds["other"],
            "faster": seconds["other"] / seconds["default"],
        }
    return row


def pooled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pool the pairs of all families, by alpha."""
    out = []
    for alpha in ALPHAS:
        excess = np.concatenate([[0.0], *(r["excess_%"] for r in rows if r["alpha"] == alpha)])[1:]
        if not excess.size:
            continue
        mean, tail = float(excess.mean()), float(np.percentile(excess, 99))
        held = mean <= MEAN and tail <= TAIL
        out.append(
            {
                "alpha": alpha,
                "pairs": len(excess),
                "mean_%": mean,
                "p99_%": tail,
                "worst_%": float(excess.max()),
                "holds": "yes" if held else "no",
            }
        )
    return out


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--large", type=int, default=8, help="pairs of large networks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--other", help="an interpreter with another version of repshape")
    parser.add_argument("--only", nargs="+", default=NAMES, choices=NAMES)
    parser.add_argument("--alpha", type=float, nargs="+", default=ALPHAS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if options.child:
            pairs = make_pairs(options.only[0], options.pairs, options.seed)
            Path(options.child).write_text(
                json.dumps(run(options.only[0], pairs, options.alpha[0]))
            )
            return
        measure(options)


def measure(options: argparse.Namespace) -> None:
    """Measure what the kept results do not hold yet."""
    kept = json.loads(options.out.read_text()) if options.out.exists() else {}
    rows = kept.get("rows", []) if kept.get("seed") == options.seed else []
    done = {(row["family"], row["alpha"]) for row in rows}
    for name in options.only:
        pairs = make_pairs(name, options.large if name in LARGE else options.pairs, options.seed)
        for alpha in options.alpha if pairs else ():
            if (name, alpha) in done:
                continue
            rows.append(study(name, alpha, pairs, options.seed, options.other))
            shown = {k: v for k, v in rows[-1].items() if k != "excess_%"}
            print(json.dumps(shown), file=sys.stderr, flush=True)
            result = {"seed": options.seed, "rows": rows, "pooled": pooled(rows)}
            write(options.out, result, continues=True)


if __name__ == "__main__":
    main()
