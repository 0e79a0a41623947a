"""Shape metrics: a ground metric between distributions, minimised over a group."""

from repshape.metrics.base import Alignment, ShapeMetric
from repshape.metrics.conv import ConvShapeMetric
from repshape.metrics.covariance import CovarianceShapeMetric
from repshape.metrics.energy import EnergyShapeMetric
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.metrics.process import ProcessShapeMetric
from repshape.metrics.procrustes import ProcrustesShapeMetric
from repshape.metrics.wasserstein import WassersteinShapeMetric

__all__ = [
    "Alignment",
    "ConvShapeMetric",
    "CovarianceShapeMetric",
    "EnergyShapeMetric",
    "GaussianShapeMetric",
    "ProcessShapeMetric",
    "ProcrustesShapeMetric",
    "ShapeMetric",
    "WassersteinShapeMetric",
]
