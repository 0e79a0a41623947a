"""The Gaussian shape distance as a function of tensors, with its gradient.

The squared distance is a minimum over transforms T and, for every condition, over the rotations P
of one factor onto the other:

    d^2 = min_T sum_m w_m [a |mu_m - T nu_m|^2 + (2 - a) min_P |A_m P - T C_m|^2]

By the envelope theorem (Danskin), the gradient of a minimum is the gradient of what is minimised at
the minimiser. So the pair is solved by the compiled core, and differentiated at the T and P that it
found, which are constants. No iteration is unrolled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from repshape._arrays import FloatArray
from repshape.coordinates.factors import factorise
from repshape.errors import InputError, check_boolean, check_choice
from repshape.metrics.gaussian import GaussianShapeMetric, check_gaussian
from repshape.pytorch.tensors import SUPPORTED_GROUPS, TensorGaussians, as_tensors
from repshape.responses import Gaussians

# Singular values below this fraction of the largest are zero, up to rounding.
NEGLIGIBLE = 1e-10


def distance(
    x: Any, y: Any, metric: GaussianShapeMetric | None = None, *, squared: bool = False
) -> Tensor:
    r"""Return the Gaussian shape distance as a tensor, through which gradients flow.

    The pair is solved as by ``metric.distance``, in double precision on the CPU. The gradient is
    that at the optimal transform, which by the envelope theorem is the gradient of the minimum.

    Parameters
    ----------
    x, y : TensorGaussians, tensor, tuple of tensors, or network
        A tensor is (conditions, trials, neurons) or, without noise, (conditions, neurons). A tuple
        is (means, covariances) or (means, variances). Factors A with S = A A' are given as
        ``TensorGaussians.from_factors(means, factors)``. Anything else that `repshape.as_network`
        takes is a constant.
    metric : GaussianShapeMetric, optional
        Any ``alpha`` and ``weights``, and the groups "orthogonal", "rotation", "permutation" and
        "identity". Preprocessing is not supported: apply it to the tensors.
    squared : bool
        Return the squared distance, which is smooth at 0. Train with it if networks can become
        equal.

    Returns
    -------
    tensor of shape ()
        On the device and in the precision of ``x``, or of ``y`` if ``x`` is a constant.

    Notes
    -----
    The distance has a gradient wherever the best transform is unique and all covariances have full
    rank. Elsewhere one of the possible slopes is returned, always finite:

    - At distance 0, the gradient of the distance is 0. That of the squared distance is 0 there, and
      it is exact.
    - In directions in which a covariance is singular, its square root has an infinite slope. The
      gradient in the covariance then counts only the directions in which it is not. With factors
      nothing is infinite, but noise that is exactly zero stays zero: start from a small one.
    - If two transforms are equally good, the gradient is that of the one that the search found.

    Second derivatives are not available.

    Examples
    --------
    >>> means = torch.tensor([[1.0, 0.0], [0.0, 2.0]], requires_grad=True)
    >>> target = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> loss = distance(means, target, GaussianShapeMetric(2.0, group="identity"), squared=True)
    >>> loss.item()
    1.0
    >>> loss.backward()
    >>> means.grad
    tensor([[0., 0.],
            [0., 2.]])
    """
    chosen = _check_metric(metric)
    check_boolean("squared", squared)
    estimator = str(chosen.covariance)
    first, second = as_tensors(x, "x", estimator), as_tensors(y, "y", estimator)
    place = _place(x, y, first, second)
    found = solve(first.detached(), second.detached(), chosen)
    if squared:
        value, scale = found.distance**2, 1.0
    else:
        value = found.distance
        scale = 0.5 / value if value > 0 else 0.0
    slopes = [scale * one for one in found.slopes]
    tensors = first.means, first.stored, second.means, second.stored
    apply: Any = _Known.apply  # PyTorch gives it no types
    result: Tensor = apply(value, slopes, place, *tensors)
    return result


def _check_metric(metric: Any) -> GaussianShapeMetric:
    chosen = check_gaussian(metric)
    check_choice("group", chosen.group, SUPPORTED_GROUPS, owner="metric")
    if chosen.preprocess is not None:
        raise InputError(
            "The 'metric' of repshape.pytorch.distance must have no preprocessing: apply it to "
            "the tensors, so that gradients flow through it."
        )
    return chosen


def _place(x: Any, y: Any, first: TensorGaussians, second: TensorGaussians) -> Tensor:
    """Return the means of the network whose device and precision the result has."""
    constants = [not _is_tensor(one) for one in (x, y)]
    if not any(constants) and first.means.device != second.means.device:
        raise InputError(
            f"x and y must be on one device. Got {first.means.device} and {second.means.device}."
        )
    return second.means if constants[0] and not constants[1] else first.means


def _is_tensor(network: Any) -> bool:
    parts = network if isinstance(network, tuple) else (network,)
    return any(isinstance(one, Tensor | TensorGaussians) for one in parts)


@dataclass(frozen=True)
class Solved:
    """The distance of a pair, and the slopes of its square in means and covariances of x and y."""

    distance: float
    slopes: tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def solve(x: Gaussians, y: Gaussians, metric: GaussianShapeMetric) -> Solved:
    """Solve a pair, and differentiate its squared distance at the solution."""
    alignment = metric.align(x, y)
    T = alignment.transform.T
    weights = metric._weights(x.n_conditions)
    gap_x = x.means - y.means @ T.T
    gap_y = y.means - x.means @ T
    means = 2.0 * metric.alpha * weights[:, None]
    covariances = (2.0 - metric.alpha) * weights[:, None, None]
    slope_x = _covariance_slope(x, y, T)
    slope_y = _covariance_slope(y, x, T.T)
    stored_x, stored_y = (
        (covariances[..., 0] if one.kind == "diagonal" else covariances) * slope
        for one, slope in ((x, slope_x), (y, slope_y))
    )
    return Solved(alignment.distance, (means * gap_x, stored_x, means * gap_y, stored_y))


def _covariance_slope(x: Gaussians, y: Gaussians, T: FloatArray) -> FloatArray:
    """Return the derivative of B(S, T R T')^2 in S of x, as it is stored.

    With X = A' T C = U s V' and P = U V', the derivative in A is 2 (A - T C P'). That in S is
    I - M with the transport map M, which satisfies A' M A = U s U'.
    """
    if (
        x.kind == "factors" and x.stored.shape[2] > x.n_neurons
    ):  # A = R' Q' has the polar factor Q P
        Q, R = np.linalg.qr(np.swapaxes(x.stored, 1, 2))
        narrow = Gaussians.from_factors(x.means, np.swapaxes(R, 1, 2))
        return np.asarray(_covariance_slope(narrow, y, T) @ np.swapaxes(Q, 1, 2))
    A = x.stored if x.kind == "factors" else factorise(x).dense
    moved = T @ factorise(y).dense
    if A.shape[2] == 0 or moved.shape[2] == 0:  # one of them has no noise
        A, moved = (np.pad(one, ((0, 0), (0, 0), (0, 1))) for one in (A, moved))
    U, s, Vt = np.linalg.svd(np.swapaxes(A, 1, 2) @ moved, full_matrices=False)
    if x.kind == "factors":
        U = U * (s > NEGLIGIBLE * s[:, :1])[:, None, :]  # the smallest slope where P is not unique
        slope = 2 * (A - moved @ np.swapaxes(U @ Vt, 1, 2))
        return np.asarray(slope[:, :, : x.stored.shape[2]])
    inverse = np.linalg.pinv(A, rcond=NEGLIGIBLE)
    half = np.swapaxes(inverse, 1, 2) @ (U * np.sqrt(s)[:, None, :])
    if x.kind == "diagonal":
        return np.asarray(1.0 - (half**2).sum(2))
    return np.asarray(np.eye(x.n_neurons) - half @ np.swapaxes(half, 1, 2))


class _Known(torch.autograd.Function):
    """A number whose gradient is known."""

    @staticmethod
    def forward(ctx: Any, value: float, slopes: list[FloatArray], *tensors: Tensor) -> Tensor:
        place, *given = tensors
        ctx.slopes = slopes
        ctx.places = [(one.device, one.dtype) for one in given]
        return torch.tensor(value, dtype=place.dtype, device=place.device)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Any, ...]:
        if torch.is_grad_enabled():  # the slopes would silently count as constants
            raise InputError(
                "Second derivatives of the distance are not available: leave out create_graph=True."
            )
        needed = ctx.needs_input_grad[3:]
        parts = zip(ctx.slopes, ctx.places, needed, strict=True)
        found = [
            outer[0].to(device, dtype) * torch.from_numpy(slope).to(device, dtype) if need else None
            for slope, (device, dtype), need in parts
        ]
        return None, None, None, *found
