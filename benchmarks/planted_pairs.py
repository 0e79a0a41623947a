"""Pairs with a planted alignment: a network, and a moved copy of it with noise.

Sizes, noise and structure are drawn from the number of the pair alone, so that any part of the
pairs can be made again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

import repshape as rs
from repshape.groups import GROUPS

FloatArray = npt.NDArray[np.float64]
NOISE = (0.0, 0.01, 0.03, 0.1, 0.3)  # relative to the standard deviation of the responses
ALPHAS = (0.0, 0.5, 1.0, 1.5)
STRUCTURES = ("white", "spectrum", "tuned")


@dataclass(frozen=True)
class Planted:
    """Two networks, the metric that compares them, and the transform (n_y, n_x) that was planted.

    ``back`` undoes a planted shift of maps, so that the transform alone aligns both networks.
    """

    x: FloatArray
    y: FloatArray
    transform: FloatArray
    metric: Any
    settings: dict[str, Any]
    back: Callable[[FloatArray], FloatArray] = field(default=lambda y: y)


@dataclass(frozen=True)
class Family:
    """A number of pairs, and how to make one of them from its settings and random numbers."""

    count: int
    make: Callable[[np.random.Generator, dict[str, Any]], Planted]
    groups: tuple[str, ...] = ("orthogonal", "rotation")
    alphas: tuple[float, ...] = ALPHAS


def low_rank(rng: np.random.Generator, x: FloatArray) -> FloatArray:
    """Return responses that span at most a quarter of the dimensions."""
    n = x.shape[-1]
    rank = integer(rng, 1, max(1, n // 4))
    return x[..., :rank] @ rng.normal(size=(rank, n))


def shared_noise(rng: np.random.Generator, x: FloatArray) -> FloatArray:
    """Return responses whose noise is mostly along two directions, which change with the input."""
    mu, n = x.mean(axis=1, keepdims=True), x.shape[-1]
    directions = rng.normal(size=(len(x), 2, n))
    return mu * 3 + rng.normal(size=(*x.shape[:2], 2)) @ directions + 0.1 * (x - mu)


def symmetric(rng: np.random.Generator, x: FloatArray) -> FloatArray:
    """Return responses that some reflections, or exchanges of neurons, leave as they are.

    Means vanish in the last third of the neurons, and each trial comes with its mirror image
    there. Every neuron of the first third exists twice.
    """
    third, half = x.shape[-1] // 3, x.shape[1] // 2
    x = x.copy()
    x[..., third : 2 * third] = x[..., :third]
    x[:, half : 2 * half] = x[:, :half]
    x[:, half : 2 * half, 2 * third :] *= -1
    x[:, 2 * half :, 2 * third :] = 0  # the last one of an odd number of trials
    return x


# Structures for the fuzzer; the benchmark keeps to `STRUCTURES`.
SPECIAL = {"low rank": low_rank, "shared noise": shared_noise, "symmetric": symmetric}


def responses(rng: np.random.Generator, shape: tuple[int, ...], structure: str) -> FloatArray:
    """Return responses (conditions, trials, ..., neurons)."""
    n = shape[-1]
    x = rng.normal(size=shape)
    if structure == "white":
        return x
    if structure in SPECIAL:
        return SPECIAL[structure](rng, x)
    x = x * np.exp(-np.arange(n) / (n / 3)) @ GROUPS["orthogonal"](rng.normal(size=(n, n)))
    if structure == "spectrum":
        return x
    # Tuned means, and noise that grows with them.
    W, z = rng.normal(size=(3, n)), rng.normal(size=(shape[0], *shape[2:-1], 3))
    mu = np.log1p(np.exp(z @ W + rng.normal(size=n)))[:, None]
    return mu + np.sqrt(0.1 + 0.5 * mu) * x


def with_noise(rng: np.random.Generator, x: FloatArray, share: float) -> FloatArray:
    """Return a copy with noise, whose standard deviation is a share of that of the responses."""
    return x + share * float(x.std()) * rng.normal(size=x.shape)


def element(rng: np.random.Generator, n: int, group: str) -> FloatArray:
    """Return a random transform of a group."""
    if group == "rotation":
        Q = GROUPS["orthogonal"](rng.normal(size=(n, n)))
        Q[:, 0] *= np.sign(np.linalg.det(Q))
        return Q
    return GROUPS[group](rng.normal(size=(n, n)))


def integer(rng: np.random.Generator, low: int, high: int) -> int:
    """Return a whole number from low to high."""
    return int(rng.integers(low, high + 1))


def plant(
    rng: np.random.Generator,
    shape: tuple[int, ...],
    metric: Any,
    s: dict[str, Any],
    structure: str | None = None,
) -> Planted:
    """Return a pair without shifts."""
    structure = structure or STRUCTURES[integer(rng, 0, 2)]
    x = responses(rng, shape, structure)
    Q = element(rng, shape[-1], s["group"])
    y = with_noise(rng, x, s["noise"]) @ Q
    return Planted(x, y, Q.T, metric, s | {"shape": list(shape), "structure": structure})


def gaussian(rng: np.random.Generator, s: dict[str, Any]) -> Planted:
    """Few to many conditions and trials; larger networks are rarer, since they take longer."""
    n = round(5 * 12 ** float(rng.uniform()))
    shape = integer(rng, 2, 30), integer(rng, 2, 12), n
    return plant(rng, shape, rs.GaussianShapeMetric(s["alpha"], group=s["group"]), s)


def permutation(rng: np.random.Generator, s: dict[str, Any]) -> Planted:
    """Neurons in another order."""
    shape = integer(rng, 2, 30), integer(rng, 2, 12), integer(rng, 5, 30)
    return plant(rng, shape, rs.GaussianShapeMetric(s["alpha"], group="permutation"), s)


def energy(rng: np.random.Generator, s: dict[str, Any]) -> Planted:
    """Energy distances in their biased form, which is 0 for copies; both forms search alike."""
    shape = integer(rng, 2, 12), integer(rng, 3, 12), integer(rng, 5, 20)
    return plant(rng, shape, rs.EnergyShapeMetric(estimator="v", group=s["group"]), s)


def process(mode: str) -> Callable[[np.random.Generator, dict[str, Any]], Planted]:
    """Return the maker of time series that are compared in one mode."""

    def make(rng: np.random.Generator, s: dict[str, Any]) -> Planted:
        n, order = integer(rng, 5, 20 if mode != "causal" else 8), 1 if mode == "causal" else None
        L = integer(rng, 2, 12) if order is None else n + integer(rng, 3, 8)
        shape = integer(rng, 2, 10), L, integer(rng, 2, 6), n
        metric = rs.ProcessShapeMetric(s["alpha"], mode=mode, order=order, group=s["group"])
        return plant(rng, shape, metric, s)

    return make


def conv(rng: np.random.Generator, s: dict[str, Any]) -> Planted:
    """Maps that are also shifted."""
    height, width = integer(rng, 3, 6), integer(rng, 3, 6)
    shape = integer(rng, 2, 8), integer(rng, 2, 8), height, width, integer(rng, 3, 10)
    mode = ("joint", "marginal")[integer(rng, 0, 1)]
    metric = rs.ConvShapeMetric(s["alpha"], mode=mode, shifts=True, group=s["group"])
    pair = plant(rng, shape, metric, s | {"mode": mode})
    shift = integer(rng, 0, height - 1), integer(rng, 0, width - 1)
    y = np.roll(pair.y, shift, axis=(2, 3))

    def back(moved: FloatArray) -> FloatArray:
        return np.roll(moved, (-shift[0], -shift[1]), axis=(2, 3))

    return Planted(pair.x, y, pair.transform, metric, pair.settings, back)


FAMILIES = {
    "gaussian": Family(2400, gaussian),
    "permutation": Family(600, permutation, groups=("permutation",)),
    "energy": Family(600, energy, alphas=(0.0,)),
    "process joint": Family(600, process("joint")),
    "process marginal": Family(600, process("marginal")),
    "process causal": Family(600, process("causal")),
    "conv": Family(600, conv, groups=("orthogonal",)),
}


def make_pair(family: str, case: int, seed: int) -> Planted:
    """Return one pair. Noise, alpha and group take turns, so that every cell has as many pairs."""
    made = FAMILIES[family]
    rest, noise = divmod(case, len(NOISE))
    rest, alpha = divmod(rest, len(made.alphas))
    settings = {"noise": NOISE[noise], "alpha": made.alphas[alpha]}
    settings |= {"group": made.groups[rest % len(made.groups)]}
    if family == "energy":
        del settings["alpha"]
    rng = np.random.default_rng([seed, list(FAMILIES).index(family), case])
    return made.make(rng, settings)
