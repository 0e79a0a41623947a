"""Cases of damaged and hostile files: read, or refused in one sentence, and nothing else."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import repshape as rs
from repshape import analysis
from repshape.inference.part_store import PartStore
from repshape.io.tables import read_metadata, read_points

from . import samples
from .checks import demand
from .draws import Draw
from .guard import MEMORY, guarded
from .mutations import CANARY, damage

MAX_BYTES = 2**26
# The HDF5 library takes the memory that one text announces, at most this much, before it reads it.
HDF5, HDF5_MEMORY = (".h5", ".nwb", ".mat"), 2**32
SECRET = 12345.678  # in a file that no case is given


def _network(draw: Draw, path: Path) -> None:
    place = f"{path}#group" if path.name == "net.h5" and draw.chance(0.3) else path
    found = rs.io.read_network(place, max_bytes=MAX_BYTES)
    demand(not (np.asarray(found.means) == SECRET).any(), "reads a file that was not given")
    if draw.chance(0.2):
        rs.io.import_cohort([path], path.parent / "made", max_bytes=MAX_BYTES)


def _manifest(draw: Draw, path: Path) -> None:
    for name in ("net.npy", "net.npz"):
        shutil.copy(samples.folder() / name, path.parent)
    rs.io.import_cohort([path], path.parent / "made", max_bytes=MAX_BYTES)


def _matrix(draw: Draw, path: Path) -> None:
    D = rs.DistanceMatrix.load(path, max_bytes=MAX_BYTES)
    demand(D.values.shape == (len(D.labels), len(D.labels)), "labels and values do not fit")
    if D.lower_bounds is not None:
        wrong = D.lower_bounds > np.maximum(D.values, 0) * (1 + 1e-6)
        demand(not (wrong & (D.values >= 0)).any(), "a distance is below its bound")


def _metadata(draw: Draw, path: Path) -> None:
    demand(len(read_metadata(path, ["a", "b", "c"])) == 3, "a row is missing")


def _points(draw: Draw, path: Path) -> None:
    demand(np.isfinite(read_points(path, ["a", "b", "c"])).all(), "a point is not finite")


def _nwb(draw: Draw, path: Path) -> None:
    filters = draw.pick([None, {"quality": "good"}])
    found = rs.io.read_nwb(path, "trials", "odor", window=(0.0, 0.25), filters=filters)
    demand(np.isfinite(found.pooled).all(), "a count is not finite")


def _cohort(draw: Draw, path: Path) -> None:
    cohort = rs.Cohort.open(path)
    way = draw.whole(0, 4)
    if way == 0:
        cohort.remove(draw.pick(cohort.labels))
    elif way == 1:
        cohort.add("e", samples.NETWORKS["d"])
    elif way == 2:
        cohort.replace(draw.pick(cohort.labels), samples.NETWORKS["c"])
    elif way == 3:
        cohort.verify()
    for k in range(len(cohort)):
        demand(np.isfinite(cohort[k].means).all(), "a response is not finite")


def _store(draw: Draw, path: Path) -> None:
    metric = samples.METRIC if path.name == "store" else samples.POLISHED
    if draw.chance(0.5):
        rs.DistanceMatrix.load(path)
    else:
        networks = draw.pick([samples.NETWORKS, samples.FEWER])
        options: dict[str, Any] = {"workers": 1, "progress": False, "store": path}
        removed = ["d"] if draw.chance(0.3) and networks is samples.FEWER else None
        rs.pairwise(networks, metric, remove=removed, **options)


def _pairs(draw: Draw, path: Path) -> None:
    networks = draw.pick([samples.NETWORKS, samples.FEWER])
    options: dict[str, Any] = {"workers": 1, "progress": False, "store": path}
    analysis.neighbor_graph(networks, samples.METRIC, k=1, **options)


def _parts(draw: Draw, path: Path) -> None:
    store = PartStore(path, samples.PART_IDENTITY, samples.PART_SETTINGS, samples.PART_SHAPES)
    rows = store.rows("rows").values()
    demand(all(one.shape == (6,) for one in rows), "numbers are missing")
    store.write("rows", 2, np.ones(6))


Reader = Callable[[Draw, Path], None]
READERS: dict[str, Reader] = {
    "net.npy": _network,
    "net.npz": _network,
    "moments.npz": _network,
    "net.h5": _network,
    "old.mat": _network,
    "packed.mat": _network,
    "four.mat": _network,
    "new.mat": _network,
    "d.npz": _matrix,
    "d.csv": _matrix,
    "metadata.csv": _metadata,
    "points.csv": _points,
    "points.npz": _points,
    "points.json": _points,
    "manifest.csv": _manifest,
    "session.nwb": _nwb,
    "session.nwb.zarr": _nwb,
    "cohort": _cohort,
    "store": _store,
    "polished": _store,
    "pairs": _pairs,
    "parts": _parts,
}


def files(draw: Draw) -> None:
    """Damage one sample, and read it."""
    name = draw.pick(list(READERS))
    draw.note(name)
    source = samples.folder() / name
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        given, victim = Path(folder, "given"), Path(folder, "victim")
        given.mkdir()
        victim.mkdir()
        with h5py.File(victim / "secret.h5", "w") as file:
            file["trials"] = np.full((3, 4, 2), SECRET)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, given / name)
        for _ in range(draw.pick([1, 1, 1, 2, 4])):
            with suppress(Exception):  # what is damaged already may be beyond another change
                damage(draw, given / name, victim)
        memory = HDF5_MEMORY if source.suffix in HDF5 else MEMORY
        with guarded(given, victim, memory):
            READERS[name](draw, given / name)
        demand(not (victim / CANARY).exists(), "code of the file was run")
