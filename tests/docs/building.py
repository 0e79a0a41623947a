"""Builds the site."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from docs.blocks import ROOT


def build_site(folder: Path) -> Path:
    """Build the site into a folder; warnings end the build, as with --strict."""
    config_module = pytest.importorskip("mkdocs.config")
    pytest.importorskip("material")
    from mkdocs.commands.build import build

    config = config_module.load_config(str(ROOT / "mkdocs.yml"), strict=True, site_dir=str(folder))
    config.plugins.on_startup(command="build", dirty=False)
    try:
        build(config)
    finally:
        config.plugins.on_shutdown()
        logging.getLogger("mkdocs").handlers.clear()
    return folder
