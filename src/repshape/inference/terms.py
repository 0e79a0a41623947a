"""Squared distances of pairs that may share networks, from all trials or from resampled ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import condition_weights
from repshape.errors import InputError, InputTypeError
from repshape.inference.resampling import with_conditions
from repshape.metrics.base import Alignment, ShapeMetric, check_same_conditions, warm_start
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.responses import NetworkLike, Trials, as_trials

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Pair = tuple[NetworkLike, NetworkLike]

# Number of starts for a resample, besides the alignment of the whole sample. Some are needed:
# if several alignments are nearly equally good, which one is best for the whole sample is chance,
# and a resample may prefer another.
RESAMPLE_STARTS = 4


@dataclass(frozen=True)
class Term:
    """One distance: a metric without preprocessing, and the indices of two networks.

    ``quick`` is the same metric with few starts, or None if resamples are searched in full.
    """

    metric: ShapeMetric[Any]
    quick: GaussianShapeMetric | None
    x: int
    y: int

    def _prepare(self, networks: Sequence[Trials]) -> list[Any]:
        return [self.metric._prepare_checked(networks[k]) for k in (self.x, self.y)]

    def align(self, networks: Sequence[Trials]) -> Alignment:
        """Return the alignment of the term's two networks."""
        return self.metric.align_prepared(*self._prepare(networks))

    def realign(self, networks: Sequence[Trials], known: Alignment) -> float:
        """Return the distance of resampled networks, whose alignment is close to a known one."""
        metric, quick = self.metric, self.quick
        if quick is None or not isinstance(metric, GaussianShapeMetric):
            return self.align(networks).distance
        x, y = self._prepare(networks)
        fresh = quick.align_prepared(x, y).distance
        start = warm_start(known._map, x, y, metric.group)
        warm = metric.solve_pairs([x, y], [[0, 1]], starts=[start[None]])
        return min(fresh, float(warm.distance[0]))

    def on_conditions(self, index: IntArray, total: int) -> Term:
        """Return the term with the weights of the conditions ``index``."""
        quick = None if self.quick is None else with_conditions(self.quick, index, total)
        return Term(with_conditions(self.metric, index, total), quick, self.x, self.y)


@dataclass(frozen=True)
class Terms:
    """Distances that are estimated together, between networks that are already preprocessed.

    A network that occurs in several pairs (the same object) is resampled once for all of them.
    """

    networks: tuple[Trials, ...]
    terms: tuple[Term, ...]

    def align(self) -> list[Alignment]:
        """Return the alignment of each term from all trials."""
        return [term.align(self.networks) for term in self.terms]

    def squared(
        self,
        networks: Sequence[Trials],
        known: Sequence[Alignment],
        conditions: IntArray | None = None,
    ) -> FloatArray:
        """Return the squared distances of resampled networks, one per term.

        Each pair is aligned anew. Gaussian metrics start from the known alignment and from a few
        other points.
        """
        terms, total = self.terms, self.networks[0].n_conditions
        if conditions is not None:
            terms = tuple(term.on_conditions(conditions, total) for term in terms)
        found = [term.realign(networks, one) for term, one in zip(terms, known, strict=True)]
        return np.array([one * abs(one) for one in found])

    def mean_noise(self, networks: Sequence[Trials]) -> FloatArray:
        """Return what noise adds to the squared distance of means, one entry per term.

        alpha sum_m w_m (tr S_x / L_x + tr S_y / L_y) with unbiased covariances. Traces do not
        change under the group, so this is exact for every transform.
        """
        noise = [_noise_of_means(network) for network in networks]
        out = []
        for term in self.terms:
            weights = condition_weights(term.metric.weights, networks[term.x].n_conditions)
            alpha = float(getattr(term.metric, "alpha", 0.0))
            out.append(alpha * float(weights @ (noise[term.x] + noise[term.y])))
        return np.array(out)


def _noise_of_means(network: Trials) -> FloatArray:
    """Return tr S_m / L_m of each condition, (M,)."""
    starts = np.concatenate([[0], np.cumsum(network.n_trials)[:-1]])
    centred = network.pooled - np.repeat(network.means, network.n_trials, axis=0)
    totals = np.add.reduceat((centred**2).sum(axis=1), starts)
    counts = network.n_trials
    return np.asarray(totals / (counts * np.maximum(counts - 1, 1)))


def make_terms(pairs: Sequence[Pair], metrics: Sequence[ShapeMetric[Any] | None]) -> Terms:
    """Validate and preprocess the networks of some pairs, each of which has its metric.

    None stands for the default metric. The metrics must have the same preprocessing, which is
    fitted once, to all trials.
    """
    chosen = [GaussianShapeMetric() if metric is None else metric for metric in metrics]
    for metric in chosen:
        if not isinstance(metric, ShapeMetric):
            raise InputTypeError(
                f"The 'metric' parameter must be a shape metric. Got {metric!r} instead."
            )
        metric._validate_parameters()
    given = [one for pair in pairs for one in pair]
    places: dict[int, int] = {}  # index of a network by the identity of the object
    networks: list[Trials] = []
    for k, one in enumerate(given):
        if id(one) not in places:
            places[id(one)] = len(networks)
            networks.append(as_trials(one, f"network {k}"))
            check_same_conditions(networks[0], networks[-1])
    ready = tuple(_preprocessed(network, chosen[0]) for network in networks)
    numbers = [(places[id(x)], places[id(y)]) for x, y in pairs]
    terms = [_term(metric, *pair) for metric, pair in zip(chosen, numbers, strict=True)]
    return Terms(ready, tuple(terms))


def _preprocessed(network: Trials, metric: ShapeMetric[Any]) -> Trials:
    if metric.preprocess is None:
        return network
    return as_trials(metric.preprocess.fit(network, metric.weights).apply(network))


def _term(metric: ShapeMetric[Any], x: int, y: int) -> Term:
    plain = metric.with_parameters(preprocess=None)
    if not isinstance(plain, GaussianShapeMetric) or plain.group == "identity":
        return Term(plain, None, x, y)
    own = RESAMPLE_STARTS if plain.n_starts == "auto" else int(plain.n_starts)
    return Term(plain, plain.with_parameters(n_starts=min(own, RESAMPLE_STARTS)), x, y)


def check_pair(value: Any, name: str) -> Pair:
    """Return two networks, or raise."""
    if isinstance(value, tuple | list) and len(value) == 2:
        return value[0], value[1]
    raise InputError(f"The '{name}' parameter must be a pair of networks, (x, y).")
