"""Devices of PyTorch on which networks are trained and run."""

from __future__ import annotations

import os
from typing import Any

from repshape.errors import InputError

CPU = "cpu"
# CUDA's matrix products are deterministic only with this setting of its workspace.
WORKSPACE, SIZES = "CUBLAS_WORKSPACE_CONFIG", ":4096:8"


def check_device(name: str) -> str:
    """Return the name of a device that can be used, or raise; prepare it for equal bits."""
    import torch

    if name.startswith("cuda"):
        os.environ.setdefault(WORKSPACE, SIZES)
    try:
        torch.zeros(1, device=name).sum()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"The device must be available. Got {name!r}: {reason}") from None
    return name


def device_of(network: Any) -> Any:
    """Return the device of a network's parameters."""
    return next(iter(network.parameters())).device
