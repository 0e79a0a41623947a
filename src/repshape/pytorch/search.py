"""The search for the best transforms of many pairs of Gaussian networks at once, on any device.

The policy is that of every search (`repshape.solvers.search`) in its simplest form: explore starts
in rounds until enough of them agree on the best optimum, perturb the best transform of pairs for
which few do, and finish the best. Formulas are those of `repshape.reference.gaussian`. No tensor
leaves its device; of their values, the host reads only which searches go on.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from repshape.pytorch.assignment import nearest_permutations
from repshape.reference import gaussian as reference
from repshape.solvers.search import COARSE, ROUNDING, SAME_OPTIMUM, Policy

# The policy of the compiled search for cheap pairs (cpp/search/stopping.h).
POLICY = Policy(hits=8, fewest=24, most=96, moves=64)
# Moves that are made at once.
MOVES_PER_ROUND = 16
# Steps after which searches are judged. One is given up if twice the gain of its last steps would
# not bring it to the best of its pair.
STEPS, HOPE = 10, 2.0
# Extrapolated steps lie at most this far beyond the last one.
LARGEST_MOMENTUM = 0.95
# Exchanges of two neurons that are tried at a time, those first that promise most.
EXCHANGES = 8
# Gains below this fraction of the squared responses are rounding.
NOTHING = 1e-15


@dataclass(frozen=True)
class Found:
    """The results of P pairs, of shape (P,) each, as `repshape._native.PairResults` names them."""

    distance: Tensor
    lower_bound: Tensor
    converged: Tensor
    n_starts: Tensor
    n_agreeing: Tensor
    gap: Tensor


@dataclass(frozen=True)
class PairBatch:
    """P pairs of networks of one size, as a function of transforms.

    Attributes
    ----------
    networks : means (P, M, s) and factors (P, M, s, r) of x, then those of y
    weights : tensor of shape (M,)
    alpha : float
    group : str
    turns : bool tensor of shape (P,)
        Whether transforms must be rotations.
    """

    networks: tuple[Tensor, Tensor, Tensor, Tensor]
    weights: Tensor
    alpha: float
    group: str
    turns: Tensor

    @property
    def power(self) -> Tensor:
        """The squared responses (P,): the squared distance at T is this minus 2 g(T)."""
        mu, A, nu, C = self.networks
        means, noise = mu**2 + nu**2, (A**2).sum((2, 3)) + (C**2).sum((2, 3))
        total: Tensor = (self.alpha * means.sum(2) + (2 - self.alpha) * noise) @ self.weights
        return total

    def at(self, T: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """Return g and its gradient at transforms T (B, s, s) of some pairs (B,)."""
        mu, A, nu, C = (one[pairs] for one in self.networks)
        return reference.objective(mu, A, nu, C, T, self.alpha, self.weights)

    def distances(self, T: Tensor) -> Tensor:
        """Return the distances at T (P, s, s)."""
        settings = self.alpha, self.weights
        root: Tensor = reference.distance_squared(*self.networks, T, *settings).sqrt()
        return root

    def lower_bounds(self) -> Tensor:
        """Return lower bounds (P,) of the distances at all transforms of the group."""
        T, settings = self.aligned_means(), (self.alpha, self.weights)
        root: Tensor = reference.lower_bound_squared(*self.networks, T, *settings).sqrt()
        return root

    def aligned_means(self) -> Tensor:
        """Return the transforms (P, s, s) of the group that align the means best."""
        mu, _, nu, _ = self.networks
        return self.nearest(reference.mean_term(mu, nu, self.weights), self.turns)

    def nearest(self, G: Tensor, turns: Tensor) -> Tensor:
        """Return the transforms of the group that maximise <T, G>, (B, s, s)."""
        if self.group == "identity":
            return torch.eye(G.shape[1], dtype=G.dtype, device=G.device).expand_as(G)
        if self.group == "permutation":
            return nearest_permutations(G)
        U, _, Vt = torch.linalg.svd(G)
        reflects = torch.linalg.det(U) * torch.linalg.det(Vt) < 0
        flip = torch.where(reflects & turns, -1.0, 1.0).to(G.dtype)
        U = torch.cat([U[:, :, :-1], U[:, :, -1:] * flip[:, None, None]], dim=2)
        found: Tensor = U @ Vt
        return found


class BatchSearch:
    """The search for the best transforms of a batch of pairs.

    Parameters
    ----------
    batch : PairBatch
    starts : tensor of shape (S, s, s)
        Starts besides the means, of all pairs.
    noise : tensor of shape (moves, s, s)
        Perturbations of the best transforms; none if all starts are to be made.
    tol, max_iter
        Of the best start; the others are explored coarsely.
    """

    def __init__(
        self, batch: PairBatch, starts: Tensor, noise: Tensor, *, tol: float, max_iter: int
    ) -> None:
        self._batch, self._starts, self._noise = batch, starts, noise
        self._tol, self._max_iter = tol, max_iter
        self._power = batch.power
        self._every = torch.arange(len(self._power), device=starts.device)
        self._best = batch.aligned_means()
        # Squared distances at the ends of all searches; infinite for those that are not made.
        self._ends = torch.full_like(self._power[:, None], torch.inf)

    def solve(self) -> Found:
        """Search until enough starts agree, and return the best of every pair."""
        one = torch.ones_like(self._every)
        if self._batch.group == "identity" or self._batch.alpha == 2:  # there is a formula
            distance = self._batch.distances(self._best)
            return Found(distance, distance, one.bool(), one, one, torch.zeros_like(distance))
        T = torch.cat([self._best[:, None], self._starts.expand(len(one), -1, -1, -1)], dim=1)
        for first in range(0, T.shape[1], POLICY.fewest):
            few = self._in_best().sum(1) < POLICY.hits
            rest = self._every[few] if len(self._noise) else self._every
            self._explore(T[rest, first : first + POLICY.fewest], rest)
        n_starts, own = self._ends.isfinite().sum(1), self._ends.shape[1]
        self._move(n_starts)
        hits = self._in_best()[:, :own].sum(1).clamp(min=1)
        T, _, converged = self._climb(self._best, self._every, self._tol)
        distance = self._batch.distances(T)
        bound = torch.minimum(self._batch.lower_bounds(), distance)
        return Found(distance, bound, converged, n_starts, hits, self._gap())

    def _in_best(self) -> Tensor:
        """Return which searches ended in the best optimum of their pair, (P, S)."""
        best = self._ends.amin(1, keepdim=True)
        margin = torch.maximum(SAME_OPTIMUM * best, ROUNDING * self._power[:, None])
        return self._ends <= best + margin

    def _gap(self) -> Tensor:
        """Return by what share the second-best optima are longer than the best; 0 if none."""
        others = torch.where(self._in_best(), torch.inf, self._ends).amin(1)
        least = torch.maximum(self._ends.amin(1), ROUNDING * self._power)
        return torch.where(others.isfinite(), (others / least).sqrt() - 1, 0.0)

    def _move(self, n_starts: Tensor) -> None:
        """Perturb and improve the best transforms where few starts agree on them."""
        hits, moves = self._in_best().sum(1), len(self._noise)
        few = torch.where(2 * hits < n_starts, moves // 4, 0)
        wanted = torch.where(hits < POLICY.hits, moves, few)
        for first in range(0, moves, MOVES_PER_ROUND):
            rest = self._every[wanted > first]
            noise = self._noise[first : first + MOVES_PER_ROUND]
            self._explore(self._best[rest, None] + noise, rest)

    def _explore(self, G: Tensor, rest: Tensor) -> None:
        """Search coarsely from starts (R, S, s, s) of some pairs (R,), and keep the best."""
        if not len(rest):
            return
        pairs = rest.repeat_interleave(G.shape[1])
        T = self._batch.nearest(G.flatten(0, 1), self._batch.turns[pairs])
        T, cost, _ = self._climb(T, pairs, None)
        if self._batch.group == "permutation":
            T, cost = self._exchange(T, pairs)
        cost = cost.reshape(G.shape[:2])
        best, place = cost.min(1)
        better = best < self._ends[rest].amin(1)
        T = T.reshape(G.shape)[torch.arange(len(rest), device=T.device), place]
        self._best[rest] = torch.where(better[:, None, None], T, self._best[rest])
        ends = torch.full_like(self._ends[:, :1], torch.inf).repeat(1, G.shape[1])
        ends[rest] = cost
        self._ends = torch.cat([self._ends, ends], dim=1)

    def _climb(self, T: Tensor, pairs: Tensor, tol: float | None) -> tuple[Tensor, Tensor, Tensor]:
        """Climb from T until the slope is below ``tol``; return T, costs and what converged.

        Without a tolerance, until the cost hardly falls, or is not going to reach the best.
        """
        T, goes_on = T.clone(), torch.ones_like(pairs, dtype=torch.bool)
        cost = torch.full_like(self._power[pairs], torch.inf)
        for _ in range(0, self._max_iter, STEPS):
            rest = goes_on.nonzero().flatten()
            if not len(rest):
                break
            T[rest], start, value, slope = self._steps(T[rest], pairs[rest])
            power = self._power[pairs[rest]]
            before, cost[rest] = power - 2 * start, power - 2 * value
            if tol is not None:
                goes_on[rest] = slope > tol
                continue
            gain, now = before - cost[rest], cost[rest]
            best = torch.full_like(self._power, torch.inf)
            best = best.scatter_reduce(0, pairs, cost, "amin")[pairs[rest]]
            level = gain <= COARSE * now + ROUNDING * power
            goes_on[rest] = ~level & (now - HOPE * gain <= best)
        return T, cost, ~goes_on

    def _steps(self, T: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Take some steps; return T, g before and after them, and the relative slope.

        Steps follow a gradient that is extrapolated from the last two. If this lowers g, the search
        goes back and takes a plain step, which cannot lower it (Prop. 2).
        """
        turns, free = self._batch.turns[pairs], self._batch.group != "permutation"
        first, gradient = self._batch.at(T, pairs)
        value, last, age = first, gradient, torch.zeros_like(first)
        for _ in range(STEPS):
            momentum = free * torch.clamp(age / (age + 3), max=LARGEST_MOMENTUM)
            ahead = gradient + momentum[:, None, None] * (gradient - last)
            tried = self._batch.nearest(ahead, turns)
            reached, slope = self._batch.at(tried, pairs)
            worse = reached < value - NOTHING * self._power[pairs]
            keep, last = worse[:, None, None], gradient
            T = torch.where(keep, T, tried)
            gradient = torch.where(keep, gradient, slope)
            value = torch.where(worse, value, reached)
            age = torch.where(worse, 0.0, age + 1)
        return T, first, value, self._slope(T, gradient)

    def _slope(self, T: Tensor, gradient: Tensor) -> Tensor:
        """Return the slope of g along the group, or the gain of a step, relative to |gradient|."""
        scale: Tensor = torch.linalg.matrix_norm(gradient).clamp(min=torch.finfo(T.dtype).tiny)
        if self._batch.group == "permutation":
            return ((nearest_permutations(gradient) - T) * gradient).sum((1, 2)) / scale
        product = T.mT @ gradient
        skew: Tensor = torch.linalg.matrix_norm(product - product.mT)
        return skew / scale

    def _exchange(self, T: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """Exchange two neurons at a time, as long as that raises g; return T and the costs.

        Permutations from which alternation does not move are many, and few of them are good.
        """
        n, rest = T.shape[1], torch.arange(len(T), device=T.device)
        first, second = torch.triu_indices(n, n, 1, device=T.device)
        values = torch.zeros_like(self._power[pairs])
        while len(rest):
            values[rest], gradient = self._batch.at(T[rest], pairs[rest])
            H = gradient @ T[rest].mT
            own = torch.diagonal(H, dim1=1, dim2=2)
            gain = (H + H.mT)[:, first, second] - own[:, first] - own[:, second]
            likely = gain.topk(min(EXCHANGES, gain.shape[1]), dim=1).indices
            a, b = first[likely, None], second[likely, None]
            order = torch.arange(n, device=T.device).repeat(*likely.shape, 1)
            order.scatter_(2, a, b).scatter_(2, b, a)
            tried = torch.take_along_dim(T[rest][:, None], order[..., None], dim=2)
            owners = pairs[rest].repeat_interleave(likely.shape[1])
            reached = self._batch.at(tried.flatten(0, 1), owners)[0].reshape(likely.shape)
            if not likely.shape[1]:
                break
            best, place = reached.max(1)
            better = best > values[rest] + NOTHING * self._power[pairs[rest]]
            T[rest[better]] = tried[better, place[better]]
            rest = rest[better]
        return T, self._power[pairs] - 2 * values
