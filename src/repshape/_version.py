"""The version of the code that runs."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def package_version() -> str:
    """Return the version of the imported source tree, or else of the installed package."""
    # The tree comes first: the metadata of an editable install is as old as its installation.
    return source_version(Path(__file__).parents[2]) or _installed_version()


def source_version(root: Path) -> str | None:
    """Return the version in the settings of a repshape source tree; None if it is not one."""
    try:
        text = (root / "pyproject.toml").read_text(encoding="utf-8")
    except OSError:
        return None
    import tomllib  # not needed, and slow to import, in an installed package

    try:
        project = tomllib.loads(text)["project"]
        return str(project["version"]) if project["name"] == "repshape" else None
    except (ValueError, KeyError):
        return None


def _installed_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("repshape")
    except PackageNotFoundError:
        return "unknown"
