"""Embeddings: points whose distances resemble those between networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import smacof

from repshape._compact import compact_repr
from repshape.analysis.placement import place_points
from repshape.engine.cross import cross
from repshape.engine.inputs import as_sequence
from repshape.errors import InputError, check_choice, check_integer
from repshape.io.cohort import Cohort
from repshape.matrix.distances import DistanceMatrix, as_complete
from repshape.metrics.identity import restore

FloatArray = npt.NDArray[np.float64]

# SMACOF is slow: at scikit-learn's default tolerance it stops while points still move by a percent.
MAX_ITERATIONS = 1000
TOLERANCE = 1e-9
# Entries whose relative difference is below this are equal up to rounding and the tolerance above.
TIE = 1e-4
# A picture is collapsed if the second axis, or the distance between the points of half of the
# pairs, is below this share of its width.
COLLAPSED = 0.02
METHODS = {"metric": "metric MDS (SMACOF)", "classical": "classical scaling"}


@compact_repr
@dataclass(frozen=True, eq=False)
class Embedding:
    """Networks as points.

    Attributes
    ----------
    points : ndarray, shape (K, n_components)
        Centred points along their principal axes. The first of the largest entries of each axis
        is positive, so that signs are reproducible.
    stress : float
        Stress-1: root of the sum of squared errors of the distances, divided by the sum of their
        squares. 0 is a perfect fit, and 0.1 a fair one.
    n_components : int
        Dimension of the points.
    method : str
        Name of the method.
    labels : tuple of str
        Names of the networks.
    explained : ndarray, shape (n_components,)
        Fraction of the variance of the points along each axis; with ``pca_from``, of the variance
        in that many dimensions.
    """

    points: FloatArray
    stress: float
    n_components: int
    method: str
    labels: tuple[str, ...]
    explained: FloatArray
    # What places new networks: points of all axes, the networks among them whose distances count,
    # and the metric of these, or its identity.
    _space: FloatArray | None = None
    _anchors: tuple[int, ...] | None = None
    _networks: Sequence[Any] | None = None
    _metric: Any = None

    def place(self, x: Any, cohort: Any = None) -> FloatArray:
        r"""Return the point of a new network; the other points stay where they are.

        The point minimises :math:`\sum_k (d_k - |p - p_k|)^2` over the embedded networks k, from
        Gower's formula; with classical scaling, it is that of Gower's formula.

        Parameters
        ----------
        x : network, Cohort or dict of networks, or 1-D array
            The new network or networks, or the distances from one new network to all that are
            embedded.
        cohort : Cohort or dict of networks, optional
            The embedded networks, by their labels. Not needed for distances, nor for an embedding
            that `embed_landmarks` made. The metric is that of the matrix that was embedded.

        Returns
        -------
        ndarray, shape (n_components,), or (Q, n_components) for a cohort or dict of Q networks

        Examples
        --------
        >>> corners = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0], [0.0, 4.0]])
        >>> D = np.linalg.norm(corners[:, None] - corners[None], axis=-1)
        >>> result = embed(D)
        >>> bool(np.allclose(result.place(D[1]), result.points[1]))
        True
        """
        space = self.points if self._space is None else self._space
        anchors = space if self._anchors is None else space[list(self._anchors)]
        distances = self._distances(x, cohort)
        refine = METHODS["classical"] not in self.method
        placed = place_points(np.atleast_2d(distances), anchors, refine=refine)
        points: FloatArray = placed[:, : self.n_components]
        return points[0] if distances.ndim == 1 else points

    def _distances(self, x: Any, cohort: Any) -> FloatArray:
        """Return the distances from new networks to the anchors: (L,) of one, else (Q, L)."""
        labels = self.labels if self._anchors is None else [self.labels[k] for k in self._anchors]
        if isinstance(x, np.ndarray | list | tuple) and _is_vector(x):
            given = np.asarray(x, dtype=np.float64)
            if given.shape != (len(labels),) or not (given >= 0).all() or np.isinf(given).any():
                raise InputError(
                    f"The distances of a new network must be {len(labels)} finite numbers that are "
                    f"not negative. Got an array of shape {given.shape}."
                )
            return given
        networks = self._networks
        if cohort is not None:
            known = set(cohort if isinstance(cohort, Mapping) else cohort.labels)
            networks = [cohort[label] for label in labels if label in known]
        metric = restore(self._metric) if isinstance(self._metric, Mapping) else self._metric
        if networks is None or len(networks) < len(labels) or metric is None:
            raise InputError(
                "Placing a network needs all embedded networks as 'cohort', and a matrix that "
                "knows its metric. Otherwise pass its distances to them."
            )
        several = isinstance(x, Cohort | Mapping)
        found = cross(as_sequence(x, "x") if several else [x], networks, metric).values
        return found if several else found[0]

    def to_frame(self) -> pd.DataFrame:
        """Return the points as columns ``x0``, ``x1``, ... indexed by label."""
        columns = [f"x{axis}" for axis in range(self.n_components)]
        return pd.DataFrame(self.points.copy(), index=list(self.labels), columns=columns)

    def summary(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON."""
        return {
            "networks": len(self.labels),
            "method": self.method,
            "stress": self.stress,
            "explained": self.explained.tolist(),
        }

    def plot(self, D: DistanceMatrix | None = None, **options: Any) -> Any:
        """Draw the points with `repshape.plots.plot_embedding`, whose options it takes."""
        from repshape.plots.embedding import plot_embedding

        return plot_embedding(self, D, **options)

    def words(self) -> str:
        """Return the result in one sentence."""
        return f"{len(self.labels)} networks by {self.method}: stress {self.stress:.3g}."


