"""The shape metric of convolutional layers: maps of channels, with or without shifts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from repshape import _native
from repshape._arrays import extreme_unit
from repshape.coordinates.positions import Blocks, spectra
from repshape.errors import InputError, Rule, check_boolean, check_choice
from repshape.groups import FREE_COORDINATES, GROUPS, spare_neurons
from repshape.metrics.base import Alignment
from repshape.metrics.native import PreparedNative
from repshape.metrics.parameters import ALPHA_RULE, NAMED_GROUP_RULES
from repshape.metrics.prepared import OrderedPair
from repshape.metrics.process import PositionShapeMetric, PreparedPositions
from repshape.moments import check_covariance
from repshape.responses import Trials
from repshape.responses.positions import PositionNetwork, as_positions

FloatArray = npt.NDArray[np.float64]
Shift = tuple[int, int]

# Every shift that its bound does not exclude is searched from this many starts. Those within the
# given factor of the shortest are then searched fully: four starts are rarely that far off.
BRIEF_STARTS, PROMISING = 4, 1.05
# A squared lower bound this close to the best squared distance, relative to the squared responses,
# is equal to it up to rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, repr=False)
class ShiftedAlignment(Alignment):
    """An alignment of maps, with the shift that it belongs to.

    Attributes
    ----------
    shift : tuple of two int
        ``np.roll(y, shift, axis=(height, width)) @ transform`` is aligned to x.
    """

    shift: Shift = (0, 0)


@dataclass(eq=False, repr=False)
class ConvShapeMetric(PositionShapeMetric):
    r"""Distance between convolutional layers, minimised over transforms of channels and shifts.

    All pixels share one transform T of the channels. Responses are maps
    (height, width, channels), and the distance is that of `ProcessShapeMetric` with pixels in place
    of time steps. With ``shifts=True``, it is the smallest of the distances over all circular
    shifts of one network:

    .. math:: d(x, y) = \min_s d_0(x, \mathrm{roll}_s\, y) .

    Parameters
    ----------
    alpha : float in [0, 2]
        Weight of the means; the weight of the covariances is ``2 - alpha``.
    mode : {"marginal", "joint"}
        Whether noise is compared within pixels, or jointly over all pixels.
    shifts : bool
        Whether to minimise over circular shifts.
    group, covariance, preprocess, weights, pad_to, n_starts, tol, max_iter, random_state
        As in `ProcessShapeMetric`.

    Notes
    -----
    Networks are arrays (conditions, trials, height, width, channels), lists with an array of trials
    per condition, tuples of means (conditions, height, width, channels) and covariances, or
    deterministic maps (conditions, height, width, channels).

    For every shift, the best transform of the means and the singular values of the noise of single
    pixels give a lower bound of the distance, by fast Fourier transforms. Shifts are searched
    briefly in the order of these bounds until none of the others can be better. The shift with the
    shortest distance, and all within 5 % of it, are then searched as a pair without shifts is. The
    lower bound of the alignment holds for all shifts.

    A metric on flattened maps, such as ``GaussianShapeMetric`` with height * width * channels
    neurons, allows transforms that mix pixels. That is a much larger group.

    References
    ----------
    Williams, Kunz, Kornblith and Linderman, "Generalized Shape Metrics on Neural Representations",
    NeurIPS 2021, section 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(4, 6, 5, 3))  # conditions, height, width, channels
    >>> Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    >>> y = np.roll(x, (2, 1), axis=(1, 2)) @ Q
    >>> ConvShapeMetric(shifts=True).distance(x, y) < 1e-6 < ConvShapeMetric().distance(x, y)
    True
    >>> ConvShapeMetric(shifts=True).align(x, y).shift  # back by 2 of 6 and by 1 of 5
    (4, 4)
    """

    title = "Convolutional"
    full_title = "Convolutional shape distance"
    key_parameter = ("alpha", "α")
    _rules: ClassVar[Mapping[str, Rule]] = {
        "alpha": ALPHA_RULE,
        "mode": partial(check_choice, choices=("marginal", "joint")),
        "shifts": check_boolean,
        "covariance": check_covariance,
        **NAMED_GROUP_RULES,
    }

    _: KW_ONLY
    mode: str = "marginal"
    shifts: bool = False

    def _sentence(self) -> str:
        where = "over circular shifts and " if self.shifts else "over "
        return (
            f"Convolutional shape distance at α = {self.alpha:g} ({self.mode}): pixels share one "
            f"transform of the channels, and the distance is the smallest {where}transforms."
        )

    def _read(self, network: Any, name: str = "network") -> PositionNetwork:
        if not isinstance(network, PositionNetwork | tuple | list) and np.ndim(network) == 4:
            return PositionNetwork.points(network)
        found = as_positions(network, name)
        if len(found.positions) != 2:
            raise InputError(
                f"The {name} must be maps: an array (conditions, trials, height, width, channels), "
                "or (conditions, height, width, channels) without noise. "
                f"Got {found!r} instead."
            )
        return found

    def _in_bulk(self, prepared: Sequence[PreparedNative], index: _native.IndexArray) -> bool:
        return not self.shifts and super()._in_bulk(prepared, index)

    def _align_prepared(self, x: Any, y: Any) -> Alignment:
        if not self.shifts:
            return super()._align_prepared(x, y)
        found, shift = self._solve_shifted(x, y, None)
        return ShiftedAlignment(**vars(self._alignment(found, x, y)), shift=shift)

    def _solve_pair(
        self, x: Any, y: Any, starts: FloatArray | None = None, brief: int | None = None
    ) -> _native.Solution:
        if not self.shifts:
            return super()._solve_pair(x, y, starts, brief)
        return self._solve_shifted(x, y, starts)[0]  # every search is complete

    def score(self, alignment: Alignment, x: Any, y: Any) -> float:
        """Return the distance of held-out responses under an alignment found on other responses.

        The preprocessing and the shift of the alignment are applied as they were found.
        """
        self._validate_parameters()
        shift = getattr(alignment, "shift", (0, 0))
        moved: Any = rolled(self._read(y, "y"), shift)
        return super().score(alignment, x, moved)

    def _solve_shifted(
        self, x: Any, y: Any, starts: FloatArray | None
    ) -> tuple[_native.Solution, Shift]:
        """Return the best solution over shifts of y, and its shift."""
        pair = OrderedPair(x, y)
        still, moving = pair.first, pair.second
        unit = self._unit(still, moving)
        bounds = self._shift_bounds(still, moving, unit)

        def solve(shift: Shift, brief: int | None) -> _native.Solution:
            moved = self._shifted(moving, shift)
            first, second = (moved, still) if pair.swapped else (still, moved)
            return super(ConvShapeMetric, self)._solve_pair(first, second, starts, brief)

        slack = ROUNDING * (self._total(still, unit) + self._total(moving, unit))
        again = starts is None and self.n_starts == "auto"
        found, shift, least = search_shifts(bounds, solve, slack, unit, again=again)
        if pair.swapped:  # a shift of one network is the opposite shift of the other
            shift = (-shift[0]) % bounds.shape[0], (-shift[1]) % bounds.shape[1]
        bound = min(found.distance, unit * float(np.sqrt(max(least, 0.0))))
        return replace(found, lower_bound=bound), shift

    def _shifted(self, prepared: PreparedPositions, shift: Shift) -> PreparedPositions:
        if shift == (0, 0):
            return prepared
        net = roll_blocks(prepared.net, prepared.positions, shift)
        return replace(prepared, net=net, native=self._handle(net, prepared.padded))

    def _unit(self, x: PreparedPositions, y: PreparedPositions) -> float:
        """Return the unit in which responses that have weight can be squared."""
        used = [one.net.means for one in (x, y) if self.alpha > 0]
        used += [one.net.factors for one in (x, y) if self.alpha < 2]
        return extreme_unit(*used)

    def _total(self, prepared: PreparedPositions, unit: float) -> float:
        """Return the weighted sum of squared responses, in squared units."""
        net = prepared.net
        weights = self._weights(len(net.means))
        total = 0.0
        if self.alpha > 0:
            total += self.alpha * float(weights @ ((net.means / unit) ** 2).sum(axis=(1, 2)))
        if self.alpha < 2:
            each = np.repeat(weights, net.per_condition)
            noise = float(each @ ((net.factors / unit) ** 2).sum(axis=(1, 2, 3)))
            total += (2 - self.alpha) * noise
        return total

    def _shift_bounds(self, x: PreparedPositions, y: PreparedPositions, unit: float) -> FloatArray:
        """Return lower bounds of the squared distance, in squared units, for all shifts of y.

        They have the shape (height, width).
        """
        M = len(x.net.means)
        root = np.sqrt(self._weights(M))[:, None, None, None]
        shape = (M, *x.positions, -1)
        means = (root * (one.net.means.reshape(shape) / unit) for one in (x, y))
        gain = np.zeros(x.positions)
        if self.alpha > 0:
            gain += self.alpha * self._best_gain(correlate(*means))
        if self.alpha < 2:
            values = (_pixel_spectra(one.net, self.mode).reshape(shape) for one in (x, y))
            noise = [root * (one / unit) for one in values]
            size = min(one.shape[3] for one in noise)
            if size:
                gain += (2 - self.alpha) * correlate_sum(*(one[..., :size] for one in noise))
        return np.asarray(self._total(x, unit) + self._total(y, unit) - 2 * gain)

    def _best_gain(self, cross: FloatArray) -> FloatArray:
        """Return max over the group of <T, R_s>, for every shift s, or an upper bound of it."""
        if self.group in FREE_COORDINATES:
            return np.asarray(np.linalg.svd(cross, compute_uv=False).sum(axis=-1))
        oracle = GROUPS[self.group]
        sizes = cross.shape[2:]
        spare = spare_neurons(self.pad_to, max(sizes), min(sizes))
        out = np.empty(cross.shape[:2])
        for place in np.ndindex(out.shape):
            R = cross[place]
            if self.group == "permutation" and spare:  # leave out what would cost
                R = np.maximum(R, 0.0)
            out[place] = np.sum(oracle(R) * R)
        return out


def search_shifts(
    bounds: FloatArray,
    solve: Callable[[Shift, int | None], _native.Solution],
    slack: float,
    unit: float = 1.0,
    *,
    again: bool = True,
) -> tuple[_native.Solution, Shift, float]:
    """Search every shift briefly unless its bound excludes it, and the most promising ones fully.

    Parameters
    ----------
    bounds : array of shape (height, width)
        Lower bounds of the squared distances.
    solve : callable
        Maps a shift, and the number of starts of a brief search or None, to a solution.
    slack : float
        Squared distances that differ by less are equal.
    unit : float
        The bounds, the slack and the returned bound are in squares of this unit.
    again : bool
        Whether a full search can improve on a brief one.

    Returns
    -------
    The best solution, its shift, and a lower bound of the squared distance over all shifts.
    """
    tried: list[tuple[_native.Solution, Shift, float]] = []
    shortest, least = np.inf, np.inf
    for place in np.argsort(bounds, axis=None, kind="stable").tolist():
        limit = float(bounds.flat[place])
        if limit >= (shortest / unit) ** 2 - slack:
            least = min(least, limit)
            break
        row, column = np.unravel_index(place, bounds.shape)
        shift = int(row), int(column)
        found = solve(shift, BRIEF_STARTS)
        shortest = min(shortest, found.distance)
        least = min(least, max((found.lower_bound / unit) ** 2, limit))
        tried.append((found, shift, limit))
    tried.sort(key=lambda one: one[0].distance)
    best, where, _ = tried[0]
    promising = PROMISING * best.distance
    for brief, shift, limit in tried if again else ():
        if brief.distance > promising:
            break
        if limit >= (best.distance / unit) ** 2 - slack and shift != where:
            continue
        found = solve(shift, None)
        if found.distance <= best.distance:
            best, where = found, shift
    return best, where, least


def correlate(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return R_s = sum over m and p of x_mp y_m(p-s)' for all circular shifts s, by FFT.

    x (M, h, w, a) and y (M, h, w, b) give (h, w, a, b).
    """
    X, Y = (np.fft.rfft2(one, axes=(1, 2)) for one in (x, y))
    product = np.einsum("mhwa,mhwb->hwab", X, np.conj(Y), optimize=True)
    return np.asarray(np.fft.irfft2(product, s=x.shape[1:3], axes=(0, 1)))


