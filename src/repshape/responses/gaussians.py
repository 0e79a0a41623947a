"""Mean and covariance of one network's responses to each condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from repshape._arrays import (
    FloatArray,
    IntArray,
    Labels,
    check_covariances,
    check_factors,
    check_means,
    check_variances,
    count,
    digest,
    float_array,
    frozen,
    symmetrized,
)
from repshape._labels import check_labels
from repshape._tables import Labelled, arranged, is_frame, read_frame
from repshape.errors import InputError, InputTypeError, check_integer
from repshape.responses.base import Network, is_one_label, refuse_slices
from repshape.responses.drawing import labels_of, repeats
from repshape.responses.trials import Trials

Kind = Literal["full", "diagonal", "factors"]
Halves: TypeAlias = "tuple[Gaussians, Gaussians]"


class Gaussians(Network):
    """Mean and covariance of one network's responses to M conditions.

    Parameters
    ----------
    means : array of shape (M, n)
    covariances : array of shape (M, n, n), or (M, n)
        Full covariances, or the variances of independent neurons. A 2-D array is always read as
        variances, even if M = n. Asymmetry and negative eigenvalues of up to 1e-8 times the
        largest entry of a covariance are accepted as rounding.
    conditions, neurons : sequences of M and n labels, optional
        Distinct names of the conditions and of the neurons.

    Attributes
    ----------
    kind : {"full", "diagonal", "factors"}
        How the covariances are stored: S itself, its diagonal, or factors A with S = A A'.
    stored : array of shape (M, n, n), (M, n) or (M, n, r)
        The covariances as they are stored.
    estimator : str or None
        Name of the estimator, if the moments were estimated from trials.
    shrinkage : float, array of shape (M,), or None
        How far the covariances were shrunk towards the target, from 0 (not at all) to 1.
    n_trials : array of int of shape (M,), or None
        Number of trials of each condition, if the moments were estimated from trials.
    halves : tuple of two Gaussians, or None
        The moments of two halves of the trials, if they were kept; see `repshape.pytorch.collect`.
        With them, `repshape.inference` can measure and correct what noise adds to distances.
    n_conditions, n_neurons : int
        M and n.

    Examples
    --------
    >>> import numpy as np
    >>> Gaussians(np.zeros((3, 2)), np.ones((3, 2)))
    Gaussians(3 conditions, 2 neurons, diagonal covariances)
    >>> Gaussians.from_factors(np.zeros((1, 2)), [[[1.0], [2.0]]]).covariances
    array([[[1., 2.],
            [2., 4.]]])
    >>> Gaussians.points(np.eye(2)).total_variance
    array([0., 0.])

    A label gives the network of its condition alone, and a list of labels that of several.

    >>> Gaussians([[1.0], [2.0]], [[3.0], [4.0]], conditions=["cat", "dog"])["dog"].means
    array([[2.]])
    """

    means: FloatArray
    kind: Kind
    stored: FloatArray
    estimator: str | None
    shrinkage: float | FloatArray | None
    n_trials: IntArray | None
    _halves: Halves | Callable[[], Halves] | None

    def __init__(
        self,
        means: npt.ArrayLike,
        covariances: npt.ArrayLike,
        *,
        conditions: Sequence[Any] | None = None,
        neurons: Sequence[Any] | None = None,
    ) -> None:
        given = _read_means(means)
        centers = check_means(given.array)
        labels, names = _check_names(given, centers, conditions, neurons)
        n = centers.shape[1]
        stored = float_array(_read_covariances(covariances, given), "covariances")
        kind: Kind = "full" if stored.ndim == 3 else "diagonal"
        if stored.shape not in (centers.shape, (*centers.shape, n)):
            raise InputError(
                f"The covariances must have shape {(*centers.shape, n)}, or {centers.shape} for "
                f"variances, to match the means. Got shape {stored.shape} instead."
            )
        check = check_covariances if kind == "full" else check_variances
        made = self._trusted(centers, check(stored, labels), kind, labels, neurons=names)
        self._set(**vars(made))

    @classmethod
    def from_factors(
        cls,
        means: npt.ArrayLike,
        factors: npt.ArrayLike | Sequence[npt.ArrayLike],
        *,
        conditions: Sequence[Any] | None = None,
        neurons: Sequence[Any] | None = None,
    ) -> Gaussians:
        """Make Gaussians with covariances S = A A' from factors A, which may be thin.

        Parameters
        ----------
        means : array of shape (M, n)
        factors : array of shape (M, n, r), or list of M arrays of shape (n, r_m)
            Any r, including 0. Ragged factors are padded with columns of zeros.
        conditions, neurons : sequences of M and n labels, optional
        """
        given = _read_means(means)
        centers = check_means(given.array)
        labels, names = _check_names(given, centers, conditions, neurons)
        thin = _same_order(arranged(factors, ("condition", "neuron"), "factors"), given)
        stored = check_factors(thin, centers.shape)
        return cls._trusted(centers, stored, "factors", labels, neurons=names)

    @classmethod
    def points(
        cls,
        means: npt.ArrayLike,
        *,
        conditions: Sequence[Any] | None = None,
        neurons: Sequence[Any] | None = None,
    ) -> Gaussians:
        """Make a network without noise: factors of width 0."""
        given = _read_means(means)
        centers = check_means(given.array)
        labels, names = _check_names(given, centers, conditions, neurons)
        none = frozen(np.zeros((*centers.shape, 0)))
        return cls._trusted(centers, none, "factors", labels, neurons=names)

    @classmethod
    def _trusted(
        cls,
        means: FloatArray,
        stored: FloatArray,
        kind: Kind,
        conditions: Labels = None,
        estimator: str | None = None,
        shrinkage: float | FloatArray | None = None,
        neurons: Labels = None,
        n_trials: IntArray | None = None,
        halves: Halves | Callable[[], Halves] | None = None,
    ) -> Gaussians:
        """Make Gaussians from valid arrays that nothing else refers to.

        ``halves`` may be a function that reads them when they are needed.
        """
        self = cls.__new__(cls)
        self._set(means=means, stored=stored, kind=kind, conditions=conditions, neurons=neurons)
        self._set(estimator=estimator, shrinkage=shrinkage, n_trials=n_trials, _halves=halves)
        self._set(n_conditions=int(means.shape[0]), n_neurons=int(means.shape[1]))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.means, self.stored, self.kind, self.conditions)
        notes = (self.estimator, self.shrinkage, self.neurons, self.n_trials, self.halves)
        return Gaussians._trusted, (*parts, *notes)

    @cached_property
    def halves(self) -> Halves | None:
        """The moments of two halves of the trials, or None if they were not kept."""
        return self._halves() if callable(self._halves) else self._halves

    def _map_halves(self, change: Callable[[Gaussians], Any]) -> Callable[[], Halves] | None:
        """Return the halves with a change that is made when they are needed, or None."""
        if self._halves is None:
            return None

        def changed() -> Halves:
            assert self.halves is not None
            return change(self.halves[0]), change(self.halves[1])

        return changed

    def __getitem__(self, key: Any) -> Gaussians:
        """Return the network of one condition, or of several."""
        refuse_slices(key, "Gaussians", "means, of shape (conditions, neurons)")
        return self.select([key] if is_one_label(key) else key)

    def _take_neurons(self, index: IntArray) -> Gaussians:
        kind, stored = self.kind, self.stored[:, index]
        if kind == "full":
            stored = stored[:, :, index]
        elif kind == "diagonal" and repeats(index):  # copies of a neuron are correlated
            same = index[:, None] == index[None, :]
            kind, stored = "full", stored[:, :, None] * same
        means, stored = (np.ascontiguousarray(one) for one in (self.means[:, index], stored))
        names = labels_of(self.neurons, index)
        return Gaussians._trusted(
            means,
            stored,
            kind,
            self.conditions,
            self.estimator,
            neurons=names,
            n_trials=self.n_trials,
            halves=self._map_halves(lambda half: half._take_neurons(index)),
        )

    def _take_trials(self, index: Sequence[IntArray]) -> Gaussians:
        raise AssertionError("moments have no trials")

    @property
    def _trials(self) -> Trials:
        raise InputTypeError(f"The network must have trials. Got {self!r} instead.")

    def _take(self, index: IntArray) -> Gaussians:
        shrinkage = self.shrinkage[index] if isinstance(self.shrinkage, np.ndarray) else None
        return Gaussians._trusted(
            self.means[index],
            self.stored[index],
            self.kind,
            self._labels_at(index),
            self.estimator,
            self.shrinkage if shrinkage is None else shrinkage,
            self.neurons,
            None if self.n_trials is None else self.n_trials[index],
            self._map_halves(lambda half: half._take(index)),
        )

    def sample(self, n_trials: int, random_state: int | np.random.Generator | None = 0) -> Trials:
        """Draw trials from the Gaussian of every condition.

        Parameters
        ----------
        n_trials : int
            Number of trials per condition.
        random_state : int, numpy Generator or None
            Seed. The same seed gives the same trials.

        Returns
        -------
        Trials
            With the labels of this network.

        Examples
        --------
        >>> Gaussians([[1.0, 2.0]], [[0.0, 4.0]]).sample(3)
        Trials(1 condition, 3 trials each, 2 neurons)
        """
        check_integer("n_trials", n_trials, 1)
        rng = np.random.default_rng(random_state)
        M, n = self.means.shape
        if self.kind == "diagonal":
            noise = np.sqrt(self.stored)[:, None, :] * rng.standard_normal((M, n_trials, n))
        else:
            roots = self.stored if self.kind == "factors" else _roots(self.stored)
            noise = rng.standard_normal((M, n_trials, roots.shape[2])) @ roots.transpose(0, 2, 1)
        return Trials(
            self.means[:, None, :] + noise, conditions=self.conditions, neurons=self.neurons
        )

    @property
    def factors(self) -> FloatArray:
        """Factors A of S = A A', (M, n, r); only if ``kind`` is "factors"."""
        if self.kind != "factors":
            raise InputError(f"The covariances are stored as {self.kind!r}, not as factors.")
        return self.stored

    @property
    def covariances(self) -> FloatArray:
        """Dense covariances (M, n, n), computed at each access unless they are stored."""
        if self.kind == "full":
            return self.stored
        if self.kind == "diagonal":
            return frozen(self.stored[:, :, None] * np.eye(self.n_neurons))
        return frozen(symmetrized(self.stored @ self.stored.transpose(0, 2, 1)))

    @cached_property
    def variances(self) -> FloatArray:
        """Variance of each neuron in each condition, (M, n)."""
        if self.kind == "diagonal":
            return self.stored
        if self.kind == "full":
            return np.diagonal(self.stored, axis1=1, axis2=2)
        return frozen(np.einsum("mir,mir->mi", self.stored, self.stored))

    @cached_property
    def total_variance(self) -> FloatArray:
        """Trace of each covariance, (M,)."""
        return frozen(self.variances.sum(axis=1))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the means and of the covariances as stored; labels are not included."""
        return digest(self.kind, self.means, self.stored)

    def __repr__(self) -> str:
        words = f"{self.kind} covariances"
        if self.kind == "factors":
            width = self.stored.shape[2]
            words = f"factors of width {width}" if width else "no covariance"
        parts = [count(self.n_conditions, "condition"), count(self.n_neurons, "neuron"), words]
        if self.estimator is not None:
            parts.append(f"estimator {self.estimator!r}")
        if self.shrinkage is not None:
            parts.append(f"shrinkage {np.mean(self.shrinkage):.3g}")
        return f"Gaussians({', '.join(parts)})"


def _roots(covariances: FloatArray) -> FloatArray:
    """Return A with A A' = S, also for singular S: eigenvectors times roots of eigenvalues."""
    eigenvalues, basis = np.linalg.eigh(covariances)
    return np.asarray(basis * np.sqrt(np.maximum(eigenvalues, 0.0))[:, None, :])


