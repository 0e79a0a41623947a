"""Layers that ship with the package."""

from __future__ import annotations

import numpy as np
import pandas as pd

import repshape as rs
from repshape.datasets.layers import FILE, write_layers


def test_layers_are_those_of_two_networks_in_order() -> None:
    found = rs.datasets.load_layers()
    names = ["stem", "block 1", "block 2", "block 3", "100 units"]
    for seed in (0, 1):
        mine = found.select(seed=seed).metadata
        assert mine["layer"].tolist() == names
        assert mine["depth"].tolist() == list(range(5))
        assert mine["units"].tolist() == [4096, 4096, 2048, 1024, 100]
    assert FILE.stat().st_size < 100_000


def test_layers_are_centred_components_of_decreasing_variance() -> None:
    for network in rs.datasets.load_layers():
        means = network.means
        variances = means.var(axis=0)
        assert (np.diff(variances) <= 1e-6 * variances[0]).all()
        np.testing.assert_allclose(means.mean(axis=0), 0.0, atol=1e-5 * np.abs(means).max())
        gram = means.T @ means
        off = gram - np.diag(np.diag(gram))
        assert np.abs(off).max() < 1e-5 * gram.max()


def test_each_layer_is_nearest_to_that_of_the_same_depth_in_the_other_network() -> None:
    """Not so for all layers, but for those after the first: the stems are linear filters."""
    found = rs.datasets.load_layers()
    metric = rs.ProcrustesShapeMetric(preprocess=rs.Preprocess(scale=True))
    C = rs.cross(found.select(seed=0), found.select(seed=1), metric, progress=False)
    assert (C.values.argmin(axis=1) == np.arange(5)).sum() >= 4


def test_what_is_written_is_read(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "layers.npz"
    table = pd.DataFrame({"seed": [3], "layer": ["a"]}, index=["seed 3: a"])
    write_layers(path, [np.eye(2)], table, ["x", "y"])
    monkeypatch.setattr("repshape.datasets.layers.FILE", path)
    found = rs.datasets.load_layers()
    assert found.labels == ("seed 3: a",)
    np.testing.assert_array_equal(found[0].means, np.eye(2))
    assert found.metadata["seed"].tolist() == [3]
