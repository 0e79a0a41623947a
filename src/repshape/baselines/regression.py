"""Linear predictivity: how well one network predicts the mean responses of another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold

from repshape._arrays import FloatArray
from repshape._compact import compact_repr
from repshape.baselines._common import centred_means, check_pair
from repshape.errors import InputError, check_choice, check_integer
from repshape.preprocess import RANK_TOLERANCE
from repshape.responses import Gaussians, NetworkLike, Trials

METHODS = ("ridge", "pls")
PENALTIES = np.logspace(-6, 2, 17)
"""Penalties of ridge regression to choose from, times the total variance of the predictors."""


@compact_repr
@dataclass(frozen=True)
class Predictivity:
    """How well two networks predict each other. ``float(result)`` is the mean of both directions.

    Attributes
    ----------
    x_to_y, y_to_x : float
        Fraction of the explainable variance that is predicted: R^2 divided by the ceiling. At most
        about 1; negative if the mean would be a better prediction.
    raw_x_to_y, raw_y_to_x : float
        R^2 of held-out conditions.
    ceiling_x, ceiling_y : float
        R^2 of a model that knows the true mean responses of the network, estimated from the noise
        of its trials. It is 1 for networks without two trials in every condition.
    """

    x_to_y: float
    y_to_x: float
    raw_x_to_y: float
    raw_y_to_x: float
    ceiling_x: float
    ceiling_y: float

    def __float__(self) -> float:
        return (self.x_to_y + self.y_to_x) / 2


def predictivity(
    x: NetworkLike,
    y: NetworkLike,
    *,
    method: str = "ridge",
    n_folds: int = 5,
    n_components: int = 25,
    random_state: int = 0,
) -> Predictivity:
    r"""Return how well linear maps predict each network from the other, for held-out conditions.

    .. math:: R^2 = 1 - \frac{\sum_m |\mu_m - \hat \mu_m|^2}{\sum_m |\mu_m - \bar \mu|^2}, \qquad
              \text{ceiling} = 1 - \frac{\sum_m \mathrm{tr}\, S_m / L_m}{\sum_m |\mu_m - \bar\mu|^2}

    where :math:`\hat \mu_m` is predicted by a regression without the conditions of the fold of m,
    and :math:`S_m` is the unbiased covariance of the :math:`L_m` trials. The corrected value is
    R^2 divided by the ceiling.

    Parameters
    ----------
    x, y : networks
        They must have the same conditions, at least ``n_folds`` and 4.
    method : {"ridge", "pls"}
        Ridge regression, with the penalty that has the smallest leave-one-out error on the other
        folds, the same for all neurons; or partial least squares.
    n_folds : int
        Number of parts into which the conditions are divided at random.
    n_components : int
        For "pls": number of components, or the rank of the predictors if it is smaller.
    random_state : int
        Seed of the division into folds.

    Returns
    -------
    Predictivity
        Both directions, with and without correction.

    Notes
    -----
    A **similarity**. **Invariant to**: orthogonal maps of the neurons of either network, shifts and
    scale. Variance is summed over neurons, so those with large responses count more.

    Only noise of the predicted network is corrected for. Noise of the predictors, and few
    conditions, reduce R^2: a network does not predict itself perfectly.

    References
    ----------
    Schrimpf et al., "Brain-Score", bioRxiv 2018 (PLS with 25 components).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(40, 3))
    >>> found = predictivity(x, x @ rng.normal(size=(3, 2)))
    >>> round(found.x_to_y, 4), found.y_to_x < 0.9
    (1.0, True)
    """
    check_choice("method", method, METHODS, owner="predictivity")
    check_integer("n_folds", n_folds, 2, owner="predictivity")
    check_integer("n_components", n_components, 1, owner="predictivity")
    check_integer("random_state", random_state, 0, owner="predictivity")
    networks = check_pair(x, y, measure="Predictivity", at_least=max(n_folds, 4))
    X, Y = (
        centred_means(network, name, measure="Predictivity")
        for network, name in zip(networks, "xy", strict=True)
    )
    ceiling_x, ceiling_y = (_ceiling(*one) for one in zip(networks, "xy", strict=True))
    folds = list(KFold(n_folds, shuffle=True, random_state=random_state).split(X))
    forth, back = (_held_out(*one, folds, method, n_components) for one in ((X, Y), (Y, X)))
    return Predictivity(forth / ceiling_y, back / ceiling_x, forth, back, ceiling_x, ceiling_y)


def _ceiling(network: Trials | Gaussians, name: str) -> float:
    """Return the R^2 that noise of the trials allows."""
    if not isinstance(network, Trials) or network.n_trials.min() < 2:
        return 1.0
    total = float(((network.means - network.means.mean(axis=0)) ** 2).sum())
    noise = sum(float(one.var(axis=0, ddof=1).sum()) / len(one) for one in network.responses)
    if noise >= total:
        raise InputError(
            "Predictivity needs mean responses that vary more than their noise. In "
            f"{name}, the noise of the means is {noise / total:.3g} of their variance."
        )
    return 1.0 - noise / total


def _held_out(
    X: FloatArray,
    Y: FloatArray,
    folds: list[tuple[FloatArray, FloatArray]],
    method: str,
    n_components: int,
) -> float:
    """Return R^2 of predictions of Y (M, n_y) from X (M, n_x), for conditions left out."""
    error = 0.0
    for train, test in folds:
        mean_x, mean_y = X[train].mean(axis=0), Y[train].mean(axis=0)
        A, B = X[train] - mean_x, Y[train] - mean_y
        fit = _ridge if method == "ridge" else _pls
        predicted = mean_y + (X[test] - mean_x) @ fit(A, B, n_components)
        error += float(((Y[test] - predicted) ** 2).sum())
    return 1.0 - error / float(((Y - Y.mean(axis=0)) ** 2).sum())


def _ridge(A: FloatArray, B: FloatArray, _: int) -> FloatArray:
    """Return coefficients (n_x, n_y) of ridge regression for centred data."""
    total = float((A**2).sum())
    if total == 0:  # all conditions that differ are left out
        return np.zeros((A.shape[1], B.shape[1]))
    found = RidgeCV(PENALTIES * total).fit(A, B)
    return np.asarray(np.reshape(found.coef_, (B.shape[1], A.shape[1])).T)


def _pls(A: FloatArray, B: FloatArray, n_components: int) -> FloatArray:
    """Return coefficients (n_x, n_y) of partial least squares for centred data (NIPALS)."""
    scores, weights, loadings, targets = [], [], [], []
    rest, size = A, float((A**2).sum())
    for _ in range(n_components):
        left, values, _ = np.linalg.svd(rest.T @ B, full_matrices=False)
        t = rest @ left[:, 0]
        power = float(t @ t)
        if values[0] == 0 or power <= RANK_TOLERANCE * size:
            break
        scores.append(t)
        weights.append(left[:, 0])
        loadings.append(rest.T @ t / power)
        targets.append(B.T @ t / power)
        rest = rest - np.outer(t, loadings[-1])
        B = B - np.outer(t, targets[-1])
    if not weights:
        return np.zeros((A.shape[1], B.shape[1]))
    W, P, Q = (np.array(one) for one in (weights, loadings, targets))
    return np.asarray(W.T @ np.linalg.solve(P @ W.T, Q))
