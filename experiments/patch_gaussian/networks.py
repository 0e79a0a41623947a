"""Residual networks for small images, with a layer of 100 units before the readout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from experiments.common.cifar10 import CHANNELS, CLASSES
from experiments.common.images import FloatArray
from experiments.common.reproducible import seeded
from experiments.patch_gaussian.settings import Architecture

# Name of the layer that all analyses look at: ``network.get_submodule(REPRESENTATION)``.
REPRESENTATION = "representation"


class Normalise(nn.Module):
    """Subtracts a mean from each channel and divides by a scale."""

    mean: Tensor
    scale: Tensor

    def __init__(self, mean: Sequence[float], scale: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean)[:, None, None])
        self.register_buffer("scale", torch.tensor(scale)[:, None, None])

    def forward(self, images: Tensor) -> Tensor:
        """Normalise images."""
        return (images - self.mean) / self.scale


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions with a shortcut (He et al. 2016).

    Where the shape changes, the shortcut is a 1 x 1 convolution.
    """

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.convolution1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.convolution2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.shortcut = nn.Sequential()
        if stride > 1 or channels != width:
            projection = nn.Conv2d(channels, width, 1, stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        """Add what the convolutions find to the shortcut."""
        found = functional.relu(self.norm1(self.convolution1(x)))
        total: Tensor = self.norm2(self.convolution2(found)) + self.shortcut(x)
        return functional.relu(total)


class ResNet(nn.Module):
    """A residual network that takes images with pixels in [0, 1] and returns class scores.

    Parameters
    ----------
    architecture : Architecture
    mean, scale : sequence of float
        Of each channel, for the normalisation.
    """

    def __init__(
        self, architecture: Architecture, mean: Sequence[float], scale: Sequence[float]
    ) -> None:
        super().__init__()
        width = architecture.width
        self.normalise = Normalise(mean, scale)
        self.stem = nn.Sequential(
            nn.Conv2d(CHANNELS, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        )
        blocks: list[nn.Module] = []
        channels = width
        for stage, count in enumerate(architecture.blocks):
            for number in range(count):
                stride = 2 if stage > 0 and number == 0 else 1
                blocks.append(BasicBlock(channels, width << stage, stride))
                channels = width << stage
        self.blocks = nn.Sequential(*blocks)
        self.representation = nn.Linear(channels, architecture.units)
        self.readout = nn.Linear(architecture.units, CLASSES)

    def represent(self, images: Tensor) -> Tensor:
        """Return the responses of the representation layer (images, units)."""
        maps: Tensor = self.blocks(self.stem(self.normalise(images)))
        responses: Tensor = self.representation(maps.mean(dim=(2, 3)))
        return responses

    def forward(self, images: Tensor) -> Tensor:
        """Return the scores of the classes (images, classes)."""
        scores: Tensor = self.readout(self.represent(images))
        return scores


def build_network(
    architecture: Architecture, mean: Sequence[float], scale: Sequence[float], seed: int
) -> ResNet:
    """Return a network whose initial weights depend on the seed alone."""
    with seeded(seed):
        network = ResNet(architecture, mean, scale)
    for parameter in network.parameters():
        if parameter.dim() == 4:  # convolutions on CPUs are about a sixth faster in this order
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
    return network


def get_weights(network: nn.Module) -> dict[str, FloatArray]:
    """Return a copy of all weights and statistics of a network."""
    return {
        name: np.array(value.detach().cpu().numpy(), order="C")
        for name, value in network.state_dict().items()
    }


def halve_weights(network: nn.Module) -> dict[str, Any]:
    """Round the weights of a network to half precision, and return them in it.

    They then take half the space, and what is measured from the file is what the network does.
    """
    weights = {
        name: value.astype(np.float16) if np.issubdtype(value.dtype, np.floating) else value
        for name, value in get_weights(network).items()
    }
    set_weights(network, weights)
    return weights


def set_weights(network: nn.Module, weights: Mapping[str, Any]) -> None:
    """Give a network the weights of another one of the same architecture, in any precision."""
    network.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
