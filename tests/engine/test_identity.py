"""What a store recognises: callables by name and arguments, networks by their files."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from repshape import Cohort, DistanceMatrix, pairwise, pairwise_many
from repshape.baselines import cka, rsa
from repshape.engine.store import Store
from repshape.errors import InputError, InputTypeError, StorageError
from repshape.store.header import VERSION
from repshape.store.identity import Identity
from scale_support import EDGE, METRIC, contents, make_cohort

# Some pairs of these small networks are found once only.
pytestmark = pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("identity") / "cohort"
    make_cohort(path, 6)
    return path


@pytest.fixture
def cohort(saved: Path, tmp_path: Path) -> Cohort:
    """A copy, which a test may change."""
    return Cohort.open(shutil.copytree(saved, tmp_path / "cohort"))


def never(x: Any, y: Any) -> float:
    raise AssertionError("a pair was solved")


def refused(words: str, cohort: Any, metric: Any, **options: Any) -> None:
    with pytest.raises((InputError, InputTypeError, StorageError), match=words):
        pairwise(cohort, metric, **options)


def test_a_callable_without_identity_is_refused_before_any_work(
    cohort: Cohort, tmp_path: Path
) -> None:
    store = tmp_path / "s"
    for metric in (lambda x, y: never(x, y), partial(never, y=object())):
        refused("Give it one, as in pairwise", cohort, metric, store=store)
    assert not store.exists()


def test_a_name_identifies_a_callable(cohort: Cohort, tmp_path: Path) -> None:
    def gap(x: Any, y: Any, power: int = 1) -> float:
        return float(abs(x.means.sum() - y.means.sum()) ** power)

    D = pairwise(cohort, gap, name="gap", store=tmp_path / "s")
    assert D.description["metric"] == "gap"
    assert pairwise(cohort, gap, name="gap").description == D.description
    again = pairwise(cohort, lambda x, y: never(x, y), name="gap", store=tmp_path / "s")
    np.testing.assert_array_equal(again.values, D.values)
    squared = partial(gap, power=2)
    words = "the metric was gap and is squared gap"
    refused(words, cohort, squared, name="squared gap", store=tmp_path / "s")
    refused("already has a name", cohort, METRIC, name="mine")
    refused("'name' parameter must be a non-empty string", cohort, gap, name="")


def test_partials_never_share_an_identity(cohort: Cohort, tmp_path: Path) -> None:
    store = tmp_path / "s"
    D = pairwise(cohort, partial(cka, debiased=False), store=store)
    before = contents(store)
    refused("metric was .*cka and is .*rsa", cohort, partial(rsa, compare="cosine"), store=store)
    refused("'debiased' was False and is True", cohort, partial(cka, debiased=True), store=store)
    refused("'debiased' was False and is None", cohort, cka, store=store)
    assert contents(store) == before
    again = pairwise(cohort, partial(cka, debiased=False), store=store)
    np.testing.assert_array_equal(again.values, D.values)


def test_the_key_names_a_callable_without_identity(cohort: Cohort, tmp_path: Path) -> None:
    metrics: dict[str, Any] = {"one": lambda x, y: 1.0, "cka": cka, "gaussian": METRIC}
    found = pairwise_many(cohort, metrics, store=tmp_path / "s", polish=False)
    names = [D.description["metric"] for D in found.values()]
    assert names == ["one", "repshape.baselines.kernel_alignment.cka", "GaussianShapeMetric"]
    assert DistanceMatrix.load(tmp_path / "s" / "one").description["metric"] == "one"
    with pytest.raises(InputError, match="Give it one, as in pairwise"):
        pairwise_many(cohort, {"": lambda x, y: 1.0}, store=tmp_path / "t")


@pytest.mark.parametrize(
    "name", ["../x", "absolute", "a/b", "a\\b", ".", "..", "", "x/", "a\0b", "../../s/x", 3]
)
def test_names_that_leave_the_store_are_refused(cohort: Cohort, tmp_path: Path, name: Any) -> None:
    name = str(tmp_path / "x") if name == "absolute" else name
    store = tmp_path / "inner" / "s"
    store.parent.mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="must be the name of a folder inside the store"):
        pairwise_many(cohort, {"good": METRIC, name: METRIC}, store=store)
    assert sorted(tmp_path.rglob("*")) == before
    assert set(pairwise_many(cohort[:2], {"good": METRIC, name: METRIC})) == {"good", name}


def test_a_single_metric_may_have_no_name(cohort: Cohort, tmp_path: Path) -> None:
    D = pairwise_many(cohort, {"": METRIC}, store=tmp_path / "s")[""]
    np.testing.assert_array_equal(DistanceMatrix.load(tmp_path / "s").values, D.values)


def test_a_place_where_no_store_can_be_is_refused_before_any_work(
    cohort: Cohort, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "a").write_text("mine")
    inside = Path(str(cohort.path), "d")
    before = contents(tmp_path)
    for store, words in [
        (tmp_path / "no" / "such" / "s", "its parent folder does not exist"),
        (tmp_path / "file", "is a file; a store needs a folder"),
        (tmp_path / "file" / "s", "its parent folder does not exist"),
        (inside, "is inside a cohort or another store"),
    ]:
        refused(f"{store}.*{words}|{words}", cohort, never, store=store)
    with pytest.raises(StorageError, match="is a file"):
        pairwise_many(cohort, {"a": METRIC, "b": METRIC}, store=tmp_path / "sweep")
    with pytest.raises(StorageError, match="its parent folder does not exist"):
        pairwise_many(cohort, {"a": METRIC, "b": METRIC}, store=tmp_path / "no" / "sweep")
    assert contents(tmp_path) == before


def test_a_store_of_an_older_version_is_refused(cohort: Cohort, tmp_path: Path) -> None:
    store = tmp_path / "s"
    pairwise(cohort, METRIC, store=store)
    header = json.loads((store / "zarr.json").read_text())
    assert header["attributes"]["version"] == VERSION == 5
    header["attributes"]["version"] = 2
    del header["attributes"]["seal"]
    (store / "zarr.json").write_text(json.dumps(header))
    refused(
        "has format version 2; this repshape reads versions 3 to 5", cohort, METRIC, store=store
    )
    with pytest.raises(
        StorageError, match="has format version 2; this repshape reads versions 3 to 5"
    ):
        DistanceMatrix.load(store)


@pytest.mark.parametrize("shard", [None, "1/2"])
def test_edited_responses_are_refused(cohort: Cohort, tmp_path: Path, shard: str | None) -> None:
    """Also by a finished store, and by one that begins after the edit."""
    store = tmp_path / "s"
    pairwise(cohort, METRIC, store=store, shard=shard, tile=2)
    array = zarr.open_array(Path(str(cohort.path), cohort.records[3].key, "means"), mode="r+")
    array[2, 1] = 7.0
    before = contents(store)
    words = "The responses of network 'net/3' .* have changed since"
    refused(words, Cohort.open(str(cohort.path)), METRIC, store=store)
    refused(words, cohort, METRIC, store=store)
    assert contents(store) == before
    refused(words, cohort, METRIC, store=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_lost_responses_are_refused(cohort: Cohort, tmp_path: Path) -> None:
    """Zarr would read zeros instead."""
    next(Path(str(cohort.path), cohort.records[2].key, "means", "c").rglob("0")).rename(
        tmp_path / "lost"
    )
    refused("The responses of network 'net/2'", cohort, METRIC, store=tmp_path / "s")


def test_the_same_responses_in_other_files_are_accepted(cohort: Cohort, tmp_path: Path) -> None:
    D = pairwise(cohort, METRIC, store=tmp_path / "s")
    folder = Path(str(cohort.path), cohort.records[2].key)
    means = np.asarray(zarr.open_array(folder / "means", mode="r")[...])
    shutil.rmtree(folder / "means")
    zarr.create_array(folder / "means", data=means, chunks=(1, means.shape[1]))
    again = pairwise(Cohort.open(str(cohort.path)), METRIC, store=tmp_path / "s")
    np.testing.assert_array_equal(again.values, D.values)


def test_a_cohort_without_checksums_is_verified_by_its_responses(
    cohort: Cohort, tmp_path: Path
) -> None:
    folder = Path(str(cohort.path), cohort.records[3].key)
    header = json.loads((folder / "zarr.json").read_text())
    del header["attributes"]["checksum"], header["attributes"]["seal"]
    (folder / "zarr.json").write_text(json.dumps(header))
    opened = Cohort.open(str(cohort.path))
    assert opened.records[3].checksum is None
    assert opened.verify() == cohort.fingerprints
    zarr.open_array(folder / "means", mode="r+")[0, 0] = 7.0
    refused("The responses of network 'net/3'", opened, METRIC, store=tmp_path / "s")


def test_a_tile_is_at_most_the_whole_matrix(cohort: Cohort, tmp_path: Path) -> None:
    D = pairwise(cohort, METRIC, store=tmp_path / "s", tile=999_999)
    assert Store(tmp_path / "s").plan.edge == len(cohort)
    np.testing.assert_array_equal(
        D.values, pairwise(cohort, METRIC, store=tmp_path / "t", tile=EDGE).values
    )


def test_identities_differ_in_their_metric_and_in_their_networks() -> None:
    description = {"metric": "gap", "parameters": {"power": 1}, "repshape": "1"}
    one = Identity(description, ("a", "b"), ("1", "2"))
    assert one.difference(one) is None
    for other, words in [
        (
            Identity(description | {"metric": "sum"}, ("a",), ("1",)),
            "the metric was gap and is sum",
        ),
        (
            Identity(description | {"parameters": {"power": 2}}, ("a", "b"), ("1", "2")),
            "the metric's 'power' was 1 and is 2",
        ),
        (Identity(description | {"repshape": "2"}, ("a", "b"), ("1", "2")), "made by repshape 1"),
    ]:
        assert words in str(one.metric_difference(other))
        assert words in str(one.difference(other))
    for labels, fingerprints, words in [
        (("a",), ("1",), "there were 2 networks and are 1"),
        (("a", "c"), ("1", "2"), "network 1 was 'b' and is 'c'"),
        (("a", "b"), ("1", "3"), "the responses of network 'b' have changed"),
    ]:
        other = Identity(description, labels, fingerprints)
        assert one.metric_difference(other) is None
        assert one.difference(other) == words
