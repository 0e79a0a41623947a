"""Checks of the files that a user names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from repshape.errors import InputError, StorageError
from repshape.io.paths import (
    check_input_file,
    check_output_file,
    check_output_folder,
    check_separate,
    open_file,
    read_text,
)


def test_a_file_can_be_new_or_there(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("")
    for name in ("old.csv", "new.csv"):
        assert check_output_file(tmp_path / name) == tmp_path / name


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    with pytest.raises(StorageError, match=r"Cannot write to .*: it is a directory\."):
        check_output_file(tmp_path)
    for parent in ("missing", "a file"):
        with pytest.raises(StorageError, match=rf"Cannot write to .*: there is no .*{parent}\."):
            check_output_file(tmp_path / parent / "d.csv")


def test_a_directory_may_have_missing_parents(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    assert check_output_folder(tmp_path / "new" / "deep") == tmp_path / "new" / "deep"
    assert check_output_folder(tmp_path) == tmp_path
    for name in ("a file", "a file/deep"):
        with pytest.raises(StorageError, match=r"a file is a file, not a directory\."):
            check_output_folder(tmp_path / name)


def test_a_directory_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # as root, all is allowed
    with pytest.raises(StorageError, match="permission denied"):
        check_output_file(tmp_path / "d.csv")
    with pytest.raises(StorageError, match="permission denied"):
        check_output_folder(tmp_path / "new")


def test_an_output_that_is_an_input_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "d.npz"
    source.write_text("")
    (tmp_path / "link.npz").symlink_to(source)
    (tmp_path / "same.npz").hardlink_to(source)
    (tmp_path / "sub").mkdir()
    for name in ("d.npz", "link.npz", "same.npz", "sub/../d.npz"):
        with pytest.raises(InputError, match="is also an input"):
            check_separate([tmp_path / name], [source])
    check_separate([tmp_path / "other.npz"], [source, tmp_path / "missing"])


def test_an_output_inside_a_cohort_or_store_is_refused(tmp_path: Path) -> None:
    store, folder = tmp_path / "store", tmp_path / "folder"
    for one in (store, folder):
        one.mkdir()
    (store / "zarr.json").write_text("{}")
    with pytest.raises(InputError, match="lies inside the input"):
        check_separate([store / "deep" / "d.npz"], [store])
    check_separate([folder / "d.npz"], [folder])  # a directory of stores may hold other files


def test_two_outputs_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="same name"):
        check_separate([tmp_path / "a.csv", tmp_path / "a.csv"], [])


def test_an_input_must_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is a directory, not a file"):
        check_input_file(tmp_path)
    with pytest.raises(StorageError, match="There is no file"):
        open_file(tmp_path / "none")


def test_text_must_be_utf8(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"a\nb\xe9\n")
    with pytest.raises(InputError, match="not text in UTF-8: line 2 has the byte 0xe9"):
        read_text(tmp_path / "t")
    (tmp_path / "t").write_bytes("\ufeffa\r\né".encode())  # as a spreadsheet saves it
    assert read_text(tmp_path / "t") == "a\r\né"
