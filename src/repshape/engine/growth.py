"""Opening stores: new ones, those that are continued, and those whose networks have changed.

A store that gets other networks begins a new *generation*: a folder inside it, in the form of a
store of its own. Pairs of networks that stay are copied from the generations before, tile by tile,
and all others are solved. Once it is finished, earlier generations are deleted.

The attributes of the store name the present generation. They are replaced in one step, by a run
that has the store alone for that moment; see `repshape.store.lease`. As long as runs work on a
generation, no other one is begun, and nothing is deleted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from repshape.engine.chunks import array_forms
from repshape.engine.effort import PLAIN, Effort
from repshape.engine.store import GENERATION, Store, make_layer, read_steadily
from repshape.engine.tiles import QUANTITIES
from repshape.errors import InputError, StorageError
from repshape.io.links import list_folder, remove_folder
from repshape.io.matrices import metadata_to_json
from repshape.io.zarr import read_attributes, write_attributes
from repshape.store.header import VERSION, new_header, refusal
from repshape.store.identity import Identity, Permission, Relation
from repshape.store.lease import MOMENT, Lease, pause

CHANGED = "Another run has changed {path}. Run the same command again."
# What the attributes of a store say besides those of its generations; version 4 has no kinds.
ROOT = ("format", "version", "kind", "current")
ADVICE = "Choose another name for the output, or delete that store."


class StoreChangedError(StorageError):
    """Another run has changed the networks of a store between two looks at it."""


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
    sides : tuple of two pandas.DataFrame, or None
        The metadata of the two sets.
    sizes : dict or None
        Numbers of neurons and trials of the networks, which a store records.
    """

    edge: int
    alignments: str | None
    dimensions: int
    bounded: bool
    effort: Effort = PLAIN
    rows: int | None = None
    sides: tuple[pd.DataFrame, pd.DataFrame] | None = None
    sizes: dict[str, Any] | None = None

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
            quantities=list(QUANTITIES),
            rows=self.rows,
            sides=None if self.sides is None else list(map(metadata_to_json, self.sides)),
            sizes=self.sizes,
        )


def relate(path: Path, identity: Identity, effort: Effort, permission: Permission) -> Relation:
    """Return how networks relate to those of an existing store, or raise one clear sentence."""
    store = read_steadily(path, lambda one: one)
    return _relate(store, identity, effort, permission)


def _relate(store: Store, identity: Identity, effort: Effort, permission: Permission) -> Relation:
    difference = store.identity.metric_difference(identity)
    if difference is not None:
        raise refusal(store.path, f"{difference}. {ADVICE}")
    if store.effort.name != effort.name:
        raise refusal(
            store.path,
            f"its pairs were searched with effort={store.effort.name!r}, and this run asks for "
            f"{effort.name!r}. Pass effort={store.effort.name!r} (--effort {store.effort.name}), "
            "or choose another output.",
        )
    try:
        return permission.check(store.identity, identity, store.header.removed)
    except InputError as error:
        raise refusal(store.path, str(error)) from None


def open_store(
    path: Path,
    identity: Identity,
    metadata: pd.DataFrame,
    form: Form,
    permission: Permission | None = None,
    wait: float = 0.0,
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
    wait : float
        Seconds to wait for runs that work on the store with other networks.

    Returns
    -------
    Store
        With a lease, which the caller must release.

    Raises
    ------
    StoreChangedError
        If another run has meanwhile given the store all of these networks, and others, or another
        order.
    """
    if not path.exists():
        header = form.header(identity, metadata)
        make_layer(path, header, array_forms(header))
    lease = Lease(path)
    try:
        store, relation = _enter(lease, identity, form, permission or Permission(), wait)
        if relation is Relation.CHANGED:
            store = _begin_generation(store, identity, metadata, form, permission or Permission())
            lease.settle()
        store.lease = lease
        for one in store.generations:
            one.describe_arrays()
    except BaseException:
        lease.release()
        raise
    return store


def _enter(
    lease: Lease, identity: Identity, form: Form, permission: Permission, wait: float
) -> tuple[Store, Relation]:
    """Return a store that other runs leave as it is: held alone if its networks are to change."""
    path, start = lease.path, time.monotonic()

    def check(store: Store) -> tuple[Store, Relation]:
        relation = _relate(store, identity, form.effort, permission)
        reason = _refusal(store, form, relation)
        if reason:
            raise refusal(path, f"{reason}. {ADVICE}")
        return store, relation

    while True:
        store, relation = read_steadily(path, check)
        same = relation is Relation.SAME and store.identity.labels == identity.labels
        if not same and relation is not Relation.CHANGED:
            raise StoreChangedError(CHANGED.format(path=path))
        holder = lease.share() if same else lease.take()
        if read_attributes(path) != store.root:  # it was changed just before: look again
            lease.withdraw()
        elif holder is None:
            return store, relation
        elif time.monotonic() - start >= (wait if holder.mode == "shared" else max(wait, MOMENT)):
            raise refusal(
                path,
                f"{holder} is working on it, with other networks. Run the same command again when "
                "it has ended, or let it wait with the 'wait' parameter (--wait).",
            )
        else:
            pause()


def _refusal(store: Store, form: Form, relation: Relation) -> str | None:
    """Say why a run cannot continue a store of its metric, or return None."""
    if (form.rows is None) != (store.plan.rows is None):
        return "one holds a matrix, the other distances between two sets of networks"
    if relation is Relation.SAME and form.rows != store.plan.rows:
        return "its networks belong to other sets"
    if form.alignments is not None and not store.keeps:
        return "it keeps no alignments, which the polish needs"
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
        "removed": sorted(permission.remove | store.header.removed),
    }
    name = GENERATION + header["id"]
    make_layer(store.path / name, header, array_forms(header))
    root = {"version": VERSION, "kind": header["kind"], "current": name, "growing": True}
    write_attributes(store.path, store.root | root)
    return Store(store.path)


def _name(store: Store, generation: Store) -> str:
    return generation.folder.relative_to(store.path).as_posix()


def discard_sources(store: Store) -> None:
    """Delete earlier generations once the present one needs nothing of them any more.

    Where another run is working on the store, or that fails, as on a read-only disk, it is left to
    a later run. Raises if another run has taken over the store.
    """
    if read_attributes(store.path) != store.root:
        raise StoreChangedError(CHANGED.format(path=store.path))
    needed = store.polished() is None if store.effort.inherits else bool(store.missing())
    if needed or store.lease is None or "current" not in store.root:
        return
    kept = {key: store.root[key] for key in ROOT if key in store.root}
    earlier = list(_earlier_folders(store))
    if not earlier and store.root == kept:
        return
    with suppress(OSError, StorageError):
        if store.lease.take() is not None or read_attributes(store.path) != store.root:
            return
        write_attributes(store.path, kept)  # from here on, no generation is read from them
        for folder in earlier:
            (folder / "zarr.json").unlink(missing_ok=True)
        store.lease.give_back()
        for folder in earlier:
            remove_folder(folder, store.path)


def _earlier_folders(store: Store) -> Iterator[Path]:
    """Yield the folders of earlier generations; the first one has no folder of its own."""
    for folder in list_folder(store.path):
        earlier = folder.name.startswith(GENERATION) and folder != store.folder
        if folder.is_dir() and (earlier or folder.name in ("tiles", "alignments", "polish")):
            yield folder
