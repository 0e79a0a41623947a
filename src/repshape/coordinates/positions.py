"""Networks with positions as the solvers need them: blocks of thin factors.

See `repshape.reference.process` for what the blocks of each mode are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from repshape._arrays import condition_weights, count, extreme_unit, name_condition, symmetrized
from repshape.coordinates.factors import Factors, factorise, in_principal_axes, split_factors
from repshape.errors import InputError
from repshape.groups import FREE_COORDINATES
from repshape.moments import (
    PLAIN_ESTIMATORS,
    CovarianceEstimator,
    estimate_moments,
    estimate_without_warning,
)
from repshape.preprocess import FittedPreprocess, Preprocess
from repshape.responses import Gaussians, Trials
from repshape.responses.positions import PositionNetwork

FloatArray = npt.NDArray[np.float64]
MODES = ("marginal", "joint", "causal")
# Innovations with less than this fraction of the standard deviation of their step are rounding.
INNOVATION_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Blocks:
    """A network in one mode: means at positions, and factors of the noise in blocks.

    Attributes
    ----------
    means : array of shape (M, P, s)
    factors : array of shape (K, Q, s, r)
        K / M blocks for each condition, which extend over Q positions: one block per position with
        Q = 1 (marginal), or with Q = P one block per condition (joint) or per time (causal).
    basis : array of shape (n, s) or None
        Orthonormal columns: neurons = basis @ coordinates. None if the coordinates are the neurons.
    """

    means: FloatArray
    factors: FloatArray
    basis: FloatArray | None = None

    @property
    def per_condition(self) -> int:
        """Number of blocks of each condition."""
        return len(self.factors) // len(self.means)

    def with_silent_neurons(self, n_neurons: int) -> Blocks:
        """Return the blocks of a network with neurons that never respond after its own."""
        more = (0, n_neurons - self.means.shape[2])
        none = (0, 0)
        means, factors = (none, none, more), (none, none, more, none)
        return replace(self, means=np.pad(self.means, means), factors=np.pad(self.factors, factors))


def make_blocks(
    network: PositionNetwork,
    mode: str,
    *,
    covariance: str | CovarianceEstimator = "mle",
    order: int | None = None,
    random_state: int = 0,
    without_noise: bool = False,
) -> Blocks:
    """Return the blocks of a network in a mode; ``without_noise`` if only its means matter."""
    estimate = estimate_without_warning if without_noise else estimate_moments

    def moments(part: Trials | Gaussians) -> Gaussians:
        if isinstance(part, Gaussians):
            return part
        return estimate(part, covariance, random_state=random_state)

    means = network.means
    M, P, n = means.shape
    if mode == "marginal":
        found = factorise(moments(network.as_conditions())).dense
        return Blocks(means, found[:, None])
    if mode == "causal" and not without_noise:
        check_order(network, covariance, order)
    found = factorise(moments(network.flat)).dense
    factors = np.ascontiguousarray(found.reshape(M, P, n, found.shape[2]))
    if mode == "joint":
        return Blocks(means, factors)
    columns = [causal_columns(one, order) for one in factors]
    return Blocks(means, np.concatenate(columns))


@dataclass(frozen=True)
class FittedPositions:
    """Preprocessing that is fitted to all positions together, and applied to each of them."""

    phi: FittedPreprocess

    @classmethod
    def fit(
        cls, preprocess: Preprocess, network: PositionNetwork, weights: npt.ArrayLike | None
    ) -> FittedPositions:
        """Fit to a network; every position of a condition has the same weight."""
        if network.n_positions == 1:
            return cls(preprocess.fit(network.flat, weights))
        each = np.repeat(condition_weights(weights, network.n_conditions), network.n_positions)
        return cls(preprocess.fit(network.as_conditions(), each))

    def apply(self, network: PositionNetwork) -> PositionNetwork:
        """Map a network: the one it was fitted to, or held-out responses of the same neurons."""
        flat, phi, P = network.flat, self.phi, network.n_positions
        if phi.n_neurons != network.n_neurons:
            raise InputError(
                f"The preprocessing was fitted to {count(phi.n_neurons, 'neuron')}. "
                f"Got a network of {count(network.n_neurons, 'neuron')}."
            )
        neurons = network.neurons if phi.linear is None else None
        if P == 1:
            moved: Trials | Gaussians = phi.apply(flat)
        elif isinstance(flat, Trials):
            rows = self._map(flat.pooled - np.tile(phi.offset, P), P)
            moved = Trials._trusted(rows, flat.n_trials, flat.n_dropped, flat.conditions)
        else:
            moved = self._apply_moments(flat, P)
        return PositionNetwork._trusted(moved, network.positions, neurons)

    def _apply_moments(self, flat: Gaussians, P: int) -> Gaussians:
        means = self._map(flat.means - np.tile(self.phi.offset, P), P)
        kind, stored = flat.kind, flat.stored
        if kind == "factors":
            stored = np.swapaxes(self._map(np.swapaxes(stored, 1, 2), P), 1, 2)
        elif self.phi.linear is None:
            stored = stored * self.phi.gain**2
        else:
            kind, half = "full", self._map(flat.covariances, P)
            stored = symmetrized(self._map(np.swapaxes(half, 1, 2), P))
        return Gaussians._trusted(
            means,
            np.ascontiguousarray(stored),
            kind,
            flat.conditions,
            flat.estimator,
            n_trials=flat.n_trials,
            halves=flat._map_halves(lambda half: self._apply_moments(half, P)),
        )

    def _map(self, rows: FloatArray, P: int) -> FloatArray:
        """Map rows (..., P * n) to (..., P * n_out), position by position."""
        split = rows.reshape(*rows.shape[:-1], P, -1)
        return np.ascontiguousarray(self.phi._map(split).reshape(*rows.shape[:-1], -1))


def check_order(
    network: PositionNetwork, covariance: str | CovarianceEstimator, order: int | None
) -> None:
    """Raise if a condition has too few trials to regress a step on the steps before it."""
    if not isinstance(network.flat, Trials) or covariance not in PLAIN_ESTIMATORS:
        return
    past = network.n_positions - 1 if order is None else min(order, network.n_positions - 1)
    columns = past * network.n_neurons
    m = int(np.argmin(network.n_trials))
    if network.n_trials[m] > columns + 1:
        return
    where = name_condition(m, network.conditions)
    used = f"all {past} steps before it" if order is None else f"{past} steps before it"
    fitting = (int(network.n_trials[m]) - 2) // network.n_neurons
    advice = f"Set 'order' to at most {fitting}" if fitting > 0 else "Use more trials"
    raise InputError(
        f"The causal mode regresses each time step on {used}, {columns} numbers, and needs more "
        f"than {columns + 1} trials. Got {network.n_trials[m]} at {where}. {advice}, reduce the "
        "number of neurons by preprocess, or use a shrinkage estimator as 'covariance'."
    )


def causal_columns(factor: FloatArray, order: int | None = None) -> FloatArray:
    """Return the block columns L[:, t] of the causal factor, (P, P, n, r): time t, then position.

    Parameters
    ----------
    factor : array of shape (P, n, r)
        Any factor of the covariance S of the process.
    order : int, optional
        Number of past steps that predict the next one. By default all of them, so that
        sum_t L[:, t] L[:, t]' = S. Otherwise L is the factor of the Markov model of this order.

    Notes
    -----
    The innovation of a step is what the past does not predict. Its directions without variance are
    dropped, and nothing is added to singular covariances.
    """
    P, n, r = factor.shape
    Z = np.ascontiguousarray(np.moveaxis(factor, 2, 0))  # Z' Z = S: rows act as trials
    width = min(n, r)
    if order is None or order >= P - 1:
        return _full_columns(Z, width)
    return _markov_columns(Z, width, order)


def _full_columns(Z: FloatArray, width: int) -> FloatArray:
    """Orthogonalise each step against the innovations before it (block Gram-Schmidt)."""
    r, P, n = Z.shape
    out = np.zeros((P, P, n, width))
    rest, noise = Z.copy(), np.zeros((r, 0))
    for t in range(P):
        step = rest[:, t]
        step = step - noise @ (noise.T @ step)  # again, for orthogonality to rounding
        U, _ = _innovation(step, Z[:, t])
        noise = np.hstack([noise, U])
        loads = np.tensordot(U, rest[:, t:], axes=(0, 0))  # (r_t, P - t, n)
        out[t, t:, :, : U.shape[1]] = np.moveaxis(loads, 0, 2)
        rest[:, t:] -= np.tensordot(U, loads, axes=(1, 0))
    return out


def _markov_columns(Z: FloatArray, width: int, order: int) -> FloatArray:
    """Regress each step on ``order`` steps before it, and propagate the innovations."""
    r, P, n = Z.shape
    out = np.zeros((P, P, n, width))
    for t in range(P):
        start = max(0, t - order)
        past = Z[:, start:t].reshape(r, (t - start) * n)
        weights = np.linalg.lstsq(past, Z[:, t], rcond=None)[0] if t else np.zeros((0, n))
        _, loads = _innovation(Z[:, t] - past @ weights, Z[:, t])
        out[t, t, :, : loads.shape[1]] = loads
        # x_t = weights' past + innovation, for the noise of every earlier time
        out[:t, t] = weights.T @ out[:t, start:t].reshape(t, (t - start) * n, width)
    return out


def _innovation(step: FloatArray, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return orthonormal noise U (r, k) and loads (n, k) with step = U loads', of full rank."""
    U, s, Vt = np.linalg.svd(step, full_matrices=False)
    unit = extreme_unit(raw)
    kept = s > INNOVATION_TOLERANCE * unit * np.linalg.norm(raw / unit)
    return U[:, kept], Vt[kept].T * s[kept]


