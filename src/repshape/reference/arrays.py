"""What the formulas need of an array library, so that NumPy and PyTorch share one body.

The bodies are written in the array API standard. NumPy speaks it itself (of version 1.26, they use
the part that does); `array-api-compat` makes PyTorch speak it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from repshape.errors import MissingDependencyError

# An array of NumPy or a tensor of PyTorch, of real numbers; results are of the same kind.
Array: TypeAlias = Any


def namespace(array: Array) -> Any:
    """Return the functions of the array API for the library of an array.

    >>> namespace(np.zeros(3)).__name__
    'numpy'
    """
    if isinstance(array, np.ndarray | np.generic):
        return np
    try:
        from array_api_compat import array_namespace
    except ModuleNotFoundError:
        raise MissingDependencyError(
            "Formulas of tensors need array-api-compat: pip install 'repshape[torch]'."
        ) from None
    return array_namespace(array)


def transposed(X: Array) -> Array:
    """Return X' of matrices (..., p, q).

    >>> transposed(np.zeros((4, 2, 3))).shape
    (4, 3, 2)
    """
    return X.swapaxes(-1, -2)


def trace(X: Array) -> Array:
    """Return tr X of matrices (..., n, n), (...).

    >>> float(trace(np.eye(3)))
    3.0
    """
    return X.diagonal(0, -2, -1).sum(-1)


def squared_norm(X: Array) -> Array:
    """Return |X|_F^2 of matrices (..., p, q), (...).

    >>> float(squared_norm(np.full((2, 2), 3.0)))
    36.0
    """
    return namespace(X).sum(X**2, axis=(-2, -1))
