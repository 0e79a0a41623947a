"""Families of small networks on sheets, for the benchmark of neighbour searches."""

from __future__ import annotations

import numpy as np

import repshape as rs

CONDITIONS, NEURONS = 64, 6
# Relative to a common ancestor of size 1: how far families are apart, how far the members of a
# family reach along each of two directions, and the noise of each member.
BETWEEN, ALONG, NOISE = 0.5, 0.3, 0.05


def families(number: int, size: int, seed: int = 0) -> list[rs.Gaussians]:
    """Return ``number`` families of ``size`` networks, one after the other.

    A family is a sheet: its members lie at random places along two directions of its own, such as
    two parameters of training, with noise of their own. Every network has a rotation of its own.
    """
    rng = np.random.default_rng(seed)
    decay = np.exp(-np.arange(NEURONS) / 3.0)
    shape = (CONDITIONS, NEURONS, 1 + NEURONS)  # means, then factors of covariances

    def draw() -> np.ndarray:
        return rng.normal(size=shape) * decay[:, None]

    ancestor, networks = draw(), []
    for _ in range(number):
        founder, directions = ancestor + BETWEEN * draw(), (draw(), draw())
        for _ in range(size):
            member = founder + NOISE * draw()
            for direction in directions:
                member = member + ALONG * rng.uniform(-1, 1) * direction
            Q = np.linalg.qr(rng.normal(size=(NEURONS, NEURONS)))[0]
            networks.append(rs.Gaussians.from_factors(member[:, :, 0] @ Q, Q.T @ member[:, :, 1:]))
    return networks
