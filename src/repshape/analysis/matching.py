"""Which neurons of two networks match: partial transport, as a diagnostic."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np
import numpy.typing as npt

from repshape._arrays import condition_weights
from repshape._compact import compact_repr
from repshape.coordinates.factors import factorise
from repshape.errors import MissingDependencyError, check_real
from repshape.metrics.base import check_same_conditions
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.metrics.soft import GaussianSoftProblem
from repshape.responses import NetworkLike, as_network

FloatArray = npt.NDArray[np.float64]


@compact_repr
@dataclass(frozen=True, eq=False)
class NeuronMatch:
    """How much of each neuron is matched when only a part of all neurons has to be.

    Attributes
    ----------
    plan : ndarray, shape (n_x, n_y)
        Matched mass of every pair of neurons; it sums to the mass that was asked for.
    matched_x, matched_y : ndarrays, shapes (n_x,) and (n_y,)
        Share of each neuron that is matched, from 0 to 1.
    cost : float
        Mean squared difference of matched neurons: of their mean responses times alpha, and of
        their standard deviations times 2 - alpha.
    mass : float
        Share of the neurons that is matched.
    """

    plan: FloatArray
    matched_x: FloatArray
    matched_y: FloatArray
    cost: float
    mass: float


def match_neurons(
    x: NetworkLike,
    y: NetworkLike,
    mass: float = 0.5,
    *,
    alpha: float = 1.0,
    weights: npt.ArrayLike | None = None,
) -> NeuronMatch:
    """Match a share of the neurons of two networks, those that are most alike.

    Neurons are compared by their means and standard deviations in all conditions, without
    correlations between neurons. The neurons that are left out are those without a counterpart.

    This is a diagnostic, not a distance: partial matching violates the triangle inequality, and is
    0 for networks that share some of their neurons. Use ``group="soft"`` to compare networks.

    Parameters
    ----------
    x, y : networks
        Numbers of neurons may differ.
    mass : float in (0, 1]
        Share of the neurons of each network to match; 1 matches all of them.
    alpha : float in [0, 2]
        Weight of the means; the weight of standard deviations is ``2 - alpha``.
    weights : array of shape (M,), optional
        Weights of the conditions.

    References
    ----------
    Chapel, Alaya and Gasso, "Partial optimal transport with applications on positive-unlabeled
    learning", NeurIPS 2020.

    Examples
    --------
    The last neuron of y has no counterpart in x:

    >>> x, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 9.0]])
    >>> match_neurons(x, y, mass=2 / 3).matched_y.round(6) + 0.0
    array([1., 1., 0.])
    """
    check_real("mass", mass, 0, 1, closed="right")
    check_real("alpha", alpha, 0, 2)
    networks = as_network(x, "x"), as_network(y, "y")
    check_same_conditions(*networks)
    metric = GaussianShapeMetric(alpha)
    first, second = (factorise(metric._moments(one)) for one in networks)
    shares = condition_weights(weights, networks[0].n_conditions)
    costs = GaussianSoftProblem(first, second, alpha, shares).costs
    a, b = (np.full(n, 1 / n) for n in costs.shape)
    plan = np.asarray(_partial_transport().partial_wasserstein(a, b, costs, m=mass))
    return NeuronMatch(
        plan=plan,
        matched_x=plan.sum(axis=1) / a,
        matched_y=plan.sum(axis=0) / b,
        cost=float((plan * costs).sum() / mass),
        mass=float(mass),
    )


def _partial_transport() -> ModuleType:
    try:
        import ot.partial
    except ImportError:
        raise MissingDependencyError(
            "Partial matching needs POT, which the extra 'ot' of repshape installs."
        ) from None
    module: ModuleType = ot.partial
    return module
