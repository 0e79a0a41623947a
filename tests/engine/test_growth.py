"""Stores whose networks change: nothing known is solved again, and nothing stale is reused."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from repshape import Cohort, DistanceMatrix, GaussianShapeMetric, pairwise, pairwise_many
from repshape.engine import threads
from repshape.engine.polish import count_violations
from repshape.engine.store import Store
from repshape.errors import InputError, StorageError
from scale_support import METRIC, contents, run_counted, solved, start

# Some pairs of these small networks are found once only.
pytestmark = pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")

REPLACED = ["n3", "n11", "n23"]
COUNTS = ("n_starts", "n_agreeing", "n_composed")


def relatives(count: int, seed: int, n: int = 3) -> dict[str, Any]:
    """Networks that share their covariances up to noise and rotation: many local optima."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(4, n, 6))
    networks = {}
    for k in range(count):
        factors = base + 0.3 * rng.normal(size=base.shape)
        factors = np.linalg.qr(rng.normal(size=(n, n)))[0] @ factors
        S = factors @ factors.transpose(0, 2, 1)
        networks[f"n{k}"] = (rng.normal(size=(4, n)), (S + S.transpose(0, 2, 1)) / 2)
    return networks


ALL = relatives(31, seed=0)
FIRST = {name: ALL[name] for name in list(ALL)[:20]}
GROWN = {name: ALL[name] for name in sorted(list(ALL)[:25])}  # new ones between the old ones
CHANGED = GROWN | dict(zip(REPLACED, relatives(3, seed=1).values(), strict=True))


def saved(networks: dict[str, Any], path: Path) -> Path:
    Cohort.from_networks(networks).save(path)
    return path


def killed_and_resumed(
    cohort: Path, store: Path, log: Path, moments: list[int], options: dict[str, Any]
) -> None:
    """Run `pairwise` in processes that are killed after some tiles each, and in a last one."""
    for last in [*moments, None]:
        process = start(run_counted, cohort, store, log, last, options)
        process.join(120)
        assert process.exitcode == (0 if last is None else -signal.SIGKILL)


def assert_same_numbers(D: DistanceMatrix, expected: DistanceMatrix) -> None:
    for name in ("values", "lower_bounds", "converged", *COUNTS):
        np.testing.assert_array_equal(getattr(D, name), getattr(expected, name))


@pytest.fixture(scope="module")
def cohorts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("growth")
    every = {"first": FIRST, "grown": GROWN, "changed": CHANGED}
    return {name: saved(networks, folder / name) for name, networks in every.items()}


