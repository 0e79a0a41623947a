"""Responses of one network at positions: time steps of a trial, or pixels of a map."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import FloatArray, IntArray, Labels, count, digest, float_array, real_array
from repshape._labels import check_labels
from repshape._tables import is_xarray
from repshape._tensors import is_array_like, to_numpy
from repshape.errors import InputError, InputTypeError
from repshape.responses.base import Network
from repshape.responses.convert import as_network
from repshape.responses.drawing import labels_of
from repshape.responses.gaussians import Gaussians
from repshape.responses.trials import Trials

SHAPES = (
    "an array (conditions, trials, time, neurons) or (conditions, trials, height, width, channels),"
    " a list with such an array of trials for each condition, or a tuple of means (conditions, "
    "time, neurons) and covariances (conditions, time * neurons, time * neurons)"
)


class PositionNetwork(Network):
    """Responses of one network at P positions, which are time steps or pixels.

    Each trial is a sequence or a map of n neurons. `repshape.ProcessShapeMetric` and
    `repshape.ConvShapeMetric` align all positions by one transform of the neurons.

    Parameters
    ----------
    responses : array of shape (M, L, time, n) or (M, L, height, width, n), or list of M arrays
        Trials. Their number may differ between conditions: pass a list of arrays of shape
        (L_m, time, n) or (L_m, height, width, n). A trial that is NaN in every entry is dropped.
    conditions, neurons : sequences of M and n labels, optional
        Distinct names of the conditions and of the neurons.

    Attributes
    ----------
    flat : Trials or Gaussians
        The same responses with P * n columns, position after position.
    positions : tuple of int
        Shape of the positions: (time,) or (height, width).
    n_conditions, n_positions, n_neurons : int
        M, P and n.

    Examples
    --------
    >>> import numpy as np
    >>> network = PositionNetwork(np.zeros((5, 10, 20, 3)))
    >>> network
    PositionNetwork(5 conditions, 10 trials each, 20 positions, 3 neurons)
    >>> network.means.shape
    (5, 20, 3)
    """

    flat: Trials | Gaussians
    positions: tuple[int, ...]

    def __init__(
        self,
        responses: npt.ArrayLike | Sequence[npt.ArrayLike],
        *,
        conditions: Sequence[Any] | None = None,
        neurons: Sequence[Any] | None = None,
    ) -> None:
        parts, shape = _read(responses)
        names = check_labels(neurons, shape[-1], "neuron")
        flat = Trials([one.reshape(len(one), -1) for one in parts], conditions=conditions)
        self._set(**vars(self._trusted(flat, shape[:-1], names)))

    @classmethod
    def from_moments(
        cls,
        means: npt.ArrayLike,
        covariances: npt.ArrayLike,
        *,
        conditions: Sequence[Any] | None = None,
        neurons: Sequence[Any] | None = None,
    ) -> PositionNetwork:
        """Make a network from means (M, time, n) and covariances (M, time * n, time * n).

        Covariances of shape (M, time * n) are variances of independent entries. The columns of a
        time step are next to each other.

        >>> PositionNetwork.from_moments(np.zeros((2, 4, 3)), np.ones((2, 12)))
        PositionNetwork(2 conditions, 4 positions, 3 neurons, diagonal covariances)
        """
        centers, shape = _read_means(means)
        flat = Gaussians(centers, covariances, conditions=conditions)
        return cls._trusted(flat, shape[:-1], check_labels(neurons, shape[-1], "neuron"))

    @classmethod
    def from_factors(
        cls,
        means: npt.ArrayLike,
        factors: npt.ArrayLike,
        *,
        conditions: Sequence[Any] | None = None,
        neurons: Sequence[Any] | None = None,
    ) -> PositionNetwork:
        """Make a network with covariances A A' from means (M, time, n) and A (M, time * n, r)."""
        centers, shape = _read_means(means)
        flat = Gaussians.from_factors(centers, factors, conditions=conditions)
        return cls._trusted(flat, shape[:-1], check_labels(neurons, shape[-1], "neuron"))

    @classmethod
    def points(
        cls,
        means: npt.ArrayLike,
        *,
        conditions: Sequence[Any] | None = None,
        neurons: Sequence[Any] | None = None,
    ) -> PositionNetwork:
        """Make a network without noise from means (M, time, n) or (M, height, width, n).

        >>> PositionNetwork.points(np.zeros((2, 8, 8, 3)))
        PositionNetwork(2 conditions, 8 x 8 positions, 3 neurons, no covariance)
        """
        centers, shape = _read_means(means)
        flat = Gaussians.points(centers, conditions=conditions)
        return cls._trusted(flat, shape[:-1], check_labels(neurons, shape[-1], "neuron"))

    @classmethod
    def _trusted(
        cls, flat: Trials | Gaussians, positions: tuple[int, ...], neurons: Labels = None
    ) -> PositionNetwork:
        """Make a network from valid responses with prod(positions) * n columns."""
        self = cls.__new__(cls)
        P = prod(positions)
        self._set(flat=flat, positions=tuple(positions), neurons=neurons, n_positions=P)
        self._set(n_conditions=flat.n_conditions, conditions=flat.conditions)
        self._set(n_neurons=flat.n_neurons // P)
        return self

    n_positions: int

    def __reduce__(self) -> tuple[Any, ...]:
        return PositionNetwork._trusted, (self.flat, self.positions, self.neurons)

    def with_responses(self, flat: Trials | Gaussians) -> PositionNetwork:
        """Return other responses, with P * n columns, at the same positions."""
        return PositionNetwork._trusted(flat, self.positions, self.neurons)

    def _take(self, index: IntArray) -> PositionNetwork:
        return self.with_responses(self.flat._take(index))

    def _take_neurons(self, index: IntArray) -> PositionNetwork:
        starts = self.n_neurons * np.arange(self.n_positions)
        flat = self.flat._take_neurons((starts[:, None] + index).ravel())
        return PositionNetwork._trusted(flat, self.positions, labels_of(self.neurons, index))

    def _take_trials(self, index: Sequence[IntArray]) -> PositionNetwork:
        return self.with_responses(self.flat._take_trials(index))

    @property
    def n_trials(self) -> IntArray:
        """Number of trials of each condition; raises if the network is given by its moments."""
        return self._trials.n_trials

    @property
    def _trials(self) -> Trials:
        if not isinstance(self.flat, Trials):
            raise InputTypeError(f"The network must have trials. Got {self!r} instead.")
        return self.flat

    @property
    def halves(self) -> tuple[PositionNetwork, PositionNetwork] | None:
        """Moments of two halves of the trials, as in `Gaussians`, or None."""
        found = self.flat.halves if isinstance(self.flat, Gaussians) else None
        if found is None:
            return None
        return self.with_responses(found[0]), self.with_responses(found[1])

    @cached_property
    def means(self) -> FloatArray:
        """Mean response at each position, (M, P, n)."""
        return self.flat.means.reshape(self.n_conditions, self.n_positions, self.n_neurons)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the responses and of the shape of the positions; without labels."""
        return digest(self.flat.fingerprint, np.array(self.positions, dtype=np.int64))

    def as_conditions(self) -> Trials | Gaussians:
        """Return a network with M * P conditions, where every position is a condition.

        It has all means and the covariances within positions, but not those between positions.
        Conditions are in the order of (condition, position).
        """
        M, P, n = self.n_conditions, self.n_positions, self.n_neurons
        if isinstance(self.flat, Trials):
            parts = [one.reshape(-1, P, n).swapaxes(0, 1) for one in self.flat.responses]
            rows = np.concatenate([one.reshape(-1, n) for one in parts])
            counts = np.repeat(self.flat.n_trials, P)
            return Trials._trusted(rows, counts, np.repeat(self.flat.n_dropped, P), None)
        means, stored, kind = self.means.reshape(M * P, n), self.flat.stored, self.flat.kind
        if kind == "full":
            within = np.diagonal(stored.reshape(M, P, n, P, n), axis1=1, axis2=3)
            stored = np.moveaxis(within, 3, 1).reshape(M, P * n, n)
        stored = np.ascontiguousarray(stored.reshape(M * P, n, *stored.shape[2:]))
        known = self.flat.n_trials
        return Gaussians._trusted(
            np.ascontiguousarray(means),
            stored,
            kind,
            estimator=self.flat.estimator,
            n_trials=None if known is None else np.repeat(known, P),
        )

    def __repr__(self) -> str:
        shape = " x ".join(str(one) for one in self.positions)
        kind = f"{shape} positions, {count(self.n_neurons, 'neuron')}"
        parts = repr(self.flat).partition("(")[2].rstrip(")").split(", ")
        columns = next(k for k, part in enumerate(parts) if part.endswith(("neuron", "neurons")))
        return (
            f"{type(self).__name__}({', '.join([*parts[:columns], kind, *parts[columns + 1 :]])})"
        )


def as_positions(network: Any, name: str = "network") -> PositionNetwork:
    """Return any description of a network with positions as a `PositionNetwork`.

    >>> as_positions((np.zeros((5, 20, 2)), np.ones((5, 40))))
    PositionNetwork(5 conditions, 20 positions, 2 neurons, diagonal covariances)
    """
    if isinstance(network, PositionNetwork):
        return network
    if has_positions(network):
        try:
            if isinstance(network, tuple):
                return PositionNetwork.from_moments(*network)
            return PositionNetwork(network)
        except (InputError, InputTypeError) as error:
            raise type(error)(str(error) if name == "network" else f"In {name}: {error}") from None
    if hasattr(network, "shape"):
        got = f"an array of shape {tuple(network.shape)}"
    else:
        got = type(network).__name__ if not isinstance(network, Network) else repr(network)
    raise InputError(f"The {name} must have positions: {SHAPES}. Got {got} instead.")


def as_any_network(network: Any, name: str = "network") -> Any:
    """Return a network with or without positions, whichever the argument describes."""
    return as_positions(network, name) if has_positions(network) else as_network(network, name)


def has_positions(network: Any) -> bool:
    """Whether an object describes responses at positions, judged by its number of dimensions."""
    if isinstance(network, PositionNetwork):
        return True
    if isinstance(network, tuple) and len(network) == 2:
        return _ndim(network[0]) in (3, 4)
    if isinstance(network, list) and network:
        return _ndim(network[0]) in (3, 4)
    return _ndim(network) in (4, 5)


def _ndim(value: Any) -> int:
    if not (is_array_like(value) or isinstance(value, list)):
        return -1
    try:
        return int(np.ndim(to_numpy(value)))
    except (ValueError, TypeError):  # a list of lists of unequal length
        return -1


def _read(responses: Any) -> tuple[list[npt.NDArray[Any]], tuple[int, ...]]:
    """Return one array of trials (L_m, *positions, n) per condition, and (*positions, n)."""
    if is_xarray(responses):
        responses = responses.transpose("condition", "trial", ..., "neuron")
    if isinstance(responses, list | tuple):
        parts = [real_array(one, f"trials of condition {m}") for m, one in enumerate(responses)]
    else:
        parts = list(float_array(responses, "trials"))
    shape = parts[0].shape[1:] if parts else ()
    for m, one in enumerate(parts):
        if one.ndim not in (3, 4) or one.shape[1:] != shape or 0 in shape:
            raise InputError(
                "The trials of every condition must have the same shape (trials, time, neurons) "
                f"or (trials, height, width, channels). Got {one.shape} at condition {m}."
            )
    if not parts:
        raise InputError("A network must have at least one condition. Got none.")
    return parts, shape


def _read_means(means: npt.ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
    array = float_array(means, "means")
    if array.ndim not in (3, 4) or 0 in array.shape:
        raise InputError(
            "The means must have shape (conditions, time, neurons) or (conditions, height, width, "
            f"channels). Got shape {array.shape} instead."
        )
    return array.reshape(len(array), -1), array.shape[1:]
