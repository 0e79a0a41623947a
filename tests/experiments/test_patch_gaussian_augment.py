"""Augmentation does what a slow, plain version does, and draws what it should."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from experiments.patch_gaussian.augment import (
    Crops,
    Patches,
    PatchGaussian,
    add_patches,
    crop_and_flip,
    draw_crops,
    draw_patches,
)

from repshape.errors import InputError

Array = npt.NDArray[np.float32]
SHAPE = (20, 3, 8, 8)


def some_images(seed: int = 0) -> Array:
    return np.random.default_rng(seed).random(SHAPE, dtype=np.float32)


def add_patches_slowly(images: Array, patches: Patches) -> Array:
    """Add noise pixel by pixel."""
    result = images.copy()
    width = patches.noise.shape[-1]
    for number, image in enumerate(patches.image):
        for channel, dy, dx in np.ndindex(images.shape[1], width, width):
            y, x = patches.top[number] + dy, patches.left[number] + dx
            value = images[image, channel, y, x] + patches.noise[number, channel, dy, dx]
            result[image, channel, y, x] = min(max(value, np.float32(0)), np.float32(1))
    return result


def crop_slowly(images: Array, crops: Crops) -> Array:
    """Move each image pixel by pixel, black where it leaves the frame, then reverse its rows."""
    result = np.zeros_like(images)
    side = images.shape[-1]
    for number, channel, y, x in np.ndindex(images.shape):
        from_y = y + crops.top[number] - crops.padding
        from_x = x + crops.left[number] - crops.padding
        if 0 <= from_y < side and 0 <= from_x < side:
            to_x = side - 1 - x if crops.flip[number] else x
            result[number, channel, y, to_x] = images[number, channel, from_y, from_x]
    return result


@pytest.mark.parametrize("width", [1, 3, 8])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_patches_equal_the_slow_twin(width: int, share: float) -> None:
    images = some_images()
    patches = draw_patches(PatchGaussian(width, 0.7, share), SHAPE, np.random.default_rng(1))
    before = images.copy()
    np.testing.assert_array_equal(add_patches(images, patches), add_patches_slowly(images, patches))
    np.testing.assert_array_equal(images, before)


@pytest.mark.parametrize("padding", [0, 1, 3])
def test_crops_equal_the_slow_twin(padding: int) -> None:
    images = some_images()
    crops = draw_crops(len(images), padding, np.random.default_rng(2))
    np.testing.assert_array_equal(crop_and_flip(images, crops), crop_slowly(images, crops))


def test_noise_is_gaussian_with_the_given_scale() -> None:
    patch = PatchGaussian(8, 0.3)
    noise = draw_patches(patch, (400, 3, 8, 8), np.random.default_rng(0)).noise / 0.3
    count = noise.size
    assert abs(noise.mean()) < 4 / count**0.5
    assert abs((noise**2).mean() - 1) < 4 * (2 / count) ** 0.5  # the variance of a square is 2
    assert abs((noise**4).mean() - 3) < 4 * (96 / count) ** 0.5  # and of a fourth power 96


def test_patch_is_inside_and_every_position_equally_likely() -> None:
    count, positions = 36_000, 6
    patches = draw_patches(PatchGaussian(3, 1.0), (count, 1, 8, 8), np.random.default_rng(0))
    table = np.zeros((positions, positions))
    np.add.at(table, (patches.top, patches.left), 1)  # an index outside would raise
    expected = count / positions**2
    chi_square = ((table - expected) ** 2 / expected).sum()
    assert chi_square < 74  # 35 degrees of freedom: exceeded once in 7000 times


def test_share_of_patched_images() -> None:
    count = 10_000
    patches = draw_patches(PatchGaussian(1, 1.0, 0.3), (count, 1, 4, 4), np.random.default_rng(0))
    assert abs(len(patches.image) / count - 0.3) < 4 * (0.3 * 0.7 / count) ** 0.5
    assert len(set(patches.image.tolist())) == len(patches.image)


def test_pixels_outside_a_patch_are_untouched() -> None:
    images = some_images()
    patches = draw_patches(PatchGaussian(2, 1.0), SHAPE, np.random.default_rng(3))
    changed = (add_patches(images, patches) != images).any(axis=1).sum(axis=(1, 2))
    assert changed.max() == 4  # never more than the patch has
    assert changed.min() >= 3  # clipping may leave a black or white pixel as it was


def test_crops_and_flips_are_drawn_evenly() -> None:
    crops = draw_crops(10_000, 2, np.random.default_rng(0))
    assert set(crops.top.tolist()) == set(crops.left.tolist()) == {0, 1, 2, 3, 4}
    assert abs(crops.flip.mean() - 0.5) < 4 * 0.5 / 100


def test_equal_seeds_give_equal_draws() -> None:
    patch = PatchGaussian(3, 0.5, 0.5)
    first, again, other = (
        draw_patches(patch, SHAPE, np.random.default_rng(seed)) for seed in (7, 7, 8)
    )
    np.testing.assert_array_equal(first.noise, again.noise)
    np.testing.assert_array_equal(first.top, again.top)
    assert first.noise.shape != other.noise.shape or (first.noise != other.noise).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0, 0.1), "'width'"), ((2, -0.1), "'sigma'"), ((2, 0.1, 1.5), "'share'")],
)
def test_impossible_patches_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PatchGaussian(*arguments)


def test_patch_larger_than_the_image_is_refused() -> None:
    with pytest.raises(InputError, match="does not fit"):
        draw_patches(PatchGaussian(9, 0.1), SHAPE, np.random.default_rng(0))
