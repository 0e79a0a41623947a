"""Numbers of neurons and trials that a matrix carries along."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from repshape.errors import InputError
from repshape.io.zarr import read_attributes, write_attributes
from repshape.matrix.distances import DistanceMatrix

SHAPES = {"a": (5, 30, 3), "b": (5, 20, 4), "c": (5, 12, 2)}
METRIC = rs.GaussianShapeMetric(n_starts=2)


def networks() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape) for name, shape in SHAPES.items()}


def expected(*names: str) -> list[list[float]]:
    return [[float(SHAPES[name][2]), float(SHAPES[name][1])] for name in names]


def recorded(D: DistanceMatrix) -> list[list[float]]:
    assert D.sizes is not None
    assert list(D.sizes.columns)[:2] == ["neurons", "trials"]
    assert tuple(D.sizes.index) == D.labels
    found: list[list[float]] = D.sizes[["neurons", "trials"]].to_numpy().tolist()
    return found


def test_pairwise_records_sizes_that_selections_and_files_keep(tmp_path: Path) -> None:
    D = rs.pairwise(networks(), METRIC)
    assert recorded(D) == expected("a", "b", "c")
    assert recorded(D[["c", "a"]]) == expected("c", "a")
    assert recorded(D.replace(values=2 * D.values)) == expected("a", "b", "c")
    renamed = D.replace(labels=["x", "y", "z"])
    assert recorded(renamed) == expected("a", "b", "c")
    D.save(tmp_path / "d.npz")
    assert recorded(DistanceMatrix.load(tmp_path / "d.npz")) == expected("a", "b", "c")


def test_pairwise_records_norms_and_overlaps_that_files_keep(tmp_path: Path) -> None:
    """The norm is the distance to a network without response, which aligns with anything."""
    phi = rs.Preprocess(n_components=2)
    metric = METRIC.with_parameters(preprocess=phi)
    given = networks()
    D = rs.pairwise(given, metric)
    assert D.sizes is not None
    for name, network in given.items():
        reduced = phi.fit(rs.Trials(network)).apply(rs.Trials(network))
        stacked = np.stack(reduced.responses)
        spread = stacked.var(axis=1).sum() + (stacked.mean(axis=1) ** 2).sum()
        assert D.sizes.loc[name, "norm"] == pytest.approx(np.sqrt(spread / 5), rel=1e-9)
    assert D.sizes["overlap"].between(0, 1).all()
    assert D.sizes.loc["c", "overlap"] == pytest.approx(1)  # both of its neurons are kept
    D.save(tmp_path / "d.npz")
    again = DistanceMatrix.load(tmp_path / "d.npz")
    assert again.sizes is not None
    pd.testing.assert_frame_equal(again.sizes, D.sizes)
    plain = rs.pairwise(given, METRIC).sizes
    assert plain is not None
    assert list(plain.columns) == ["neurons", "trials", "norm"]


def test_large_networks_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    total = 5 * (30 * 3 + 20 * 4 + 12 * 2)
    for most, known in ((total, True), (total - 1, False)):
        monkeypatch.setattr("repshape.engine.measures.MOST_NUMBERS", most)
        sizes = rs.pairwise(networks(), METRIC).sizes
        assert sizes is not None
        assert ("norm" in sizes) == known


def test_trials_are_those_of_the_condition_with_fewest_and_moments_have_none() -> None:
    rng = np.random.default_rng(0)
    ragged = rs.Trials([rng.normal(size=(L, 3)) for L in (9, 7, 12)])
    moments = rs.Gaussians(rng.normal(size=(3, 2)), np.ones((3, 2)))
    D = rs.pairwise([ragged, moments], METRIC)
    assert D.sizes is not None
    assert D.sizes["neurons"].tolist() == [3.0, 2.0]
    assert D.sizes["trials"].iloc[0] == 7.0
    assert np.isnan(D.sizes["trials"].iloc[1])


def test_sizes_of_other_objects_are_not_known() -> None:
    assert rs.pairwise([1.0, 3.0], lambda x, y: abs(x - y)).sizes is None


def test_store_records_sizes_of_networks_that_are_added(tmp_path: Path) -> None:
    store, given = tmp_path / "d.zarr", networks()
    rs.pairwise({name: given[name] for name in "ab"}, METRIC, store=store)
    assert recorded(DistanceMatrix.load(store)) == expected("a", "b")
    assert recorded(rs.pairwise(given, METRIC, store=store)) == expected("a", "b", "c")
    assert recorded(DistanceMatrix.load(store)) == expected("a", "b", "c")
    other_order = {name: given[name] for name in "cb"}
    assert recorded(rs.pairwise(other_order, METRIC, store=store)) == expected("c", "b")


def test_store_and_file_without_sizes_are_read(tmp_path: Path) -> None:
    store = tmp_path / "d.zarr"
    D = rs.pairwise(networks(), METRIC, store=store)
    header = dict(read_attributes(store) or {})
    del header["sizes"]
    write_attributes(store, header)
    assert DistanceMatrix.load(store).sizes is None
    assert recorded(rs.pairwise(networks(), METRIC, store=store)) == expected("a", "b", "c")
    D.replace(sizes=None).save(tmp_path / "d.npz")
    assert DistanceMatrix.load(tmp_path / "d.npz").sizes is None


def test_sizes_are_joined_by_name_and_checked() -> None:
    table = pd.DataFrame({"neurons": [4, 3]}, index=["b", "a"])
    D = DistanceMatrix([[0, 1], [1, 0]], ["a", "b"], sizes=table)
    assert D.sizes is not None
    assert D.sizes["neurons"].tolist() == [3.0, 4.0]
    for sizes, words in (
        ({"neurons": [1, 2, 3]}, "neurons for each of 2 networks. Got 3"),
        ({"trials": [1, 0.5]}, "whole numbers of trials"),
        ({"cells": [1, 2]}, "Got 'cells'"),
        ({"norm": [1, -2]}, "a norm of at least 0"),
    ):
        with pytest.raises(InputError, match=words):
            DistanceMatrix([[0, 1], [1, 0]], sizes=sizes)


def test_summary_of_exact_moments_promises_no_correction() -> None:
    exact = {k: rs.Gaussians(x.mean(axis=1), x.var(axis=1)) for k, x in networks().items()}
    words = rs.pairwise(exact, METRIC).summary()
    assert "Networks have no trials" in words
    assert "repshape.inference.matrix corrects" not in words
    assert "repshape.inference.matrix corrects" in rs.pairwise(networks(), METRIC).summary()
