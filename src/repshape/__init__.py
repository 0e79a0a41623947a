"""repshape: distances between stochastic neural representations.

The root holds the names that every user types. Everything else is in the modules `analysis`,
`inference`, `baselines`, `datasets`, `io`, `plots`, `pytorch` and `errors`. Names are imported when
they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from repshape import analysis, baselines, datasets, errors, inference, io, plots, pytorch
    from repshape.analysis.embedding import embed
    from repshape.engine.cross import cross
    from repshape.engine.run import pairwise, pairwise_many
    from repshape.io.cohort import Cohort
    from repshape.io.matched import draw_matched
    from repshape.matrix.distances import DistanceMatrix
    from repshape.matrix.repair import repair
    from repshape.matrix.triangles import triangle_violations
    from repshape.metrics.base import Alignment
    from repshape.metrics.conv import ConvShapeMetric
    from repshape.metrics.covariance import CovarianceShapeMetric
    from repshape.metrics.energy import EnergyShapeMetric
    from repshape.metrics.gaussian import GaussianShapeMetric
    from repshape.metrics.process import ProcessShapeMetric
    from repshape.metrics.procrustes import ProcrustesShapeMetric
    from repshape.metrics.wasserstein import WassersteinShapeMetric
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
    "ConvShapeMetric": "metrics.conv",
    "CovarianceShapeMetric": "metrics.covariance",
    "DistanceMatrix": "matrix.distances",
    "EnergyShapeMetric": "metrics.energy",
    "GaussianShapeMetric": "metrics.gaussian",
    "Gaussians": "responses",
    "PositionNetwork": "responses.positions",
    "Preprocess": "preprocess",
    "ProcessShapeMetric": "metrics.process",
    "ProcrustesShapeMetric": "metrics.procrustes",
    "Trials": "responses",
    "WassersteinShapeMetric": "metrics.wasserstein",
    "as_network": "responses",
    "cross": "engine.cross",
    "draw_matched": "io.matched",
    "embed": "analysis.embedding",
    "estimate_moments": "moments",
    "pairwise": "engine.run",
    "pairwise_many": "engine.run",
    "repair": "matrix.repair",
    "triangle_violations": "matrix.triangles",
    "write_report": "report.write",
}
_MODULES = ("analysis", "baselines", "datasets", "errors", "inference", "io", "plots", "pytorch")

__all__ = [
    "Alignment",
    "Cohort",
    "ConvShapeMetric",
    "CovarianceShapeMetric",
    "DistanceMatrix",
    "EnergyShapeMetric",
    "GaussianShapeMetric",
    "Gaussians",
    "PositionNetwork",
    "Preprocess",
    "ProcessShapeMetric",
    "ProcrustesShapeMetric",
    "Trials",
    "WassersteinShapeMetric",
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
    "repair",
    "triangle_violations",
    "write_report",
]


if not TYPE_CHECKING:  # type checkers would take every name for one of ours

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
