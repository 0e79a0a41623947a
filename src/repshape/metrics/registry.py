"""The metrics by name: those of repshape, and those that other packages add.

`__all__` lists the metrics of repshape. The names at the root, the command line, the reference,
stores, reports and the fuzzer follow from it. Importing this module loads nothing that is slow, so
that ``import repshape`` and ``--help`` can read the list.

Another package adds a metric by `register`, or by an entry point in its ``pyproject.toml``::

    [project.entry-points."repshape.metrics"]
    cosine = "my_package.cosine:CosineMetric"
"""

from __future__ import annotations

import inspect
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, TypeVar

from repshape.errors import InputError, InputTypeError, check_choice

# In the order in which help and errors list them. `GaussianShapeMetric` has the short name
# "gaussian" and is in the module `repshape.metrics.gaussian`, and so on.
__all__ = [  # noqa: RUF022 (the order)
    "GaussianShapeMetric",
    "EnergyShapeMetric",
    "WassersteinShapeMetric",
    "ProcrustesShapeMetric",
    "ProcessShapeMetric",
    "ConvShapeMetric",
    "CovarianceShapeMetric",
]
METRICS = {name.removesuffix("ShapeMetric").lower(): name for name in __all__}
ENTRY_POINTS = "repshape.metrics"

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import the class of a metric of repshape when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        (short,) = (key for key, full in METRICS.items() if full == name)
        return metric_class(short)

else:  # so that type checkers and the documentation know the classes
    from repshape.metrics.base import ShapeMetric
    from repshape.metrics.conv import ConvShapeMetric
    from repshape.metrics.covariance import CovarianceShapeMetric
    from repshape.metrics.energy import EnergyShapeMetric
    from repshape.metrics.gaussian import GaussianShapeMetric
    from repshape.metrics.process import ProcessShapeMetric
    from repshape.metrics.procrustes import ProcrustesShapeMetric
    from repshape.metrics.wasserstein import WassersteinShapeMetric

Class = TypeVar("Class", bound="type[Any]")
# Short name -> class, of the metrics that were registered in this process.
_registered: dict[str, type[Any]] = {}


def register(cls: Class, name: str | None = None) -> Class:
    """Make a metric of another package known by name, and return it unchanged.

    Stores, reports and the command line then treat the metric like one of repshape: a matrix that
    was saved with it is read back with its metric, and ``repshape pairwise --metric`` accepts its
    name. A registration lasts as long as the process. To register a metric in every process, also
    in that of the command line, declare an entry point of the group ``repshape.metrics``.

    Parameters
    ----------
    cls : type
        A class derived from `repshape.metrics.ShapeMetric`. Its name identifies it in stores.
    name : str, optional
        Short name for the command line. By default the ``title`` of the class in lower case, with
        hyphens instead of spaces.

    Returns
    -------
    type
        ``cls``, so that the function can be used as a decorator.

    Examples
    --------
    >>> import repshape as rs
    >>> rs.register(rs.GaussianShapeMetric) is rs.GaussianShapeMetric
    True
    """
    _check_class(cls)
    short = cls.title.lower().replace(" ", "-") if name is None else name
    if not isinstance(short, str) or not short:
        raise InputTypeError(
            f"The 'name' parameter must be a non-empty string. Got {short!r} instead."
        )
    taken = {one: _origin(one) for one in known_metrics()}
    own = (cls.__module__.partition(".")[0], cls.__name__)
    for other, origin in taken.items():
        if (other == short or origin[1] == own[1]) and origin != own:
            raise InputError(
                f"{cls.__name__} cannot be registered as {short!r}: {origin[1]} of the package "
                f"{origin[0]!r} is registered as {other!r}."
            )
    if own[0] != "repshape":
        _registered[short] = cls
    return cls


def _origin(name: str) -> tuple[str, str]:
    """Return the package and the class name of a known metric; nothing is imported."""
    if name in METRICS:
        return "repshape", METRICS[name]
    if name in _registered:
        return _registered[name].__module__.partition(".")[0], _registered[name].__name__
    declared = _entry_points()[name]
    return declared.module.partition(".")[0], declared.attr


