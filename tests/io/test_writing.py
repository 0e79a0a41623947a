"""Files that are written whole or not at all, also on a disk that refuses."""

from __future__ import annotations

import builtins
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from repshape.cli import run
from repshape.errors import StorageError
from repshape.io.tables import write_table
from repshape.matrix.distances import DistanceMatrix
from repshape.report import write_report

D = DistanceMatrix([[0.0, 1.0], [1.0, 0.0]], labels=["a", "b"])
TABLE = pd.DataFrame({"x0": [0.0, 1.0]}, index=["a", "b"])
WRITERS: dict[str, Callable[[Path], Any]] = {
    "d.npz": D.save,
    "d.csv": D.save,
    "t.csv": lambda path: write_table(path, TABLE, {}),
    "t.npz": lambda path: write_table(path, TABLE, {}),
    "t.json": lambda path: write_table(path, TABLE, {}),
    "report.html": lambda path: write_report(D, path),
}


def refuse_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    def sync(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", sync)


def refuse_new_files(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.open

    def opened(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if "x" in mode:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(file))
        return real(file, mode, *rest, **named)

    monkeypatch.setattr(builtins, "open", opened)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(
    ("refuse", "words"),
    [(refuse_sync, "the disk is full"), (refuse_new_files, "the file system is read-only")],
    ids=["full", "read-only"],
)
def test_a_disk_that_refuses_is_one_sentence_and_keeps_the_old_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    refuse: Callable[[pytest.MonkeyPatch], None],
    words: str,
) -> None:
    path = tmp_path / name
    path.write_text("old")
    refuse(monkeypatch)
    with pytest.raises(StorageError) as raised:
        WRITERS[name](path)
    assert str(raised.value) == f"Cannot write to {path}: {words}."
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_a_command_on_a_full_disk_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    D.save(tmp_path / "d.npz")
    out = tmp_path / "repaired.json"
    refuse_sync(monkeypatch)
    assert run(["repair", str(tmp_path / "d.npz"), "-o", str(out)]) == 1
    assert f"Cannot write to {out}: the disk is full." in capsys.readouterr().err
