"""Align one embedding with another, so that figure panels can be compared by eye."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repshape._compact import compact_repr
from repshape.analysis.embedding import Embedding
from repshape.errors import InputError, check_boolean

FloatArray = npt.NDArray[np.float64]


@compact_repr
@dataclass(frozen=True, eq=False)
class AlignedEmbedding:
    """An embedding that is aligned with another.

    Attributes
    ----------
    points : ndarray, shape (K, n)
        ``scale * (original - its mean) @ rotation + mean of the target``.
    rotation : ndarray, shape (n, n)
        Orthogonal matrix: a rotation, possibly with a reflection.
    scale : float
        Scale factor; 1 without scaling.
    residual : float
        Root of the sum of squared differences to the target, divided by that of the target about
        its mean.
    """

    points: FloatArray
    rotation: FloatArray
    scale: float
    residual: float


def align_embeddings(
    points: Embedding | npt.ArrayLike, target: Embedding | npt.ArrayLike, *, scaling: bool = False
) -> AlignedEmbedding:
    r"""Rotate, reflect and shift points to match a target, by orthogonal Procrustes.

    .. math:: \min_{Q^T Q = I,\, s} \sum_k |s (p_k - \bar p) Q - (t_k - \bar t)|^2, \qquad
              P^T T = U \Sigma V^T, \quad Q = U V^T, \quad s = \mathrm{tr}\,\Sigma / |P|^2

    Parameters
    ----------
    points : Embedding or array_like, shape (K, n)
        The points to move.
    target : Embedding or array_like, shape (K, n)
        The points to match: the same networks in the same order.
    scaling : bool
        Whether to fit ``s``. If not, ``s = 1`` and distances do not change. Duong et al. (2023)
        scale when they compare metrics with different units.

    Returns
    -------
    AlignedEmbedding

    Examples
    --------
    >>> target = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    >>> turned = 3.0 * target @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 5.0
    >>> align_embeddings(turned, target, scaling=True).points.round(6) + 0.0
    array([[0., 0.],
           [2., 0.],
           [0., 1.]])
    """
    check_boolean("scaling", scaling)
    moving, fixed = _checked(points, "points"), _checked(target, "target")
    if moving.shape != fixed.shape:
        raise InputError(
            "Both embeddings must have the same networks and dimension. "
            f"Got shapes {moving.shape} and {fixed.shape}."
        )
    centre = fixed.mean(axis=0)
    moving, fixed = moving - moving.mean(axis=0), fixed - centre
    left, singular, right = np.linalg.svd(moving.T @ fixed)
    rotation: FloatArray = left @ right
    size = float((moving**2).sum())
    scale = float(singular.sum()) / size if scaling and size > 0.0 else 1.0
    turned = scale * moving @ rotation
    spread = float(np.linalg.norm(fixed))
    residual = float(np.linalg.norm(turned - fixed)) / (spread or 1.0)
    moved: FloatArray = turned + centre
    for array in (moved, rotation):
        array.setflags(write=False)
    return AlignedEmbedding(moved, rotation, scale, residual)


def _checked(points: Embedding | npt.ArrayLike, name: str) -> FloatArray:
    array = np.asarray(points.points if isinstance(points, Embedding) else points, np.float64)
    if array.ndim != 2 or not array.size:
        raise InputError(f"'{name}' must have a row for each network. Got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError(f"'{name}' must be finite. Got NaN or infinity.")
    return array
