"""The one door to the compiled core: options and handles go in, named results come out.

Nothing else imports `repshape._core`. A handle holds one network in the coordinates in which it is
solved; options hold everything about a search that does not depend on the pair. Transforms map
rows of y onto x, shape (s_y, s_x), in the coordinates of the two handles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape import _core
from repshape._core import Network, Options, Samples, instruction_set, instruction_sets

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]

__all__ = [
    "Network",
    "Options",
    "PairResults",
    "Parts",
    "Samples",
    "Slope",
    "Solution",
    "align",
    "align_pairs",
    "energy_gradient",
    "energy_loss",
    "evaluate",
    "gradient",
    "instruction_set",
    "instruction_sets",
    "make_network",
    "make_options",
    "make_positions",
    "make_samples",
    "rate_energy",
    "rate_gaussian",
]

# Singular values below this fraction of the largest of a block are rounding.
RANK_TOLERANCE = 1e-12
# The numbers by which the compiled core knows the groups.
GROUP_CODES = {"orthogonal": 0, "rotation": 1, "permutation": 2, "identity": 3}


@dataclass(frozen=True)
class Solution:
    """The best transform of one pair.

    Attributes
    ----------
    distance, lower_bound : float
        The distance at the transform, and a proven lower bound of the minimum.
    mean_distance, covariance_distance : float
        The two parts of a Gaussian distance; NaN for energy distances.
    converged : bool
    n_iterations, n_starts : int
        Gradient evaluations of the best start, and the number of starts.
    n_agreeing : int
        Number of starts that ended in the best optimum.
    transform : array of shape (s_y, s_x)
    gap : float
        By what share the second-best optimum found is longer than the best: 0 if no start ended
        anywhere else, NaN if not known.
    """

    distance: float
    lower_bound: float
    mean_distance: float
    covariance_distance: float
    converged: bool
    n_iterations: int
    n_starts: int
    n_agreeing: int
    transform: FloatArray
    gap: float = float("nan")


@dataclass(frozen=True)
class PairResults:
    """The best transforms of P pairs.

    Attributes
    ----------
    distance, lower_bound : array of shape (P,)
    converged : bool array of shape (P,)
    n_starts, n_agreeing : int array of shape (P,)
        Numbers of independent starts, and of those that ended in the best optimum.
    n_composed : int array of shape (P,), or None
        Number of compositions of other pairs' transforms that ended in the best optimum; None if
        none were tried.
    transforms : list of P arrays of shape (s_y, s_x), or None
        The transforms in the coordinates of the prepared networks; None unless they were asked for.
    gap : array of shape (P,), or None
        By what share the second-best optimum found is longer than the best: 0 if no start ended
        anywhere else, NaN where not known.
    """

    distance: FloatArray
    lower_bound: FloatArray
    converged: npt.NDArray[np.bool_]
    n_starts: IndexArray
    n_agreeing: IndexArray
    transforms: list[FloatArray] | None = None
    n_composed: IndexArray | None = None
    gap: FloatArray | None = None

    @classmethod
    def of(cls, found: Sequence[Any], *, keep: bool = False) -> PairResults:
        """Collect single solutions, or alignments if their transforms are not kept."""
        return cls(
            distance=np.array([one.distance for one in found]),
            lower_bound=np.array([one.lower_bound for one in found]),
            converged=np.array([one.converged for one in found], dtype=bool),
            n_starts=np.array([one.n_starts for one in found], dtype=np.int64),
            n_agreeing=np.array([one.n_agreeing for one in found], dtype=np.int64),
            transforms=[one.transform for one in found] if keep else None,
            gap=np.array([one.gap for one in found]),
        )


@dataclass(frozen=True)
class Parts:
    """Squared Gaussian distance at a fixed transform: the parts of means and of covariances."""

    means: float
    covariances: float


@dataclass(frozen=True)
class Slope:
    """An objective and its gradient, of shape (s_x, s_y)."""

    value: float
    gradient: FloatArray


def make_network(
    means: FloatArray,
    factors: FloatArray,
    spectrum: FloatArray,
    *,
    diagonal: bool = False,
    reduced: bool = False,
) -> Network:
    """Return the handle of a network with Gaussian responses.

    Parameters
    ----------
    means : array of shape (M, s)
    factors : array of shape (M, s, r), or (M, s) standard deviations if ``diagonal``
    spectrum : array of shape (M, r)
        Singular values of the factors, in descending order.
    reduced : bool
        Whether the coordinates span fewer dimensions than the network has neurons.
    """
    return Network(
        np.ascontiguousarray(means),
        np.ascontiguousarray(factors),
        np.ascontiguousarray(spectrum),
        diagonal,
        reduced=reduced,
    )


def make_positions(
    means: FloatArray,
    factors: FloatArray,
    spectra: Sequence[FloatArray],
    *,
    reduced: bool = False,
) -> Network:
    """Return the handle of a network with Gaussian responses at several positions.

    Parameters
    ----------
    means : array of shape (M, P, s)
    factors : array of shape (K, P, s, r)
        K / M blocks for each condition.
    spectra : sequence of arrays of shape (M, groups, values)
        Singular values for lower bounds; the first array has those of the blocks.
    reduced : bool
        Whether the coordinates span fewer dimensions than the network has neurons.
    """
    K, _, _, r = factors.shape
    own = spectra[0].reshape(K, -1)
    own = np.where(own > RANK_TOLERANCE * own.max(axis=1, initial=0.0, keepdims=True), own, 0.0)
    return _core.make_positions(
        np.ascontiguousarray(means),
        np.ascontiguousarray(np.swapaxes(factors, 1, 2)),
        np.ascontiguousarray(np.pad(own, ((0, 0), (0, r - own.shape[1])))),
        [np.ascontiguousarray(one) for one in spectra[1:]],
        reduced,
    )


def make_samples(
    rows: FloatArray, n_trials: npt.NDArray[np.int_], n_neurons: int, q: float
) -> Samples:
    """Return the handle of a network's trials, (sum of trials, s), condition after condition.

    ``n_neurons`` is the number of neurons before any reduction, and q the power of the energy
    distance.
    """
    counts = n_trials.astype(np.int64)
    return Samples(np.ascontiguousarray(rows), counts, n_neurons, float(q))


def make_options(group: str, starts: FloatArray, **settings: Any) -> Options:
    """Return the options of a search over a group; the settings are those of `Options`.

    ``starts`` (S, s, s) are starting points besides the means, s being the size of the larger
    network. If ``screen`` is True, the search makes its own starts until they agree; otherwise the
    given ones are finished. ``pad_to`` is the number of neurons of the space in which permutations
    act; 0 stands for that of the larger network.
    """
    return Options(group=GROUP_CODES[group], starts=starts, n_starts=len(starts), **settings)


def align(x: Any, y: Any, options: Options, starts: FloatArray | None = None) -> Solution:
    """Align y to x, two handles of the same kind, from starts (S, s_y, s_x) if they are given."""
    given = [] if starts is None else [np.ascontiguousarray(starts)]
    found = _core.align(x, y, options, given)
    return Solution(**{one.name: getattr(found, one.name) for one in fields(Solution)})


def align_pairs(
    handles: Sequence[Any],
    pairs: IndexArray,
    options: Mapping[int, Options],
    starts: Sequence[FloatArray] | None = None,
    *,
    keep: bool = False,
) -> PairResults:
    """Align many pairs, with the interpreter lock released.

    Parameters
    ----------
    handles : sequence of handles
    pairs : int array of shape (P, 2)
        Indices into ``handles``.
    options : mapping of int to options
        By the size of the larger network of a pair.
    starts : sequence of P arrays of shape (S, s_y, s_x), optional
        Transforms to start from, instead of the starts of the options.
    keep : bool
        Whether to return the transforms.
    """
    index = np.ascontiguousarray(pairs, dtype=np.int64)
    given = [] if starts is None else [np.ascontiguousarray(one) for one in starts]
    found = _core.align_pairs(list(handles), index, dict(options), given, keep)
    return PairResults(
        distance=found.distance,
        lower_bound=found.lower_bound,
        converged=found.converged,
        n_starts=found.n_starts,
        n_agreeing=found.n_agreeing,
        gap=found.gap,
        transforms=found.transforms if keep else None,
    )


def rate_gaussian(
    handles: Sequence[Network],
    pairs: IndexArray,
    transforms: Sequence[FloatArray],
    weights: FloatArray,
    alpha: float,
) -> list[FloatArray]:
    """Return what the search maximises at fixed transforms (S, s_y, s_x) of each pair.

    Values are comparable within a pair only. With many conditions they come from some of them.
    """
    flat = _core.rate(list(handles), *_contiguous(pairs, transforms), weights, float(alpha))
    return _split(flat, transforms)


def rate_energy(
    handles: Sequence[Samples],
    pairs: IndexArray,
    transforms: Sequence[FloatArray],
    weights: FloatArray,
    q: float,
) -> list[FloatArray]:
    """Return minus the energy loss at fixed transforms (S, s_y, s_x) of each pair."""
    flat = _core.energy_rate(list(handles), *_contiguous(pairs, transforms), weights, float(q))
    return _split(flat, transforms)


def _contiguous(
    pairs: IndexArray, transforms: Sequence[FloatArray]
) -> tuple[IndexArray, list[FloatArray]]:
    index = np.ascontiguousarray(pairs, dtype=np.int64)
    return index, [np.ascontiguousarray(one) for one in transforms]


def _split(flat: FloatArray, transforms: Sequence[FloatArray]) -> list[FloatArray]:
    return np.split(flat, np.cumsum([len(one) for one in transforms])[:-1])


def evaluate(x: Network, y: Network, transform: FloatArray, weights: FloatArray) -> Parts:
    """Return the parts of the squared Gaussian distance at a fixed transform (s_y, s_x)."""
    found = _core.evaluate(x, y, np.ascontiguousarray(transform), weights)
    return Parts(found.means, found.covariances)


def gradient(
    x: Network,
    y: Network,
    transform: FloatArray,
    weights: FloatArray,
    *,
    alpha: float = 1.0,
    isa: str = "",
    single: bool = False,
    repeats: int = 1,
) -> Slope:
    """Return the Gaussian objective and its gradient at T (s_x, s_y), for s_x >= s_y.

    Tests and benchmarks choose the instruction set (``isa``), single precision, and the number of
    repetitions.
    """
    found = _core.gradient(x, y, transform, weights, alpha, isa, single, repeats)
    return Slope(found.value, found.gradient)


def energy_loss(
    x: Samples, y: Samples, transform: FloatArray, weights: FloatArray, q: float
) -> float:
    """Return sum of w E |X - TY|^q at a fixed T (s_x, s_y), for s_x >= s_y."""
    return _core.energy_loss(x, y, transform, weights, float(q))


def energy_gradient(
    x: Samples,
    y: Samples,
    transform: FloatArray,
    weights: FloatArray,
    q: float,
    *,
    isa: str = "",
    repeats: int = 1,
) -> Slope:
    """Return minus the energy loss and its gradient at T (s_x, s_y), for s_x >= s_y."""
    found = _core.energy_gradient(x, y, transform, weights, q, isa, repeats)
    return Slope(found.value, found.gradient)
