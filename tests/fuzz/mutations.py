"""Ways to damage a file or a folder: by bytes, and by what its format means."""

from __future__ import annotations

import io
import json
import pickle
import shutil
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from repshape.io.zarr import SEAL, sealed

from .draws import Draw

CANARY = "canary"
METADATA = ("zarr.json", ".zarray", ".zgroup", ".zattrs")
BOMB = zlib.compress(bytes(2**24))
WORDS = ["", "../victim", "..", "/etc/passwd", "generation-0", "|O", "<U0", "<c16", "pickle"]
WORDS += ["numcodecs.pickle", "sharding_indexed", "vlen-utf8", "zlib", "float64", "NaN", "trials"]
WORDS += ["x" * 1000, "\x00", "\ud800", "é", "factors", "full", "diagonal", "-1", "0"]
CODECS = [{"id": one} for one in ("pickle", "zlib", "gzip", "zstd", "lz4", "json2", "msgpack2")]
CODECS += [{"name": "numcodecs.pickle", "configuration": {}}, {"name": "gzip"}]
NUMBERS = [0, -1, 1, 2, 2**31, 2**63, 10**30, 1e308, -1e308, float("nan"), float("inf"), 0.5]
VALUES: list[Any] = [None, True, [], {}, [[]], [0], ["a", "a"], [[[[1]]]], *CODECS, [CODECS[0]]]


