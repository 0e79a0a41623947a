"""Labelled arrays: dimensions by name, and coordinates as labels."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import repshape as rs
from input_support import (
    CONDITIONS,
    EXPECTED,
    METRIC,
    NEURONS,
    ORDERS,
    X,
    Y,
    dataarray_of,
)
from repshape.errors import InputError, InputTypeError


class TestXarray:
    def test_coordinates_become_labels(self) -> None:
        trials = rs.as_network(dataarray_of(X, ORDERS[5]))
        assert (trials.conditions, trials.neurons) == (tuple(CONDITIONS), tuple(NEURONS))
        points = rs.as_network(dataarray_of(X).isel(trial=0).T)
        assert repr(points) == "Gaussians(5 conditions, 4 neurons, no covariance)"
        assert points.conditions == tuple(CONDITIONS)

    def test_conditions_in_another_order_are_refused(self) -> None:
        y = dataarray_of(Y).isel(condition=[1, 0, 2, 3, 4])
        with pytest.raises(InputError, match="Condition 0 is 'blank' in one and 'cat'") as error:
            METRIC.distance(dataarray_of(X), y)
        assert "Cohort.common_conditions(networks)" in str(error.value)
        shared = rs.Cohort.common_conditions({"x": dataarray_of(X), "y": y})
        assert rs.pairwise(shared, METRIC)["x", "y"] == EXPECTED
        assert shared.dropped == {}

    @pytest.mark.parametrize(
        ("dims", "call"),
        [
            (
                ("unit_id", "stimulus", "repeat"),
                'Trials.from_xarray(da, condition="stimulus", trial="repeat", neuron="unit_id")',
            ),
            (("a", "b", "c"), 'Trials.from_xarray(da, condition="a", trial="b", neuron="c")'),
            (
                ("image", "presentation", "time"),
                "Sum or average over 'time' first. If every entry of 'presentation' is a trial",
            ),
        ],
    )
    def test_other_names_are_refused_with_the_call(self, dims: tuple[str, ...], call: str) -> None:
        with pytest.raises(InputError) as error:
            rs.as_network(xr.DataArray(X, dims=dims))
        assert call in str(error.value)

    def test_the_names_of_allensdk(self) -> None:
        dims = ("stimulus_presentation_id", "time_relative_to_stimulus_onset", "unit_id")
        counts = xr.DataArray(np.ones((6, 1, 2)), dims=dims).assign_coords(
            stimulus_condition_id=("stimulus_presentation_id", [3, 4, 3, 4, 3, 4])
        )
        with pytest.raises(InputError) as error:
            rs.as_network(counts)
        call = str(error.value)
        assert "average over 'time_relative_to_stimulus_onset' first" in call
        assert (
            'Trials.from_xarray(da, condition="stimulus_condition_id", '
            'trial="stimulus_presentation_id", neuron="unit_id")'
        ) in call
        found = rs.Trials.from_xarray(
            counts.sum("time_relative_to_stimulus_onset"),
            condition="stimulus_condition_id",
            trial="stimulus_presentation_id",
            neuron="unit_id",
        )
        assert found.conditions == ("3", "4")

    @pytest.mark.parametrize(
        ("names", "sentence"),
        [
            (("condition", "trial", "unit"), "no dimension named 'unit'"),
            (("condition", "condition", "neuron"), "must differ"),
        ],
    )
    def test_wrong_names(self, names: tuple[str, str, str], sentence: str) -> None:
        with pytest.raises(InputError, match=sentence):
            rs.Trials.from_xarray(
                dataarray_of(X), condition=names[0], trial=names[1], neuron=names[2]
            )

    def test_further_dimensions_and_other_objects(self) -> None:
        deep = dataarray_of(X).expand_dims(time=2)
        names = {"condition": "condition", "trial": "trial", "neuron": "neuron"}
        with pytest.raises(InputError, match="further dimensions: 'time'"):
            rs.Trials.from_xarray(deep, **names)
        with pytest.raises(InputTypeError, match=r"needs an xarray\.DataArray"):
            rs.Trials.from_xarray(X, **names)
        with pytest.raises(InputTypeError, match="It holds 'counts'"):
            rs.as_network(xr.Dataset({"counts": dataarray_of(X)}))

    def test_moments_by_name(self) -> None:
        """The conditions of covariances may be in any place, since they are symmetric."""
        S = np.stack([np.cov(one.T) for one in X])
        means = xr.DataArray(X.mean(1).T, {"condition": CONDITIONS}, ("neuron", "condition"))
        full = xr.DataArray(S.transpose(1, 0, 2), dims=("neuron", "condition", "other"))
        found = rs.as_network((means, full))
        np.testing.assert_allclose(found.covariances, S, rtol=1e-15)
        np.testing.assert_array_equal(found.means, X.mean(1))
        turned = xr.DataArray(S[:, 0], {"condition": CONDITIONS[::-1]}, ("condition", "neuron"))
        with pytest.raises(InputError, match="must have the same conditions"):
            rs.Gaussians(means, np.abs(turned))

    def test_xarray_is_not_imported(self) -> None:
        code = (
            "import repshape as rs, sys; rs.as_network([[1.0]]); assert 'xarray' not in sys.modules"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
