"""Populations of brains and models with known distances, for simulations of `inference.models`.

A brain is a population of latent responses plus individual differences, rotated into its own
neurons, with noise. At alpha = 2, distances of brains without noise are Procrustes distances of the
latent responses, which are written down here in plain NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

import repshape as rs

FloatArray = npt.NDArray[np.float64]

LATENT = 5
NEURONS = (30, 80)
# Squared distances of the models from the brains, relative to that between brains. The third model
# is farther than the other two, and the fourth is at the margin: a tenth farther than brains.
TARGETS = {"first": 0.8, "equal": 0.8, "farther": 0.88, "margin": 1.21}
MORE = "one more brain"
TRUTH_BRAINS = 4000
TRUTH_SETS = 100


@dataclass(frozen=True)
class Design:
    """A population and its models.

    Attributes
    ----------
    seed : int
        Of the population, the models and the simulations.
    conditions, trials : int
    spectrum : tuple of five floats
        Standard deviations of the latent responses.
    differences : float
        Standard deviation of individual differences.
    noise : float
        Standard deviation of each neuron's noise.
    """

    seed: int
    conditions: int
    trials: int
    spectrum: tuple[float, ...]
    differences: float
    noise: float

    def latents(self, rng: np.random.Generator) -> FloatArray:
        return rng.normal(size=(self.conditions, LATENT)) * self.spectrum

    def individuals(self, population: FloatArray, count: int, rng: Any) -> FloatArray:
        shape = (count, self.conditions, LATENT)
        return population + self.differences * rng.normal(size=shape)


# One set to find faults on, and another to report.
DEVELOP = Design(1, 16, 16, (1.4, 1.3, 1.2, 1.1, 1.0), 0.5, 0.4)
FINAL = Design(2, 20, 20, (1.5, 1.3, 1.1, 1.0, 0.9), 0.4, 0.5)
DESIGNS = {"develop": DEVELOP, "final": FINAL}


def centred(x: FloatArray) -> FloatArray:
    return x - x.mean(axis=-2, keepdims=True)


def squared(x: FloatArray, y: FloatArray) -> FloatArray:
    """Squared distances of means at alpha = 2: twice the mean over conditions, best rotation."""
    x, y = centred(x), centred(y)
    total = (x**2).sum(axis=(-2, -1)) + (y**2).sum(axis=(-2, -1))
    best = np.linalg.svd(np.swapaxes(x, -1, -2) @ y, compute_uv=False).sum(axis=-1)
    return np.asarray(2 * (total - 2 * best) / x.shape[-2])


def mean_shape(x: FloatArray, steps: int = 30) -> FloatArray:
    """Return the generalised Procrustes mean of brains (..., K, M, d)."""
    x = centred(x)
    mean = x[..., 0, :, :]
    for _ in range(steps):
        U, _, Vt = np.linalg.svd(np.swapaxes(x, -1, -2) @ mean[..., None, :, :])
        mean = (x @ (U @ Vt)).mean(axis=-3)
    return mean


@dataclass(frozen=True)
class Cell:
    """Brains, and what intervals are over.

    Attributes
    ----------
    design : Design
    brains : int
    over : str
        With "both", the conditions are drawn again in every simulation.
    related : bool
        Whether brains have a population in common.
    every : int
        Factor by which simulations are fewer than those of other cells.
    """

    design: Design
    brains: int
    over: str = "brains"
    related: bool = True
    every: int = 1

    @property
    def name(self) -> str:
        what = f"over {self.over}" if self.related else "unrelated brains"
        return f"{self.brains} brains, {what}"

    @cached_property
    def _fixed(self) -> tuple[FloatArray, dict[str, FloatArray]]:
        return self._draw(np.random.default_rng([self.design.seed, 1]))

    def _draw(self, rng: np.random.Generator) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Return the population, and the directions in which models differ from it."""
        population = self.design.latents(rng)
        return population, {name: rng.normal(size=population.shape) for name in TARGETS}

    def population(self, rng: np.random.Generator) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Return the population and the directions of a simulation."""
        return self._draw(rng) if self.over == "both" else self._fixed

    @cached_property
    def truth(self) -> dict[str, float]:
        """Expected squared distances, and how far models are moved from the population."""
        rng = np.random.default_rng([self.design.seed, 4, self.brains])
        return {**_known(self.design, self.over), "mean": self._to_others(rng)}

    def _to_others(self, rng: np.random.Generator) -> float:
        """Expected squared distance of a brain to the mean shape of the others."""
        found = []
        for _ in range(TRUTH_SETS):
            brains = self.design.individuals(self.population(rng)[0], self.brains, rng)
            for k in range(min(self.brains, 5)):
                found.append(squared(brains[k], mean_shape(np.delete(brains, k, axis=0))))
        return float(np.mean(found))

    def sample(self, k: int) -> tuple[dict[str, rs.Trials], dict[str, FloatArray]]:
        """Return brains with trials, and models without noise."""
        design = self.design
        rng = np.random.default_rng([design.seed, 3, crc32(self.name.encode()), k])
        population, ways = self.population(rng)
        latents = design.individuals(population, self.brains + 1, rng)
        if not self.related:
            latents = np.array([design.latents(rng) for _ in latents])
        brains = {}
        for b, latent in enumerate(latents[:-1]):
            n = int(rng.integers(NEURONS[0], NEURONS[1] + 1))
            axes = np.linalg.qr(rng.normal(size=(n, LATENT)))[0]
            noise = design.noise * rng.normal(size=(design.conditions, design.trials, n))
            brains[f"brain {b}"] = rs.Trials((latent @ axes.T)[:, None] + noise)
        models = {
            name: population + self.truth[f"scale of {name}"] * way for name, way in ways.items()
        }
        return brains, models | {MORE: latents[-1]}


@cache
def _known(design: Design, over: str) -> dict[str, float]:
    """Expected squared distances that do not depend on the number of brains, and scales."""
    rng = np.random.default_rng([design.seed, 2])
    cell = Cell(design, 0, over)
    draws = TRUTH_BRAINS if over == "both" else 1
    sets = [cell.population(rng) for _ in range(draws)]
    count = TRUTH_BRAINS // draws
    brains = [design.individuals(one, 2 * count, rng) for one, _ in sets]
    pairs = float(np.mean([squared(one[:count], one[count:]) for one in brains]))
    out = {"pairs": pairs}
    for name, share in TARGETS.items():
        moved = [(one, ways[name]) for one, ways in sets]
        out[name] = share * pairs
        out[f"scale of {name}"] = _scale(np.concatenate(brains), moved, share * pairs)
    return out


def _scale(x: FloatArray, moved: list[Any], target: float) -> float:
    """Return how far to move a population for a mean squared distance, by bisection."""
    low, high = 0.0, 5.0
    times = len(x) // len(moved)
    bases, ways = (np.repeat([one[k] for one in moved], times, axis=0) for k in (0, 1))
    for _ in range(22):
        middle = (low + high) / 2
        far = float(squared(x, bases + middle * ways).mean()) > target
        low, high = (low, middle) if far else (middle, high)
    return (low + high) / 2


def cells(name: str) -> list[Cell]:
    """Return the cells of a set."""
    design = DESIGNS[name]
    return [
        *(Cell(design, count) for count in (5, 10, 20)),
        Cell(design, 10, "both", every=4),
        Cell(design, 6, related=False, every=4),
    ]
