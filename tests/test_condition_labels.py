"""Labels of conditions: several columns, single precision, and categories of pandas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import repshape as rs
from repshape._labels import label_text
from repshape.errors import DataWarning, InputError, InputTypeError

TABLE = pd.DataFrame(
    {
        "u1": np.arange(6.0),
        "u2": np.arange(6.0) ** 2,
        "orientation": [90, 0, 90, 0, 90, 0],
        "phase": [0.5, 0.25, 0.25, 0.25, 0.5, 0.5],
        "eye": ["left", "right", "left", "left", "left", "left"],
    }
)
NEURONS = ["u1", "u2"]


class TestSeveralColumns:
    def test_conditions_are_sorted_by_the_first_column_then_the_next(self) -> None:
        found = rs.Trials.from_frame(TABLE, condition=["orientation", "phase"], neurons=NEURONS)
        assert found.conditions == (
            "orientation=0, phase=0.25",
            "orientation=0, phase=0.5",
            "orientation=90, phase=0.25",
            "orientation=90, phase=0.5",
        )
        assert found.neurons == ("u1", "u2")
        np.testing.assert_array_equal(found["orientation=0, phase=0.25"], [[1, 1], [3, 9]])
        np.testing.assert_array_equal(found["orientation=90, phase=0.5"], [[0, 0], [4, 16]])

    def test_one_column_in_a_list_is_that_column(self) -> None:
        for names in (["phase"], ("phase",)):
            found = rs.Trials.from_frame(TABLE, condition=names, neurons=NEURONS)
            wanted = rs.Trials.from_frame(TABLE, condition="phase", neurons=NEURONS)
            assert found.conditions == wanted.conditions == ("0.25", "0.5")
            assert found.fingerprint == wanted.fingerprint

    def test_a_column_may_be_named_by_a_tuple(self) -> None:
        columns = pd.MultiIndex.from_tuples([("unit", 1), ("unit", 2), ("shown", "image")])
        table = pd.DataFrame([[1.0, 2.0, "b"], [3.0, 4.0, "a"]], columns=columns)
        neurons = [("unit", 1), ("unit", 2)]
        found = rs.Trials.from_frame(table, condition=("shown", "image"), neurons=neurons)
        assert found.conditions == ("a", "b")

    @pytest.mark.parametrize(
        ("condition", "sentence"),
        [
            (["orientation", "phse"], "no column named 'phse'. Did you mean 'phase'"),
            (["eye", "eye"], "list of different columns. Got .'eye', 'eye'."),
            ([], "list of different columns"),
            (["eye", "u1"], "'u1' cannot be a condition and a neuron"),
        ],
    )
    def test_wrong_columns(self, condition: Any, sentence: str) -> None:
        with pytest.raises((InputError, InputTypeError), match=sentence):
            rs.Trials.from_frame(TABLE, condition=condition, neurons=NEURONS)

    def test_the_same_as_in_nwb(self, tmp_path: Path) -> None:
        """A table that goes through an NWB file has the same conditions in the same order."""
        pynwb = pytest.importorskip("pynwb")
        rows = TABLE.iloc[[0, 2, 3, 4, 5]].reset_index(drop=True)
        file = pynwb.NWBFile("x", "x", pd.Timestamp("2024-01-01", tz="UTC").to_pydatetime())
        for name in ("orientation", "phase", "eye"):
            file.add_trial_column(name=name, description=name)
        for k, row in rows.iterrows():
            values = {name: row[name] for name in ("orientation", "phase", "eye")}
            file.add_trial(start_time=float(k), stop_time=k + 0.5, **values)
        times = {name: np.repeat(np.arange(5.0), rows[name].astype(int)) for name in NEURONS}
        for one in times.values():
            file.add_unit(spike_times=one + 0.1)
        with pynwb.NWBHDF5IO(tmp_path / "a.nwb", "w") as io:
            io.write(file)
        columns = ["orientation", "eye"]
        wanted = rs.Trials.from_frame(rows, condition=columns, neurons=NEURONS)
        found = rs.io.read_nwb(tmp_path / "a.nwb", "trials", columns, window=(0, 0.5))
        assert found.conditions == wanted.conditions
        np.testing.assert_array_equal(found.pooled, wanted.pooled)


class TestSinglePrecision:
    VALUES = (0.1, 0.3, 1e-5, 2.5e8, 90.0, 1e20)

    @pytest.mark.parametrize("dtype", ["float32", "float16", "longdouble"])
    def test_the_text_of_a_number_is_that_of_its_double(self, dtype: str) -> None:
        exact = self.VALUES if dtype != "float16" else (0.1, 0.3, 90.0)
        for value in exact:
            assert label_text(np.dtype(dtype).type(str(value))) == label_text(value)

    @pytest.mark.parametrize(
        "labels",
        [
            np.array([0.3, 0.1], dtype=np.float32),
            list(np.array([0.3, 0.1], dtype=np.float32)),
            pd.Series([0.3, 0.1], dtype="float32"),
            pd.Series([0.3, 0.1], dtype="Float32"),
            pd.Categorical(np.array([0.3, 0.1], dtype=np.float32)),
        ],
    )
    def test_trials(self, labels: Any) -> None:
        found = rs.Trials.from_labels(np.eye(2), labels)
        assert found.conditions == ("0.1", "0.3")
        assert found.conditions == rs.Trials.from_labels(np.eye(2), [0.3, 0.1]).conditions

    def test_labels_of_networks_and_coordinates(self) -> None:
        levels = np.array([0.1, 0.3], dtype=np.float32)
        assert rs.Trials(np.zeros((2, 3, 1)), conditions=levels).conditions == ("0.1", "0.3")
        coordinates = {"condition": levels}
        array = xr.DataArray(np.zeros((2, 3)), coordinates, ("condition", "neuron"))
        assert rs.as_network(array).conditions == ("0.1", "0.3")
        wide = rs.Trials(np.full((2, 3, 1), 2.0), conditions=[0.1, 0.3])
        narrow = rs.Trials(np.ones((2, 3, 1)), conditions=levels)
        assert len(rs.Cohort.from_networks({"wide": wide, "narrow": narrow})) == 2


class TestCategories:
    SIZES = ("small", "medium", "large")

    def frame(self, *, ordered: bool, shown: tuple[str, ...] = ("large", "small", "medium")) -> Any:
        sizes = pd.Categorical(shown, categories=self.SIZES, ordered=ordered)
        return pd.DataFrame({"u": np.arange(float(len(shown))), "size": sizes})

    def test_ordered_categories_keep_their_order(self) -> None:
        frame = self.frame(ordered=True)
        found = rs.Trials.from_frame(frame, condition="size", neurons=["u"])
        assert found.conditions == self.SIZES
        np.testing.assert_array_equal(found.pooled.ravel(), [1, 2, 0])
        assert rs.Trials.from_labels(frame[["u"]], frame["size"]).conditions == self.SIZES
        assert rs.Trials.from_labels(frame[["u"]], frame["size"].array).conditions == self.SIZES

    def test_other_categories_are_sorted_as_any_label(self) -> None:
        found = rs.Trials.from_frame(self.frame(ordered=False), condition="size", neurons=["u"])
        assert found.conditions == ("large", "medium", "small")

    def test_in_several_columns(self) -> None:
        frame = self.frame(ordered=True).assign(eye=["left", "left", "right"])
        found = rs.Trials.from_frame(frame, condition=["eye", "size"], neurons=["u"])
        assert found.conditions == (
            "eye=left, size=small",
            "eye=left, size=large",
            "eye=right, size=medium",
        )

    @pytest.mark.parametrize("ordered", [True, False])
    def test_categories_without_a_trial_are_named(self, ordered: bool) -> None:
        frame = self.frame(ordered=ordered, shown=("large", "small"))
        with pytest.warns(DataWarning, match=r"no trial are not conditions: 'medium'\. If"):
            found = rs.Trials.from_frame(frame, condition="size", neurons=["u"])
        assert set(found.conditions or ()) == {"large", "small"}
        used = frame.assign(size=frame["size"].cat.remove_unused_categories())
        same = rs.Trials.from_frame(used, condition="size", neurons=["u"])
        assert same.conditions == found.conditions
