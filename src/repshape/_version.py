"""The version of the installed package."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def package_version() -> str:
    """Return the installed version, or ``"unknown"`` when run from a bare source tree."""
    try:
        return version("repshape")
    except PackageNotFoundError:
        return "unknown"
