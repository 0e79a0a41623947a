"""Images of the study: sprites follow their factors, files are checked, splits are disjoint."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from experiments.common.images import FOLDER_VARIABLE, LabelledImages, TrainTest
from experiments.vae import data as data_module
from experiments.vae import mnist
from experiments.vae.data import (
    ORIGINAL,
    ImageData,
    find_sprites,
    labelled_data,
    load_data,
    load_sprites,
    sprite_data,
)
from experiments.vae.sprites import (
    SIZES,
    OriginalSprites,
    RenderedSprites,
    factors_of,
    index_of,
    inside,
)
from test_common_cifar10 import read, write_binary

from repshape.errors import InputError

ALL = int(np.prod(SIZES))


@pytest.fixture(scope="module")
def sprites() -> RenderedSprites:
    return RenderedSprites(64)


def image(sprites: RenderedSprites, *factors: int) -> np.ndarray:
    return sprites.images(index_of(np.array([factors])))[0, 0]


def centre(picture: np.ndarray) -> np.ndarray:
    return np.argwhere(picture).mean(axis=0)


# Sprites


def test_factors_and_numbers_are_inverse() -> None:
    index = np.random.default_rng(0).integers(ALL, size=100)
    assert np.array_equal(index_of(factors_of(index)), index)
    assert ALL == 737_280


def test_images_are_binary_at_64_and_quarters_at_32(sprites: RenderedSprites) -> None:
    index = np.random.default_rng(0).integers(ALL, size=50)
    large, small = sprites.images(index), RenderedSprites(32).images(index)
    assert large.shape == (50, 1, 64, 64)
    assert large.dtype == small.dtype == np.float32
    assert set(np.unique(large)) == {0.0, 1.0}
    blocks = large.reshape(50, 1, 32, 2, 32, 2).mean(axis=(3, 5))
    assert np.array_equal(small, blocks)


@pytest.mark.parametrize("shape", range(3))
def test_positions_move_the_sprite_by_one_pixel(sprites: RenderedSprites, shape: int) -> None:
    start = image(sprites, shape, 3, 7, 4, 9)
    assert np.array_equal(image(sprites, shape, 3, 7, 5, 9), np.roll(start, 1, axis=1))
    assert np.array_equal(image(sprites, shape, 3, 7, 4, 11), np.roll(start, 2, axis=0))


def test_sprites_are_never_cut_off(sprites: RenderedSprites) -> None:
    kinds = np.array([(*kind, 0, 0) for kind in np.ndindex(3, 6, 40)])
    first = sprites.images(index_of(kinds)).sum(axis=(1, 2, 3))
    kinds[:, 3:] = 31
    assert np.array_equal(sprites.images(index_of(kinds)).sum(axis=(1, 2, 3)), first)
    borders = sprites.images(index_of(kinds))[:, 0]
    assert borders[:, -1].sum() + borders[:, :, -1].sum() == 0


def test_areas_grow_with_the_square_of_the_scale(sprites: RenderedSprites) -> None:
    for shape in range(3):
        areas = np.array([image(sprites, shape, scale, 3, 16, 16).sum() for scale in range(6)])
        expected = np.linspace(0.5, 1, 6) ** 2 * areas[-1]
        np.testing.assert_allclose(areas, expected, rtol=0.1)
    assert image(sprites, 0, 5, 0, 16, 16).sum() == 21 * 21  # |pixel| <= 10.25 either way
    ellipse = image(sprites, 1, 5, 0, 16, 16).sum()
    assert ellipse == pytest.approx(np.pi * 8.5 * 15, rel=0.02)


def test_orientations_turn_the_sprite_once(sprites: RenderedSprites) -> None:
    """As in the original, the last of the 40 angles is a full turn."""
    first = image(sprites, 2, 5, 0, 16, 16)
    assert np.array_equal(first, image(sprites, 2, 5, 39, 16, 16))
    assert not np.array_equal(first, image(sprites, 2, 5, 20, 16, 16))
    assert centre(first)[0] < centre(image(sprites, 2, 5, 20, 16, 16))[0]  # lobes up, then down


def test_shapes_have_their_outlines() -> None:
    x, y = np.array([10.2, 10.3, 0.0]), np.array([10.2, 0.0, 10.3])
    assert inside("square", x, y).tolist() == [True, False, False]
    assert inside("ellipse", x, y).tolist() == [False, False, True]
    assert inside("heart", np.array([0.0, 0.0]), np.array([10.0, -10.7])).tolist() == [True, False]


def test_original_file_is_read(tmp_path: Path) -> None:
    sizes = (1, 2, 2, 3, 2)
    pictures = np.random.default_rng(0).integers(2, size=(24, 64, 64), dtype=np.uint8)
    np.savez_compressed(tmp_path / "original.npz", imgs=pictures)
    cache = tmp_path / "cache" / "packed.npy"
    found = OriginalSprites(tmp_path / "original.npz", cache, 64, sizes)
    index = np.array([3, 0, 23])
    assert np.array_equal(found.images(index)[:, 0], pictures[index])
    (tmp_path / "original.npz").unlink()  # from now on the packed file is used
    half = OriginalSprites(tmp_path / "original.npz", cache, 32, sizes).images(index)
    assert np.array_equal(half[:, 0], pictures[index].reshape(3, 32, 2, 32, 2).mean((2, 4)))


@pytest.mark.parametrize(
    "pictures",
    [np.zeros((5, 64, 64), np.uint8), np.zeros((24, 64, 64)), np.full((24, 64, 64), 255, np.uint8)],
)
def test_another_file_is_refused(tmp_path: Path, pictures: np.ndarray) -> None:
    np.savez(tmp_path / "original.npz", imgs=pictures)
    with pytest.raises(InputError):
        OriginalSprites(tmp_path / "original.npz", tmp_path / "packed.npy", 64, (1, 2, 2, 3, 2))
    assert not (tmp_path / "packed.npy").exists()


def test_sizes_other_than_two_are_refused() -> None:
    with pytest.raises(InputError, match="one of"):
        RenderedSprites(48)


# MNIST and CIFAR-10


def idx(array: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return header + array.astype(np.uint8).tobytes()


def write_mnist(folder: Path, test_counts: tuple[int, ...]) -> None:
    for prefix, counts in (("train", mnist.TRAIN_COUNTS), ("t10k", test_counts)):
        labels = np.repeat(np.arange(10), counts)
        pictures = np.zeros((len(labels), 28, 28), np.uint8)
        pictures[:, 0, 0] = labels
        for kind, array in (("images-idx3", pictures), ("labels-idx1", labels)):
            path = folder / f"{prefix}-{kind}-ubyte.gz"
            path.write_bytes(gzip.compress(idx(array), 1))


def test_mnist_is_padded_and_checked(tmp_path: Path) -> None:
    write_mnist(tmp_path, mnist.TEST_COUNTS)
    data = load_data("mnist", tmp_path, 32, 20, 30)
    assert (len(data.train), len(data.validation), len(data.held_out)) == (59_970, 30, 20)
    assert data.held_out.min() >= 60_000
    pictures = data.read(data.held_out)
    assert pictures.shape == (20, 1, 32, 32)
    expected = np.repeat(np.arange(10), mnist.TEST_COUNTS)[data.held_out - 60_000]
    np.testing.assert_allclose(pictures[:, 0, 2, 2], expected / 255, rtol=1e-6)
    assert pictures.sum() == pytest.approx(pictures[:, 0, 2, 2].sum())


def test_wrong_class_counts_are_refused(tmp_path: Path) -> None:
    write_mnist(tmp_path, (*mnist.TEST_COUNTS[1:], mnist.TEST_COUNTS[0]))
    with pytest.raises(InputError, match="Classes of MNIST"):
        mnist.read_mnist(tmp_path)


def test_cifar10_is_read_by_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The split and the pixels of a tiny data set in the place of CIFAR-10."""
    write_binary(tmp_path)
    monkeypatch.setattr(data_module, "read_cifar10", read)
    data = load_data("cifar10", tmp_path, 32, 4, 3)
    assert (len(data.train), len(data.validation), len(data.held_out)) == (47, 3, 4)
    assert data.held_out.min() >= 50
    expected = read(tmp_path).test.images[data.held_out - 50] / 255
    np.testing.assert_allclose(data.read(data.held_out), expected, rtol=1e-6)


