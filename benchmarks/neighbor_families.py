"""Families of small networks, for the benchmarks of neighbour searches."""

from __future__ import annotations

from typing import Literal

import numpy as np

import repshape as rs

CONDITIONS, NEURONS = 64, 6
# Relative to a common ancestor of size 1: how far families are apart, how far the members of a
# family reach along each of two directions, and the noise of each member.
BETWEEN, ALONG, NOISE = 0.5, 0.3, 0.05
# Independent members are as far from their founder, in root mean square, as those of a sheet.
INDEPENDENT = float(np.sqrt(NOISE**2 + 2 * ALONG**2 / 3))
Members = Literal["sheet", "independent"]


def families(
    number: int, size: int, seed: int = 0, members: Members = "sheet"
) -> list[rs.Gaussians]:
    """Return ``number`` families of ``size`` networks, one after the other.

    On a sheet, the members of a family lie at random places along two directions of its own, such
    as two parameters of training, with noise of their own. Independent members differ from the
    founder of their family in all directions. Every network has a rotation of its own.
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
            member = founder + (NOISE if members == "sheet" else INDEPENDENT) * draw()
            for direction in directions if members == "sheet" else ():
                member = member + ALONG * rng.uniform(-1, 1) * direction
            Q = np.linalg.qr(rng.normal(size=(NEURONS, NEURONS)))[0]
            networks.append(rs.Gaussians.from_factors(member[:, :, 0] @ Q, Q.T @ member[:, :, 1:]))
    return networks
