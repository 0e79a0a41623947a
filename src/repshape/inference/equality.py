"""An exact test of whether two networks are equal up to the group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._compact import compact_repr
from repshape._parallel import check_workers, run_all
from repshape.errors import InputError, check_integer, one_warning_each
from repshape.inference.blocks import plan_blocks
from repshape.inference.permutations import N_PERMUTATIONS, arrange
from repshape.inference.subspaces import check_subspaces
from repshape.inference.terms import make_terms
from repshape.io.cohort import Cohort
from repshape.io.matched import N_DRAWS, Matching
from repshape.metrics.base import ShapeMetric
from repshape.responses import NetworkLike, Trials

FloatArray = npt.NDArray[np.float64]


@compact_repr
@dataclass(frozen=True)
class EqualityTest:
    """Result of a test of whether two networks are equal up to the group.

    Attributes
    ----------
    statistic : float
        The squared distance between blocks of different networks beyond that between blocks of the
        same network, 0 on average if the networks are equal.
    p_value : float
        Fraction of permutations, including the data, with at least this statistic.
    smallest_p_value : float
        The smallest p-value that this number of blocks and permutations could give.
    n_blocks : tuple of two int
        Number of blocks of x and of y.
    method : str
    n_permutations, random_state : int
    overlap : float or None
        How well two halves of the trials agree about the principal components, from 0 to 1; the
        smaller of the two networks. None without PCA.
    p_values : tuple of float
        The p-value of each draw, if networks of the same size were drawn; empty otherwise. Then
        ``p_value`` is twice their median (at most 1), and ``statistic`` the mean over draws.
    """

    statistic: float
    p_value: float
    smallest_p_value: float
    n_blocks: tuple[int, int]
    method: str
    n_permutations: int
    random_state: int
    overlap: float | None = None
    p_values: tuple[float, ...] = ()

    def __str__(self) -> str:
        words = (
            f"p = {self.p_value:.3g} ({self.method}; the smallest possible p-value is "
            f"{self.smallest_p_value:.2g})"
        )
        if len(self.p_values) > 1:
            low, high = min(self.p_values), max(self.p_values)
            words += f"; {low:.3g} to {high:.3g} in {len(self.p_values)} draws"
        return words


def equality(
    x: NetworkLike,
    y: NetworkLike,
    metric: ShapeMetric[Any] | None = None,
    *,
    n_blocks: int | None = None,
    n_permutations: int = N_PERMUTATIONS,
    match: str | Sequence[str] | None = None,
    n_draws: int = N_DRAWS,
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
        the same number of neurons, or ``match="neurons"`` must be given.
    metric : ShapeMetric, optional
        By default ``GaussianShapeMetric()``.
    n_blocks : int, optional
        Number of blocks of the network with fewer trials, at least 4. By default 10 or 8 if the
        blocks keep five trials, otherwise 5, or 4 if there are fewer than 10 trials.
    n_permutations : int
        Number of random permutations. If at most that many exist, all are used.
    match : {"neurons", "trials"}, or both, optional
        Draw as many neurons, or trials of each condition, from both networks as the smaller one
        has, and repeat the test for each of ``n_draws`` draws. The draws share trials, so their
        p-values are combined by a rule that holds for any dependence: twice the median. What is
        tested is whether parts of the networks are equal up to the group.
    n_draws : int
        Number of draws; one is made if the networks are equally large.
    random_state : int
        Seed. The result is exactly the same for any number of workers.
    workers, progress
        As in `repshape.pairwise`.

    Notes
    -----
    The null hypothesis is that the distributions are equal in every condition, up to one transform.
    Trials must be independent: slow drift, or noise shared between simultaneously recorded
    networks, makes the test invalid.

    After PCA, the test has little power for differences of covariances alone (alpha = 0) if there
    are few trials.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 4, 30, 2))
    >>> print(equality(x, 3 * y))
    p = 0.00794 (block test, 5 and 5 blocks; the smallest possible p-value is 0.0079)
    """
    check_integer("random_state", random_state, 0)
    check_integer("n_permutations", n_permutations, 1)
    if match is not None:
        options: dict[str, Any] = {"n_blocks": n_blocks, "n_permutations": n_permutations}
        options |= {"workers": workers, "progress": progress}
        test = partial(equality, metric=metric, **options)
        return _combine(x, y, Matching.checked(match, n_draws, random_state), test)
    terms = make_terms([(x, y)], [metric])
    first, second = terms.networks[0], terms.networks[-1]
    chosen = terms.terms[0].metric
    _check_sizes(first, second, chosen)
    plan = plan_blocks(first, second, chosen, n_blocks)
    overlap = check_subspaces((first, second), chosen, random_state, stacklevel=3)
    rng = np.random.default_rng(random_state)
    blocks = [*plan.divide(first, 0, rng), *plan.divide(second, 1, rng)]
    squared = squared_distances(blocks, chosen, workers, progress)
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


def _combine(
    x: NetworkLike, y: NetworkLike, matching: Matching, test: Callable[..., EqualityTest]
) -> EqualityTest:
    """Return the test of networks of the same size, over several draws."""
    pairs, about = matching.draw(Cohort.from_networks({"x": x, "y": y}))
    with one_warning_each():
        found = [
            test(*pair, random_state=matching.random_state + k) for k, pair in enumerate(pairs)
        ]
    p_values = tuple(one.p_value for one in found)
    factor = 1.0 if len(found) == 1 else 2.0
    return replace(
        found[0],
        statistic=float(np.mean([one.statistic for one in found])),
        p_value=min(1.0, factor * float(np.median(p_values))),
        smallest_p_value=min(1.0, factor * found[0].smallest_p_value),
        method=f"{found[0].method}, {about['drawn']} drawn from each",
        overlap=None if found[0].overlap is None else min(one.overlap or 0.0 for one in found),
        p_values=p_values,
    )


def _check_sizes(x: Trials, y: Trials, metric: ShapeMetric[Any]) -> None:
    reduced = metric.preprocess is not None and metric.preprocess.n_components is not None
    if reduced and x.n_neurons != y.n_neurons:
        raise InputError(
            "After PCA, networks can be tested for equality only if they have the same number of "
            "neurons, because noise changes the components of a small network more. Got "
            f"{x.n_neurons} and {y.n_neurons} neurons. Draw the same number from both: "
            "repshape.inference.equality(x, y, metric, match='neurons')."
        )


def squared_distances(
    networks: list[Trials],
    metric: ShapeMetric[Any],
    workers: int | None = None,
    progress: bool | None = None,
) -> FloatArray:
    """Return the squared distances (K, K) of networks, each of which is preprocessed by itself.

    Negative distances, which unbiased estimators give, have negative squares.
    """
    run = partial(run_all, workers=workers, progress=progress)
    prepared = run(metric._prepare_checked, networks, what="blocks")
    pairs = np.array(list(combinations(range(len(networks)), 2)), dtype=np.intp)
    parts = np.array_split(pairs, min(len(pairs), 4 * check_workers(workers)))
    found = run(lambda part: metric.solve_pairs(prepared, part).distance, parts, what="pairs")
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
