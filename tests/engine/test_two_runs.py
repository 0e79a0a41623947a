"""Two runs on one store: they share it, one waits, or one is refused; nothing is lost."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from repshape import Cohort, DistanceMatrix, GaussianShapeMetric, cli, pairwise
from repshape.engine import growth
from repshape.engine import store as module
from repshape.engine.growth import Form, discard_sources, open_store
from repshape.engine.store import Store, read_steadily
from repshape.errors import InputError, StorageError
from repshape.metrics.identity import describe
from repshape.store.identity import Identity
from repshape.store.lease import FOLDER

METRIC = GaussianShapeMetric(2.0)
NETWORKS = dict(zip("abcdefgh", np.random.default_rng(0).normal(size=(8, 3, 2, 2)), strict=True))


def some(names: str) -> dict[str, Any]:
    return {name: NETWORKS[name] for name in names}


def run(names: str, store: Path, **options: Any) -> DistanceMatrix:
    options = {"polish": False, "tile": 2, "workers": 1, "progress": False} | options
    return pairwise(some(names), METRIC, store=store, **options)


@contextmanager
def another_run(names: str, store: Path) -> Iterator[Store]:
    """A run that has opened the store, and computes nothing for the time being."""
    cohort = Cohort.from_networks(some(names))
    identity = Identity(describe(METRIC), cohort.labels, cohort.fingerprints)
    opened = open_store(store, identity, cohort.metadata, Form(2, None, 2, bounded=True))
    assert opened.lease is not None
    with opened.lease:
        yield opened


@pytest.fixture
def store(tmp_path: Path) -> Path:
    run("abcde", tmp_path / "s")
    return tmp_path / "s"


@pytest.mark.parametrize("held", ["abcde", "abcdef", "abcdeh"])
def test_a_run_with_other_networks_is_refused_while_another_one_works(
    store: Path, held: str
) -> None:
    before = DistanceMatrix.load(store)
    with another_run(held, store):
        with pytest.raises(
            StorageError,
            match=r"s cannot be continued: (process \d+ on \S+ is working on it|it has)",
        ):
            run("abcdefg", store)
        assert Store(store).identity.labels == tuple(held)
        np.testing.assert_array_equal(
            DistanceMatrix.load(store)[list("abcde")].values, before.values
        )
    kept = "".join(dict.fromkeys(held + "abcdefg"))
    D = run(kept, store)
    assert D.complete
    np.testing.assert_array_equal(D.values, pairwise(some(kept), METRIC, polish=False).values)
    assert not (store / FOLDER).exists()


def test_a_run_that_waits_continues_when_the_other_one_ends(store: Path) -> None:
    found = []
    with another_run("abcdef", store):
        waiting = threading.Thread(target=lambda: found.append(run("abcdefg", store, wait=600.0)))
        waiting.start()
        run("abcdef", store)  # the other one's networks: it need not wait
        assert Store(store).identity.labels == tuple("abcdef")
    waiting.join(600)
    assert found[0].complete
    assert Store(store).identity.labels == tuple("abcdefg")
    with pytest.raises(InputError, match="'wait' parameter must be a float in"):
        run("abcdefg", store, wait=-1.0)


def test_a_run_of_some_networks_waits_until_the_store_is_finished(store: Path) -> None:
    found = []
    with another_run("abcdefg", store):
        with pytest.raises(StorageError, match="is not finished, and has networks that the cohort"):
            run("abcdef", store)
        waiting = threading.Thread(target=lambda: found.append(run("abcdef", store, wait=600.0)))
        waiting.start()
        run("abcdefg", store)
        waiting.join(600)
    assert found[0].labels == tuple("abcdef")
    assert found[0].complete
    with another_run("abcdefgh", store):
        pass
    with pytest.raises(StorageError, match="is not finished, and has networks that the cohort"):
        run("abcdef", store, wait=600.0)  # nobody works on it


def test_the_attributes_of_the_first_generation_are_read_once(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two looks at them, another run may have replaced them."""
    reading, names = module.read_header, iter(["abcdef"])

    def late(*given: Any) -> Any:
        header = reading(*given)
        for more in names:
            run(more, store)
        return header

    monkeypatch.setattr(module, "read_header", late)
    assert DistanceMatrix.load(store).labels == tuple("abcdef")


def test_a_run_whose_networks_another_one_has_added_meanwhile_reads_them(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its plan and its first look at the store, another run adds more networks."""
    opening = growth._enter

    def late(*given: Any) -> Any:
        monkeypatch.setattr(growth, "_enter", opening)
        run("gabcdef", store)
        return opening(*given)

    monkeypatch.setattr(growth, "_enter", late)
    D = run("abcdef", store)
    assert D.labels == tuple("abcdef")
    np.testing.assert_array_equal(D.values, pairwise(some("abcdef"), METRIC, polish=False).values)
    assert Store(store).identity.labels == tuple("gabcdef")


def test_earlier_generations_stay_as_long_as_another_run_may_need_them(store: Path) -> None:
    with another_run("abcdef", store) as other:
        assert run("abcdef", store).complete
        assert (store / "tiles").is_dir()
        known = other.known(other.plan.tiles[0].pairs, polished=False)
        assert known is not None
        assert known.found.all()
        discard_sources(other)  # alone again
        assert not (store / "tiles").exists()
    assert run("abcdef", store).complete


def test_a_run_that_lost_the_store_starts_again_and_overwrites_nothing(store: Path) -> None:
    """Such as one whose machine was suspended for long."""
    with another_run("abcdef", store) as other:
        for file in (store / FOLDER).iterdir():
            file.unlink()
        D = run("abcdefg", store)
        with pytest.raises(StorageError, match="has lost its lease"):
            other.write(0, other.plan.tiles[0], None)  # type: ignore[arg-type]
        with pytest.raises(StorageError, match="Another run has changed"):
            discard_sources(other)
    assert Store(store).identity.labels == tuple("abcdefg")
    np.testing.assert_array_equal(DistanceMatrix.load(store).values, D.values)


def test_a_reader_looks_again_if_the_store_changes_meanwhile(store: Path) -> None:
    names = iter(["abcdef", "abcdefg"])

    def read(opened: Store) -> DistanceMatrix:
        for more in names:
            run(more, store)  # and deletes what was opened
            break
        return opened.identity.labels, opened.latest().distance  # type: ignore[return-value]

    labels, values = read_steadily(store, read)  # type: ignore[misc]
    assert labels == tuple("abcdefg")
    assert not np.isnan(values).any()


def test_refused_runs_leave_no_lease(store: Path) -> None:
    for names, words in [("abcdfg", "which the cohort lacks"), ("abcdef", "keeps no alignments")]:
        with pytest.raises(StorageError, match=words):
            run(names, store, polish=words.startswith("keeps"))
        assert not (store / FOLDER).exists()


def test_the_command_line_names_the_other_run(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Cohort.from_networks(some("abcdefg")).save(tmp_path / "cohort")
    command = ["pairwise", str(tmp_path / "cohort"), "-o", str(store), "--alpha", "2"]
    command += ["--no-polish", "--quiet"]
    with another_run("abcdef", store):
        assert cli.run([*command, "--wait", "0.01"]) == 1
        words = " ".join(capsys.readouterr().err.split())
        assert f"process {os.getpid()} on " in words
        assert "is working on it, with other networks." in words
        assert cli.run([*command, "--wait", "-1"]) == 2
    assert cli.run(command) == 0
    assert len(DistanceMatrix.load(store)) == 7
