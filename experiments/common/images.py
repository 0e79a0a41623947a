"""Labelled images, and the files of data sets: loose or in a .tar.gz archive."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.errors import InputError

IntArray = npt.NDArray[np.integer[Any]]
FloatArray = npt.NDArray[np.float32]

FOLDER_VARIABLE = "REPSHAPE_IMAGES"
SUBFOLDERS = ("", "cifar-10-batches-bin", "cifar-10-batches-py", "package")
ARCHIVES = ("*.tar.gz", "*.tgz")
WHITE = 255


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

    def check(self, name: str, per_class: Sequence[int]) -> LabelledImages:
        """Return the images, or raise unless each class has as many as expected."""
        counts = np.bincount(self.labels, minlength=len(per_class)).tolist()
        if counts != list(per_class):
            raise InputError(
                f"Classes of {name} must have {list(per_class)} images. Got {counts} instead."
            )
        return self


@dataclass(frozen=True, eq=False)
class TrainTest:
    """Training and test images of a data set."""

    train: LabelledImages
    test: LabelledImages


class DataFiles:
    """The files of a data set, in a folder, its usual subfolders, or the archives in it.

    Parameters
    ----------
    folder : Path
    names : collection of str
        All names that files of the data set may have. Archives are read, in one pass, only if no
        file has one of these names.
    """

    def __init__(self, folder: Path, names: Collection[str]) -> None:
        self.folder = folder
        self.loose = {
            path.name: path
            for subfolder in reversed(SUBFOLDERS)  # those of the folder itself are found first
            for path in (folder / subfolder).glob("*")
            if path.name in names and path.is_file()
        }
        self.archived: dict[str, bytes] = {}
        if not self.loose:
            self._read_archives(names)

    def _read_archives(self, names: Collection[str]) -> None:
        for archive in sorted(path for pattern in ARCHIVES for path in self.folder.glob(pattern)):
            with tarfile.open(archive) as members:
                for member in members:
                    name = Path(member.name).name
                    if name in names and (handle := members.extractfile(member)):
                        self.archived.setdefault(name, handle.read())

    def __contains__(self, name: str) -> bool:
        return name in self.loose or name in self.archived

    def read(self, *names: str) -> bytes:
        """Return the first of these files that there is; one from an archive only once."""
        for name in names:
            if name in self.loose:
                return self.loose[name].read_bytes()
            if name in self.archived:
                return self.archived.pop(name)
        raise InputError(
            f"Neither {self.folder} nor an archive in it has a file {' or '.join(names)}."
        )


def images_folder(folder: Path | None) -> Path | None:
    """Return the folder, or by default the one named by REPSHAPE_IMAGES, if any."""
    value = os.environ.get(FOLDER_VARIABLE)
    return folder or (Path(value) if value else None)


def require_folder(folder: Path | None, what: str) -> Path:
    """Return the folder of the image files, or raise an error that says how to name it."""
    found = images_folder(folder)
    if found is None:
        raise InputError(
            f"To find {what}, name the folder of its files (--images), or set {FOLDER_VARIABLE}."
        )
    return found
