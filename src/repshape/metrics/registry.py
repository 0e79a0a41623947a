"""The metrics by name, and what identifies one: name <-> class <-> identity <-> words.

A new metric needs its module, one line in `METRICS`, and the class attributes and sentence that
`repshape.metrics.base.ShapeMetric` asks for. The command line, stores, plots and reports find the
rest here.

An *identity* is what JSON can hold of a metric: its name, every parameter (seeds included) and our
version. A store continues only with the identity that it was begun with.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from repshape._version import package_version
from repshape.errors import InputError, InputTypeError, RepshapeError, check_choice
from repshape.moments import CovarianceEstimator
from repshape.preprocess import Preprocess

if TYPE_CHECKING:
    from repshape.metrics.base import ShapeMetric

# Short name -> class, in the module of the short name.
METRICS = {
    "gaussian": "GaussianShapeMetric",
    "energy": "EnergyShapeMetric",
    "wasserstein": "WassersteinShapeMetric",
    "procrustes": "ProcrustesShapeMetric",
}
# Settings that are objects; an identity holds them as {class: fields}.
SETTINGS: dict[str, Any] = {"Preprocess": Preprocess, "CovarianceEstimator": CovarianceEstimator}
# Parameters that change what is measured, in the order in which a caption lists them.
CAPTIONED = (
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


def metric_class(name: str) -> type[ShapeMetric[Any]]:
    """Return the class of a metric by its short name.

    >>> metric_class("energy").__name__
    'EnergyShapeMetric'
    """
    module = import_module(f"repshape.metrics.{check_choice('metric', name, METRICS)}")
    found: type[ShapeMetric[Any]] = getattr(module, METRICS[name])
    return found


def make_metric(name: str, **parameters: Any) -> ShapeMetric[Any]:
    """Return a metric by its short name; parameters that are None keep their defaults.

    >>> make_metric("gaussian", alpha=0.5, q=None)
    GaussianShapeMetric(alpha=0.5)
    """
    cls = metric_class(name)
    given = {key: value for key, value in parameters.items() if value is not None}
    takes = inspect.signature(cls).parameters
    for key in given:
        if key not in takes:
            listed = ", ".join(takes)
            raise InputError(f"The {name} metric has no parameter {key!r}. It takes {listed}.")
    metric = cls(**given)
    metric._validate_parameters()
    return metric


def describe(metric: Any, name: str | None = None) -> dict[str, Any]:
    """Return the identity of a metric: its name, all its parameters and our version.

    Parameters
    ----------
    metric : ShapeMetric or callable
        A function that can be imported is named by its module; `functools.partial` adds its
        arguments as parameters. Of any other callable only its ``repr`` is known, which
        `check_identity` refuses.
    name : str, optional
        The name of a callable, chosen by the user.

    Examples
    --------
    >>> describe(functools.partial(np.hypot, 3.0), name="length")["metric"]
    'length'
    """
    label, parameters = (name, {}) if name is not None else _label(metric)
    return {"metric": label, "parameters": parameters, "repshape": package_version()}


def _label(metric: Any) -> tuple[str, dict[str, Any]]:
    if hasattr(metric, "get_params") and hasattr(metric, "_validate_parameters"):
        values = metric.get_params(deep=False)
        return type(metric).__name__, {key: _plain(value) for key, value in values.items()}
    if isinstance(metric, functools.partial):
        label, _ = _label(metric.func)
        given = {str(k): value for k, value in enumerate(metric.args)} | metric.keywords
        return label, {key: _plain(value) for key, value in given.items()}
    return import_name(metric) or repr(metric), {}


def import_name(function: Any) -> str | None:
    """Return the dotted name under which a function can be imported, or None.

    Lambdas, functions inside functions, bound methods and whatever a script defines have none:
    another script may give the same name to something else.

    >>> import_name(np.linalg.norm)
    'numpy.linalg.norm'
    >>> import_name(lambda x, y: 0.0)
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None
    try:
        found = attrgetter(name)(sys.modules[module])
    except (AttributeError, KeyError):
        return None
    if found is not function:
        return None
    return name if module == "builtins" else f"{module}.{name}"


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it; what has no identity becomes its ``repr``."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if type(value).__name__ in SETTINGS and is_dataclass(value):
        held = {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
        return {type(value).__name__: held}
    if hasattr(value, "__array__"):
        return _plain(np.asarray(value))
    if callable(value):
        label, parameters = _label(value)
        return {label: parameters} if parameters else label
    return repr(value)


def check_identity(metric: Any, name: str | None = None) -> None:
    """Raise one clear sentence unless a store could recognise the metric when it sees it again."""
    if name is None and not _is_identified(metric):
        raise InputError(
            "A store must recognise its metric when it is continued, and "
            f"{metric!r} cannot be told from another. Give it a name of its own, as in "
            "pairwise(networks, metric, name='my metric', store=...), and another name for "
            "other settings."
        )


def _is_identified(metric: Any) -> bool:
    if isinstance(metric, functools.partial):
        parts = (*metric.args, *metric.keywords.values())
        return _is_identified(metric.func) and all(map(_is_plain, parts))
    if hasattr(metric, "get_params") and hasattr(metric, "_validate_parameters"):
        return all(map(_is_plain, metric.get_params(deep=False).values()))
    return import_name(metric) is not None


def _is_plain(value: Any) -> bool:
    """Whether `_plain` keeps everything that tells a parameter from another."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, Mapping):
        return all(map(_is_plain, value.values()))
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return True
    if type(value).__name__ in SETTINGS or hasattr(value, "__array__"):
        return True
    return callable(value) and _is_identified(value)


def check_callable(metric: Any, name: str | None = None) -> None:
    """Raise unless a metric can be called, and a name, if given, can name it."""
    if not callable(metric):
        raise InputTypeError(
            "The 'metric' parameter must be a shape metric or a callable of two networks. "
            f"Got {metric!r} instead."
        )
    if name is None:
        return
    if not isinstance(name, str) or not name:
        raise InputTypeError(f"The 'name' parameter must be text. Got {name!r} instead.")
    if hasattr(metric, "_validate_parameters"):
        raise InputError(
            f"The 'name' parameter names a callable; {type(metric).__name__} has a name already."
        )


def restore(identity: Mapping[str, Any]) -> ShapeMetric[Any] | None:
    """Return the shape metric that an identity is of, or None if it is not one of ours.

    >>> restore(describe(make_metric("gaussian", alpha=0.5, group="rotation")))
    GaussianShapeMetric(alpha=0.5, group='rotation')
    """
    cls, parameters = _class_of(identity), identity.get("parameters")
    if cls is None or not isinstance(parameters, Mapping):
        return None
    try:
        metric = cls(**{str(key): _restored(value) for key, value in parameters.items()})
        metric._validate_parameters()
    except (RepshapeError, TypeError, ValueError):
        return None
    # An identity that does not come back the same was not understood.
    return metric if describe(metric)["parameters"] == dict(parameters) else None


def _class_of(identity: Mapping[str, Any]) -> type[ShapeMetric[Any]] | None:
    names = {full: short for short, full in METRICS.items()}
    short = names.get(str(identity.get("metric")))
    return None if short is None else metric_class(short)


def _restored(value: Any) -> Any:
    if isinstance(value, Mapping) and len(value) == 1:
        ((kind, held),) = value.items()
        if kind in SETTINGS:
            return SETTINGS[kind](**held)
    return value


def short_title(identity: Mapping[str, Any]) -> str:
    """Return a few words for a matrix of this metric; empty if it has none.

    >>> short_title({"metric": "GaussianShapeMetric", "parameters": {"alpha": 0.5}})
    'Gaussian, α = 0.5'
    """
    cls = _class_of(identity)
    if cls is None:
        return str(identity.get("metric", ""))
    parameter, symbol = cls.key_parameter
    value = (identity.get("parameters") or {}).get(parameter)
    return f"{cls.title}, {symbol} = {_shown(value)}"


def caption(identity: Mapping[str, Any]) -> str:
    """Return the metric's full title, with the settings that change what it measures.

    >>> caption({"metric": "EnergyShapeMetric", "parameters": {"q": 1.0, "group": "rotation"}})
    'Energy shape distance (q = 1, group = rotation)'
    >>> caption({})
    'Distance'
    """
    cls = _class_of(identity)
    title = str(identity.get("metric") or "Distance") if cls is None else cls.full_title
    given = identity.get("parameters") or {}
    told = [f"{key} = {_shown(given[key])}" for key in CAPTIONED if given.get(key) is not None]
    return f"{title} ({', '.join(told)})" if told else title


def _shown(value: Any) -> str:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return f"{value:g}"
    restored = _restored(value)
    return str(restored)
