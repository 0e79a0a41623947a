"""Ten thousand small networks: neighbours, a landmark embedding and a query, within 4 GiB.

    python -m benchmarks.neighbors_scale FOLDER [--families 100] [--size 100] [--workers 2]
    python -m benchmarks.neighbors_scale --compare          # about four minutes on one core

Solved pairs are saved in FOLDER, so that an interrupted run resumes; times of its parts are added.
Saves benchmarks/results/neighbors_scale.json.

--compare searches 1000 networks instead, in families on sheets and in families of independent
members, and 100 networks without families. It saves benchmarks/results/neighbors_members.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import repshape as rs
from benchmarks.neighbor_families import CONDITIONS, NEURONS, Members, families
from benchmarks.stamps import write

RESULTS = Path(__file__).parent / "results" / "neighbors_scale.json"
COMPARED = RESULTS.with_name("neighbors_members.json")
# Kind of members, number of families and their size.
CASES: tuple[tuple[Members, int, int], ...] = (
    ("sheet", 20, 50),
    ("independent", 20, 50),
    ("independent", 100, 1),
)
K_NEIGHBORS, LANDMARKS = 10, 8
LIMIT = 4 * 2**30  # bytes of address space beyond which the process fails


class Clock:
    """Wall and processor time of each part, kept in a file over interruptions."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.parts: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

    def run(self, name: str, function: Callable[[], Any]) -> Any:
        """Call a function and add its time, also if it is interrupted."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            return function()
        finally:
            before = self.parts.get(name, {"wall_s": 0.0, "cpu_s": 0.0, "runs": 0})
            self.parts[name] = {
                "wall_s": before["wall_s"] + time.perf_counter() - wall,
                "cpu_s": before["cpu_s"] + time.process_time() - cpu,
                "runs": before["runs"] + 1,
            }
            self.file.write_text(json.dumps(self.parts, indent=2))


def measure(folder: Path, number: int, size: int, workers: int) -> dict[str, Any]:
    """Run all parts, and return their times and what they found."""
    warnings.simplefilter("ignore", rs.errors.SearchWarning)
    folder.mkdir(exist_ok=True)
    clock = Clock(folder / "times.json")
    everyone = families(number, size + 1)
    new = {f"new {k}": one for k, one in enumerate(everyone[size :: size + 1])}
    networks = [one for k, one in enumerate(everyone) if k % (size + 1) < size]
    cohort = rs.Cohort.from_networks(networks)
    metric = rs.GaussianShapeMetric(1.0)
    common = {"store": folder / "pairs", "workers": workers, "memory": "1G", "progress": True}
    graph = clock.run(
        "neighbours", lambda: rs.analysis.neighbor_graph(cohort, metric, K_NEIGHBORS, **common)
    )
    family = np.arange(len(networks)) // size
    found = {
        "networks": len(networks),
        "families": number,
        "conditions": CONDITIONS,
        "neurons": NEURONS,
        "k": K_NEIGHBORS,
        "pairs": graph.n_pairs,
        "pairs_of_neighbours": graph.n_solved,
        "tight_bounds": graph.settings["tight_bounds"],
        "doubtful_pairs": graph.settings["doubtful_pairs"],
        "neighbours_of_own_family": float((family[graph.indices] == family[:, None]).mean()),
    }
    print(found, clock.parts, flush=True)
    points = clock.run(
        "landmarks",
        lambda: rs.analysis.embed_landmarks(cohort, metric, n_landmarks=LANDMARKS, **common),
    )
    few = dict(list(new.items())[:10])
    asked = clock.run("queries", lambda: rs.analysis.query(cohort, few, metric, K_NEIGHBORS))
    votes = asked.predict([f"family {one}" for one in family])
    found |= {
        "landmarks": LANDMARKS,
        "stress": points.stress,
        "pairs_of_landmarks": points.n_solved,
        "queries": len(few),
        "pairs_of_queries": asked.n_solved,
        "families_predicted": float(
            np.mean([guess == f"family {k}" for k, guess in enumerate(votes)])
        ),
    }
    return found | {"times": clock.parts}


def compare(members: Members, number: int, size: int) -> dict[str, Any]:
    """Return how many pairs the neighbours of all networks need, on one core."""
    networks = families(number, size, members=members)
    start = time.process_time()
    graph = rs.analysis.neighbor_graph(
        networks, rs.GaussianShapeMetric(1.0), K_NEIGHBORS, workers=1
    )
    family = np.arange(len(networks)) // size
    found = {
        "members": members,
        "networks": len(networks),
        "families": number,
        "k": K_NEIGHBORS,
        "pairs": graph.n_pairs,
        "pairs_within_families": len(networks) * (size - 1) // 2,
        "pairs_solved": graph.n_solved,
        "tight_bounds": graph.settings["tight_bounds"],
        "neighbours_of_own_family": float((family[graph.indices] == family[:, None]).mean()),
        "cpu_s": time.process_time() - start,
    }
    print(json.dumps(found), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--families", type=int, default=100)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    if chosen.compare:
        rows = [compare(*case) for case in CASES]
        write(COMPARED, {"rows": rows})
        return
    if chosen.folder is None:
        parser.error("FOLDER is needed without --compare.")
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    found = measure(chosen.folder, chosen.families, chosen.size, chosen.workers)
    found["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["workers"] = chosen.workers
    write(RESULTS, found)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
