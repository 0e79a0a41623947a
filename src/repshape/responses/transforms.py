"""Transforms of single responses, such as the square root of spike counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from repshape._arrays import FloatArray, check_finite, frozen, real_array
from repshape.errors import InputError, InputTypeError
from repshape.responses.gaussians import Gaussians
from repshape.responses.trials import Trials


def _anscombe(x: FloatArray) -> FloatArray:
    return np.asarray(2.0 * np.sqrt(x + 0.375))


ResponseTransform: TypeAlias = str | Callable[[FloatArray], npt.ArrayLike] | None
# Each name with its function, and the smallest response that it takes.
TRANSFORMS: dict[str, tuple[Callable[[FloatArray], FloatArray], float]] = {
    "sqrt": (np.sqrt, 0.0),
    "anscombe": (_anscombe, -0.375),
    "log1p": (np.log1p, 0.0),
}


def transform_responses(
    network: Trials | Gaussians, transform: ResponseTransform
) -> Trials | Gaussians:
    """Return a network whose responses are transformed, one by one.

    >>> transform_responses(Trials([[[4.0], [9.0]]]), "sqrt").pooled
    array([[2.],
           [3.]])
    """
    if transform is None:
        return network
    if isinstance(network, Trials):
        return network._with(pooled=frozen(_transformed(network.pooled, transform)))
    if network.stored.any():
        raise InputTypeError(
            "The 'transform' parameter of Preprocess needs trials: a transformed Gaussian is not a "
            f"Gaussian. Got {network!r} instead."
        )
    points = _transformed(network.means, transform)
    return Gaussians.points(points, conditions=network.conditions, neurons=network.neurons)


def _transformed(responses: FloatArray, transform: ResponseTransform) -> FloatArray:
    """Return f of responses (rows, n), or raise one clear sentence if it cannot be used."""
    what = f"responses after {transform_name(transform)}"
    if isinstance(transform, str):
        function, lowest = TRANSFORMS[transform]
        if responses.min() < lowest:
            row, neuron = np.unravel_index(int(np.argmin(responses)), responses.shape)
            raise InputError(
                f"The transform {transform!r} needs responses of at least {lowest:g}. "
                f"Got {responses[row, neuron]:g} at neuron {neuron}."
            )
        found: FloatArray = function(responses)
    else:
        assert callable(transform)
        found = real_array(transform(responses), what).astype(np.float64)
    if found.shape != responses.shape:
        raise InputError(
            f"The {what} must have the same shape. Got {found.shape} for {responses.shape}."
        )
    check_finite(found, what, ("row", "neuron"))
    return found


def transform_name(transform: ResponseTransform) -> str:
    """Return the name of a transform, for messages and reports.

    >>> transform_name("sqrt"), transform_name(np.tanh)
    ('sqrt', 'tanh')
    """
    return transform if isinstance(transform, str) else str(getattr(transform, "__name__", "f"))
