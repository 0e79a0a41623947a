"""Stores of solved pairs whose networks change: none is solved twice, none is stale."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from neighbor_support import check_equal, count_solved, families, whole_matrix

import repshape as rs
from repshape.analysis import pair_solver
from repshape.analysis.solved_pairs import PairStore
from repshape.errors import InputError, StorageError
from repshape.metrics.identity import describe
from repshape.store.identity import Identity
from scale_support import contents, start

METRIC = rs.GaussianShapeMetric(1.0)
EVERY = dict(zip("abcdefghijklmnopqrstuvwx", families(), strict=True))
FIRST = {name: EVERY[name] for name in "abcdefgmnopqrs"}
GROWN = {name: EVERY[name] for name in "xqabwcdtefvghuijkplmnosr"}  # also in another order
CHANGED = GROWN | dict(zip("bnx", families(1, 3, seed=7), strict=True))


def search(networks: Any, store: Path, k: int = 4, **options: Any) -> Any:
    return rs.analysis.neighbor_graph(networks, METRIC, k, store=store, workers=1, **options)


def known_pairs(networks: Any, store: Path) -> Any:
    """Return the pairs of these networks that a store has."""
    cohort = rs.Cohort.from_networks(networks)
    identity = Identity(describe(METRIC), cohort.labels, cohort.fingerprints)
    return PairStore(store, identity).pairs


def run_killed(networks: Any, store: Path, last: int, options: dict[str, Any]) -> None:
    """Search in a process that kills itself as soon as it has written ``last`` files of pairs."""
    add, written = PairStore.add, 0

    def counting(*arguments: Any) -> None:
        nonlocal written
        add(*arguments)
        written += 1
        if written == last:
            os.kill(os.getpid(), signal.SIGKILL)

    PairStore.add = counting  # type: ignore[method-assign]
    pair_solver.BATCH = 8
    search(networks, store, **options)


def test_grown_and_replaced_killed_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "p"
    first = search(FIRST, store)
    process = start(run_killed, GROWN, store, 3, {})
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    solved = count_solved(monkeypatch)
    grown = search(GROWN, store)
    check_equal(grown, whole_matrix(GROWN, METRIC), 4)
    reused = grown.settings["reused_pairs"]
    assert first.n_solved < reused <= first.n_solved + 3 * 8  # what the killed process had saved
    assert sum(solved) == grown.n_solved - reused
    with pytest.raises(StorageError, match=r"p cannot be continued: the responses of network 'x'"):
        search(CHANGED, store)
    changed = search(CHANGED, store, replace=["b", "n", "x"])
    check_equal(changed, whole_matrix(CHANGED, METRIC), 4)
    at = [i for i, name in enumerate(GROWN) if name in "bnx"]
    kept = ~np.isin(known_pairs(GROWN, store), at).any(axis=1)
    assert changed.settings["reused_pairs"] == kept.sum()
    assert sum(solved) == grown.n_solved - reused + changed.n_solved - kept.sum()
    assert search(CHANGED, store).settings["reused_pairs"] == changed.n_solved
    assert f"of which {changed.n_solved} were known already." in search(CHANGED, store).words()


def test_selections_and_other_orders_reuse_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "p"
    search(EVERY, store)
    solved = count_solved(monkeypatch)
    turned = {name: EVERY[name] for name in reversed(EVERY)}
    check_equal(search(turned, store), whole_matrix(turned, METRIC), 4)
    assert not solved
    for names in ("hgfedcb", "amxsbt"):  # with pairs that no search needed before
        some = {name: EVERY[name] for name in names}
        found = search(some, store)
        check_equal(found, whole_matrix(some, METRIC), 4)
        assert found.settings["reused_pairs"] > 0
    total = sum(solved)
    search({"new": families(1, 1, seed=9)[0]} | some, store)  # others are absent, one is new
    check_equal(search(EVERY, store), whole_matrix(EVERY, METRIC), 4)
    assert sum(solved) <= total + len(some)


def test_landmarks_share_a_grown_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"n_landmarks": 4, "store": tmp_path / "p", "workers": 1}
    rs.analysis.embed_landmarks(FIRST, METRIC, **options)
    grown = FIRST | EVERY  # the first landmark stays
    fresh = rs.analysis.embed_landmarks(grown, METRIC, n_landmarks=4)
    solved = count_solved(monkeypatch)
    found = rs.analysis.embed_landmarks(grown, METRIC, **options)
    assert np.array_equal(found.points, fresh.points)
    assert 0 < sum(solved) <= fresh.n_solved - (len(FIRST) - 1)
    with pytest.raises(StorageError, match="responses of network 'b' have changed"):
        rs.analysis.embed_landmarks(grown | {"b": CHANGED["b"]}, METRIC, **options)


def test_refusals_change_nothing(tmp_path: Path) -> None:
    store = tmp_path / "p"
    search(FIRST, store)
    before = contents(store)
    with pytest.raises(InputError, match="'replace' parameter must name networks of the cohort"):
        search(GROWN, store, replace=["z"])
    with pytest.raises(InputError, match="'replace' parameter needs a store"):
        rs.analysis.neighbor_graph(FIRST, METRIC, 2, replace=["a"])
    with pytest.raises(InputError, match="must be a list of names"):
        search(FIRST, store, replace="a")
    permuting = rs.GaussianShapeMetric(1.0, group="permutation")
    with pytest.raises(StorageError, match="'group' was 'orthogonal' and is 'permutation'"):
        rs.analysis.neighbor_graph(GROWN, permuting, 2, store=store)
    assert contents(store) == before
    search(GROWN, store)
    _, second = sorted((store / "pairs").iterdir())  # a group for each run
    (second / "zarr.json").write_bytes(b"[")
    with pytest.raises(StorageError, match="is damaged"):
        search(GROWN, store)
