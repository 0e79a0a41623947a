"""Opening stores: new ones, those that are continued, and those whose networks have changed.

A store that gets other networks begins a new *generation*: a folder inside it, in the form of a
store of its own. Pairs of networks that stay are copied from the generations before, tile by tile,
and all others are solved. Once it is finished, earlier generations are deleted.

The attributes of the store name the present generation. They are replaced in one step, and the
name of a generation follows from its networks, so that an interrupted command can be repeated, and
several shards can begin the same generation at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from repshape.engine.effort import PLAIN, Effort
from repshape.engine.store import GENERATION, Store, make_layer
from repshape.errors import InputError, StorageError
from repshape.io.links import list_folder, remove_folder
from repshape.io.matrices import metadata_to_json
from repshape.io.zarr import write_attributes
from repshape.store.header import VERSION, new_header
from repshape.store.identity import Identity, Permission, Relation

# What the attributes of a store say besides those of its generations; version 4 has no kinds.
ROOT = ("format", "version", "kind", "current")
ADVICE = "Choose another name for the output, or delete that store."


@dataclass(frozen=True)
class Form:
    """How a new store, or a new generation, is laid out and searched.

    Attributes
    ----------
    edge : int
        Edge of the tiles, in networks.
    alignments : str or None
        The dtype in which to keep transforms, or None.
    dimensions : int
        Largest number of dimensions in which a network is aligned.
    bounded : bool
        Whether the metric gives lower bounds, convergence and numbers of starts.
    effort : Effort
        How pairs are searched. An existing store keeps the effort that it was made with.
    rows : int or None
        Number of networks in the first of two sets whose distances to each other are stored, or
        None for a matrix. All names must differ, also between the sets.
    """

    edge: int
    alignments: str | None
    dimensions: int
    bounded: bool
    effort: Effort = PLAIN
    rows: int | None = None

    def header(self, identity: Identity, metadata: pd.DataFrame) -> dict[str, Any]:
        """Return the attributes of a store, or of a generation."""
        return new_header(
            "matrix" if self.rows is None else "cross",
            identity,
            metadata=metadata_to_json(metadata),
            edge=self.edge,
            alignments=self.alignments,
            width=2 + 2 * self.edge + (self.edge * self.dimensions) ** 2,  # see chunks.pack
            bounded=self.bounded,
            effort=asdict(self.effort),
            rows=self.rows,
        )


def relate(path: Path, identity: Identity, permission: Permission) -> Relation:
    """Return how networks relate to those of an existing store, or raise one clear sentence."""
    store = Store(path)
    difference = store.identity.metric_difference(identity)
    if difference is not None:
        raise StorageError(f"{path} cannot be continued: {difference}. {ADVICE}")
    try:
        return permission.check(store.identity, identity, store.removed)
    except InputError as error:
        raise StorageError(f"{path} cannot be continued: {error}") from None


def open_store(
    path: Path,
    identity: Identity,
    metadata: pd.DataFrame,
    form: Form,
    permission: Permission | None = None,
) -> Store:
    """Make a store, open it, or begin a new generation of it for other networks.

    Parameters
    ----------
    path : pathlib.Path
    identity : Identity
        The metric and the networks. A store with the same networks must have them in this order.
    metadata : pandas.DataFrame
        A row for each network.
    form : Form
        The form of a new store. A new generation takes the edge and the number of dimensions.
    permission : Permission, optional
        What may change besides adding networks.
    """
    if not path.exists():
        header = form.header(identity, metadata)
        make_layer(path, header, header)
    permission = permission or Permission()
    relation = relate(path, identity, permission)
    store = Store(path)
    for one in store.generations:
        one.describe_arrays()
    refusal = _refusal(store, form, relation)
    if refusal:
        raise StorageError(f"{path} cannot be continued: {refusal}. {ADVICE}")
    if relation is Relation.CHANGED:
        return _begin_generation(store, identity, metadata, form, permission)
    assert store.identity.labels == identity.labels
    return store


def _refusal(store: Store, form: Form, relation: Relation) -> str | None:
    """Say why a run with or without alignments cannot continue a store, or return None."""
    if form.alignments is not None and not store.keeps:
        return "it keeps no alignments, which the polish needs"
    if form.alignments is None and store.effort.brief is not None:
        return "its pairs were searched briefly, which the polish must complete"
    if relation is Relation.CHANGED and form.alignments is None and store.was_polished:
        return "it was polished, and without the polish its distances would become longer"
    return None


def _begin_generation(
    store: Store,
    identity: Identity,
    metadata: pd.DataFrame,
    form: Form,
    permission: Permission,
) -> Store:
    sources = store.generations
    polished = next((one for one in sources if one.polished() is not None), None)
    inherited = np.zeros(0, dtype=np.intp)
    if polished is not None:
        inherited = np.flatnonzero(polished.identity.places(identity) >= 0)
    effort = replace(store.effort, inherits=len(inherited) > 1)
    form = replace(form, alignments=store.alignments, bounded=store.bounded, effort=effort)
    folders = [_name(store, one) for one in sources]
    header = form.header(identity, metadata) | {
        "sources": folders,
        "inherited": inherited.tolist(),
        "inherited_from": _name(store, polished) if polished and effort.inherits else None,
        "removed": sorted(permission.remove | store.removed),
    }
    name = GENERATION + _digest(identity, folders)
    if not (store.path / name).exists():
        make_layer(store.path / name, header, header)
    write_attributes(
        store.path, store.root | {"version": VERSION, "kind": header["kind"], "current": name}
    )
    return Store(store.path)


def _name(store: Store, generation: Store) -> str:
    return generation.folder.relative_to(store.path).as_posix()


def _digest(identity: Identity, sources: list[str]) -> str:
    """Return a short text that tells one list of networks, and what it follows, from another."""
    networks = json.dumps([identity.labels, identity.fingerprints, sources])
    return sha256(networks.encode()).hexdigest()[:16]


def discard_sources(store: Store) -> None:
    """Delete earlier generations once the present one needs nothing of them any more.

    Where that fails, as on a read-only disk, it is left to a later run.
    """
    needed = store.polished() is None if store.effort.inherits else bool(store.missing())
    if needed or "current" not in store.root:
        return
    kept = {key: store.root[key] for key in ROOT if key in store.root}
    earlier = list(_earlier_folders(store))
    if not earlier and store.root == kept:
        return
    with suppress(OSError):
        write_attributes(store.path, kept)  # from here on, what follows is nobody's source
        for folder in earlier:
            (folder / "zarr.json").unlink(missing_ok=True)
            remove_folder(folder, store.path)


def _earlier_folders(store: Store) -> Iterator[Path]:
    """Yield the folders of earlier generations; the first one has no folder of its own."""
    for folder in list_folder(store.path):
        earlier = folder.name.startswith(GENERATION) and folder != store.folder
        if folder.is_dir() and (earlier or folder.name in ("tiles", "alignments", "polish")):
            yield folder
