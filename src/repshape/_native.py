"""The one door to the compiled core: options and handles go in, named results come out.

Nothing else imports `repshape._core`. A handle holds one network in the coordinates in which it is
solved; options hold everything about a search that does not depend on the pair. Transforms map
rows of y onto x, shape (s_y, s_x), in the coordinates of the two handles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape import _core
from repshape._core import Network, Options, Samples, instruction_set, instruction_sets
from repshape._native_results import PairResults, Parts, Slope, Solution

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]

__all__ = [
    "Network",
    "Options",
    "PairResults",
    "Parts",
    "Samples",
    "Search",
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
class Search:
    """What the searches of all metrics have in common.

    Attributes
    ----------
    group : str
        Name of the group.
    weights : array of shape (M,)
        Weights of the conditions, which sum to 1.
    tol : float
        Relative size of the gradient at which the search stops.
    max_iter : int
        Maximum number of gradient evaluations per start.
    starts : array of shape (S, s, s)
        Starting points besides the means, s being the size of the larger network.
    screen : bool
        Whether the search makes its own starts until they agree; else the given ones are finished.
    seed : int
        Seed for generated starts.
    pad_to : int
        Number of neurons of the space in which permutations act; 0 for the larger network's own.
    """

    group: str
    weights: FloatArray
    tol: float
    max_iter: int
    starts: FloatArray
    screen: bool
    seed: int
    pad_to: int = 0


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


def make_options(
    search: Search, *, alpha: float = 1.0, q: float = 1.0, unbiased: bool = True
) -> Options:
    """Return the options of a search; the keywords are parameters of the metric."""
    return Options(
        group=GROUP_CODES[search.group],
        weights=search.weights,
        tolerance=float(search.tol),
        max_iterations=int(search.max_iter),
        starts=search.starts,
        n_starts=len(search.starts),
        screen=search.screen,
        seed=search.seed,
        pad_to=search.pad_to,
        alpha=float(alpha),
        q=float(q),
        unbiased=unbiased,
    )


def align(x: Any, y: Any, options: Options, starts: FloatArray | None = None) -> Solution:
    """Align y to x, two handles of the same kind, from starts (S, s_y, s_x) if they are given."""
    given = [] if starts is None else [np.ascontiguousarray(starts)]
    return Solution(*_core.align(x, y, options, given))


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
    rows, transforms = _core.align_pairs(list(handles), index, dict(options), given, keep)
    counts = rows[:, 2:4].astype(np.int64)
    return PairResults(
        distance=rows[:, 0],
        lower_bound=rows[:, 1],
        converged=rows[:, 4] == 1.0,
        n_starts=counts[:, 0],
        n_agreeing=counts[:, 1],
        gap=rows[:, 5],
        transforms=transforms if keep else None,
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
    return np.split(flat[0], np.cumsum([len(one) for one in transforms])[:-1])


def evaluate(x: Network, y: Network, transform: FloatArray, weights: FloatArray) -> Parts:
    """Return the parts of the squared Gaussian distance at a fixed transform (s_y, s_x)."""
    return Parts(*_core.evaluate(x, y, np.ascontiguousarray(transform), weights))


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
    return Slope(*found)


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
    return Slope(*_core.energy_gradient(x, y, transform, weights, q, isa, repeats))
