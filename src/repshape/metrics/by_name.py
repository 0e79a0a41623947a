"""Shape metrics by name, with only the parameters that each one takes."""

from __future__ import annotations

import inspect
from typing import Any

import repshape
from repshape.errors import InputError, check_choice
from repshape.metrics.base import ShapeMetric

NAMES = {
    "gaussian": "GaussianShapeMetric",
    "energy": "EnergyShapeMetric",
    "wasserstein": "WassersteinShapeMetric",
    "procrustes": "ProcrustesShapeMetric",
}


def metric_by_name(name: str, **parameters: Any) -> ShapeMetric[Any]:
    """Return a metric; parameters that are None keep their defaults.

    >>> metric_by_name("gaussian", alpha=0.5, q=None)
    GaussianShapeMetric(alpha=0.5)
    """
    known = {
        short: getattr(repshape, full) for short, full in NAMES.items() if hasattr(repshape, full)
    }
    cls = known[check_choice("metric", name, known)]
    given = {key: value for key, value in parameters.items() if value is not None}
    takes = inspect.signature(cls).parameters
    for key in given:
        if key not in takes:
            listed = ", ".join(takes)
            raise InputError(f"The {name} metric has no parameter {key!r}. It takes {listed}.")
    metric: ShapeMetric[Any] = cls(**given)
    metric._validate_parameters()
    return metric
