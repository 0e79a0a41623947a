"""The networks of the scale benchmarks, and a profile of where time goes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import repshape as rs

threads = import_module("repshape.engine.threads")


def vae_like(count: int, conditions: int, neurons: int, seed: int = 0) -> Iterator[Any]:
    """Yield networks with diagonal noise that share a latent code up to rotation and noise."""
    rng = np.random.default_rng(seed)
    code = rng.normal(size=(conditions, neurons))
    scale = 0.7 * rng.normal(size=(conditions, neurons)) - 1.5
    for k in range(count):
        Q = np.linalg.qr(rng.normal(size=(neurons, neurons)))[0]
        means = code @ Q + 0.5 * rng.normal(size=code.shape)
        logs = scale[:, rng.permutation(neurons)] + 0.4 * rng.normal(size=code.shape)
        yield f"vae {k}", (means, np.exp(logs)), {"seed": k}


def full_covariances(count: int, conditions: int, neurons: int) -> Iterator[Any]:
    """Yield networks with full covariances, one in memory at a time."""
    for k in range(count):
        rng = np.random.default_rng(k)
        roots = rng.normal(size=(conditions, neurons, neurons)) / np.sqrt(neurons)
        S = roots @ roots.transpose(0, 2, 1)
        yield (
            f"net {k}",
            (rng.normal(size=(conditions, neurons)), (S + S.transpose(0, 2, 1)) / 2),
            {},
        )


def trial_networks(count: int, conditions: int, neurons: int, trials: int) -> Iterator[Any]:
    """Yield networks of trials around a shared code."""
    rng = np.random.default_rng(0)
    code = rng.normal(size=(conditions, 1, neurons))
    for k in range(count):
        Q = np.linalg.qr(rng.normal(size=(neurons, neurons)))[0]
        noise = rng.normal(size=(conditions, trials, neurons)) @ np.diag(
            rng.uniform(0.3, 1, neurons)
        )
        yield f"net {k}", (code + noise + 0.4 * rng.normal(size=code.shape)) @ Q, {}


def macaque(folder: Path, category: int) -> dict[str, rs.Trials]:
    """Return nine V1 populations: frames 1 to 9, units missing in under 2 % of the trials."""
    networks = {}
    with np.load(folder / "macaque_v1_counts.npz") as stored:
        for name in stored.files:
            counts = stored[name][:, category, :, 1:10].astype(float)
            counts = np.where(counts < 0, np.nan, counts).reshape(-1, *counts.shape[-2:])
            counts = counts[:, np.isnan(counts).mean(axis=(0, 2)) < 0.02].transpose(0, 2, 1)
            counts[np.isnan(counts).any(axis=-1)] = np.nan
            networks[name] = rs.Trials(counts)
    return networks


class Profile:
    """Seconds of processor time: all, and inside the solver, summed over threads."""

    def __init__(self) -> None:
        self.solving = 0.0
        self.preparing = 0.0
        self._lock = threading.Lock()

    def __enter__(self) -> Profile:
        cache = threads.PreparedCache
        self._originals = (threads.solve_chunk, cache._prepare)
        threads.solve_chunk = self._timed(threads.solve_chunk, "solving")
        cache._prepare = self._timed(cache._prepare, "preparing")
        self._start = (time.process_time(), time.perf_counter())
        return self

    def _timed(self, function: Any, name: str) -> Any:
        def timed(*arguments: Any, **options: Any) -> Any:
            start = time.thread_time()
            result = function(*arguments, **options)
            with self._lock:
                setattr(self, name, getattr(self, name) + time.thread_time() - start)
            return result

        return timed

    def __exit__(self, *_: object) -> None:
        self.cpu = time.process_time() - self._start[0]
        self.wall = time.perf_counter() - self._start[1]
        threads.solve_chunk, threads.PreparedCache._prepare = self._originals


def command(*arguments: str) -> tuple[float, float, float]:
    """Run the command line in a process; return seconds, processor seconds and peak MiB."""
    code = "from repshape.cli import main; main()"
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"repshape {' '.join(arguments)} failed")
    seconds = time.perf_counter() - start
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
