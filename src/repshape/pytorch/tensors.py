"""Networks with Gaussian responses as tensors, through which gradients flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from repshape._arrays import count
from repshape.errors import InputError, InputTypeError, check_choice
from repshape.pytorch.sinks import DEGREES_LOST
from repshape.responses import Gaussians, Kind, as_network

# Groups of orthogonal transforms, for which |T y| = |y|: both solvers here rely on it.
SUPPORTED_GROUPS = ("orthogonal", "rotation", "permutation", "identity")


@dataclass(frozen=True, eq=False, init=False, repr=False)
class TensorGaussians:
    """Means and covariances of a network as tensors, which may require gradients.

    Parameters
    ----------
    means : tensor of shape (M, n)
    covariances : tensor of shape (M, n, n), or (M, n)
        Full covariances, or the variances of independent neurons.

    Attributes
    ----------
    means, stored : tensor
        The means, and the covariances as they are stored.
    kind : {"full", "diagonal", "factors"}
        How they are stored: S itself, its diagonal, or factors A with S = A A'.

    Examples
    --------
    >>> TensorGaussians(torch.zeros(3, 2), torch.ones(3, 2))
    TensorGaussians(3 conditions, 2 neurons, diagonal)
    >>> TensorGaussians.from_factors(torch.zeros(3, 2), torch.ones(3, 2, 1)).detached().covariances
    array([[[1., 1.],
            [1., 1.]],
    <BLANKLINE>
           [[1., 1.],
            [1., 1.]],
    <BLANKLINE>
           [[1., 1.],
            [1., 1.]]])
    """

    means: Tensor
    stored: Tensor
    kind: Kind

    def __init__(self, means: Tensor, covariances: Tensor) -> None:
        kind: Kind = "diagonal" if getattr(covariances, "ndim", 0) == 2 else "full"
        self._set(means, covariances, kind)

    @classmethod
    def from_factors(cls, means: Tensor, factors: Tensor) -> TensorGaussians:
        """Make a network with covariances S = A A' from factors A of shape (M, n, r)."""
        made = cls.__new__(cls)
        made._set(means, factors, "factors")
        return made

    @classmethod
    def from_trials(cls, trials: Tensor, covariance: str = "mle") -> TensorGaussians:
        """Estimate the moments of trials (M, L, n), which may require gradients.

        Parameters
        ----------
        trials : tensor of shape (M, L, n)
        covariance : {"mle", "unbiased"}
            Whether to divide by the number of trials, or by one less.
        """
        check_choice("covariance", covariance, DEGREES_LOST)
        _check_tensor("trials", trials, 3, "(conditions, trials, neurons)")
        degrees = trials.shape[1] - DEGREES_LOST[covariance]
        if degrees < 1:
            raise InputError(
                f"The {covariance!r} covariance needs at least {1 + DEGREES_LOST[covariance]} "
                f"trials of every condition. Got {trials.shape[1]}."
            )
        means = trials.mean(dim=1)
        centred = trials - means[:, None, :]
        return cls.from_factors(means, centred.transpose(1, 2) / degrees**0.5)

    def _set(self, means: Tensor, stored: Tensor, kind: Kind) -> None:
        _check_tensor("means", means, 2, "(conditions, neurons)")
        name = "factors" if kind == "factors" else "covariances"
        dimensions = 2 if kind == "diagonal" else 3
        _check_tensor(name, stored, dimensions, "(conditions, neurons, ...)")
        M, n = means.shape
        expected = {"diagonal": (M, n), "full": (M, n, n), "factors": (M, n, *stored.shape[2:])}
        if tuple(stored.shape) != expected[kind]:
            raise InputError(
                f"The {name} must match the means of shape {(M, n)}. "
                f"Got shape {tuple(stored.shape)} instead."
            )
        if means.device != stored.device:
            raise InputError(
                f"The means and the {name} must be on one device. "
                f"Got {means.device} and {stored.device}."
            )
        for field, value in (("means", means), ("stored", stored), ("kind", kind)):
            object.__setattr__(self, field, value)  # the class is frozen

    def detached(self) -> Gaussians:
        """Return the same network in NumPy, in double precision, validated."""
        means, stored = (to_double(one) for one in (self.means, self.stored))
        if self.kind == "factors":
            return Gaussians.from_factors(means, stored)
        return Gaussians(means, stored)

    def __repr__(self) -> str:
        M, n = self.means.shape
        return f"TensorGaussians({count(M, 'condition')}, {count(n, 'neuron')}, {self.kind})"


def to_double(tensor: Tensor) -> Any:
    """Return a tensor as a NumPy array in double precision, or raise if it holds no numbers."""
    if tensor.is_meta:
        raise InputError("The tensors must hold numbers. Got one on the device 'meta'.")
    return tensor.detach().cpu().to(torch.float64).numpy()


def as_tensors(network: Any, name: str, covariance: str = "mle") -> TensorGaussians:
    """Return any description of a network as tensors; only tensors carry gradients.

    Tensors are read as `repshape.as_network` reads arrays: three dimensions are trials, two are
    points, and a tuple is (means, covariances) or (means, variances).
    """
    if isinstance(network, TensorGaussians):
        return network
    if isinstance(network, Tensor):
        if network.ndim == 3:
            return TensorGaussians.from_trials(network, covariance)
        _check_tensor(name, network, 2, "(conditions, trials, neurons) or (conditions, neurons)")
        return TensorGaussians.from_factors(network, network.new_zeros((*network.shape, 0)))
    if isinstance(network, tuple) and any(isinstance(one, Tensor) for one in network):
        if len(network) != 2:
            raise InputError(
                f"The {name} must be a tuple of two tensors, (means, covariances). "
                f"Got {len(network)} of them."
            )
        return TensorGaussians(*network)
    found = as_network(network, name)
    if not isinstance(found, Gaussians):
        return TensorGaussians.from_trials(_stacked(found, name), covariance)
    means, stored = (torch.tensor(one) for one in (found.means, found.stored))
    if found.kind == "factors":
        return TensorGaussians.from_factors(means, stored)
    return TensorGaussians(means, stored)


def _stacked(trials: Any, name: str) -> Tensor:
    if trials.stacked is None:
        raise InputError(
            f"The {name} must have as many trials of every condition. Estimate its moments first, "
            "with repshape.estimate_moments."
        )
    return torch.tensor(trials.stacked)


def _check_tensor(name: str, value: Any, dimensions: int, expected: str) -> None:
    if not isinstance(value, Tensor):
        raise InputTypeError(
            f"The {name} must be a tensor of shape {expected}. "
            f"Got a {type(value).__name__} instead."
        )
    if value.ndim != dimensions or not value.is_floating_point():
        raise InputError(
            f"The {name} must be a tensor of real numbers of shape {expected}. "
            f"Got shape {tuple(value.shape)} of {value.dtype} instead."
        )