def coordinates_for(group: str, blocks: Blocks, weights: FloatArray) -> Blocks:
    """Return blocks in the coordinates in which a group is searched.

    For groups that allow any coordinates these are the principal axes of the noise of all
    positions together; see `repshape.coordinates.factors.in_principal_axes`.
    """
    if group not in FREE_COORDINATES:
        return blocks
    M, P, n = blocks.means.shape
    K, Q, _, r = blocks.factors.shape
    means = blocks.means.reshape(M * P, n)
    # All noise at a position, whatever the block that it belongs to.
    if Q == 1:
        noise = blocks.factors[:, 0]
    else:
        split = blocks.factors.reshape(M, K // M, P, n, r)
        noise = split.transpose(0, 2, 3, 1, 4).reshape(M * P, n, -1)
    net = Factors(means, noise, np.zeros((M * P, noise.shape[2])), False)
    axes = in_principal_axes(net, np.repeat(weights, P) / P, oriented=group == "rotation")
    basis = axes.basis
    assert basis is not None
    factors = np.ascontiguousarray(np.einsum("ni,kqnr->kqir", basis, blocks.factors, optimize=True))
    s = basis.shape[1]
    if r > Q * s:  # more columns than rows
        factors = split_factors(factors.reshape(K, Q * s, r))[0].reshape(K, Q, s, Q * s)
    return replace(blocks, means=blocks.means @ basis, factors=factors, basis=basis)


def spectra(blocks: Blocks, mode: str) -> Sequence[FloatArray]:
    """Return singular values by condition, (M, groups, values), for the lower bounds of a mode.

    Covariances at one transform are at least as far apart as the singular values of their blocks.
    The squared distances of the modes are ordered, so the bounds of simpler modes hold as well.
    """
    M, P, n = blocks.means.shape
    K, Q, _, r = blocks.factors.shape
    own = _singular_values(blocks.factors.reshape(K, Q * n, r))
    found = [own.reshape(M, K // M, own.shape[1])]
    if mode == "marginal":
        return found
    split = blocks.factors.reshape(M, K // M, P, n, r).transpose(0, 2, 3, 1, 4)
    columns = K // M * r
    found.append(_singular_values(split.reshape(M, P, n, columns)))
    if mode == "causal":
        found.append(_singular_values(split.reshape(M, 1, P * n, columns)))
    return found


def _singular_values(matrices: FloatArray) -> FloatArray:
    if matrices.size == 0:  # a network without noise
        return np.zeros((*matrices.shape[:-2], 0))
    return np.asarray(np.linalg.svd(matrices, compute_uv=False), dtype=np.float64)
