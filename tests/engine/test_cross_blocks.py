"""Distances between two sets of networks: the bits of a whole matrix, resumed, sharded, grown."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from repshape import Cohort, CrossDistances, EnergyShapeMetric, GaussianShapeMetric, cross, pairwise
from repshape.engine.cross import plan_cross
from repshape.engine.estimate import estimate_cost
from repshape.engine.plan import Settings
from repshape.errors import InputError, SearchWarning, StorageError
from scale_support import run_cross, start

pytestmark = pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
METRIC = GaussianShapeMetric(0.5)
FIELDS = ("values", "lower_bounds", "converged", "n_starts", "n_agreeing", "gaps")


def networks(count: int, seed: int, n: int = 4) -> dict[str, Any]:
    """Trials of networks of n to n + 2 neurons, which have the same names for every seed."""
    rng = np.random.default_rng(seed)
    sizes = [(8, 20, n + k % 3) for k in range(count)]
    return {f"layer{k}": rng.normal(size=size) for k, size in enumerate(sizes)}


ROWS, COLUMNS = networks(5, 0), networks(6, 1, n=3)


@pytest.fixture(scope="module")
def block() -> CrossDistances:
    return cross(ROWS, COLUMNS, METRIC, workers=1)


def assert_same(C: CrossDistances, expected: CrossDistances) -> None:
    assert (C.row_labels, C.column_labels) == (expected.row_labels, expected.column_labels)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(C, name), getattr(expected, name))


@pytest.mark.parametrize("effort", ["full", "brief"])
@pytest.mark.parametrize(
    "metric",
    [METRIC, METRIC.with_parameters(group="permutation"), EnergyShapeMetric(max_iter=50)],
)
def test_a_block_has_the_bits_of_the_whole_matrix(metric: Any, effort: Any) -> None:
    rows, columns = list(ROWS.values())[:3], list(COLUMNS.values())[:3]
    C = cross(rows, columns, metric, effort=effort)
    D = pairwise([*rows, *columns], metric, effort=effort, polish=False)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(C, name), getattr(D, name)[:3, 3:])
    assert C.description == D.description
    assert C.agreement is not None
    np.testing.assert_array_equal(C.agreement, C.n_agreeing / C.n_starts)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("tile", [None, 2, 4])
def test_stores_and_shards_have_the_same_bits(
    block: CrossDistances, tmp_path: Path, workers: int, tile: int | None
) -> None:
    for shard in ("2/2", "1/2"):
        part = cross(
            ROWS, COLUMNS, METRIC, store=tmp_path / "s", tile=tile, workers=workers, shard=shard
        )
    assert part.complete
    assert_same(cross(ROWS, COLUMNS, METRIC, store=tmp_path / "s"), block)
    assert_same(CrossDistances.load(tmp_path / "s"), block)


def test_killed_and_resumed_the_bits_are_the_same(block: CrossDistances, tmp_path: Path) -> None:
    for name, side in (("rows", ROWS), ("columns", COLUMNS)):
        Cohort.from_networks(side).save(tmp_path / name)
    given = tmp_path / "rows", tmp_path / "columns", tmp_path / "s"
    for last, code in ((2, -signal.SIGKILL), (3, -signal.SIGKILL), (None, 0)):
        process = start(run_cross, *given, METRIC, last)
        process.join(120)
        assert process.exitcode == code
        C = CrossDistances.load(tmp_path / "s")
        known = ~np.isnan(C.values)
        np.testing.assert_array_equal(C.values[known], block.values[known])
        assert C.complete == (last is None)
    assert_same(C, block)


def test_dask_gives_the_same_bits(block: CrossDistances, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    cohorts = [
        Cohort.from_networks(side).save(tmp_path / name)
        for name, side in (("rows", ROWS), ("columns", COLUMNS))
    ]
    options: dict[str, Any] = {"store": tmp_path / "s", "tile": 3, "engine": "dask"}
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        C = cross(*cohorts, METRIC, scheduler=client, **options)
    assert_same(C, block)
    with pytest.raises(InputError, match="Dask needs two cohorts on disk"):
        cross(ROWS, COLUMNS, METRIC, **options)


def test_both_sets_grow_in_any_order(block: CrossDistances, tmp_path: Path) -> None:
    some = dict(list(ROWS.items())[3:0:-1]), dict(list(COLUMNS.items())[2:])
    cross(*some, METRIC, store=tmp_path / "s", tile=2)
    C = cross(ROWS, COLUMNS, METRIC, store=tmp_path / "s", tile=2)
    assert_same(C, block)
    turned = dict(reversed(ROWS.items())), COLUMNS
    expected = block[list(turned[0]), list(COLUMNS)]
    assert_same(cross(*turned, METRIC, store=tmp_path / "s"), expected)
    assert_same(cross(*some, METRIC, store=tmp_path / "s"), block[list(some[0]), list(some[1])])
    with pytest.raises(StorageError, match="with effort='full', and this run asks for 'brief'"):
        cross(ROWS, COLUMNS, METRIC, store=tmp_path / "s", effort="brief")


def test_networks_are_replaced_and_removed_by_side_and_name(tmp_path: Path) -> None:
    cross(ROWS, COLUMNS, METRIC, store=tmp_path / "s")
    changed = ROWS | {"layer1": COLUMNS["layer1"]}
    with pytest.raises(StorageError, match="responses of network 'rows/layer1' have changed"):
        cross(changed, COLUMNS, METRIC, store=tmp_path / "s")
    fewer = {name: one for name, one in COLUMNS.items() if name != "layer1"}
    options: dict[str, Any] = {"replace": ["rows/layer1"], "remove": ["columns/layer1"]}
    C = cross(changed, fewer, METRIC, store=tmp_path / "s", **options)
    assert_same(C, cross(changed, fewer, METRIC))
    with pytest.raises(InputError, match="'replace' parameter must name networks of the cohort"):
        cross(ROWS, COLUMNS, METRIC, store=tmp_path / "s", replace=["layer1"])


def test_metadata_and_names_come_from_cohorts(tmp_path: Path) -> None:
    first = Cohort.from_networks(ROWS, metadata={"depth": [1, 2, 3, 4, 5]})
    second = Cohort.from_networks(COLUMNS, metadata={"area": list("aabbcc")})
    for store in (None, tmp_path / "s"):
        C = cross(first, second, METRIC, store=store)
        assert C.row_metadata["depth"].tolist() == [1, 2, 3, 4, 5]
        assert C.row_metadata["depth"].dtype == np.int64
        assert C.select(columns={"area": "b"}).column_labels == ("layer2", "layer3")
    loaded = CrossDistances.load(tmp_path / "s")
    assert loaded.column_metadata.to_dict() == C.column_metadata.to_dict()


def test_what_a_block_would_cost(tmp_path: Path) -> None:
    settings = Settings.checked(workers=1)
    run = plan_cross(ROWS, COLUMNS, METRIC, None, tmp_path / "s", settings)
    found = estimate_cost(run)
    assert (found.n_pairs, found.n_known, found.polishing) == (30, 0, 0.0)
    assert found.searching > 0
    assert not (tmp_path / "s").exists()
    cross(ROWS, COLUMNS, METRIC, store=tmp_path / "s")
    known, total = plan_cross(ROWS, COLUMNS, METRIC, None, tmp_path / "s", settings).count_pairs()
    assert (known, total) == (30, 30)


def test_bad_input_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match="'columns' parameter must hold at least one network"):
        cross(ROWS, [], METRIC)
    with pytest.raises(InputError, match="'rows/layer0' and"):
        cross({"layer0": ROWS["layer0"][:5]}, COLUMNS, METRIC)
    with pytest.raises(InputError, match="Shards and Dask need a store"):
        cross(ROWS, COLUMNS, METRIC, shard="1/2")
    with pytest.raises(InputError, match="'replace' and 'remove' parameters need a store"):
        cross(ROWS, COLUMNS, METRIC, remove=["rows/x"])


@pytest.mark.filterwarnings("default::repshape.errors.SearchWarning")
def test_doubtful_pairs_are_told_once() -> None:
    rng = np.random.default_rng(0)
    S = rng.normal(size=(4, 20, 8, 8))
    given = [(np.zeros((20, 8)), one @ one.transpose(0, 2, 1)) for one in S]
    metric = GaussianShapeMetric(0.0, n_starts=8)
    with pytest.warns(SearchWarning, match=r"^\d of 4 pairs may be longer than nec") as caught:
        C = cross(given[:2], given[2:], metric)
    assert [one.filename for one in caught] == [__file__]
    assert C.doubt_words() in C.summary()
    assert str(caught[0].message).startswith(C.doubt_words())
    assert "CrossDistances.possible_excess" in str(caught[0].message)
