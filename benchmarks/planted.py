"""Default searches of pairs with a planted alignment: how many are missed, and how many say so.

    python -m benchmarks.planted [--set choose | final] [--share S] [--only FAMILY ...] [--table]

A pair is a network and a copy of it with noise, moved by a transform of the group. The reference is
the planted transform, climbed to its optimum, and for every tenth pair also 100 restarts. A pair is
missed if its distance exceeds the reference by more than 0.1 % and by more than 1e-6 of the norms.
Distances come from `rs.pairwise`. The set "choose" is for developing the search; "final" has other
seeds and is measured once. Results are appended to benchmarks/results/planted_SET.jsonl, one line
for each pair, and a repeated command continues there; pairs of another build are measured again.
The table and the missed pairs are saved in benchmarks/results/planted_SET.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks.planted_pairs import FAMILIES, Planted, make_pair
from benchmarks.stamps import sources, write
from repshape.errors import SearchWarning
from repshape.groups import Transform
from repshape.metrics.base import warm_start

RESULTS = Path(__file__).parent / "results"
SEEDS = {"choose": 0, "final": 1}
RESTARTS, EVERY = 100, 10  # every tenth pair is also searched from 100 starts
LONGER, ROUNDING = 1e-3, 1e-6  # of the reference, and of the sum of the norms


def climbed(pair: Planted) -> float:
    """Return the distance at the optimum above the planted transform."""
    metric = pair.metric
    x, y = (metric.prepare(one) for one in (pair.x, pair.back(pair.y)))
    start = warm_start(Transform(pair.transform), x, y, metric.group)
    found = metric.solve_pairs([x, y], [[0, 1]], starts=[start[None]])
    return float(found.distance[0])


def norm(pair: Planted) -> float:
    """Return the sum of the root mean squares of both networks: the scale of rounding errors."""
    arrays = (np.asarray(one, dtype=float) for one in (pair.x, pair.y))
    return float(sum(np.sqrt((one**2).sum() / one.shape[0] / one.shape[1]) for one in arrays))


def verdict(pair: Planted, distance: float, *, restarts: bool) -> dict[str, Any]:
    """Compare a distance with the planted optimum, and with that of many restarts."""
    found = {"distance": distance, "climbed": climbed(pair)}
    if restarts and "n_starts" in pair.metric.get_params():
        many = pair.metric.with_parameters(n_starts=RESTARTS, random_state=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found["restarts"] = many.distance(pair.x, pair.y)
    best = min(found.values())
    missed = distance > best * (1 + LONGER) and distance - best > ROUNDING * norm(pair)
    excess = 100 * (distance / best - 1) if best > 0 else 0.0
    return found | {"missed": bool(missed), "excess_%": excess}


def measure(family: str, case: int, seed: int) -> dict[str, Any]:
    """Search one pair by default, and compare."""
    pair = make_pair(family, case, seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", SearchWarning)
        begin = time.process_time()
        D = rs.pairwise([pair.x, pair.y], pair.metric, workers=1, progress=False)
        seconds = time.process_time() - begin
    row = {"family": family, "case": case, "build": build(), **pair.settings}
    row |= verdict(pair, float(np.asarray(D)[0, 1]), restarts=case % EVERY == 0)
    return row | {
        "warned": bool(caught),
        "agreement": float(D.agreement[0, 1]),
        "seconds": seconds,
    }


def build() -> str:
    """Return the hash of the code that is measured."""
    return sources()["search"]


def read(path: Path) -> list[dict[str, Any]]:
    """Return the finished pairs; a line that was cut off by a kill is left out."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Count the missed pairs, by family and by each setting on its own."""
    cells: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        cells["all", "all"].append(row)
        cells[row["family"], "all"].append(row)
        for key in ("noise", "alpha", "group"):
            if key in row:
                cells[row["family"], f"{key} {row[key]}"].append(row)
    return [
        {
            "family": family,
            "cell": cell,
            "pairs": len(found),
            "missed_%": 100 * float(np.mean([one["missed"] for one in found])),
            "silent_%": 100
            * float(np.mean([one["missed"] and not one["warned"] for one in found])),
            "warned_%": 100 * float(np.mean([one["warned"] for one in found])),
            "worst_%": max((one["excess_%"] for one in found if one["missed"]), default=0.0),
            "ms": 1e3 * float(np.mean([one["seconds"] for one in found])),
        }
        for (family, cell), found in cells.items()
    ]


def show(rows: list[dict[str, Any]]) -> None:
    """Print the summary as a table in Markdown."""
    found = summary(rows)
    if not found:
        return
    print("| " + " | ".join(found[0]) + " |\n|" + "---|" * len(found[0]))
    for row in found:
        cells = (f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values())
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=SEEDS, default="choose")
    parser.add_argument("--share", type=float, default=1.0, help="share of the pairs to compute")
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--out", type=Path, help="another file for the results")
    parser.add_argument("--table", action="store_true", help="only show what is finished")
    options = parser.parse_args()
    path = options.out or RESULTS / f"planted_{options.set}.jsonl"
    rows = [row for row in read(path) if row.get("build") == build()]
    done = {(row["family"], row["case"]) for row in rows}
    with threadpool_limits(1), path.open("a") as file:
        for family in () if options.table else options.only:
            for case in range(max(1, round(options.share * FAMILIES[family].count))):
                if (family, case) in done:
                    continue
                rows.append(measure(family, case, SEEDS[options.set]))
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
            print(f"{family}: finished", file=sys.stderr)
    show(rows)
    missed = [row for row in rows if row["missed"]]
    saved = {"cells": summary(rows), "missed": missed}
    write(path.with_suffix(".json"), saved)


if __name__ == "__main__":
    main()
