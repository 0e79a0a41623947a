"""The three data sets of the study, split into images for training, validation and measuring."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from experiments.common.cifar10 import read_cifar10
from experiments.common.images import TrainTest, images_folder, require_folder
from experiments.vae.mnist import read_mnist
from experiments.vae.sprites import FloatArray, IntArray, OriginalSprites, RenderedSprites, Sprites
from repshape.errors import InputError, check_choice

DATASETS = ("dsprites", "mnist", "cifar10")
ORIGINAL = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
RENDERED = "rendered"
PACKED = "dsprites_packed.npy"
# The split is the same for every network of every run.
SPLIT_SEED = 20230501
# Enough for the mean image; the sprites are too many to average them all.
MEAN_IMAGES = 4096


@dataclass(frozen=True, eq=False)
class ImageData:
    """Images by number, and which of them are for what.

    Attributes
    ----------
    name : str
    read : callable
        Returns images (float32, in [0, 1]; images, channels, height, width) from their numbers.
    train, validation, held_out : ndarray of int
        Disjoint. The held-out images are the conditions of every distance.
    replace : bool
        Draw batches with replacement. Otherwise every epoch visits each image once.
    """

    name: str
    read: Callable[[IntArray], FloatArray]
    train: IntArray
    validation: IntArray
    held_out: IntArray
    replace: bool

    def batches(self, rng: np.random.Generator, size: int) -> Iterator[IntArray]:
        """Yield numbers of training images without end; an epoch's incomplete batch is left out."""
        while True:
            if self.replace:
                yield rng.choice(self.train, size)
            else:
                order = rng.permutation(self.train)
                yield from np.split(order[: len(order) // size * size], len(order) // size)

    def mean_image(self) -> FloatArray:
        """Return the mean of (up to 4096 of) the training images."""
        rng = np.random.default_rng(SPLIT_SEED)
        count = min(MEAN_IMAGES, len(self.train))
        chosen = self.read(rng.choice(self.train, count, replace=False))
        return np.asarray(chosen.mean(axis=0, dtype=np.float64), dtype=np.float32)


def sprite_data(sprites: Sprites, n_held_out: int) -> ImageData:
    """Split sprites: the held-out images are never trained on, all others are."""
    order = np.random.default_rng(SPLIT_SEED).permutation(int(np.prod(sprites.sizes)))
    held_out, train = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    return ImageData("dsprites", sprites.images, train, train[:0], held_out, replace=True)


def labelled_data(name: str, found: TrainTest, n_held_out: int, n_validation: int = 0) -> ImageData:
    """Split labelled images: for validation off the training set, held out off the test set."""
    images = np.concatenate([found.train.images, found.test.images])
    rng = np.random.default_rng(SPLIT_SEED)
    order = rng.permutation(len(found.train))
    held_out = len(found.train) + rng.permutation(len(found.test))[:n_held_out]

    def read(index: IntArray) -> FloatArray:
        return images[index] * np.float32(1 / 255)

    validation, train = np.sort(order[:n_validation]), np.sort(order[n_validation:])
    return ImageData(name, read, train, validation, np.sort(held_out), replace=False)


@lru_cache(maxsize=len(DATASETS))
def load_data(
    name: str,
    folder: Path | None,
    side: int,
    n_held_out: int,
    n_validation: int = 0,
    sprites: str | None = None,
) -> ImageData:
    """Load one of the three data sets, once for each process.

    Parameters
    ----------
    name : {"dsprites", "mnist", "cifar10"}
    folder : Path or None
        Where the files are; by default the environment variable REPSHAPE_IMAGES.
    side : int
        Of sprites; others are always 32 x 32.
    n_held_out, n_validation : int
        Numbers of images.
    sprites : str or None
        As in `find_sprites`.
    """
    check_choice("name", name, DATASETS)
    if name == "dsprites":
        return sprite_data(load_sprites(find_sprites(folder, sprites), side), n_held_out)
    read = read_mnist if name == "mnist" else read_cifar10
    found = read(require_folder(folder, name))
    return labelled_data(name, found, n_held_out, n_validation)


def find_sprites(
    folder: Path | None, sprites: str | None = None, *, required: bool = False
) -> Path | None:
    """Return the original file of dSprites, or None if sprites are to be rendered.

    Parameters
    ----------
    folder : Path or None
        Where the file is looked for if ``sprites`` is None.
    sprites : str or None
        The file, or "rendered". By default the file if the folder has it, rendered ones otherwise.
    required : bool
        Raise instead of rendering, unless ``sprites`` asks for that.
    """
    if sprites == RENDERED:
        return None
    if sprites is not None:
        if not Path(sprites).is_file():
            raise InputError(f"The file of sprites must exist. Got {sprites} instead.")
        return Path(sprites)
    folder = images_folder(folder)
    if folder is not None and (folder / ORIGINAL).is_file():
        return folder / ORIGINAL
    if required:
        raise InputError(
            "The paper's scale needs the original dSprites. Name the file with --sprites "
            f"({ORIGINAL}), or ask for sprites of our own with --sprites {RENDERED}."
        )
    return None


@lru_cache(maxsize=1)
def load_sprites(file: Path | None, side: int) -> Sprites:
    """Return the sprites of the original file, or rendered ones without it; kept."""
    if file is None:
        return RenderedSprites(side)
    return OriginalSprites(file, file.with_name(PACKED), side)
