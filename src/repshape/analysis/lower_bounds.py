r"""Lower bounds of distances that need no search: what excludes pairs from a neighbour search.

Under every orthogonal transform T,

.. math:: |X - YT| \ge \min_Q |X - YQ| \ge \max(|\sigma(X) - \sigma(Y)|, |\rho(X) - \rho(Y)|),
          \qquad B(S, T R T') \ge |\sigma(S)^{1/2} - \sigma(R)^{1/2}|,

with the means X and Y, their sorted singular values and the norms of their rows. The last terms
of both are distances between vectors that belong to one network each, so that a matrix product
gives those of all pairs. The middle term is the exact distance at alpha = 2, which takes one small
decomposition for each pair.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from repshape._arrays import condition_weights
from repshape._labels import find_difference
from repshape.coordinates.factors import coordinates_for
from repshape.errors import InputError, InputTypeError
from repshape.metrics.base import ShapeMetric
from repshape.metrics.covariance import CovarianceShapeMetric
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.metrics.procrustes import ProcrustesShapeMetric

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
# Means and square roots of the spectra of one network, each row of which is weighted.
Features = tuple[FloatArray, FloatArray]

EPSILON = float(np.finfo(np.float64).eps)
# Besides one rounding for each term of a sum, those of decompositions and of the distance itself.
MORE_ROUNDINGS = 64
# Products of networks are formed for about this many numbers at a time.
CHUNK_ENTRIES = 2**21


class LowerBounds(ABC):
    """Proven lower bounds of the distances between networks, less a margin for rounding.

    Attributes
    ----------
    name : str
        What the bounds are made of, for the settings of a result.
    """

    name: str

    @abstractmethod
    def rough(self, rows: IndexArray, columns: IndexArray) -> FloatArray:
        """Return bounds for all pairs of some networks with others, by matrix products."""

    @abstractmethod
    def tight(self, pairs: IndexArray) -> FloatArray:
        """Return better bounds for pairs, shape (P, 2)."""


class NoBounds(LowerBounds):
    """Zero: nothing is known of a pair before it is solved."""

    name = "none"

    def rough(self, rows: IndexArray, columns: IndexArray) -> FloatArray:
        """Return zeros, or minus infinity, since estimates of a distance may be negative."""
        return np.full((len(rows), len(columns)), -np.inf)

    def tight(self, pairs: IndexArray) -> FloatArray:
        """Return minus infinity."""
        return np.full(len(pairs), -np.inf)


class ShapeBounds(LowerBounds):
    """Bounds from means and spectra, for distances whose square is a sum of both parts.

    Parameters
    ----------
    features : sequence of (means, spectra)
        Of each network: means (M, n) and spectra (M, r), both times roots of the weights.
    parts : tuple of two float
        Factors of the squared distances of means and of spectra.
    group : str or Group
        The group of the metric.
    size : int or None
        Number of neurons of the space in which permutations act.
    """

    name = "means and spectra"

    def __init__(
        self, features: Sequence[Features], parts: tuple[float, float], group: Any, size: int | None
    ) -> None:
        self._parts, self._group, self._size = parts, group, size
        self._means = _stacked([means for means, _ in features])
        self._spectra = _stacked([spectra for _, spectra in features])
        K, M, n = self._means.shape
        if group == "identity":  # means are compared as they are
            vectors = [self._means.reshape(K, -1)]
        else:
            values = [_singular_values(one, min(M, n)) for one in self._means]
            vectors = [np.array(values), np.linalg.norm(self._means, axis=2)]
        self._mean_vectors = [np.sqrt(parts[0]) * one for one in vectors]
        self._noise_vectors = np.sqrt(parts[1]) * self._spectra.reshape(K, -1)
        both = (self._mean_vectors[0], self._noise_vectors)
        self._sizes = np.sum([(one**2).sum(axis=1) for one in both], axis=0)
        self._rounding = EPSILON * (MORE_ROUNDINGS + M * n + self._spectra[0].size)

    def rough(self, rows: IndexArray, columns: IndexArray) -> FloatArray:
        """Return the distances between spectra, and between norms or spectra of the means."""
        products = [one[rows] @ one[columns].T for one in self._mean_vectors]
        squared: FloatArray = np.min(
            products, axis=0
        )  # norms are equal, so this is the larger distance
        squared += self._noise_vectors[rows] @ self._noise_vectors[columns].T
        squared *= -2.0
        squared += (1.0 - self._rounding) * (self._sizes[rows][:, None] + self._sizes[columns])
        return np.asarray(np.sqrt(np.maximum(squared, 0.0, out=squared), out=squared))

    def tight(self, pairs: IndexArray) -> FloatArray:
        """Return bounds with the exact distance between means."""
        bounds = np.empty(len(pairs))
        step = max(1, CHUNK_ENTRIES // max(self._means[0].size, self._spectra[0].size, 1))
        for start in range(0, len(pairs), step):
            part = slice(start, start + step)
            i, j = pairs[part].T
            squared = self._parts[0] * self._mean_gaps(i, j)
            squared += self._parts[1] * ((self._spectra[i] - self._spectra[j]) ** 2).sum((1, 2))
            squared -= self._rounding * (self._sizes[i] + self._sizes[j])
            bounds[part] = np.sqrt(np.maximum(squared, 0.0))
        return bounds

    def _mean_gaps(self, i: IndexArray, j: IndexArray) -> FloatArray:
        if self._parts[0] == 0.0:
            return np.zeros(len(i))
        X, Y = self._means[i], self._means[j]
        if self._group == "identity":
            return np.asarray(((X - Y) ** 2).sum((1, 2)))
        total = (X**2).sum((1, 2)) + (Y**2).sum((1, 2))
        return np.asarray(total - 2.0 * self._gain(np.swapaxes(X, 1, 2) @ Y))

    def _gain(self, products: FloatArray) -> FloatArray:
        """Return the largest <T, G> over the group, or over all orthogonal transforms."""
        if self._group == "permutation":
            return best_assignments(products, self._size)
        return np.asarray(np.linalg.svd(products, compute_uv=False).sum(axis=1))


class AngleBounds(ShapeBounds):
    """Bounds of the angle between means, which are exact once they are tight."""

    name = "means"

    def rough(self, rows: IndexArray, columns: IndexArray) -> FloatArray:
        """Return the angles between norms or singular values of the means."""
        products = [one[rows] @ one[columns].T for one in self._mean_vectors]
        return self._angles(np.min(products, axis=0), rows[:, None], columns[None])

    def tight(self, pairs: IndexArray) -> FloatArray:
        """Return the angles between the means."""
        i, j = pairs.T
        total = self._sizes[i] + self._sizes[j]
        return self._angles((total - self._mean_gaps(i, j)) / 2.0, i, j)

    def _angles(self, products: FloatArray, i: Any, j: Any) -> FloatArray:
        cosines = products / np.sqrt(self._sizes[i] * self._sizes[j])
        return np.asarray(np.arccos(np.clip(cosines + 2.0 * self._rounding, -1.0, 1.0)))


def best_assignments(products: FloatArray, size: int | None) -> FloatArray:
    """Return the largest sum of entries of each matrix, one from each row and column.

    With ``size``, rows and columns of zeros are added up to that number.

    >>> best_assignments(np.array([[[1.0, 5.0], [3.0, -9.0]]]), None)
    array([8.])
    """
    more = 0 if size is None else max(size - products.shape[1], 0)
    padded = np.pad(products, ((0, 0), (0, more), (0, more)))
    found = [one[linear_sum_assignment(one, maximize=True)].sum() for one in padded]
    return np.array(found)


def lower_bounds(metric: Any, networks: Sequence[Any], names: Sequence[str]) -> LowerBounds:
    """Return the best bounds that are known for a metric, for all pairs of some networks.

    Parameters
    ----------
    metric : ShapeMetric or callable
        Metrics other than the Gaussian, the covariance and the Procrustes metric have none.
    networks : sequence
        Networks, which are read one after the other.
    names : sequence of str
        Their names, for messages.
    """
    known = GaussianShapeMetric | CovarianceShapeMetric | ProcrustesShapeMetric
    if not isinstance(metric, known) or metric.group == "soft":
        return NoBounds()
    metric._validate_parameters()
    features = _all_features(metric, networks, names)
    if isinstance(metric, ProcrustesShapeMetric):
        kind = AngleBounds if metric.get_params()["distance"] == "angular" else ShapeBounds
        return kind(features, (1.0, 0.0), metric.group, metric.pad_to)
    parts = float(metric.alpha), 2.0 - float(metric.alpha)
    return ShapeBounds(features, parts, metric.group, metric.pad_to)


def _all_features(
    metric: ShapeMetric[Any], networks: Sequence[Any], names: Sequence[str]
) -> list[Features]:
    """Return the features of every network, or raise an error that names the network."""
    first, features = None, []
    for k, name in enumerate(names):
        try:
            given = metric._read(networks[k])
            with warnings.catch_warnings():  # they come again when the network is solved
                warnings.simplefilter("ignore")
                features.append(_features(metric, given))
        except (InputError, InputTypeError) as error:
            raise type(error)(f"In network {name!r}: {error}") from None
        first = given if first is None else first
        difference = find_difference(first, given, (repr(names[0]), repr(name)))
        if difference is not None:
            raise InputError(
                f"All networks must have the same conditions in the same order. {difference}"
            )
    return features


def _features(metric: Any, network: Any) -> Features:
    """Return weighted means and spectra; a part without weight has no columns."""
    if isinstance(metric, ProcrustesShapeMetric):
        rows = metric.prepare(network).rows
        return rows, rows[:, :0]
    if isinstance(metric, CovarianceShapeMetric):
        prepared = metric.prepare(network)
        means, spectra = prepared.means, np.linalg.eigvalsh(prepared.matrices)[:, ::-1]
    else:
        if metric.preprocess is not None:
            network = metric.preprocess.fit(network, metric.weights).apply(network)
        weights = condition_weights(metric.weights, network.n_conditions)
        net = coordinates_for(metric.group, metric._moments(network), weights)
        means, spectra = net.means, net.spectrum
    root = np.sqrt(condition_weights(metric.weights, len(means)))[:, None]
    return (
        root * (means if metric.alpha > 0 else means[:, :0]),
        root * (spectra if metric.alpha < 2 else spectra[:, :0]),
    )


def _singular_values(means: FloatArray, count: int) -> FloatArray:
    found = np.linalg.svd(means, compute_uv=False) if means.size else np.zeros(0)
    return np.pad(found, (0, count - len(found)))


def _stacked(arrays: Sequence[FloatArray]) -> FloatArray:
    """Return matrices of the same height as one array, with zeros added on the right."""
    width = max(one.shape[1] for one in arrays)
    stack = np.zeros((len(arrays), len(arrays[0]), width))
    for k, one in enumerate(arrays):
        stack[k, :, : one.shape[1]] = one
    return stack
