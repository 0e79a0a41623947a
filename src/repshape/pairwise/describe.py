"""What a metric is, in words that JSON can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from repshape._version import package_version


def describe(metric: Any) -> dict[str, Any]:
    """Return the metric's name, all its parameters (seeds included) and our version.

    >>> describe(max)["metric"]
    'max'
    """
    name = getattr(metric, "__qualname__", type(metric).__name__)
    return {
        "metric": name,
        "parameters": _parameters(metric),
        "repshape": package_version(),
    }


def _parameters(metric: Any) -> dict[str, Any]:
    if not isinstance(metric, BaseEstimator):
        return {}
    return {name: _plain(value) for name, value in metric.get_params(deep=False).items()}


def _plain(value: Any) -> Any:
    """Return ``value`` as what JSON holds; objects become their ``repr``."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return repr(value)
