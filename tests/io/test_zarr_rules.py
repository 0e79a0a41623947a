"""Metadata of Zarr that repshape reads, and those that it refuses before Zarr sees them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from repshape.errors import InputError, StorageError
from repshape.io.zarr import SafeStore, open_array, read_array
from repshape.io.zarr_rules import check_metadata


def codec(name: str, **settings: Any) -> dict[str, Any]:
    return {"name": name, "configuration": settings}


BYTES = codec("bytes", endian="little")
SHARDS = codec("sharding_indexed", chunk_shape=[1], codecs=[codec("numcodecs.pickle")])
GOOD_3 = {
    "shape": [4],
    "data_type": "float64",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0.0,
    "codecs": [BYTES, codec("zstd", level=1, checksum=False), {"name": "crc32c"}],
    "attributes": {},
    "zarr_format": 3,
    "node_type": "array",
    "storage_transformers": [],
}
GOOD_2 = {
    "zarr_format": 2,
    "shape": [4],
    "chunks": [2],
    "dtype": "<f8",
    "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
    "fill_value": 0.0,
    "order": "C",
    "filters": None,
}
ALLOWED: list[tuple[str, dict[str, Any]]] = [
    ("zarr.json", GOOD_3),
    ("zarr.json", {"node_type": "group", "zarr_format": 3, "attributes": {"codecs": "any"}}),
    (".zarray", GOOD_2),
    *((".zarray", GOOD_2 | {"compressor": {"id": one}}) for one in ("zlib", "gzip", "zstd", "lz4")),
    (".zarray", GOOD_2 | {"compressor": None, "dtype": "|S8"}),
    (".zarray", GOOD_2 | {"dtype": "|O", "filters": [{"id": "vlen-utf8"}]}),
    (".zarray", GOOD_2 | {"filters": [{"id": "delta", "dtype": "<f8", "astype": "<f4"}]}),
]
REFUSED_3: list[tuple[dict[str, Any], str]] = [
    ({"codecs": [BYTES, codec("numcodecs.pickle")]}, "codec"),
    ({"codecs": [codec("numcodecs.json2")]}, "codec"),
    ({"codecs": [codec("vlen-utf8")]}, "codec"),
    ({"codecs": [SHARDS]}, "codec"),
    ({"codecs": [codec("zstd", level=1, id="pickle")]}, "codec"),
    ({"codecs": ["os.system"]}, "codec"),
    ({"codecs": [{"name": ["bytes"]}]}, "codec"),
    ({"codecs": []}, "codecs"),
    ({"codecs": {"name": "bytes"}}, "codecs"),
    ({"data_type": "string"}, "data type"),
    ({"data_type": "complex128"}, "data type"),
    ({"data_type": {"name": "numpy.datetime64", "configuration": {}}}, "data type"),
    ({"data_type": {"name": "structured", "configuration": {"fields": []}}}, "data type"),
    ({"chunk_grid": {"name": "rectilinear", "configuration": {}}}, "chunk grid"),
    ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0]}}}, "chunk"),
    ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1]}}}, "chunk"),
    ({"shape": [-1]}, "shape"),
    ({"shape": [1.5]}, "shape"),
    ({"shape": [2**62]}, "number of chunks"),
    ({"chunk_key_encoding": {"name": "custom"}}, "chunk key encoding"),
    (
        {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "/../"}}},
        "chunk key encoding",
    ),
    ({"storage_transformers": [{"name": "any"}]}, "storage transformer"),
    ({"node_type": "arrays", "codecs": [codec("numcodecs.pickle")]}, "codec"),
]
REFUSED_2: list[tuple[dict[str, Any], str]] = [
    ({"compressor": {"id": "pickle"}}, "compressor"),
    ({"compressor": {"id": "json2"}}, "compressor"),
    ({"compressor": "zlib"}, "compressor"),
    ({"compressor": {"id": ["zlib"]}}, "compressor"),
    ({"filters": [{"id": "pickle"}]}, "filter"),
    ({"filters": [{"id": "delta", "dtype": "|O"}]}, "filter"),
    ({"filters": [{"id": "delta", "dtype": [["a", "|O"]]}]}, "filter"),
    ({"filters": ["delta"]}, "filter"),
    ({"filters": "delta"}, "filters"),
    ({"dtype": "|O"}, "filters"),
    ({"dtype": "|O", "filters": [{"id": "msgpack2"}]}, "filters"),
    ({"dtype": "|O", "filters": [{"id": "vlen-utf8"}, {"id": "pickle"}]}, "filters"),
    ({"dtype": "<c16"}, "dtype"),
    ({"dtype": [["a", "<f8"]]}, "dtype"),
    ({"dtype": "<M8[ns]"}, "dtype"),
    ({"chunks": [2, 2]}, "chunk"),
    ({"chunks": None}, "chunk"),
    ({"shape": [True]}, "shape"),
    ({"dimension_separator": ".."}, "dimension separator"),
]


def encoded(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode()


@pytest.mark.parametrize(("name", "content"), ALLOWED)
def test_what_we_and_others_write_is_allowed(name: str, content: dict[str, Any]) -> None:
    assert check_metadata(Path(name), encoded(content)) == content


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        *(("zarr.json", GOOD_3 | change, words) for change, words in REFUSED_3),
        *((".zarray", GOOD_2 | change, words) for change, words in REFUSED_2),
    ],
)
def test_everything_else_is_refused(name: str, content: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=rf"^\S*{re.escape(name)} is not read: .*{words}") as found:
        check_metadata(Path(name), encoded(content))
    assert str(found.value).endswith(".")


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_damaged_metadata_are_refused(content: bytes) -> None:
    with pytest.raises(InputError, match="is damaged"):
        check_metadata(Path(".zattrs"), content)


@pytest.fixture
def array(tmp_path: Path) -> Path:
    folder = tmp_path / "cohort" / "network" / "means"
    compressors = [zarr.codecs.ZstdCodec(level=1), zarr.codecs.Crc32cCodec()]
    made = zarr.create_array(
        SafeStore(folder), shape=(4,), chunks=(2,), dtype="float64", compressors=compressors
    )
    made[...] = np.arange(1.0, 5.0)
    return folder


def test_an_array_is_read(array: Path) -> None:
    np.testing.assert_array_equal(read_array(array, array.parents[1]), np.arange(1.0, 5.0))


def test_zarr_does_not_see_what_is_refused(array: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("Zarr looks for the codec")

    content = json.loads((array / "zarr.json").read_text())
    content["codecs"].append(codec("numcodecs.pickle"))
    (array / "zarr.json").write_text(json.dumps(content))
    monkeypatch.setattr("zarr.core.metadata.v3.get_codec_class", never, raising=False)
    with pytest.raises(StorageError, match=r"is damaged .*numcodecs\.pickle.* is not allowed"):
        read_array(array, array.parents[1])


@pytest.mark.parametrize("place", ["", "means", "means/zarr.json", "means/c", "means/c/1"])
def test_no_link_is_followed(array: Path, place: str, tmp_path: Path) -> None:
    linked = array.parent / place
    linked.rename(tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="is a link, and links inside"):
        read_array(array, array.parents[1])


@pytest.mark.parametrize("fill", [True, False])
def test_nothing_is_written_or_deleted_through_a_link(
    array: Path, fill: bool, tmp_path: Path
) -> None:
    """A chunk of fill values is deleted instead of written."""
    opened = open_array(array, within=array.parents[1], writing=True)
    (array / "c").rename(tmp_path / "elsewhere")
    (array / "c").symlink_to(tmp_path / "elsewhere")
    before = {file.name: file.read_bytes() for file in (tmp_path / "elsewhere").iterdir()}
    with pytest.raises(StorageError, match="is a link"):
        opened[...] = 0.0 if fill else 7.0
    assert before == {file.name: file.read_bytes() for file in (tmp_path / "elsewhere").iterdir()}
