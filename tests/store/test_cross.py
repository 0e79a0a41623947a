"""Distances between two sets of networks in a store: resumed, grown, with the bits of `cross`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from repshape import Cohort, DistanceMatrix, GaussianShapeMetric, cross, pairwise
from repshape.engine.growth import Form, open_store
from repshape.engine.store import Store
from repshape.engine.threads import PreparedCache, ThreadSolver
from repshape.engine.tiles import Layer
from repshape.errors import StorageError
from repshape.metrics.identity import describe
from repshape.store.identity import Identity

METRIC = GaussianShapeMetric(0.5)
NETWORKS = dict(zip("abcdefg", np.random.default_rng(0).normal(size=(7, 4, 12, 3)), strict=True))


def run(path: Path, rows: str, columns: str, last: int | None = None, edge: int = 2) -> Store:
    """Compute the first tiles that are missing, or all of them."""
    cohort = Cohort.from_networks({name: NETWORKS[name] for name in rows + columns})
    identity = Identity(describe(METRIC), cohort.labels, cohort.fingerprints)
    form = Form(edge, None, 3, bounded=True, rows=len(rows))
    store = open_store(path, identity, pd.DataFrame(index=list(cohort.labels)), form)
    requests = [(Layer(store, 0, 0), tile) for tile in store.missing()[:last]]
    cache = PreparedCache(cohort, cohort.labels, [METRIC], 9)
    assert store.lease is not None
    with store.lease:
        ThreadSolver(cache, 1, False).run("pairs", requests)
    return store


def block(store: Store) -> Any:
    rows = store.plan.shape[0]
    return store.latest().distance[:rows, rows:]


@pytest.mark.parametrize("edge", [2, 5])
def test_an_interrupted_block_is_resumed_with_the_bits_of_cross(tmp_path: Path, edge: int) -> None:
    expected = cross([NETWORKS[k] for k in "abc"], [NETWORKS[k] for k in "defg"], METRIC, workers=1)
    first = run(tmp_path / "s", "abc", "defg", last=1, edge=edge)
    assert np.isnan(block(first)).any() == (edge == 2)
    store = run(tmp_path / "s", "abc", "defg", edge=edge)
    assert not store.missing()
    np.testing.assert_array_equal(block(store), expected)


def test_both_sets_grow_and_what_is_known_is_copied(tmp_path: Path) -> None:
    run(tmp_path / "s", "bc", "def")
    store = run(tmp_path / "s", "abc", "gdef", last=0)
    known = block(store)
    np.testing.assert_array_equal(np.isnan(known), [[True] * 4] + [[True] + [False] * 3] * 2)
    store = run(tmp_path / "s", "abc", "gdef")
    expected = cross([NETWORKS[k] for k in "abc"], [NETWORKS[k] for k in "gdef"], METRIC, workers=1)
    np.testing.assert_array_equal(block(store), expected)


def test_a_network_may_move_from_one_set_to_the_other(tmp_path: Path) -> None:
    run(tmp_path / "s", "abc", "def")
    store = run(tmp_path / "s", "abd", "cefg", last=0)
    expected = [[True, False, False, True]] * 2 + [[False, True, True, True]]
    np.testing.assert_array_equal(np.isnan(block(store)), expected)
    store = run(tmp_path / "s", "abd", "cefg")
    values = cross([NETWORKS[k] for k in "abd"], [NETWORKS[k] for k in "cefg"], METRIC, workers=1)
    np.testing.assert_array_equal(block(store), values)
    with pytest.raises(StorageError, match="its networks belong to other sets"):
        run(tmp_path / "s", "ab", "dcefg")


def test_a_matrix_is_not_a_block(tmp_path: Path) -> None:
    pairwise(dict(list(NETWORKS.items())[:4]), METRIC, store=tmp_path / "s", polish=False)
    with pytest.raises(StorageError, match="one holds a matrix, the other distances between"):
        run(tmp_path / "s", "ab", "cd")


def test_a_block_is_not_a_matrix(tmp_path: Path) -> None:
    run(tmp_path / "s", "abc", "defg")
    with pytest.raises(StorageError, match="between two sets of networks, not a matrix"):
        DistanceMatrix.load(tmp_path / "s")
