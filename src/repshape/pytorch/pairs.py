"""The Gaussian distances between all pairs of networks, in PyTorch, on any of its devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from repshape._arrays import FloatArray, check_moderate
from repshape._parallel import progress_bar
from repshape.engine.job import warn_of_doubt
from repshape.errors import InputError, check_choice
from repshape.io.cohort import Cohort
from repshape.matrix.distances import DistanceMatrix
from repshape.matrix.sizes import sizes_of_networks
from repshape.metrics.base import in_one_space
from repshape.metrics.few_trials import warn_of_few_trials
from repshape.metrics.gaussian import GaussianShapeMetric, check_gaussian
from repshape.metrics.native import gaussian_coordinates, spans_part
from repshape.pytorch.search import EXCHANGES, POLICY, BatchSearch, Found, PairBatch
from repshape.pytorch.tensors import SUPPORTED_GROUPS
from repshape.solvers.search import MOVE_SIZES
from repshape.solvers.starts import make_starts

# Pairs are solved in batches of about this many numbers.
BATCH_ENTRIES = 2**24


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

    Many pairs are solved at once, in double precision, on the device of your choice, by the
    formulas of `repshape.reference.gaussian`. The numbers are those of `repshape.pairwise` wherever
    both find the same optimum. Its search is simpler and slower than the compiled one, and it does
    not compose the alignments of other pairs, so that `repshape.pairwise` is the better choice on a
    CPU. It has not been measured on a GPU.

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
        With lower bounds, ``converged``, ``agreement`` and ``possible_excess``.

    Warns
    -----
    repshape.errors.SearchWarning
        If some pairs may be longer than necessary; see `DistanceMatrix.possible_excess`.
    repshape.errors.FewTrialsWarning
        If covariances are estimated from fewer than two trials per dimension.

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
    chosen = in_one_space(chosen, cohort.records)
    warn_of_few_trials([chosen], cohort.records, cohort.labels)
    stack = NetworkStack.prepared(cohort, chosen, place)
    rows, columns = np.triu_indices(len(cohort), 1)
    parts = []
    with progress_bar("pairs", len(rows), progress) as advance, torch.no_grad():
        for start in range(0, len(rows), stack.batch_size):
            part = slice(start, start + stack.batch_size)
            index = torch.from_numpy(np.stack([rows[part], columns[part]])).to(place)
            parts.append(stack.search(*index).solve())
            advance(index.shape[1])
    D = DistanceMatrix(
        labels=cohort.labels,
        metadata=cohort.metadata,
        description=chosen.describe() | {"solver": f"PyTorch on {place.type}"},
        sizes=sizes_of_networks(cohort.records),
        **_squares(parts, len(cohort)),
    )
    warn_of_doubt(D)
    return D


def _squares(parts: Sequence[Found], count: int) -> dict[str, Any]:
    """Return the results of all pairs as symmetric matrices, by the names of `DistanceMatrix`."""
    names = {"distance": "values", "lower_bound": "lower_bounds", "gap": "gaps"}
    found = {}
    for field in fields(Found):
        numbers = [getattr(one, field.name).cpu().numpy() for one in parts]
        square = np.zeros((count, count))
        square[np.triu_indices(count, 1)] = np.concatenate(numbers) if numbers else ()
        square += square.T
        if field.name in ("converged", "n_starts", "n_agreeing"):  # a network is its own copy
            np.fill_diagonal(square, 1)
        found[names.get(field.name, field.name)] = square
    return found


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
        Besides the means.
    noise : tensor of shape (moves, s, s)
    """

    metric: GaussianShapeMetric
    means: Tensor
    factors: Tensor
    whole: Tensor
    weights: Tensor
    starts: Tensor
    noise: Tensor

    @classmethod
    def prepared(
        cls, cohort: Cohort, metric: GaussianShapeMetric, device: torch.device
    ) -> NetworkStack:
        """Prepare all networks as the metric does, and copy them to a device."""
        if not len(cohort):
            raise InputError("There must be at least one network. Got none.")
        nets, whole = [], []
        for name, network in zip(cohort.labels, cohort, strict=True):
            if metric.preprocess is not None:
                network = metric.preprocess.fit(network, metric.weights).apply(network)
            net = gaussian_coordinates(metric, network)
            for part in (net.means, net.factors):
                check_moderate(part, f"network {name!r}", "Distances on a device")
            whole.append(not spans_part(net.basis, metric._is_padded(network.n_neurons)))
            nets.append(net)
        size = max(net.means.shape[1] for net in nets)
        if metric.group == "permutation":  # more silent neurons than others make no difference
            size = max(size, min(int(metric.pad_to or 0), 2 * size))
        width = max(1, *(net.dense.shape[2] for net in nets))
        M = cohort.n_conditions
        means, factors = np.zeros((len(nets), M, size)), np.zeros((len(nets), M, size, width))
        for k, net in enumerate(nets):
            s, r = net.dense.shape[1:]
            means[k, :, :s], factors[k, :, :s, :r] = net.means, net.dense
        starts, noise = make_search(metric, size)
        arrays = means, factors, np.array(whole), np.array(metric._weights(M)), starts, noise
        return cls(metric, *(torch.from_numpy(array).to(device) for array in arrays))

    @property
    def batch_size(self) -> int:
        """Number of pairs that are solved at once."""
        M, s, r = (int(size) for size in self.factors.shape[1:])
        searches = min(POLICY.fewest, 1 + len(self.starts))
        if self.metric.group == "permutation":
            searches *= EXCHANGES
        return max(1, BATCH_ENTRIES // (searches * (M * (2 * s * r + 4 * r * r) + 8 * s * s)))

    def search(self, i: Tensor, j: Tensor) -> BatchSearch:
        """Return the search for the best transforms of networks j onto networks i, (P,) each."""
        metric, turns = self.metric, self.whole[i] & self.whole[j]
        networks = self.means[i], self.factors[i], self.means[j], self.factors[j]
        alpha, turns = float(metric.alpha), turns & (metric.group == "rotation")
        batch = PairBatch(networks, self.weights, alpha, str(metric.group), turns)
        tol, max_iter = float(metric.tol), int(metric.max_iter)
        return BatchSearch(batch, self.starts, self.noise, tol=tol, max_iter=max_iter)


def make_search(metric: GaussianShapeMetric, size: int) -> tuple[FloatArray, FloatArray]:
    """Return the starts besides the means, and the perturbations of the best transforms.

    They are the same for all pairs. A given number of starts is searched without perturbations.
    """
    auto, seed = metric.n_starts == "auto", int(metric.random_state)
    count = POLICY.most - 1 if auto else int(metric.n_starts) - 1
    rng = np.random.default_rng([seed, size, 1])
    noise = rng.standard_normal((POLICY.moves if auto else 0, size, size)) / np.sqrt(size)
    noise *= np.resize(MOVE_SIZES, len(noise))[:, None, None]
    if metric.group == "permutation":
        return rng.standard_normal((count, size, size)), noise
    return make_starts(size, count, seed).copy(), noise
