"""Sprites with five known factors: rendered here, or read from the original dSprites file.

dSprites (Matthey et al. 2017) shows every combination of 3 shapes, 6 scales, 40 orientations and
32 x 32 positions, 737 280 binary images of 64 x 64 pixels in all. The renderer reproduces its
factors; the exact outlines are our own. Positions are one pixel apart, so that an image is a window
of one of 720 pictures, and a batch costs no more than a copy.
"""

from __future__ import annotations

import zipfile
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import numpy.typing as npt

from experiments.common.files import write_whole
from repshape.errors import InputError

IntArray = npt.NDArray[np.integer[Any]]
FloatArray = npt.NDArray[np.floating[Any]]
ByteArray = npt.NDArray[np.uint8]

FACTORS = ("shape", "scale", "orientation", "x", "y")
SIZES = (3, 6, 40, 32, 32)
SHAPES = ("square", "ellipse", "heart")
SIDE = 64  # pixels of the original
SIDES = (32, 64)

# Outlines at scale 1, in pixels of the 64 x 64 image. The areas are about equal, and no sprite
# reaches farther than 16 pixels, so that none is cut off at any position.
SQUARE_HALF_SIDE = 10.25
ELLIPSE_SEMI_AXES = (8.5, 15.0)
HEART_UNIT = 10.6
SMALLEST_SCALE = 0.5
# Read and packed at a time; an image of 64 x 64 is 4 kB.
CHUNK = 4096


class Sprites(Protocol):
    """Images of known factors, by number."""

    side: int
    sizes: tuple[int, ...]

    def images(self, index: IntArray) -> FloatArray:
        """Return images of shape (len(index), 1, side, side) in [0, 1], float32."""
        ...


def factors_of(index: IntArray, sizes: tuple[int, ...] = SIZES) -> IntArray:
    """Return the factors of each image, one row each; the last factor varies fastest.

    >>> factors_of(np.array([0, 31, 32, 737_279])).tolist()
    [[0, 0, 0, 0, 0], [0, 0, 0, 0, 31], [0, 0, 0, 1, 0], [2, 5, 39, 31, 31]]
    """
    return np.stack(np.unravel_index(index, sizes), axis=-1)


def index_of(factors: IntArray, sizes: tuple[int, ...] = SIZES) -> IntArray:
    """Return the number of each image, from rows of factors.

    >>> index_of(np.array([[2, 5, 39, 31, 31]])).tolist()
    [737279]
    """
    return np.asarray(np.ravel_multi_index(tuple(np.moveaxis(factors, -1, 0)), sizes))


