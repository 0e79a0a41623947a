"""Squared distances of pairs that may share networks, from all trials or from resampled ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import check_moderate, condition_weights
from repshape.errors import InputError, InputTypeError
from repshape.groups import Transform
from repshape.inference.following import component_rotation, reduces
from repshape.inference.resampling import with_conditions
from repshape.metrics.base import (
    Alignment,
    ShapeMetric,
    check_same_conditions,
    in_one_space,
)
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.metrics.registry import wrong_metric
from repshape.preprocess import FittedPreprocess
from repshape.responses import Gaussians, NetworkLike, Trials, as_trials
from repshape.responses.halves import has_halves
from repshape.responses.positions import PositionNetwork

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Pair = tuple[NetworkLike, NetworkLike]

# Number of starts for a resample, besides the alignment of the whole sample. Some are needed:
# if several alignments are nearly equally good, which one is best for the whole sample is chance,
# and a resample may prefer another.
RESAMPLE_STARTS = 4


@dataclass(frozen=True)
class Term:
    """One distance: a metric with its preprocessing, and the indices of two networks."""

    metric: ShapeMetric[Any]
    x: int
    y: int


@dataclass(frozen=True)
class Sample:
    """Networks of one sample, with terms that have the weights of the conditions in it."""

    networks: tuple[Trials, ...]
    terms: tuple[Term, ...]

    @cached_property
    def _prepared(self) -> dict[int, list[Any]]:
        """All networks as each metric needs them, preprocessed by a fit to these trials."""
        metrics = {id(term.metric): term.metric for term in self.terms}
        return {
            key: [metric._prepare_checked(network) for network in self.networks]
            for key, metric in metrics.items()
        }

    def prepared(self, metric: ShapeMetric[Any]) -> list[Any]:
        """Return all networks as the metric of a term needs them."""
        return self._prepared[id(metric)]

    def align(self) -> list[Alignment]:
        """Return the alignment of each term."""
        return [term.metric.align_prepared(*self._pair(term)) for term in self.terms]

    def squared(self, known: Sequence[Alignment]) -> FloatArray:
        """Return the squared distance of each term, given the alignments of the whole sample.

        Each pair is aligned again. Gaussian metrics start from the known alignment and from a few
        other points.
        """
        found = [self._realign(term, one) for term, one in zip(self.terms, known, strict=True)]
        return np.array([one * abs(one) for one in found])

    def _pair(self, term: Term) -> list[Any]:
        prepared = self.prepared(term.metric)
        return [prepared[term.x], prepared[term.y]]

    def _realign(self, term: Term, known: Alignment) -> float:
        x, y = self._pair(term)
        carried = partial(_carried, known, x.phi, y.phi)
        return term.metric._realign(x, y, carried, RESAMPLE_STARTS)

    def mean_noise(self) -> FloatArray:
        """Return what noise adds to the squared distance of means, one entry per term.

        alpha sum_m w_m (tr S_x / L_x + tr S_y / L_y) with unbiased covariances. Traces do not
        change under the group, so this is exact for every transform.
        """
        phis = [one.phi for one in next(iter(self._prepared.values()))]
        noise = [_noise_of_means(*one) for one in zip(self.networks, phis, strict=True)]
        out = []
        for term in self.terms:
            weights = condition_weights(term.metric.weights, self.networks[term.x].n_conditions)
            both = float(weights @ (noise[term.x] + noise[term.y]))
            out.append(term.metric._mean_weight * both)
        return np.array(out)


@dataclass(frozen=True)
class Terms:
    """Distances that are estimated together.

    A network that occurs in several pairs (the same object) is resampled once for all of them.
    """

    networks: tuple[Trials, ...]
    terms: tuple[Term, ...]

    def sample(
        self, networks: Sequence[Trials] | None = None, conditions: IntArray | None = None
    ) -> Sample:
        """Return a sample of the networks, by default all trials.

        The preprocessing is fitted to the sample. ``conditions`` are those that were drawn, if not
        all were kept: the weights follow them.
        """
        chosen = self.networks if networks is None else tuple(networks)
        if conditions is None:
            return Sample(chosen, self.terms)
        total = self.networks[0].n_conditions
        metrics = {id(term.metric): term.metric for term in self.terms}
        drawn = {k: with_conditions(one, conditions, total) for k, one in metrics.items()}
        terms = tuple(Term(drawn[id(term.metric)], term.x, term.y) for term in self.terms)
        return Sample(chosen, terms)


def _carried(
    known: Alignment, phi_x: FittedPreprocess | None, phi_y: FittedPreprocess | None
) -> Transform:
    """Return a known transform between the principal components of other trials."""
    old_x, old_y = known._phi
    if not (reduces(phi_x) or reduces(phi_y)):
        return known._map
    core = known._map.matrix
    turn_y, turn_x = component_rotation(phi_y, old_y), component_rotation(phi_x, old_x)
    return Transform(turn_y @ core @ turn_x.T)


def _noise_of_means(network: Trials, phi: FittedPreprocess | None) -> FloatArray:
    """Return tr S_m / L_m of each condition after preprocessing, (M,)."""
    if phi is not None:
        network = as_trials(phi.apply(network))
    starts = np.concatenate([[0], np.cumsum(network.n_trials)[:-1]])
    centred = network.pooled - np.repeat(network.means, network.n_trials, axis=0)
    totals = np.add.reduceat((centred**2).sum(axis=1), starts)
    counts = network.n_trials
    return np.asarray(totals / (counts * np.maximum(counts - 1, 1)))


def check_metric(metric: ShapeMetric[Any] | None) -> ShapeMetric[Any]:
    """Return a valid shape metric, the default one for None, or raise."""
    chosen = GaussianShapeMetric() if metric is None else metric
    if not isinstance(chosen, ShapeMetric):
        raise InputTypeError(
            f"The 'metric' parameter must be a shape metric. {wrong_metric(metric)}"
        )
    chosen._validate_parameters()
    return chosen


def make_terms(
    pairs: Sequence[Pair], metrics: Sequence[ShapeMetric[Any] | None], *, moments: bool = False
) -> Terms:
    """Validate the networks of some pairs, each of which has its metric.

    None stands for the default metric. The metrics must have the same preprocessing. With
    ``moments``, a network may be given by its moments if these come with two halves.
    """
    valid = {id(metric): check_metric(metric) for metric in metrics}
    given = [one for pair in pairs for one in pair]
    places: dict[int, int] = {}  # index of a network by the identity of the object
    networks: list[Trials] = []
    for k, one in enumerate(given):
        if id(one) not in places:
            places[id(one)] = len(networks)
            chosen_by = valid[id(metrics[k // 2])]
            networks.append(_read_trials(chosen_by, one, f"network {k}", moments))
            check_same_conditions(networks[0], networks[-1])
    numbers = [(places[id(x)], places[id(y)]) for x, y in pairs]
    valid = {key: in_one_space(metric, networks) for key, metric in valid.items()}
    chosen = [valid[id(metric)] for metric in metrics]
    terms = [Term(metric, *pair) for metric, pair in zip(chosen, numbers, strict=True)]
    return Terms(tuple(networks), tuple(terms))


def _read_trials(metric: ShapeMetric[Any], network: Any, name: str, moments: bool) -> Any:
    """Return a network with trials, or halves of moments, as the metric takes it, or raise."""
    found = metric._read(network, name)
    flat = getattr(found, "flat", found)  # of a network with positions
    if moments and isinstance(flat, Gaussians):
        if not has_halves(found):
            raise InputTypeError(
                f"The {name} must have trials, or moments that come with those of two halves of "
                f"the trials, as `repshape.pytorch.collect` returns them. Got {found!r} instead."
            )
        check_moderate(flat.means, name)
        return found
    if isinstance(found, PositionNetwork):
        check_moderate(as_trials(found.flat, name).pooled, name)
        return found
    trials = as_trials(found, name)
    check_moderate(trials.pooled, name)
    return trials


def check_pair(value: Any, name: str) -> Pair:
    """Return two networks, or raise."""
    if isinstance(value, tuple | list) and len(value) == 2:
        return value[0], value[1]
    raise InputError(f"The '{name}' parameter must be a pair of networks, (x, y).")
