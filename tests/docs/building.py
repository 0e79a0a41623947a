"""Builds the site."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from filelock import FileLock

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


def shared_site(factory: pytest.TempPathFactory) -> Path:
    """Return the site, built once for all processes of a test run.

    It is kept in the folder that REPSHAPE_SITE names, if this is set.
    """
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder, done = Path(os.environ.get("REPSHAPE_SITE", root / "site")), root / "site.done"
    with FileLock(root / "site.lock"):
        if not done.exists():
            build_site(folder)
            done.touch()
    return folder
