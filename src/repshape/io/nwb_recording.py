"""An open NWB file, and the spike counts that it gives."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pandas as pd

from repshape._arrays import FloatArray, IntArray, count
from repshape._labels import check_labels
from repshape.errors import InputError, check_boolean, check_choice
from repshape.io.nwb_counts import Windows
from repshape.io.nwb_presentations import (
    INVALID,
    SUFFIX,
    Presentations,
    condition_columns,
    find_presentations,
    find_stimulus,
    invalid_presentations,
    unobserved,
)
from repshape.io.nwb_rules import check_rules
from repshape.io.nwb_tables import Column, Table, damaged, is_plain, open_nwb_file, read_scalar
from repshape.io.nwb_units import Units, choose_units, find_units
from repshape.moments import OneTrialWarning
from repshape.responses import Trials
from repshape.responses.windows import SpikeSpan, TrialTimes, Window, window_words

PathLike = str | os.PathLike[str]

ELECTRODES = "general/extracellular_ephys/electrodes"
METADATA = {
    "session": "general/session_id",
    "identifier": "identifier",
    "stimulus_set": "general/stimulus",
    "subject": "general/subject/subject_id",
    "species": "general/subject/species",
    "genotype": "general/subject/genotype",
    "sex": "general/subject/sex",
    "age": "general/subject/age",
}
"""What is known about a session, and where it is in the file."""

UNITS_AT_ONCE = 16  # whose counts are written to the trials together, which is faster
NOT_OBSERVED = "not observed"


@dataclass(frozen=True)
class SpikeCounts:
    """Spike counts from an NWB file, and what was left out.

    Attributes
    ----------
    trials : Trials
        Spike counts; neurons are named after the ids of their units.
    units : pandas.DataFrame
        All units of the file by id, with ``area``, ``probe`` and ``dropped_by``: the first filter
        that a unit failed, or an empty text for the neurons of ``trials``.
    presentations : pandas.DataFrame
        The presentations that were asked for, with ``start_time``, ``condition`` and
        ``dropped_by``: a probe, ``"all_probes"`` or ``"stimulus"`` for invalid times,
        ``"not observed"`` if a unit was not recorded, or an empty text.
    metadata : dict
        What the file says about the session, with the stimulus, the area and the window.
    """

    trials: Trials
    units: pd.DataFrame
    presentations: pd.DataFrame
    metadata: dict[str, Any]

    def __repr__(self) -> str:
        used = int((self.presentations["dropped_by"] == "").sum())
        return (
            f"SpikeCounts({self.trials.n_neurons} of {count(len(self.units), 'unit')}, "
            f"{used} of {count(len(self.presentations), 'presentation')}, "
            f"{count(self.trials.n_conditions, 'condition')}, window {self.metadata['window']})"
        )


class Recording:
    """An NWB file that is open for reading; `open_nwb` opens it.

    Small columns are kept in memory once they have been read, and spikes never are. So several
    stimuli and areas of one session are best read from one recording, which `read_nwb` and
    `read_allen` accept in place of a path. Close it, or use it in a ``with`` statement.

    Attributes
    ----------
    path : pathlib.Path
        The file, or the folder of Zarr.
    stimuli : tuple of str
        Names of the tables of intervals, without ``_presentations``.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        self._root, self._close = open_nwb_file(self.path)
        with damaged(self.path):
            names = set(self._root["intervals"].keys()) if "intervals" in self._root else set()
        self._intervals = tuple(sorted(names - {INVALID}))
        self.stimuli = tuple(name.removesuffix(SUFFIX) for name in self._intervals)
        self._tables: dict[str, Table] = {}

    def close(self) -> None:
        """Close the file."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"Recording({self.path.name!r}, {count(len(self._units.electrode), 'unit')}, "
            f"stimuli {', '.join(self.stimuli) or 'none'})"
        )

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """What the file says about the session and its subject."""
        with damaged(self.path):
            return {
                name: read_scalar(self._root[place])
                for name, place in METADATA.items()
                if place in self._root
            }

    @cached_property
    def areas(self) -> dict[str, int]:
        """Number of units by location of their peak channel, in alphabetical order."""
        found = pd.Series(self._units.text("location"), dtype=object).value_counts()
        return {str(area): int(found[area]) for area in sorted(found.index) if area}

    def presentations(self, stimulus: str) -> pd.DataFrame:
        """Return the table of a stimulus, with its columns of one value per row."""
        table = self._stimulus(stimulus)
        found = {name: table[name] for name in table.columns}
        return pd.DataFrame({name: one for name, one in found.items() if is_plain(one)})

    def count_spikes(
        self,
        stimulus: str,
        condition: str | Sequence[str],
        *,
        area: str | Sequence[str] | None = None,
        window: tuple[float, float] | None = None,
        filters: Mapping[str, Any] | None = None,
        where: Mapping[str, Any] | None = None,
        keep_blanks: bool = False,
        blank_when: Mapping[str, Any] | None = None,
        closed: str = "left",
        drop_invalid: bool = True,
    ) -> SpikeCounts:
        """Count spikes as `read_nwb` does, and report what was left out.

        Returns
        -------
        SpikeCounts
        """
        check_choice("closed", closed, ("left", "both"))
        check_boolean("keep_blanks", keep_blanks)
        check_boolean("drop_invalid", drop_invalid)
        shown = find_presentations(
            self._stimulus(stimulus),
            condition_columns(condition),
            where=check_rules("where", where),
            blank_when=check_rules("blank_when", blank_when),
            keep_blanks=keep_blanks,
        )
        timing = self._timing(stimulus, shown)
        place = "" if area is None else f"area={area!r}, "
        call = f"read_nwb({str(self.path)!r}, {stimulus!r}, {condition!r}, {place}"
        edges = timing.chosen(window, call)
        timing.check(edges, stacklevel=4)
        units = self._units
        reasons = choose_units(units, area, check_rules("filters", filters), str(self.path))
        chosen = np.flatnonzero(reasons == "")
        dropped = np.full(len(shown.start), "", dtype=object)
        if drop_invalid:
            times = (shown.start + edges[0], shown.start + edges[1])
            dropped = self._dropped(shown, times, chosen)
        trials = self._count(shown, edges, chosen, dropped, closed)
        return SpikeCounts(
            trials,
            _unit_table(units, reasons),
            _presentation_table(shown, dropped),
            {
                **self.metadata,
                "stimulus": stimulus,
                "area": _area_text(area),
                "window": window_words(edges),
            },
        )

    def _timing(self, stimulus: str, shown: Presentations) -> TrialTimes:
        """Return when the chosen presentations were, and when any of the stimulus began."""
        every = self._stimulus(stimulus)["start_time"].astype(np.float64)
        return TrialTimes(shown.start, shown.stop - shown.start, "presentation", every)

    def _count(
        self,
        shown: Presentations,
        window: Window,
        chosen: IntArray,
        dropped: Column,
        closed: str,
    ) -> Trials:
        """Count the spikes of one unit after another, so that only one has its spikes in memory."""
        valid = dropped == ""
        totals, kept = (
            np.bincount(which, minlength=len(shown.names)).astype(np.intp)
            for which in (shown.condition, shown.condition[valid])
        )
        self._check_repeats(shown, kept)
        begin, end = (shown.start[valid] + edge for edge in window)
        by_time = np.argsort(begin, kind="stable")
        place = np.empty(len(begin), dtype=np.intp)  # trials of a condition keep their order
        place[np.argsort(shown.condition[valid], kind="stable")] = np.arange(len(begin))
        place = place[by_time]
        windows = Windows.of(begin[by_time], end[by_time], closed=closed == "both")
        span = SpikeSpan(float(begin.min()), float(end.max()))
        counts = np.empty((len(begin), len(chosen)))
        for block in range(0, len(chosen), UNITS_AT_ONCE):
            rows = chosen[block : block + UNITS_AT_ONCE]
            found = [windows.count(span.add(self._units.spikes(int(row)))) for row in rows]
            counts[place, block : block + len(rows)] = np.stack(found, axis=1)
        if not (span.has_few_inside() and span.reaches(*self._span())):
            span.check(shown.start, stacklevel=5)
        neurons = check_labels(self._units.table["id"][chosen].tolist(), len(chosen), "neuron")
        return Trials._trusted(counts, kept, totals - kept, shown.names, neurons, window)

    def _span(self) -> tuple[float, float]:
        """Return the begin of the first interval of all stimuli, and the end of the last."""
        columns = [
            self._stimulus(name)[edge].astype(np.float64)
            for name in self._intervals
            for edge in ("start_time", "stop_time")
        ]
        times = np.concatenate(columns)
        return float(np.nanmin(times)), float(np.nanmax(times))

    def _check_repeats(self, shown: Presentations, kept: IntArray) -> None:
        if not kept.all():
            empty = shown.names[int(np.argmin(kept))]
            raise InputError(
                f"Every presentation of condition {empty!r} in {self.path} is in invalid times. "
                "Leave the condition out with 'where', or pass drop_invalid=False."
            )
        if (single := np.flatnonzero(kept == 1)).size:
            warnings.warn(
                f"{single.size} of {count(len(kept), 'condition')} in {self.path} have a single "
                f"trial, the first of them {shown.names[single[0]]!r}. A single trial says "
                "nothing about the noise.",
                OneTrialWarning,
                stacklevel=4,
            )

    def _dropped(
        self, shown: Presentations, times: tuple[FloatArray, FloatArray], chosen: IntArray
    ) -> Column:
        """Return why each presentation is dropped; empty for those that are valid."""
        probes = self._units.text("group_name")
        reasons = np.full(len(shown.start), "", dtype=object)
        if (table := self._table(f"intervals/{INVALID}", INVALID)) is not None:
            used = set(probes[chosen])
            reasons = invalid_presentations(
                table, shown, times, probes=self._units.probes, chosen=used
            )
        if "obs_intervals" in self._units.table:
            gone = np.zeros(len(reasons), dtype=bool)
            for row in chosen:
                gone |= unobserved(self._units.table, int(row), times)
            reasons[gone & (reasons == "")] = NOT_OBSERVED
        return reasons

    @cached_property
    def _units(self) -> Units:
        table = self._table("units", "units")
        if table is None:
            raise InputError(f"{self.path} has no units.")
        table.require("spike_times", "spike_times_index")
        return find_units(table, self._table(ELECTRODES, "electrodes"))

    def _stimulus(self, stimulus: str) -> Table:
        name = find_stimulus(stimulus, self._intervals, str(self.path))
        table = self._table(f"intervals/{name}", name)
        if table is None:  # a link that leads nowhere
            raise InputError(f"{self.path} is damaged: the table {name!r} is missing.")
        return table

    def _table(self, place: str, name: str) -> Table | None:
        """Return a table of the file, the same object every time, or None."""
        if place not in self._tables:
            with damaged(self.path):
                if place not in self._root:
                    return None
                group = self._root[place]
            self._tables[place] = Table(group, name, self.path)
        return self._tables[place]


def _unit_table(units: Units, reasons: Column) -> pd.DataFrame:
    columns = {
        "area": units.text("location"),
        "probe": units.text("group_name"),
        "dropped_by": reasons,
    }
    return pd.DataFrame(columns, index=pd.Index(units.table["id"], name="unit"))


def _presentation_table(shown: Presentations, dropped: Column) -> pd.DataFrame:
    columns = {
        "start_time": shown.start,
        "condition": np.array(shown.names, dtype=object)[shown.condition],
        "dropped_by": dropped,
    }
    return pd.DataFrame(columns, index=pd.Index(shown.rows, name="presentation"))


def _area_text(area: str | Sequence[str] | None) -> str | None:
    return area if area is None or isinstance(area, str) else ", ".join(area)