class Command:
    """Makes a file when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.folder / CANARY,)


def hostile_value(draw: Draw) -> Any:
    """Return something that JSON can hold."""
    return draw.pick([draw.pick(WORDS), draw.pick(NUMBERS), draw.pick(VALUES)])


def damage_bytes(draw: Draw, file: Path, victim: Path) -> None:
    """Change some bytes of a file, or replace all of them."""
    content = bytearray(file.read_bytes())
    size = len(content)
    start = draw.whole(0, max(size - 1, 0))
    stop = min(size, start + draw.pick([1, 1, 2, 4, 8, 64, 1000]))
    way = draw.whole(0, 8)
    if way <= 2 and size:
        content[start] ^= 1 << draw.whole(0, 7)
    elif way == 3:
        content[start:stop] = draw.rng.bytes(stop - start)
    elif way == 4:
        content[start:stop] = draw.pick([b"\x00", b"\xff", b"\x80"]) * (stop - start)
    elif way == 5:
        del content[start:]
    elif way == 6:
        content[start:start] = content[start:stop] * draw.pick([1, 3, 100])
    elif way == 7:
        numbers = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63]
        content[start : start + 8] = draw.pick(numbers).to_bytes(8, "little")
    else:
        payload = pickle.dumps(Command(victim))
        content = bytearray(draw.pick([b"", BOMB, payload, zlib.compress(payload)]))
    file.write_bytes(content)


def damage_json(draw: Draw, file: Path, victim: Path) -> None:
    """Replace, remove or add an entry somewhere; in most cases the seal is made to fit."""
    try:
        content = json.loads(file.read_bytes())
    except ValueError:
        return damage_bytes(draw, file, victim)
    for _ in range(draw.pick([1, 1, 1, 2, 5])):
        _damage_entry(draw, content)
    attributes = content.get("attributes") if isinstance(content, dict) else None
    if isinstance(attributes, dict) and SEAL in attributes and draw.chance(0.8):
        content["attributes"] = sealed(attributes)
    file.write_text(json.dumps(content))
    return None


def _damage_entry(draw: Draw, content: Any) -> None:
    node = content
    while isinstance(node, dict | list) and node:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key: Any = draw.pick(keys)
        if isinstance(node[key], dict | list) and node[key] and draw.chance(0.8):
            node = node[key]
            continue
        way = draw.whole(0, 5)
        if way == 0:
            del node[key]
        elif way == 1 and isinstance(node, list):
            node.append(hostile_value(draw))
        elif way == 2 and isinstance(node[key], int | float):
            node[key] = node[key] * draw.pick([2, -1, 10**6, 0.5]) + draw.pick([0, 1])
        else:
            node[key] = hostile_value(draw)
        return


def damage_archive(draw: Draw, file: Path, victim: Path) -> None:
    """Rebuild a ZIP archive of arrays with one member that is not as before."""
    with zipfile.ZipFile(file) as archive:
        members = [(one.filename, archive.read(one)) for one in archive.infolist()]
    at = draw.whole(0, len(members) - 1)
    name, content = members[at]
    way = draw.whole(0, 6)
    if way == 0:
        members.append((name, content))
    elif way == 1:
        members[at] = (draw.pick(["../evil.npy", "/evil.npy", "values.npy", "x"]), content)
    elif way == 2:
        members[at] = (name, _damage_header(draw, content))
    elif way == 3:
        members[at] = (name, _npy(np.array([Command(victim)], dtype=object)))
    elif way == 4:
        shape = draw.pick([(), (0,), (1, 1), (3, 4, 2), (3, 3), (2000, 2000)])
        dtype = draw.pick(["f8", "c16", "i1", "U3"])
        members[at] = (name, _npy(draw.pick([np.zeros, np.ones])(shape, dtype)))
    elif way == 5:
        text = json.loads(str(np.load(io.BytesIO(content)))) if "header" in name else {"a": 1}
        _damage_entry(draw, text)
        members[at] = (name, _npy(np.array(json.dumps(text))))
    else:
        del members[at]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # duplicate names
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members:
                archive.writestr(name, content)
    if draw.chance(0.2):
        damage_bytes(draw, file, victim)


def _npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


DTYPES = ["'<f8'", "'|O'", "'<c16'", "[('a','<f8')]", "'<U0'", "'<f4'", "'>i8'", "exit()"]
SHAPES = ["()", "(3,)", "(10**9,)", "(99999999999,)", "(-1,)", "(0, 99999999999)", "(3, 4, 2)"]


def _damage_header(draw: Draw, content: bytes) -> bytes:
    order = draw.pick(["True", "False", "7"])
    text = f"{{'descr': {draw.pick(DTYPES)}, 'fortran_order': {order}, 'shape': "
    text += f"{draw.pick(SHAPES)}}}"
    text = draw.pick([text, text, "-" * 9000 + "1", "(" * 5000, text[:-1]])
    length = draw.pick([len(text), len(text), 2**32 - 1])
    start = b"\x93NUMPY" + bytes([draw.pick([1, 2, 3, 9]), 0])
    size = length.to_bytes(4, "little") if start[6] != 1 else (length % 2**16).to_bytes(2, "little")
    return start + size + text.encode() + content[-192:]


def damage_hdf5(draw: Draw, file: Path, victim: Path) -> None:
    """Replace a dataset by another one, or by a link, or change an attribute."""
    with h5py.File(file, "r+") as opened:
        places: list[str] = []
        opened.visit(places.append)
        place = draw.pick(places)
        parent, name = opened[place].parent, place.rpartition("/")[2]
        way = draw.whole(0, 8)
        if way == 0:
            for key in ("MATLAB_class", "MATLAB_empty", "nwb_version"):
                draw.pick([opened[place], opened]).attrs[key] = draw.pick([1, "cell", b"char", 1.5])
            return
        del parent[name]
        if way == 1:
            parent[name] = h5py.ExternalLink(str(victim / "secret.h5"), "trials")
        elif way == 2:
            parent[name] = h5py.SoftLink(draw.pick(["/", f"/{place}", "..", "/units", "/trials"]))
        elif way == 3:
            layout = h5py.VirtualLayout(shape=(3, 4, 2), dtype="f8")
            layout[...] = h5py.VirtualSource(str(victim / "secret.h5"), "trials", shape=(3, 4, 2))
            parent.create_virtual_dataset(name, layout)
        elif way == 4:
            external = [(str(victim / "secret.h5"), 0, h5py.h5f.UNLIMITED)]
            parent.create_dataset(name, (3, 4, 2), "f8", external=external)
        elif way == 5:
            shape = draw.pick([(10**6, 10**6), (10**9,), (0,), (3, 10**7), (1, 1, 1, 1, 1, 1)])
            parent.create_dataset(name, shape, draw.pick(["f8", "i1", "S9"]), chunks=True)
        elif way == 6:
            shape = draw.pick([(), (3,), (12,), (3, 2), (3, 4, 2), (90,)])
            values = draw.rng.normal(size=shape) * draw.pick([1, 1e300, np.nan, -30])
            with np.errstate(all="ignore"):
                parent[name] = values.astype(draw.pick(["f8", "f4", "i8", "u1", "c16", "?"]))
        elif way == 7:
            parent[name] = draw.pick(
                [["a", "\udcff", ""], "text", np.array([b"\xff"]), h5py.Empty("f8")]
            )
        elif draw.chance(0.5):
            parent.create_group(name)


def damage_folder(draw: Draw, folder: Path, victim: Path) -> None:
    """Put a link or a stray file into a folder, or move what is there."""
    entries = sorted(folder.rglob("*"))
    entry = draw.pick(entries)
    way = draw.whole(0, 6)
    if way <= 1:  # what was there is now outside, and a link leads to it
        target = victim / "moved"
        shutil.move(entry, target)
        entry.symlink_to(target)
    elif way == 2:
        names = ["generation-0", ".batch-0", ".x.tmp", "polish", "e", "zarr.json", "pairs", "tiles"]
        place = draw.pick([folder, entry if entry.is_dir() else entry.parent]) / draw.pick(names)
        if not place.exists():
            place.symlink_to(draw.pick([victim, victim / "secret.h5", victim / "nothing"]))
    elif way == 3:
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    elif way == 4:
        other = draw.pick(entries)
        if entry.is_file() and other.is_file():
            entry.write_bytes(other.read_bytes())
    elif way == 5:
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        entry.mkdir() if draw.chance(0.5) else entry.write_bytes(draw.rng.bytes(draw.whole(0, 50)))
    else:
        name = draw.pick(["generation-0", ".batch-0", "stray", "%2E%2E", ".e.tmp"])
        shutil.copytree(draw.pick([one for one in entries if one.is_dir()]), folder / name)


def damage_text(draw: Draw, file: Path, victim: Path) -> None:
    """Change cells of a CSV or JSON file."""
    if file.suffix == ".json":
        return damage_json(draw, file, victim)
    rows = [line.split(",") for line in file.read_text(errors="replace").splitlines()]
    row = draw.pick(rows)
    at = draw.whole(0, len(row) - 1)
    cells = [
        "",
        "=1",
        "'",
        '"',
        '"a',
        "nan",
        "inf",
        "1e999",
        "a",
        "\x00",
        "area",
        "x" * 5000,
        "é",
        "1_0",
    ]
    cells += [f"{victim}/secret.h5", "../victim/secret.h5", "1j", "0x10", "-1", "9" * 400, "True"]
    way = draw.whole(0, 3)
    if way == 0:
        row[at] = draw.pick(cells)
    elif way == 1:
        row.insert(at, draw.pick([*cells, row[at]]))
    elif way == 2:
        rows.insert(draw.whole(0, len(rows)), list(draw.pick(rows)))
    else:
        del row[at]
    text = draw.pick(["\n", "\r\n", "\r", "\n\n"]).join(",".join(one) for one in rows)
    file.write_bytes(text.encode(draw.pick(["utf-8", "utf-8-sig", "utf-16", "utf-8"])))
    return None


Damage = Callable[[Draw, Path, Path], None]
# What else than bytes can be damaged in a file, by its ending.
BY_SUFFIX: dict[str, Damage] = {
    ".npz": damage_archive,
    ".h5": damage_hdf5,
    ".nwb": damage_hdf5,
    ".csv": damage_text,
    ".json": damage_text,
}


def damage(draw: Draw, path: Path, victim: Path) -> None:
    """Damage a file or a folder in one way."""
    if path.is_dir() and draw.chance(0.3):
        draw.note("folder")
        return damage_folder(draw, path, victim)
    if path.is_dir():
        files = [one for one in sorted(path.rglob("*")) if one.is_file() and not one.is_symlink()]
        described = [one for one in files if one.name in METADATA]
        file = draw.pick(described if described and draw.chance(0.7) else files)
        way = damage_json if file.name in METADATA and draw.chance(0.85) else damage_bytes
    else:
        file = path
        special = damage_hdf5 if path.name == "new.mat" else BY_SUFFIX.get(path.suffix)
        way = special if special is not None and draw.chance(0.6) else damage_bytes
    draw.note(f"{way.__name__} {file.name}")
    return way(draw, file, victim)
