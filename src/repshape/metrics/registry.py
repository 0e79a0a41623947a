"""The metrics by name: the class, identity and wording of each.

To add a metric, write its module, add a line to `METRICS`, and define the class attributes and the
sentence that `repshape.metrics.base.ShapeMetric` asks for. The command line, stores, plots and
reports find everything here.

An *identity* describes a metric in JSON: its name, all its parameters (seeds included) and the
version of repshape. A store can only be continued with the identity that it was created with.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from repshape._version import package_version
from repshape.errors import InputError, InputTypeError, RepshapeError, check_choice
from repshape.groups import BlockOrthogonal, Group, SignedPermutations
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
    "process": "ProcessShapeMetric",
    "conv": "ConvShapeMetric",
    "covariance": "CovarianceShapeMetric",
}
# Parameters that are objects; an identity holds them as {class: fields}.
SETTINGS: dict[str, Any] = {
    "Preprocess": Preprocess,
    "CovarianceEstimator": CovarianceEstimator,
    "SignedPermutations": SignedPermutations,
    "BlockOrthogonal": BlockOrthogonal,
}
# Parameters that affect what is measured, in the order in which a caption lists them.
CAPTIONED = (
    "alpha",
    "mode",
    "order",
    "shifts",
    "ground",
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
    """Return the identity of a metric: its name, all its parameters and the version of repshape.

    Parameters
    ----------
    metric : ShapeMetric or callable
        The name of a function that can be imported includes its module. The arguments of a
        `functools.partial` become parameters. Other callables are described by their ``repr``,
        which does not identify them: see `check_identity`.
    name : str, optional
        A name for a callable, chosen by the user.

    Examples
    --------
    >>> describe(functools.partial(np.hypot, 3.0))["parameters"]
    {'0': 3.0}
    >>> describe(lambda x, y: 0.0, name="zero")["metric"]
    'zero'
    """
    label, parameters = (name, {}) if name is not None else _identity(metric, strict=False)
    return {"metric": label, "parameters": parameters, "repshape": package_version()}


def check_identity(metric: Any, name: str | None = None) -> None:
    """Raise unless a store could recognise the metric, or the user has given it a name."""
    if name is not None:
        return
    try:
        _identity(metric, strict=True)
    except _AnonymousError:
        group = getattr(metric, "group", None)
        if isinstance(group, Group):
            raise InputError(
                "A store must be able to recognise its metric when it is continued, and only the "
                f"groups of repshape can be described. Got {group!r}: compute without a store."
            ) from None
        if _is_shape_metric(metric):
            raise InputError(
                "A store must be able to recognise its metric when it is continued, and a "
                f"parameter of {metric!r} has no name to recognise it by. Define functions in a "
                "module, from which they can be imported."
            ) from None
        raise InputError(
            "A store must be able to recognise its metric when it is continued, and "
            f"{metric!r} has no name to recognise it by. Give it one, as in "
            "pairwise(networks, metric, name='my metric', store=...), and use another name for "
            "other settings."
        ) from None


class _AnonymousError(Exception):
    """Something has no identity: its description would not distinguish it from others."""


def _identity(metric: Any, *, strict: bool) -> tuple[str, dict[str, Any]]:
    """Return a name and parameters. Without an identity: the ``repr``, or an error if strict."""
    if _is_shape_metric(metric):
        values = metric.get_params(deep=False)
        return type(metric).__name__, {key: _plain(v, strict) for key, v in values.items()}
    if isinstance(metric, functools.partial):
        label, parameters = _identity(metric.func, strict=strict)
        given = {str(k): value for k, value in enumerate(metric.args)} | metric.keywords
        return label, parameters | {key: _plain(value, strict) for key, value in given.items()}
    label = import_name(metric) or ""
    return label or _anonymous(metric, strict), {}


def _is_shape_metric(metric: Any) -> bool:
    return hasattr(metric, "get_params") and hasattr(metric, "_validate_parameters")


def _anonymous(value: Any, strict: bool) -> str:
    if strict:
        raise _AnonymousError
    return repr(value)


def _plain(value: Any, strict: bool) -> Any:
    """Return a parameter as JSON can hold it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, strict) for item in value]
    if isinstance(value, Mapping):
        keys = [key if isinstance(key, str) else _anonymous(key, strict) for key in value]
        return dict(zip(keys, (_plain(item, strict) for item in value.values()), strict=True))
    kind = type(value).__name__
    if type(value) is SETTINGS.get(kind):
        return {kind: {one.name: _plain(getattr(value, one.name), strict) for one in fields(value)}}
    if hasattr(value, "__array__"):
        return _plain(np.asarray(value).tolist(), strict)
    if callable(value):
        label, parameters = _identity(value, strict=strict)
        return {label: parameters}  # a mapping, so that it differs from a string
    return _anonymous(value, strict)


