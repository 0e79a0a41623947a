"""The noise floor: the distance that noise alone produces, from halves of the same network."""

from __future__ import annotations

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
from repshape.responses.halves import has_halves, split_halves

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

    The trials are split into random halves, which are like two recordings of one network with L/2
    trials each. Each half is preprocessed by itself. ``plug_in`` is the root mean square of their
    distance. Squared distances between samples of one network decrease approximately as 1/L, so
    the floor for all L trials is smaller by a factor of :math:`\sqrt 2`. This is ``estimate``;
    compare it with plug-in distances from L trials. The interval shows the spread over splits.

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

    Notes
    -----
    The bias is not exactly proportional to 1/L, least of all after PCA. In 40 simulations each,
    with five components, the floor was 3.28, 2.23 and 1.93 where the root mean square distance of
    two recordings was 3.50, 2.20 and 1.94 (20 neurons and 10 trials, 48 and 40, and 48 with
    well-separated components and 20).

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
    squared = np.mean(np.broadcast_arrays(*found), axis=0)
    roots = np.array([signed_root(one) for one in squared]) / np.sqrt(2)
    low, high = np.quantile(roots, [(1 - level) / 2, (1 + level) / 2])
    error = float(roots.std())
    if min(map(len, found)) < n_splits:  # the halves of moments are one split, without a spread
        low = high = error = np.nan
    half = signed_root(float(squared.mean()))
    return Estimate(
        estimate=float(half / np.sqrt(2)),
        interval=(float(low), float(high)),
        level=level,
        standard_error=error,
        plug_in=half,
        method="split halves, scaled to all trials",
        n_resamples=len(squared),
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
    """Return the squared distances between random halves of a network's trials.

    There is one if the network is given by its moments, and by those of two halves.
    """
    check_floor(network)
    n_splits = 1 if has_halves(network) else n_splits
    seeds = np.random.SeedSequence(random_state).spawn(n_splits)
    run = partial(run_all, what="splits", workers=workers, progress=progress)
    return np.array(run(partial(split_square, network, metric), seeds))


def check_floor(network: Trials) -> None:
    """Raise one clear sentence unless a network can be split into halves."""
    if not has_halves(network) and network.n_trials.min() < 2:
        raise InputError("A noise floor needs at least two trials in every condition. Got one.")


def split_square(network: Trials, metric: ShapeMetric[Any], seed: np.random.SeedSequence) -> float:
    """Return the squared distance between random halves of a network's trials."""
    halves = split_halves(network, np.random.default_rng(seed))
    found = metric.align_prepared(*map(metric._prepare_checked, halves)).distance
    return found * abs(found)
