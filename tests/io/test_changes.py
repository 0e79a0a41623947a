"""Several processes change one cohort; each test is one order of what they do to files."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from repshape import Cohort
from repshape.errors import InputError, StorageError
from repshape.io import changes, destination, import_cohort, links, network_arrays, records, swaps
from repshape.io.records import BATCH, STALE_SECONDS

pytestmark = pytest.mark.filterwarnings("ignore::repshape.errors.CopyWarning")


def network(value: float, conditions: int = 2) -> np.ndarray:
    return np.full((conditions, 3, 4), value) + np.arange(4)


def value(cohort: Cohort, name: str) -> float:
    return float(cohort[name].means[0, 0])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A cohort of two networks."""
    cohort = Cohort.create(tmp_path / "cohort")
    for name, number in (("a", 1.0), ("b", 2.0)):
        cohort.add(name, network(number))
    return tmp_path / "cohort"


def before(
    patch: pytest.MonkeyPatch, module: Any, name: str, action: Callable[[], object]
) -> list[str]:
    """Do something right before the first call of a function; the list then has an entry."""
    original, done = getattr(module, name), []

    def wrapped(*arguments: Any, **options: Any) -> Any:
        if not done:
            done.append(name)
            action()
        return original(*arguments, **options)

    patch.setattr(module, name, wrapped)
    return done


def folders(path: Path) -> set[str]:
    return {one.name for one in path.iterdir() if one.is_dir()}


def test_adding_a_name_that_was_added_and_replaced_meanwhile_is_refused(path: Path) -> None:
    late = Cohort.open(path)
    other = Cohort.open(path)
    other.add("c", network(3.0))
    other.replace("c", network(4.0))
    with pytest.raises(InputError, match=r"network named 'c', which another process added"):
        late.add("c", network(5.0))
    assert value(Cohort.open(path), "c") == 4
    assert folders(path) == {"a", "b", "c#1"}


def test_the_first_networks_of_two_processes_have_the_same_conditions(tmp_path: Path) -> None:
    first = Cohort.create(tmp_path / "cohort")
    late = Cohort.open(tmp_path / "cohort")
    first.add("a", network(1.0, conditions=2))
    with pytest.raises(InputError, match="same conditions in the same order"):
        late.add("b", network(2.0, conditions=3))
    assert Cohort.open(tmp_path / "cohort").labels == ("a",)


