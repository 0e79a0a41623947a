"""Spike counts from NWB files: planted counts come back, and what is dropped is reported."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from pynwb import NWBHDF5IO

import repshape as rs
from nwb_support import (
    FAILS,
    FIRST_UNIT,
    N_UNITS,
    SPECIAL,
    VISP,
    VISP_C,
    WINDOW,
    Session,
    write_session,
)
from repshape.errors import InputError

Allen = tuple[Path, Session]
# Scene 3 overlaps an invalid time of the stimulus, 10 and 11 of probe C.
INVALID_STIMULUS, INVALID_PROBE = {3}, {10, 11}
GRATINGS = ("static_gratings", "orientation")
ON_A = [k for k in VISP if k != VISP_C]


def ids(units: Sequence[int]) -> tuple[str, ...]:
    return tuple(str(FIRST_UNIT + 3 * k) for k in units)


def expect(
    session: Session,
    stimulus: str,
    label: Callable[[Any], Any],
    units: Sequence[int],
    dropped: Collection[int] = (),
) -> dict[Any, np.ndarray]:
    """Return planted counts by condition, without presentations whose label is None."""
    rows: dict[Any, list[int]] = {}
    for k, shown in enumerate(session.labels[stimulus]):
        if k not in dropped and label(shown) is not None:
            rows.setdefault(label(shown), []).append(k)
    return {one: session.counts[stimulus][np.ix_(found, units)] for one, found in rows.items()}


def assert_equal(found: rs.Trials, wanted: dict[Any, np.ndarray]) -> None:
    assert found.conditions is not None
    assert set(found.conditions) == {str(one) for one in wanted}
    for label, counts in wanted.items():
        np.testing.assert_array_equal(found[label], counts, err_msg=str(label))


def frame(shown: int) -> Any:
    return "blank" if shown == -1 else shown


def orientation(shown: Any) -> Any:
    return None if shown is None else int(shown[0])


class TestAllen:
    def test_planted_counts_of_scenes(self, allen: Allen) -> None:
        path, session = allen
        found = rs.io.read_allen(path)
        dropped = INVALID_STIMULUS | INVALID_PROBE
        assert_equal(found, expect(session, "natural_scenes", frame, VISP, dropped))
        assert found.conditions == ("0", "1", "2", "3", "4", "5", "blank")
        assert found.neurons == ids(VISP)
        assert len(VISP) == 12
        assert dict(zip(found.conditions, found.n_dropped.tolist(), strict=True)) == {
            **dict.fromkeys("0234", 0),
            "1": 1,
            "5": 1,
            "blank": 1,
        }

    def test_the_frames_are_stored_as_floats(self, allen: Allen) -> None:
        with h5py.File(allen[0]) as file:
            table = file["intervals/natural_scenes_presentations"]
            assert table["frame"].dtype == np.float64
            assert table["frame"][:].min() == -1
            assert file["intervals/static_gratings_presentations/phase"].dtype == object

    def test_blanks_can_be_left_out(self, allen: Allen) -> None:
        found = rs.io.read_allen(allen[0], keep_blanks=False)
        wanted = expect(
            allen[1],
            "natural_scenes",
            lambda one: None if one < 0 else one,
            VISP,
            INVALID_STIMULUS | INVALID_PROBE,
        )
        assert_equal(found, wanted)

    def test_an_invalid_probe_matters_to_its_units_only(self, allen: Allen) -> None:
        path, session = allen
        filters = {**rs.io.ALLEN_FILTERS, "group_name": "probeA"}
        found = rs.io.read_allen(path, filters=filters)
        assert_equal(found, expect(session, "natural_scenes", frame, ON_A, INVALID_STIMULUS))
        everything = rs.io.read_allen(path, drop_invalid=False)
        assert_equal(everything, expect(session, "natural_scenes", frame, VISP))
        assert everything.n_dropped.sum() == 0

    @pytest.mark.parametrize(
        ("tag", "dropped"),
        [
            ("probeA", INVALID_STIMULUS | {10, 11}),
            ("probeF", INVALID_STIMULUS),  # it has no electrodes
            ("all_probes", INVALID_STIMULUS | {10, 11}),
            ("unheard of", INVALID_STIMULUS | {10, 11}),
        ],
    )
    def test_tags_of_invalid_times(
        self, tag: str, dropped: set[int], allen: Allen, tmp_path: Path
    ) -> None:
        path = shutil.copy(allen[0], tmp_path / "a.nwb")
        with h5py.File(path, "a") as file:
            file["intervals/invalid_times/tags"][5] = tag  # of the interval of probe C
        assert_equal(
            rs.io.read_allen(path), expect(allen[1], "natural_scenes", frame, VISP, dropped)
        )

    def test_gratings_by_orientation(self, allen: Allen) -> None:
        found = rs.io.read_allen(allen[0], "static_gratings")
        assert_equal(found, expect(allen[1], "static_gratings", orientation, VISP))
        assert found.conditions == ("0", "30", "60", "90", "120", "150")
        assert set(found.n_trials) == {12}

    @pytest.mark.parametrize("phase", [0.25, "0.25", [0.25]])
    def test_gratings_of_one_frequency_and_phase(self, phase: Any, allen: Allen) -> None:
        where = {"spatial_frequency": 0.04, "phase": phase}
        found = rs.io.read_allen(allen[0], "static_gratings", where=where)
        wanted = expect(
            allen[1],
            "static_gratings",
            lambda one: int(one[0]) if one and one[1:] == (0.04, "0.25") else None,
            VISP,
        )
        assert_equal(found, wanted)
        assert set(found.n_trials) == {3}

    def test_gratings_by_all_columns(self, allen: Allen) -> None:
        columns = ["orientation", "spatial_frequency", "phase"]
        found = rs.io.read_allen(allen[0], "static_gratings", condition=columns, keep_blanks=True)

        def label(shown: Any) -> str:
            if shown is None:
                return "blank"
            angle, frequency, phase = shown
            return f"orientation={angle:g}, spatial_frequency={frequency}, phase={float(phase):g}"

        assert_equal(found, expect(allen[1], "static_gratings", label, VISP))
        shown = itertools.product((0, 30, 60, 90, 120, 150), (0.02, 0.04), ("0.0", "0.25"))
        assert found.conditions == (*map(label, shown), "blank")

    def test_drifting_gratings(self, allen: Allen) -> None:
        found = rs.io.read_allen(allen[0], "drifting_gratings")
        wanted = expect(
            allen[1],
            "drifting_gratings",
            lambda one: one and f"orientation={one[0]:g}, temporal_frequency={one[1]:g}",
            VISP,
        )
        assert_equal(found, wanted)
        assert found.conditions is not None
        assert found.conditions[0] == "orientation=0, temporal_frequency=1"
        assert found.conditions[1] == "orientation=0, temporal_frequency=15"

    def test_every_unit_that_fails_is_reported_with_its_filter(self, allen: Allen) -> None:
        with rs.io.open_nwb(allen[0]) as recording:
            filters = dict(rs.io.ALLEN_FILTERS)
            counts = recording.count_spikes(
                "natural_scenes", "frame", area="VISp", window=(0, WINDOW), filters=filters
            )
        units = counts.units
        others = {k: "area" for k, one in enumerate(SPECIAL) if one.get("peak") in (10, 11, 13, 21)}
        wanted = [(FAILS | others).get(k, "") for k in range(N_UNITS)]
        assert units["dropped_by"].tolist() == wanted
        assert units.index.tolist() == [FIRST_UNIT + 3 * k for k in range(N_UNITS)]
        assert units["area"][FIRST_UNIT] == "VISp"
        dropped = counts.presentations["dropped_by"]
        assert {k: dropped[k] for k in dropped.index if dropped[k]} == {
            3: "stimulus",
            10: "probeC",
            11: "probeC",
        }
        assert repr(counts) == (
            "SpikeCounts(12 of 24 units, 52 of 55 presentations, 7 conditions, window 0 to 0.25 s)"
        )
        assert counts.metadata["session"] == "715093703"
        assert counts.metadata["area"] == "VISp"
        assert counts.metadata["genotype"] == "wt/wt"

    def test_the_whole_brain_without_units_outside(self, allen: Allen) -> None:
        found = rs.io.read_allen(allen[0], area=None)
        inside = [k for k in range(N_UNITS) if k not in FAILS]
        assert found.neurons == ids(inside)
        unfiltered = rs.io.read_allen(allen[0], area=None, filters=None)
        assert unfiltered.neurons == ids(range(N_UNITS))

    def test_areas_include_their_parts(self, allen: Allen) -> None:
        assert rs.io.read_allen(allen[0], area="LGd").neurons == ids([12, 14])
        assert rs.io.read_allen(allen[0], area="LGd-sh").neurons == ids([12])
        assert rs.io.read_allen(allen[0], area=["VISl", "LGd-sh"]).neurons == ids([10, 11, 12])

    def test_newer_names_of_columns(self, tmp_path: Path, allen: Allen) -> None:
        options = {"channel_number": "probe_channel_number", "empty": "N/A"}
        write_session(tmp_path / "new.nwb", **options)
        columns = ["orientation", "phase"]
        for stimulus, condition in (("natural_scenes", None), ("static_gratings", columns)):
            old, new = (
                rs.io.read_allen(path, stimulus, condition=condition, keep_blanks=True)
                for path in (allen[0], tmp_path / "new.nwb")
            )
            np.testing.assert_array_equal(old.pooled, new.pooled)
            assert old.conditions == new.conditions


class TestCounting:
    def test_edges_of_the_window(self, allen: Allen) -> None:
        """Presentations touch, so a spike on an onset is also at the end of the one before."""
        path, session = allen
        options = {"filters": None, "drop_invalid": False, "area": None}
        left, both = (
            rs.io.read_allen(path, closed=closed, **options) for closed in ("left", "both")
        )
        frames, onsets = session.labels["natural_scenes"], session.onsets["natural_scenes"]
        wanted = {one: np.zeros((frames.count(one), N_UNITS)) for one in set(frames)}
        seen = dict.fromkeys(frames, 0)
        with h5py.File(path) as file:
            ends = file["units/spike_times_index"][:]
            trains = np.split(file["units/spike_times"][:], ends[:-1].astype(int))
        for onset, shown in zip(onsets, frames, strict=True):
            for unit, times in enumerate(trains):
                at_end = int((times == onset + WINDOW).sum())
                wanted[shown][seen[shown], unit] = at_end
            seen[shown] += 1
        assert sum(one.sum() for one in wanted.values()) > 200
        for shown, extra in wanted.items():
            np.testing.assert_array_equal(both[frame(shown)] - left[frame(shown)], extra)

    @pytest.mark.filterwarnings("ignore::repshape.errors.WindowWarning")
    @pytest.mark.parametrize("window", [(0.0, 0.25), (0.05, 0.2), (-0.25, 0.5)])
    def test_the_same_as_from_spikes(self, window: tuple[float, float], allen: Allen) -> None:
        path, session = allen
        with h5py.File(path) as file:
            ends = file["units/spike_times_index"][:]
            trains = np.split(file["units/spike_times"][:], ends[:-1].astype(int))
        labels = ["x" if one < 0 else one for one in session.labels["natural_scenes"]]
        onsets = session.onsets["natural_scenes"]
        wanted = rs.Trials.from_spikes([trains[k] for k in VISP], onsets, labels, window)
        found = rs.io.read_allen(path, window=window, drop_invalid=False)
        np.testing.assert_array_equal(found.pooled, wanted.pooled)
        np.testing.assert_array_equal(found.n_trials, wanted.n_trials)

    def test_distances_are_those_of_the_array_to_the_bit(self, allen: Allen) -> None:
        path, session = allen
        metric = rs.GaussianShapeMetric(alpha=1.0)
        x, y = (rs.io.read_allen(path, "static_gratings", area) for area in ("VISp", ["VISl"]))
        arrays = [
            np.stack(
                [
                    expect(session, "static_gratings", orientation, units)[angle]
                    for angle in (0, 30, 60, 90, 120, 150)
                ]
            ).astype(float)
            for units in (VISP, [10, 11])
        ]
        assert metric.distance(x, y) == metric.distance(*arrays)
        assert metric.distance(x, y) > 0

    def test_unsorted_spikes_are_sorted(self, allen: Allen, tmp_path: Path) -> None:
        path = shutil.copy(allen[0], tmp_path / "a.nwb")
        with h5py.File(path, "a") as file:
            end = int(file["units/spike_times_index"][0])
            file["units/spike_times"][:end] = file["units/spike_times"][:end][::-1]
        np.testing.assert_array_equal(
            rs.io.read_allen(path).pooled, rs.io.read_allen(allen[0]).pooled
        )

    def test_blocks_apply_to_blanks_too(self, allen: Allen) -> None:
        first, second, both = (
            rs.io.read_allen(allen[0], where={"stimulus_block": block}, drop_invalid=False)
            for block in (2, 5, [2, 5])
        )
        np.testing.assert_array_equal(first.n_trials + second.n_trials, both.n_trials)
        assert first.n_trials.sum() == len(allen[1].labels["natural_scenes"]) // 2

    def test_blanks_of_gratings_pass_rules_about_gratings(self, allen: Allen) -> None:
        where = {"spatial_frequency": 0.02}
        found = rs.io.read_allen(allen[0], "static_gratings", where=where, keep_blanks=True)
        assert found.conditions is not None
        assert found.conditions[-1] == "blank"
        assert found.n_trials.tolist() == [6] * 6 + [5]

    def test_units_are_chosen_by_functions_and_lists(self, allen: Allen) -> None:
        found = rs.io.read_nwb(
            allen[0],
            "natural_scenes",
            "frame",
            window=(0, WINDOW),
            filters={"snr": lambda value: value >= 22, "quality": ["good", "mua"]},
        )
        assert found.neurons == ids([22, 23])
        assert found.conditions is not None
        assert found.conditions[0] == "-1"  # a value like any other, unless `blank_when` says so
        marked = rs.io.read_nwb(
            allen[0],
            "natural_scenes",
            "frame",
            window=(0, WINDOW),
            blank_when={"frame": -1},
            keep_blanks=True,
        )
        assert marked.conditions is not None
        assert marked.conditions[-1] == "blank"

    def test_times_without_observation(self, allen: Allen, tmp_path: Path) -> None:
        """Counts are unknown, not 0, where a chosen unit was not observed."""
        path = Path(shutil.copy(allen[0], tmp_path / "a.nwb"))
        onsets = allen[1].onsets["natural_scenes"]
        with h5py.File(path, "a") as file:
            whole, late = [0.0, 1000.0], [onsets[5], 1000.0]
            rows = [late if k == VISP[0] else whole for k in range(N_UNITS)]
            file["units/obs_intervals"] = np.array(rows)
            file["units/obs_intervals_index"] = np.arange(1, N_UNITS + 1)
        dropped = INVALID_STIMULUS | INVALID_PROBE | set(range(5))
        found = rs.io.read_allen(path)
        assert_equal(found, expect(allen[1], "natural_scenes", frame, VISP, dropped))

    def test_the_same_as_a_loop_over_what_pynwb_reads(self, allen: Allen) -> None:
        """An independent reader of the file, and one count at a time."""
        with NWBHDF5IO(allen[0], "r") as io:
            file = io.read()
            shown = file.intervals["natural_scenes_presentations"].to_dataframe()
            where = file.electrodes.to_dataframe()["location"]
            peaks = file.units["peak_channel_id"][:]
            rows = [k for k, peak in enumerate(peaks) if where.get(peak) == "VISp"]
            spikes = [file.units["spike_times"][row] for row in rows]
        found = rs.io.read_allen(allen[0], filters=None, drop_invalid=False)
        for label, part in shown.groupby("frame"):
            wanted = [
                [((times >= start) & (times < start + 0.25)).sum() for times in spikes]
                for start in part["start_time"]
            ]
            np.testing.assert_array_equal(found[frame(int(label))], wanted)


class TestElectrodes:
    """Units that name electrodes instead of a peak channel, as other laboratories write them."""

    def test_electrodes_of_units(self, allen: Allen, tmp_path: Path) -> None:
        path = shutil.copy(allen[0], tmp_path / "a.nwb")
        rows = [[0, 1], [16], [0, 10], [], *([21] for _ in range(N_UNITS - 4))]
        with h5py.File(path, "a") as file:
            del file["units/peak_channel_id"]
            file["units/electrodes"] = np.concatenate([np.array(one, int) for one in rows])
            file["units/electrodes_index"] = np.cumsum([len(one) for one in rows])
        found = rs.io.read_nwb(path, *GRATINGS, area="VISp", window=(0, WINDOW))
        assert found.neurons == ids([0, 1])

    def test_without_electrodes(self, allen: Allen, tmp_path: Path) -> None:
        path = shutil.copy(allen[0], tmp_path / "a.nwb")
        with h5py.File(path, "a") as file:
            del file["general/extracellular_ephys/electrodes"]
        found = rs.io.read_nwb(path, *GRATINGS, window=(0, WINDOW))
        assert found.n_neurons == N_UNITS
        with pytest.raises(InputError, match="no locations of electrodes"):
            rs.io.read_nwb(path, *GRATINGS, area="VISp", window=(0, WINDOW))


class TestRecording:
    def test_one_recording_for_many_reads(self, allen: Allen) -> None:
        with rs.io.open_nwb(allen[0]) as recording:
            assert recording.stimuli == ("drifting_gratings", "natural_scenes", "static_gratings")
            assert recording.areas == {"LGd": 1, "LGd-sh": 1, "VISl": 2, "VISp": 18}
            assert "24 units" in repr(recording)
            for stimulus, area in itertools.product(recording.stimuli, ("VISp", "VISl")):
                one = rs.io.read_allen(recording, stimulus, area)
                other = rs.io.read_allen(allen[0], stimulus, area)
                np.testing.assert_array_equal(one.pooled, other.pooled)
            table = recording.presentations("static_gratings")
        assert table["phase"].tolist()[:2] == [
            one[2] for one in allen[1].labels["static_gratings"][:2]
        ]
        assert {"stimulus_block", "stimulus_index"} <= set(table.columns)
        assert set(table.columns).isdisjoint({"tags", "tags_index"})

    def test_metadata_go_into_a_cohort(self, allen: Allen) -> None:
        cohort = rs.Cohort()
        with rs.io.open_nwb(allen[0]) as recording:
            counts = recording.count_spikes(*GRATINGS, area=["VISp", "VISl"], window=(0, WINDOW))
        assert counts.metadata["window"] == "0 to 0.25 s"
        cohort.add("a", counts.trials, **counts.metadata)
        row = cohort.metadata.iloc[0]
        assert row["window"] == "0 to 0.25 s"
        assert (row["session"], row["sex"], row["area"]) == ("715093703", "M", "VISp, VISl")