def _check_class(cls: Any) -> None:
    """Raise unless a class can be used as a metric: complete, and made from named parameters."""
    # By its name: the base class is made with parts that look metrics up here.
    base = import_module("repshape.metrics.base").ShapeMetric
    if base not in getattr(cls, "__mro__", ()):
        raise InputTypeError(
            "The 'cls' parameter must be a class derived from repshape.metrics.ShapeMetric. "
            f"Got {cls!r} instead."
        )
    needed = ("title", "full_title", "key_parameter")
    missing = sorted(cls.__abstractmethods__)
    if all(getattr(cls, one) is getattr(base, one) for one in ("_align_prepared", "_solve_pair")):
        missing.append("_align_prepared")
    missing += [one for one in needed if not hasattr(cls, one)]
    if missing:
        raise InputError(f"{cls.__name__} does not define {', '.join(missing)}.")
    parameters = inspect.signature(cls).parameters.values()
    for one in parameters:
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            raise InputError(
                f"The constructor of {cls.__name__} must name all its parameters. Got {one}."
            )
    key = cls.key_parameter[0]
    if key not in {one.name for one in parameters}:
        raise InputError(f"The key parameter of {cls.__name__}, {key!r}, is not a parameter.")


@cache
def _entry_points() -> dict[str, EntryPoint]:
    """Return the metrics that installed packages declare, except names that repshape uses."""
    found = entry_points(group=ENTRY_POINTS)
    return {one.name: one for one in found if one.name not in METRICS}


def known_metrics() -> dict[str, str]:
    """Return the class name of every known metric by its short name; nothing is imported."""
    declared = {name: one.attr for name, one in _entry_points().items()}
    return METRICS | declared | {name: cls.__name__ for name, cls in _registered.items()}


def metric_class(name: str) -> type[ShapeMetric[Any]]:
    """Return the class of a metric by its short name.

    >>> metric_class("energy").__name__
    'EnergyShapeMetric'
    """
    check_choice("metric", name, known_metrics())
    if name in METRICS:
        found: Any = getattr(import_module(f"repshape.metrics.{name}"), METRICS[name])
    else:
        found = _registered.get(name) or _load(_entry_points()[name])
    return found  # type: ignore[no-any-return]


def _load(declared: EntryPoint) -> Any:
    """Return the class that an installed package declares, or raise one clear sentence."""
    try:
        found = declared.load()
        _check_class(found)
    except Exception as error:  # whatever the other package does when it is imported
        package = "another package" if declared.dist is None else declared.dist.name
        raise InputError(
            f"The metric {declared.name!r} of {package} ({declared.value}) cannot be used: {error}"
        ) from error
    return found


def class_named(full: str) -> type[ShapeMetric[Any]] | None:
    """Return the one known metric with this class name, or None if there is none or two.

    A metric of another package that cannot be imported is not known.

    >>> class_named("EnergyShapeMetric").title, class_named("CosineShapeMetric")
    ('Energy', None)
    """
    found = set()
    for short, name in known_metrics().items():
        if name == full:
            with suppress(InputError):
                found.add(metric_class(short))
    return found.pop() if len(found) == 1 else None


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


def is_shape_metric(metric: Any) -> bool:
    """Return whether something behaves as a shape metric does."""
    return hasattr(metric, "get_params") and hasattr(metric, "_validate_parameters")


def wrong_metric(metric: Any) -> str:
    """Return what was given instead of a metric, and the metric that was probably meant.

    >>> wrong_metric("gaussian")
    "Got 'gaussian' instead. Pass GaussianShapeMetric()."
    """
    if isinstance(metric, type):
        return f"Got the class {metric.__name__} instead. Pass an instance: {metric.__name__}(...)."
    if not isinstance(metric, str):
        return f"Got {metric!r} instead."
    known = known_metrics()
    classes = {**known, **{name.lower(): name for name in known.values()}}
    meant = classes.get(metric.lower())
    if meant is not None:
        return f"Got {metric!r} instead. Pass {meant}()."
    return f"Got {metric!r} instead. The metrics are {', '.join(known.values())}."


def check_callable(metric: Any, name: str | None = None) -> None:
    """Raise unless a metric can be called, and a name is text and given to a callable only."""
    if not callable(metric) or isinstance(metric, type):
        raise InputTypeError(
            "The 'metric' parameter must be a shape metric or a callable of two networks. "
            f"{wrong_metric(metric)}"
        )
    if is_shape_metric(metric):
        metric._validate_parameters()  # before anything is written
    if name is None:
        return
    if not isinstance(name, str) or not name:
        raise InputTypeError(
            f"The 'name' parameter must be a non-empty string. Got {name!r} instead."
        )
    if is_shape_metric(metric):
        raise InputError(
            f"The 'name' parameter is for callables; {type(metric).__name__} already has a name."
        )
