"""CIFAR-10 is read the same from all of its forms, and checked."""

from __future__ import annotations

import io
import json
import pickle
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from experiments.common.cifar10 import read_cifar10
from experiments.common.images import LabelledImages, TrainTest
from PIL import Image

from repshape.errors import InputError

Bytes = npt.NDArray[np.uint8]
Write = Callable[[Bytes, Bytes], bytes]
BATCHES = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
TRAIN_PER_CLASS, TEST_PER_CLASS = 5, 1  # six files of ten images


def tiny_images(per_class: int = 1) -> tuple[Bytes, Bytes]:
    """Random images of six files, as many of each class in every one."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (6, 10 * per_class, 3, 32, 32), dtype=np.uint8)
    labels = np.array([rng.permutation(np.repeat(range(10), per_class)) for _ in range(6)])
    return images, labels.astype(np.uint8)


def binary_file(images: Bytes, labels: Bytes) -> bytes:
    pairs = zip(images, labels, strict=True)
    return b"".join(bytes([label]) + image.tobytes() for image, label in pairs)


def write_binary(folder: Path, per_class: int = 1) -> None:
    """Write a tiny data set in the binary version."""
    for name, images, labels in zip(BATCHES, *tiny_images(per_class), strict=True):
        (folder / f"{name}.bin").write_bytes(binary_file(images, labels))


def short(text: bytes) -> bytes:
    return b"U" + bytes([len(text)]) + text


def integer(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def python_file(images: Bytes, labels: Bytes) -> bytes:
    """Write the pickle that Python 2 and its NumPy wrote: protocol 2, byte strings, old names."""
    rows = images.reshape(len(images), -1)
    empty = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(" + integer(0) + b"t"
    empty += short(b"b") + b"tR"
    dtype = b"cnumpy\ndtype\n(" + short(b"u1") + integer(0) + integer(1) + b"tR"
    dtype += b"(" + integer(3) + short(b"|") + b"NNN" + 2 * integer(-1) + integer(0) + b"tb"
    raw = rows.tobytes()
    state = b"(" + integer(1) + b"(" + integer(rows.shape[0]) + integer(rows.shape[1]) + b"t"
    state += dtype + b"\x89" + b"T" + struct.pack("<i", len(raw)) + raw + b"tb"
    listed = b"](" + b"".join(map(integer, labels.tolist())) + b"e"
    return b"\x80\x02}(" + short(b"data") + empty + state + short(b"labels") + listed + b"u."


def png_file(images: Bytes, labels: Bytes) -> bytes:
    """Write a picture whose rows are images, pixel after pixel."""
    rows = images.transpose(0, 2, 3, 1).reshape(len(images), 1024, 3)
    handle = io.BytesIO()
    Image.fromarray(rows).save(handle, format="PNG")
    return handle.getvalue()


def data_files(form: str) -> dict[str, bytes]:
    writers: dict[str, tuple[str, Write]] = {
        "binary": (".bin", binary_file),
        "python": ("", python_file),
        "png": (".png", png_file),
    }
    suffix, write = writers[form]
    images, labels = tiny_images()
    parts = zip(BATCHES, images, labels, strict=True)
    files = {name + suffix: write(image, label) for name, image, label in parts}
    if form == "png":
        files["train_lables.json"] = json.dumps(labels[:5].ravel().tolist()).encode()
        files["test_lables.json"] = json.dumps(labels[5].tolist()).encode()
    return files


def read(folder: Path) -> TrainTest:
    return read_cifar10(folder, TRAIN_PER_CLASS, TEST_PER_CLASS)


def write_archive(path: Path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, raw in files.items():
            info = tarfile.TarInfo(f"inside/{name}")
            info.size = len(raw)
            archive.addfile(info, io.BytesIO(raw))


@pytest.mark.parametrize("form", ["binary", "python", "png"])
@pytest.mark.parametrize("place", ["loose", "subfolder", "archive"])
def test_every_form_gives_the_same_images(form: str, place: str, tmp_path: Path) -> None:
    files = data_files(form)
    folder = tmp_path / {"binary": "cifar-10-batches-bin", "python": "cifar-10-batches-py"}.get(
        form, "package"
    )
    folder.mkdir()
    if place == "archive":
        write_archive(tmp_path / "data.tar.gz", files)
    else:
        for name, raw in files.items():
            (folder / name).write_bytes(raw)
    found = read(folder if place == "loose" else tmp_path)
    images, labels = tiny_images()
    np.testing.assert_array_equal(found.train.images, images[:5].reshape(50, 3, 32, 32))
    np.testing.assert_array_equal(found.train.labels, labels[:5].ravel())
    np.testing.assert_array_equal(found.test.images, images[5])
    np.testing.assert_array_equal(found.test.labels, labels[5])


def test_pickle_of_a_new_numpy_is_read(tmp_path: Path) -> None:
    images, labels = tiny_images()
    for name, image, label in zip(BATCHES, images, labels, strict=True):
        content = {b"data": image.reshape(10, -1), b"labels": label.tolist()}
        (tmp_path / name).write_bytes(pickle.dumps(content, protocol=4))
    np.testing.assert_array_equal(read(tmp_path).test.images, images[5])


def test_pickle_that_would_run_code_is_refused(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    for name, raw in data_files("python").items():
        (tmp_path / name).write_bytes(raw)
    harmful = b"cos\nmkdir\n(" + short(str(marker).encode()) + b"tR."
    (tmp_path / "data_batch_1").write_bytes(harmful)
    with pytest.raises(InputError, match=r"must not refer to os\.mkdir"):
        read(tmp_path)
    assert not marker.exists()


def test_folder_without_images_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file is named data_batch_1\.bin"):
        read(tmp_path)


def test_missing_file_is_reported(tmp_path: Path) -> None:
    write_binary(tmp_path)
    (tmp_path / "data_batch_4.bin").unlink()
    with pytest.raises(InputError, match=r"has a file data_batch_4\.bin"):
        read(tmp_path)


def test_truncated_file_is_reported(tmp_path: Path) -> None:
    write_binary(tmp_path)
    path = tmp_path / "data_batch_4.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="3073 bytes an image"):
        read(tmp_path)
    path.write_bytes(path.read_bytes()[: 9 * 3073])
    with pytest.raises(InputError, match=r"data_batch_4\.bin must have shape \(10, 3, 32, 32\)"):
        read(tmp_path)


def test_classes_are_counted(tmp_path: Path) -> None:
    write_binary(tmp_path)
    images, labels = tiny_images()
    labels[5, 0] = (labels[5, 0] + 1) % 10
    (tmp_path / "test_batch.bin").write_bytes(binary_file(images[5], labels[5]))
    with pytest.raises(InputError, match=r"Classes of CIFAR-10 must have \[1, 1,"):
        read(tmp_path)


def test_shrinking_averages_areas() -> None:
    images, labels = tiny_images()
    small = LabelledImages(images[0], labels[0]).shrink(16)
    expected = np.empty((10, 3, 16, 16))
    for i, c, y, x in np.ndindex(expected.shape):
        expected[i, c, y, x] = images[0, i, c, 2 * y : 2 * y + 2, 2 * x : 2 * x + 2].mean() / 255
    np.testing.assert_allclose(small.pixels(slice(None)), expected, rtol=1e-6)
    white = LabelledImages(np.full((1, 3, 32, 32), 255, dtype=np.uint8), labels[0, :1])
    assert (
        white.shrink(8).pixels(np.array([0])).max() == white.shrink(8).pixels(slice(1)).min() == 1
    )


def test_side_must_divide() -> None:
    images, labels = tiny_images()
    with pytest.raises(InputError, match="must divide 32"):
        LabelledImages(images[0], labels[0]).shrink(12)