@pytest.mark.parametrize("how", ["replace", "import"])
def test_conditions_are_those_of_networks_that_came_meanwhile(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """All networks were exchanged for others, but for one that is replaced."""
    only = Cohort.open(path)
    only.remove("b")

    def add() -> None:
        Cohort.open(path).add("c", network(3.0))

    np.save(tmp_path / "a.npy", network(9.0, conditions=5))
    if how == "replace":
        add()
        act = partial(only.replace, "a", network(9.0, conditions=5))
    else:
        before(monkeypatch, destination, "save_network", add)
        act = partial(import_cohort, [tmp_path / "a.npy"], path, add=True, replace=["a"])
    with pytest.raises(InputError, match="same conditions in the same order"):
        act()
    assert Cohort.open(path).labels == ("a", "c")
    assert value(Cohort.open(path), "a") == 1


def test_a_replacement_deletes_no_network_that_was_removed_and_added_meanwhile(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it deletes are earlier revisions, and a new network of the name looks like one."""
    Cohort.open(path).replace("a", network(3.0))
    mine = Cohort.open(path)

    def exchange() -> None:
        other = Cohort.open(path)
        other.remove("a")
        other.add("a", network(5.0))

    original = swaps.settle_swap

    def settle(swap: Path) -> bool:
        found = original(swap)
        if not done:  # the lock is held until the replacement is finished
            done.append(swap)
            with pytest.raises(StorageError, match=r"for 0 seconds.*Try again"):
                exchange()
        return found

    done: list[Path] = []
    monkeypatch.setattr(changes, "PATIENCE", 0.0)
    monkeypatch.setattr(swaps, "settle_swap", settle)
    mine.replace("a", network(4.0))
    assert done
    exchange()
    assert value(Cohort.open(path), "a") == 5
    assert folders(path) == {"a", "b"}


@pytest.mark.parametrize("change", ["replace", "remove"])
def test_an_import_that_replaces_what_was_changed_meanwhile_changes_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    for name in ("a", "c"):
        np.save(tmp_path / f"{name}.npy", network(7.0))

    def act() -> None:
        other = Cohort.open(path)
        other.replace("a", network(4.0)) if change == "replace" else other.remove("a")

    done = before(monkeypatch, destination, "save_network", act)
    with pytest.raises(StorageError, match=r"'a'.*replaced or removed by another process"):
        import_cohort([tmp_path / "a.npy", tmp_path / "c.npy"], path, add=True, replace=["a"])
    assert done
    assert Cohort.open(path).labels == (("a", "b") if change == "replace" else ("b",))
    assert not [name for name in folders(path) if name.startswith(".")]


class KilledError(BaseException):
    """Stands for the end of a process."""


def killed(*_: object) -> None:
    raise KilledError


def kill_import(path: Path, tmp_path: Path, patch: pytest.MonkeyPatch, **options: Any) -> None:
    """Import a network "a" or "c", killed right after the batch is decided."""
    name = "a" if options else "c"
    np.save(tmp_path / f"{name}.npy", network(7.0))
    with patch.context() as patched:
        patched.setattr(destination, "install_batch", killed)
        with pytest.raises(KilledError):
            import_cohort([tmp_path / f"{name}.npy"], path, add=True, **options)
    assert any(name.startswith(BATCH) for name in folders(path))


def test_a_killed_import_comes_before_what_is_done_later(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its networks belong to the cohort already, though they are not at their places."""
    late = Cohort.open(path)
    kill_import(path, tmp_path, monkeypatch)
    with pytest.raises(InputError, match="already has a network named 'c'"):
        late.add("c", network(8.0))
    assert value(Cohort.open(path), "c") == 7


@pytest.mark.parametrize("change", ["replace", "remove"])
def test_what_a_killed_import_has_replaced_cannot_be_changed_as_it_was(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    late = Cohort.open(path)
    kill_import(path, tmp_path, monkeypatch, replace=["a"])
    with pytest.raises(StorageError, match=r"'a'.*replaced or removed by another process"):
        late.remove("a") if change == "remove" else late.replace("a", network(8.0))
    again = Cohort.open(path)
    assert value(again, "a") == 7
    again.remove("a")
    assert Cohort.open(path).labels == ("b",)
    assert folders(path) == {"b"}


def test_a_process_that_wakes_after_days_loses_only_its_own_change(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opens the cohort meanwhile deletes what looks forgotten, and nothing else."""
    mine = Cohort.open(path)

    def sleep() -> None:
        swap = next(one for one in path.iterdir() if one.name.startswith(swaps.SWAP))
        long_ago = time.time() - 2 * STALE_SECONDS
        os.utime(swap, (long_ago, long_ago))
        assert Cohort.open(path).labels == ("a", "b")

    before(monkeypatch, swaps, "move_away", sleep)
    with pytest.raises(StorageError):
        mine.replace("a", network(9.0))
    assert value(Cohort.open(path), "a") == 1
    assert folders(path) == {"a", "b"}


def test_a_process_that_wakes_while_its_files_are_deleted_keeps_its_change(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = Cohort.open(path)
    with monkeypatch.context() as patch:
        patch.setattr(swaps, "move_away", killed)
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(KilledError):
            mine.replace("a", network(9.0))
    swap = next(one for one in path.iterdir() if one.name.startswith(swaps.SWAP))
    long_ago = time.time() - 2 * STALE_SECONDS
    os.utime(swap, (long_ago, long_ago))
    before(monkeypatch, records, "_forget", lambda: (path / "a").rename(swap / swaps.OLD))
    Cohort.open(path)
    assert value(Cohort.open(path), "a") == 9
    assert folders(path) == {"a#1", "b"}


def test_a_listing_that_another_process_overtakes_misses_no_network(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large folder is listed in parts: between them, a network may move to the other part."""
    original, parts = links.list_folder, []

    def overtaken(folder: Path) -> list[Path]:
        if folder != path or parts:
            return original(folder)
        parts.append(folder)
        first = [one for one in original(folder) if one.name != "a"]
        Cohort.open(path).replace("a", network(6.0))
        return first

    monkeypatch.setattr(records, "list_folder", overtaken)
    assert Cohort.open(path).labels == ("a", "b")
    assert parts


def test_one_process_at_a_time_changes_a_cohort(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "PATIENCE", 0.0)
    with changes.alone(path):
        assert Cohort.open(path).labels == ("a", "b")  # readers do not wait
        for act in (
            lambda cohort: cohort.add("c", network(3.0)),
            lambda cohort: cohort.replace("a", network(3.0)),
            lambda cohort: cohort.remove("a"),
        ):
            with pytest.raises(StorageError, match=r"Another process has been changing .*cohort"):
                act(Cohort.open(path))
    Cohort.open(path).remove("a")
    assert folders(path) == {"b"}


def test_opening_does_not_fail_because_another_process_changes_a_network(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after the folders were listed; they are listed again."""
    other = Cohort.open(path)
    done = before(monkeypatch, records, "read_record", lambda: other.replace("a", network(4.0)))
    assert value(Cohort.open(path), "a") == 4
    assert done


def test_opening_fails_because_of_a_damaged_record(path: Path) -> None:
    (path / "a" / "zarr.json").write_text("{")
    with pytest.raises(StorageError, match=r"a.zarr.json is damaged"):
        Cohort.open(path)


def test_a_network_that_moves_before_its_arrays_are_read_is_not_called_damaged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cohort, other = Cohort.open(path), Cohort.open(path)
    act = partial(other.replace, "a", network(4.0))
    before(monkeypatch, network_arrays, "_read_network", act)
    with pytest.raises(StorageError, match=r"a disappeared while it was read.*Open the cohort"):
        cohort["a"]


def test_of_two_networks_for_one_place_the_first_stays(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are no locks, an import and a replacement may be decided at the same time."""
    mine = Cohort.open(path)
    kill_import(path, tmp_path, monkeypatch, replace=["a"])
    batch = next(one for one in path.iterdir() if one.name.startswith(BATCH))
    shutil.copytree(batch, tmp_path / "batch")
    shutil.rmtree(batch)
    with monkeypatch.context() as patch:
        patch.setattr(swaps, "settle_swap", killed)
        with pytest.raises(KilledError):
            mine.replace("a", network(4.0))
    shutil.move(tmp_path / "batch", batch)
    assert value(Cohort.open(path), "a") in (4, 7)
    assert folders(path) == {"a#1", "b"}
    Cohort.open(path).remove("a")
    assert Cohort.open(path).labels == ("b",)


def test_where_there_are_no_locks_changes_are_made_all_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    cohort = Cohort.open(path)
    cohort.add("c", network(3.0))
    cohort.replace("a", network(4.0))
    cohort.remove("b")
    assert Cohort.open(path).labels == ("a", "c")


def test_a_lock_does_not_stay_with_a_process_that_was_forked_meanwhile(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork shares the open file, as a duplicate of its number does."""
    opened, shared = changes._opened, []

    def sharing(path: Path) -> int:
        handle = opened(path)
        shared.append(os.dup(handle))
        return handle

    monkeypatch.setattr(changes, "_opened", sharing)
    monkeypatch.setattr(changes, "PATIENCE", 0.0)
    Cohort.open(path).remove("a")
    Cohort.open(path).remove("b")
    assert Cohort.open(path).labels == ()
    for handle in shared:
        os.close(handle)


@pytest.mark.parametrize("damaged", [False, True])
def test_a_network_that_is_removed_and_added_while_it_is_read_is_not_mistaken_for_the_old_one(
    path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    cohort, other = Cohort.open(path), Cohort.open(path)

    def act() -> None:
        other.remove("a")
        other.add("a", network(4.0))
        if damaged:  # as it may look between two reads
            shutil.rmtree(path / "a" / "trials")

    before(monkeypatch, network_arrays, "_read_network", act)
    with pytest.raises(StorageError, match=r"a disappeared while it was read.*Open the cohort"):
        cohort["a"]


def test_a_network_that_has_gone_before_it_is_read_is_not_called_damaged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cohort, other = Cohort.open(path), Cohort.open(path)
    before(monkeypatch, network_arrays, "_state", lambda: other.replace("a", network(4.0)))
    with pytest.raises(StorageError, match=r"a disappeared while it was read.*Open the cohort"):
        cohort["a"]


@pytest.mark.parametrize("means", [False, True])
def test_a_network_that_was_removed_and_added_before_it_is_read_is_not_called_damaged(
    path: Path, means: bool
) -> None:
    cohort, other = Cohort.open(path), Cohort.open(path)
    other.remove("a")
    other.add("a", network(4.0)[:, 0] if means else network(4.0))
    with pytest.raises(StorageError, match=r"a disappeared while it was read.*Open the cohort"):
        cohort["a"]
