"""Files are complete or absent, and a folder keeps to one set of settings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from experiments.common.files import (
    claim_folder,
    prepare_network_folder,
    write_arrays,
    write_json,
    write_whole,
)

from repshape.errors import StorageError


def fail(path: Path) -> None:
    with write_whole(path) as handle:
        handle.write(b"half")
        raise KeyboardInterrupt


def test_interrupted_write_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(KeyboardInterrupt):
        fail(path)
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        fail(path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"file": b"old"}


def test_file_takes_its_name_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with write_whole(path) as handle:
        handle.write(b"new")
        assert path.read_bytes() == b"old"
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"file": b"new"}


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    write_arrays(tmp_path / "arrays.npz", {"a": np.arange(3)})
    assert np.load(tmp_path / "arrays.npz")["a"].tolist() == [0, 1, 2]
    write_json(tmp_path / "record.json", {"name": "x"})
    assert json.loads((tmp_path / "record.json").read_text()) == {"name": "x"}
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "record.json", float("nan"))
    assert json.loads((tmp_path / "record.json").read_text()) == {"name": "x"}


def test_incomplete_files_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "networks" / "x"
    prepare_network_folder(folder)
    for name in (".weights.npz.0.tmp", "weights.npz", ".hidden"):
        (folder / name).touch()
    prepare_network_folder(folder)
    assert {path.name for path in folder.iterdir()} == {"weights.npz", ".hidden"}


def test_folder_keeps_to_its_settings(tmp_path: Path) -> None:
    out = tmp_path / "study"
    claim_folder(out, {"settings": {"taus": (0.1, 0.2)}, "chosen": "a"}, "settings")
    claim_folder(out, {"settings": {"taus": (0.1, 0.2)}, "chosen": "b"}, "settings")
    with pytest.raises(StorageError, match="other settings"):
        claim_folder(out, {"settings": {"taus": (0.1,)}, "chosen": "a"}, "settings")
    assert json.loads((out / "settings.json").read_text())["chosen"] == "a"
