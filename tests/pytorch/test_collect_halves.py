"""`rs.pytorch.collect` keeps the moments of two halves of the trials."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch_support import dense, some_inputs

import repshape as rs
from repshape.errors import FewTrialsWarning

INPUTS = some_inputs()


@pytest.mark.parametrize("covariance", ["mle", "unbiased"])
@pytest.mark.parametrize("n_trials", [4, 5, 8, 41])
@pytest.mark.parametrize("batch_size", [1, 7, 256])
def test_halves_are_those_of_the_trials(n_trials: int, covariance: str, batch_size: int) -> None:
    options: dict[str, Any] = {"noise": 0.5, "batch_size": batch_size}
    found = rs.pytorch.collect(
        dense(), "second", INPUTS, n_trials, covariance=covariance, **options
    )
    trials = rs.pytorch.collect(dense(), "second", INPUTS, n_trials, moments=False, **options)
    middle = n_trials // 2
    for half, part in zip(
        found.halves, (trials.stacked[:, :middle], trials.stacked[:, middle:]), strict=True
    ):
        expected = rs.estimate_moments(part, covariance)
        np.testing.assert_allclose(half.means, expected.means, atol=1e-10)
        np.testing.assert_allclose(half.covariances, expected.covariances, atol=1e-10)
        np.testing.assert_array_equal(half.n_trials, expected.n_trials)
        assert half.estimator == covariance
    assert found.n_trials.tolist() == [n_trials] * 5


def test_there_are_none_without_a_covariance_or_if_not_wanted() -> None:
    assert rs.pytorch.collect(dense(), "second", INPUTS, 3, noise=0.5).halves is None
    assert rs.pytorch.collect(dense(), "second", INPUTS, 9, noise=0.5, halves=False).halves is None
    with pytest.raises(rs.errors.InputTypeError, match="'halves' parameter must be True or False"):
        rs.pytorch.collect(dense(), "second", INPUTS, 9, noise=0.5, halves=1)


def test_maps_have_halves_too(tmp_path: Any) -> None:
    model, images = nn.Conv2d(1, 2, 2).double(), some_inputs(3, 9).reshape(3, 1, 3, 3)
    options: dict[str, Any] = {"noise": 0.5, "readout": "map", "cohort": tmp_path / "c.zarr"}
    rs.pytorch.collect(model, "", images, 6, name="net", **options)
    network = rs.Cohort.open(tmp_path / "c.zarr")["net"]
    assert [half.positions for half in network.halves] == [(2, 2), (2, 2)]
    metric = rs.ConvShapeMetric(group="identity")
    assert rs.inference.floor(network, metric).estimate > 0


def test_one_wide_network_collected_twice() -> None:
    """With 10 passes of 128 units, noise makes all of the distance: metrics say so, and how much.

    At alpha = 1 the plug-in distance is a large part of the noise itself; the corrected squared
    distance is a small part of the plug-in one.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 128))
    x, y = (
        rs.pytorch.collect(model.eval(), "3", INPUTS, 10, noise="dropout", random_state=seed)
        for seed in (0, 1)
    )
    metric = rs.GaussianShapeMetric()
    with pytest.warns(FewTrialsWarning, match="10 trials for 128 dimensions") as caught:
        distance = metric.distance(x, y)
    assert [one.category for one in caught].count(FewTrialsWarning) == 1
    noise = np.sqrt(x.total_variance.mean())
    assert distance > 0.4 * noise
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewTrialsWarning)
        found = rs.inference.distance(x, y, metric)
    assert found.plug_in == pytest.approx(distance)
    assert abs(found.estimate) < 0.4 * distance
    assert 0.4 * distance < rs.inference.floor(x, metric).estimate < distance
