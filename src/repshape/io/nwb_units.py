"""Units of an NWB file: which are chosen, and why the others are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from repshape._arrays import FloatArray, IntArray, count
from repshape.errors import InputError, InputTypeError
from repshape.io.nwb_rules import Mask, has_no_value, matches
from repshape.io.nwb_tables import Column, Table, by_distinct

NO_ELECTRODE = -1


@dataclass(frozen=True)
class Units:
    """The units of a file with the electrode of each: that of its peak channel."""

    table: Table
    electrodes: Table | None
    electrode: IntArray  # rows of the electrodes, or NO_ELECTRODE

    def column(self, name: str) -> Column:
        """Return a column of the units, or else that of their electrodes."""
        if name in self.table or self.electrodes is None or name not in self.electrodes:
            return self.table[name]
        values = self.electrodes[name]
        found = np.empty(len(self.electrode), dtype=object)
        has = self.electrode != NO_ELECTRODE
        found[has] = values[self.electrode[has]]
        if values.dtype.kind in "fiu":
            found[~has] = np.nan
            return found.astype(np.float64)
        return found

    def text(self, name: str) -> Column:
        """Return a column of the electrodes as text, empty for units without a value."""
        if self.electrodes is None or name not in self.electrodes:
            return np.full(len(self.electrode), "", dtype=object)
        texts = by_distinct(
            self.electrodes[name], lambda one: "" if has_no_value(one) else str(one), object
        )
        return np.where(self.electrode == NO_ELECTRODE, "", texts[self.electrode])

    @property
    def probes(self) -> set[str]:
        """Names of all probes, also of those without units."""
        if self.electrodes is None or "group_name" not in self.electrodes:
            return set()
        return set(self.electrodes["group_name"].tolist())

    def spikes(self, row: int) -> FloatArray:
        """Return the sorted spike times of a unit."""
        times = self.table.cells("spike_times", row)
        if times.dtype.kind not in "fiu" or times.ndim != 1:
            raise InputError(f"The spike times of unit {self._name(row)} must be a row of numbers.")
        times = times.astype(np.float64, copy=False)
        # A NaN is not in order either, so one pass is enough for almost every unit.
        ends = times[[0, -1]] if times.size else times
        if (times[1:] >= times[:-1]).all() and np.isfinite(ends).all():
            return times
        if not np.isfinite(times).all():
            k = int(np.argmin(np.isfinite(times)))
            raise InputError(
                f"The spike times of unit {self._name(row)} must be finite. "
                f"Got {times[k]} at position {k}."
            )
        return np.sort(times)

    def _name(self, row: int) -> str:
        return str(self.table["id"][row])


def find_units(table: Table, electrodes: Table | None) -> Units:
    """Join units and electrodes: by ``peak_channel_id``, or by the column ``electrodes``."""
    electrode = np.full(len(table), NO_ELECTRODE, dtype=np.intp)
    if electrodes is None:
        return Units(table, None, electrode)
    if "peak_channel_id" in table:
        ids = electrodes["id"].tolist()
        row = {one: k for k, one in enumerate(ids)}
        if len(row) < len(ids):
            raise InputError("The ids of the electrodes must be distinct.")
        peaks = table["peak_channel_id"].tolist()
        electrode[:] = [row.get(peak, NO_ELECTRODE) for peak in peaks]
    elif "electrodes" in table:
        for k in range(len(table)):
            electrode[k] = _only_electrode(table, electrodes, k)
    return Units(table, electrodes, electrode)


def _only_electrode(table: Table, electrodes: Table, unit: int) -> int:
    """Return the first electrode of a unit, if all of them are in one area."""
    rows = table.cells("electrodes", unit) if "electrodes_index" in table else table["electrodes"]
    rows = np.atleast_1d(rows if "electrodes_index" in table else rows[unit])
    if not len(rows):
        return NO_ELECTRODE
    areas = set(electrodes["location"][rows].tolist()) if "location" in electrodes else {""}
    return int(rows[0]) if len(areas) == 1 else NO_ELECTRODE


def in_area(locations: Column, area: str | Sequence[str]) -> Mask:
    """Return which locations are an area, or a part of it that is written after a hyphen.

    >>> in_area(np.array(["LGd-sh", "LGd", "LGv", ""], dtype=object), "LGd")
    array([ True,  True, False, False])
    """
    wanted = list(area) if isinstance(area, Sequence) and not isinstance(area, str) else [area]
    if not wanted or not all(isinstance(one, str) for one in wanted):
        raise InputTypeError(
            f"The 'area' parameter must be a name, a list of names or None. Got {area!r} instead."
        )
    return by_distinct(
        locations, lambda one: one in wanted or one.partition("-")[0] in wanted, bool
    )


def choose_units(
    units: Units, area: str | Sequence[str] | None, filters: Mapping[str, Any], file: str
) -> Column:
    """Return, for every unit, the first filter that it fails; empty for those that are chosen."""
    reasons = np.full(len(units.electrode), "", dtype=object)
    if area is not None:
        inside = _check_area(units, area, file)
        reasons[~inside] = "area"
    for column, rule in filters.items():
        failed = ~matches(units.column(column), rule, column)
        reasons[failed & (reasons == "")] = column
    if (reasons == "").any():
        return reasons
    failed_by = Counter(reason for reason in reasons if reason != "area")
    listed = ", ".join(f"{number} by {column!r}" for column, number in failed_by.items())
    where = "" if area is None else f" of area {area!r}"
    total = count(sum(failed_by.values()), "unit")
    raise InputError(f"No unit{where} in {file} is left: of {total}, filters drop {listed}.")


def _check_area(units: Units, area: str | Sequence[str], file: str) -> Mask:
    if units.electrodes is None or "location" not in units.electrodes:
        raise InputError(
            f"{file} has no locations of electrodes, so units cannot be chosen by area. Use a "
            "column of the units in 'filters' instead."
        )
    locations = units.text("location")
    inside = in_area(locations, area)
    if not inside.any():
        raise InputError(
            f"No unit in {file} has its peak channel in area {area!r}. The areas are "
            f"{list_areas(locations)}."
        )
    return inside


def list_areas(locations: Column) -> str:
    """Return the areas with their numbers of units, for a sentence."""
    found = Counter(one for one in locations if one)
    listed = [f"{one!r} ({count(number, 'unit')})" for one, number in sorted(found.items())]
    return ", ".join(listed) or "not known: no electrode has a location"
