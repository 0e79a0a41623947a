"""How networks change along a number: regression in the tangent space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import float_array
from repshape._compact import compact_repr
from repshape._joins import in_order, network_names
from repshape.analysis.tangent import TangentCloud
from repshape.engine.inputs import as_sequence
from repshape.errors import InputError, check_integer
from repshape.matrix.columns import ValuesLike

FloatArray = npt.NDArray[np.float64]


@compact_repr
@dataclass(frozen=True, eq=False)
class Trajectory:
    """A path through shape space on which networks lie by the value of a number.

    Attributes
    ----------
    values : ndarray, shape (K,)
        The number of each network.
    r_squared : float
        Share of the squared distances to the centre that the path explains.
    p_value : float
        Share of random assignments of the numbers to the networks, with the observed one, that
        explain at least as much. NaN without permutations.
    speed : float
        Length of the path per unit of the number, at the mean of the values.
    scores : ndarray, shape (K,)
        Coordinate of each network along the direction of the path at the mean of the values, in
        units of distance. The place on a straight path is ``speed * (values - values.mean())``.
    residuals : ndarray, shape (K,)
        Distance of each network to its place on the path, in the tangent space.
    mean : Gaussians or PositionNetwork
        The Frechet mean of the networks, at whose tangent space the regression is done.
    """

    values: FloatArray
    r_squared: float
    p_value: float
    speed: float
    scores: FloatArray
    residuals: FloatArray
    mean: Any
    _cloud: TangentCloud
    _coefficients: FloatArray

    def network_at(self, value: float) -> Any:
        """Return the network on the path at a value of the number."""
        number = float_array(value, "value")
        if number.ndim or not np.isfinite(number):
            raise InputError(f"The 'value' parameter must be a finite number. Got {value!r}.")
        row = _powers(np.array([float(number)]), self.values, len(self._coefficients) - 1)
        return self._cloud.network((row @ self._coefficients)[0])


def trajectory(
    networks: Iterable[Any],
    values: npt.ArrayLike | ValuesLike,
    metric: Any = None,
    *,
    degree: int = 1,
    blocks: npt.ArrayLike | ValuesLike | None = None,
    n_permutations: int = 999,
    random_state: int = 0,
    workers: int | None = None,
) -> Trajectory:
    """Fit a path through shape space along a number, such as a hyperparameter or training time.

    The tangent vectors of the networks at their Frechet mean are regressed on the number, by least
    squares.

    Parameters
    ----------
    networks : Cohort, or iterable or dict of K networks
    values : array of shape (K,), Series or dict by name, or str
        The number of each network, or the name of a column of ``networks.metadata``. Transform it
        first if equal ratios should count as equal steps: ``np.log(sigma)``.
    metric : GaussianShapeMetric or ProcessShapeMetric, optional
        By default ``GaussianShapeMetric()``.
    degree : int
        Degree of the polynomial; 1 is a straight path through the tangent space.
    blocks : array of K labels, Series or dict by name, optional
        Permutations exchange values only between networks of the same block. Pass what else varies
        between the networks: with two hyperparameters and several seeds, the combinations of the
        other hyperparameter and the seed.
    n_permutations : int
        Number of random assignments of the values to the networks for the p value.
    random_state : int
        Seed of the permutations.
    workers : int, optional
        Number of threads; all cores by default.

    Examples
    --------
    >>> from repshape import Gaussians
    >>> sds = [1.0, 2.0, 3.0, 4.0]
    >>> networks = [Gaussians([[1.0, 0.0]], [[s**2, s**2]]) for s in sds]
    >>> path = trajectory(networks, sds, n_permutations=0)
    >>> round(path.r_squared, 6), round(path.speed, 6)  # both neurons change: sqrt(2)
    (1.0, 1.414214)
    >>> path.network_at(2.5).variances.round(6)
    array([[6.25, 6.25]])
    """
    check_integer("degree", degree, 1)
    check_integer("n_permutations", n_permutations, 0)
    given = list(as_sequence(networks, "networks"))
    names = network_names(networks)
    numbers = _read_values(networks, names, values, len(given), degree)
    if blocks is not None:
        blocks = np.asarray(in_order(blocks, names, len(given), "blocks"))
    members = _read_blocks(blocks, numbers)
    cloud = TangentCloud.of(given, metric, workers)
    X = _powers(numbers, numbers, degree)
    coefficients: FloatArray = np.linalg.pinv(X) @ cloud.vectors
    residuals = cloud.vectors - X @ coefficients
    centred = cloud.vectors - cloud.vectors.mean(axis=0)
    gram = centred @ centred.T
    observed = _explained(gram, X)
    rng = np.random.default_rng(random_state)
    drawn = [_explained(gram, X[_permuted(members, rng)]) for _ in range(n_permutations)]
    beaten = sum(one >= observed * (1 - 1e-12) for one in drawn)
    along = float(np.linalg.norm(coefficients[1]))
    direction = coefficients[1] / along if along > 0 else coefficients[1]
    return Trajectory(
        values=numbers,
        r_squared=observed,
        p_value=(1 + beaten) / (1 + n_permutations) if n_permutations else float("nan"),
        speed=along / float(numbers.std()),
        scores=centred @ direction,
        residuals=np.linalg.norm(residuals, axis=1),
        mean=cloud.mean.network,
        _cloud=cloud,
        _coefficients=coefficients,
    )


def _read_values(
    networks: Any, names: Sequence[str] | None, values: Any, count: int, degree: int
) -> FloatArray:
    if isinstance(values, str):
        frame = getattr(networks, "metadata", None)
        if frame is None or values not in frame:
            raise InputError(
                f"The 'values' parameter must be {count} numbers, or a column of the metadata of "
                f"the networks. Got {values!r}, which is not a column."
            )
        values = frame[values].to_numpy()
    numbers = float_array(np.asarray(in_order(values, names, count, "values")), "values")
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise InputError(
            f"The 'values' parameter must be {count} finite numbers, one per network. "
            f"Got {values!r} instead."
        )
    if len(np.unique(numbers)) <= degree:
        raise InputError(
            f"A path of degree {degree} needs at least {degree + 1} different values. "
            f"Got {len(np.unique(numbers))}."
        )
    return numbers


def _read_blocks(blocks: npt.ArrayLike | None, numbers: FloatArray) -> list[npt.NDArray[np.intp]]:
    """Return the networks of each block."""
    labels = np.zeros(len(numbers), dtype=int) if blocks is None else np.asarray(blocks)
    if labels.shape != numbers.shape:
        raise InputError(
            f"The 'blocks' parameter must be {len(numbers)} labels, one per network. "
            f"Got shape {labels.shape} instead."
        )
    members = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    if all(len(np.unique(numbers[one])) == 1 for one in members):
        raise InputError(
            "The 'blocks' parameter must leave something to permute: in every block, all networks "
            "have the same value."
        )
    return members


def _permuted(
    members: list[npt.NDArray[np.intp]], rng: np.random.Generator
) -> npt.NDArray[np.intp]:
    """Return a random order of all networks that exchanges members of the same block only."""
    order = np.arange(sum(map(len, members)))
    for one in members:
        order[one] = rng.permutation(one)
    return order


def _powers(numbers: FloatArray, of: FloatArray, degree: int) -> FloatArray:
    """Return the columns 1, z, z^2, ... of standardised numbers."""
    z = (numbers - of.mean()) / of.std()
    return np.asarray(np.vander(z, degree + 1, increasing=True))


def _explained(gram: FloatArray, X: FloatArray) -> float:
    """Return the share of the trace of a centred Gram matrix that lies in the columns of X."""
    Q = np.linalg.qr(X)[0]
    total = float(np.trace(gram))
    return float(np.sum(Q * (gram @ Q))) / total if total > 0 else 0.0
