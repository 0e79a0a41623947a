"""The Gaussian distances of many pairs at once, in PyTorch, on any of its devices.

A twin of the compiled solver, written as in `repshape.reference`: it climbs the convex function
g(T) by alternation, T <- argmax <T, grad g(T)>, for a batch of pairs at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from repshape._arrays import FloatArray
from repshape._parallel import progress_bar
from repshape.coordinates.factors import coordinates_for
from repshape.errors import InputError, check_choice
from repshape.groups import FREE_COORDINATES, nearest_permutation
from repshape.io.cohort import Cohort
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.gaussian import GaussianShapeMetric, check_gaussian
from repshape.pytorch.tensors import SUPPORTED_GROUPS
from repshape.solvers.starts import make_starts

# Number of starts besides the means that n_starts="auto" screens, the steps that each is given, and
# how many of them are finished.
AUTO_STARTS, SCREENING_STEPS, FINISHED = 47, 10, 4
# Pairs are solved in batches of about this many numbers.
BATCH_ENTRIES = 2**24
# Exchanges of two neurons that are tried at a time, those first that promise most.
EXCHANGES = 32
# Extrapolated steps lie at most this far beyond the last one.
LARGEST_MOMENTUM = 0.95
# Gains below this fraction of the objective are rounding.
ROUNDING = 1e-14
TINY = float(np.finfo(np.float64).tiny)


def pairwise(
    networks: Cohort | Iterable[Any] | Mapping[str, Any],
    metric: GaussianShapeMetric | None = None,
    *,
    labels: Sequence[str] | None = None,
    metadata: pd.DataFrame | None = None,
    device: str | torch.device = "cpu",
    progress: bool | None = None,
) -> DistanceMatrix:
    """Return the Gaussian distances between all pairs of networks, computed by PyTorch.

    Many pairs are solved at once, in double precision, on the device of your choice. The numbers
    are those of `repshape.pairwise` wherever both find the same optimum. It tries fewer starts, and
    it gives no lower bounds, so that `repshape.pairwise` is the better choice on a CPU. It has not
    been measured on a GPU.

    Parameters
    ----------
    networks : Cohort, or iterable or dict of K networks
        As for `repshape.pairwise`. All of them are held in the memory of the device.
    metric : GaussianShapeMetric, optional
        If the numbers of neurons differ, all networks are padded with silent neurons to the
        largest, which matters for the groups "rotation" and "permutation".
    labels : sequence of str, optional
        Unique names of the networks.
    metadata : pandas.DataFrame, optional
        A row for each network, as in `repshape.pairwise`.
    device : str or torch.device
        Such as "cuda". It must have double precision.
    progress : bool, optional
        Show a progress bar on stderr. By default only in a terminal or a notebook.

    Returns
    -------
    DistanceMatrix
        With ``converged``, but without lower bounds.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(4, 30, 3))
    >>> D = pairwise({"x": x, "mirrored": -x, "twice": 2 * x})
    >>> D["x", "mirrored"] < 1e-6, D["x", "twice"] > 1
    (True, True)
    """
    chosen = check_gaussian(metric)
    chosen._validate_parameters()
    check_choice("group", chosen.group, SUPPORTED_GROUPS, owner="metric")
    place = check_device(device)
    cohort = (
        networks
        if isinstance(networks, Cohort) and labels is None and metadata is None
        else Cohort.from_networks(networks, labels, metadata)
    )
    stack = NetworkStack.prepared(cohort, chosen, place)
    K = len(cohort)
    values, converged = np.zeros((K, K)), np.ones((K, K), dtype=bool)
    rows, columns = np.triu_indices(K, 1)
    with progress_bar("pairs", len(rows), progress) as advance, torch.no_grad():
        for start in range(0, len(rows), stack.batch_size):
            part = slice(start, start + stack.batch_size)
            i, j = rows[part], columns[part]
            batch = PairBatch(stack, torch.from_numpy(i), torch.from_numpy(j))
            found, settled = batch.solve()
            values[i, j] = values[j, i] = found.cpu().numpy()
            converged[i, j] = converged[j, i] = settled.cpu().numpy()
            advance(len(i))
    return DistanceMatrix(
        values,
        cohort.labels,
        cohort.metadata,
        converged=converged,
        description=chosen.describe() | {"solver": f"PyTorch on {place.type}"},
    )


def check_device(device: Any) -> torch.device:
    """Return an available device with double precision, or raise."""
    try:
        place = torch.device(device)
        found = torch.zeros(1, dtype=torch.float64, device=place)
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        reason = " ".join(str(error).split()).partition(". ")[0].rstrip(".")
        raise InputError(
            f"The 'device' must have double precision and be available. Got {device!r}: {reason}."
        ) from None
    if found.is_meta:
        raise InputError("The 'device' must hold numbers. Got 'meta'.")
    return place


@dataclass(frozen=True)
class NetworkStack:
    """K prepared networks on a device, padded with zeros to one size.

    Attributes
    ----------
    metric : GaussianShapeMetric
    means : tensor of shape (K, M, s)
    factors : tensor of shape (K, M, s, r)
    whole : bool tensor of shape (K,)
        Whether the coordinates of a network span all neurons. Only between two such networks does
        it matter whether a transform is a rotation or a reflection.
    weights : tensor of shape (M,)
    starts : tensor of shape (S, s, s)
    """

    metric: GaussianShapeMetric
    means: Tensor
    factors: Tensor
    whole: Tensor
    weights: Tensor
    starts: Tensor

    @classmethod
    def prepared(
        cls, cohort: Cohort, metric: GaussianShapeMetric, device: torch.device
    ) -> NetworkStack:
        """Prepare all networks as the metric does, and copy them to a device."""
        if not len(cohort):
            raise InputError("There must be at least one network. Got none.")
        weights = metric._weights(cohort.n_conditions)
        nets = []
        for network in cohort:
            if metric.preprocess is not None:
                network = metric.preprocess.fit(network, metric.weights).apply(network)
            nets.append(coordinates_for(metric.group, metric._moments(network), weights))
        size = max(net.means.shape[1] for net in nets)
        neurons = [len(net.means[0]) if net.basis is None else len(net.basis) for net in nets]
        width = max(1, *(net.dense.shape[2] for net in nets))
        means = np.zeros((len(nets), len(weights), size))
        factors = np.zeros((len(nets), len(weights), size, width))
        for k, net in enumerate(nets):
            s, r = net.dense.shape[1:]
            means[k, :, :s], factors[k, :, :s, :r] = net.means, net.dense
        whole = [net.means.shape[1] == max(neurons) for net in nets]
        count = AUTO_STARTS if metric.n_starts == "auto" else int(metric.n_starts) - 1
        starts = _make_starts(metric, size, count)
        arrays = means, factors, np.array(whole), weights.copy(), starts
        return cls(metric, *(torch.from_numpy(array).to(device) for array in arrays))

    @property
    def batch_size(self) -> int:
        """Number of pairs that are solved at once."""
        M, s, r = (int(size) for size in self.factors.shape[1:])
        searches = 1 + len(self.starts)
        if self.metric.group == "permutation":
            searches = max(searches, FINISHED * EXCHANGES)
        return max(1, BATCH_ENTRIES // (searches * (M * (2 * s * r + 4 * r * r) + 8 * s * s)))


def _make_starts(metric: GaussianShapeMetric, size: int, count: int) -> FloatArray:
    seed = int(metric.random_state)
    if metric.group != "permutation":
        return make_starts(size, count, seed).copy()
    rng = np.random.default_rng([seed, size])
    orders = [rng.permutation(size) for _ in range(count)]
    return np.asarray(np.eye(size)[np.array(orders, dtype=np.intp).reshape(count, size)])


class PairBatch:
    """P pairs of networks: the objective g, its gradient, and the search for its maximum."""

    def __init__(self, stack: NetworkStack, i: Tensor, j: Tensor) -> None:
        place = stack.means.device
        self._stack, self._metric = stack, stack.metric
        self._i, self._j = i.to(place), j.to(place)
        w = stack.weights[None, :, None]
        self._mean_term = (w * stack.means[self._i]).transpose(1, 2) @ stack.means[self._j]
        self._mean_term *= self._metric.alpha
        self._turns = stack.whole[self._i] & stack.whole[self._j]
        self._turns &= self._metric.group == "rotation"

    def solve(self) -> tuple[Tensor, Tensor]:
        """Return the distances (P,), and whether each search converged.

        All starts of all pairs take a few steps at once. The best few of each pair are finished.
        """
        P = len(self._i)
        every = torch.arange(P, device=self._i.device)
        aligned = self._oracle(self._mean_term, every)  # the means as well as possible
        if self._metric.group == "identity":
            return self._distances(aligned), torch.ones_like(every, dtype=torch.bool)
        starts = self._stack.starts.expand(P, *self._stack.starts.shape)
        T = torch.cat([aligned[:, None], starts], dim=1)
        pairs = every.repeat_interleave(T.shape[1])
        T, values, _ = self._climb(self._oracle(T.flatten(0, 1), pairs), pairs, SCREENING_STEPS)
        values = values.reshape(P, -1)
        best = values.topk(min(FINISHED, values.shape[1]), dim=1).indices
        chosen = (best + values.shape[1] * every[:, None]).flatten()
        T, values, converged = self._finish(T[chosen], pairs[chosen])
        if self._metric.group == "permutation" and T.shape[1] > 1:
            T, values = self._exchange(T, pairs[chosen])
        winner = values.reshape(P, -1).argmax(1) + best.shape[1] * every
        return self._distances(T[winner]), converged[winner]

    def _finish(self, T: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Climb from T until every search has converged, or has used up its iterations."""
        converged = torch.zeros_like(pairs, dtype=torch.bool)
        values = torch.zeros(len(pairs)).to(T)
        left, rest = self._metric.max_iter, torch.arange(len(pairs), device=pairs.device)
        while left > 0 and len(rest):
            steps = min(left, 2 * SCREENING_STEPS)
            T[rest], values[rest], slope = self._climb(T[rest], pairs[rest], steps)
            converged[rest] = slope <= self._metric.tol
            rest = torch.nonzero(~converged).flatten()
            left -= steps
        return T, values, converged

    def _climb(self, T: Tensor, pairs: Tensor, steps: int) -> tuple[Tensor, Tensor, Tensor]:
        """Take some steps; return the best T of each pair, g(T), and the relative slope there.

        Steps follow a gradient that is extrapolated from the last two. If this lowers g, the pair
        goes back and takes a plain step, which cannot lower it.
        """
        value, gradient = self._objective(T, pairs)
        last, age = gradient, torch.zeros_like(value)
        for _ in range(steps):
            momentum = torch.clamp(age / (age + 3), max=LARGEST_MOMENTUM)
            if self._metric.group == "permutation":
                momentum = torch.zeros_like(age)
            ahead = gradient + momentum[:, None, None] * (gradient - last)
            tried = self._oracle(ahead, pairs)
            reached, slope = self._objective(tried, pairs)
            worse = reached < value - ROUNDING * value.abs()
            keep = worse[:, None, None]
            last = gradient
            T = torch.where(keep, T, tried)
            gradient = torch.where(keep, gradient, slope)
            value = torch.where(worse, value, reached)
            age = torch.where(worse, torch.zeros_like(age), age + 1)
        return T, value, self._slope(T, gradient, pairs)

    def _exchange(self, T: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """Exchange two neurons at a time, as long as that raises g; return T and g(T).

        Permutations from which alternation does not move are many, and few of them are good.
        """
        first, second = torch.triu_indices(T.shape[1], T.shape[1], 1, device=T.device)
        values, rest = torch.zeros(len(T)).to(T), torch.arange(len(T), device=T.device)
        while len(rest):
            values[rest], gradient = self._objective(T[rest], pairs[rest])
            H = gradient @ T[rest].mT
            own = torch.diagonal(H, dim1=1, dim2=2)
            gain = (H + H.mT)[:, first, second] - own[:, first] - own[:, second]
            likely = gain.topk(min(EXCHANGES, gain.shape[1]), dim=1).indices
            a, b = first[likely, None], second[likely, None]
            order = torch.arange(T.shape[1], device=T.device).repeat(*likely.shape, 1)
            order.scatter_(2, a, b).scatter_(2, b, a)
            tried = torch.take_along_dim(T[rest][:, None], order[..., None], dim=2)
            owners = pairs[rest].repeat_interleave(likely.shape[1])
            reached = self._objective(tried.flatten(0, 1), owners)[0].reshape(likely.shape)
            best, place = reached.max(1)
            better = best > values[rest] + ROUNDING * values[rest].abs()
            T[rest[better]] = tried[better, place[better]]
            rest = rest[better]
        return T, values

    def _slope(self, T: Tensor, gradient: Tensor, pairs: Tensor) -> Tensor:
        """Return the size of the gradient along the group, relative to that of the gradient."""
        if self._metric.group == "permutation":
            gain = ((self._oracle(gradient, pairs) - T) * gradient).sum((1, 2))
            return gain / torch.clamp((T * gradient).sum((1, 2)).abs(), min=TINY)
        product = T.transpose(1, 2) @ gradient
        skew: Tensor = torch.linalg.matrix_norm(product - product.transpose(1, 2))
        scale = torch.linalg.matrix_norm(gradient)
        return skew / torch.clamp(scale, min=TINY)

    def _objective(self, T: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """Return g(T) and its gradient, as `repshape.reference.gaussian.objective`."""
        beta = 2.0 - self._metric.alpha
        value = (self._mean_term[pairs] * T).sum((1, 2))
        gradient = self._mean_term[pairs]
        if beta:
            A, C = self._stack.factors[self._i[pairs]], self._stack.factors[self._j[pairs]]
            U, s, Vt = torch.linalg.svd(A.mT @ (T[:, None] @ C), full_matrices=False)
            w = self._stack.weights
            value = value + beta * (s.sum(2) @ w)
            terms = w[:, None, None] * A @ (U @ Vt) @ C.mT
            gradient = gradient + beta * terms.sum(1)
        return value, gradient

    def _oracle(self, gradient: Tensor, pairs: Tensor) -> Tensor:
        """Return the transforms of the group that maximise <T, gradient>."""
        group = self._metric.group
        if group == "identity":
            return torch.eye(gradient.shape[1]).to(gradient).expand_as(gradient)
        if group == "permutation":
            found = [nearest_permutation(one) for one in gradient.cpu().numpy()]
            return torch.from_numpy(np.stack(found)).to(gradient)
        assert group in FREE_COORDINATES
        U, _, Vt = torch.linalg.svd(gradient)
        reflects = torch.linalg.det(U) * torch.linalg.det(Vt) < 0
        flip = torch.where(reflects & self._turns[pairs], -1.0, 1.0).to(U)
        U = torch.cat([U[:, :, :-1], U[:, :, -1:] * flip[:, None, None]], dim=2)
        nearest: Tensor = U @ Vt
        return nearest

    def _distances(self, T: Tensor) -> Tensor:
        """Return the distances at T, from residuals, which are accurate even if they are small."""
        stack, alpha = self._stack, self._metric.alpha
        gap = stack.means[self._i] - stack.means[self._j] @ T.transpose(1, 2)
        squared = alpha * ((gap**2).sum(2) @ stack.weights)
        A, moved = stack.factors[self._i], T[:, None] @ stack.factors[self._j]
        U, _, Vt = torch.linalg.svd(A.mT @ moved, full_matrices=False)
        residual = A @ (U @ Vt) - moved
        squared = squared + (2.0 - alpha) * ((residual**2).sum((2, 3)) @ stack.weights)
        root: Tensor = squared.sqrt()
        return root
