"""What the tests of stores, shards and clusters share: networks, and runs in other processes."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from repshape import Cohort, GaussianShapeMetric, cross, pairwise
from repshape._native import PairResults
from repshape.engine import threads
from repshape.engine.plan import Tile
from repshape.engine.store import Store
from repshape.errors import RepshapeError

METRIC = GaussianShapeMetric(alpha=0.5)
EDGE = 4
CONTEXT = multiprocessing.get_context("forkserver")  # children start in milliseconds
CONTEXT.set_forkserver_preload(["scale_support"])


def make_cohort(path: Path, count: int = 20, seed: int = 0) -> Cohort:
    """Networks of 2 to 4 neurons and 6 conditions, diagonal, full and as trials."""
    rng = np.random.default_rng(seed)
    cohort = Cohort()
    for k in range(count):
        n = 2 + k % 3
        means, roots = rng.normal(size=(6, n)), rng.normal(size=(6, n, n))
        network: Any = (means, roots @ roots.transpose(0, 2, 1))
        if k % 5 == 0:
            network = (means, np.abs(means))
        if k % 7 == 1:
            network = means[:, None, :] + rng.normal(size=(6, 9, n))
        cohort.add(f"net/{k}", network, neurons=n, odd=bool(k % 2))
    return cohort.save(path)


def run_logged(cohort: Path, store: Path, log: Path, options: dict[str, Any]) -> None:
    """Run `pairwise` and append every tile to a log once it is written."""
    original = Store.write

    def write(self: Store, layer: int, tile: Tile, found: PairResults) -> None:
        original(self, layer, tile, found)
        line = f"{layer} {tile.row} {tile.column}\n".encode()
        handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, line)
        os.close(handle)

    Store.write = write  # type: ignore[method-assign]
    pairwise(Cohort.open(cohort), METRIC, store=store, tile=EDGE, **options)


def run_counted(
    cohort: Path, store: Path, log: Path, last: int | None, options: dict[str, Any]
) -> None:
    """Run `pairwise`, log how many pairs are solved from their own starts, and be killed.

    The process kills itself as soon as it has written ``last`` tiles.
    """
    write, solve = Store.write, threads.solve_chunk
    written = 0

    def counting(self: Store, layer: int, tile: Tile, found: PairResults) -> None:
        nonlocal written
        write(self, layer, tile, found)
        written += 1
        if written == last:
            os.kill(os.getpid(), signal.SIGKILL)

    def logging(metric: Any, prepared: Any, pairs: Any, **given: Any) -> PairResults:
        with open(log, "a") as handle:
            handle.write(f"{'whole' if given.get('brief') is None else 'brief'} {len(pairs)}\n")
        return solve(metric, prepared, pairs, **given)

    Store.write, threads.solve_chunk = counting, logging  # type: ignore[method-assign, assignment]
    pairwise(Cohort.open(cohort), METRIC, store=store, workers=1, **options)


def solved(log: Path, search: str) -> int:
    """Return how many pairs were searched, briefly or at length."""
    lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return sum(int(number) for name, number in lines if name == search)


def run_limited(cohort: Path, store: Path, largest: int, answer: Any) -> None:
    """Run `pairwise` in a process whose files may not grow beyond a size; answer its words."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
    try:
        pairwise(Cohort.open(cohort), METRIC, store=store, workers=1)
        answer.put("done")
    except RepshapeError as error:
        answer.put(str(error))


def start(target: Any, *arguments: Any) -> Any:
    """Start a function in a process of its own."""
    process = CONTEXT.Process(target=target, args=arguments)
    process.start()
    return process


def written_twice(log: Path) -> list[str]:
    """Return the tiles that were written more than once."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [line for line, times in Counter(lines).items() if times > 1]


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder, by name."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def run_cross(rows: Path, columns: Path, store: Path, metric: Any, last: int | None) -> None:
    """Run `cross` on two cohorts, and be killed as soon as ``last`` tiles are written."""
    write = Store.write
    written = 0

    def counting(self: Store, layer: int, tile: Tile, found: PairResults) -> None:
        nonlocal written
        write(self, layer, tile, found)
        written += 1
        if written == last:
            os.kill(os.getpid(), signal.SIGKILL)

    Store.write = counting  # type: ignore[method-assign]
    cross(Cohort.open(rows), Cohort.open(columns), metric, store=store, tile=2, workers=1)
