"""How the tiles of a store lie in Zarr arrays: their form, and what one chunk holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.engine.plan import Plan, Tile
from repshape.engine.tiles import QUANTITIES
from repshape.store.arrays import array_form

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
# What stores of repshape 0.1 and 0.2 keep of each pair: all but the gap, which is then unknown.
FIRST_QUANTITIES = QUANTITIES[:-1]


def plan_of(header: dict[str, Any]) -> Plan:
    """Return the tiles of a store, from its attributes."""
    return Plan(len(header["labels"]), int(header["edge"]), header.get("rows"))


def quantities_of(header: dict[str, Any]) -> tuple[str, ...]:
    """Return the numbers that a store keeps of each pair, from its attributes."""
    names = tuple(header.get("quantities", FIRST_QUANTITIES))
    if names not in (QUANTITIES, FIRST_QUANTITIES):
        raise ValueError(f"it keeps {names} of each pair")
    return names


def array_forms(header: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the arrays of a layer, by name, as Zarr makes them."""
    plan, names = plan_of(header), quantities_of(header)
    tiles = array_form(
        (len(names) + 1, *plan.shape),
        (len(names) + 1, plan.edge, plan.edge),
        dimension_names=("quantity", "network", "other network"),
        attributes={"quantities": [*names, "seal"]},
    )
    if header["alignments"] is None:
        return {"tiles": tiles}
    width, sides = int(header["width"]), (-(-size // plan.edge) for size in plan.shape)
    alignments = array_form(
        (*sides, width),
        (1, 1, width),
        header["alignments"],
        compress=True,  # most may be empty
    )
    return {"tiles": tiles, "alignments": alignments}


def pack(transforms: Sequence[FloatArray], tile: Tile) -> FloatArray:
    """Return the sizes of the networks of rows and columns, then all transforms, as one vector."""
    i, j = places_in(tile)
    row_sizes, column_sizes = np.zeros(len(tile.rows)), np.zeros(len(tile.columns))
    column_sizes[j], row_sizes[i] = np.array([one.shape for one in transforms]).T
    return np.concatenate([row_sizes, column_sizes, *(one.ravel() for one in transforms)])


def unpack(record: npt.NDArray[Any], tile: Tile) -> list[FloatArray]:
    """Return the transforms of a vector that `pack` made."""
    i, j = places_in(tile)
    ends_of_sizes = np.cumsum([len(tile.rows), len(tile.columns)])
    row_sizes, column_sizes, packed = np.split(record.astype(np.float64), ends_of_sizes)
    shapes = np.column_stack([column_sizes[j], row_sizes[i]]).astype(np.intp)
    ends = np.cumsum(shapes.prod(axis=1))
    starts = np.concatenate([[0], ends[:-1]])
    return [packed[a:b].reshape(shape) for a, b, shape in zip(starts, ends, shapes, strict=True)]


def where(tile: Tile) -> tuple[slice, slice, slice]:
    """Return the place of a tile in an array (quantity, network, network)."""
    rows, columns = (slice(span.start, span.stop) for span in (tile.rows, tile.columns))
    return slice(None), rows, columns


def places_in(tile: Tile) -> tuple[IndexArray, IndexArray]:
    """Return the rows and columns of a tile's pairs, counted inside the tile."""
    if tile.rows == tile.columns:
        return np.triu_indices(len(tile.rows), 1)
    i, j = np.indices((len(tile.rows), len(tile.columns))).reshape(2, -1)
    return i, j
