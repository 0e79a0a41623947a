"""Random networks: what is passed to the library, and the plain numbers behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .draws import (
    REFUSED_DTYPES,
    Array,
    Draw,
    power_of_ten,
    responses,
    spoil,
    store,
    store_exactly,
)

MOST_CONDITIONS = MOST_NEURONS = 8
MOST_TRIALS = 6


@dataclass
class Net:
    """A network as it is given, and as plain float64 arrays.

    Attributes
    ----------
    given : object
        What the library gets.
    trials : list of arrays of shape (L_m, ..., n), or None
    means : array of shape (M, ..., n)
    covariances : array of shape (M, n, n), or None for trials
    usable : bool
        Whether all numbers are finite, so that the library must accept them.
    plain : object
        The same network, stored in the simplest way.
    """

    given: Any
    trials: list[Array] | None
    means: Array
    covariances: Array | None = None
    usable: bool = True
    plain: Any = field(default=None)

    @property
    def n_neurons(self) -> int:
        return int(self.means.shape[-1])

    @property
    def fewest_trials(self) -> int:
        return 1 if self.trials is None else min(map(len, self.trials))

    @property
    def size(self) -> float:
        """The largest response, or the root of the largest variance."""
        ends = [np.abs(one).max(initial=0.0) for one in [self.means, *(self.trials or [])]]
        if self.covariances is not None:
            ends.append(np.sqrt(np.abs(self.covariances).max(initial=0.0)))
        return float(max(ends))

    @property
    def denormal(self) -> bool:
        """Whether responses have lost digits, so that only what has no value can be checked."""
        return any(0 < one < 1e-290 for one in (float(np.abs(self.means).max()), self.size))

    @property
    def offset(self) -> float:
        """How much larger the means are than their differences, which lose as many digits."""
        return self.offset_of(np.ones(len(self.means)))

    def offset_of(self, weights: Array) -> float:
        """Return the same of the conditions that count."""
        means = self.means[weights > 0]
        spread = np.ptp(means, axis=0).max()
        return float(np.abs(means).max() / spread) if spread else 0.0

    def times(self, factor: float) -> Any:
        """Return the plain network with all responses multiplied, exactly for a power of two."""
        if self.trials is not None:
            return [one * factor for one in self.trials]
        if self.covariances is None:
            return self.means * factor
        return self.means * factor, self.covariances * factor * factor

    def factors(self, unit: float) -> Array:
        """Return factors of the covariances (M, n, r), of responses divided by a unit."""
        if self.trials is not None:
            return padded_factors([one.reshape(len(one), -1) / unit for one in self.trials])
        if self.covariances is None:
            return np.zeros((*self.means.shape, 0))
        values, axes = np.linalg.eigh(self.covariances / unit / unit)
        return np.asarray(axes * np.sqrt(np.maximum(values, 0.0))[:, None])


def padded_factors(trials: list[Array]) -> Array:
    """Return factors X' / sqrt(L) of the plug-in covariances, with columns of zeros."""
    width = max(map(len, trials))
    out = np.zeros((len(trials), trials[0].shape[1], width))
    for m, one in enumerate(trials):
        out[m, :, : len(one)] = (one - one.mean(axis=0)).T / np.sqrt(len(one))
    return out


def unit_of(*nets: Net) -> float:
    """Return the power of two that brings the largest response of all networks near 1."""
    largest = max(net.size for net in nets)
    return float(2.0 ** (int(np.frexp(largest)[1]) - 1)) if 0 < largest < np.inf else 1.0


