"""Small valid files of every kind, which cases damage: made once in each process."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import scipy.io
import zarr

import repshape as rs
from repshape import analysis
from repshape.inference.part_store import PartStore
from repshape.io.tables import write_table
from repshape.store.identity import Identity

METRIC = rs.ProcrustesShapeMetric()
POLISHED = rs.GaussianShapeMetric(alpha=0.0, n_starts=1)
RNG = np.random.default_rng(0)
NETWORKS = {name: RNG.normal(size=(3, 4, 2)) for name in "abcd"}
FEWER = {name: NETWORKS[name] for name in "abc"}
PART_IDENTITY = Identity(
    {"metric": "mine", "parameters": {}, "repshape": "0"}, ("a", "b"), ("1", "2")
)
PART_SETTINGS = {"seed": 3}
PART_SHAPES = {"rows": (4, 6)}
ONSETS = np.arange(12) * 0.5
SPIKES = np.sort(RNG.uniform(0, 6, size=90))
NWB_COLUMNS: dict[str, dict[str, Any]] = {
    "intervals/trials": {
        "id": np.arange(12),
        "start_time": ONSETS,
        "stop_time": ONSETS + 0.25,
        "odor": ["left", "right", "both"] * 4,
    },
    "units": {
        "id": np.arange(3),
        "spike_times": np.concatenate([np.sort(SPIKES[k::3]) for k in range(3)]),
        "spike_times_index": np.array([30, 60, 90]),
        "quality": ["good", "good", "noise"],
    },
}


@cache
def folder() -> Path:
    """Return the folder of all samples."""
    made = Path(tempfile.mkdtemp(prefix="fuzz-samples-"))
    owner = os.getpid()
    atexit.register(lambda: owner == os.getpid() and shutil.rmtree(made, ignore_errors=True))
    for make in (_arrays, _matlab, _tables, _nwb, _cohorts, _stores):
        make(made)
    return made


def _arrays(to: Path) -> None:
    trials = NETWORKS["a"]
    names = {"conditions": np.array(["x", "y", "z"]), "neurons": np.array(["u", "v"])}
    np.save(to / "net.npy", trials)
    np.savez_compressed(to / "net.npz", trials=trials, **names)
    moments = {"means": trials.mean(axis=1), "covariances": np.array([np.eye(2)] * 3)}
    np.savez(to / "moments.npz", **moments)
    with h5py.File(to / "net.h5", "w") as file:
        file.create_dataset("trials", data=trials, chunks=(1, 4, 2), compression="gzip")
        file["conditions"] = ["x", "y", "z"]
        file["group/means"] = trials.mean(axis=1)


def _matlab(to: Path) -> None:
    cells = np.empty((1, 3), dtype=object)
    for k in range(3):
        cells[0, k] = NETWORKS["a"][k]
    names = np.array(["x", "y", "z"], dtype=object)
    variables = {"trials": cells, "conditions": names}
    scipy.io.savemat(to / "old.mat", variables)
    scipy.io.savemat(to / "packed.mat", variables, do_compression=True)
    scipy.io.savemat(to / "four.mat", {"a": NETWORKS["a"][0]}, format="4")
    with h5py.File(to / "new.mat", "w", userblock_size=512) as file:
        references = file.create_dataset("trials", (3, 1), h5py.ref_dtype)
        references.attrs["MATLAB_class"] = np.bytes_("cell")
        for k in range(3):
            cell = file.create_dataset(f"#refs#/{k}", data=NETWORKS["a"][k].T)
            cell.attrs["MATLAB_class"] = np.bytes_("double")
            references[k, 0] = cell.ref


def _tables(to: Path) -> None:
    D = rs.pairwise(FEWER, METRIC, workers=1, progress=False)
    frame = pd.DataFrame({"area": ["V1", "V2", "V1"], "depth": [1.5, 2.0, np.nan]}, list("abc"))
    D = D.replace(metadata=frame)
    bounded = D.replace(lower_bounds=0.5 * D.values, n_starts=np.ones((3, 3), dtype=int))
    bounded.save(to / "d.npz")
    D.save(to / "d.csv")
    frame.rename_axis("network").to_csv(to / "metadata.csv")
    points = pd.DataFrame({"x0": [0.0, 1.0, 2.0], "x1": [1.0, 0.0, 1.0]}, list("abc"))
    for suffix in (".csv", ".npz", ".json"):
        write_table(to / f"points{suffix}", points, {"stress": 0.1})
    rows = "name,file,age\nfirst,net.npy,3\nsecond,net.npz,4\n"
    (to / "manifest.csv").write_text(rows)


def _nwb(to: Path) -> None:
    with h5py.File(to / "session.nwb", "w") as file:
        file.attrs["nwb_version"] = "2.6.0"
        file["identifier"] = "one"
        for place, columns in NWB_COLUMNS.items():
            for name, values in columns.items():
                file[f"{place}/{name}"] = values
    root = to / "session.nwb.zarr"
    for place in (".", *NWB_COLUMNS, "intervals"):
        (root / place).mkdir(parents=True, exist_ok=True)
        (root / place / ".zgroup").write_text('{"zarr_format": 2}')
    (root / ".zattrs").write_text('{"nwb_version": "2.6.0"}')
    for place, columns in NWB_COLUMNS.items():
        for name, values in columns.items():
            _zarr_column(root / place / name, values)


def _zarr_column(to: Path, values: Any) -> None:
    if isinstance(values, np.ndarray):
        zarr.save_array(str(to), values, zarr_format=2)
        return
    to.mkdir()
    settings = {"zarr_format": 2, "shape": [len(values)], "chunks": [len(values)], "order": "C"}
    settings |= {"dtype": "|O", "compressor": None, "fill_value": 0}
    (to / ".zarray").write_text(json.dumps(settings | {"filters": [{"id": "vlen-utf8"}]}))
    texts = [len(one).to_bytes(4, "little") + one.encode() for one in values]
    (to / "0").write_bytes(len(values).to_bytes(4, "little") + b"".join(texts))


def _cohorts(to: Path) -> None:
    cohort = rs.Cohort.from_networks(FEWER).save(to / "cohort")
    cohort.add("moments", (np.zeros((3, 2)), np.ones((3, 2))), area="V1")
    cohort.replace("b", NETWORKS["d"])


def _stores(to: Path) -> None:
    options: dict[str, Any] = {"tile": 2, "workers": 1, "progress": False}
    rs.pairwise(FEWER, METRIC, store=to / "store", **options)
    rs.pairwise(FEWER, POLISHED, store=to / "polished", **options)
    rs.pairwise(NETWORKS, POLISHED, store=to / "polished", **options)
    analysis.neighbor_graph(FEWER, METRIC, k=1, store=to / "pairs", workers=1, progress=False)
    PartStore(to / "parts", PART_IDENTITY, PART_SETTINGS, PART_SHAPES).write(
        "rows", 1, np.arange(6.0)
    )
