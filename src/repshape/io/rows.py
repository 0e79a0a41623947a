"""The rows of a cohort: name, network and metadata of each, as given and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from repshape._arrays import count
from repshape._joins import network_names
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