def _trials_given(draw: Draw, values: list[Array]) -> Net:
    """Return a network of trials from lists of trials (L_m, ..., n)."""
    same = len({len(one) for one in values}) == 1
    if same and draw.chance(0.7):
        given, plain = store(draw, spoil(draw, np.stack(values)))
        arrays = list(np.asarray(plain, dtype=np.float64))
    else:
        draw.note("list")
        odd = draw.whole(0, len(values) - 1)  # one condition of any form, and some others exact
        values[odd] = spoil(draw, values[odd])
        given = [store_exactly(draw, one) if draw.chance(0.2) else one for one in values]
        given[odd], odd_values = store(draw, values[odd])
        arrays = [odd_values if m == odd else one for m, one in enumerate(values)]
    # Trials without any number are dropped.
    kept = [one[~np.isnan(one.reshape(len(one), -1)).all(axis=1)] for one in arrays]
    usable = all(len(one) and np.isfinite(one).all() for one in kept)
    if not usable:
        kept = [np.nan_to_num(one, posinf=0.0, neginf=0.0) for one in arrays]
    means = np.stack([(one / len(one)).sum(axis=0) for one in kept])
    return Net(given, kept, means, usable=usable, plain=kept)


def trials(
    draw: Draw,
    M: int,
    n: int,
    *,
    fewest: int = 1,
    most: int = MOST_TRIALS,
    scale: float | None = None,
) -> Net:
    """Return a network of trials, ragged in every third case."""
    L = draw.whole(fewest, most)
    values = list(responses(draw, (M, L, n), scale))
    if draw.chance(0.3):
        values = [one[: draw.whole(fewest, L)] for one in values]
    return _trials_given(draw, values)


def points(draw: Draw, M: int, n: int) -> Net:
    """Return a network without noise: an array (M, n)."""
    given, plain = store(draw, spoil(draw, responses(draw, (M, 1, n))[:, 0]))
    usable = bool(np.isfinite(plain).all())
    return Net(given, None, np.nan_to_num(plain), usable=usable, plain=plain)


def moments(draw: Draw, M: int, n: int) -> Net:
    """Return means and covariances (M, n, n), or variances (M, n)."""
    scale = power_of_ten(draw)
    means = responses(draw, (M, 1, n), scale)[:, 0]
    root = np.abs(scale * draw.rng.normal(size=(M, n)))
    if draw.chance(0.3):
        draw.note("variances")
        S = root**2
        given, full = (
            (store_exactly(draw, means), store_exactly(draw, S)),
            S[:, :, None] * np.eye(n),
        )
    else:
        A = draw.rng.normal(size=(M, n, draw.whole(0, n))) * scale
        S = full = A @ np.swapaxes(A, 1, 2)
        S = full = (S + np.swapaxes(S, 1, 2)) / 2
        draw.note(f"covariances of rank {A.shape[2]}")
        given = store_exactly(draw, means), store_exactly(draw, S)
    return Net(given, None, means, full, plain=(means, S))


def junk(draw: Draw, M: int, n: int) -> Net:
    """Return something that is no network."""
    shape = draw.pick([(M, 2, n), (0, 2, n), (M, 0, n), (M, 2, 0), (n,), (), (2, 2, 2, 2, 2, 2)])
    dtype = draw.pick(REFUSED_DTYPES)
    draw.note(f"junk {dtype} {shape}")
    given: Any = np.ones(shape) if dtype == "M8[s]" else np.ones(shape).astype(dtype)
    if shape == (M, 2, n) and dtype == "M8[s]":
        given = draw.pick([None, "network", 3.0, [], (), [["one"]], {}, [np.ones((2, 2)), None]])
    return Net(given, None, np.zeros((M, n)), usable=False)


def network(draw: Draw, M: int, n: int) -> Net:
    """Return a network of any kind that the Gaussian metric takes."""
    if draw.chance(0.01):
        return junk(draw, M, n)
    return draw.pick([trials, trials, moments, points])(draw, M, n)


def sequences(
    draw: Draw, M: int, shape: tuple[int, ...], n: int, *, fewest: int = 1, most: int = MOST_TRIALS
) -> Net:
    """Return a network of trials with positions, (M, L, *shape, n)."""
    L, P = draw.whole(fewest, most), int(np.prod(shape))
    values = responses(draw, (M, L * P, n)).reshape(M, L, *shape, n)
    if draw.chance(0.2):
        return _trials_given(draw, [one[: draw.whole(fewest, L)] for one in values])
    return _trials_given(draw, list(values))
