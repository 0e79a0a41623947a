"""Files of a study: each is either complete or absent, so a run may be stopped at any moment.

A study has a folder with ``settings.json`` and one folder for each network. A network is finished
once its ``record.json`` is there, which is written last.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from repshape.errors import StorageError

SETTINGS = "settings.json"
NETWORKS = "networks"
RECORD = "record.json"
WEIGHTS = "weights.npz"
TEMPORARY_SUFFIX = ".tmp"


@contextmanager
def write_whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that is renamed to ``path`` once the body has finished."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}{TEMPORARY_SUFFIX}")
    try:
        with temporary.open("xb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays to an .npz file."""
    with write_whole(path) as handle:
        np.savez(handle, allow_pickle=False, **arrays)


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON."""
    with write_whole(path) as handle:
        handle.write((json.dumps(value, indent=2, allow_nan=False) + "\n").encode())


def prepare_network_folder(folder: Path) -> None:
    """Make the folder of a network, and remove what a killed run left incomplete."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob(f".*{TEMPORARY_SUFFIX}"):
        path.unlink()


def claim_folder(out: Path, summary: Mapping[str, Any], key: str) -> None:
    """Write the settings into a study's folder, or raise if it was made with others.

    Parameters
    ----------
    out : Path
    summary : mapping
        What is written.
    key : str
        The entry of the summary that must not differ. Other entries may.
    """
    path = out / SETTINGS
    written = json.loads(json.dumps(summary))  # as it will be read: with lists
    if not path.exists():
        out.mkdir(parents=True, exist_ok=True)
        write_json(path, written)
    elif json.loads(path.read_text())[key] != written[key]:
        raise StorageError(f"{out} has networks of other settings. Choose another folder.")
