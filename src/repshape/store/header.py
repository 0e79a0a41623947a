"""What a store says about itself: its format, what it holds, and what that belongs to."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any, Literal

from repshape.errors import StorageError
from repshape.io.links import list_folder
from repshape.io.zarr import new_group, read_attributes, readable
from repshape.store.identity import Identity

Kind = Literal["matrix", "cross", "parts", "pairs"]
Header = dict[str, Any]
FORMAT = "repshape-distance-store"
VERSION = 5
# Version 3 has one generation, and version 4 several; both hold matrices, and say nothing of kinds.
MATRIX_VERSIONS = (3, 4)
# What is said of a folder that holds something else.
REFUSALS: dict[Kind, str] = {
    "matrix": "is not a repshape distance store",
    "cross": "does not hold distances between two sets of networks",
    "parts": "does not hold estimates",
    "pairs": "does not hold solved pairs",
}
# Formats of repshape 0.2 that are not read any more: what they hold, and how to compute it again.
OUTDATED = {
    "repshape-estimates": ("estimates", "rs.inference.matrix(cohort, metric, store=...)"),
    "repshape-neighbor-pairs": (
        "solved pairs",
        "rs.analysis.neighbor_graph(cohort, metric, k, store=...), or repshape neighbors --store",
    ),
}
ADVICE = "Choose another name for the store, or delete it."


def check_store_path(path: Path) -> None:
    """Raise one clear sentence if there is no way to make or open a store at a path."""
    if path.exists() and not path.is_dir():
        raise StorageError(f"{path} is a file; a store needs a folder of its own.")
    parent = path.absolute().parent
    if not parent.is_dir():
        raise StorageError(f"Cannot make a store at {path}: its parent folder does not exist.")
    if str((read_attributes(parent) or {}).get("format")).startswith("repshape-"):
        raise StorageError(f"{path} is inside a cohort or another store; choose another place.")


def new_header(kind: Kind, identity: Identity, **more: Any) -> Header:
    """Return the attributes of a new store, which gets a random id."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "id": uuid.uuid4().hex,
        "description": identity.description,
        "labels": list(identity.labels),
        "fingerprints": list(identity.fingerprints),
        **more,
    }


def identity_in(header: Header) -> Identity:
    """Return the metric and the networks that attributes name, or raise if these are not text."""
    networks = [tuple(header[name]) for name in ("labels", "fingerprints")]
    for text in (one for names in networks for one in names):
        if not isinstance(text, str):
            raise ValueError(f"it names a network by {text!r}, which is not text")
    if len(networks[0]) != len(networks[1]):
        raise ValueError("it has another number of fingerprints than of networks")
    return Identity(header["description"], *networks)


def kind_in(attributes: Header | None) -> Kind | None:
    """Return what attributes say that a store holds, or None if they are not those of a store.

    >>> kind_in({"format": "repshape-distance-store", "version": 4})
    'matrix'
    """
    if not attributes or attributes.get("format") != FORMAT:
        return None
    kind: Kind = attributes.get("kind", "matrix")
    return kind


def read_header(path: Path, *kinds: Kind) -> Header:
    """Return the attributes of a store of one of these kinds, or raise one clear sentence."""
    if not path.exists():
        raise StorageError(f"There is no distance store at {path}.")
    if path.is_dir():
        list_folder(path)  # refuses links
    header = read_attributes(path) or {}
    if str(header.get("format")) in OUTDATED:
        what, command = OUTDATED[header["format"]]
        raise StorageError(
            f"{path} holds {what} in a format of repshape 0.2, which this version does not read. "
            f"Delete that folder and compute them again: {command}."
        )
    if kind_in(header) not in kinds:
        raise StorageError(f"{path} {REFUSALS[kinds[0]]}; it is left as it is.")
    versions = (*(MATRIX_VERSIONS if "matrix" in kinds else ()), VERSION)
    if header.get("version") not in versions:
        known = (
            f"versions {versions[0]} to {VERSION}" if len(versions) > 1 else f"version {VERSION}"
        )
        raise StorageError(
            f"{path} has format version {header.get('version')}; this repshape reads {known}."
        )
    return header


def open_header(path: Path, header: Header, arrays: dict[str, Header]) -> Header:
    """Return the attributes of a store, which is made first if it does not exist.

    It must belong to the same metric as ``header``.
    """
    check_store_path(path)
    if not path.exists():
        make_group(path, header, arrays)
    found = read_header(path, header["kind"])
    with readable(path / "zarr.json"):
        stored = identity_in(found)
        if not isinstance(found["id"], str):
            raise ValueError("its id is not text")
        if len(stored.labels) != len(stored.networks):
            raise ValueError("two networks have one name")
        difference = stored.metric_difference(identity_in(header))
    if difference is not None:
        raise refusal(path, f"{difference}. {ADVICE}")
    return found


def refusal(path: Path, reason: str) -> StorageError:
    """Return the error that says why a run cannot use a store."""
    return StorageError(f"{path} cannot be continued: {reason}")


def make_group(
    folder: Path, attributes: Header, arrays: dict[str, Header], groups: tuple[str, ...] = ()
) -> None:
    """Make a folder with empty arrays and groups, unless another process was faster."""
    try:
        with new_group(folder, attributes) as made:
            for name, form in arrays.items():
                made.create_array(name, **form)
            for name in groups:
                made.create_group(name)
    except StorageError as error:
        if not isinstance(error.__cause__, FileExistsError):
            raise  # otherwise the folder of the other process will do
