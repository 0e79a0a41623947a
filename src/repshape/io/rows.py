"""The rows of a cohort: name, network and metadata of each, as given and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from repshape._arrays import count
from repshape._joins import in_order, network_names
from repshape.errors import InputError
from repshape.io.records import Record
from repshape.matrix.checks import carried_metadata, check_labels, check_metadata


def metadata_table(records: Sequence[Record]) -> pd.DataFrame:
    """Return the metadata of networks, a row for each of them."""
    rows = [record.row for record in records]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    frame = pd.DataFrame(index=[record.name for record in records])
    for column in columns:
        cells = [row.get(column) for row in rows]
        words = any(isinstance(cell, str) for cell in cells)  # what is absent stays None
        frame[column] = pd.Series(cells, index=frame.index, dtype=object if words else None)
    return frame


def network_rows(
    networks: Any, labels: Sequence[str] | None, metadata: pd.DataFrame | Mapping[str, Any] | None
) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield name, network and metadata of each network."""
    items = list(networks.values() if isinstance(networks, Mapping) else networks)
    names = check_labels(network_names(networks) if labels is None else labels, len(items))
    frame = (
        carried_metadata(networks, names) if metadata is None else check_metadata(metadata, names)
    )
    for k, (name, network) in enumerate(zip(names, items, strict=True)):
        yield name, network, {str(column): frame[column].iloc[k] for column in frame.columns}


def sizes_in_words(records: Sequence[Record]) -> list[str]:
    """Say how many networks, conditions and neurons there are."""
    parts = [count(len(records), "network")]
    if records:
        sizes = [record.n_neurons for record in records]
        low, high = min(sizes), max(sizes)
        neurons = count(low, "neuron") if low == high else f"{low}-{high} neurons"
        parts += [count(records[0].n_conditions, "condition"), neurons]
    return parts


def chosen_rows(index: Any, labels: Sequence[str]) -> list[Any]:
    """Return the labels that an index chooses: a list of labels, or truth values for all of them.

    >>> chosen_rows([True, False], ["mouse", "vae"]), chosen_rows(["vae"], ["mouse", "vae"])
    (['mouse'], ['vae'])
    """
    given = np.asarray(index)
    if given.dtype.kind not in "bO" or not all(isinstance(one, bool | np.bool_) for one in given):
        return list(index)
    mask = np.asarray(in_order(index, labels, len(labels), "index"), dtype=bool)
    if not mask.any():
        raise InputError("At least one network must be selected. The mask is False for all.")
    return [label for label, kept in zip(labels, mask, strict=True) if kept]
