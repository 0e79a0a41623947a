"""Threads, memory and very wide networks.

    python -m benchmarks.resources

Saves benchmarks/results/resources.json.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import repshape as rs
from benchmarks import workloads
from benchmarks.solver import show
from benchmarks.stamps import RESULTS, write

# Increase of the peak memory by aligning a pair, measured in a separate process.
MEMORY = """
import resource, sys
import numpy as np, repshape as rs
M, n = {M}, {n}
rng = np.random.default_rng(0)
def network():
    S = np.empty((M, n, n))
    for m in range(M):
        A = rng.normal(size=(n, n + 5)); S[m] = A @ A.T
    return rs.Gaussians(rng.normal(size=(M, n)), S)
metric = rs.GaussianShapeMetric(max_iter=20)
metric.distance(rng.normal(size=(9, 5, 3)), rng.normal(size=(9, 5, 3)))
x, y = network(), network()
size = sum(net.means.nbytes + net.stored.nbytes for net in (x, y))
unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
before = peak()
metric.distance(x, y)
print(size, peak() - before)
"""


def threads(repeats: int = 7) -> dict[str, float]:
    """Time of two pairs on two threads, compared with one pair on one thread."""
    (first, second), *_ = workloads.random_full(119, 19, 1)
    metric = rs.GaussianShapeMetric()
    x, y = metric.prepare(first), metric.prepare(second)
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeats):
        for count in times:
            with ThreadPoolExecutor(count) as pool:
                begin = time.perf_counter()
                list(pool.map(lambda _: metric.align_prepared(x, y), range(count)))
                times[count].append(time.perf_counter() - begin)
    one, two = median(times[1]), median(times[2])
    return {"one_s": one, "two_s": two, "ratio": two / one}


def memory(M: int, n: int) -> dict[str, float]:
    """Size of the inputs of a pair, and the increase of the peak memory by aligning it."""
    code = MEMORY.format(M=M, n=n)
    printed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    size, added = map(int, printed.stdout.split())
    return {
        "M": M,
        "n": n,
        "inputs_MB": size / 1e6,
        "added_MB": added / 1e6,
        "peak_over_inputs": (size + added) / size,
    }


def wide(n: int = 100_000, conditions: int = 50, trials: int = 10) -> dict[str, float]:
    """Many more neurons than responses, which are reduced exactly to the span of the responses."""
    rng = np.random.default_rng(0)
    x, y = (rs.Trials(rng.normal(size=(conditions, trials, n))) for _ in range(2))
    metric = rs.GaussianShapeMetric(n_starts=1)
    begin = time.perf_counter()
    alignment = metric.align(x, y)
    return {
        "neurons": n,
        "responses": conditions * trials,
        "seconds": time.perf_counter() - begin,
        "distance": alignment.distance,
    }


def main() -> None:
    rows = {"threads": threads(), "memory": [memory(200, 100), memory(1000, 32)], "wide": wide()}
    show([rows["threads"]], "two pairs on two threads, one pair on one thread")
    show(rows["memory"], "peak memory of a pair")
    show([rows["wide"]], "more neurons than responses")
    write(RESULTS / "resources.json", rows)


if __name__ == "__main__":
    main()
