"""The energy distance (eq. 4 and 5, App. D.2 and F of Duong et al., 2023).

    d(x, y)^2 = min_T sum_m w_m [E |X_m - T Y_m|^q - E |X_m - X_m'|^q / 2 - E |Y_m - Y_m'|^q / 2]

Networks are sequences of M arrays of trials, (L_m, n_x) for x and (K_m, n_y) for y. T (n_x, n_y)
maps y onto x, with n_x >= n_y, and the weights w (M,) sum to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from repshape.reference.alternation import Ascent, alternate
from repshape.reference.arrays import Array, namespace, squared_norm, transposed

Conditions = Sequence[Array]

# Squared distances below this fraction of the squared responses are rounding: trials coincide.
MEETING = 1e-24


def energy_squared(
    x: Conditions, y: Conditions, T: Array, q: float, weights: Array, estimator: str
) -> Array:
    """Return the sum of w [E |X - TY|^q - E |X - X'|^q / 2 - E |Y - Y'|^q / 2] (eq. 4 and 5).

    For q = 2 and estimator "v" this is the sum of w |mean x - T mean y|^2 (App. F.1).
    """
    xp = namespace(T)
    halves = [0.5 * xp.stack([within(a, q, estimator) for a in net]) for net in (x, y)]
    return loss(x, y, T, q, weights) - weights @ (halves[0] + halves[1])


def loss(x: Conditions, y: Conditions, T: Array, q: float, weights: Array) -> Array:
    """Return the sum of w E |X - T Y|^q, which the search minimises (App. D.2)."""
    xp = namespace(T)
    gaps = [squared_gaps(a, b @ transposed(T)) for a, b in zip(x, y, strict=True)]
    return weights @ xp.stack([xp.mean(gap ** (q / 2)) for gap in gaps])


def within(x: Array, q: float, estimator: str) -> Array:
    """Return E |X - X'|^q over all pairs of trials ("v"), or over distinct trials ("u")."""
    L = x.shape[0]
    pairs = L * L if estimator == "v" else L * (L - 1)
    return namespace(x).sum(squared_gaps(x, x) ** (q / 2)) / pairs


def squared_gaps(x: Array, y: Array) -> Array:
    """Return |x_l - y_p|^2, (L, K), from differences: Gram matrices lose digits of close trials."""
    return namespace(x).sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1)


def within_terms(
    within: Array, n_trials: npt.ArrayLike, weights: Array, unbiased: bool
) -> tuple[float, float]:
    """Return the sum of w E |X - X'|^q / 2 over all pairs of trials, and what "u" adds to it.

    ``within`` (M,) are the expectations over all pairs. Over distinct pairs they are larger by the
    factor L / (L - 1) = 1 + 1 / (L - 1).
    """
    halves = 0.5 * within
    correction = halves / (np.asarray(n_trials) - 1) if unbiased else np.zeros_like(halves)
    return float(weights @ halves), float(weights @ correction)


def objective(
    x: Conditions, y: Conditions, q: float, weights: Array
) -> Callable[[Array], tuple[Array, Array]]:
    """Return a function of T: minus the loss, and its gradient on the orthogonal group.

    On the group, |x - Ty|^2 = |x|^2 + |y|^2 - 2 <x, Ty>, so the gradient of -|x - Ty|^q is
    q |x - Ty|^(q-2) x y'. If s = |x - Ty|^2 is below a floor, s^(q/2) is continued by its tangent:
    as a function of s it remains concave, which is all that reweighting needs.
    """
    xp = namespace(weights)
    power = [squared_norm(a) / len(a) + squared_norm(b) / len(b) for a, b in zip(x, y, strict=True)]
    floor = MEETING * (weights @ xp.stack(power)) + 1e-300

    def at(T: Array) -> tuple[Array, Array]:
        value, gradient = 0.0, 0.0 * T
        for w, a, b in zip(weights, x, y, strict=True):
            s = squared_gaps(a, b @ transposed(T))
            above = xp.maximum(s, floor)
            W = above ** (q / 2 - 1)
            value = value - w * xp.mean(W * (above + q / 2 * (s - above)))
            gradient = gradient + w * q / (len(a) * len(b)) * (transposed(a) @ W @ b)
        return value, gradient

    return at


def irls(
    x: Conditions,
    y: Conditions,
    start: Array,
    q: float,
    weights: Array,
    group: str = "orthogonal",
    *,
    tol: float = 1e-12,
    max_iter: int = 1000,
) -> Ascent:
    """Run iteratively reweighted least squares (App. F.2), which never increases the loss.

    Since s^(q/2) is concave in s, least squares with weights |x - Ty|^(q-2) is an upper bound of
    the loss that touches it at T. On the group it is linear in T: the step is
    argmax <T, sum of w |x - Ty|^(q-2) x y'>, which is alternation on `objective`.
    """
    return alternate(objective(x, y, q, weights), start, group, tol=tol, max_iter=max_iter)
