"""Leases: who holds a store, who is dead, and who has to stop."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from repshape.errors import StorageError
from repshape.store import lease
from repshape.store.lease import EXPIRY, FOLDER, Holder, Lease


def names(store: Path) -> list[str]:
    return sorted(one.name for one in store.glob(f"{FOLDER}/*"))


def leave(store: Path, holder: Holder, silence: float = 0.0) -> Path:
    """Put the file of another run into a store, untouched for some seconds."""
    (store / FOLDER).mkdir(exist_ok=True)
    file = store / FOLDER / holder.name
    file.touch()
    last = file.stat().st_mtime - silence
    os.utime(file, (last, last))
    return file


def elsewhere(mode: Any = "shared") -> Holder:
    here = Holder.here(mode)
    return Holder(here.token, here.pid, here.started, "0" * 12, "far%2Daway", mode)


def test_runs_share_a_store_and_one_changes_it_alone(tmp_path: Path) -> None:
    with Lease(tmp_path) as first, Lease(tmp_path) as second, Lease(tmp_path) as third:
        assert first.share() is None
        assert second.share() is None
        holder = third.take()
        assert holder is not None
        assert str(holder).startswith(f"process {os.getpid()} on ")
        second.release()
        assert len(names(tmp_path)) == 1
        assert first.take() is None  # besides its shared lease
        for other in (third.share(), third.take()):
            assert other is not None
        first.give_back()
        assert third.share() is None
    assert not (tmp_path / FOLDER).exists()


def test_of_two_runs_that_want_a_store_alone_one_is_told_of_the_other(tmp_path: Path) -> None:
    with Lease(tmp_path) as first, Lease(tmp_path) as second:
        assert first.take() is None
        holder = second.take()
        assert holder is not None
        assert holder.mode == "alone"
        first.settle()
        assert second.share() is None
        first.check()
        second.check()


def test_a_run_that_holds_a_store_alone_keeps_it_whatever_others_try(tmp_path: Path) -> None:
    """A run that was about to share looked at others, and withdrew."""
    with Lease(tmp_path) as first:
        assert first.take() is None
        leave(tmp_path, elsewhere("alone"))  # of a run that has not looked yet
        first.settle()
        first.check()


@pytest.mark.parametrize(
    ("silence", "alive"), [(0.0, True), (EXPIRY / 2, True), (EXPIRY + 60, False)]
)
def test_a_run_on_another_machine_is_dead_after_a_long_silence(
    tmp_path: Path, silence: float, alive: bool
) -> None:
    file = leave(tmp_path, elsewhere(), silence)
    with Lease(tmp_path) as mine:
        holder = mine.take()
        assert (holder is not None) == alive == file.exists()
        assert holder is None or str(holder).endswith("on far-away")


@pytest.mark.skipif(sys.platform != "linux", reason="start times of processes")
def test_a_dead_process_of_this_machine_holds_nothing(tmp_path: Path) -> None:
    here = Holder.here("shared")
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    gone = Holder("a1", process.pid, 1, here.machine, here.host, "shared")
    later = Holder("a2", os.getppid(), 1, here.machine, here.host, "alone")  # the same number
    ended = Holder("a3", here.pid, here.started, here.machine, here.host, "shared")
    files = [leave(tmp_path, one) for one in (gone, later, ended)]
    with Lease(tmp_path) as mine:
        assert mine.take() is None
        assert not any(file.exists() for file in files)


@pytest.mark.skipif(sys.platform != "linux", reason="start times of processes")
def test_a_live_process_holds_its_lease_however_long_it_is_silent(tmp_path: Path) -> None:
    parent = os.getppid()
    _, started = lease._state_of(parent) or ("", 0)
    here = Holder.here("shared")
    leave(tmp_path, Holder("a1", parent, started, here.machine, here.host, "shared"), 10 * EXPIRY)
    with Lease(tmp_path) as mine:
        assert str(mine.take()).startswith(f"process {parent} on")


def test_a_run_that_lost_its_lease_may_not_write(tmp_path: Path) -> None:
    with Lease(tmp_path) as mine:
        mine.share()
        mine.check()
        (tmp_path / FOLDER / names(tmp_path)[0]).unlink()
        with pytest.raises(StorageError, match=r"has lost its lease of .* run the same command ag"):
            mine.check()


def refuse(*_: Any, **__: Any) -> Any:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_a_disk_that_cannot_be_written_is_told_at_the_first_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lease(tmp_path) as mine:
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", refuse)
            assert mine.share() is None
            with pytest.raises(StorageError, match="the file system is read-only"):
                mine.take()
        with pytest.raises(StorageError, match=r"the file system is read-only\. More\."):
            mine.check("More.")
        assert mine.share() is None
        mine.check()


def test_a_lease_that_could_not_be_deleted_does_not_block_its_own_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = Lease(tmp_path)
    mine.share()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        mine.release()
    assert len(names(tmp_path)) == 1
    with Lease(tmp_path) as again:
        assert again.take() is None


def test_a_run_shows_that_it_is_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "HEARTBEAT", 0.001)
    with Lease(tmp_path) as mine:
        mine.share()
        (file,) = (tmp_path / FOLDER).iterdir()
        os.utime(file, (1.0, 1.0))
        while file.stat().st_mtime == 1.0:
            pass


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    for name in ("notes.txt", "a-b-c-d-e.shared", ".nfs0001"):
        (tmp_path / FOLDER / name).touch()
    with Lease(tmp_path) as mine:
        assert mine.take() is None
    assert len(names(tmp_path)) == 3
