"""The noise floor: the distance that noise alone produces, from parts of the same network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._parallel import run_all
from repshape.errors import InputError, check_integer, check_real
from repshape.inference.estimates import Estimate
from repshape.inference.subspaces import check_subspaces
from repshape.inference.terms import make_terms
from repshape.metrics.base import ShapeMetric, signed_root
from repshape.responses import NetworkLike, Trials
from repshape.responses.halves import has_halves, split_halves, split_trials

FloatArray = npt.NDArray[np.float64]


def floor(
    x: NetworkLike,
    metric: ShapeMetric[Any] | None = None,
    *,
    y: NetworkLike | None = None,
    n_splits: int = 20,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    r"""Return the noise floor of a network, or of a pair: the distance due to noise alone.

    This is the distance that a second recording of the same network, with as many trials, would
    have from the first. One recording of L trials contains no two such samples: the largest ones
    are random halves of its trials, so the floor must be extrapolated from L/2 trials to L. With
    the squared distance :math:`a / L + b / L^2` of two samples of one network, those of halves and
    of quarters are :math:`h = 2 a / L + 4 b / L^2` and :math:`q = 4 a / L + 16 b / L^2`, so that

    .. math:: \frac{a}{L} + \frac{b}{L^2} = \frac{6 h - q}{8}.

    This is ``estimate``, as a root; compare it with plug-in distances from L trials. If quarters
    have too few trials for a covariance or for PCA, b is taken to be 0, and it is h/2. Each part is
    preprocessed by itself. ``plug_in`` is the root mean square distance of halves. The interval
    shows the spread over splits; it is not a confidence interval.

    The floor of a pair is the root mean square of the floors of x and y: what the plug-in distance
    would be if the two networks were equal.

    Parameters
    ----------
    x : network with at least two trials in each condition
        At least four unless only means count, so that each half has a covariance. Moments will do
        if they come with halves, as those that `repshape.pytorch.collect` returns. That is a single
        split, so that the interval and the standard error are NaN.
    metric : ShapeMetric, optional
        By default ``GaussianShapeMetric()``.
    y : network, optional
        The other network of a pair.
    n_splits : int
        Number of random splits.
    level : float
        Fraction of the splits that the interval contains.
    random_state : int
        Seed. The result is exactly the same for any number of workers.
    workers, progress
        As in `repshape.pairwise`.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(6, 40, 3))
    >>> few, many = (floor(x[:, :L], n_splits=5).estimate for L in (10, 40))
    >>> few > many
    True
    """
    check_integer("n_splits", n_splits, 1)
    check_real("level", level, 0, 1, closed="neither")
    check_integer("random_state", random_state, 0)
    terms = make_terms([(x, x if y is None else y)], [metric], moments=True)
    chosen = terms.terms[0].metric
    overlap = check_subspaces(terms.networks, chosen, random_state, stacklevel=3)
    found = [
        split_distances(network, chosen, n_splits, random_state, workers, progress)
        for network in terms.networks
    ]
    halves, floors = np.mean(np.broadcast_arrays(*found), axis=0).T
    roots = np.array([signed_root(one) for one in floors])
    low, high = np.quantile(roots, [(1 - level) / 2, (1 + level) / 2])
    error = float(roots.std())
    if min(map(len, found)) < n_splits:  # the halves of moments are one split, without a spread
        low = high = error = np.nan
    divided = all(_quarters_suffice(network, chosen) for network in terms.networks)
    return Estimate(
        estimate=signed_root(float(floors.mean())),
        interval=(float(low), float(high)),
        level=level,
        standard_error=error,
        plug_in=signed_root(float(halves.mean())),
        method=f"split halves{' and quarters' * divided}, scaled to all trials",
        n_resamples=len(floors),
        random_state=random_state,
        overlap=overlap,
    )


def split_distances(
    network: Trials,
    metric: ShapeMetric[Any],
    n_splits: int,
    random_state: int,
    workers: int | None = None,
    progress: bool | None = None,
) -> FloatArray:
    """Return squared distances of random halves, and the squared floors they predict, (R, 2).

    There is one row if the network is given by its moments, and by those of two halves.
    """
    check_floor(network)
    n_splits = 1 if has_halves(network) else n_splits
    seeds = np.random.SeedSequence(random_state).spawn(n_splits)
    run = partial(run_all, what="splits", workers=workers, progress=progress)
    divided = _quarters_suffice(network, metric)
    return np.array(run(partial(_split_squares, network, metric, divided), seeds))


def squared_floors(
    network: Trials, metric: ShapeMetric[Any], n_splits: int, random_state: int
) -> FloatArray:
    """Return the squared floor of a network that each split predicts."""
    return split_distances(network, metric, n_splits, random_state, 1, False)[:, 1]


def check_floor(network: Trials) -> None:
    """Raise one clear sentence unless a network can be split into halves."""
    if not has_halves(network) and network.n_trials.min() < 2:
        raise InputError("A noise floor needs at least two trials in every condition. Got one.")


def _quarters_suffice(network: Trials, metric: ShapeMetric[Any]) -> bool:
    """Return whether the metric accepts quarters of the trials."""
    if has_halves(network) or network.n_trials.min() < 4 * metric._fewest_trials():
        return False
    try:
        metric._prepare_checked(network._take_trials([np.arange(L // 4) for L in network.n_trials]))
    except InputError:  # responses that do not vary, for example
        return False
    return True


def _split_squares(
    network: Trials, metric: ShapeMetric[Any], divided: bool, seed: np.random.SeedSequence
) -> tuple[float, float]:
    """Return the squared distance of random halves, and the squared floor of all trials."""
    rng = np.random.default_rng(seed)
    if not divided:
        half = _squared(metric, split_halves(network, rng))
        return half, half / 2
    groups = split_trials(network, 2, rng)
    half = _squared(metric, [network._take_trials(rows) for rows in groups])
    quarters = [
        _squared(metric, [_half_of(network, rows, which) for rows in groups]) for which in (0, 1)
    ]
    return half, (6 * half - float(np.mean(quarters))) / 8


def _half_of(network: Trials, rows: list[npt.NDArray[np.intp]], which: int) -> Trials:
    chosen: Trials = network._take_trials([np.array_split(one, 2)[which] for one in rows])
    return chosen


def _squared(metric: ShapeMetric[Any], parts: Sequence[Trials]) -> float:
    found = metric.align_prepared(*map(metric._prepare_checked, parts)).distance
    return found * abs(found)
