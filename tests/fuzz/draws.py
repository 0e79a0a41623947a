"""The random choices of one case: responses of every kind, and ways to store an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Choice = TypeVar("Choice")

# Responses are between 10^-150 and 10^150; the outliers of a network too.
LARGEST_EXPONENT = 150.0
# Share of the cases whose scale is not 1, and of those with an entry that is not a number.
SCALED, SPOILT = 0.5, 0.02


class Draw:
    """The random source of one case, and words that describe what it chose."""

    def __init__(self, seed: int, number: int) -> None:
        self.rng = np.random.default_rng([seed, number])
        self.words: list[Any] = []
        # What the function should do: return a "value", answer with a "refusal", or "either".
        self.expect = "either"
        self.group_objects = False  # whether groups are given as objects, not by their names

    def pick(self, options: Sequence[Choice]) -> Choice:
        return options[int(self.rng.integers(len(options)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def whole(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def note(self, words: Any) -> None:
        """Remember a choice; it is turned into text only if the case is shown."""
        self.words.append(words)


def power_of_ten(draw: Draw) -> float:
    """Return a scale: 1, or any power of ten in the range."""
    if not draw.chance(SCALED):
        return 1.0
    exponent = float(draw.rng.uniform(-LARGEST_EXPONENT, LARGEST_EXPONENT))
    return float(10.0 ** draw.pick([exponent, round(exponent), -LARGEST_EXPONENT, exponent / 5]))


def _normal(draw: Draw, shape: tuple[int, int, int]) -> Array:
    means = draw.rng.normal(size=(shape[0], 1, shape[2]))
    return means + draw.rng.normal(size=shape)


def _counts(draw: Draw, shape: tuple[int, int, int]) -> Array:
    return draw.rng.poisson(2.0, size=shape).astype(float)


def _constant(draw: Draw, shape: tuple[int, int, int]) -> Array:
    return np.full(shape, draw.rng.normal())


def _zeros(draw: Draw, shape: tuple[int, int, int]) -> Array:
    return np.zeros(shape)


def _copies(draw: Draw, shape: tuple[int, int, int]) -> Array:
    return np.repeat(draw.rng.normal(size=(shape[0], 1, shape[2])), shape[1], axis=1)


def _low_rank(draw: Draw, shape: tuple[int, int, int]) -> Array:
    rank = draw.whole(0, shape[2])
    axes = draw.rng.normal(size=(rank, shape[2]))
    return np.asarray(draw.rng.normal(size=(*shape[:2], rank)) @ axes)


def _offset(draw: Draw, shape: tuple[int, int, int]) -> Array:
    return _normal(draw, shape) + 10.0 ** draw.whole(2, 15)


def _silent(draw: Draw, shape: tuple[int, int, int]) -> Array:
    values = _normal(draw, shape)
    values[..., draw.whole(0, shape[2] - 1)] = 0.0
    return values


def _twins(draw: Draw, shape: tuple[int, int, int]) -> Array:
    values = _normal(draw, shape)
    values[..., -1] = values[..., 0]
    return values


def _uneven(draw: Draw, shape: tuple[int, int, int]) -> Array:
    return _normal(draw, shape) * 10.0 ** draw.rng.integers(-8, 9, size=shape[2])


def _small_noise(draw: Draw, shape: tuple[int, int, int]) -> Array:
    means = draw.rng.normal(size=(shape[0], 1, shape[2]))
    return np.asarray(means + 10.0 ** draw.whole(-17, -6) * draw.rng.normal(size=shape))


PATTERNS = {
    "normal": _normal,
    "counts": _counts,
    "constant": _constant,
    "zeros": _zeros,
    "copies": _copies,
    "low rank": _low_rank,
    "offset": _offset,
    "silent neuron": _silent,
    "twin neurons": _twins,
    "uneven neurons": _uneven,
    "small noise": _small_noise,
}
# Ordinary responses are the most likely; every third network is odd.
PATTERN_NAMES = ["normal"] * 2 * len(PATTERNS) + list(PATTERNS)


def responses(draw: Draw, shape: tuple[int, int, int], scale: float | None = None) -> Array:
    """Return responses (conditions, trials, neurons) of a random pattern and scale."""
    pattern = draw.pick(PATTERN_NAMES)
    values = PATTERNS[pattern](draw, shape)
    scale = power_of_ten(draw) if scale is None else scale
    if draw.chance(0.02):  # numbers that have lost digits: multiples of the smallest
        draw.note(f"denormal {shape}")
        return np.asarray(np.round(values * 1e4) * 5e-324)
    if draw.chance(0.03) and values.size:  # one response of another order of magnitude
        room = LARGEST_EXPONENT - np.log10(max(scale, 1.0))
        values.flat[draw.whole(0, values.size - 1)] *= 10.0 ** float(draw.rng.uniform(0, room))
        pattern += " with outlier"
    largest = float(np.abs(values).max(initial=0.0))
    scale = min(scale, 10.0**LARGEST_EXPONENT / max(largest, 1.0))
    draw.note(f"{pattern} {shape} at {scale:.3g}")
    with np.errstate(under="ignore"):
        return np.asarray(values * scale)


def spoil(draw: Draw, values: Array) -> Array:
    """Return the values, rarely with NaN or infinity somewhere."""
    if not draw.chance(SPOILT) or not values.size:
        return values
    values = values.copy()
    how = draw.pick(["nan", "inf", "-inf", "whole trial"])
    if how == "whole trial" and values.ndim > 2:
        values[draw.whole(0, values.shape[0] - 1), draw.whole(0, values.shape[1] - 1)] = np.nan
    else:
        values.flat[draw.whole(0, values.size - 1)] = float(how) if "w" not in how else np.nan
    draw.note(f"damaged by {how}")
    return values


def _strided(draw: Draw, values: Array) -> Array:
    wide = np.zeros(tuple(2 * size for size in values.shape))
    part = wide[tuple(slice(None, None, 2) for _ in values.shape)]
    part[...] = values
    return part


def _reversed(draw: Draw, values: Array) -> Array:
    ends = tuple(slice(None, None, -1) for _ in values.shape)
    return np.ascontiguousarray(values[ends])[ends]


def _turned(draw: Draw, values: Array) -> Array:
    return np.ascontiguousarray(np.moveaxis(values, 0, -1)).transpose(
        values.ndim - 1, *range(values.ndim - 1)
    )


def _read_only(draw: Draw, values: Array) -> Array:
    kept = values.copy()
    kept.flags.writeable = False
    return kept


def _unmasked(draw: Draw, values: Array) -> Any:
    return np.ma.array(values, mask=np.zeros(values.shape, dtype=bool))


EXACT_STORAGES = {
    "C order": lambda draw, values: values.copy(),
    "Fortran order": lambda draw, values: np.asfortranarray(values),
    "strided": _strided,
    "reversed": _reversed,
    "turned": _turned,
    "read-only": _read_only,
    "read-only Fortran order": lambda draw, values: np.asfortranarray(_read_only(draw, values)),
    "big-endian": lambda draw, values: values.astype(">f8"),
    "long double": lambda draw, values: values.astype(np.longdouble),
    "no entry masked": _unmasked,
    "nested lists": lambda draw, values: values.tolist(),
}
DTYPES = ["f4", "f2", ">f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", "?"]
REFUSED_DTYPES = ["c16", "O", "U8", "M8[s]"]


def store_exactly(draw: Draw, values: Array) -> Any:
    """Return the same numbers, stored in another way."""
    name = draw.pick(list(EXACT_STORAGES))
    draw.note(name)
    return EXACT_STORAGES[name](draw, values)


def store(draw: Draw, values: Array) -> tuple[Any, Array]:
    """Return an array in a random form, and the numbers that it holds as float64."""
    kind = draw.pick(["exact", "exact", "dtype", "masked"])
    if kind == "dtype":
        dtype = np.dtype(draw.pick(DTYPES))
        given = _cast(values, dtype)
        held = given.astype(np.float64)
        # Most of the time numbers should survive, instead of becoming zeros or infinite.
        survives = np.isfinite(held).all() and held.any() == values.any()
        if survives or draw.chance(0.05):
            draw.note(f"dtype {dtype.str}")
            return given, held
    if kind == "masked" and values.size and draw.chance(0.2):
        mask = np.zeros(values.shape, dtype=bool)
        where = (0, 0) if draw.chance(0.5) and values.ndim > 2 else (0,) * values.ndim
        mask[where] = True
        draw.note("masked trial" if len(where) == 2 else "masked entry")
        return np.ma.array(values, mask=mask), np.where(mask, np.nan, values)
    return store_exactly(draw, values), values


def _cast(values: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if dtype.kind == "f":
            return values.astype(dtype)
        if dtype.kind == "b":
            return np.asarray(values > 0)
        ends = np.iinfo(dtype)
        # The largest 64-bit integers are no float64: stay well inside.
        rounded = np.clip(np.nan_to_num(np.round(values)), ends.min * 0.99, ends.max * 0.99)
        return rounded.astype(dtype)
