"""Codes of all sprites, for the scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from experiments.common.reproducible import deterministic
from experiments.vae.networks import Vae
from experiments.vae.scores import CodeTable
from experiments.vae.settings import Architecture
from experiments.vae.sprites import FloatArray, Sprites

CHUNK = 256  # images that stay in the cache of a processor


def encode_sprites(
    architecture: Architecture, weights: Mapping[str, FloatArray], sprites: Sprites
) -> CodeTable:
    """Return the codes (the encoder's means) of all images that there are."""
    with deterministic():
        vae = Vae.build(architecture, 0, "pytorch")
        vae.load(weights)
        count = int(np.prod(sprites.sizes))
        codes = np.empty((count, architecture.latents), dtype=np.float32)
        for start in range(0, count, CHUNK):
            index = np.arange(start, min(start + CHUNK, count))
            codes[index] = vae.latents(sprites.images(index))[0]
    return CodeTable(codes, sprites.sizes)
