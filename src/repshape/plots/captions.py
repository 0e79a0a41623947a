"""What was measured, in words for captions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from repshape._arrays import count
from repshape.pairwise.matrix import DistanceMatrix

NAMES = {
    "GaussianShapeMetric": "Gaussian Wasserstein shape distance",
    "EnergyShapeMetric": "Energy shape distance",
    "WassersteinShapeMetric": "Sample Wasserstein shape distance",
    "ProcrustesShapeMetric": "Procrustes shape distance",
}
# Parameters that change what is measured, in the order in which they are told.
TOLD = (
    "alpha",
    "q",
    "p",
    "estimator",
    "distance",
    "whitening",
    "group",
    "covariance",
    "preprocess",
)
# Distances are in the units of the responses unless something rescales them.
UNIT = "units of the responses"


def metric_words(description: Mapping[str, Any]) -> str:
    """Say which metric was used, with the settings that change what it measures.

    Parameters
    ----------
    description : mapping
        As in `repshape.DistanceMatrix`: ``metric`` and its ``parameters``.

    Examples
    --------
    >>> metric_words({"metric": "EnergyShapeMetric", "parameters": {"q": 1.0, "group": "rotation"}})
    'Energy shape distance (q = 1, group = rotation)'
    >>> metric_words({})
    'Distance'
    """
    metric = str(description.get("metric") or "Distance")
    name = NAMES.get(metric, metric)
    parameters = description.get("parameters") or {}
    told = [f"{key} = {_value(parameters[key])}" for key in TOLD if parameters.get(key) is not None]
    return f"{name} ({', '.join(told)})" if told else name


def matrix_words(matrix: DistanceMatrix) -> str:
    """Say what a matrix holds: the metric, how many networks and pairs, and what is missing.

    >>> matrix_words(DistanceMatrix([[0, 1], [1, 0]]))
    'Distance, 2 networks, 1 pair.'
    """
    pairs = len(matrix) * (len(matrix) - 1) // 2
    words = f"{metric_words(matrix.description)}, {count(len(matrix), 'network')}, "
    words += f"{count(pairs, 'pair')}."
    if matrix.n_missing:
        words += f" {count(matrix.n_missing, 'pair')} not computed yet (grey)."
    if matrix.n_unconverged:
        words += f" {count(matrix.n_unconverged, 'pair')} not converged."
    return words


def deviations(n_std: float) -> str:
    """Say how large ellipses are.

    >>> deviations(1.0)
    'one standard deviation'
    """
    return "one standard deviation" if n_std == 1 else f"{n_std:g} standard deviations"


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
