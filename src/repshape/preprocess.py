"""Preprocessing (phi in the paper): one affine map per network, fitted once.

A transform of every single response, such as a square root, may come first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import FloatArray, Labels, condition_weights, count, frozen, symmetrized
from repshape.errors import (
    InputError,
    check_boolean,
    check_choice,
    check_integer,
    check_optional,
    check_real,
)
from repshape.responses import Gaussians, NetworkLike, Trials, as_network
from repshape.responses.transforms import (
    TRANSFORMS,
    ResponseTransform,
    transform_name,
    transform_responses,
)

RANK_TOLERANCE = 1e-12
"""The variance of a direction below this fraction of the largest is rounding."""

ROUNDING = 1e-14
"""Responses that differ by less than this fraction of the largest are equal up to rounding."""


@dataclass(frozen=True)
class Preprocess:
    """How to transform, centre, reduce, whiten and scale networks before they are compared.

    The ``transform`` comes first, and is applied to every response of every trial. All other steps
    are based on the grand mean and the total covariance of the network,

        c = sum_m w_m mu_m,    C = sum_m w_m [ S_m + (mu_m - c)(mu_m - c)' ],

    with weights w of the conditions (1/M unless given) and, for trials, the plug-in mu_m and S_m.
    So C is the covariance of all trials, where every condition has the same weight however many
    trials it has. For a network without noise, it is the covariance of the means. The steps are, in
    this order:

    1. ``center``: subtract c.
    2. ``n_components``: project onto the leading eigenvectors of C (PCA).
    3. ``whitening``: multiply by C^(-whitening / 2), with C after the previous step. Directions
       without variance are mapped to zero.
    4. ``scale``: divide by the root of the trace of C, as it is after the previous steps, so that
       the total variance is 1.

    Parameters
    ----------
    center : bool
        Whether to subtract the grand mean. The other steps are fitted about it in any case.
    scale : bool
        Whether to scale the network to unit total variance.
    n_components : int, optional
        Number of dimensions to keep. By default all are kept, in the coordinates of the neurons.
    whitening : float in [0, 1]
        A variance v becomes v^(1 - whitening): 0 keeps the covariance, and 1 makes it the
        identity. Unlike the mixture a I + (1 - a) C^(-1/2) of Williams et al. (2021), this does
        not depend on the units of the responses.
    transform : {"sqrt", "anscombe", "log1p"} or function, optional
        For spike counts, whose variance grows with their mean: x becomes sqrt(x),
        2 sqrt(x + 3/8) (Anscombe), or log(1 + x). A function takes an array (responses, neurons)
        and returns one of the same shape, entry by entry. To be used with a store it must be
        importable from a module, whose name identifies it. The network must have trials, or no
        noise at all: a transformed Gaussian is not a Gaussian.

    Examples
    --------
    >>> import numpy as np
    >>> network = np.random.default_rng(0).normal(size=(5, 20, 3))
    >>> phi = Preprocess(n_components=2, whitening=1.0).fit(network)
    >>> phi
    FittedPreprocess(3 neurons to 2, 71.7 % of the variance)
    >>> phi.apply(network)
    Trials(5 conditions, 20 trials each, 2 neurons)
    >>> counts = np.array([[[4.0], [16.0]]])
    >>> Preprocess(center=False, transform="sqrt").fit(counts).apply(counts).means
    array([[3.]])
    """

    center: bool = True
    scale: bool = False
    n_components: int | None = None
    whitening: float = 0.0
    transform: ResponseTransform = None

    def fit(self, network: NetworkLike, weights: npt.ArrayLike | None = None) -> FittedPreprocess:
        """Fit the map to one network.

        Parameters
        ----------
        network : Trials, Gaussians or anything that `as_network` accepts
        weights : array of shape (M,), optional
            Non-negative weights of the conditions, which are normalised to sum to one.
        """
        checked = as_network(network)
        self.check(checked.n_neurons)
        checked = transform_responses(checked, self.transform)
        w = condition_weights(weights, checked.n_conditions)
        grand_mean = w @ checked.means
        rounding = float(ROUNDING * np.abs(checked.means).max()) ** 2
        linear, kept, variance = self._linear(checked, w, grand_mean, rounding)
        if self.scale and variance <= 0:
            raise InputError(
                "A network whose responses do not vary cannot be scaled to unit total variance."
            )
        return FittedPreprocess(
            offset=frozen(grand_mean if self.center else np.zeros_like(grand_mean)),
            linear=None if linear is None else frozen(np.ascontiguousarray(linear)),
            gain=1.0 / float(np.sqrt(variance)) if self.scale else 1.0,
            explained_variance=kept,
            transform=self.transform,
        )

    def check(self, n_neurons: int | None = None) -> None:
        """Raise if a parameter is outside its range, for a network of this many neurons."""
        owner = "Preprocess"
        check_boolean("center", self.center, owner=owner)
        check_boolean("scale", self.scale, owner=owner)
        check_real("whitening", self.whitening, 0, 1, owner=owner)
        if self.transform is not None and not callable(self.transform):
            check_choice("transform", self.transform, TRANSFORMS, owner=owner)
        if self.n_components is None:
            return
        check_integer("n_components", self.n_components, 1, owner=owner)
        if n_neurons is not None and self.n_components > n_neurons:
            raise InputError(
                f"The 'n_components' parameter of Preprocess must not exceed the number of "
                f"neurons. Got {self.n_components} for a network of {count(n_neurons, 'neuron')}."
            )

    def _linear(
        self, network: Trials | Gaussians, w: FloatArray, grand_mean: FloatArray, rounding: float
    ) -> tuple[FloatArray | None, float, float]:
        """Return the matrix of steps 2 and 3, the fraction of variance kept, and what is left.

        Variances up to ``rounding`` count as zero.
        """
        if self.n_components is None and self.whitening == 0:
            variance = _total_variance(network, w, grand_mean) if self.scale else 1.0
            return None, 1.0, variance if variance > rounding or not self.scale else 0.0
        width = self.n_components
        eigenvalues, basis = _spectrum(network, w, grand_mean, width or 0)
        eigenvalues = np.where(eigenvalues > rounding, eigenvalues, 0.0)
        total = float(eigenvalues.sum())
        eigenvalues, basis = eigenvalues[:width], basis[:, :width]  # all, if width is None
        kept = float(eigenvalues.sum()) / total if total > 0 else 1.0
        if self.whitening == 0:
            return basis, kept, float(eigenvalues.sum())
        alive = eigenvalues > RANK_TOLERANCE * eigenvalues[0]
        gains = np.zeros_like(eigenvalues)
        gains[alive] = eigenvalues[alive] ** (-0.5 * self.whitening)
        left = eigenvalues[alive] ** (1 - self.whitening)  # squared gains could overflow
        linear = basis * gains
        if width is None:  # back to the coordinates of the neurons
            linear = linear @ basis.T
        return linear, kept, float(left.sum())


@dataclass(frozen=True, eq=False, repr=False)
class FittedPreprocess:
    """The map x -> gain (f(x) - offset) linear of one network, where rows are responses.

    Attributes
    ----------
    offset : array of shape (n,)
        The grand mean of the transformed network that it was fitted to, or zeros.
    linear : array of shape (n, n_out), or None
        PCA and whitening; None if there is neither.
    gain : float
        The scale factor.
    explained_variance : float
        Fraction of the total variance that PCA keeps.
    transform : str, function or None
        The function f of single responses; None stands for the identity.
    """

    offset: FloatArray
    linear: FloatArray | None
    gain: float
    explained_variance: float
    transform: ResponseTransform = None

    @property
    def n_neurons(self) -> int:
        """Number of neurons that the map expects, n."""
        return len(self.offset)

    @property
    def n_outputs(self) -> int:
        """Number of dimensions that the map returns, n_out."""
        return self.n_neurons if self.linear is None else int(self.linear.shape[1])

    def __repr__(self) -> str:
        words = f"{count(self.n_neurons, 'neuron')} to {self.n_outputs}"
        words += f", {100 * self.explained_variance:.1f} % of the variance"
        if self.transform is not None:
            words += f", after {transform_name(self.transform)}"
        return f"FittedPreprocess({words})"

    def apply(self, network: NetworkLike) -> Trials | Gaussians:
        """Map a network: the one it was fitted to, or held-out responses of the same neurons.

        Trials remain trials. For Gaussians, diagonal covariances remain diagonal unless PCA or
        whitening mixes the neurons, in which case they become full. Factors remain factors, with
        at most as many columns as there are dimensions.
        """
        checked = as_network(network)
        if checked.n_neurons != self.n_neurons:
            raise InputError(
                f"The preprocessing was fitted to {count(self.n_neurons, 'neuron')}. "
                f"Got a network of {count(checked.n_neurons, 'neuron')}."
            )
        checked = transform_responses(checked, self.transform)
        if isinstance(checked, Trials):
            return Trials._trusted(
                self._map(checked.pooled - self.offset),
                checked.n_trials,
                checked.n_dropped,
                checked.conditions,
                self._neurons(checked),
            )
        means = self._map(checked.means - self.offset)
        return self._apply_gaussians(checked, means)

    def _map(self, rows: FloatArray) -> FloatArray:
        """Multiply responses (..., n) by the linear part, (..., n_out)."""
        mapped = rows if self.linear is None else rows @ self.linear
        return mapped if self.gain == 1.0 else mapped * self.gain

    def _apply_gaussians(self, network: Gaussians, means: FloatArray) -> Gaussians:
        stored, kind = network.stored, network.kind
        if kind == "factors":
            stored = self._map(stored.transpose(0, 2, 1)).transpose(0, 2, 1)
            if stored.shape[2] > stored.shape[1]:
                stored = _thin(stored)
            stored = np.ascontiguousarray(stored)
        elif self.linear is None:
            stored = stored if self.gain == 1.0 else stored * self.gain**2
        elif kind == "full":
            stored = symmetrized(self._map(self._map(stored).transpose(0, 2, 1)))
        else:
            L = self.gain * self.linear
            kind, stored = "full", symmetrized((L.T * stored[:, None, :]) @ L)
        notes: dict[str, Any] = {"estimator": network.estimator, "shrinkage": network.shrinkage}
        notes |= {"neurons": self._neurons(network), "n_trials": network.n_trials}
        notes["halves"] = network._map_halves(self._apply_half)
        return Gaussians._trusted(means, stored, kind, network.conditions, **notes)

    def _apply_half(self, half: Gaussians) -> Gaussians:
        return self._apply_gaussians(half, self._map(half.means - self.offset))

    def _neurons(self, network: Trials | Gaussians) -> Labels:
        """Return the labels of the neurons, unless they are mixed."""
        return network.neurons if self.linear is None else None


def check_preprocess(name: str, value: Any, *, owner: str = "") -> None:
    """Raise unless a parameter is None or a `Preprocess` with valid settings."""
    check_optional(name, value, Preprocess, owner=owner)
    if value is not None:
        value.check()


def check_sizes(metrics: Iterable[Any], sizes: Iterable[tuple[str, int]]) -> None:
    """Raise if a network, given by its name and number of neurons, is too small for a metric."""
    given = [getattr(metric, "preprocess", None) for metric in metrics]
    steps = [one for one in given if isinstance(one, Preprocess)]
    for one in steps:
        one.check()  # an error about the settings concerns no network
    for name, n_neurons in sizes:
        for one in steps:
            try:
                one.check(n_neurons)
            except InputError as error:
                raise InputError(f"In network {name!r}: {error}") from None


def _thin(factors: FloatArray) -> FloatArray:
    """Return square factors B (M, n, n) of the same covariances, B B' = A A', by QR of A'."""
    triangle: FloatArray = np.asarray(np.linalg.qr(factors.transpose(0, 2, 1), mode="r"))
    return triangle.transpose(0, 2, 1)


def _total_variance(network: Trials | Gaussians, w: FloatArray, grand_mean: FloatArray) -> float:
    """Return tr C."""
    if isinstance(network, Trials):
        rows = _weighted_rows(network, w, grand_mean)
        return float(np.vdot(rows, rows))
    deviations = network.means - grand_mean
    return float(w @ (np.sum(deviations**2, axis=1) + network.total_variance))


def _weighted_rows(
    network: Trials | Gaussians, w: FloatArray, grand_mean: FloatArray
) -> FloatArray:
    """Return Z with Z' Z = C, for trials and for Gaussians that are stored as factors."""
    if isinstance(network, Trials):
        per_trial = np.repeat(np.sqrt(w / network.n_trials), network.n_trials)
        return np.asarray(per_trial[:, None] * (network.pooled - grand_mean))
    root = np.sqrt(w)
    between = root[:, None] * (network.means - grand_mean)
    within = root[:, None, None] * network.factors.transpose(0, 2, 1)
    return np.concatenate([between, within.reshape(-1, network.n_neurons)])


def _spectrum(
    network: Trials | Gaussians, w: FloatArray, grand_mean: FloatArray, width: int
) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of C in descending order, and at least ``width`` eigenvectors.

    If C = Z' Z with a known Z, they come from the singular value decomposition of Z, which keeps
    small directions exact and is fast for many neurons and few responses.
    """
    if isinstance(network, Trials) or network.kind == "factors":
        Z = _weighted_rows(network, w, grand_mean)
        if Z.shape[0] > Z.shape[1]:
            Z = np.asarray(np.linalg.qr(Z, mode="r"))
        _, roots, rows = np.linalg.svd(Z, full_matrices=width > len(Z))
        eigenvalues = np.zeros(len(rows))
        eigenvalues[: len(roots)] = roots**2
        return eigenvalues, _fix_signs(rows.T)
    deviations = np.sqrt(w)[:, None] * (network.means - grand_mean)
    C = deviations.T @ deviations
    if network.kind == "full":
        C += np.tensordot(w, network.stored, axes=1)
    else:
        C[np.diag_indices_from(C)] += w @ network.stored
    eigenvalues, basis = np.linalg.eigh(C)
    return np.maximum(eigenvalues[::-1], 0.0), _fix_signs(basis[:, ::-1])


def _fix_signs(basis: FloatArray) -> FloatArray:
    """Make the largest entry of each column positive, so that signs do not depend on LAPACK."""
    largest = np.argmax(np.abs(basis), axis=0)
    signs = np.where(basis[largest, np.arange(basis.shape[1])] < 0, -1.0, 1.0)
    return basis * signs
