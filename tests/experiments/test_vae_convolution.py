"""Native convolutions equal PyTorch's, with all their gradients."""

from __future__ import annotations

import pytest
import torch
from experiments.vae import convolution
from experiments.vae.convolution import Convolution, TransposedConvolution
from torch import Tensor, nn

SHAPES = [(1, 16, 8), (3, 16, 4), (16, 16, 8), (16, 32, 4), (5, 48, 4)]  # channels, filters, width


@pytest.fixture(autouse=True)
def _needs_native_code() -> None:
    assert convolution.native() is not None, "these tests need a C++ compiler"


def all_results(layer: nn.Module, maps: Tensor, weights: dict[str, Tensor]) -> list[Tensor]:
    """Return the output, and the gradients of a loss that depends on every number of it."""
    layer.load_state_dict(weights)
    maps = maps.detach().requires_grad_()
    output = layer(maps)
    (output**2).sum().backward()
    return [output.detach(), maps.grad, *(parameter.grad for parameter in layer.parameters())]


def assert_equal(own: nn.Module, other: nn.Module, maps: Tensor) -> None:
    weights = other.state_dict()
    for ours, theirs in zip(
        all_results(own, maps, weights), all_results(other, maps, weights), strict=True
    ):
        assert ours.shape == theirs.shape
        assert float((ours - theirs).abs().max()) < 1e-5 * float(theirs.abs().max())


@pytest.mark.parametrize(("channels", "filters", "width"), SHAPES)
@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last])
def test_convolutions_equal_those_of_pytorch(
    channels: int, filters: int, width: int, memory: torch.memory_format
) -> None:
    maps = torch.randn(3, channels, 6, 2 * width, generator=torch.Generator().manual_seed(0))
    maps = maps.contiguous(memory_format=memory)
    shape = channels, filters, 4, 2, 1
    assert_equal(Convolution(*shape), nn.Conv2d(*shape), maps)


@pytest.mark.parametrize(("channels", "filters", "width"), SHAPES)
@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last])
def test_transposed_convolutions_equal_those_of_pytorch(
    channels: int, filters: int, width: int, memory: torch.memory_format
) -> None:
    maps = torch.randn(3, filters, 3, width, generator=torch.Generator().manual_seed(0))
    maps = maps.contiguous(memory_format=memory)
    shape = filters, channels, 4, 2, 1
    assert_equal(TransposedConvolution(*shape), nn.ConvTranspose2d(*shape), maps)


@pytest.mark.parametrize(
    ("shape", "size"),
    [((2, 16, 2, 2, 0), (8, 8)), ((2, 24, 4, 2, 1), (8, 8)), ((2, 16, 4, 2, 1), (8, 12))]
    + [((2, 16, 4, 2, 1), size) for size in ((7, 8), (8, 9))],
)
def test_other_shapes_are_left_to_pytorch(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], size: tuple[int, int]
) -> None:
    monkeypatch.setattr(convolution, "_call", None)  # the native code would fail
    assert_equal(Convolution(*shape), nn.Conv2d(*shape), torch.randn(2, 2, *size))


def test_without_a_compiler_pytorch_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolution.shutil, "which", lambda name: None)
    convolution.native.cache_clear()
    try:
        assert convolution.native() is None
        monkeypatch.setattr(convolution, "_call", None)
        assert_equal(
            Convolution(1, 16, 4, 2, 1), nn.Conv2d(1, 16, 4, 2, 1), torch.randn(2, 1, 8, 8)
        )
    finally:
        convolution.native.cache_clear()
