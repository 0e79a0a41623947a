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

import tempfile
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from repshape._labels import find_difference
from repshape.errors import InputError, InputTypeError
from repshape.metrics.base import ShapeMetric
from repshape.metrics.capabilities import BoundFeatures

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

FLOAT_BYTES = 8
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
    def rough(self, rows: range, columns: int) -> FloatArray:
        """Return bounds for all pairs of ``rows`` and the first networks, by matrix products."""

    @abstractmethod
    def tight(self, pairs: IndexArray) -> FloatArray:
        """Return better bounds for pairs, shape (P, 2)."""


class NoBounds(LowerBounds):
    """Nothing is known of a pair before it is solved."""

    name = "none"

    def rough(self, rows: range, columns: int) -> FloatArray:
        """Return minus infinity, since estimates of a distance may be negative."""
        return np.full((len(rows), columns), -np.inf)

    def tight(self, pairs: IndexArray) -> FloatArray:
        """Return minus infinity."""
        return np.full(len(pairs), -np.inf)


class ShapeBounds(LowerBounds):
    """Bounds from means and spectra, for distances whose square is a sum of both parts.

    Parameters
    ----------
    features : sequence of (means, spectra)
        Of each network: means (M, n) and spectra (M, r), times roots of their weights in the
        squared distance.
    group : str or Group
        The group of the metric.
    size : int or None
        Number of neurons of the space in which permutations act.
    allocate : callable
        Makes an array of zeros of a shape.
    """

    name = "means and spectra"

    def __init__(
        self,
        features: Sequence[BoundFeatures],
        group: Any,
        size: int | None,
        allocate: Callable[[tuple[int, ...]], FloatArray] = np.zeros,
    ) -> None:
        self._group, self._size = group, size
        self._means = _stacked([means for means, _ in features], allocate)
        self._spectra = _stacked([spectra for _, spectra in features], allocate)
        K, M, n = self._means.shape
        if group == "identity":  # means are compared as they are
            self._of_means = [self._means.reshape(K, -1)]
        else:
            values = [_singular_values(one, min(M, n)) for one in self._means]
            self._of_means = [np.array(values), np.array([_norms(one) for one in self._means])]
        self._of_noise = self._spectra.reshape(K, -1)
        squares = [(one**2).sum() + (two**2).sum() for one, two in features]
        self._sizes = np.array(squares)
        self._rounding = EPSILON * (MORE_ROUNDINGS + M * n + self._spectra[0].size)

    def rough(self, rows: range, columns: int) -> FloatArray:
        """Return the distances between spectra, and between norms or spectra of the means."""
        at = slice(rows.start, rows.stop)
        squared = self._products(at, columns)
        squared += self._of_noise[at] @ self._of_noise[:columns].T
        squared *= -2.0
        squared += (1.0 - self._rounding) * (self._sizes[at, None] + self._sizes[:columns])
        return np.asarray(np.sqrt(np.maximum(squared, 0.0, out=squared), out=squared))

    def _products(self, at: slice, columns: int) -> FloatArray:
        """Return products of norms, or of singular values: those that are farther apart.

        Both vectors of a network have the same norm: the smaller product, the larger distance.
        """
        each = [one[at] @ one[:columns].T for one in self._of_means]
        return np.asarray(np.min(each, axis=0))

    def tight(self, pairs: IndexArray) -> FloatArray:
        """Return bounds with the exact distance between means."""
        bounds = np.empty(len(pairs))
        step = max(1, CHUNK_ENTRIES // max(self._means[0].size, self._spectra[0].size, 1))
        for start in range(0, len(pairs), step):
            part = slice(start, start + step)
            i, j = pairs[part].T
            squared = self._mean_gaps(i, j)
            squared += ((self._spectra[i] - self._spectra[j]) ** 2).sum((1, 2))
            squared -= self._rounding * (self._sizes[i] + self._sizes[j])
            bounds[part] = np.sqrt(np.maximum(squared, 0.0))
        return bounds

    def _mean_gaps(self, i: IndexArray, j: IndexArray) -> FloatArray:
        """Return the squared distances between means, at the best transform of each pair."""
        X, Y = self._means[i], self._means[j]
        if not X.size:
            return np.zeros(len(i))
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

    def rough(self, rows: range, columns: int) -> FloatArray:
        """Return the angles between norms or singular values of the means."""
        at = slice(rows.start, rows.stop)
        norms = np.sqrt(self._sizes[at, None] * self._sizes[:columns])
        return self._angles(self._products(at, columns) / norms)

    def tight(self, pairs: IndexArray) -> FloatArray:
        """Return the angles between the means."""
        first, second = (self._sizes[k] for k in pairs.T)
        products = (first + second - self._mean_gaps(*pairs.T)) / 2.0
        return self._angles(products / np.sqrt(first * second))

    def _angles(self, cosines: FloatArray) -> FloatArray:
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


def lower_bounds(
    metric: Any, networks: Sequence[Any], names: Sequence[str], memory: int | None = None
) -> LowerBounds:
    """Return the best bounds that are known for a metric, for all pairs of some networks.

    Parameters
    ----------
    metric : ShapeMetric or callable
        Metrics other than the Gaussian, the covariance and the Procrustes metric have none.
    networks : sequence
        Networks, which are read one after the other.
    names : sequence of str
        Their names, for messages.
    memory : int, optional
        Bytes that means and spectra may take in memory; more are kept in temporary files.
    """
    if not isinstance(metric, ShapeMetric):
        return NoBounds()
    metric._validate_parameters()
    allocate = Allocator(memory)
    features = _all_features(metric, networks, names, allocate)
    if not features:
        return NoBounds()
    kind = AngleBounds if metric._is_angular else ShapeBounds
    return kind(features, metric.group, metric.pad_to, allocate)


class Allocator:
    """Makes arrays in memory, and in temporary files once they exceed a number of bytes."""

    def __init__(self, memory: int | None) -> None:
        self._left = np.inf if memory is None else memory

    def __call__(self, shape: tuple[int, ...]) -> FloatArray:
        """Return zeros."""
        size = int(np.prod(shape)) * FLOAT_BYTES
        self._left -= size
        if self._left >= 0 or not size:
            return np.zeros(shape)
        with tempfile.TemporaryFile() as file:  # it disappears with the last array that maps it
            return np.memmap(file, dtype=np.float64, mode="w+", shape=shape)

    def keep(self, array: FloatArray) -> FloatArray:
        """Return a copy of an array."""
        copy = self(array.shape)
        copy[...] = array
        return copy


def _all_features(
    metric: ShapeMetric[Any], networks: Sequence[Any], names: Sequence[str], allocate: Allocator
) -> list[BoundFeatures] | None:
    """Return the features of every network, None without any, or raise an error that names it."""
    first, features = None, []
    for k, name in enumerate(names):
        try:
            given = metric._read(networks[k])
            with warnings.catch_warnings():  # they come again when the network is solved
                warnings.simplefilter("ignore")
                found = metric._bound_features(given)
        except (InputError, InputTypeError) as error:
            raise type(error)(f"In network {name!r}: {error}") from None
        if found is None:
            return None
        features.append((allocate.keep(found[0]), allocate.keep(found[1])))
        first = given if first is None else first
        difference = find_difference(first, given, (repr(names[0]), repr(name)))
        if difference is not None:
            raise InputError(
                f"All networks must have the same conditions in the same order. {difference}"
            )
    return features


def _singular_values(means: FloatArray, count: int) -> FloatArray:
    found = np.linalg.svd(means, compute_uv=False) if means.size else np.zeros(0)
    return np.pad(found, (0, count - len(found)))


def _norms(means: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(means, axis=1))


def _stacked(
    arrays: Sequence[FloatArray], allocate: Callable[[tuple[int, ...]], FloatArray]
) -> FloatArray:
    """Return matrices of the same height as one array, with zeros added on the right."""
    width = max(one.shape[1] for one in arrays)
    stack = allocate((len(arrays), len(arrays[0]), width))
    for k, one in enumerate(arrays):
        stack[k, :, : one.shape[1]] = one
    return stack
