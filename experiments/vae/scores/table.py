"""Codes of all images, from which every score draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.vae.sprites import FloatArray, IntArray, factors_of, index_of


@dataclass(frozen=True, eq=False)
class CodeTable:
    """The codes of every combination of factors, in the order of the images.

    Encoding all images once and looking codes up gives the same scores as encoding every draw.

    Attributes
    ----------
    codes : ndarray of shape (images, codes)
    sizes : tuple of int
        Number of values of each factor; their product is the number of images.
    """

    codes: FloatArray
    sizes: tuple[int, ...]

    def draw_factors(self, rng: np.random.Generator, *shape: int) -> IntArray:
        """Draw factors uniformly, as an array of shape (*shape, factors)."""
        columns = [rng.integers(size, size=shape) for size in self.sizes]
        return np.stack(columns, axis=-1)

    def at(self, factors: IntArray) -> FloatArray:
        """Return the codes of images with these factors, in double precision."""
        return self.codes[index_of(factors, self.sizes)].astype(np.float64)

    def draw(self, rng: np.random.Generator, count: int) -> tuple[FloatArray, IntArray]:
        """Draw images with replacement; return codes and factors, a row for each image."""
        index = rng.integers(len(self.codes), size=count)
        return self.codes[index].astype(np.float64), factors_of(index, self.sizes)
