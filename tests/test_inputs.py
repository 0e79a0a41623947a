"""Every way to describe a network gives the same network, and wrong input one clear sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
import xarray as xr

import repshape as rs
from input_support import (
    CONDITIONS,
    EXPECTED,
    METRIC,
    NEURONS,
    ORDERS,
    L,
    M,
    N,
    X,
    Y,
    dataarray_of,
    frame_of,
    rows,
)
from repshape.errors import InputError, InputTypeError
from repshape.io import import_cohort, read_network


class Tensor:
    """What PyTorch's tensors have that matters here."""

    def __init__(self, array: np.ndarray, device: int = 1, grad: bool = False) -> None:
        self.array, self._device, self.grad = array, device, grad
        self.device = "cpu" if device == 1 else "cuda:0"
        self.shape, self.ndim = array.shape, array.ndim

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self._device, 0)

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def detach(self) -> Tensor:
        return Tensor(self.array, self._device)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return np.asarray(self.array, dtype=dtype)


class OnlyDLPack:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)


WAYS: dict[str, Any] = {
    "list": list,
    "nested lists": lambda a: a.tolist(),
    "Fortran order": np.asfortranarray,
    "labels": lambda a: rs.Trials.from_labels(*rows(a)),
    "labels of a table": lambda a: rs.Trials.from_labels(
        pd.DataFrame(rows(a)[0]), pd.Series(rows(a)[1])
    ),
    "frame": lambda a: rs.Trials.from_frame(frame_of(a), condition="image", neurons=NEURONS),
    "tensor": Tensor,
    "tensor with gradients": lambda a: Tensor(a, grad=True),
    "list of tensors": lambda a: [Tensor(one) for one in a],
    "only DLPack": OnlyDLPack,
    "list of only DLPack": lambda a: [OnlyDLPack(one) for one in a],
    "list of tables": lambda a: [pd.DataFrame(one, columns=NEURONS) for one in a],
    "list of labelled arrays": lambda a: [
        xr.DataArray(one.T, dims=("neuron", "trial")) for one in a
    ],
    "labelled array to Trials": lambda a: rs.Trials(dataarray_of(a, ORDERS[4])),
    **{
        f"xarray {' '.join(order)}": lambda a, order=order: dataarray_of(a, order)
        for order in ORDERS
    },
    "xarray with other names": lambda a: rs.Trials.from_xarray(
        dataarray_of(a, ORDERS[3]).rename(condition="image", trial="repeat", neuron="unit_id"),
        condition="image",
        trial="repeat",
        neuron="unit_id",
    ),
    "xarray with a coordinate of labels": lambda a: rs.Trials.from_xarray(
        xr.DataArray(
            rows(a)[0].T,
            {"unit_id": NEURONS, "image": ("presentation", rows(a)[1])},
            ("unit_id", "presentation"),
        ),
        condition="image",
        trial="presentation",
        neuron="unit_id",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_memory_gives_the_same_bits(way: str) -> None:
    assert METRIC.distance(WAYS[way](X), WAYS[way](Y)) == EXPECTED
    D = rs.pairwise([WAYS[way](X), WAYS[way](Y)], METRIC)
    assert D.values[0, 1] == EXPECTED


def test_a_dict_gives_the_labels() -> None:
    given = {"mouse 1": X, "mouse 2": dataarray_of(Y)}
    D = rs.pairwise(given, METRIC)
    assert D["mouse 1", "mouse 2"] == EXPECTED
    assert rs.pairwise_many(given, {"a": METRIC})["a"].labels == ("mouse 1", "mouse 2")
    assert rs.Cohort.from_networks(given).labels == ("mouse 1", "mouse 2")
    assert rs.pairwise(given, METRIC, labels=["x", "y"])["x", "y"] == EXPECTED
    np.testing.assert_array_equal(rs.cross({"a": X}, {"b": Y}, METRIC), [[EXPECTED]])


def write_mat_73(path: Path, variables: dict[str, Any]) -> None:
    """Write what MATLAB does with ``save -v7.3``: HDF5 after 512 bytes, dimensions reversed."""
    with h5py.File(path, "w", userblock_size=512) as handle:
        for name, value in variables.items():
            if isinstance(value, list):
                references = []
                for k, one in enumerate(value):
                    text = isinstance(one, str)
                    data = np.array([[ord(c)] for c in one], np.uint16) if text else one.T
                    inner = handle.create_dataset(f"#refs#/{name}{k}", data=data)
                    inner.attrs["MATLAB_class"] = np.bytes_("char" if text else "double")
                    references.append([inner.ref])
                cells = handle.create_dataset(name, data=references, dtype=h5py.ref_dtype)
                cells.attrs["MATLAB_class"] = np.bytes_("cell")
            else:
                made = handle.create_dataset(name, data=np.asarray(value).T)
                made.attrs["MATLAB_class"] = np.bytes_("double")
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def write(array: np.ndarray, path: Path) -> None:
    """Write a network in the format that the name asks for."""
    kind = path.name.partition(".")[0][:-1]
    pooled = {"trials": array.reshape(M * L, N), "n_trials": np.full((1, M), float(L))}
    cells = np.empty((1, M), dtype=object)
    cells[0] = list(array)
    labels = np.array([CONDITIONS], dtype=object)
    if kind == "npz":
        np.savez(path, trials=array, conditions=CONDITIONS, neurons=NEURONS)
    elif kind == "hdf":
        with h5py.File(path, "w") as handle:
            handle["trials"], handle["conditions"] = array, CONDITIONS
    elif kind == "mat":
        scipy.io.savemat(path, {"trials": array, "conditions": labels})
    elif kind == "pooled":
        scipy.io.savemat(path, {**pooled, "conditions": labels})
    elif kind == "cells":
        scipy.io.savemat(path, {"trials": cells, "conditions": labels})
    elif kind == "new":
        write_mat_73(path, {"trials": array, "conditions": CONDITIONS})
    elif kind == "newcells":
        write_mat_73(path, {"trials": list(array), "conditions": CONDITIONS})


FILES = ["npz?.npz", "hdf?.h5", "mat?.mat", "pooled?.mat", "cells?.mat", "new?.mat"]


@pytest.mark.parametrize("pattern", [*FILES, "newcells?.mat"])
def test_every_file_gives_the_same_bits(pattern: str, tmp_path: Path) -> None:
    paths = [tmp_path / pattern.replace("?", name) for name in "xy"]
    for array, path in zip((X, Y), paths, strict=True):
        write(array, path)
    assert METRIC.distance(*map(read_network, paths)) == EXPECTED
    assert read_network(paths[0]).conditions == tuple(CONDITIONS)
    cohort = import_cohort(paths, tmp_path / "cohort")
    assert rs.pairwise(cohort, METRIC).values[0, 1] == EXPECTED


def test_a_struct_and_a_variable_of_a_matlab_file(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "a.mat", {"mouse": {"trials": X}, "other": Y})
    assert METRIC.distance(
        *(read_network(f"{tmp_path}/a.mat#{k}") for k in ("mouse", "other"))
    ) == (EXPECTED)
    with pytest.raises(InputError, match="has no variable 'rat'"):
        read_network(f"{tmp_path}/a.mat#rat")
    (tmp_path / "b.mat").write_bytes(b"junk")
    with pytest.raises(InputError, match="cannot be read as a MATLAB file"):
        read_network(tmp_path / "b.mat")


def test_moments_in_a_matlab_file_of_one_factor(tmp_path: Path) -> None:
    """MATLAB drops dimensions of length 1 at the end."""
    scipy.io.savemat(tmp_path / "a.mat", {"means": X[:, 0], "factors": X[:, 1]})
    found = read_network(tmp_path / "a.mat")
    np.testing.assert_array_equal(found.factors, X[:, 1, :, None])


class TestTensors:
    def test_another_device_is_refused(self) -> None:
        with pytest.raises(InputTypeError, match=r"Got one on cuda:0: copy it first.*cpu\(\)"):
            rs.as_network(Tensor(X, device=2))
        with pytest.raises(InputTypeError, match="on cuda:0"):
            rs.as_network((Tensor(X[:, 0], device=2), X[:, 0]))

    def test_memory_that_others_may_change_is_copied(self) -> None:
        array = X.copy()
        network = rs.as_network(OnlyDLPack(array))
        array[:] = 0.0
        np.testing.assert_array_equal(network.stacked, X)


def test_an_error_of_pairwise_names_the_network() -> None:
    metric = rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=4))
    small = {"large": X, "small": X[:, :, :3]}
    with pytest.raises(InputError, match=r"In network 'small': .* 4 for a network of 3 neurons"):
        rs.pairwise(small, metric)
    with pytest.raises(InputError, match=r"^The 'alpha' parameter"):
        rs.pairwise(small, rs.GaussianShapeMetric(alpha=3.0))


def test_conditions_that_differ_in_pairwise_are_named() -> None:
    x, y = (rs.Trials(X[:3], conditions=names) for names in (list("abc"), list("acb")))
    with pytest.raises(InputError, match="Condition 1 is 'b' in 'x' and 'c' in 'y'") as error:
        rs.pairwise({"x": x, "y": y}, METRIC)
    assert "Cohort.common_conditions(networks)" in str(error.value)
