"""A session in NWB, written once."""

from __future__ import annotations

from pathlib import Path

import pytest

from nwb_support import Session, write_session


@pytest.fixture(scope="session")
def allen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Session]:
    path = tmp_path_factory.mktemp("nwb") / "715093703.nwb"
    return path, write_session(path)
