"""Identities of metrics: how stores recognise a metric, and how tables and captions name it.

An *identity* describes a metric in JSON: its name, all its parameters (seeds included) and the
version of repshape. A store can only be continued with the identity that it was created with.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from repshape._version import package_version
from repshape.errors import InputError, RepshapeError
from repshape.groups import BlockOrthogonal, Group, SignedPermutations
from repshape.metrics.registry import class_named, is_shape_metric
from repshape.moments import CovarianceEstimator
from repshape.preprocess import Preprocess

if TYPE_CHECKING:
    from repshape.metrics.base import ShapeMetric

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
        if is_shape_metric(metric):
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
    if is_shape_metric(metric):
        values = metric.get_params(deep=False)
        return type(metric).__name__, {key: _plain(v, strict) for key, v in values.items()}
    if isinstance(metric, functools.partial):
        label, parameters = _identity(metric.func, strict=strict)
        given = {str(k): value for k, value in enumerate(metric.args)} | metric.keywords
        return label, parameters | {key: _plain(value, strict) for key, value in given.items()}
    label = import_name(metric) or ""
    return label or _anonymous(metric, strict), {}


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


def restore(identity: Mapping[str, Any]) -> ShapeMetric[Any] | None:
    """Return the shape metric that an identity describes, or None if no known metric has it.

    The metrics of repshape are known, and so are those of other packages that are registered:
    see `repshape.register`.

    >>> from repshape import GaussianShapeMetric
    >>> restore(describe(GaussianShapeMetric(alpha=0.5, group="rotation")))
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
    return class_named(str(identity.get("metric")))


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
    shown = CAPTIONED if cls is None else dict.fromkeys([cls.key_parameter[0], *CAPTIONED])
    listed = [f"{key} = {_shown(given[key])}" for key in shown if given.get(key) is not None]
    return f"{title} ({', '.join(listed)})" if listed else title


def _shown(value: Any) -> str:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return f"{value:g}"
    return str(_restored(value))
