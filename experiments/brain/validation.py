"""The simulated cohort against the truth, which is known there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

import repshape as rs
from experiments.brain.protocol import SHRINKAGE, Networks, distances, gamma_of, search
from experiments.brain.settings import Settings
from experiments.brain.simulate import Animal, Table, animals_of
from experiments.brain.sources import MICE, Stimulus
from experiments.brain.statistics import pairs, signed_square

FloatArray = npt.NDArray[np.float64]

VALIDATED_ALPHAS = (0.0, 2.0)
TRUTH_STARTS = 6  # true distances are computed once, so they can be searched longer


def shown(table: Table, stimulus: Stimulus) -> npt.NDArray[np.bool_]:
    """Return which conditions of a simulated table belong to a class of stimuli."""
    chosen = np.ones(len(table.rates), dtype=bool)
    for column, value in stimulus.where.items():
        chosen &= table.columns[column] == value
    return chosen


def true_moments(animal: Animal, stimulus: Stimulus) -> rs.Gaussians:
    """Return the exact moments of an animal's counts, conditions in the order of the reader."""
    table = animal.tables[stimulus.table]
    return table.gaussians(animal.gain_covariance, shown(table, stimulus))


def stimulus_of(key: str) -> Stimulus:
    """Return the class of stimuli of the mice with this key."""
    return next(one for one in MICE if one.key == key)


def true_networks(settings: Settings, key: str, names: list[str]) -> dict[str, rs.Gaussians]:
    """Return the exact moments of some sessions."""
    found = {animal.name: animal for animal in animals_of(settings)}
    return {name: true_moments(found[name], stimulus_of(key)) for name in names}


def true_distances(
    moments: Mapping[str, rs.Gaussians], n_components: int, workers: int
) -> dict[str, list[float]]:
    """Return the distances that infinitely many trials would give, by alpha and pair."""
    options = {"preprocess": rs.Preprocess(n_components=n_components), **search(TRUTH_STARTS)}
    found = distances(moments, VALIDATED_ALPHAS, workers, **options)
    return {f"{alpha:g}": pairs(D.values).tolist() for alpha, D in found.items()}


def compare(
    truth: Mapping[str, list[float]],
    corrected: Mapping[str, Mapping[str, Any]],
    protocol: Mapping[str, list[float]],
) -> dict[str, Any]:
    """Return bias and coverage of each alpha: medians over pairs of relative errors of d^2.

    Parameters
    ----------
    truth : mapping of alpha to true distances by pair
    corrected : mapping of alpha to the columns of `corrected.measure_class`
    protocol : mapping of alpha to the distances of the protocol by pair
    """
    out = {}
    for alpha, values in truth.items():
        exact, found = signed_square(values), corrected[alpha]
        inside = (np.array(found["low"]) <= values) & (values <= np.array(found["high"]))
        kinds = {"corrected": found["estimate"], "plug-in": found["plug_in"]}
        kinds["protocol"] = protocol[alpha]
        errors = {name: signed_square(one) / exact - 1 for name, one in kinds.items()}
        out[alpha] = {
            "bias": {name: float(np.median(one)) for name, one in errors.items()},
            "coverage": float(inside.mean()),
            "n_pairs": len(values),
        }
    return out


def compare_ratios(truth: Mapping[str, list[float]], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return bias of log (d_0 / d_2) and coverage, for the pairs of the first session."""
    count = len(found["values"])  # the pairs of the first session come first
    exact = np.array(truth["0"][:count]) / np.array(truth["2"][:count])
    estimate, low, high, plug_in = np.array(found["values"], dtype=np.float64).T
    known = np.isfinite(estimate)
    bias = {
        name: float(np.median(np.log(one[known] / exact[known]))) if known.any() else None
        for name, one in (("corrected", estimate), ("plug-in", plug_in))
    }
    inside = (low <= exact) & (exact <= high)
    coverage = float(inside[known].mean()) if known.any() else None
    return {"bias": bias, "coverage": coverage, "n_pairs": int(known.sum())}


def shrinkage_errors(
    networks: Networks, moments: Mapping[str, rs.Gaussians], settings: Settings
) -> dict[str, list[float]]:
    """Return gamma as cross-validation chose it, and the best gamma, for each session.

    Split halves can only find what is best for half of the trials, so that is returned, too.
    """
    out: dict[str, list[float]] = {"chosen": [], "best": [], "best, half": []}
    for name, trials in networks.items():
        phi = rs.Preprocess(n_components=settings.n_components).fit(trials)
        reduced, exact = phi.apply(trials), phi.apply(moments[name])
        assert isinstance(reduced, rs.Trials)
        assert isinstance(exact, rs.Gaussians)
        half = rs.Trials([x[: (len(x) + 1) // 2] for x in reduced.responses])  # order is random
        found = rs.estimate_moments(reduced, SHRINKAGE, random_state=settings.seed)
        out["chosen"].append(gamma_of(found))
        out["best"].append(best_shrinkage(rs.estimate_moments(reduced, "mle"), exact))
        out["best, half"].append(best_shrinkage(rs.estimate_moments(half, "mle"), exact))
    return out


def shrinkage_summary(found: Sequence[Mapping[str, list[float]]]) -> dict[str, float]:
    """Return means over sessions of the chosen and the best gamma, and of their difference.

    >>> one = {"chosen": [0.25, 0.5], "best": [0.5, 0.25], "best, half": [0.25, 0.5]}
    >>> shrinkage_summary([one])["mean error, best"]
    0.25
    """
    names = ("chosen", "best", "best, half")
    values = {name: np.concatenate([one[name] for one in found]) for name in names}
    out = {name: float(one.mean()) for name, one in values.items()}
    for name in names[1:]:
        out[f"mean error, {name}"] = float(np.abs(values["chosen"] - values[name]).mean())
    return out


def best_shrinkage(sample: rs.Gaussians, exact: rs.Gaussians) -> float:
    """Return the gamma with the highest expected likelihood of new trials.

    For S* = gamma I + (1 - gamma) S, true moments mu, C and sample mean m, it minimises the mean
    over conditions of log det S* + tr S*^-1 [C + (mu - m)(mu - m)'].
    """
    values, basis = np.linalg.eigh(sample.covariances)
    gaps = exact.means - sample.means
    spread = exact.covariances + gaps[:, :, None] * gaps[:, None, :]
    power = np.einsum("mij,mik,mkj->mj", basis, spread, basis)

    def loss(gamma: float) -> float:
        shrunk = gamma + (1 - gamma) * np.maximum(values, 0.0)
        return float(np.sum(np.log(shrunk) + power / shrunk))

    grid = np.linspace(0.01, 0.99, 50)
    start = grid[int(np.argmin([loss(one) for one in grid]))]
    ends = max(start - 0.02, 1e-4), min(start + 0.02, 1.0)
    return float(minimize_scalar(loss, bounds=ends, method="bounded").x)