def inside(shape: str, across: FloatArray, down: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which points lie inside a shape of scale 1, in pixels from its centre."""
    if shape == "square":
        return np.maximum(abs(across), abs(down)) <= SQUARE_HALF_SIDE
    if shape == "ellipse":
        return (across / ELLIPSE_SEMI_AXES[0]) ** 2 + (down / ELLIPSE_SEMI_AXES[1]) ** 2 <= 1
    x, y = across / HEART_UNIT, -down / HEART_UNIT  # the point of the heart is below
    return (x**2 + y**2 - 1) ** 3 <= x**2 * y**3


def orientation_angle(orientation: int) -> float:
    """Return an angle in radians: 40 values from 0 to 2 pi, so that first and last are equal."""
    steps = SIZES[2] - 1
    return 2 * np.pi * (orientation % steps) / steps


class RenderedSprites:
    """Sprites drawn from their factors.

    Parameters
    ----------
    side : int
        64 gives binary images, as in the original; 32 gives means over blocks of 2 x 2 pixels.

    Examples
    --------
    >>> sprites = RenderedSprites(64)
    >>> sprites.images(np.array([0, 737_279])).shape
    (2, 1, 64, 64)
    """

    def __init__(self, side: int = SIDE) -> None:
        self.side = check_side(side)
        self.sizes: tuple[int, ...] = SIZES

    @cached_property
    def _windows(self) -> ByteArray:
        """Windows of a canvas for each shape, scale and orientation, by offset; a view.

        At half the side, the canvas has the sums of all blocks, and a window every second of them.
        """
        canvas = np.stack([_draw(*kind) for kind in np.ndindex(*SIZES[:3])])
        step = SIDE // self.side
        if step == 2:
            canvas = canvas[:, :-1] + canvas[:, 1:]
            canvas = canvas[:, :, :-1] + canvas[:, :, 1:]
        window = (SIDE + 1 - step,) * 2
        views = np.lib.stride_tricks.sliding_window_view(canvas, window, axis=(1, 2))
        return views[..., ::step, ::step]

    def images(self, index: IntArray) -> FloatArray:
        """Return images of shape (len(index), 1, side, side) in [0, 1], float32."""
        factors = factors_of(index)
        kind = np.ravel_multi_index(tuple(factors[:, :3].T), SIZES[:3])
        # Moving the window to the left moves the sprite to the right.
        right, down = SIZES[3] - 1 - factors[:, 3], SIZES[4] - 1 - factors[:, 4]
        chosen: ByteArray = self._windows[kind, down, right]
        return chosen[:, None] * np.float32((self.side / SIDE) ** 2)


def _draw(shape: int, scale: int, orientation: int) -> ByteArray:
    """Draw one sprite in the middle of a canvas that holds a window for every position."""
    margin = SIZES[3] - 1
    axis = np.arange(SIDE + margin) - (SIDE + margin - 1) / 2
    across, down = axis[None, :], axis[:, None]
    size = np.linspace(SMALLEST_SCALE, 1, SIZES[1])[scale]
    angle = orientation_angle(orientation)
    turned_across = np.cos(angle) * across + np.sin(angle) * down
    turned_down = np.cos(angle) * down - np.sin(angle) * across
    return inside(SHAPES[shape], turned_across / size, turned_down / size).astype(np.uint8)


class OriginalSprites:
    """Sprites of the original file, packed to bits once and then mapped into memory.

    Parameters
    ----------
    path : Path
        ``dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz``.
    cache : Path
        File for the packed images (378 MB); written if it is missing.
    side : int
        As for `RenderedSprites`.
    sizes : tuple of int
        Numbers of values of the factors.
    """

    def __init__(
        self, path: Path, cache: Path, side: int = SIDE, sizes: tuple[int, ...] = SIZES
    ) -> None:
        self.side = check_side(side)
        self.sizes = sizes
        if not cache.exists():
            pack_original(path, cache, int(np.prod(sizes)))
        self._packed: ByteArray = np.load(cache, mmap_mode="r", allow_pickle=False)

    def images(self, index: IntArray) -> FloatArray:
        """Return images of shape (len(index), 1, side, side) in [0, 1], float32."""
        bits = np.unpackbits(self._packed[index], axis=1)
        return resize(bits.reshape(-1, SIDE, SIDE), self.side)


def pack_original(path: Path, cache: Path, count: int) -> None:
    """Pack the images of the original file to bits, a chunk at a time (they are 3 GB unpacked)."""
    shape = (count, SIDE**2 // 8)
    with zipfile.ZipFile(path) as archive, archive.open("imgs.npy") as images:
        _check_header(images, (count, SIDE, SIDE), path)
        cache.parent.mkdir(parents=True, exist_ok=True)
        with write_whole(cache) as handle:
            header = {"descr": "|u1", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(handle, header)
            for start in range(0, count, CHUNK):
                rows = min(CHUNK, count - start)
                raw = np.frombuffer(images.read(rows * SIDE**2), dtype=np.uint8)
                if len(raw) != rows * SIDE**2 or raw.max() > 1:
                    raise InputError(f"{path} is not the original dSprites file: {start=}.")
                handle.write(np.packbits(raw.reshape(rows, -1), axis=1).tobytes())


def _check_header(images: IO[bytes], expected: tuple[int, ...], path: Path) -> None:
    np.lib.format.read_magic(images)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(images)
    if shape != expected or fortran or dtype != np.uint8:
        raise InputError(
            f"{path} must hold 'imgs' of shape {expected} and type uint8. "
            f"Got {shape} and {dtype} instead."
        )


def resize(images: ByteArray, side: int) -> FloatArray:
    """Return binary images with a channel, as float32; means of 2 x 2 blocks if ``side`` is 32."""
    if side == SIDE:
        return images[:, None].astype(np.float32)
    blocks = images[:, ::2, ::2] + images[:, 1::2, ::2] + images[:, ::2, 1::2]
    blocks += images[:, 1::2, 1::2]
    return blocks[:, None] * np.float32(0.25)


def check_side(side: int) -> int:
    """Return the side, or raise a sentence that names the choices."""
    if side not in SIDES:
        raise InputError(f"The 'side' parameter must be one of {SIDES}. Got {side!r} instead.")
    return side
