"""Distances, and their ratio, as functions of the number of neurons, trials or conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._compact import compact_repr
from repshape._parallel import run_all
from repshape.analysis.interpolation import sweep_pair
from repshape.errors import InputError, check_boolean, check_choice, check_integer, check_real
from repshape.inference.resampling import take_conditions, with_conditions
from repshape.metrics.base import check_same_conditions, in_one_space
from repshape.metrics.gaussian import GaussianShapeMetric, check_gaussian
from repshape.responses import Gaussians, NetworkLike, Trials, as_network, as_trials
from repshape.responses.drawing import draw

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

AXES = ("neurons", "trials", "conditions")


@compact_repr
@dataclass(frozen=True, eq=False)
class SubsamplingCurves:
    """Distances between networks from subsamples of their data.

    Attributes
    ----------
    over : {"neurons", "trials", "conditions"}
        What was subsampled.
    sizes : ndarray of int, shape (S,)
    alphas : ndarray, shape (A,)
    pairs : ndarray of int, shape (P, 2)
    distances : ndarray, shape (S, n_draws, A, P)
    replace : bool
    n_draws, random_state : int
    """

    over: str
    sizes: IntArray
    alphas: FloatArray
    pairs: IntArray
    distances: FloatArray
    replace: bool
    n_draws: int
    random_state: int

    @property
    def ratios(self) -> FloatArray:
        """d_0 / d_2 of every draw and pair, (S, n_draws, P); infinite if d_2 is 0."""
        d_0, d_2 = self.distances[:, :, 0], self.distances[:, :, -1]
        ratios: FloatArray = np.full(d_0.shape, np.inf)
        np.divide(d_0, d_2, out=ratios, where=d_2 > 0)
        return ratios

    def to_frame(self) -> pd.DataFrame:
        """Return mean and standard deviation over draws, with a row per size, pair and curve."""
        curves = {
            f"distance, alpha={a:g}": self.distances[:, :, k] for k, a in enumerate(self.alphas)
        }
        curves["ratio"] = self.ratios
        rows = [
            {
                "size": int(size),
                "x": int(pair[0]),
                "y": int(pair[1]),
                "curve": name,
                "mean": float(values[s, :, p].mean()),
                "std": float(values[s, :, p].std(ddof=min(1, self.n_draws - 1))),
            }
            for name, values in curves.items()
            for s, size in enumerate(self.sizes)
            for p, pair in enumerate(self.pairs)
        ]
        return pd.DataFrame(rows)


def subsample(
    networks: Iterable[NetworkLike],
    over: str,
    sizes: Sequence[int],
    metric: GaussianShapeMetric | None = None,
    *,
    alphas: Sequence[float] = (0.0, 1.0, 2.0),
    n_draws: int = 15,
    replace: bool = False,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> SubsamplingCurves:
    """Return the distances of all pairs from random subsamples of the data (Supp. Fig. 6).

    Neurons are drawn separately for each network, trials for each network and condition, and
    conditions for all networks together. Plug-in distances increase with the number of neurons, and
    decrease with the number of trials because their bias does. The ratio d_0 / d_2 may be stable.

    Parameters
    ----------
    networks : iterable of K networks
    over : {"neurons", "trials", "conditions"}
        What to subsample. For "trials", all networks must have trials.
    sizes : sequence of int
        Sizes of the subsamples. Without replacement, no network may have less than the largest.
    metric : GaussianShapeMetric, optional
        Its alpha is ignored. By default ``GaussianShapeMetric()``.
    alphas : sequence of float
        0 and 2 are added if they are missing.
    n_draws : int
        Number of draws of each size; 15 in the paper.
    replace : bool
        Whether to draw with replacement.
    random_state : int
        Seed. The result is exactly the same for any number of workers.
    workers, progress
        As in `repshape.pairwise`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 4, 30, 6))
    >>> curves = subsample([x, y], "neurons", [2, 6], n_draws=5)
    >>> small, large = curves.distances[:, :, 0, 0].mean(axis=1)
    >>> bool(small < large)
    True
    """
    template = check_gaussian(metric)
    template._validate_parameters()
    given = [as_network(one, f"network {k}") for k, one in enumerate(networks)]
    if len(given) < 2:
        raise InputError(f"Subsampling needs at least two networks. Got {len(given)}.")
    for network in given[1:]:
        check_same_conditions(given[0], network)
    check_boolean("replace", replace)
    counts = _check_sizes(given, check_choice("over", over, AXES), sizes, replace)
    grid = np.unique([0.0, 2.0, *(check_real("alphas", one, 0, 2) for one in alphas)])
    pairs = np.column_stack(np.triu_indices(len(given), 1))
    check_integer("n_draws", n_draws, 1)
    check_integer("random_state", random_state, 0)
    seeds = np.random.SeedSequence(random_state).spawn(len(counts) * n_draws)
    tasks = [(seed, counts[k // n_draws]) for k, seed in enumerate(seeds)]

    def one_draw(task: tuple[np.random.SeedSequence, int]) -> FloatArray:
        rng = np.random.default_rng(task[0])
        parts, changed = _draw_parts(given, template, over, task[1], replace, rng)
        return _distances(parts, changed, grid, pairs)

    found = run_all(one_draw, tasks, what="draws", workers=workers, progress=progress)
    distances = np.array(found).reshape(len(counts), n_draws, len(grid), len(pairs))
    return SubsamplingCurves(over, counts, grid, pairs, distances, replace, n_draws, random_state)


def _check_sizes(
    networks: list[Trials | Gaussians], over: str, sizes: Sequence[int], replace: bool
) -> IntArray:
    counts = np.array([check_integer("sizes", size, 1) for size in sizes], dtype=np.intp)
    if not len(counts):
        raise InputError("The 'sizes' parameter must hold at least one size. Got none.")
    if over == "trials":
        most = min(int(as_trials(one, "networks").n_trials.min()) for one in networks)
    elif over == "neurons":
        most = min(one.n_neurons for one in networks)
    else:
        most = networks[0].n_conditions
    if not replace and counts.max() > most:
        raise InputError(
            f"Without replacement, at most {most} {over} can be drawn. Got {counts.max()}."
        )
    return counts


def _draw_parts(
    networks: list[Trials | Gaussians],
    metric: GaussianShapeMetric,
    over: str,
    size: int,
    replace: bool,
    rng: np.random.Generator,
) -> tuple[list[Trials | Gaussians], GaussianShapeMetric]:
    """Return subsampled networks, and the metric with the weights of the drawn conditions."""
    if over == "conditions":
        total = networks[0].n_conditions
        index = draw(rng, total, size, replace)
        changed = with_conditions(metric, index, total)
        return [take_conditions(one, index) for one in networks], changed
    parts: list[Trials | Gaussians] = []
    for one in networks:
        if over == "neurons":
            parts.append(one._take_neurons(draw(rng, one.n_neurons, size, replace)))
        elif isinstance(one, Trials):
            rows = [draw(rng, int(L), size, replace) for L in one.n_trials]
            parts.append(one._take_trials(rows))
    return parts, metric


def _distances(
    parts: list[Trials | Gaussians],
    metric: GaussianShapeMetric,
    alphas: FloatArray,
    pairs: IntArray,
) -> FloatArray:
    """Return distances (A, P)."""
    metric = in_one_space(metric, parts)
    metrics = [metric.with_parameters(alpha=float(alpha)) for alpha in alphas]
    prepared = [metrics[0].prepare(part) for part in parts]
    found = [sweep_pair(metrics, prepared[i], prepared[j]) for i, j in pairs]
    return np.array([[one.distance for one in sweep] for sweep in found]).T
