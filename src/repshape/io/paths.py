"""Checks of the paths that a user gives, before any work is done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from repshape.errors import InputError, StorageError

PathLike = str | os.PathLike[str]
LONGEST_REASON = 300  # characters of what another library or a file says


def check_suffix(path: PathLike, suffixes: Sequence[str]) -> str:
    """Return the ending of a file name, or raise a sentence that lists the choices.

    >>> check_suffix("d.pkl", (".npz", ".csv"))
    Traceback (most recent call last):
        ...
    repshape.errors.InputError: The name of the file must end in one of '.npz', '.csv'. \
Got 'd.pkl' instead.
    See "Troubleshooting" in the documentation.
    """
    suffix = Path(path).suffix
    if suffix not in suffixes:
        listed = ", ".join(map(repr, suffixes))
        raise InputError(
            f"The name of the file must end in one of {listed}. Got {os.fspath(path)!r} instead."
        )
    return suffix


def check_input_file(path: PathLike) -> Path:
    """Return the path of a file that exists, or raise one clear sentence."""
    file = Path(path)
    if file.is_dir():
        raise StorageError(f"{file} is a directory, not a file.")
    if not file.exists():
        raise StorageError(f"There is no file {file}.")
    return file


def check_output_file(path: PathLike) -> Path:
    """Return the path of a file that can be written, or raise one clear sentence."""
    file = Path(path)
    if file.is_dir():
        raise StorageError(f"Cannot write to {file}: it is a directory.")
    if not file.parent.is_dir():
        raise StorageError(f"Cannot write to {file}: there is no directory {file.parent}.")
    return _check_access(file, file.parent)


def check_output_folder(path: PathLike) -> Path:
    """Return the path of a directory that exists or can be made, or raise one clear sentence."""
    folder = Path(path)
    existing = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not existing.is_dir():
        raise StorageError(f"Cannot write to {folder}: {existing} is a file, not a directory.")
    return _check_access(folder, existing)


def check_separate(outputs: Iterable[PathLike], inputs: Iterable[PathLike]) -> None:
    """Raise one clear sentence if writing the outputs would change an input or another output."""
    written: list[Path] = []
    for target in map(Path, outputs):
        if any(target.absolute() == other.absolute() for other in written):
            raise InputError(f"Two outputs have the same name, {target}.")
        for source in map(Path, inputs):
            if target.exists() and source.exists() and target.samefile(source):
                raise InputError(f"The output {target} is also an input, and would replace it.")
            if (source / "zarr.json").is_file() and source.resolve() in target.resolve().parents:
                raise InputError(f"The output {target} lies inside the input {source}.")
        written.append(target)


def open_file(path: PathLike) -> IO[bytes]:
    """Open a file for reading, or raise one clear sentence."""
    file = check_input_file(path)
    try:
        return open(file, "rb")
    except OSError as error:
        raise StorageError(f"Cannot read {file}: {error.strerror}.") from error


def read_text(path: PathLike) -> str:
    """Return the content of a text file in UTF-8, or raise one clear sentence."""
    with open_file(path) as handle:
        content = handle.read()
    try:
        return content.decode("utf-8-sig")  # spreadsheets begin their files with a byte-order mark
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path} is not text in UTF-8: line {line} has the byte "
            f"0x{content[error.start]:02x}. Save it as UTF-8."
        ) from None


def one_line(error: BaseException) -> str:
    """Return the message of an error of another library as part of a sentence, and not too long.

    >>> one_line(ValueError("unable to   open file."))
    'unable to open file'
    """
    return abridged(" ".join(str(error).split()).rstrip(".") or type(error).__name__)


def abridged(words: str) -> str:
    """Return words that come from a file, cut if they are very long."""
    return words if len(words) <= LONGEST_REASON else f"{words[:LONGEST_REASON]} ..."


def _check_access(target: Path, folder: Path) -> Path:
    if not os.access(folder, os.W_OK):
        raise StorageError(f"Cannot write to {target}: permission denied.")
    return target