def embed(
    D: DistanceMatrix | npt.ArrayLike,
    n_components: int = 2,
    *,
    method: str = "metric",
    pca_from: int | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_init: int = 4,
) -> Embedding:
    r"""Embed networks by multi-dimensional scaling.

    Minimises the stress :math:`\sum_{i<j} (D_{ij} - |p_i - p_j|)^2` by majorisation (SMACOF),
    from classical scaling and from ``n_init - 1`` random starts, and keeps the best result.

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Distances, which must be symmetric, finite and non-negative.
    n_components : int
        Dimension of the points.
    method : {"metric", "classical"}
        ``"classical"`` is classical scaling alone, from the eigenvectors of the centred squared
        distances.
    pca_from : int, optional
        Embed in this many dimensions, and keep the leading principal components. Duong et al.
        (2023) do so with 15 or 20 dimensions, where distances can be reproduced better. By
        default, the stress is minimised in ``n_components`` dimensions.
    random_state : int, numpy.random.Generator or None
        Seed of the random starts.
    n_init : int
        Number of starts; 1 starts from classical scaling only.

    Returns
    -------
    Embedding
        The stress is that of the returned points.

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0], [0.0, 4.0]])
    >>> D = np.linalg.norm(corners[:, None] - corners[None], axis=-1)
    >>> result = embed(D)
    >>> np.round(np.linalg.norm(result.points[0] - result.points[2]), 6).item()
    5.0
    >>> embed(D, 1, pca_from=2).explained.round(2)
    array([0.64])
    """
    check_integer("n_components", n_components, 1)
    check_integer("n_init", n_init, 1)
    how = METHODS[check_choice("method", method, METHODS)]
    dimension = n_components
    if pca_from is not None:
        dimension = check_integer("pca_from", pca_from, n_components)
        how = f"principal components of {how} in {dimension} dimensions"
    matrix = checked_distances(D)
    unit = float(np.sqrt((matrix.values**2).mean()))
    if unit == 0.0:  # all networks coincide
        found = np.zeros((len(matrix), dimension))
    else:
        # In units of the typical distance, tolerances do not depend on the scale.
        distances = matrix.values / unit
        starts = _starts(distances, dimension, n_init, random_state)
        found = starts[0] if method == "classical" else _best_of_starts(distances, starts)
        found = canonical_axes(found)
    space = unit * found
    space.setflags(write=False)
    points = space[:, :n_components]
    stress = _stress(matrix.values, points) if unit else 0.0
    shares = _shares(found, n_components)
    about = matrix.description
    return Embedding(
        points, stress, n_components, how, matrix.labels, shares, _space=space, _metric=about
    )