@pytest.mark.parametrize("polish", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_twenty_networks_then_five_more_then_three_replaced_killed_in_between(
    cohorts: dict[str, Path], tmp_path: Path, polish: bool
) -> None:
    store, searched = tmp_path / "s", "whole"
    options: dict[str, Any] = {"polish": polish, "tile": 8}
    before = None
    new_pairs = {"first": 20 * 19 // 2, "grown": 20 * 5 + 10, "changed": 3 * 22 + 3}
    # Layers have 6 tiles at first, and 10 later. Killed in layer 0 and, with the polish, in layer
    # 1, which takes over earlier results, and in a round of compositions.
    moments = {"first": [2], "grown": [4, *([9, 16] * polish)], "changed": [1, *([24] * polish)]}
    for name, path in cohorts.items():
        log = tmp_path / f"{name}.log"
        if name == "changed":
            with pytest.raises(StorageError, match="responses of network 'n11' have changed"):
                pairwise(Cohort.open(path), METRIC, store=store, **options)
            options["replace"] = REPLACED
        killed_and_resumed(path, store, log, moments[name], options)
        assert solved(log, searched) == new_pairs[name]
        D = DistanceMatrix.load(store)
        assert D.labels == Cohort.open(path).labels
        if before is not None:  # never longer than before
            kept = [one for one in before.labels if one in D.labels]
            kept = [one for one in kept if name == "grown" or one not in REPLACED]
            assert (D[kept].values <= before[kept].values).all()
        before = D
    fresh = pairwise(Cohort.open(path), METRIC, store=tmp_path / "fresh", polish=polish, workers=1)
    alone, expected = Store(store).entries(0), Store(tmp_path / "fresh").entries(0)
    for name in ("distance", "lower_bound", "converged", "n_starts", "n_agreeing"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(expected, name))
    if not polish:
        assert_same_numbers(D, fresh)
        return
    assert (D.values <= alone.distance).all()
    assert count_violations(D.values) == 0
    assert D.description["polish"]["total_before"] == fresh.description["polish"]["total_before"]
    assert D.condensed().sum() == pytest.approx(fresh.condensed().sum(), rel=2e-3)


def test_the_command_is_killed_from_outside_and_resumed(tmp_path: Path) -> None:
    store = tmp_path / "s"
    pairwise(some(12), METRIC, store=store, tile=4)
    grown = saved(some(18), tmp_path / "grown")
    command = [sys.executable, "-c", "from repshape.cli import main; main()", "pairwise"]
    command += [str(grown), "-o", str(store), "--alpha", "0.5", "--tile", "4"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not list(store.glob("generation-*/tiles/c/0/1/*")):
            try:
                process.wait(0.01)
            except subprocess.TimeoutExpired:
                continue
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert len(DistanceMatrix.load(store)) == 18
    assert Store(store).missing()
    told = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert "pairs are known already" in told.stderr
    answer = json.loads(told.stdout)
    assert answer["complete"] is True
    assert 12 * 11 // 2 < answer["known_pairs"] < 18 * 17 // 2
    assert DistanceMatrix.load(store).complete


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished, polished store of ten networks."""
    store = tmp_path_factory.mktemp("small") / "s"
    pairwise(some(10), METRIC, store=store, tile=4)
    return store


@pytest.fixture
def store(small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "s"))


def some(count: int, first: int = 0) -> dict[str, Any]:
    return {f"n{k}": ALL[f"n{k}"] for k in range(first, count)}


@pytest.fixture
def no_solving(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **options: Any) -> None:
        raise AssertionError("a pair was solved")

    monkeypatch.setattr(threads, "solve_chunk", refuse)
    monkeypatch.setattr(threads, "solve_composed", refuse)


@pytest.mark.usefixtures("no_solving")
def test_a_selection_is_read_and_changes_nothing(store: Path) -> None:
    before, D = contents(store), DistanceMatrix.load(store)
    for names in (["n7", "n2", "n5"], [f"n{k}" for k in range(9, -1, -1)]):
        chosen = pairwise({name: ALL[name] for name in names}, METRIC, store=store)
        assert chosen.labels == tuple(names)
        assert_same_numbers(chosen, D[names])
    assert contents(store) == before


def test_a_selection_of_an_unfinished_store_is_refused(tmp_path: Path) -> None:
    pairwise(some(10), METRIC, store=tmp_path / "s", shard="1/2", tile=4)
    with pytest.raises(StorageError, match="is not finished, and has networks that the cohort la"):
        pairwise(some(5), METRIC, store=tmp_path / "s")


def test_what_is_not_allowed_is_refused_and_changes_nothing(store: Path) -> None:
    before = contents(store)
    for networks, options, words in [
        (some(10) | {"n4": ALL["n30"]}, {}, "responses of network 'n4' have changed. Name it in"),
        (some(10) | {"n4": ALL["n30"]}, {"replace": ["n3"]}, "network 'n4' have changed"),
        (some(12, 1), {}, "it has a network 'n0', which the cohort lacks. Name it in 'remove'"),
        (some(10, 1), {"remove": ["m0"]}, "it has no network named 'm0' that could be removed"),
        (some(10), {"remove": ["n0"]}, "must name networks that the cohort no longer has"),
        (some(10), {"replace": ["m0"]}, "'replace' parameter must name networks of the cohort"),
        (some(10), {"replace": "n0"}, "must be a list of names of networks. Got 'n0'"),
        (some(12), {"polish": False}, "without the polish its distances would become longer"),
        (some(12), {"effort": "brief"}, "with effort='full', and this run asks for 'brief'"),
        (some(10), {"effort": "brief"}, "with effort='full', and this run asks for 'brief'"),
        (some(4), {"effort": "brief"}, "with effort='full', and this run asks for 'brief'"),
    ]:
        with pytest.raises((InputError, StorageError), match=words):
            pairwise(networks, METRIC, store=store, **options)
    assert contents(store) == before
    with pytest.raises(InputError, match="parameters need a store"):
        pairwise(some(3), METRIC, remove=["n9"])


def test_growing_a_polished_store_needs_the_polish(tmp_path: Path) -> None:
    searched = METRIC.with_parameters(n_starts=2)
    pairwise(some(9), searched, store=tmp_path / "s")
    with pytest.raises(StorageError, match="without the polish its distances would become longer"):
        pairwise(some(10), searched, store=tmp_path / "s", polish=False)


def test_a_replaced_network_has_its_new_distances(store: Path) -> None:
    old = DistanceMatrix.load(store)
    networks = some(10) | {"n4": ALL["n30"]}
    D = pairwise(networks, METRIC, store=store, replace=["n4"])
    others = [name for name in networks if name != "n4"]
    assert (D[others].values <= old[others].values).all()
    fresh = pairwise(networks, METRIC)
    np.testing.assert_allclose(D.values[4], fresh.values[4], rtol=0.05)
    assert (np.abs(D.values[4] - old.values[4]) > 0.05).sum() > 5
    again = pairwise(networks, METRIC, store=store, replace=["n4"])  # repeated: nothing to do
    assert_same_numbers(again, D)


@pytest.mark.usefixtures("no_solving")
def test_a_removed_network_is_gone_and_nothing_is_solved(store: Path) -> None:
    old = DistanceMatrix.load(store)
    names = [f"n{k}" for k in range(10) if k not in (2, 6)]
    left = {name: ALL[name] for name in names}
    D = pairwise(left, METRIC, store=store, remove=["n2", "n6"])
    assert DistanceMatrix.load(store).labels == tuple(names)
    np.testing.assert_array_equal(D.values, old[names].values)
    again = pairwise(left, METRIC, store=store, remove=["n2", "n6"])  # repeated
    np.testing.assert_array_equal(again.values, D.values)


def test_a_removed_network_that_returns_is_solved_again(store: Path) -> None:
    """Its distances were dropped, and those of the same search come back."""
    stage = Store(store).entries(0).distance
    pairwise(some(9), METRIC, store=store, remove=["n9"])
    pairwise(some(10), METRIC, store=store)
    np.testing.assert_array_equal(Store(store).entries(0).distance, stage)


def test_earlier_generations_are_deleted_once_they_are_not_needed(store: Path) -> None:
    pairwise(some(12), METRIC, store=store, shard="1/2", tile=4)
    assert (store / "tiles").is_dir()
    pairwise(some(14), METRIC, store=store, shard="1/2", tile=4)
    assert len(list(store.glob("generation-*"))) == 2
    partial = DistanceMatrix.load(store)
    ten = [f"n{k}" for k in range(10)]
    assert partial.n_missing > 0
    assert partial[ten].complete  # what was known before is known all the time
    D = pairwise(some(14), METRIC, store=store)
    assert (D[ten].values <= partial[ten].values).all()
    left = [one.name for one in store.iterdir()]
    assert len(left) == 2
    assert "zarr.json" in left


def test_an_unfinished_generation_passes_on_what_it_solved(
    cohorts: dict[str, Path], store: Path, tmp_path: Path
) -> None:
    """Twelve networks are begun, and fourteen finished: no pair is solved twice."""
    logs = [tmp_path / "12.log", tmp_path / "14.log"]
    for count, last, log in ((12, 3, logs[0]), (14, None, logs[1])):
        cohort = saved(some(count), tmp_path / str(count))
        process = start(run_counted, cohort, store, log, last, {"tile": 4})
        process.join(120)
    assert 0 < solved(logs[0], "whole") < 21
    assert sum(solved(log, "whole") for log in logs) == 14 * 13 // 2 - 10 * 9 // 2


def test_shards_grow_a_store_together(store: Path, tmp_path: Path) -> None:
    for k in (1, 2, 3):
        pairwise(some(14), METRIC, store=store, shard=f"{k}/3", tile=4)
    D = pairwise(some(14), METRIC, store=store)
    shutil.rmtree(store)
    pairwise(some(10), METRIC, store=store, tile=4)
    assert_same_numbers(D, pairwise(some(14), METRIC, store=store))


def test_stores_of_several_metrics_keep_their_own_order(tmp_path: Path) -> None:
    """One was made for other networks, in another order, than the other."""
    metrics = {f"alpha-{alpha}": GaussianShapeMetric(alpha) for alpha in (0, 1)}
    pairwise(some(9), metrics["alpha-0"], store=make(tmp_path / "sweep") / "alpha-0")
    backward = dict(reversed(some(10).items()))
    found = pairwise_many(backward, metrics, store=tmp_path / "sweep")
    again = pairwise_many(some(10), metrics, store=tmp_path / "sweep")
    for name, metric in metrics.items():
        assert found[name].labels == tuple(backward)
        assert again[name].labels == tuple(some(10))
        assert_same_numbers(again[name], found[name][list(some(10))])
        alone = pairwise(some(10), metric, polish=False)
        np.testing.assert_allclose(again[name].values, alone.values, rtol=0.02)


def make(path: Path) -> Path:
    path.mkdir()
    return path


def test_the_space_of_a_store_stays_when_its_largest_network_is_left_out(tmp_path: Path) -> None:
    metric = GaussianShapeMetric(group="permutation")
    large = relatives(1, seed=2, n=5)["n0"]
    networks = some(4) | {"large": large}
    D = pairwise(networks, metric, store=tmp_path / "s")
    assert D.description["parameters"]["pad_to"] == 5
    chosen = pairwise(some(4), metric, store=tmp_path / "s")
    np.testing.assert_array_equal(chosen.values, D[list(some(4))].values)
    removed = pairwise(some(4), metric, store=tmp_path / "s", remove=["large"])
    np.testing.assert_array_equal(removed.values, chosen.values)
    wider = some(4) | {"wider": relatives(1, seed=2, n=6)["n0"]}
    with pytest.raises(StorageError, match="'pad_to' was 5 and is 6"):
        pairwise(wider, metric, store=tmp_path / "s")


def test_wider_networks_can_be_added(store: Path) -> None:
    """Their transforms need more room than the store had."""
    networks = some(10) | {"wide": relatives(1, seed=2, n=6)["n0"]}
    D = pairwise(networks, METRIC, store=store)
    assert D.complete
    assert count_violations(D.values) == 0
    transforms = Store(store).transforms(0, Store(store).plan.tiles[-1])
    assert max(one.shape for one in transforms) == (6, 3)


def test_callables_grow_too(tmp_path: Path) -> None:
    calls = []

    def gap(x: Any, y: Any) -> float:
        calls.append(1)
        return float(abs(x.means.sum() - y.means.sum()))

    pairwise(some(6), gap, name="gap", store=tmp_path / "s", tile=4)
    assert len(calls) == 15
    D = pairwise(some(9), gap, name="gap", store=tmp_path / "s")
    assert len(calls) == 36
    expected = pairwise(Cohort.from_networks(some(9)), gap)
    np.testing.assert_array_equal(D.values, expected.values)


def as_version_3(store: Path) -> None:
    """Give a store that has never grown the attributes that repshape 0.1 wrote."""
    file = store / "zarr.json"
    header = json.loads(file.read_text())["attributes"]
    for name in ("kind", "rows", "seal"):
        del header[name]
    del header["effort"]["inherits"]
    header["version"] = 3
    file.write_text(json.dumps(json.loads(file.read_text()) | {"attributes": header}))


def as_version_4(store: Path) -> None:
    """Give a store that has grown the attributes that repshape 0.2 wrote."""
    for file in (store / "zarr.json", *store.glob("generation-*/zarr.json")):
        content = json.loads(file.read_text())
        for name in ("kind", "rows", "seal"):
            content["attributes"].pop(name, None)
        content["attributes"]["version"] = 4
        file.write_text(json.dumps(content))


def test_a_store_of_an_earlier_version_is_read_continued_and_grown(store: Path) -> None:
    as_version_3(store)
    old = DistanceMatrix.load(store)
    assert_same_numbers(pairwise(some(10), METRIC, store=store), old)
    pairwise(some(11), METRIC, store=store, shard="1/2", tile=4)
    as_version_4(store)
    assert_same_numbers(DistanceMatrix.load(store)[list(some(10))], old)
    grown = pairwise(some(11), METRIC, store=store)
    assert (grown[list(some(10))].values <= old.values).all()
    as_version_4(store)
    assert_same_numbers(DistanceMatrix.load(store), grown)
    pairwise(some(12), METRIC, store=store)
    header = json.loads((store / "zarr.json").read_text())["attributes"]
    assert (header["version"], header["kind"]) == (5, "matrix")
