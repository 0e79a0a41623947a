"""A simulated cohort: visual cortices whose true means and covariances are known.

An animal is a random sample of neurons. Neuron i has the expected count r_im in condition m, and
counts are Poisson with the rate g_i r_im, where the gains g have mean 1, are log-normal, and are
partly shared between neurons. So with V_ij = cov(g_i, g_j),

    cov(N_i, N_j) = r_im r_jm V_ij + (i = j) r_im:

variance grows beyond the mean (Goris et al., 2014), and covariances differ between conditions.
This tests the pipeline. It says nothing about brains.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

import repshape as rs
from experiments.brain.settings import Settings

FloatArray = npt.NDArray[np.float64]

ORIENTATIONS = (0.0, 30.0, 60.0, 90.0, 120.0, 150.0)
DIRECTIONS = (0.0, 45.0, 90.0, 135.0)
CONTRASTS = (0.1, 0.8)
BLANK = -1
WINDOW = 0.25
DRIFTING_DURATION = 2.0
# Dimensions of the image features, which all animals share, and of the shared gains.
N_FEATURES, N_GAINS = 12, 3
SEEDS = {"features": 1, "neurons": 2, "trials": 3}
# Log-normal spread of rates over neurons, and how strongly features modulate them.
RATE_SPREAD, FEATURE_GAIN = 1.0, 0.7
# Standard deviations of the logarithm of shared and private gains.
SHARED_GAIN, PRIVATE_GAIN = 0.4, 0.25
# Half of the maximal response is reached at this contrast.
HALF_CONTRAST = 0.3


@dataclass(frozen=True)
class Table:
    """Conditions of a stimulus: one row each, by column, and expected counts (rows, neurons)."""

    columns: dict[str, FloatArray]
    rates: FloatArray
    duration: float
    n_repeats: int

    def gaussians(self, gain_covariance: FloatArray, rows: npt.NDArray[np.bool_]) -> rs.Gaussians:
        """Return the exact means and covariances of the counts in some of the conditions."""
        r = self.rates[rows]
        covariances = r[:, :, None] * r[:, None, :] * gain_covariance
        covariances[:, np.arange(r.shape[1]), np.arange(r.shape[1])] += r
        return rs.Gaussians(r, covariances)


@dataclass(frozen=True)
class Animal:
    """One simulated animal.

    Attributes
    ----------
    settings : Settings
    index : int
        Which animal; animals from ``settings.n_animals`` on see drifting gratings.
    """

    settings: Settings
    index: int

    @property
    def name(self) -> str:
        """Name of the session, and of its file."""
        return f"animal-{self.index + 1:02d}"

    @property
    def drifting(self) -> bool:
        """Whether this animal sees drifting gratings instead of static ones and scenes."""
        return self.index >= self.settings.n_animals

    @cached_property
    def n_neurons(self) -> int:
        """Number of neurons: evenly spread between the fewest and the most, in random order."""
        size = self.settings
        count = size.n_drifting if self.drifting else size.n_animals
        spread = np.linspace(size.fewest_neurons, size.most_neurons, count).round().astype(int)
        order = np.random.default_rng([size.seed, int(self.drifting)]).permutation(count)
        return int(spread[order[self.index - size.n_animals * self.drifting]])

    def _rng(self, what: str) -> np.random.Generator:
        return np.random.default_rng([self.settings.seed, SEEDS[what], self.index])

    @cached_property
    def _neurons(self) -> dict[str, FloatArray]:
        """Draw the properties of the neurons; some distributions differ between animals."""
        rng, n = self._rng("neurons"), self.n_neurons
        level = 1.2 * np.exp(0.25 * rng.normal())
        tuning = np.exp(0.4 * rng.normal())
        return {
            "base": 0.4 * level * rng.lognormal(sigma=RATE_SPREAD, size=n),
            "amplitude": level * rng.lognormal(sigma=RATE_SPREAD, size=n),
            "orientation": rng.uniform(0, 180, n),
            "width": tuning * rng.gamma(2.0, 0.5, n),
            "frequency": rng.normal(np.log2(0.05), 1.0, n),
            "phase": rng.uniform(0, 1, n),
            "phase_depth": rng.uniform(0, 0.8, n),
            "features": rng.normal(size=(n, N_FEATURES)) / np.sqrt(N_FEATURES),
            "shared": SHARED_GAIN * np.exp(0.2 * rng.normal()) * self._mixture(rng, n),
        }

    @staticmethod
    def _mixture(rng: np.random.Generator, n: int) -> FloatArray:
        """Return loadings (n, N_GAINS) of length about 1: one common factor, and random ones."""
        loadings = rng.normal(size=(n, N_GAINS)) / np.sqrt(N_GAINS)
        loadings[:, 0] = np.abs(loadings[:, 0]) + 0.3
        return np.asarray(loadings)

    @cached_property
    def gain_covariance(self) -> FloatArray:
        """V, the covariance of the gains: exp of the covariance of their logarithms, minus 1."""
        shared = self._neurons["shared"]
        private = PRIVATE_GAIN**2 * np.eye(self.n_neurons)
        return np.asarray(np.expm1(shared @ shared.T + private))

    @cached_property
    def tables(self) -> dict[str, Table]:
        """All stimuli that the animal sees, by the name of their table."""
        if self.drifting:
            return {"drifting_gratings_75_repeats": self._drifting()}
        return {"static_gratings": self._static(), "natural_scenes": self._scenes()}

    def _tuned(self, degrees: FloatArray) -> FloatArray:
        """Return the response to orientations relative to the preferred one, (rows, n)."""
        one = self._neurons
        angle = 2 * np.radians(degrees[:, None] - one["orientation"])
        return np.asarray(np.exp(one["width"] * (np.cos(angle) - 1)))

    def _static(self) -> Table:
        size, one = self.settings, self._neurons
        grid = np.meshgrid(ORIENTATIONS, size.spatial_frequencies, size.phases, indexing="ij")
        orientation, frequency, phase = (axis.ravel() for axis in grid)
        off = np.log2(frequency)[:, None] - one["frequency"]
        cycle = np.cos(2 * np.pi * (phase[:, None] - one["phase"]))
        drive = self._tuned(orientation) * np.exp(-0.5 * (off / 1.5) ** 2)
        rates = one["base"] + one["amplitude"] * drive * (1 + one["phase_depth"] * cycle)
        columns = {"orientation": orientation, "spatial_frequency": frequency, "phase": phase}
        return Table(columns, rates, WINDOW, size.n_repeats)

    def _scenes(self) -> Table:
        size, one = self.settings, self._neurons
        rng = np.random.default_rng([size.seed, SEEDS["features"]])
        features = rng.normal(size=(size.n_scenes - 1, N_FEATURES))
        drive = FEATURE_GAIN * features @ one["features"].T
        rates = np.empty((size.n_scenes, self.n_neurons))
        rates[:-1] = one["base"] + one["amplitude"] * np.exp(drive - FEATURE_GAIN**2 / 2)
        rates[-1] = one["base"]
        frames = np.array([*range(size.n_scenes - 1), BLANK], dtype=np.float64)
        return Table({"frame": frames}, rates, WINDOW, size.n_repeats)

    def _drifting(self) -> Table:
        one = self._neurons
        direction, contrast = (
            axis.ravel() for axis in np.meshgrid(DIRECTIONS, CONTRASTS, indexing="ij")
        )
        drive = self._tuned(direction) * (contrast / (contrast + HALF_CONTRAST))[:, None]
        rates = (one["base"] + one["amplitude"] * drive) * DRIFTING_DURATION / WINDOW
        columns = {"orientation": direction, "contrast": contrast}
        return Table(columns, rates, DRIFTING_DURATION, self.settings.n_drifting_repeats)

    def draw_gains(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return gains of this many trials, (trials, n)."""
        shared = self._neurons["shared"]
        logs = rng.normal(size=(count, N_GAINS)) @ shared.T
        logs += PRIVATE_GAIN * rng.normal(size=logs.shape)
        half = (np.sum(shared**2, axis=1) + PRIVATE_GAIN**2) / 2
        return np.asarray(np.exp(logs - half))

    def trials_rng(self) -> np.random.Generator:
        """Return the generator of the animal's trials."""
        return self._rng("trials")


def animals_of(settings: Settings) -> list[Animal]:
    """Return the animals of the cohort: those with gratings and scenes, then the others."""
    return [Animal(settings, k) for k in range(settings.n_animals + settings.n_drifting)]


def draw_trials(
    animal: Animal, table: Table, rows: npt.NDArray[np.bool_], rng: np.random.Generator
) -> rs.Trials:
    """Return trials of some conditions, drawn as those of the files are."""
    rates = np.repeat(table.rates[rows], table.n_repeats, axis=0)
    counts = rng.poisson(rates * animal.draw_gains(len(rates), rng)).astype(np.float64)
    return rs.Trials(counts.reshape(-1, table.n_repeats, counts.shape[1]))