def correlate_sum(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the trace of what `correlate` returns, (h, w), without the other entries."""
    X, Y = (np.fft.rfft2(one, axes=(1, 2)) for one in (x, y))
    product = np.einsum("mhwa,mhwa->hw", X, np.conj(Y), optimize=True)
    return np.asarray(np.fft.irfft2(product, s=x.shape[1:3]))


def roll_blocks(net: Blocks, positions: tuple[int, ...], shift: Shift) -> Blocks:
    """Shift the positions of means and factors circularly."""
    M, P, s = net.means.shape
    means = np.roll(net.means.reshape(M, *positions, s), shift, axis=(1, 2))
    factors = net.factors.reshape(M, *positions, *net.factors.shape[2:])
    factors = np.roll(factors, shift, axis=(1, 2)).reshape(net.factors.shape)
    return replace(net, means=means.reshape(M, P, s), factors=factors)


def rolled(network: PositionNetwork, shift: Shift) -> PositionNetwork:
    """Shift the maps of a network circularly."""
    flat = network.flat
    index = np.arange(flat.n_neurons).reshape(*network.positions, network.n_neurons)
    order = np.roll(index, shift, axis=(0, 1)).ravel()
    if isinstance(flat, Trials):
        moved: Any = Trials._trusted(
            flat.pooled[:, order], flat.n_trials, flat.n_dropped, flat.conditions
        )
        return network.with_responses(moved)
    stored = flat.stored[:, order]
    if flat.kind == "full":
        stored = stored[:, :, order]
    parts = flat.means[:, order], np.ascontiguousarray(stored)
    return network.with_responses(type(flat)._trusted(*parts, flat.kind, flat.conditions))


def _pixel_spectra(net: Blocks, mode: str) -> FloatArray:
    """Return the singular values of the noise of every pixel, (M, P, k)."""
    M, P, _ = net.means.shape
    values = spectra(net, mode)
    return values[0].reshape(M, P, -1) if mode == "marginal" else values[1]
