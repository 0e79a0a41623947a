"""The images of the study: CIFAR-10, of any side that divides 32."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from experiments.common.cifar10 import CHANNELS, read_cifar10
from experiments.common.images import IntArray, LabelledImages, TrainTest, require_folder
from repshape.errors import InputError


@lru_cache(maxsize=1)
def load_data(
    folder: Path | None, side: int, train_per_class: int, test_per_class: int
) -> TrainTest:
    """Load CIFAR-10 once for each process.

    Parameters
    ----------
    folder : Path or None
        Where the files are; by default the environment variable REPSHAPE_IMAGES.
    side : int
        Of the images: 32, or a divisor of it.
    train_per_class, test_per_class : int
        Images of each class that there must be.
    """
    found = read_cifar10(require_folder(folder, "CIFAR-10"), train_per_class, test_per_class)
    return TrainTest(found.train.shrink(side), found.test.shrink(side))


def channel_moments(found: LabelledImages) -> tuple[list[float], list[float]]:
    """Return mean and standard deviation of each channel, of pixels in [0, 1]."""
    images, white = found.images, found.white
    means = [float(images[:, c].mean(dtype=np.float64)) / white for c in range(CHANNELS)]
    scales = [float(images[:, c].std(dtype=np.float64)) / white for c in range(CHANNELS)]
    return means, scales


def balanced_choice(labels: IntArray, count: int) -> IntArray:
    """Return numbers of images, taking turns between classes; the first of a class comes first.

    >>> balanced_choice(np.array([1, 1, 0, 0, 1, 0]), 5).tolist()
    [2, 0, 3, 1, 5]
    """
    if count > len(labels):
        raise InputError(f"Cannot choose {count} of {len(labels)} images.")
    turns = np.empty(len(labels), dtype=int)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        turns[members] = np.arange(len(members))
    return np.lexsort((labels, turns))[:count]
