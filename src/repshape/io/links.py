"""Links inside cohorts, stores and Zarr folders: they are refused, and nothing is done through one.

A link that somebody else put into a folder could make repshape read, write or delete files outside
of it. The path that the user gives may itself be a link.
"""

from __future__ import annotations

import os
import shutil
from operator import attrgetter
from pathlib import Path

from repshape.errors import StorageError


def is_link(path: Path) -> bool:
    """Whether a path is a symbolic link or, on Windows, a junction."""
    junction = getattr(os.path, "isjunction", None)  # from Python 3.12 on
    return path.is_symlink() or bool(junction and junction(path))


def refuse_links(path: Path, root: Path) -> None:
    """Raise one sentence if a path, or a folder between it and the root, is a link."""
    between = path.relative_to(root).parts
    if ".." in between:
        raise StorageError(f"{path} is outside {root}.")
    place = root
    for part in between:
        place = place / part
        if is_link(place):
            raise StorageError(
                f"{place} is a link, and links inside {root} are not followed. Replace it with the "
                "file or folder itself."
            )


def list_folder(folder: Path) -> list[Path]:
    """Return what is in a folder, or raise one sentence if there is a link among it."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=attrgetter("name"))
    for one in found:
        junction = getattr(one, "is_junction", None)  # from Python 3.12 on
        if one.is_symlink() or (junction and junction()):
            refuse_links(Path(one), folder)
    return [folder / one.name for one in found]


def remove_folder(folder: Path, root: Path, *, ignore_errors: bool = False) -> None:
    """Delete a folder below the root; links inside it are deleted, and what they name stays."""
    refuse_links(folder, root)
    shutil.rmtree(folder, ignore_errors=ignore_errors)
