"""What users give to `pairwise`, checked before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from repshape.engine.sides import records_of
from repshape.engine.store import read_steadily
from repshape.engine.threads import Metric
from repshape.errors import InputError, InputTypeError, RepshapeError
from repshape.io.cohort import Cohort
from repshape.metrics.base import ShapeMetric, in_one_space
from repshape.metrics.identity import check_identity
from repshape.store.header import check_store_path


def check_store(
    store: Path, metrics: Mapping[str, Metric], names: Mapping[str, str | None]
) -> None:
    """Raise one clear sentence unless the store, and one of each metric inside it, can be used."""
    check_store_path(store)
    for name, metric in metrics.items():
        check_identity(metric, names[name])
        plain = isinstance(name, str) and Path(name).name == name and not set(name) & {"\\", "\0"}
        if not plain or name == ".." or (not name and len(metrics) > 1):
            raise InputError(
                "With a store, the name of a metric must be the name of a folder inside the "
                f"store. Got {name!r}."
            )
        if store.is_dir():
            check_store_path(store / name)


def recognised(networks: Sequence[Any], labels: Sequence[str]) -> Cohort:
    """Return the networks as a cohort, which knows their fingerprints."""
    if isinstance(networks, Cohort):
        return networks
    try:
        return Cohort.from_networks(networks, labels)
    except RepshapeError as error:
        raise InputError(f"A store needs networks that it can recognise. {error}") from None


def is_identified(metric: Metric) -> bool:
    """Return whether a store would recognise a metric without a name."""
    try:
        check_identity(metric)
    except InputError:
        return False
    return True


def as_sequence(networks: Any, name: str) -> Sequence[Any]:
    """Return networks, or the values of a dict, as a sequence; a cohort is read when needed."""
    try:
        if isinstance(networks, Mapping):
            networks = networks.values()
        items = networks if isinstance(networks, Cohort) else list(networks)
    except TypeError:
        raise InputTypeError(
            f"The '{name}' parameter must be a sequence of networks. "
            f"Got {type(networks).__name__} instead."
        ) from None
    if not items:
        raise InputError(f"The '{name}' parameter must hold at least one network. Got none.")
    return items


def own(networks: Any, name: str, given: Any) -> Any:
    """Return what the caller gave, or else what the networks carry themselves."""
    if isinstance(networks, Mapping):
        return list(networks) if given is None and name == "labels" else given
    return getattr(networks, name, None) if given is None else given


def in_space_of(metric: Metric, networks: Sequence[Any], path: Path | None) -> Any:
    """Return the metric in the space of the largest network, or in that of an existing store.

    The space of a store stays as it is if its largest network is left out or removed. A larger
    network would change all distances, and is refused when the store is opened.
    """
    placed = in_one_space(metric, records_of(networks))
    if placed is metric or path is None or not path.exists():
        return placed
    identity = read_steadily(path, lambda store: store.identity)
    stored = identity.description["parameters"].get("pad_to")
    assert isinstance(placed, ShapeMetric)
    if isinstance(stored, int) and stored > (placed.pad_to or 0):
        return placed.with_parameters(pad_to=stored)
    return placed
