"""Arrays of other libraries, such as PyTorch, as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.errors import InputTypeError

# Device types of the DLPack protocol whose memory the CPU can read: CPU, pinned and managed memory.
READABLE_DEVICES = (1, 3, 11, 13)


def is_array_like(value: Any) -> bool:
    """Whether a value says how to become an array."""
    return hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def to_numpy(value: Any) -> Any:
    """Return a tensor as a NumPy array, and anything else as it is.

    A tensor that requires gradients is detached. One in the memory of another device is refused:
    copying it is a choice that takes time, and is left to the user.
    """
    if isinstance(value, np.ndarray | np.generic) or not hasattr(value, "__dlpack__"):
        return value
    _check_device(value)
    if hasattr(value, "detach"):  # PyTorch
        value = value.detach()
    try:
        if hasattr(value, "__array__"):
            return np.asarray(value)
        # A copy: NumPy calls the memory read-only, but its owner may change it.
        found: npt.NDArray[Any] = np.array(np.from_dlpack(value))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputTypeError(
            f"A {type(value).__name__} cannot be read as a NumPy array: {reason}"
        ) from None
    return found


def _check_device(value: Any) -> None:
    if not hasattr(value, "__dlpack_device__"):
        return
    device = int(value.__dlpack_device__()[0])
    if device not in READABLE_DEVICES:
        where = getattr(value, "device", f"device type {device}")
        raise InputTypeError(
            f"A {type(value).__name__} must be in the memory of the CPU. Got one on {where}: copy "
            "it first, for example with tensor.cpu()."
        )
