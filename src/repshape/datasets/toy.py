"""The two-neuron toy networks of Duong et al. (2023), section 3.1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape.errors import check_integer
from repshape.responses import Gaussians, Trials

FloatArray = npt.NDArray[np.float64]

# The paper gives none of these ranges. Correlations below 1 keep the covariances invertible. The
# means extend to two units along each axis, so that noise with variances from 0.5 to 2 neither
# hides them nor is negligible.
MAX_CORRELATION = 0.9
SCALE_RANGE = (0.5, 2.0)
MEAN_RANGE = (-2.0, 2.0)


@dataclass(frozen=True, eq=False, repr=False)
class ToyNetworks(Sequence["Gaussians | Trials"]):
    """A sequence of toy networks, with their ground truth.

    Attributes
    ----------
    networks : tuple of Gaussians or Trials
        K networks of n = 2 neurons, ordered by correlation and then by scale.
    labels : tuple of str
        The unique name of each network.
    metadata : pandas.DataFrame, shape (K, 2)
        Columns ``correlation`` and ``scale``, indexed by label.
    rotations : ndarray, shape (K, 2, 2)
        The rotation Q of each network: its means are ``Q @ mu`` and its covariances
        ``Q @ S @ Q.T``.
    """

    networks: tuple[Gaussians | Trials, ...]
    labels: tuple[str, ...]
    metadata: pd.DataFrame
    rotations: FloatArray

    def __len__(self) -> int:
        return len(self.networks)

    @overload
    def __getitem__(self, index: int) -> Gaussians | Trials: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Gaussians | Trials, ...]: ...
    def __getitem__(
        self, index: int | slice
    ) -> Gaussians | Trials | tuple[Gaussians | Trials, ...]:
        return self.networks[index]

    def __repr__(self) -> str:
        correlations = self.metadata["correlation"].nunique()
        scales = self.metadata["scale"].nunique()
        return f"ToyNetworks({len(self)} networks: {correlations} correlations x {scales} scales)"


def toy_networks(
    n_correlations: int = 11,
    n_scales: int = 9,
    n_conditions: int = 5,
    rotate: bool = True,
    random_state: int | np.random.Generator | None = 0,
    n_trials: int | None = None,
) -> ToyNetworks:
    r"""Return networks that differ only in the correlation and the scale of their noise.

    Network (c, s) has n = 2 neurons and responds to condition m with

    .. math:: N(Q \mu_m,\; Q \Sigma Q^T), \qquad
              \mu_m = t_m (1, 1)^T, \qquad \Sigma = s \begin{pmatrix}1 & c\\ c & 1\end{pmatrix},

    where :math:`t_m` is evenly spaced from -2 to 2, c from -0.9 to 0.9 and s from 0.5 to 2, and Q
    is a different random rotation for each network. The means agree up to a rotation, so a
    measure that uses only means finds no difference between the networks. A measure that uses
    only covariances cannot distinguish c from -c, because a rotation by 90 degrees maps one to
    the other.

    Parameters
    ----------
    n_correlations, n_scales : int
        Size of the grid; there are ``n_correlations * n_scales`` networks.
    n_conditions : int
        Number of conditions M.
    rotate : bool
        Whether to rotate the networks.
    random_state : int, numpy.random.Generator or None
        Seed of the rotations and of the trials. The rotations are the same with and without
        trials.
    n_trials : int or None
        Number of samples per condition (`Trials`). None gives exact moments (`Gaussians`).

    Returns
    -------
    ToyNetworks
        The networks, ordered by correlation and then by scale.

    References
    ----------
    Duong et al., "Representational Dissimilarity Metric Spaces for Stochastic Neural Networks",
    ICLR 2023, section 3.1 and Figure 2.

    Examples
    --------
    >>> toy = toy_networks()
    >>> toy
    ToyNetworks(99 networks: 11 correlations x 9 scales)
    >>> toy.metadata.iloc[0].to_dict()
    {'correlation': -0.9, 'scale': 0.5}
    """
    correlations = np.linspace(
        -MAX_CORRELATION, MAX_CORRELATION, check_integer("n_correlations", n_correlations, 1)
    )
    correlations = (correlations - correlations[::-1]) / 2.0  # exactly symmetric about zero
    scales = np.linspace(*SCALE_RANGE, check_integer("n_scales", n_scales, 1))
    check_integer("n_conditions", n_conditions, 1)
    means = np.outer(np.linspace(*MEAN_RANGE, n_conditions), [1.0, 1.0])
    grid = [(float(c), float(s)) for c in correlations for s in scales]
    rng = np.random.default_rng(random_state)
    rotations = _rotations(rng.uniform(0.0, 2.0 * np.pi, len(grid)) * bool(rotate))
    networks: tuple[Gaussians | Trials, ...]
    if n_trials is None:
        networks = tuple(
            _exact(means, _covariance(*cell), Q) for cell, Q in zip(grid, rotations, strict=True)
        )
    else:
        check_integer("n_trials", n_trials, 1)
        networks = tuple(
            _sampled(means, _covariance(*cell), Q, n_trials, rng)
            for cell, Q in zip(grid, rotations, strict=True)
        )
    labels = tuple(f"c{i}s{j}" for i in range(n_correlations) for j in range(n_scales))
    metadata = pd.DataFrame(grid, columns=["correlation", "scale"], index=list(labels))
    return ToyNetworks(networks, labels, metadata, rotations)


def _rotations(angles: FloatArray) -> FloatArray:
    """Return the rotations by the given angles, shape (K, 2, 2), read-only."""
    cos, sin = np.cos(angles), np.sin(angles)
    rotations = np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], -2)
    rotations.setflags(write=False)
    return rotations


def _covariance(correlation: float, scale: float) -> FloatArray:
    return scale * np.array([[1.0, correlation], [correlation, 1.0]])


def _exact(means: FloatArray, covariance: FloatArray, rotation: FloatArray) -> Gaussians:
    rotated = rotation @ covariance @ rotation.T
    rotated = (rotated + rotated.T) / 2.0  # exactly symmetric
    return Gaussians(means @ rotation.T, np.repeat(rotated[None], len(means), axis=0))


def _sampled(
    means: FloatArray,
    covariance: FloatArray,
    rotation: FloatArray,
    n_trials: int,
    rng: np.random.Generator,
) -> Trials:
    noise = rng.standard_normal((len(means), n_trials, 2)) @ np.linalg.cholesky(covariance).T
    return Trials((means[:, None, :] + noise) @ rotation.T)
