"""The version is that of the imported code."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import repshape as rs
from repshape._version import source_version

ROOT = Path(__file__).parents[1]


def test_a_source_tree_knows_its_version() -> None:
    """Installed or not: stored results name the version that made them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert rs.__version__ == settings["project"]["version"]


@pytest.mark.parametrize(
    "text",
    [
        None,
        "[project]\nname = 'other'\nversion = '7.0'\n",
        "[project]\nname = 'repshape'\ndynamic = ['version']\n",
        "[tool.ruff]\n",
        "not toml",
    ],
)
def test_other_folders_have_none(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    assert source_version(tmp_path) is None


def test_the_version_is_read_not_remembered(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'repshape'\nversion = '3.2.1'\n")
    assert source_version(tmp_path) == "3.2.1"