def _read_means(means: Any) -> Labelled:
    return (
        read_frame(means) if is_frame(means) else arranged(means, ("condition", "neuron"), "means")
    )


def _read_covariances(covariances: Any, means: Labelled) -> Any:
    """Return covariances or variances; those of a DataArray have their conditions first."""
    if is_frame(covariances):
        return _same_order(read_frame(covariances), means)
    roles = ("condition", "neuron") if getattr(covariances, "ndim", 3) == 2 else ("condition",)
    return _same_order(arranged(covariances, roles, "covariances"), means)


def _same_order(found: Labelled, means: Labelled) -> Any:
    """Return the array, or raise if its labels are not those of the means."""
    for noun in ("conditions", "neurons"):
        mine, theirs = getattr(found, noun), getattr(means, noun)
        if mine is not None and theirs is not None and mine != theirs:
            raise InputError(f"The means and the covariances must have the same {noun}, in order.")
    return found.array


def _check_names(
    given: Labelled,
    means: FloatArray,
    conditions: Sequence[Any] | None,
    neurons: Sequence[Any] | None,
) -> tuple[Labels, Labels]:
    labels = given.conditions if conditions is None else conditions
    names = given.neurons if neurons is None else neurons
    M, n = means.shape
    return check_labels(labels, M), check_labels(names, n, "neuron")
