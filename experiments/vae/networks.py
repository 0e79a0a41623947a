"""Encoders, decoders and the discriminator of FactorVAE.

An architecture is a few numbers (`Architecture`); a `Vae` is built from it and a seed. Weights
start from Kaiming's normal or Glorot's uniform distribution with zero biases, or from PyTorch's
defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import prod

import numpy as np
import torch
from torch import Tensor, nn

from experiments.common.devices import CPU, device_of
from experiments.common.reproducible import seeded
from experiments.vae.convolution import Convolution, TransposedConvolution
from experiments.vae.settings import INITIALISATIONS, Architecture, Discriminator
from experiments.vae.sprites import FloatArray
from repshape.errors import check_choice

LEAKY_SLOPE = 0.2  # TensorFlow's default, which the original discriminator used
ENCODE_BATCH = 1024


@dataclass(frozen=True, eq=False)
class Vae:
    """An encoder and a decoder.

    Attributes
    ----------
    encoder : nn.Sequential
        From images (B, channels, side, side) to means and log-variances side by side (B, 2 n).
    decoder : nn.Sequential
        From latents (B, n) to logits (B, channels, side, side).
    """

    encoder: nn.Sequential
    decoder: nn.Sequential

    @classmethod
    def build(
        cls, architecture: Architecture, seed: int, initialisation: str, device: str = CPU
    ) -> Vae:
        """Build a network; the seed alone decides its initial weights, on any device."""
        check_choice("initialisation", initialisation, INITIALISATIONS)
        with seeded(seed):
            vae = cls(_encoder(architecture), _decoder(architecture))
            for part in vae.parts:
                if initialisation in INITIALISERS:
                    initialise(part, INITIALISERS[initialisation])
        for part in vae.parts:  # convolutions on a CPU are about a tenth faster this way
            nn.utils.convert_conv2d_weight_memory_format(part, torch.channels_last)
            part.to(device)
        return vae

    @property
    def parts(self) -> tuple[nn.Sequential, nn.Sequential]:
        """The encoder and the decoder."""
        return self.encoder, self.decoder

    def encode(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return means and log-variances, each (B, n)."""
        means, log_variances = self.encoder(images).chunk(2, dim=1)
        return means, log_variances

    def decode(self, latents: Tensor) -> Tensor:
        """Return images in [0, 1]: the sigmoid of the decoder's logits."""
        return torch.sigmoid(self.decoder(latents))

    def parameters(self) -> Iterator[nn.Parameter]:
        """Yield all parameters, the encoder's first."""
        yield from self.encoder.parameters()
        yield from self.decoder.parameters()

    def weights(self) -> dict[str, FloatArray]:
        """Return copies of all weights by name."""
        parts = {"encoder": self.encoder, "decoder": self.decoder}
        return {
            f"{part}.{name}": value.detach().cpu().numpy().copy()
            for part, module in parts.items()
            for name, value in module.state_dict().items()
        }

    def load(self, weights: Mapping[str, FloatArray]) -> None:
        """Set all weights, from what `weights` returned."""
        for part, module in (("encoder", self.encoder), ("decoder", self.decoder)):
            module.load_state_dict(
                {
                    name.removeprefix(f"{part}."): torch.from_numpy(np.array(value))
                    for name, value in weights.items()
                    if name.startswith(f"{part}.")
                }
            )

    def latents(self, images: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return means and log-variances of many images, without gradients."""
        device = device_of(self)
        with torch.no_grad():
            parts = [
                self.encode(torch.from_numpy(images[start : start + ENCODE_BATCH]).to(device))
                for start in range(0, len(images), ENCODE_BATCH)
            ]
        means, log_variances = (torch.cat(part).cpu().numpy() for part in zip(*parts, strict=True))
        return means, log_variances


# Weights of every layer; biases are then zero. PyTorch's defaults are not among them.
INITIALISERS: dict[str, Callable[[Tensor], object]] = {
    "kaiming": partial(nn.init.kaiming_normal_, nonlinearity="relu"),
    "glorot": nn.init.xavier_uniform_,
}


def initialise(module: nn.Sequential, draw: Callable[[Tensor], object]) -> None:
    """Draw the weights of all layers, in place, and set biases to zero."""
    for layer in module:
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d | nn.Linear):
            draw(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def build_discriminator(latents: int, shape: Discriminator, seed: int) -> nn.Sequential:
    """Build the classifier of FactorVAE, which tells samples of q(z) from permuted ones."""
    widths = [latents, *[shape.width] * shape.layers]
    layers: list[nn.Module] = []
    with seeded(seed):
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.LeakyReLU(LEAKY_SLOPE)]
        module = nn.Sequential(*layers, nn.Linear(widths[-1], 2))
        initialise(module, INITIALISERS["kaiming"])
    return module


def _encoder(shape: Architecture) -> nn.Sequential:
    layers: list[nn.Module] = []
    channels = shape.channels
    for layer in shape.encoder:
        convolution = Convolution(channels, layer.filters, layer.kernel, 2, layer.padding)
        layers += [convolution, nn.ReLU()]
        channels = layer.filters
    dense = [nn.Flatten(), nn.Linear(prod(shape.inner), shape.hidden), nn.ReLU()]
    return nn.Sequential(*layers, *dense, nn.Linear(shape.hidden, 2 * shape.latents))


def _decoder(shape: Architecture) -> nn.Sequential:
    dense = [
        nn.Linear(shape.latents, shape.hidden),
        nn.ReLU(),
        nn.Linear(shape.hidden, prod(shape.inner)),
        nn.ReLU(),
        nn.Unflatten(1, shape.inner),
    ]
    layers: list[nn.Module] = []
    channels = shape.inner[0]
    for filters in shape.decoder:
        layers += [TransposedConvolution(channels, filters, 4, 2, 1), nn.ReLU()]
        channels = filters
    last = TransposedConvolution(channels, shape.channels, 4, 2, 1)
    return nn.Sequential(*dense, *layers, last)
