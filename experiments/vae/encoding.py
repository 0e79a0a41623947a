"""Codes of all sprites, for the scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from experiments.common.reproducible import deterministic
from experiments.vae.networks import Vae
from experiments.vae.scores import CodeTable
from experiments.vae.settings import Architecture
from experiments.vae.sprites import FloatArray, Sprites, index_of

CHUNK = 256  # images that stay in the cache of a processor


def encode_sprites(
    architecture: Architecture,
    weights: Mapping[str, FloatArray],
    sprites: Sprites,
    strides: tuple[int, ...] = (),
) -> CodeTable:
    """Return the codes (the encoder's means) of all images that there are.

    Strides, one for each factor, are the steps between the values of a factor that are used.
    """
    values = [
        np.arange(0, size, stride)
        for size, stride in zip(sprites.sizes, strides or (1,) * len(sprites.sizes), strict=True)
    ]
    sizes = tuple(map(len, values))
    factors = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, len(sizes))
    numbers = index_of(factors, sprites.sizes)
    with deterministic():
        vae = Vae.build(architecture, 0, "pytorch")
        vae.load(weights)
        count = len(numbers)
        codes = np.empty((count, architecture.latents), dtype=np.float32)
        for start in range(0, count, CHUNK):
            part = numbers[start : start + CHUNK]
            codes[start : start + CHUNK] = vae.latents(sprites.images(part))[0]
    return CodeTable(codes, sizes)
