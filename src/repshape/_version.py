"""The version of the code that runs."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@cache
def package_version() -> str:
    """Return the version of the source tree that is imported, or else the installed one."""
    # The tree first: metadata of an editable install is as old as its last installation.
    return source_version(Path(__file__).parents[2]) or _installed_version()


def source_version(root: Path) -> str | None:
    """Return the version in the settings of a source tree of ours; None if it is not one."""
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return str(project["version"]) if project["name"] == "repshape" else None
    except (OSError, ValueError, KeyError):
        return None


def _installed_version() -> str:
    try:
        return version("repshape")
    except PackageNotFoundError:
        return "unknown"
