"""Sizes of the tests of equality and of groups, on designs that nothing was chosen on."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np

import repshape as rs
from benchmarks.interval_cells import Cell

EQUALITY = {
    "equality, gamma counts, M9 L15 n14, PCA 4, alpha 1": (
        "gamma counts",
        *("equal", 9, 15, 14, 4, 1.0),
    ),
    "equality, skewed, M16 L24 n6, no PCA, alpha 0": ("skewed", "equal", 16, 24, 6, None, 0.0),
}
# Networks per group, and recordings of each animal.
GROUPS: dict[str, tuple[tuple[int, ...], int]] = {
    "groups, 7/9 networks": ((7, 9), 1),
    "groups, 4/6/9 networks": ((4, 6, 9), 1),
    "groups, 5/5 animals with 2 recordings": ((5, 5), 2),
}
DIMENSIONS = 8
DEGREES = 3


def row(name: str, seed: int) -> list[float]:
    """The p-value of one simulation without any difference, and the smallest possible one."""
    found: Any
    rng = np.random.default_rng([seed, 41, crc32(name.encode())])
    if name in EQUALITY:
        cell = Cell(*EQUALITY[name], family="latent")
        pair = [cell.pair[0].sample(cell.trials, rng) for _ in range(2)]
        found = rs.inference.equality(*pair, cell.metric(), random_state=seed, workers=1)
        return [found.p_value, found.smallest_p_value]
    counts, each = GROUPS[name]
    animals = np.repeat(np.arange(len(counts)), counts)
    blocks = np.repeat(np.arange(len(animals)), each)
    points = rng.standard_t(DEGREES, size=(len(animals), DIMENSIONS))[blocks]
    points = points + (each > 1) * rng.standard_t(DEGREES, size=points.shape)
    D = np.linalg.norm(points[:, None] - points, axis=2)
    units = blocks if each > 1 else None
    found = rs.inference.groups(D, animals[blocks], units, n_permutations=999, random_state=seed)
    return [found.p_value, found.smallest_p_value]
