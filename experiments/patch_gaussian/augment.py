"""What is done to training images: crop, flip, and add a patch of Gaussian noise.

Random choices are drawn apart from their use, so that every step is a plain function of its
arguments. Normalisation follows as the first layer of the networks (`networks.Normalise`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from experiments.common.images import FloatArray, IntArray
from repshape.errors import InputError, check_integer, check_real


@dataclass(frozen=True)
class PatchGaussian:
    """Gaussian noise in a square patch that lies inside the image.

    Attributes
    ----------
    width : int
        W, the side of the patch in pixels.
    sigma : float
        Standard deviation of the noise; pixels are in [0, 1].
    share : float
        Probability that an image gets a patch.
    """

    width: int
    sigma: float
    share: float = 1.0

    def __post_init__(self) -> None:
        check_integer("width", self.width, 1, owner="PatchGaussian")
        check_real("sigma", self.sigma, 0, owner="PatchGaussian")
        check_real("share", self.share, 0, 1, owner="PatchGaussian")


@dataclass(frozen=True, eq=False)
class Patches:
    """Random choices for a batch of images: which get a patch, where it is, and its noise.

    Attributes
    ----------
    image, top, left : ndarray of int, shape (patches,)
        Number of the image, first row and first column of its patch.
    noise : ndarray of float32, shape (patches, channels, width, width)
    """

    image: IntArray
    top: IntArray
    left: IntArray
    noise: FloatArray


def draw_patches(patch: PatchGaussian, shape: tuple[int, ...], rng: np.random.Generator) -> Patches:
    """Draw patches for images of a shape (images, channels, side, side).

    Every position at which the whole patch is inside the image is equally likely.
    """
    count, channels, side, _ = shape
    if patch.width > side:
        raise InputError(f"A patch of width {patch.width} does not fit in an image of {side}.")
    image = np.flatnonzero(rng.random(count) < patch.share)
    top, left = rng.integers(0, side - patch.width + 1, size=(2, len(image)))
    size = (len(image), channels, patch.width, patch.width)
    noise = rng.standard_normal(size, dtype=np.float32) * np.float32(patch.sigma)
    return Patches(image, top, left, noise)


def add_patches(images: FloatArray, patches: Patches) -> FloatArray:
    """Return images with noise in the patches, clipped to [0, 1] there; others are unchanged.

    >>> blank = np.full((1, 1, 3, 3), 0.5, dtype=np.float32)
    >>> noise = np.array([[[[0.25, -1], [0, 1]]]], dtype=np.float32)
    >>> one = Patches(np.array([0]), np.array([1]), np.array([0]), noise)
    >>> add_patches(blank, one)[0, 0].tolist()
    [[0.5, 0.5, 0.5], [0.75, 0.0, 0.5], [0.5, 1.0, 0.5]]
    """
    steps = np.arange(patches.noise.shape[-1])
    rows = (patches.top[:, None] + steps)[:, None, :, None]
    columns = (patches.left[:, None] + steps)[:, None, None, :]
    channels = np.arange(images.shape[1])[:, None, None]
    where = (patches.image[:, None, None, None], channels, rows, columns)
    result = images.copy()
    result[where] = np.clip(images[where] + patches.noise, 0, 1)
    return result


@dataclass(frozen=True, eq=False)
class Crops:
    """Random choices for a batch of images: offsets within the padded image, and flips.

    Attributes
    ----------
    top, left : ndarray of int, shape (images,)
        From 0 to twice the padding.
    flip : ndarray of bool, shape (images,)
    padding : int
        Black pixels at each border.
    """

    top: IntArray
    left: IntArray
    flip: npt.NDArray[np.bool_]
    padding: int


def draw_crops(count: int, padding: int, rng: np.random.Generator) -> Crops:
    """Draw crops for a number of images; half of them are flipped."""
    top, left = rng.integers(0, 2 * padding + 1, size=(2, count))
    return Crops(top, left, rng.random(count) < 0.5, padding)


def crop_and_flip(images: FloatArray, crops: Crops) -> FloatArray:
    """Pad images with black, cut them to their size at the offsets, and flip them left to right.

    >>> image = np.array([[[[1, 2], [3, 4]]]], dtype=np.float32)
    >>> crops = Crops(np.array([2]), np.array([1]), np.array([True]), padding=1)
    >>> crop_and_flip(image, crops)[0, 0].tolist()
    [[4.0, 3.0], [0.0, 0.0]]
    """
    border = (crops.padding, crops.padding)
    padded = np.pad(images, ((0, 0), (0, 0), border, border))
    steps = np.arange(images.shape[-1])
    rows = crops.top[:, None] + steps
    across = np.where(crops.flip[:, None], steps[::-1], steps)
    columns = crops.left[:, None] + across
    image = np.arange(len(images))[:, None, None, None]
    channels = np.arange(images.shape[1])[:, None, None]
    cropped: FloatArray = padded[image, channels, rows[:, None, :, None], columns[:, None, None, :]]
    return cropped
