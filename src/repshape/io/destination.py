"""Where imported networks are written: a new cohort, or one that exists; all of them or none."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from repshape._labels import find_label, list_labels, shared_labels
from repshape.errors import InputError, InputTypeError, check_boolean
from repshape.io.changes import joining
from repshape.io.cohort import Cohort, save_networks
from repshape.io.network_arrays import save_network
from repshape.io.records import BATCH, Record, check_new, discard_earlier, install_batch, new_record
from repshape.io.writing import open_output_folder
from repshape.responses import NetworkLike
from repshape.responses.positions import as_any_network


@dataclass(frozen=True)
class Destination:
    """Where networks are written: a new cohort, or one that exists.

    ``replace`` names those of its networks that are replaced.
    """

    path: str | os.PathLike[str]
    existing: Cohort | None
    replace: frozenset[str]

    @classmethod
    def checked(
        cls, path: str | os.PathLike[str], names: Sequence[str], *, add: Any, replace: Any
    ) -> Destination:
        """Return the destination, or raise one clear sentence before any network is read."""
        if not check_boolean("add", add):
            if replace is not None:
                raise InputError("The 'replace' parameter needs add=True.")
            check_new(path)
            return cls(path, None, frozenset())
        cohort = Cohort.open(path)
        return cls(path, cohort, _check_names(cohort, names, replace or ()))

    def save(self, networks: Iterable[tuple[str, Any, Mapping[str, Any]]]) -> Cohort:
        """Write all networks, or nothing."""
        if self.existing is None:
            return save_networks(networks, self.path)
        return _add_networks(networks, self.path, self.replace)

    def common(self, conditions: Mapping[str, Sequence[str] | None]) -> list[str]:
        """Return the conditions to keep, given those of each new network."""
        shared = shared_labels(conditions)
        if not self.existing:  # or if it is empty
            return shared
        kept = shared_labels({self.existing.labels[0]: self.existing.records[0].conditions})
        for name, own in conditions.items():
            lacking = [one for one in kept if one not in (own or ())]
            if lacking:
                raise InputError(
                    f"Network {name!r} lacks conditions that the networks of {self.path} have: "
                    f"{list_labels(lacking)}."
                )
        return kept


def _check_names(cohort: Cohort, names: Sequence[str], replace: Iterable[str]) -> frozenset[str]:
    """Return the names to replace, or raise unless all other names are new, and each is unique."""
    if isinstance(replace, str):
        raise InputTypeError(
            f"The 'replace' parameter must be a list of names of networks. Got {replace!r}."
        )
    replaced = frozenset(replace)
    for name in sorted(replaced):
        find_label(name, cohort.labels, "network")
        if name not in names:
            raise InputError(
                "The 'replace' parameter must name networks that are added. "
                f"Got {name!r}, which is not one of them."
            )
    known, seen = set(cohort.labels) - replaced, set()
    for name in names:
        if name in known:
            raise _already_there(cohort, name)
        if name in seen:
            raise InputError(f"Each network must have its own name. Got {name!r} more than once.")
        seen.add(name)
    return replaced


def _add_networks(
    networks: Iterable[tuple[str, NetworkLike, Mapping[str, Any]]],
    path: str | os.PathLike[str],
    replace: frozenset[str],
) -> Cohort:
    """Add networks with names and metadata to a cohort, or replace them, all of them or nothing.

    The names are those that `_check_names` has checked. Networks are written into a folder that is
    no part of the cohort, one at a time. Once the folder is complete, it gets another name in one
    step, and from then on its networks belong to the cohort: if this process is killed before they
    are at their places, the next one that reads the cohort moves them there.
    """
    cohort = Cohort.open(path)
    assert cohort.path is not None
    records = {record.name: record for record in cohort.records}
    written: dict[str, Record] = {}
    batch = cohort.path / f"{BATCH}{uuid.uuid4().hex}"
    path, known = cohort.path, frozenset(record.key for record in cohort.records)

    @contextmanager
    def deciding() -> Iterator[None]:
        with joining(path, written.values(), known):
            yield
            install_batch(batch)
            for name in replace:
                discard_earlier(path, written[name])

    with open_output_folder(batch, deciding()) as folder:
        for name, responses, metadata in networks:
            network = as_any_network(responses, f"network {name!r}")
            record = new_record(list(records.values()), name, network, metadata)
            records[name] = written[name] = save_network(folder / record.key, network, record)
    return Cohort.open(path)


def _already_there(cohort: Cohort, name: str) -> InputError:
    return InputError(
        f"{cohort.path} already has a network named {name!r}. Name it in 'replace' (--replace) to "
        "replace it, or give the new network another name."
    )
