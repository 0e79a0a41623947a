"""An exact test of whether two networks are equal up to the group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._parallel import check_workers, run_all
from repshape.errors import InputError, check_choice, check_integer
from repshape.inference.blocks import plan_blocks
from repshape.inference.permutations import N_PERMUTATIONS, ROUNDING, arrange
from repshape.inference.resampling import take_trials
from repshape.inference.subspaces import check_subspaces
from repshape.inference.terms import make_terms
from repshape.metrics.base import ShapeMetric
from repshape.responses import NetworkLike, Trials

FloatArray = npt.NDArray[np.float64]

METHODS = ("blocks", "trials")
# Permutations of single trials are aligned one by one, so fewer are affordable.
N_TRIAL_PERMUTATIONS = 199


@dataclass(frozen=True)
class EqualityTest:
    """Result of a test of whether two networks are equal up to the group.

    Attributes
    ----------
    statistic : float
        The squared distance between blocks of different networks beyond that between blocks of the
        same network, 0 on average if the networks are equal. For ``method="trials"``, the
        plug-in distance.
    p_value : float
        Fraction of permutations, including the data, with at least this statistic.
    smallest_p_value : float
        The smallest p-value that this number of blocks and permutations could give.
    n_blocks : tuple of two int
        Number of blocks of x and of y; (0, 0) for ``method="trials"``.
    method : str
    n_permutations, random_state : int
    overlap : float or None
        How well two halves of the trials agree about the principal components, from 0 to 1; the
        smaller of the two networks. None without PCA.
    """

    statistic: float
    p_value: float
    smallest_p_value: float
    n_blocks: tuple[int, int]
    method: str
    n_permutations: int
    random_state: int
    overlap: float | None = None

    def __str__(self) -> str:
        return (
            f"p = {self.p_value:.3g} ({self.method}; the smallest possible p-value is "
            f"{self.smallest_p_value:.2g})"
        )


def equality(
    x: NetworkLike,
    y: NetworkLike,
    metric: ShapeMetric[Any] | None = None,
    *,
    method: str = "blocks",
    n_blocks: int | None = None,
    n_permutations: int | None = None,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> EqualityTest:
    r"""Test whether two networks are equal up to the group.

    The trials of each condition are divided at random into blocks, with equally many trials in
    every block of both networks. Each block is a network of its own: it is preprocessed by itself,
    and aligned to every other block. With the mean squared distances between and within networks,

    .. math:: T = 2 \overline{d^2_{xy}} - \overline{d^2_{xx}} - \overline{d^2_{yy}}

    is compared with its values when the blocks are assigned to the two networks at random. Shape
    distances do not change under the group, so if the networks are equal up to the group, all
    blocks are exchangeable and the p-value is exact: for every metric, any preprocessing and any
    number of trials.

    Parameters
    ----------
    x, y : networks with trials
        At least 8 trials in every condition (4 if only means count). After PCA, both must have
        the same number of neurons.
    metric : ShapeMetric, optional
        By default ``GaussianShapeMetric()``.
    method : {"blocks", "trials"}
        "trials" exchanges single trials between the networks instead of blocks. This is exact
        only for ``group="identity"``, where neurons are matched, and refused for other groups.
        It needs fewer trials.
    n_blocks : int, optional
        Number of blocks of the network with fewer trials, at least 4. By default 10 or 8 if the
        blocks keep five trials, otherwise 5, or 4 if there are fewer than 10 trials.
    n_permutations : int, optional
        Number of random permutations: by default 9999 for blocks, unless at most that many exist,
        in which case all are used; 199 for trials.
    random_state : int
        Seed. The result is exactly the same for any number of workers.
    workers, progress
        As in `repshape.pairwise`.

    Notes
    -----
    The null hypothesis is that the distributions are equal in every condition, up to one transform.
    Trials must be independent: slow drift, or noise shared between simultaneously recorded
    networks, makes the test invalid.

    In simulations of one network recorded twice, the test rejected equality at the 5 % level in
    3.5 % to 6.0 % of cases, with and without PCA (six settings, 150 to 400 simulations each). The
    documentation has the table (``python -m benchmarks.inference``).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 4, 30, 2))
    >>> print(equality(x, 3 * y))
    p = 0.00794 (block test, 5 and 5 blocks; the smallest possible p-value is 0.0079)
    """
    check_choice("method", method, METHODS)
    check_integer("random_state", random_state, 0)
    if n_permutations is None:
        n_permutations = N_PERMUTATIONS if method == "blocks" else N_TRIAL_PERMUTATIONS
    check_integer("n_permutations", n_permutations, 1)
    terms = make_terms([(x, y)], [metric])
    first, second = terms.networks[0], terms.networks[-1]
    chosen = terms.terms[0].metric
    overlap = check_subspaces((first, second), chosen, random_state, stacklevel=3)
    if method == "trials":
        if n_blocks is not None:
            raise InputError("The 'n_blocks' parameter does not apply to method='trials'.")
        test: Callable[..., EqualityTest] = _trial_test
    else:
        test = _block_test
    return test(
        first,
        second,
        chosen,
        n_blocks=n_blocks,
        n_permutations=n_permutations,
        random_state=random_state,
        overlap=overlap,
        workers=workers,
        progress=progress,
    )


def _block_test(
    x: Trials,
    y: Trials,
    metric: ShapeMetric[Any],
    *,
    n_blocks: int | None,
    n_permutations: int,
    random_state: int,
    overlap: float | None,
    **options: Any,
) -> EqualityTest:
    _check_sizes(x, y, metric)
    plan = plan_blocks(x, y, metric, n_blocks)
    rng = np.random.default_rng(random_state)
    blocks = [*plan.divide(x, 0, rng), *plan.divide(y, 1, rng)]
    squared = squared_distances(blocks, metric, **options)
    codes = np.repeat([0, 1], plan.n_blocks).astype(np.intp)
    found = arrange(codes, n_permutations=n_permutations, random_state=random_state)
    statistics = block_statistic(squared, found.rows)
    count = f"{plan.n_blocks[0]} and {plan.n_blocks[1]} blocks"
    return EqualityTest(
        statistic=float(statistics[0]),
        p_value=found.p_value(statistics),
        smallest_p_value=found.smallest_p_value,
        n_blocks=plan.n_blocks,
        method=f"block test, {count}",
        n_permutations=len(found.rows) - 1,
        random_state=random_state,
        overlap=overlap,
    )


def _check_sizes(x: Trials, y: Trials, metric: ShapeMetric[Any]) -> None:
    reduced = metric.preprocess is not None and metric.preprocess.n_components is not None
    if reduced and x.n_neurons != y.n_neurons:
        raise InputError(
            "After PCA, networks can be tested for equality only if they have the same number of "
            "neurons, because noise changes the components of a small network more. Got "
            f"{x.n_neurons} and {y.n_neurons} neurons. Draw the same number of neurons from both."
        )


def squared_distances(
    networks: list[Trials], metric: ShapeMetric[Any], **options: Any
) -> FloatArray:
    """Return the squared distances (K, K) of networks, each of which is preprocessed by itself.

    Negative distances, which unbiased estimators give, have negative squares.
    """
    prepared = run_all(metric._prepare_checked, networks, what="blocks", **options)
    pairs = np.array(list(combinations(range(len(networks)), 2)), dtype=np.intp)
    parts = np.array_split(pairs, min(len(pairs), 4 * check_workers(options.get("workers"))))
    found = run_all(
        lambda part: metric.solve_pairs(prepared, part).distance, parts, what="pairs", **options
    )
    distances = np.concatenate(found)
    out = np.zeros((len(networks), len(networks)))
    out[pairs[:, 0], pairs[:, 1]] = distances * np.abs(distances)
    return out + out.T


def block_statistic(squared: FloatArray, rows: npt.NDArray[np.intp]) -> FloatArray:
    """Return T of each assignment (B, K) of blocks to networks 0 and 1.

    >>> D2 = np.array([[0.0, 1.0, 4.0, 4.0], [1.0, 0, 4, 4], [4, 4, 0, 1], [4, 4, 1, 0]])
    >>> block_statistic(D2, np.array([[0, 0, 1, 1], [0, 1, 0, 1]]))
    array([ 6., -3.])
    """
    y = rows.astype(np.float64)
    x = 1.0 - y
    xx, yy, xy = (np.einsum("bi,ij,bj->b", a, squared, b) for a, b in ((x, x), (y, y), (x, y)))
    a, b = x.sum(axis=1), y.sum(axis=1)
    return np.asarray(2 * xy / (a * b) - xx / (a * (a - 1)) - yy / (b * (b - 1)))


def _trial_test(
    x: Trials,
    y: Trials,
    metric: ShapeMetric[Any],
    *,
    n_blocks: int | None,
    n_permutations: int,
    random_state: int,
    overlap: float | None,
    **options: Any,
) -> EqualityTest:
    """Exchange trials within conditions, and compare the distance with that of the data."""
    if getattr(metric, "group", None) != "identity":
        raise InputError(
            "Single trials can be exchanged only between networks whose neurons are matched, "
            "with group='identity'. Use method='blocks' for other groups."
        )
    if x.n_neurons != y.n_neurons:
        raise InputError(
            "Single trials can be exchanged only between networks with the same neurons. "
            f"Got {x.n_neurons} and {y.n_neurons}."
        )
    pooled = Trials([np.concatenate(pair) for pair in zip(x.responses, y.responses, strict=True)])

    def permuted(seed: np.random.SeedSequence) -> float:
        rng = np.random.default_rng(seed)
        orders = [rng.permutation(int(L)) for L in pooled.n_trials]
        sides = zip(*((o[:L], o[L:]) for o, L in zip(orders, x.n_trials, strict=True)), strict=True)
        return metric.distance(*(take_trials(pooled, side) for side in sides))

    observed = metric.distance(x, y)
    seeds = np.random.SeedSequence(random_state).spawn(n_permutations)
    found = np.array(run_all(permuted, seeds, what="permutations", **options))
    beyond = int(np.count_nonzero(found >= observed - ROUNDING * abs(observed)))
    return EqualityTest(
        statistic=observed,
        p_value=(1 + beyond) / (1 + n_permutations),
        smallest_p_value=1 / (1 + n_permutations),
        n_blocks=(0, 0),
        method="permutation of single trials",
        n_permutations=n_permutations,
        random_state=random_state,
        overlap=overlap,
    )
