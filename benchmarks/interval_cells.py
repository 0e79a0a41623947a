"""Populations with known moments for simulations of intervals: to choose, and to confirm.

The estimator was chosen on ``CHOOSE`` alone. ``CONFIRM`` has other kinds of populations, other
seeds, sizes and numbers of conditions; it was written down before any estimator was compared. A
first look at it led to one correction. ``FRESH`` is a third set, written down before any of it was
simulated: no estimator, constant or threshold was chosen on its populations or seeds. Its cells
cross all differences, with and without PCA, with 10, 20 and 50 trials; kinds of noise, alpha and
numbers of conditions vary over them. All are small, so that many simulations are cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

import repshape as rs

FloatArray = npt.NDArray[np.float64]
TOLERANCE = 1e-5
TRUTH_STARTS = 64
# Counts whose gain varies from trial to trial have a log-normal gain with this spread.
HEAVY = 0.5
# Number of latent variables of the family "latent", and the exponent of the roots of the
# eigenvalues of its noise.
LATENTS, POWER = 3, 0.75
# There, how much larger the noise of y is, and how far its means move.
SCALE, MOVE = 1.8, 0.7


@dataclass(frozen=True, eq=False)
class Population:
    """One network: true means and covariances, and how its trials are drawn.

    Attributes
    ----------
    means : array of shape (M, n)
    factors : array of shape (M, n, r)
        Covariances of Gaussian and heavy-tailed noise are A A'.
    kind : {"Gaussian", "Student", "skewed", "counts", "heavy counts", "gamma counts"}
        Student noise has 5 degrees of freedom; the sources of skewed noise are exponential. Counts
        are Poisson, averaged over ``repeats`` windows; those of "heavy counts" have a log-normal
        gain of mean 1, which all neurons of a trial share, with the standard deviation ``gain`` of
        its logarithm. The gain of "gamma counts" has a gamma distribution of the same variance.
    """

    means: FloatArray
    factors: FloatArray
    kind: str
    repeats: int = 1
    gain: float = 0.0

    @property
    def moments(self) -> rs.Gaussians:
        if "counts" not in self.kind:
            return rs.Gaussians(self.means, self.factors @ np.swapaxes(self.factors, 1, 2))
        shared = np.exp(self.gain**2) - 1
        outer = shared * self.means[:, :, None] * self.means[:, None, :]
        return rs.Gaussians(
            self.means, outer + np.eye(self.means.shape[1]) * self.means[:, None] / self.repeats
        )

    def sample(self, L: int, rng: np.random.Generator) -> rs.Trials:
        M = len(self.means)
        if "counts" in self.kind:
            rates = self.means[:, None] * self._gains((M, L, 1), rng)
            return rs.Trials(rng.poisson(self.repeats * rates) / self.repeats)
        size = M, L, self.factors.shape[2]
        z = rng.exponential(size=size) - 1 if self.kind == "skewed" else rng.normal(size=size)
        if self.kind == "Student":  # with covariance 1
            z = z * np.sqrt(3 / rng.chisquare(5, size=(M, L, 1)))
        return rs.Trials(self.means[:, None] + z @ np.swapaxes(self.factors, 1, 2))

    def _gains(self, size: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        if self.kind == "gamma counts" and self.gain > 0:
            variance = np.exp(self.gain**2) - 1
            return rng.gamma(1 / variance, variance, size=size)
        return np.exp(self.gain * rng.normal(size=size) - self.gain**2 / 2)


@dataclass(frozen=True)
class Cell:
    """A pair of populations and a design.

    Attributes
    ----------
    kind : str
        Of both populations; see `Population`.
    differ : {"equal", "scale", "means", "both"}
        "scale": the noise of y is larger. With counts, they are averaged over four windows in x,
        or the gain of y varies more. "means": other means; with counts the variances follow.
    conditions, trials, neurons : int
    components : int or None
        Of PCA.
    alpha : float
    family : {"random", "tuned", "latent"}
        "random" (the set to choose): independent means, random covariances. "tuned" (the first set
        that confirms): tuning curves over the conditions, noise with few shared factors. "latent"
        (the second one): three latent variables and a saturating nonlinearity.
    """

    kind: str
    differ: str
    conditions: int
    trials: int
    neurons: int
    components: int | None
    alpha: float
    family: str

    @property
    def name(self) -> str:
        reduced = "no PCA" if self.components is None else f"PCA {self.components}"
        return (
            f"{self.differ}, {self.kind}, M{self.conditions} L{self.trials} n{self.neurons}, "
            f"{reduced}, alpha {self.alpha:g}"
        )

    def metric(self, **options: Any) -> rs.GaussianShapeMetric:
        phi = None if self.components is None else rs.Preprocess(n_components=self.components)
        return rs.GaussianShapeMetric(self.alpha, preprocess=phi, **{"tol": TOLERANCE, **options})

    @cached_property
    def pair(self) -> tuple[Population, Population]:
        seed = crc32(f"{self.kind} {self.differ} {self.conditions} {self.neurons}".encode())
        rng = np.random.default_rng([1 + self._number, seed])
        return FAMILIES[self.family](self, rng)

    @property
    def _number(self) -> int:
        return list(FAMILIES).index(self.family)

    @cached_property
    def truth(self) -> float:
        """The squared distance of the true moments."""
        found = self.metric(n_starts=TRUTH_STARTS, tol=1e-9)
        return float(found.distance(*(one.moments for one in self.pair)) ** 2)

    def sample(self, seed: int) -> tuple[rs.Trials, rs.Trials]:
        rng = np.random.default_rng([seed, 8, crc32(self.name.encode()), self._number])
        first, second = (one.sample(self.trials, rng) for one in self.pair)
        return first, second


def _random(cell: Cell, rng: np.random.Generator) -> tuple[Population, Population]:
    """Independent means; random covariances, or log-normal rates."""
    M, n = cell.conditions, cell.neurons
    moved = cell.differ in ("means", "both")
    if "counts" in cell.kind:
        means = np.exp(0.8 + 0.5 * rng.normal(size=(M, n)))
        other = means * np.exp(0.4 * moved * rng.normal(size=(M, n)))
        return count_pair(cell, means, other)
    means = rng.normal(size=(M, n))
    first, second = 0.4 * np.eye(n) + 0.7 * rng.normal(size=(2, M, n, n)) / np.sqrt(n)
    factors = second if cell.differ == "both" else first
    factors = factors * {"scale": 2.0, "both": 0.6}.get(cell.differ, 1.0)
    other = means + 0.5 * moved * rng.normal(size=(M, n))
    return Population(means, first, cell.kind), Population(other, factors, cell.kind)


def _tuned(cell: Cell, rng: np.random.Generator) -> tuple[Population, Population]:
    """Tuning curves over a circle; noise has two shared factors and a private part."""
    M, n = cell.conditions, cell.neurons
    angle = 2 * np.pi * np.arange(M)[:, None] / M
    centre, width = rng.uniform(0, 2 * np.pi, size=n), rng.uniform(0.7, 2.5, size=n)
    height = rng.gamma(3.0, 1.5, size=n)
    moved = cell.differ in ("means", "both")
    shift = centre + 0.5 * moved * rng.normal(size=n)
    curve = [0.8 + height * np.exp(width * (np.cos(angle - c) - 1)) for c in (centre, shift)]
    if "counts" in cell.kind:
        return count_pair(cell, *curve)
    shared = 0.5 * rng.normal(size=(n, 2))
    private = np.sqrt(0.25 * np.stack(curve)[..., None]) * np.eye(n)
    loads = np.stack(curve)[..., None] / 3 * shared
    first, second = np.concatenate([loads, private], axis=-1)
    if cell.differ == "both":
        second = np.concatenate([loads[1, :, ::-1], 1.5 * private[1]], axis=-1)
    if cell.differ == "scale":
        second = 2.2 * first
    return Population(curve[0], first, cell.kind), Population(curve[1], second, cell.kind)


def _latent(cell: Cell, rng: np.random.Generator) -> tuple[Population, Population]:
    """Three latent variables of the conditions, a saturating nonlinearity, and noise or counts.

    The eigenvalues of noise fall as a power law, along directions that are the same in all
    conditions, and its scale varies with the condition.
    """
    M, n = cell.conditions, cell.neurons
    latents = rng.normal(size=(M, LATENTS))
    loads, change = rng.normal(size=(2, LATENTS, n))
    drive = latents @ loads
    moved = drive + MOVE * (cell.differ in ("means", "both")) * latents[:, ::-1] @ change
    means, other = (2 * np.tanh(one / 2) for one in (drive, moved))
    if "counts" in cell.kind:
        return count_pair(cell, *(np.exp(0.9 + 0.4 * one) for one in (means, other)))
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0] * np.arange(1, n + 1) ** -POWER
    level = 0.6 + 0.4 * np.abs(latents[:, 0])
    first = level[:, None, None] * basis
    second = {"scale": SCALE * first, "both": 1.3 * first[:, ::-1]}.get(cell.differ, first)
    return Population(means, first, cell.kind), Population(other, second, cell.kind)


def count_pair(cell: Cell, means: FloatArray, other: FloatArray) -> tuple[Population, Population]:
    """Return populations of counts with these means; their noise differs if the cell says so."""
    none = np.zeros((*means.shape, 0))
    gain = 0.0 if cell.kind == "counts" else HEAVY
    unequal = cell.differ in ("scale", "both")
    first = Population(means, none, cell.kind, 1, 0.4 * gain if unequal else gain)
    if unequal and gain == 0:
        first = Population(means, none, cell.kind, 4)
    return first, Population(other, none, cell.kind, 1, gain)


# How the populations of each family are made.
FAMILIES: dict[str, Callable[[Cell, np.random.Generator], tuple[Population, Population]]] = {
    "random": _random,
    "tuned": _tuned,
    "latent": _latent,
}


def make_cells(family: str, *rows: tuple[str, str, int, int, int, int | None, float]) -> list[Cell]:
    return [Cell(*row, family=family) for row in rows]


CHOOSE = make_cells(
    "random",
    ("Gaussian", "equal", 12, 20, 6, None, 1.0),
    ("Gaussian", "scale", 12, 20, 6, None, 1.0),
    ("Gaussian", "both", 12, 20, 6, None, 0.0),
    ("counts", "means", 12, 20, 12, None, 1.0),
    ("heavy counts", "scale", 12, 50, 10, None, 1.0),
    ("counts", "equal", 12, 20, 30, 5, 1.0),
    ("counts", "means", 12, 20, 30, 5, 0.0),
    ("heavy counts", "equal", 12, 20, 20, 5, 1.0),
    ("Gaussian", "both", 12, 50, 20, 5, 1.0),
    ("Gaussian", "scale", 12, 10, 6, None, 1.0),
    ("counts", "both", 12, 10, 12, None, 1.0),
    ("counts", "equal", 12, 10, 20, 5, 1.0),
)
CONFIRM = make_cells(
    "tuned",
    # 20 trials, without PCA
    ("Gaussian", "equal", 20, 20, 6, None, 1.0),
    ("Student", "scale", 8, 20, 5, None, 1.0),
    ("counts", "means", 30, 20, 8, None, 1.0),
    ("heavy counts", "both", 15, 20, 7, None, 1.0),
    ("counts", "equal", 10, 20, 10, None, 0.0),
    ("Gaussian", "scale", 15, 20, 8, None, 0.0),
    ("Student", "means", 5, 20, 4, None, 2.0),
    ("Gaussian", "both", 24, 20, 9, None, 0.0),
    # 20 trials, with PCA
    ("heavy counts", "equal", 24, 20, 40, 4, 1.0),
    ("Gaussian", "scale", 10, 20, 25, 5, 1.0),
    ("counts", "means", 15, 20, 30, 6, 2.0),
    ("Student", "both", 12, 20, 20, 4, 1.0),
    ("counts", "equal", 8, 20, 16, 3, 2.0),
    ("heavy counts", "means", 18, 20, 24, 5, 0.0),
    # 50 trials, without PCA
    ("heavy counts", "equal", 12, 50, 12, None, 1.0),
    ("counts", "scale", 16, 50, 12, None, 1.0),
    ("Gaussian", "means", 6, 50, 10, None, 1.0),
    ("Student", "both", 20, 50, 8, None, 0.0),
    ("Gaussian", "scale", 30, 50, 5, None, 2.0),
    # 50 trials, with PCA
    ("counts", "equal", 15, 50, 30, 6, 0.0),
    ("heavy counts", "scale", 10, 50, 20, 5, 1.0),
    ("Student", "means", 24, 50, 18, 4, 1.0),
    ("counts", "both", 12, 50, 40, 5, 1.0),
    ("Gaussian", "both", 5, 50, 15, 3, 2.0),
    # 10 trials
    ("Gaussian", "equal", 15, 10, 5, None, 1.0),
    ("Student", "scale", 12, 10, 8, None, 1.0),
    ("counts", "means", 20, 10, 10, None, 2.0),
    ("heavy counts", "both", 10, 10, 6, None, 0.0),
    ("counts", "equal", 12, 10, 24, 4, 1.0),
    ("Gaussian", "scale", 24, 10, 20, 3, 1.0),
    ("heavy counts", "means", 15, 10, 30, 5, 1.0),
    ("Student", "both", 8, 10, 16, 4, 0.0),
)
FRESH = make_cells(
    "latent",
    # 20 trials, without and with PCA
    ("skewed", "equal", 9, 20, 5, None, 1.0),
    ("Gaussian", "scale", 14, 20, 4, None, 1.0),
    ("gamma counts", "means", 8, 20, 6, None, 2.0),
    ("counts", "both", 11, 20, 5, None, 0.0),
    ("counts", "equal", 7, 20, 15, 4, 0.0),
    ("skewed", "scale", 9, 20, 14, 3, 0.0),
    ("counts", "means", 13, 20, 18, 4, 1.0),
    ("Gaussian", "both", 6, 20, 12, 3, 1.0),
    # 50 trials, without and with PCA
    ("gamma counts", "equal", 10, 50, 6, None, 2.0),
    ("counts", "scale", 7, 50, 7, None, 0.0),
    ("skewed", "means", 30, 50, 4, None, 1.0),
    ("Gaussian", "both", 5, 50, 8, None, 1.0),
    ("Gaussian", "equal", 12, 50, 16, 5, 1.0),
    ("gamma counts", "scale", 8, 50, 12, 4, 1.0),
    ("Gaussian", "means", 16, 50, 20, 3, 2.0),
    ("skewed", "both", 10, 50, 13, 6, 0.0),
    # 10 trials, without and with PCA
    ("counts", "equal", 13, 10, 4, None, 1.0),
    ("gamma counts", "scale", 6, 10, 5, None, 1.0),
    ("Gaussian", "means", 20, 10, 6, None, 2.0),
    ("skewed", "both", 9, 10, 4, None, 0.0),
    ("gamma counts", "equal", 11, 10, 18, 3, 2.0),
    ("Gaussian", "scale", 5, 10, 12, 3, 0.0),
    ("skewed", "means", 8, 10, 16, 4, 1.0),
    ("counts", "both", 15, 10, 14, 5, 1.0),
)
# Cells of ratios d_0 / d_2 and of differences. The means of the last ratio are equal, so that it is
# infinite: an interval covers it if it has no upper end.
RATIOS = tuple(FRESH[k] for k in (3, 7, 11, 1))
DIFFERENCES = tuple(FRESH[k] for k in (5, 6, 9, 15))
