"""The average of aligned networks, which depends on the metric: one class for each kind.

With transforms fixed, each of these averages minimises the weighted mean of squared distances, or
reduces it by steps that never increase it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._parallel import run_all
from repshape.analysis._barycentre import barycentre
from repshape.analysis.tangent_space import check_padding
from repshape.coordinates.factors import factorise
from repshape.errors import InputError, InputTypeError
from repshape.metrics.base import check_same_conditions
from repshape.metrics.covariance import CovarianceShapeMetric
from repshape.metrics.energy import EnergyShapeMetric
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.metrics.procrustes import ProcrustesShapeMetric
from repshape.metrics.registry import wrong_metric
from repshape.metrics.soft import refuse_soft
from repshape.reference.gaussian import symmetric_root
from repshape.reference.ground import symmetric_log
from repshape.responses import Gaussians, NetworkLike, Trials

FloatArray = npt.NDArray[np.float64]

# Steps of the fixed point of covariances between two alignments. Both change together, and further
# steps before the next alignment are wasted.
BURES_STEPS = 3
# Conditions are averaged together as long as their factors have this many numbers: many small
# matrices at once are faster, and large ones are divided among threads.
TOGETHER = 4096


class Average(ABC):
    """Networks in the space in which they are averaged, and how to average them.

    Attributes
    ----------
    networks : list
        The networks, read and preprocessed.
    metric : ShapeMetric
        The metric of that space, which preprocesses no more.
    """

    def __init__(
        self, networks: Iterable[NetworkLike], metric: Any, workers: int | None = None
    ) -> None:
        metric._validate_parameters()
        refuse_soft(metric, "The Frechet mean")
        given = [metric._read(one, f"network {k}") for k, one in enumerate(networks)]
        if not given:
            raise InputError("The 'networks' parameter must hold at least one network. Got none.")
        for network in given[1:]:
            check_same_conditions(given[0], network)
        self.given, self.workers = metric, workers
        self.metric: Any = self._inside(metric)
        self.networks: list[Any] = [self._preprocessed(one) for one in given]
        self.size = max(one.n_neurons for one in self.networks)
        if hasattr(metric, "pad_to"):
            check_padding(metric, self.size)

    def _inside(self, metric: Any) -> Any:
        """Return the metric of the preprocessed space."""
        return metric.with_parameters(preprocess=None)

    def _preprocessed(self, network: Any) -> Any:
        phi = self.given.preprocess
        if phi is not None:
            network = phi.fit(network, self.given.weights).apply(network)
        return self.given._moments(network)

    @property
    def conditions(self) -> Any:
        """Labels of the conditions."""
        return self.networks[0].conditions

    def start(self, k: int) -> Any:
        """Return network k as a first mean, in its own neurons."""
        return self.networks[k]

    @abstractmethod
    def average(self, transforms: list[FloatArray], share: FloatArray, mean: Any) -> Any:
        """Return the average of ``networks[k] @ transforms[k]``, given the one before."""

    def scale(self, k: int) -> float:
        """Return the squared size of network k, in the unit of squared distances."""
        g = self.networks[k]
        return float((g.means**2).sum(axis=1).mean() + g.total_variance.mean())

    def _mean_of_means(self, transforms: list[FloatArray], share: FloatArray) -> FloatArray:
        used = np.flatnonzero(share > 0)
        return np.asarray(sum(share[k] * self.networks[k].means @ transforms[k] for k in used))


class BuresAverage(Average):
    """Means, and covariances by the fixed point of Bures and Wasserstein."""

    def __init__(
        self, networks: Iterable[NetworkLike], metric: Any, workers: int | None = None
    ) -> None:
        super().__init__(networks, metric, workers)
        # As thin as they are: steps cost by their width.
        self._factors = [factorise(one).dense for one in self.networks]

    def average(self, transforms: list[FloatArray], share: FloatArray, mean: Any) -> Gaussians:
        """Average the means, and move the covariance of the mean a few steps."""
        used = np.flatnonzero(share > 0)
        n = mean.n_neurons
        A = _square_factors(mean, self.size)[:, :n]

        def some_conditions(m: int) -> FloatArray:
            some = slice(m, m + step)
            moved = [transforms[k].T @ self._factors[k][some] for k in used]
            return barycentre(A[some], moved, share[used], max_iter=BURES_STEPS)

        step = max(1, TOGETHER // A[0].size)
        starts = range(0, len(A), step)
        found = run_all(some_conditions, starts, workers=self.workers, progress=False)
        A = np.concatenate(found)
        means = self._mean_of_means(transforms, share)
        return Gaussians.from_factors(means, A, conditions=self.conditions)


class GroundAverage(Average):
    """Means, and covariances by their roots, logarithms or geodesics."""

    def average(self, transforms: list[FloatArray], share: FloatArray, mean: Any) -> Gaussians:
        """Average the means, and roots or logarithms of covariances; geodesics by one step."""
        used = np.flatnonzero(share > 0)
        means, ground = self._mean_of_means(transforms, share), self.given.ground
        moved = [self._moved(int(k), transforms[k]) for k in used]
        if ground == "root-frobenius":
            root = np.asarray(sum(w * one for w, one in zip(share[used], moved, strict=True)))
            return Gaussians.from_factors(means, root, conditions=self.conditions)
        if ground == "log-euclidean":
            total = np.asarray(sum(w * one for w, one in zip(share[used], moved, strict=True)))
            half = symmetric_exp(total / 2)
        else:
            root = symmetric_root(mean.covariances)
            inverse = np.linalg.inv(root)
            steps = [symmetric_log(_symmetric(inverse @ one @ inverse)) for one in moved]
            step = np.asarray(sum(w * one for w, one in zip(share[used], steps, strict=True)))
            half = root @ symmetric_exp(step / 2)
        return Gaussians.from_factors(means, half, conditions=self.conditions)

    def _moved(self, k: int, T: FloatArray) -> FloatArray:
        """Return the aligned covariances of network k, or their roots or logarithms."""
        return np.asarray(T.T @ self._matrices(k) @ T)

    def _matrices(self, k: int) -> FloatArray:
        S = np.asarray(self.networks[k].covariances)
        if self.given.ground == "root-frobenius":
            return np.asarray(symmetric_root(S))
        return symmetric_log(S) if self.given.ground == "log-euclidean" else S


class PointAverage(Average):
    """Mean responses: their mean, or their mean direction for angles."""

    def _inside(self, metric: Any) -> Any:
        return metric.with_parameters(preprocess=None, center=False, whitening=0.0)

    def _preprocessed(self, network: Any) -> Gaussians:
        prepared = self.given.prepare(network)
        rows = prepared.rows if prepared.basis is None else prepared.rows @ prepared.basis.T
        w = self._row_weights(len(rows))
        means = np.divide(rows, w[:, None], out=np.zeros_like(rows), where=w[:, None] > 0)
        if self.given._is_angular:
            means = means / np.linalg.norm(rows)
        return Gaussians.points(means, conditions=network.conditions)

    def _row_weights(self, M: int) -> FloatArray:
        """Return what the metric multiplies the rows of the means by."""
        return np.asarray(self.given._weighted(np.ones((M, 1)))[:, 0])

    def scale(self, k: int) -> float:
        """Return the squared norm of the means."""
        return float((self.networks[k].means ** 2).sum())

    def average(self, transforms: list[FloatArray], share: FloatArray, mean: Any) -> Gaussians:
        """Average the means; on the sphere, by one step of the logarithms at the last mean."""
        if not self.given._is_angular:
            means = self._mean_of_means(transforms, share)
            return Gaussians.points(means, conditions=self.conditions)
        used, w2 = np.flatnonzero(share > 0), self._row_weights(len(mean.means))[:, None] ** 2
        u = mean.means
        step = np.zeros_like(u)
        for k in used:
            v = self.networks[k].means @ transforms[k]
            along = float((w2 * u * v).sum())
            across = v - along * u
            sine = float(np.sqrt((w2 * across**2).sum()))
            if sine > 0:
                step += share[k] * np.arctan2(sine, along) / sine * across
        length = float(np.sqrt((w2 * step**2).sum()))
        turned = np.cos(length) * u + np.sinc(length / np.pi) * step
        turned = turned / float(np.sqrt((w2 * turned**2).sum()))
        return Gaussians.points(turned, conditions=self.conditions)


class SampleAverage(Average):
    """Trials: the mixture of the aligned samples.

    The energy distance is a Euclidean distance between distributions, in a space in which mixtures
    are averages (Sejdinovic et al. 2013).
    """

    def __init__(
        self, networks: Iterable[NetworkLike], metric: Any, workers: int | None = None
    ) -> None:
        if metric.estimator != "v":
            raise InputError(
                "The Frechet mean of trials needs EnergyShapeMetric(estimator='v'), the distance "
                "between samples. Got estimator='u'."
            )
        super().__init__(networks, metric, workers)

    def _preprocessed(self, network: Any) -> Trials:
        phi = self.given.preprocess
        if phi is not None:
            network = phi.fit(network, self.given.weights).apply(network)
        trials: Trials = self.given._trials(network)
        return trials

    def scale(self, k: int) -> float:
        """Return the mean of |x|^q over trials."""
        sizes = np.linalg.norm(self.networks[k].pooled, axis=1)
        return float((sizes**self.given.q).mean())

    def average(self, transforms: list[FloatArray], share: FloatArray, mean: Any) -> Trials:
        """Pool the trials of each condition."""
        used = np.flatnonzero(share > 0)
        self._check_equal(used, share)
        moved = [[one @ transforms[k] for one in self.networks[k].responses] for k in used]
        pooled = [np.concatenate(trials) for trials in zip(*moved, strict=True)]
        return Trials(pooled, conditions=self.conditions)

    def _check_equal(self, used: npt.NDArray[np.intp], share: FloatArray) -> None:
        """Raise unless all trials of a condition have the same weight in the mixture."""
        counts = np.array([self.networks[k].n_trials for k in used])
        if np.ptp(share[used]) > 1e-12 or (counts != counts[0]).any():
            raise InputError(
                "The Frechet mean of trials needs equal weights, and as many trials of each "
                "condition in all networks. Draw matched numbers with repshape.draw_matched."
            )


AVERAGES: dict[type[Any], type[Average]] = {
    GaussianShapeMetric: BuresAverage,
    CovarianceShapeMetric: GroundAverage,
    ProcrustesShapeMetric: PointAverage,
    EnergyShapeMetric: SampleAverage,
}


def average_for(networks: Iterable[NetworkLike], metric: Any, workers: int | None) -> Average:
    """Return the networks in the space of a metric, with the average that belongs to it."""
    metric = GaussianShapeMetric() if metric is None else metric
    for cls, average in AVERAGES.items():
        if isinstance(metric, cls):
            return average(networks, metric, workers)
    known = ", ".join(cls.__name__ for cls in AVERAGES)
    raise InputTypeError(
        f"The 'metric' parameter must be one whose aligned networks can be averaged: {known}, "
        f"ProcessShapeMetric or ConvShapeMetric. {wrong_metric(metric)}"
    )


def symmetric_exp(S: FloatArray) -> FloatArray:
    """Return the exponential of symmetric matrices (..., n, n)."""
    values, U = np.linalg.eigh(_symmetric(S))
    return np.asarray((U * np.exp(values)[..., None, :]) @ np.swapaxes(U, -1, -2))


def _symmetric(S: FloatArray) -> FloatArray:
    return np.asarray((S + np.swapaxes(S, -1, -2)) / 2)


def _square_factors(network: Gaussians, size: int) -> FloatArray:
    """Return factors padded with zeros to (M, size, size), for any number of neurons and rank."""
    factors = factorise(network).dense
    rows, columns = size - factors.shape[1], size - factors.shape[2]
    return np.pad(factors, ((0, 0), (0, rows), (0, columns)))
