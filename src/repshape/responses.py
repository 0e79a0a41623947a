"""The responses of one network, which are validated once and never change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from repshape._arrays import (
    FloatArray,
    IntArray,
    Labels,
    check_covariances,
    check_factors,
    check_labels,
    check_means,
    check_variances,
    count,
    digest,
    drop_missing,
    float_array,
    frozen,
    name_condition,
    pool_trials,
    real_array,
    symmetrized,
)
from repshape.errors import InputError, InputTypeError, RepshapeError

Kind = Literal["full", "diagonal", "factors"]


class _Immutable:
    """Attributes are set once, by the constructor. Cached properties still work."""

    def _set(self, **values: Any) -> None:
        for value in values.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: make a new one instead.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: make a new one instead.")


class Trials(_Immutable):
    """Responses of one network to M conditions, trial by trial.

    Parameters
    ----------
    responses : array of shape (M, L, n), or list of M arrays of shape (L_m, n)
        Trials of n neurons, of any real dtype. The number of trials may differ between
        conditions. A trial that is NaN in every neuron counts as missing, and is dropped.
    conditions : sequence of M labels, optional
        Distinct names of the conditions.

    Attributes
    ----------
    pooled : array of shape (sum of n_trials, n)
        All trials, condition after condition.
    n_trials, n_dropped : int arrays of shape (M,)
        Numbers of trials that were kept, and of missing trials that were dropped, per condition.
    n_conditions, n_neurons : int
        M and n.

    Examples
    --------
    >>> import numpy as np
    >>> trials = Trials([[[1, 2], [3, 4]], [[5, 6], [np.nan, np.nan]]], conditions=["a", "b"])
    >>> trials
    Trials(2 conditions, 1-2 trials each, 2 neurons, 1 missing trial dropped)
    >>> trials.means
    array([[2., 3.],
           [5., 6.]])
    """

    pooled: FloatArray
    n_trials: IntArray
    n_dropped: IntArray
    conditions: Labels
    n_conditions: int
    n_neurons: int

    def __init__(
        self,
        responses: npt.ArrayLike | Sequence[npt.ArrayLike],
        *,
        conditions: Sequence[Any] | None = None,
    ) -> None:
        rows, counts = pool_trials(responses)
        labels = check_labels(conditions, len(counts))
        rows, kept = drop_missing(rows, counts, labels)
        if not kept.all():
            empty = name_condition(int(np.argmin(kept)), labels)
            raise InputError(f"Every condition must have at least one trial. Got none at {empty}.")
        self._set(**vars(self._trusted(rows, kept, counts - kept, labels)))

    @classmethod
    def _trusted(
        cls, pooled: FloatArray, n_trials: IntArray, n_dropped: IntArray, conditions: Labels
    ) -> Trials:
        """Make trials from valid arrays that nothing else refers to."""
        self = cls.__new__(cls)
        self._set(pooled=pooled, n_trials=n_trials, n_dropped=n_dropped, conditions=conditions)
        self._set(n_conditions=len(n_trials), n_neurons=int(pooled.shape[1]))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Trials._trusted, (self.pooled, self.n_trials, self.n_dropped, self.conditions)

    @cached_property
    def responses(self) -> tuple[FloatArray, ...]:
        """One array (L_m, n) of trials per condition."""
        ends = np.cumsum(self.n_trials).tolist()
        starts = [0, *ends[:-1]]
        return tuple(self.pooled[a:b] for a, b in zip(starts, ends, strict=True))

    @property
    def stacked(self) -> FloatArray | None:
        """Array (M, L, n) if every condition has the same number of trials, else None."""
        if self.n_trials.min() < self.n_trials.max():
            return None
        return self.pooled.reshape(self.n_conditions, -1, self.n_neurons)

    @cached_property
    def means(self) -> FloatArray:
        """Mean response to each condition, (M, n)."""
        if self.stacked is not None:
            return frozen(self.stacked.mean(axis=1))
        return frozen(np.stack([trials.mean(axis=0) for trials in self.responses]))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the trials that were kept; labels are not included."""
        return digest("trials", self.n_trials.astype(np.int64), self.pooled)

    def __repr__(self) -> str:
        low, high, dropped = self.n_trials.min(), self.n_trials.max(), int(self.n_dropped.sum())
        each = count(int(low), "trial") if low == high else f"{low}-{high} trials"
        parts = [count(self.n_conditions, "condition"), f"{each} each"]
        parts.append(count(self.n_neurons, "neuron"))
        if dropped:
            parts.append(f"{count(dropped, 'missing trial')} dropped")
        return f"Trials({', '.join(parts)})"


