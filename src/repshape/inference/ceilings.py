"""Ceilings: how far brains are from each other, from their mean, and from chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._parallel import run_all
from repshape.analysis.frechet import network_shares
from repshape.analysis.mean_problem import mean_problem
from repshape.analysis.templates import to_mean_of_others
from repshape.errors import InputError, InputTypeError
from repshape.inference.estimates import Settings
from repshape.inference.following import search
from repshape.inference.model_errors import mean_squares
from repshape.inference.model_estimates import PairEstimates
from repshape.inference.resampling import take_conditions
from repshape.metrics.base import ShapeMetric

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

# At most this many pairs of brains are compared with chance: the test costs a search for each pair
# and permutation, and more pairs add little power.
CHANCE_PAIRS = 45


@dataclass(frozen=True)
class Chance:
    """The test of whether brains are nearer to each other than chance.

    Attributes
    ----------
    distance : float
        Root mean square distance of brains whose conditions were permuted.
    p_value, smallest_p_value : float
    """

    distance: float
    p_value: float
    smallest_p_value: float


def curvature(found: PairEstimates, units: IntArray, metric: Any, workers: int | None) -> float:
    """Return by what factor squared distances to Frechet means exceed those of a flat space.

    The Frechet mean is in one alignment with all brains, but each pair of brains in its own, which
    is nearer. NaN if the metric has no Frechet mean.
    """
    try:
        problem = mean_problem(found.brains, metric, workers)
        everyone = problem.solve(network_shares(None, len(units)))
        distances = to_mean_of_others(problem, units, near=everyone)
    except (InputError, InputTypeError):
        return float("nan")
    flat = float(mean_squares(found.to_models_plug_in, found.between_plug_in, units)[-1])
    return float(np.mean(distances**2)) / flat if flat > 0.0 else 1.0


def chance_test(
    brains: Sequence[Any],
    units: IntArray,
    metric: ShapeMetric[Any],
    n_permutations: int,
    settings: Settings,
) -> Chance:
    """Test whether brains are nearer to each other than with their conditions permuted.

    Noise changes distances with permuted conditions as it changes those of the data, so plug-in
    distances are compared.
    """
    pairs = np.array(
        [(i, j) for i, j in combinations(range(len(units)), 2) if units[i] != units[j]]
    )
    pairs = pairs[:: -(-len(pairs) // CHANCE_PAIRS)]
    networks, inside = _preprocessed(brains, metric)
    count = brains[0].n_conditions

    def mean_square(b: int) -> float:
        rng = np.random.default_rng([settings.random_state, 2, b])
        orders = [rng.permutation(count) if b else np.arange(count) for _ in networks]
        both = zip(networks, orders, strict=True)
        parts = [inside._prepare_checked(take_conditions(*one)) for one in both]
        return float(search(inside, parts, pairs).squared.mean())

    found = np.array(
        run_all(
            mean_square,
            range(1 + n_permutations),
            what="permutations",
            workers=settings.workers,
            progress=settings.progress,
        )
    )
    level = float(np.mean(found <= found[0]))
    return Chance(float(np.sqrt(found[1:].mean())), level, 1 / (1 + n_permutations))


def _preprocessed(brains: Sequence[Any], metric: Any) -> tuple[list[Any], Any]:
    """Return the brains in the preprocessed space, which does not depend on the order."""
    phi = metric.preprocess
    if phi is None or any(hasattr(one, "flat") for one in brains):
        return list(brains), metric
    done = [phi.fit(one, metric.weights).apply(one) for one in brains]
    return done, metric.with_parameters(preprocess=None)
