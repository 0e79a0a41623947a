"""Blocks of trials, each of which is a small network of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.errors import InputError, check_integer
from repshape.metrics.base import ShapeMetric
from repshape.responses import Trials

IntArray = npt.NDArray[np.intp]

# With fewer blocks per network, no p-value can be below 0.05: three give at least 2 / 20.
FEWEST_BLOCKS = 4
# The numbers of blocks to choose from. More blocks have more power, but each must keep enough
# trials: at least this many, or as few as the metric allows for the last two.
PREFERRED = ((10, 5), (8, 5), (5, 0), (4, 0))
# A network with many more trials than the other is not divided into more blocks than this.
MOST_BLOCKS = 20


@dataclass(frozen=True, eq=False)
class BlockPlan:
    """How two networks are divided: trials per block and condition, and blocks per network."""

    sizes: IntArray
    n_blocks: tuple[int, int]

    def divide(self, network: Trials, which: int, rng: np.random.Generator) -> list[Trials]:
        """Return random blocks of a network's trials; no trial is in two of them."""
        orders = [rng.permutation(int(L)) for L in network.n_trials]
        return [
            network._take_trials(
                [
                    order[g * b : (g + 1) * b]
                    for order, b in zip(orders, self.sizes.tolist(), strict=True)
                ],
            )
            for g in range(self.n_blocks[which])
        ]


def plan_blocks(
    x: Trials, y: Trials, metric: ShapeMetric[Any], n_blocks: int | None = None
) -> BlockPlan:
    """Choose blocks of equal size in both networks, or raise one clear sentence.

    Block sizes follow the network with fewer trials. The other is divided into more blocks of the
    same size.
    """
    fewest = metric._fewest_trials()
    counts = np.minimum(x.n_trials, y.n_trials)
    smallest = int(counts.min())
    chosen = _choose(smallest, fewest) if n_blocks is None else n_blocks
    check_integer("n_blocks", chosen, FEWEST_BLOCKS)
    sizes = counts // chosen
    if sizes.min() < fewest:
        most = smallest // fewest
        raise InputError(
            f"The block test needs at least {FEWEST_BLOCKS} blocks of {fewest} "
            f"trial{'s' * (fewest > 1)} in every condition. A condition with {smallest} "
            f"trial{'s' * (smallest != 1)} allows {most}"
            + (f", not {chosen}." if most >= FEWEST_BLOCKS else ".")
        )
    _check_components(int(sizes.sum()), metric)
    found = [min(int((one.n_trials // sizes).min()), max(MOST_BLOCKS, chosen)) for one in (x, y)]
    return BlockPlan(sizes, (found[0], found[1]))


def _choose(smallest: int, fewest: int) -> int:
    for count, size in PREFERRED:
        if smallest // count >= max(size, fewest):
            return count
    return FEWEST_BLOCKS


def _check_components(n_trials: int, metric: ShapeMetric[Any]) -> None:
    phi = metric.preprocess
    if phi is not None and phi.n_components is not None and n_trials <= phi.n_components:
        raise InputError(
            f"PCA is fitted in every block, and a block of {n_trials} trials cannot have "
            f"{phi.n_components} components. Keep fewer components, or use fewer blocks."
        )
