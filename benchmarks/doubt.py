"""How many missed pairs the search doubts, and how many right ones.

    python -m benchmarks.doubt [--pairs 20] [--seed 0]

The families had no part in choosing the rule of `repshape._doubt`, but the generator of "code-like"
also made one that had. Pairs are searched by default
and from 8, 16 and 32 starts without moves, which miss more often. A pair is missed if it is more
than 0.1 % longer than the best known: the shortest of these runs and of 100 restarts. Prints a
table, and the rates of rules that doubt optima found by at most one to four starts. Saves
benchmarks/results/doubt.json.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks.planted_pairs import responses
from benchmarks.search_families import Pair, make_pairs
from repshape import _doubt
from repshape._doubt import is_doubtful, possible_excess

RESULTS = Path(__file__).parent / "results" / "doubt.json"
ALPHAS = (0.0, 0.5, 1.0)
BRIEF = (8, 16, 32)
LONGER = 1e-3
KEYS = ("distance", "lower_bound", "n_starts", "n_agreeing", "gap")


def trials(structure: str, count: int, seed: int) -> list[Pair]:
    """Return unrelated networks of few trials: 4 to 14 conditions, 4 to 12 trials and neurons."""
    rng, out = np.random.default_rng([seed, len(structure)]), []
    for _ in range(count):
        M, L = int(rng.integers(4, 15)), int(rng.integers(4, 13))
        sizes = rng.integers(4, 13, size=2)
        x, y = (rs.Trials(responses(rng, (M, L, int(n)), structure)) for n in sizes)
        out.append((rs.estimate_moments(x), rs.estimate_moments(y)))
    return out


def families(count: int, seed: int) -> dict[str, list[Pair]]:
    """Return the families, none of which the rule was chosen on."""
    made = {name: trials(name, count, seed) for name in ("white", "spectrum", "tuned")}
    return made | {name: make_pairs(name, count, seed) for name in ("relatives", "code-like")}


def search(x: Any, y: Any, metric: Any) -> list[dict[str, Any]]:
    """Search a pair of prepared networks by default and briefly, with what is known of it."""
    found = {"default": metric.solve_pairs([x, y], [[0, 1]])}
    found |= {str(k): metric.solve_pairs([x, y], [[0, 1]], brief=k) for k in BRIEF}
    many = metric.with_parameters(n_starts=100, random_state=1).solve_pairs([x, y], [[0, 1]])
    best = min(float(many.distance[0]), *(float(one.distance[0]) for one in found.values()))
    return [
        {"search": name, "best": best} | {key: float(getattr(one, key)[0]) for key in KEYS}
        for name, one in found.items()
    ]


def rates(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the share of missed pairs that are doubted, and that of right ones."""
    best = np.array([row["best"] for row in rows])
    distance, bound, starts, agreeing, gap = (np.array([row[key] for row in rows]) for key in KEYS)
    excess = distance / best - 1
    missed = excess > LONGER
    found = (distance, bound, starts, agreeing, 0, gap)
    doubtful, enough = is_doubtful(*found), possible_excess(*found) >= excess

    def percent(part: Any) -> float:
        return 100 * float(np.mean(part)) if len(part) else float("nan")

    return {
        "pairs": len(rows),
        "missed": int(missed.sum()),
        "caught_%": percent(doubtful[missed]),
        "flagged_%": percent(doubtful[~missed]),
        "within_possible_excess_%": percent(enough[missed & doubtful]),
    }


def curve(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rates of rules with other numbers of hits; FEW_HITS is the one in use."""
    out = []
    for hits in (1, 2, 3, 4):
        with patch.object(_doubt, "FEW_HITS", hits):
            out.append({"hits at most": hits} | rates(rows))
    return out


def show(table: list[dict[str, Any]]) -> None:
    """Print a table in Markdown."""
    print("| " + " | ".join(table[0]) + " |\n|" + "---|" * len(table[0]))
    for line in table:
        shown = (f"{v:.3g}" if isinstance(v, float) else str(v) for v in line.values())
        print("| " + " | ".join(shown) + " |")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for name, pairs in families(options.pairs, options.seed).items():
            for alpha in ALPHAS:
                metric = rs.GaussianShapeMetric(alpha)
                for x, y in pairs:
                    found = search(metric.prepare(x), metric.prepare(y), metric)
                    rows += [{"family": name, "alpha": alpha} | one for one in found]
    searches = ("default", *map(str, BRIEF))
    table = [
        {"search": one} | rates([row for row in rows if row["search"] == one]) for one in searches
    ]
    table.append({"search": "all"} | rates(rows))
    rules = curve(rows)
    saved = {"seed": options.seed, "rates": table, "curve": rules, "rows": rows}
    RESULTS.write_text(json.dumps(saved))
    show(table)
    show(rules)


if __name__ == "__main__":
    main()
