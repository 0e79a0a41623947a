"""Convolutions of 4 x 4 pixels with stride 2 and padding 1, in native code where that is faster.

PyTorch is slow for the few filters of the small scale: with ``convolution.cpp`` a network trains in
about 0.6 of the time. The file is compiled when a process first needs it. Without a compiler, and
for shapes that it does not cover, PyTorch's own code is used; results agree but for rounding.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

SOURCE = Path(__file__).with_suffix(".cpp")
COMPILE = ("-O3", "-march=native", "-std=c++17", "-shared", "-fPIC")
SIZE, STRIDE, PADDING = (4, 4), (2, 2), (1, 1)
FILTERS = 16  # that the native code handles at once
PIXELS = 4


class Convolution(nn.Conv2d):
    """A convolution from fine to coarse maps, with its bias."""

    def forward(self, fine: Tensor) -> Tensor:
        """Return coarse maps (B, filters, h, w) from fine ones (B, channels, 2 h, 2 w)."""
        height, width = fine.shape[-2:]
        even = height % 2 == 0
        if even and _on_cpu(fine) and _is_covered(self, self.out_channels, width / 2):
            return _apply(_Gather, fine, self.weight, self.bias)
        return super().forward(fine)


class TransposedConvolution(nn.ConvTranspose2d):
    """The transpose of a convolution, from coarse to fine maps, with its bias."""

    def forward(self, coarse: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Return fine maps (B, filters, 2 h, 2 w) from coarse ones (B, channels, h, w)."""
        simple = output_size is None and _on_cpu(coarse)
        if simple and _is_covered(self, self.in_channels, coarse.shape[-1]):
            return _apply(_Spread, coarse, self.weight, self.bias)
        return super().forward(coarse, output_size)


@lru_cache(maxsize=1)
def native() -> ctypes.CDLL | None:
    """Compile and load the native code; return None without a compiler that can."""
    compiler = shutil.which("c++")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "convolution.so"
        command = [compiler, *COMPILE, str(SOURCE), "-o", str(library)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
        return ctypes.CDLL(str(library))  # stays loaded when its file is gone


def _on_cpu(maps: Tensor) -> bool:
    return maps.device.type == "cpu"


def _is_covered(layer: nn.Conv2d | nn.ConvTranspose2d, filters: int, width: float) -> bool:
    shape = layer.kernel_size, layer.stride, layer.padding
    fits = filters % FILTERS == 0 and width % PIXELS == 0
    return fits and shape == (SIZE, STRIDE, PADDING) and native() is not None


def _call(name: str, *arrays: Tensor, fine: Tensor, coarse: Tensor) -> None:
    """Call a native function with arrays, and with the sizes that their maps have."""
    images, h, w, filters = coarse.shape
    sizes = images, h, w, fine.shape[-1], filters
    getattr(native(), name)(
        *(ctypes.c_void_p(array.data_ptr()) for array in arrays), *map(ctypes.c_ssize_t, sizes)
    )


def _channels_last(maps: Tensor) -> Tensor:
    return maps.permute(0, 2, 3, 1).contiguous()


def gather(fine: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return the convolution of fine maps with weights (filters, channels, 4, 4)."""
    fine, kernel = _channels_last(fine), weight.permute(2, 3, 1, 0).contiguous()
    images, height, width, _ = fine.shape
    coarse = torch.empty(images, height // 2, width // 2, len(weight))
    _call("gather", fine, kernel, bias, coarse, fine=fine, coarse=coarse)
    return coarse.permute(0, 3, 1, 2)


def spread(coarse: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return the transposed convolution of coarse maps with the same weights."""
    coarse, kernel = _channels_last(coarse), weight.permute(0, 2, 3, 1).contiguous()
    images, height, width, _ = coarse.shape
    fine = torch.empty(images, 2 * height, 2 * width, weight.shape[1])
    _call("spread", coarse, kernel, bias, fine, fine=fine, coarse=coarse)
    return fine.permute(0, 3, 1, 2)


def correlate(fine: Tensor, coarse: Tensor) -> Tensor:
    """Return the gradient of either function by its weights, from its input and the output's."""
    fine, coarse = _channels_last(fine), _channels_last(coarse)
    kernel = torch.empty(*SIZE, fine.shape[-1], coarse.shape[-1])
    _call("correlate", fine, coarse, kernel, fine=fine, coarse=coarse)
    return kernel.permute(3, 2, 0, 1)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, fine: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(fine, weight)
        return gather(fine, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        fine, weight = ctx.saved_tensors
        of_input = None
        if ctx.needs_input_grad[0]:
            of_input = spread(gradient, weight, torch.zeros(weight.shape[1]))
        return of_input, correlate(fine, gradient), gradient.sum((0, 2, 3))


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, coarse: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(coarse, weight)
        return spread(coarse, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        coarse, weight = ctx.saved_tensors
        of_input = gather(gradient, weight, torch.zeros(len(weight)))
        return of_input, correlate(gradient, coarse), gradient.sum((0, 2, 3))


def _apply(function: Any, *arguments: Tensor | None) -> Tensor:
    """Apply a function that knows its gradient; PyTorch does not declare what it returns."""
    result: Tensor = function.apply(*arguments)
    return result
