"""NWB files in Zarr give what the same session gives in HDF5."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import repshape as rs
from nwb_support import N_UNITS, Session
from repshape.errors import InputError
from repshape.io.nwb_zarr import ZarrGroup

Allen = tuple[Path, Session]
ZARR = Path(__file__).parents[1] / "nwb_session.zarr.zip"


@pytest.fixture
def zarr_session(tmp_path: Path) -> Path:
    with zipfile.ZipFile(ZARR) as archive:
        archive.extractall(tmp_path)
    return tmp_path / "session.nwb.zarr"


@pytest.mark.parametrize("stimulus", ["natural_scenes", "static_gratings"])
def test_the_same_as_from_hdf5(stimulus: str, allen: Allen, zarr_session: Path) -> None:
    found, wanted = (
        rs.io.read_allen(path, stimulus, keep_blanks=True) for path in (zarr_session, allen[0])
    )
    assert found.conditions == wanted.conditions
    assert found.neurons == wanted.neurons
    np.testing.assert_array_equal(found.pooled, wanted.pooled)
    np.testing.assert_array_equal(found.n_dropped, wanted.n_dropped)
    assert found.fingerprint == wanted.fingerprint


def test_the_fixture_is_small() -> None:
    assert ZARR.stat().st_size < 1e6


def pickled(folder: Path, chunks: list[bytes], size: int) -> None:
    settings = {"chunks": [size], "compressor": None, "dtype": "|O", "fill_value": 0}
    settings |= {"filters": [{"id": "pickle"}], "order": "C", "shape": [N_UNITS]}
    text = str(settings | {"zarr_format": 2}).replace("'", '"').replace("None", "null")
    (folder / ".zarray").write_text(text)
    for k, chunk in enumerate(chunks):
        (folder / str(k)).write_bytes(chunk)


def test_pickled_text_of_older_writers(zarr_session: Path) -> None:
    """Chunks of 10 units, of which the last is filled up with zeros."""
    quality = [str(one) for one in ZarrGroup(zarr_session)["units/quality"][slice(None)]]
    wanted = rs.io.read_allen(zarr_session)
    padded = np.array([*quality, *[0] * 6], dtype=object)
    chunks = [pickle.dumps(one) for one in np.split(padded, 3)]
    pickled(zarr_session / "units/quality", chunks, 10)
    np.testing.assert_array_equal(rs.io.read_allen(zarr_session).pooled, wanted.pooled)
    part = ZarrGroup(zarr_session)["units/quality"][slice(8, 22)]
    assert part.tolist() == quality[8:22]


@pytest.mark.parametrize("content", [print, np.array([print, 1.5], dtype=object), [1]])
def test_other_pickles_are_refused(content: Any, zarr_session: Path) -> None:
    pickled(zarr_session / "units/quality", [pickle.dumps(content)], N_UNITS)
    with pytest.raises(InputError, match=r"must not contain builtins\.print|must hold text"):
        rs.io.read_allen(zarr_session)


def test_a_folder_that_is_no_group(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a Zarr group of format 2"):
        rs.io.read_allen(tmp_path)


def test_a_missing_chunk(zarr_session: Path) -> None:
    (zarr_session / "units/quality/0").unlink()
    with pytest.raises(InputError, match="quality/0 is missing"):
        rs.io.read_allen(zarr_session)
