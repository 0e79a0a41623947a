"""What the attributes of a store say about its matrix or block, checked once when it is opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape.engine.chunks import array_forms, plan_of
from repshape.engine.effort import Effort
from repshape.engine.plan import Plan
from repshape.engine.sides import split_sides
from repshape.io.matrices import metadata_from_json
from repshape.io.zarr import readable
from repshape.matrix.sizes import sizes_from_json
from repshape.store.header import Header, identity_in
from repshape.store.identity import Identity

IndexArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class MatrixHeader:
    """The attributes of one generation of a store.

    Attributes
    ----------
    id : str
    identity : Identity
        The metric and the networks that the store belongs to.
    plan : Plan
    alignments : str or None
        The dtype in which transforms are kept, or None.
    bounded : bool
        Whether the metric gives lower bounds, convergence and numbers of starts.
    effort : Effort
    metadata : pandas.DataFrame
        A row for each network.
    sides : tuple of two pandas.DataFrame, or None
        A row for each network of the two sets whose distances to each other are stored.
    sizes : dict or None
        Numbers of neurons and trials of the networks; None in a store that says nothing.
    forms : dict
        The arrays of a layer, by name, as Zarr makes them.
    sources, inherited, inherited_from, removed
        Earlier generations, the networks whose polish is taken over and from which generation, and
        the networks that were removed; see `repshape.engine.growth`.
    """

    id: str
    identity: Identity
    plan: Plan
    alignments: str | None
    bounded: bool
    effort: Effort
    metadata: pd.DataFrame
    sides: tuple[pd.DataFrame, pd.DataFrame] | None
    sizes: dict[str, Any] | None
    forms: dict[str, Any]
    sources: tuple[str, ...]
    inherited: IndexArray
    inherited_from: str | None
    removed: frozenset[str]

    @classmethod
    def read(cls, folder: Path, attributes: Header) -> MatrixHeader:
        """Check the attributes of a folder, and raise one sentence if they are damaged."""
        with readable(folder / "zarr.json"):
            alignments = attributes["alignments"]
            if alignments not in (None, "float32", "float64"):
                raise ValueError(f"it keeps alignments as {alignments!r}")
            effort = Effort(**attributes["effort"])
            if not all(isinstance(one, int | None) for one in vars(effort).values()):
                raise ValueError(f"it was searched with {effort}")
            identity, plan = identity_in(attributes), plan_of(attributes)
            return cls(
                id=str(attributes["id"]),
                identity=identity,
                plan=plan,
                alignments=alignments,
                bounded=bool(attributes["bounded"]),
                effort=effort,
                metadata=_frame(attributes["metadata"], identity.labels),
                sides=None if plan.rows is None else _sides(attributes, identity.labels),
                sizes=sizes_from_json(attributes),
                forms=array_forms(attributes),
                sources=tuple(attributes.get("sources", ())),
                inherited=np.array(attributes.get("inherited", ()), dtype=np.intp),
                inherited_from=attributes.get("inherited_from"),
                removed=frozenset(attributes.get("removed", ())),
            )


def _sides(attributes: Header, labels: tuple[str, ...]) -> tuple[pd.DataFrame, pd.DataFrame]:
    stored: list[list[dict[str, Any]]] = attributes.get("sides") or [[], []]
    rows, columns = map(_frame, stored, split_sides(labels))
    return rows, columns


def _frame(columns: list[dict[str, Any]], names: tuple[str, ...]) -> pd.DataFrame:
    return metadata_from_json(columns, len(names)).set_axis(pd.Index(list(names)), axis=0)
