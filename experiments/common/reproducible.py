"""Equal bits in every run: settings of PyTorch, and what identifies a trained network."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

import repshape as rs
from repshape.errors import MissingDependencyError

TORCH = "torch==2.13.0"
PACKAGES = ("torch", "numpy")


def require_torch() -> None:
    """Raise an error that says how to install PyTorch, if it is not installed."""
    if find_spec("torch") is None:
        raise MissingDependencyError(f"This command needs PyTorch: pip install {TORCH}.")


@contextmanager
def deterministic() -> Iterator[None]:
    """Compute with one thread and deterministic algorithms, and restore the settings afterwards.

    Memory is not filled before its first use, as PyTorch would do by default: that takes a
    twentieth of the time, and nothing here reads what it has not written.
    """
    import torch

    memory: Any = torch.utils.deterministic  # a module whose settings are not declared
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    filled = memory.fill_uninitialized_memory
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    memory.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict)
        memory.fill_uninitialized_memory = filled


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from PyTorch's global generator with a seed, and restore its state afterwards."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def weights_hash(weights: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return a fingerprint of all weights, their names and shapes."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        digest.update(f"{name}{weights[name].shape}".encode())
        digest.update(np.ascontiguousarray(weights[name]).tobytes())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions that decide a network's bits."""
    found = {"repshape": rs.__version__, "python": platform.python_version()}
    return found | {name: version(name) for name in PACKAGES}
