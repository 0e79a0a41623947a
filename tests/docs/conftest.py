"""The built site, once for all tests of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.building import shared_site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_site(tmp_path_factory)
