"""NWB files in Zarr give what the same session gives in HDF5."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import repshape as rs
from nwb_support import N_UNITS, Session
from repshape.errors import InputError, StorageError
from repshape.io.nwb_zarr import ZarrGroup, decode_texts

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


def change_settings(array: Path, **changes: Any) -> None:
    settings = json.loads((array / ".zarray").read_text())
    (array / ".zarray").write_text(json.dumps(settings | changes))


class Command:
    """Makes a file when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self.canary}",)


@pytest.mark.parametrize("array", ["units/quality", "units/id", "units/spike_times"])
@pytest.mark.parametrize("place", ["compressor", "filters"])
def test_no_code_of_a_file_is_run(
    array: str, place: str, zarr_session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pickles = pytest.importorskip("numcodecs.pickles")
    monkeypatch.setattr(pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    codec = {"id": "pickle"}
    change_settings(zarr_session / array, **{place: codec if place == "compressor" else [codec]})
    for chunk in (zarr_session / array).glob("[0-9]*"):
        chunk.write_bytes(pickle.dumps(Command(tmp_path / "canary")))
    with pytest.raises(InputError, match=rf"{array}/\.zarray is not read: .*'pickle'"):
        rs.io.read_allen(zarr_session)
    assert not (tmp_path / "canary").exists()


def test_pickled_text_of_older_writers_is_refused(zarr_session: Path) -> None:
    folder = zarr_session / "units/quality"
    change_settings(folder, compressor=None, filters=[{"id": "pickle"}])
    (folder / "0").write_bytes(pickle.dumps(np.array(["good"] * N_UNITS, dtype=object)))
    with pytest.raises(InputError, match="text must be stored as 'vlen-utf8'"):
        rs.io.read_allen(zarr_session)


def test_text_in_several_chunks(zarr_session: Path) -> None:
    """Chunks of 10 units, of which the last is filled up with empty texts."""
    folder = zarr_session / "units/quality"
    quality = [str(one) for one in ZarrGroup(zarr_session)["units/quality"][slice(None)]]
    padded = [*quality, *[""] * 6]
    change_settings(folder, compressor=None, chunks=[10])
    for k in range(3):
        (folder / str(k)).write_bytes(encode_texts(padded[10 * k : 10 * k + 10]))
    part = ZarrGroup(zarr_session)["units/quality"][slice(8, 22)]
    assert part.tolist() == quality[8:22]


def encode_texts(texts: list[str]) -> bytes:
    parts = [len(texts).to_bytes(4, "little")]
    for one in texts:
        parts += [len(one.encode()).to_bytes(4, "little"), one.encode()]
    return b"".join(parts)


WHOLE = encode_texts(["good"] * N_UNITS)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        WHOLE[:-1],
        WHOLE[:6],
        b"\xff" * 4 + WHOLE[4:],
        WHOLE[:4] + b"\xff" * 4 + WHOLE[8:],
        WHOLE.replace(b"good", b"g\xff\xffd"),
        encode_texts(["good"]),
    ],
)
def test_damaged_text_is_refused(content: bytes, zarr_session: Path) -> None:
    change_settings(zarr_session / "units/quality", compressor=None)
    (zarr_session / "units/quality/0").write_bytes(content)
    with pytest.raises(InputError, match="quality/0 must hold 24 texts"):
        rs.io.read_allen(zarr_session)


def test_text_decodes_as_in_numcodecs(zarr_session: Path) -> None:
    texts = ["", "a", "déjà vu", "\U0001f42d", "x" * 1000]
    codec = pytest.importorskip("numcodecs").VLenUTF8()
    assert decode_texts(bytes(codec.encode(np.array(texts, dtype=object)))) == texts


@pytest.mark.parametrize(
    "place", ["units", "units/id", "units/id/.zarray", "units/id/0", ".zattrs"]
)
def test_links_are_not_followed(place: str, zarr_session: Path, tmp_path: Path) -> None:
    (zarr_session / place).rename(tmp_path / "elsewhere")
    (zarr_session / place).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match=rf"{place} is a link, and links inside"):
        rs.io.read_allen(zarr_session)


def test_the_folder_itself_may_be_a_link(zarr_session: Path, tmp_path: Path) -> None:
    (tmp_path / "link.nwb.zarr").symlink_to(zarr_session)
    found = rs.io.read_allen(tmp_path / "link.nwb.zarr")
    assert found.fingerprint == rs.io.read_allen(zarr_session).fingerprint


def test_a_folder_that_is_no_group(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a Zarr group of format 2"):
        rs.io.read_allen(tmp_path)


def test_a_missing_chunk(zarr_session: Path) -> None:
    (zarr_session / "units/quality/0").unlink()
    with pytest.raises(InputError, match="quality/0 is missing"):
        rs.io.read_allen(zarr_session)
