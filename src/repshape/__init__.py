"""repshape: distances between stochastic neural representations.

The root holds the names that every user types. Everything else is in the modules `analysis`,
`inference`, `baselines`, `datasets`, `io`, `plots`, `pytorch` and `errors`. Names are imported when
they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from repshape.metrics.registry import METRICS as _METRICS

if TYPE_CHECKING:
    from repshape import analysis, baselines, datasets, errors, inference, io, plots, pytorch
    from repshape.analysis.embedding import embed
    from repshape.engine.cross import cross
    from repshape.engine.run import pairwise, pairwise_many
    from repshape.io.cohort import Cohort
    from repshape.io.matched import draw_matched
    from repshape.matrix.cross import CrossDistances
    from repshape.matrix.distances import DistanceMatrix
    from repshape.matrix.repair import repair
    from repshape.matrix.triangles import triangle_violations
    from repshape.metrics.base import Alignment
    from repshape.metrics.registry import *  # noqa: F403 (its `__all__`: the metrics)
    from repshape.metrics.registry import register
    from repshape.moments import estimate_moments
    from repshape.preprocess import Preprocess
    from repshape.report import write_report
    from repshape.responses import Gaussians, Trials, as_network
    from repshape.responses.positions import PositionNetwork

    __version__: str
    """Version of the package."""

# The module of each name; importing repshape loads none of them.
_HOMES = {
    "Alignment": "metrics.base",
    "Cohort": "io.cohort",
    "CrossDistances": "matrix.cross",
    "DistanceMatrix": "matrix.distances",
    "Gaussians": "responses",
    "PositionNetwork": "responses.positions",
    "Preprocess": "preprocess",
    "Trials": "responses",
    "as_network": "responses",
    "cross": "engine.cross",
    "draw_matched": "io.matched",
    "embed": "analysis.embedding",
    "estimate_moments": "moments",
    "pairwise": "engine.run",
    "pairwise_many": "engine.run",
    "register": "metrics.registry",
    "repair": "matrix.repair",
    "triangle_violations": "matrix.triangles",
    "write_report": "report.write",
}
_HOMES |= {name: f"metrics.{short}" for short, name in _METRICS.items()}
_MODULES = ("analysis", "baselines", "datasets", "errors", "inference", "io", "plots", "pytorch")

__all__ = [
    "Alignment",
    "Cohort",
    "CrossDistances",
    "DistanceMatrix",
    "Gaussians",
    "PositionNetwork",
    "Preprocess",
    "Trials",
    "__version__",
    "analysis",
    "as_network",
    "baselines",
    "cross",
    "datasets",
    "draw_matched",
    "embed",
    "errors",
    "estimate_moments",
    "inference",
    "io",
    "pairwise",
    "pairwise_many",
    "plots",
    "pytorch",
    "register",
    "repair",
    "triangle_violations",
    "write_report",
]
__all__ += _METRICS.values()
__all__.sort()


if not TYPE_CHECKING:  # type checkers would accept any name

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used, and keep it."""
        if name == "__version__":
            value: Any = import_module("repshape._version").package_version()
        elif name in _MODULES:
            value = import_module(f"repshape.{name}")
        elif name in _HOMES:
            value = getattr(import_module(f"repshape.{_HOMES[name]}"), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return list(__all__)
