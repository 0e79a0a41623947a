"""repshape: distances between stochastic neural representations.

The root holds what every user types; everything else lives in the modules `analysis`, `inference`,
`baselines`, `datasets`, `io`, `plots` and `errors`. Names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Loaded first, and then forgotten here: otherwise the first import of one of its modules would put
# the package in the place of the function `pairwise`.
import repshape.pairwise

if TYPE_CHECKING:
    from repshape import analysis, baselines, datasets, errors, inference, io, plots
    from repshape.analysis.embedding import embed
    from repshape.io.cohort import Cohort
    from repshape.matrix.distances import DistanceMatrix
    from repshape.matrix.repair import repair
    from repshape.matrix.triangles import triangle_violations
    from repshape.metrics.base import Alignment
    from repshape.metrics.energy import EnergyShapeMetric
    from repshape.metrics.gaussian import GaussianShapeMetric
    from repshape.metrics.procrustes import ProcrustesShapeMetric
    from repshape.metrics.wasserstein import WassersteinShapeMetric
    from repshape.moments import estimate_moments
    from repshape.pairwise.cross import cross
    from repshape.pairwise.run import pairwise, pairwise_many
    from repshape.preprocess import Preprocess
    from repshape.report import write_report
    from repshape.responses import Gaussians, Trials, as_network

    __version__: str
    """Version of the package."""

if not TYPE_CHECKING:
    del repshape.pairwise

# Where each name lives: importing repshape loads none of it.
_HOMES = {
    "Alignment": "metrics.base",
    "Cohort": "io.cohort",
    "DistanceMatrix": "matrix.distances",
    "EnergyShapeMetric": "metrics.energy",
    "GaussianShapeMetric": "metrics.gaussian",
    "Gaussians": "responses",
    "Preprocess": "preprocess",
    "ProcrustesShapeMetric": "metrics.procrustes",
    "Trials": "responses",
    "WassersteinShapeMetric": "metrics.wasserstein",
    "as_network": "responses",
    "cross": "pairwise.cross",
    "embed": "analysis.embedding",
    "estimate_moments": "moments",
    "pairwise": "pairwise.run",
    "pairwise_many": "pairwise.run",
    "repair": "matrix.repair",
    "triangle_violations": "matrix.triangles",
    "write_report": "report.write",
}
_MODULES = ("analysis", "baselines", "datasets", "errors", "inference", "io", "plots")

__all__ = [
    "Alignment",
    "Cohort",
    "DistanceMatrix",
    "EnergyShapeMetric",
    "GaussianShapeMetric",
    "Gaussians",
    "Preprocess",
    "ProcrustesShapeMetric",
    "Trials",
    "WassersteinShapeMetric",
    "__version__",
    "analysis",
    "as_network",
    "baselines",
    "cross",
    "datasets",
    "embed",
    "errors",
    "estimate_moments",
    "inference",
    "io",
    "pairwise",
    "pairwise_many",
    "plots",
    "repair",
    "triangle_violations",
    "write_report",
]


if not TYPE_CHECKING:  # so that type checkers know every name, and no other

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
    """List the public names, for completion."""
    return list(__all__)