def checked_distances(D: DistanceMatrix | npt.ArrayLike) -> DistanceMatrix:
    """Return complete, non-negative distances, or raise."""
    matrix = as_complete(D)
    if matrix.values.min() < 0.0:
        raise InputError("Distances must not be negative for an embedding. Repair them first.")
    return matrix


def classical_scaling(distances: FloatArray, n_components: int) -> FloatArray:
    """Return the points of classical scaling, shape (K, n_components).

    They are the leading eigenvectors of -J D^2 J / 2, with the entrywise square D^2 and the
    centring matrix J, times the roots of the eigenvalues. Axes beyond the positive eigenvalues are
    zero.
    """
    centred = distances**2
    centred = centred - centred.mean(axis=0) - centred.mean(axis=1)[:, None] + centred.mean()
    eigenvalues, vectors = np.linalg.eigh(-centred / 2.0)
    kept = min(n_components, len(distances))
    points = np.zeros((len(distances), n_components))
    leading = slice(None, -kept - 1, -1)
    points[:, :kept] = vectors[:, leading] * np.sqrt(np.maximum(eigenvalues[leading], 0.0))
    return points


def _starts(
    distances: FloatArray,
    n_components: int,
    n_init: int,
    random_state: int | np.random.Generator | None,
) -> list[FloatArray]:
    rng = np.random.default_rng(random_state)
    shape = (len(distances), n_components)
    random = [rng.standard_normal(shape) for _ in range(n_init - 1)]
    return [classical_scaling(distances, n_components), *random]


def _best_of_starts(distances: FloatArray, starts: list[FloatArray]) -> FloatArray:
    found = [
        smacof(distances, init=start, n_init=1, max_iter=MAX_ITERATIONS, eps=TOLERANCE)[0]
        for start in starts
    ]
    # Classical scaling may be exact already, and a step of SMACOF would only add rounding.
    found.insert(0, starts[0])
    stresses = [_stress(distances, points) for points in found]
    best: FloatArray = found[int(np.argmin(stresses))]
    return best


def _stress(distances: FloatArray, points: FloatArray) -> float:
    target = squareform(distances, checks=False)
    return float(np.sqrt(((pdist(points) - target) ** 2).sum() / (target**2).sum()))


def _shares(points: FloatArray, n_components: int) -> FloatArray:
    variances = points.var(axis=0)
    shares: FloatArray = variances[:n_components] / (variances.sum() or 1.0)
    shares.setflags(write=False)
    return shares


def _is_vector(values: Any) -> bool:
    try:
        array = np.asarray(values)
    except ValueError:  # a list of arrays: a network
        return False
    return array.ndim == 1 and array.dtype.kind in "iuf"


def collapse_words(points: FloatArray) -> str:
    """Say what a picture of the first two axes cannot show, because points lie on each other.

    >>> collapse_words(np.zeros((3, 2)))
    'All networks coincide.'
    >>> collapse_words(np.array([[0.0, 0.0], [1.0, 0.001], [2.0, 0.0]]))
    'The networks lie on a line: the second axis shows almost nothing.'
    >>> collapse_words(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]]))
    ''
    """
    if len(points) < 3:
        return "All networks coincide." if not np.ptp(points, axis=0).any() else ""
    apart = pdist(points[:, :2])
    widths = np.ptp(points[:, :2], axis=0)
    if not apart.any():
        return "All networks coincide."
    if np.median(apart) < COLLAPSED * apart.max():
        return "A few networks are so far away that the others seem to coincide."
    if widths.min() < COLLAPSED * widths.max():
        return "The networks lie on a line: the second axis shows almost nothing."
    return ""


def canonical_axes(points: FloatArray) -> FloatArray:
    """Centre, rotate to the principal axes, and make the first extreme of each axis positive."""
    centred = points - points.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    turned: FloatArray = centred @ axes
    sizes = np.abs(turned)
    # Symmetric shapes have two extremes of equal size: take the first, whatever the rounding.
    first = (sizes >= (1.0 - TIE) * sizes.max(axis=0)).argmax(axis=0)
    turned[:, turned[first, np.arange(turned.shape[1])] < 0.0] *= -1.0
    return turned
