"""The noise floor: the distance between two halves of the trials of one network."""

from __future__ import annotations

from typing import Any

import numpy as np

from repshape._parallel import run_all
from repshape.errors import InputError, check_integer, check_real
from repshape.inference.estimates import Estimate
from repshape.inference.jackknife import split_trials
from repshape.inference.resampling import take_trials
from repshape.inference.terms import make_terms
from repshape.metrics.base import ShapeMetric, signed_root
from repshape.responses import NetworkLike


def floor(
    x: NetworkLike,
    metric: ShapeMetric[Any] | None = None,
    *,
    n_splits: int = 20,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    r"""Return the noise floor of a network: the distance to itself that is due to noise alone.

    The trials are split into random halves, which are like two recordings of one network with L/2
    trials each. ``plug_in`` is the root mean square of their distance. Squared distances between
    samples of one network decrease as 1/L, so the floor for all L trials is smaller by a factor of
    :math:`\sqrt 2`. This is ``estimate``; compare it with plug-in distances from L trials. The
    interval shows the spread over splits.

    Parameters
    ----------
    x : network with at least two trials in each condition
    metric : ShapeMetric, optional
        By default ``GaussianShapeMetric()``. The preprocessing is fitted once, to all trials.
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
    terms = make_terms([(x, x)], [metric])
    network, plain = terms.networks[0], terms.terms[0].metric
    if network.n_trials.min() < 2:
        raise InputError("A noise floor needs at least two trials in every condition. Got one.")

    def split(seed: np.random.SeedSequence) -> float:
        halves = split_trials(network, 2, np.random.default_rng(seed))
        return plain.distance(*(take_trials(network, half) for half in halves))

    seeds = np.random.SeedSequence(random_state).spawn(n_splits)
    found = np.array(run_all(split, seeds, what="splits", workers=workers, progress=progress))
    half = signed_root(float(np.mean(found * np.abs(found))))
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2]) / np.sqrt(2)
    return Estimate(
        estimate=float(half / np.sqrt(2)),
        interval=(float(low), float(high)),
        level=level,
        standard_error=float(found.std() / np.sqrt(2)),
        plug_in=half,
        method="split halves, scaled to all trials",
        n_resamples=n_splits,
        random_state=random_state,
    )
