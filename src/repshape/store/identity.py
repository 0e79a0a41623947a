"""What a store belongs to, and how the networks of a run may differ from those it has."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.errors import InputError


@dataclass(frozen=True)
class Identity:
    """What a store belongs to: a metric, and networks with names and fingerprints."""

    description: dict[str, Any]
    labels: tuple[str, ...]
    fingerprints: tuple[str, ...]

    @property
    def networks(self) -> dict[str, str]:
        """The fingerprints by name."""
        return dict(zip(self.labels, self.fingerprints, strict=True))

    def places(self, other: Identity) -> npt.NDArray[np.intp]:
        """Return the place here of each network of ``other``; -1 where name or responses differ.

        >>> first = Identity({}, ("a", "b"), ("1", "2"))
        >>> first.places(Identity({}, ("b", "a"), ("2", "3")))
        array([ 1, -1])
        """
        mine = {pair: k for k, pair in enumerate(self.networks.items())}
        return np.array([mine.get(pair, -1) for pair in other.networks.items()], dtype=np.intp)

    def difference(self, other: Identity) -> str | None:
        """Say what differs between this identity and another one, or return None."""
        difference = self.metric_difference(other)
        if difference is not None:
            return difference
        if len(self.labels) != len(other.labels):
            return f"there were {len(self.labels)} networks and are {len(other.labels)}"
        for k, (old, new) in enumerate(zip(self.labels, other.labels, strict=True)):
            if old != new:
                return f"network {k} was {old!r} and is {new!r}"
            if self.fingerprints[k] != other.fingerprints[k]:
                return f"the responses of network {old!r} have changed"
        return None

    def metric_difference(self, other: Identity) -> str | None:
        """Say how the metric of another identity differs, or return None."""
        mine, theirs = self.description, other.description
        if mine["metric"] != theirs["metric"]:
            return f"the metric was {mine['metric']} and is {theirs['metric']}"
        for name in sorted(mine["parameters"].keys() | theirs["parameters"].keys()):
            old, new = (d["parameters"].get(name) for d in (mine, theirs))
            if old != new:
                return f"the metric's {name!r} was {old!r} and is {new!r}"
        if mine["repshape"] != theirs["repshape"]:
            return f"it was made by repshape {mine['repshape']} and this is {theirs['repshape']}"
        return None


class Relation(Enum):
    """How the networks of a run relate to those of a store."""

    SAME = "same"  # the same networks, in any order
    SELECTION = "selection"  # some of them
    CHANGED = "changed"  # networks are added, replaced or removed


@dataclass(frozen=True)
class Permission:
    """What the user allows to change in a store besides adding networks.

    Attributes
    ----------
    replace : frozenset of str
        Names of networks whose responses may differ from those in the store.
    remove : frozenset of str
        Names of networks that are dropped from the store.
    """

    replace: frozenset[str] = field(default_factory=frozenset)
    remove: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, replace: Any, remove: Any, labels: tuple[str, ...]) -> Permission:
        """Return what a user gives, for networks of these names, or raise one clear sentence.

        >>> Permission.of(["mouse 1"], None, ("mouse 1", "mouse 2")).replace
        frozenset({'mouse 1'})
        """
        given = [_names(value, name) for name, value in (("replace", replace), ("remove", remove))]
        for name in sorted(given[0].difference(labels)):
            raise InputError(
                "The 'replace' parameter must name networks of the cohort. "
                f"Got {name!r}, which it does not have."
            )
        for name in sorted(given[1].intersection(labels)):
            raise InputError(
                "The 'remove' parameter must name networks that the cohort no longer has. "
                f"Got {name!r}, which it has."
            )
        return cls(*given)

    def check(self, old: Identity, new: Identity, removed: frozenset[str]) -> Relation:
        """Return how networks relate to those of a store, or raise what is not allowed.

        Parameters
        ----------
        old, new : Identity
            Of the store, and of the run.
        removed : frozenset of str
            Networks that were removed from the store before: to remove them again is no error, so
            that an interrupted command can be repeated.
        """
        stored, given = old.networks, new.networks
        for name in sorted(self.remove - stored.keys() - removed):
            raise InputError(f"it has no network named {name!r} that could be removed.")
        added = [name for name in given if name not in stored]
        changed = [name for name in given if name in stored and given[name] != stored[name]]
        for name in changed:
            if name not in self.replace:
                raise InputError(
                    f"the responses of network {name!r} have changed. Name it in 'replace' "
                    "(--replace) to compute its distances again, or choose another output."
                )
        absent = [name for name in stored if name not in given]
        if not added and not changed and not self.remove.intersection(absent):
            return Relation.SELECTION if absent else Relation.SAME
        for name in absent:
            if name not in self.remove:
                raise InputError(
                    f"it has a network {name!r}, which the cohort lacks. Name it in 'remove' "
                    "(--remove) to drop its distances, or choose another output."
                )
        return Relation.CHANGED


def _names(value: Any, parameter: str) -> frozenset[str]:
    if value is None:
        return frozenset()
    if isinstance(value, str) or not all(isinstance(one, str) for one in value):
        raise InputError(
            f"The '{parameter}' parameter must be a list of names of networks. Got {value!r}."
        )
    return frozenset(value)