def test_missing_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="train-images-idx3-ubyte"):
        load_data("mnist", tmp_path, 32, 10)
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    with pytest.raises(InputError, match=FOLDER_VARIABLE):
        load_data("cifar10", None, 32, 10)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert find_sprites(None) is None
    assert isinstance(load_sprites(None, 32), RenderedSprites)
    with pytest.raises(InputError, match=r"data_batch_1\.bin"):
        load_data("cifar10", None, 32, 11)


def test_the_file_of_sprites_is_found_or_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    with pytest.raises(InputError, match=rf"--sprites \({ORIGINAL}\).*--sprites rendered"):
        find_sprites(tmp_path, required=True)
    assert find_sprites(tmp_path, "rendered", required=True) is None
    with pytest.raises(InputError, match="must exist"):
        find_sprites(tmp_path, str(tmp_path / "other.npz"))
    (tmp_path / ORIGINAL).touch()
    (tmp_path / "other.npz").touch()
    assert find_sprites(tmp_path, required=True) == tmp_path / ORIGINAL
    assert find_sprites(tmp_path, "rendered") is None
    assert find_sprites(None, str(tmp_path / "other.npz")) == tmp_path / "other.npz"


def test_truncated_idx_is_refused() -> None:
    with pytest.raises(InputError, match="IDX"):
        mnist.read_idx(idx(np.zeros((2, 3)))[:-1])


# Splits


def test_held_out_sprites_are_never_trained_on() -> None:
    data = sprite_data(RenderedSprites(32), 512)
    assert len(np.intersect1d(data.train, data.held_out)) == 0
    assert len(data.train) + len(data.held_out) == ALL
    assert np.array_equal(data.held_out, sprite_data(RenderedSprites(64), 512).held_out)


def test_an_epoch_visits_every_image_once() -> None:
    found = TrainTest(
        *(
            LabelledImages(np.zeros((count, 1, 4, 4), np.uint8), np.zeros(count, np.uint8))
            for count in (22, 6)
        )
    )
    data = labelled_data("mnist", found, 5, n_validation=2)
    assert len(np.intersect1d(data.train, data.validation)) == 0
    batches = data.batches(np.random.default_rng(0), 5)
    epochs = [np.concatenate([next(batches) for _ in range(4)]) for _ in range(2)]
    for epoch in epochs:
        assert np.array_equal(np.sort(epoch), data.train)
    assert not np.array_equal(*epochs)


def test_mean_image_is_the_mean_over_training_images() -> None:
    pictures = np.random.default_rng(0).random((12, 1, 4, 4), dtype=np.float32)
    numbers = np.arange(12)
    data = ImageData("tiny", lambda i: pictures[i], numbers[:8], numbers[8:9], numbers[9:], False)
    np.testing.assert_allclose(data.mean_image(), pictures[:8].mean(axis=0), rtol=1e-6)
