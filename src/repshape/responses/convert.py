"""Anything that describes a network, as a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from repshape._arrays import real_array, warn_if_wrapped
from repshape._tables import Labelled, is_frame, is_xarray, read_dataarray, read_frame
from repshape._tensors import is_array_like, to_numpy
from repshape.errors import InputError, InputTypeError, RepshapeError
from repshape.responses.gaussians import Gaussians
from repshape.responses.trials import Trials

# Everything that describes one network; `as_network` explains how each is read.
NetworkLike: TypeAlias = Trials | Gaussians | npt.ArrayLike | Sequence[npt.ArrayLike]


def as_network(network: NetworkLike, name: str = "network") -> Trials | Gaussians:
    """Return any description of a network as ``Trials`` or ``Gaussians``.

    Parameters
    ----------
    network : Trials, Gaussians, array, list or (means, covariances) tuple
        ``Trials`` and ``Gaussians`` are returned as they are. A 3-D array (conditions, trials,
        neurons) or a list of 2-D arrays (trials, neurons) is read as trials, a tuple of means and
        covariances as Gaussians, and a 2-D array (conditions, neurons) as points. The dimensions
        of an xarray.DataArray are named condition, trial and neuron, or condition and neuron, in
        any order; its coordinates become labels. A table of numbers is read as points. Tensors of
        other libraries must be in the memory of the CPU; they are detached from their gradients.
    name : str
        Name of the network in errors.

    Examples
    --------
    >>> import numpy as np
    >>> as_network(np.zeros((5, 3, 2)))
    Trials(5 conditions, 3 trials each, 2 neurons)
    >>> as_network((np.zeros((5, 2)), np.ones((5, 2))))
    Gaussians(5 conditions, 2 neurons, diagonal covariances)
    >>> as_network(np.zeros((5, 2)))
    Gaussians(5 conditions, 2 neurons, no covariance)
    """
    if isinstance(network, Trials | Gaussians):
        return network
    try:
        return _convert(network, name)
    except RepshapeError as error:
        if name == "network" or str(error).startswith(f"The {name} must"):
            raise
        raise type(error)(f"In {name}: {error}") from None


def as_trials(network: NetworkLike, name: str = "network") -> Trials:
    """Return a network as `as_network` does, and raise if it has no trials."""
    found = as_network(network, name)
    if isinstance(found, Trials):
        return found
    raise InputTypeError(
        f"The {name} must have trials, an array of shape (conditions, trials, neurons). "
        f"Got {found!r} instead."
    )


def _convert(network: Any, name: str) -> Trials | Gaussians:
    if isinstance(network, tuple) and len(network) == 2:
        return Gaussians(network[0], network[1])
    if is_xarray(network):
        return _from_labelled(read_dataarray(network), name)
    if is_frame(network):
        return _from_labelled(read_frame(network), name)
    if isinstance(network, list) and network:
        network = [to_numpy(one) for one in network]
        if all(_ndim(one) == 2 for one in network):
            return Trials(_named(network, name))
        network = real_array(network, name)
    if is_array_like(network):
        array = np.asanyarray(to_numpy(network))
        if array.ndim in (2, 3):
            return _from_labelled(Labelled(array, None, None), name)
    raise _refusal(network, name)


def _from_labelled(found: Labelled, name: str) -> Trials | Gaussians:
    """Return trials if the array has three dimensions, and points if it has two."""
    make = Trials if found.array.ndim == 3 else Gaussians.points
    array = _named([found.array], name)[0]
    return make(array, conditions=found.conditions, neurons=found.neurons)


def _named(arrays: list[Any], name: str) -> list[Any]:
    """Return unsigned integers as floats, after a warning that has the name of the network."""
    if any(getattr(getattr(one, "dtype", None), "kind", "") != "u" for one in arrays):
        return arrays
    warn_if_wrapped(arrays, "responses" if name == "network" else f"responses of {name}")
    return [np.asarray(one, dtype=np.float64) for one in arrays]


def _ndim(value: Any) -> int:
    try:
        return int(np.ndim(value))
    except ValueError:  # a list of lists of unequal length
        return -1


def _refusal(network: Any, name: str) -> RepshapeError:
    wrong: type[RepshapeError] = InputError
    if hasattr(network, "shape"):
        got = f"an array of shape {tuple(network.shape)}"
    elif isinstance(network, list | tuple):
        got = f"a {type(network).__name__} of length {len(network)}"
    else:
        wrong, got = InputTypeError, type(network).__name__
    return wrong(
        f"The {name} must be Trials, Gaussians, a 3-D array (conditions, trials, neurons), a list "
        "of 2-D arrays (trials, neurons), a tuple (means, covariances), or a 2-D array of points "
        f"(conditions, neurons). Got {got} instead."
    )
