"""Single animals (Figure 3 A-B): how covariances vary over conditions, and how large noise is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import repshape as rs
from experiments.brain.protocol import Networks, reduce
from repshape.reference.gaussian import bures_squared

FloatArray = npt.NDArray[np.float64]

PLANE = 2  # the first two principal components, as in the figure
SHOWN_CONDITIONS = 6


def measure_class(networks: Networks, n_shuffles: int, seed: int) -> dict[str, Any]:
    """Return the variation of covariances and the size of noise of every session."""
    reduced, _ = reduce(networks, PLANE)
    rows = [
        session_geometry(trials, n_shuffles, np.random.default_rng([seed, k]))
        for k, trials in enumerate(reduced.values())
    ]
    return {name: [row[name] for row in rows] for name in rows[0]}


def example(networks: Networks, *, show_trials: bool) -> dict[str, Any]:
    """Return the largest session in its first two components, for Figure 3 A-B, ready for JSON.

    Some of the conditions are kept, with their moments and, if they may be shown, their trials.
    """
    name = max(networks, key=lambda one: networks[one].n_neurons)
    reduced = reduce({name: networks[name]}, PLANE)[0][name]
    step = max(1, reduced.n_conditions // SHOWN_CONDITIONS)
    chosen = list(range(0, reduced.n_conditions, step))[:SHOWN_CONDITIONS]
    shown = rs.Trials([reduced.responses[m] for m in chosen])
    moments = rs.estimate_moments(shown, "unbiased")
    words = f"{len(chosen)} of {reduced.n_conditions} images, {networks[name].n_neurons} neurons"
    return {
        "words": f"{words}, {int(shown.n_trials.min())} trials",
        "means": moments.means.tolist(),
        "covariances": moments.covariances.tolist(),
        "trials": [one.tolist() for one in shown.responses] if show_trials else None,
    }


def session_geometry(
    trials: rs.Trials, n_shuffles: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return the numbers of the claims about Figure 3 A-B for one session."""
    residuals = [x - x.mean(axis=0) for x in trials.responses]
    roots = [max(float(np.sqrt(np.mean(np.sum(x**2, axis=1)))), 1e-12) for x in residuals]
    turned = [x / root for x, root in zip(residuals, roots, strict=True)]
    return {
        "scale": _excess(residuals, scale_spread, n_shuffles, rng),
        "orientation": _excess(turned, orientation_spread, n_shuffles, rng),
        "signal": signal_to_noise(trials),
    }


def covariances(residuals: Sequence[FloatArray]) -> FloatArray:
    """Return the covariance of the residuals of each condition, (M, n, n)."""
    return np.stack([x.T @ x / len(x) for x in residuals])


def scale_spread(S: FloatArray) -> float:
    """Return the spread of the root of the trace over conditions, relative to its mean.

    >>> scale_spread(np.stack([np.eye(2), 9 * np.eye(2)]))
    0.5
    """
    roots = np.sqrt(np.trace(S, axis1=1, axis2=2))
    return float(roots.std() / roots.mean())


def orientation_spread(S: FloatArray) -> float:
    """Return the mean Bures distance of S_m / tr S_m to their average, scaled to trace 1.

    >>> orientation_spread(np.stack([np.eye(2), 9 * np.eye(2)])) < 1e-7
    True
    """
    shapes = S / np.trace(S, axis1=1, axis2=2)[:, None, None]
    centre = shapes.mean(axis=0)
    squares = [max(float(bures_squared(one, centre)), 0.0) for one in shapes]
    return float(np.sqrt(np.mean(squares)))


def _excess(
    residuals: Sequence[FloatArray], spread: Any, n_shuffles: int, rng: np.random.Generator
) -> float:
    """Return the log of the spread over its mean with trials shuffled across conditions."""
    pooled = np.concatenate(residuals)
    ends = np.cumsum([len(x) for x in residuals])[:-1]
    shuffled = [
        spread(covariances(np.split(rng.permutation(pooled), ends))) for _ in range(n_shuffles)
    ]
    return float(np.log(spread(covariances(residuals)) / np.mean(shuffled)))


def signal_to_noise(trials: rs.Trials) -> float:
    """Return the variance of means over conditions, relative to that across trials.

    Means of L trials vary by tr S / L more than the true ones, which is subtracted; so the ratio
    of a session with hardly any signal can be negative.
    """
    noise = np.array([x.var(axis=0, ddof=1).sum() for x in trials.responses])
    between = trials.means.var(axis=0, ddof=1).sum() - np.mean(noise / trials.n_trials)
    return float(between / noise.mean())
