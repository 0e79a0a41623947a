"""Squared distances of pairs that may share networks, from all trials or from resampled ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from repshape._arrays import condition_weights
from repshape.analysis.frechet import warm_align
from repshape.errors import InputError, InputTypeError
from repshape.inference.resampling import as_trials, with_conditions
from repshape.metrics.base import Alignment, ShapeMetric, check_same_conditions
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.responses import NetworkLike, Trials, as_network

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Pair = tuple[NetworkLike, NetworkLike]

# Starts of a resample besides the alignment of the whole sample. Some are needed: where several
# alignments nearly tie, the whole sample's is the winner by luck, and a resample may prefer
# another.
RESAMPLE_STARTS = 4


@dataclass(frozen=True)
class Term:
    """One distance: a metric without preprocessing, and two networks by their numbers."""

    metric: ShapeMetric[Any]
    x: int
    y: int


@dataclass(frozen=True)
class Terms:
    """Distances to estimate together, between networks that are preprocessed already.

    A network that occurs in several pairs (the same object) is resampled once for all of them.
    """

    networks: tuple[Trials, ...]
    terms: tuple[Term, ...]

    def align(self) -> list[Alignment]:
        """Return the alignment of each term from all trials."""
        return [t.metric.align(self.networks[t.x], self.networks[t.y]) for t in self.terms]

    def squared(
        self,
        networks: Sequence[Trials],
        known: Sequence[Alignment],
        conditions: IntArray | None = None,
    ) -> FloatArray:
        """Return squared distances of resampled networks, one a term.

        Each pair is aligned anew; Gaussians from the known alignment and a few starts.
        """
        out = []
        for term, alignment in zip(self.terms, known, strict=True):
            metric = term.metric
            if conditions is not None:
                metric = with_conditions(metric, conditions, self.networks[0].n_conditions)
            best = _distance(metric, networks[term.x], networks[term.y], alignment)
            out.append(best * abs(best))
        return np.array(out)

    def mean_noise(self, networks: Sequence[Trials]) -> FloatArray:
        """Return what noise adds to the squared distance of means, one entry a term.

        alpha sum_m w_m (tr S_x / L_x + tr S_y / L_y) with unbiased covariances. Traces do not
        change under the group, so this is exact whatever the transform.
        """
        noise = [_noise_of_means(network) for network in networks]
        out = []
        for term in self.terms:
            weights = condition_weights(term.metric.weights, networks[term.x].n_conditions)
            alpha = float(getattr(term.metric, "alpha", 0.0))
            out.append(alpha * float(weights @ (noise[term.x] + noise[term.y])))
        return np.array(out)


def _distance(metric: ShapeMetric[Any], x: Trials, y: Trials, known: Alignment) -> float:
    first, second = metric.prepare(x), metric.prepare(y)
    if not isinstance(metric, GaussianShapeMetric) or metric.group == "identity":
        return metric.align_prepared(first, second).distance
    own = RESAMPLE_STARTS if metric.n_starts == "auto" else int(metric.n_starts)
    few = with_parameters(metric, n_starts=min(own, RESAMPLE_STARTS))
    fresh = few.align_prepared(first, second).distance
    return min(fresh, warm_align(metric, first, second, known.transform)[0])


def _noise_of_means(network: Trials) -> FloatArray:
    """Return tr S_m / L_m of each condition, (M,)."""
    starts = np.concatenate([[0], np.cumsum(network.n_trials)[:-1]])
    centred = network.pooled - np.repeat(network.means, network.n_trials, axis=0)
    totals = np.add.reduceat((centred**2).sum(axis=1), starts)
    counts = network.n_trials
    return np.asarray(totals / (counts * np.maximum(counts - 1, 1)))


def make_terms(pairs: Sequence[Pair], metrics: Sequence[ShapeMetric[Any]]) -> Terms:
    """Validate and preprocess the networks of some pairs; each pair has its metric.

    The metrics must share their preprocessing, which is fitted once, to all trials.
    """
    for metric in metrics:
        if not isinstance(metric, ShapeMetric):
            raise InputTypeError(
                f"The 'metric' parameter must be a shape metric. Got {metric!r} instead."
            )
        metric._validate_parameters()
    given = [one for pair in pairs for one in pair]
    unique = {id(one): k for k, one in reversed(list(enumerate(given)))}
    first = sorted(unique.values())
    checked = {k: as_trials(as_network(given[k], f"network {k}"), f"network {k}") for k in first}
    for k in first[1:]:
        check_same_conditions(checked[first[0]], checked[k])
    phi = metrics[0].preprocess
    ready = tuple(
        one if phi is None else _trials(phi.fit(one, metrics[0].weights).apply(one))
        for one in checked.values()
    )
    plain = [clone(metric).set_params(preprocess=None) for metric in metrics]
    place = {k: position for position, k in enumerate(first)}
    numbers = [place[unique[id(one)]] for one in given]
    terms = tuple(Term(m, numbers[2 * k], numbers[2 * k + 1]) for k, m in enumerate(plain))
    return Terms(ready, terms)


def _trials(network: Any) -> Trials:
    if not isinstance(network, Trials):
        raise AssertionError("preprocessing keeps trials")
    return network


def with_parameters(metric: ShapeMetric[Any], **values: Any) -> ShapeMetric[Any]:
    """Return a copy of the metric with some parameters changed."""
    changed: ShapeMetric[Any] = clone(metric).set_params(**values)
    return changed


def check_pair(value: Any, name: str) -> Pair:
    """Return two networks, or raise."""
    if isinstance(value, tuple | list) and len(value) == 2:
        return value[0], value[1]
    raise InputError(f"The '{name}' parameter must be a pair of networks, (x, y).")
