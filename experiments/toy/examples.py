"""Small networks of two neurons, for the explanatory figures."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import repshape as rs

FloatArray = npt.NDArray[np.float64]


def rotation(degrees: float) -> FloatArray:
    """Return the rotation matrix of an angle, (2, 2), which acts on columns."""
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    return np.array([[cos, -sin], [sin, cos]])


def ellipse(degrees: float, major: float, minor: float) -> FloatArray:
    """Return a covariance with the given standard deviations along axes rotated by an angle."""
    Q = rotation(degrees)
    covariance: FloatArray = Q @ np.diag([major**2, minor**2]) @ Q.T
    return (covariance + covariance.T) / 2.0


def turned(network: rs.Gaussians, degrees: float) -> rs.Gaussians:
    """Return a rotated copy of a network."""
    Q = rotation(degrees)
    covariances = Q @ network.covariances @ Q.T
    return rs.Gaussians(network.means @ Q.T, (covariances + covariances.transpose(0, 2, 1)) / 2)


def draw_trials(network: rs.Gaussians, n_trials: int, rng: np.random.Generator) -> FloatArray:
    """Return trials of a network, (M, L, n)."""
    roots = np.linalg.cholesky(network.covariances)
    noise = rng.standard_normal((len(network.means), n_trials, network.means.shape[1]))
    trials: FloatArray = network.means[:, None, :] + noise @ roots.transpose(0, 2, 1)
    return trials


def arc_network() -> rs.Gaussians:
    """Return five conditions along an arc, with noise whose orientation follows the arc."""
    angles = np.linspace(20.0, 200.0, 5)
    means = 2.2 * np.column_stack([np.cos(np.deg2rad(angles)), np.sin(np.deg2rad(angles))])
    means = (means - means.mean(axis=0)) * [1.3, 0.8]
    covariances = [ellipse(a - 35.0, 0.55, 0.2) for a in angles]
    return rs.Gaussians(means, np.array(covariances))


def other_network() -> rs.Gaussians:
    """Return a network like `arc_network`, but flatter, with rounder noise, and rotated."""
    angles = np.linspace(20.0, 200.0, 5)
    means = arc_network().means * [1.1, 0.75]
    covariances = [ellipse(a + 10.0, 0.5, 0.32) for a in angles]
    return turned(rs.Gaussians(means, np.array(covariances)), 110.0)


def conflicting_networks() -> tuple[rs.Gaussians, rs.Gaussians]:
    """Return networks whose means agree after 90 degrees, and covariances after 0 or 180.

    The three ellipses have different angles and the three means are not on a line, so neither has
    a mirror symmetry, and no other orthogonal map aligns them.
    """
    means = 0.7 * np.array([[0.0, 2.0], [-1.7, -1.0], [1.7, -1.0]])
    covariances = np.array([ellipse(angle, 0.9, 0.27) for angle in (0.0, 30.0, 60.0)])
    return rs.Gaussians(means, covariances), rs.Gaussians(means @ rotation(-90.0).T, covariances)