def import_name(function: Any) -> str | None:
    """Return the dotted name under which a function can be imported, or None.

    Lambdas, functions inside functions and bound methods have none. Neither have the functions of
    a script, since another script may use the same name for something else.

    >>> import_name(np.linalg.norm), import_name(np.abs)
    ('numpy.linalg.norm', 'numpy.absolute')
    >>> import_name(lambda x, y: 0.0)
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if isinstance(function, np.ufunc):  # older versions of NumPy give them neither
        module, name = module or "numpy", function.__name__
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None
    try:
        found = attrgetter(name)(sys.modules[module])
    except (AttributeError, KeyError):
        return None
    if found is not function:
        return None
    return name if module == "builtins" else f"{module}.{name}"


def wrong_metric(metric: Any) -> str:
    """Return what was given instead of a metric, and the metric that was probably meant.

    >>> wrong_metric("gaussian")
    "Got 'gaussian' instead. Pass GaussianShapeMetric()."
    """
    if isinstance(metric, type):
        return f"Got the class {metric.__name__} instead. Pass an instance: {metric.__name__}(...)."
    classes = {**METRICS, **{name.lower(): name for name in METRICS.values()}}
    meant = classes.get(metric.lower()) if isinstance(metric, str) else None
    if meant is not None:
        return f"Got {metric!r} instead. Pass {meant}()."
    listed = f" The metrics are {', '.join(METRICS.values())}." if isinstance(metric, str) else ""
    return f"Got {metric!r} instead.{listed}"


def check_callable(metric: Any, name: str | None = None) -> None:
    """Raise unless a metric can be called, and a name is text and given to a callable only."""
    if not callable(metric) or isinstance(metric, type):
        raise InputTypeError(
            "The 'metric' parameter must be a shape metric or a callable of two networks. "
            f"{wrong_metric(metric)}"
        )
    if _is_shape_metric(metric):
        metric._validate_parameters()  # before anything is written
    if name is None:
        return
    if not isinstance(name, str) or not name:
        raise InputTypeError(
            f"The 'name' parameter must be a non-empty string. Got {name!r} instead."
        )
    if _is_shape_metric(metric):
        raise InputError(
            f"The 'name' parameter is for callables; {type(metric).__name__} already has a name."
        )


def restore(identity: Mapping[str, Any]) -> ShapeMetric[Any] | None:
    """Return the shape metric that an identity describes, or None if it describes none of ours.

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
    # An identity that changes on the way back was not understood.
    return metric if describe(metric)["parameters"] == dict(parameters) else None


def _class_of(identity: Mapping[str, Any]) -> type[ShapeMetric[Any]] | None:
    names = {full: short for short, full in METRICS.items()}
    short = names.get(str(identity.get("metric")))
    return None if short is None else metric_class(short)


def _restored(value: Any) -> Any:
    if isinstance(value, Mapping) and len(value) == 1:
        ((kind, held),) = value.items()
        known = SETTINGS.get(kind)
        names = {one.name for one in fields(known)} if known is not None else set()
        if known is not None and isinstance(held, Mapping) and set(held) <= names:
            return known(**held)
    return value


def short_title(identity: Mapping[str, Any]) -> str:
    """Return a short title for a matrix of this metric; empty if the identity has no name.

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
    """Return the full title of the metric, with the settings that affect what it measures.

    >>> caption({"metric": "EnergyShapeMetric", "parameters": {"q": 1.0, "group": "rotation"}})
    'Energy shape distance (q = 1, group = rotation)'
    >>> caption({})
    'Distance'
    """
    cls = _class_of(identity)
    title = str(identity.get("metric") or "Distance") if cls is None else cls.full_title
    given = identity.get("parameters") or {}
    listed = [f"{key} = {_shown(given[key])}" for key in CAPTIONED if given.get(key) is not None]
    return f"{title} ({', '.join(listed)})" if listed else title


def _shown(value: Any) -> str:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return f"{value:g}"
    return str(_restored(value))