class Gaussians(_Immutable):
    """Mean and covariance of one network's responses to M conditions.

    Parameters
    ----------
    means : array of shape (M, n)
    covariances : array of shape (M, n, n), or (M, n)
        Full covariances, or the variances of independent neurons. A 2-D array is always read as
        variances, even if M = n. Asymmetry and negative eigenvalues of up to 1e-8 times the
        largest entry of a covariance are accepted as rounding.
    conditions : sequence of M labels, optional
        Distinct names of the conditions.

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
    """

    means: FloatArray
    kind: Kind
    stored: FloatArray
    conditions: Labels
    estimator: str | None
    shrinkage: float | FloatArray | None
    n_conditions: int
    n_neurons: int

    def __init__(
        self,
        means: npt.ArrayLike,
        covariances: npt.ArrayLike,
        *,
        conditions: Sequence[Any] | None = None,
    ) -> None:
        centers = check_means(means)
        labels = check_labels(conditions, len(centers))
        n = centers.shape[1]
        stored = float_array(covariances, "covariances")
        kind: Kind = "full" if stored.ndim == 3 else "diagonal"
        if stored.shape not in (centers.shape, (*centers.shape, n)):
            raise InputError(
                f"The covariances must have shape {(*centers.shape, n)}, or {centers.shape} for "
                f"variances, to match the means. Got shape {stored.shape} instead."
            )
        check = check_covariances if kind == "full" else check_variances
        self._set(**vars(self._trusted(centers, check(stored, labels), kind, labels)))

    @classmethod
    def from_factors(
        cls,
        means: npt.ArrayLike,
        factors: npt.ArrayLike | Sequence[npt.ArrayLike],
        *,
        conditions: Sequence[Any] | None = None,
    ) -> Gaussians:
        """Make Gaussians with covariances S = A A' from factors A, which may be thin.

        Parameters
        ----------
        means : array of shape (M, n)
        factors : array of shape (M, n, r), or list of M arrays of shape (n, r_m)
            Any r, including 0. Ragged factors are padded with columns of zeros.
        conditions : sequence of M labels, optional
        """
        centers = check_means(means)
        labels = check_labels(conditions, len(centers))
        stored = check_factors(factors, centers.shape)
        return cls._trusted(centers, stored, "factors", labels)

    @classmethod
    def points(cls, means: npt.ArrayLike, *, conditions: Sequence[Any] | None = None) -> Gaussians:
        """Make a network without noise: factors of width 0."""
        centers = check_means(means)
        return cls.from_factors(centers, np.zeros((*centers.shape, 0)), conditions=conditions)

    @classmethod
    def _trusted(
        cls,
        means: FloatArray,
        stored: FloatArray,
        kind: Kind,
        conditions: Labels = None,
        estimator: str | None = None,
        shrinkage: float | FloatArray | None = None,
    ) -> Gaussians:
        """Make Gaussians from valid arrays that nothing else refers to."""
        self = cls.__new__(cls)
        self._set(means=means, stored=stored, kind=kind, conditions=conditions)
        self._set(estimator=estimator, shrinkage=shrinkage)
        self._set(n_conditions=int(means.shape[0]), n_neurons=int(means.shape[1]))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.means, self.stored, self.kind, self.conditions)
        return Gaussians._trusted, (*parts, self.estimator, self.shrinkage)

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


# Everything that describes one network; `as_network` explains how each is read.
NetworkLike: TypeAlias = Trials | Gaussians | npt.ArrayLike | Sequence[npt.ArrayLike]


def as_network(network: NetworkLike, name: str = "network") -> Trials | Gaussians:
    """Return any description of a network as ``Trials`` or ``Gaussians``.

    Parameters
    ----------
    network : Trials, Gaussians, array, list or (means, covariances) tuple
        ``Trials`` and ``Gaussians`` are returned as they are. A 3-D array (conditions, trials,
        neurons) or a list of 2-D arrays (trials, neurons) is read as trials, a tuple of means and
        covariances as Gaussians, and a 2-D array (conditions, neurons) as points.
    name : str
        Name of the network in errors.

    Examples
    --------
    >>> import numpy as np
    >>> as_network(np.zeros((5, 3, 2)))
    Trials(5 conditions, 3 trials each, 2 neurons)
    >>> as_network((np.zeros((5, 2)), np.ones((5, 2))))
    Gaussians(5 conditions, 2 neurons, diagonal covariances)
    >>> as_network(np.zeros((5, 2)))
    Gaussians(5 conditions, 2 neurons, no covariance)
    """
    if isinstance(network, Trials | Gaussians):
        return network
    try:
        return _convert(network, name)
    except RepshapeError as error:
        if name == "network" or str(error).startswith(f"The {name} must"):
            raise
        raise type(error)(f"In {name}: {error}") from None


def as_trials(network: NetworkLike, name: str = "network") -> Trials:
    """Return a network as `as_network` does, and raise if it has no trials."""
    found = as_network(network, name)
    if isinstance(found, Trials):
        return found
    raise InputTypeError(
        f"The {name} must have trials, an array of shape (conditions, trials, neurons). "
        f"Got {found!r} instead."
    )


def _convert(network: Any, name: str) -> Trials | Gaussians:
    if isinstance(network, tuple) and len(network) == 2:
        return Gaussians(network[0], network[1])
    if isinstance(network, list) and network:
        if all(_ndim(one) == 2 for one in network):
            return Trials(network)
        network = real_array(network, name)
    if hasattr(network, "__array__"):
        array = np.asanyarray(network)
        if array.ndim == 3:
            return Trials(array)
        if array.ndim == 2:
            return Gaussians.points(array)
    raise _refusal(network, name)


def _ndim(value: Any) -> int:
    try:
        return int(np.ndim(value))
    except ValueError:  # a list of lists of unequal length
        return -1


def _refusal(network: Any, name: str) -> RepshapeError:
    wrong: type[RepshapeError] = InputError
    if hasattr(network, "shape"):
        got = f"an array of shape {tuple(network.shape)}"
    elif isinstance(network, list | tuple):
        got = f"a {type(network).__name__} of length {len(network)}"
    else:
        wrong, got = InputTypeError, type(network).__name__
    return wrong(
        f"The {name} must be Trials, Gaussians, a 3-D array (conditions, trials, neurons), a list "
        "of 2-D arrays (trials, neurons), a tuple (means, covariances), or a 2-D array of points "
        f"(conditions, neurons). Got {got} instead."
    )
