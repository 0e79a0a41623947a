"""HDF5 and MATLAB files that name other files, or expand to more than the memory."""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse

import repshape as rs
from nwb_support import Session
from repshape.errors import InputError
from repshape.io import expansion, read_network
from repshape.io.expansion import Expansion
from repshape.io.mat_sizes import check_sizes

TRIALS = np.random.default_rng(0).normal(size=(4, 5, 3))


def external_link(file: Any, name: str, other: Path) -> None:
    file[name] = h5py.ExternalLink(str(other), "secret")


def hidden_external_link(file: Any, name: str, other: Path) -> None:
    """A soft link to a group that is in another file."""
    file["hidden"] = h5py.ExternalLink(str(other), "/")
    file[name] = h5py.SoftLink("/hidden/secret")


def virtual(file: Any, name: str, other: Path) -> None:
    layout = h5py.VirtualLayout(shape=TRIALS.shape, dtype=TRIALS.dtype)
    layout[...] = h5py.VirtualSource(str(other), "secret", shape=TRIALS.shape)
    file.create_virtual_dataset(name, layout)


def external_storage(file: Any, name: str, other: Path) -> None:
    file.create_dataset(
        name, TRIALS.shape, TRIALS.dtype, external=[(str(other), 0, h5py.h5f.UNLIMITED)]
    )


WAYS = [external_link, hidden_external_link, virtual, external_storage]
Way = Callable[[Any, str, Path], None]


@pytest.fixture
def other(tmp_path: Path) -> Path:
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["secret"] = TRIALS
    return tmp_path / "other.h5"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("inside", ["", "#trials", "#group", "#group/trials"])
def test_values_of_another_file_are_refused(
    way: Way, inside: str, tmp_path: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        group = file.create_group("group") if "group" in inside else file
        way(group, "trials", other)
        if way is hidden_external_link and "group" in inside:
            file["hidden"] = group.get("hidden", getlink=True)
    with pytest.raises(InputError, match=r"a\.h5 is not read: .* is stored in another file"):
        read_network(f"{tmp_path / 'a.h5'}{inside}")


@pytest.mark.parametrize("way", WAYS)
def test_values_of_another_file_are_refused_in_nwb(
    way: Way, allen: tuple[Path, Session], tmp_path: Path, other: Path
) -> None:
    target = tmp_path / "session.nwb"
    target.write_bytes(allen[0].read_bytes())
    with h5py.File(target, "a") as file:
        del file["units/quality"]
        way(file, "units/quality", other)
    with pytest.raises(InputError, match=r"is not read: .* is stored in another file"):
        rs.io.read_allen(target)


@pytest.mark.parametrize("way", WAYS)
def test_values_of_another_file_are_refused_in_mat(way: Way, tmp_path: Path, other: Path) -> None:
    with h5py.File(tmp_path / "a.mat", "w") as file:
        way(file, "trials", other)
    with pytest.raises(InputError, match=r"is not read: .* is stored in another file"):
        read_network(tmp_path / "a.mat")


def test_links_inside_the_file_are_followed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["data/mouse/values"] = TRIALS
        file["data/mouse/trials"] = h5py.SoftLink("values")
        file["trials"] = h5py.SoftLink("/data/mouse/trials")
        file["gone"] = h5py.SoftLink("/nothing")
        file["circle"] = h5py.SoftLink("/circle")
    assert read_network(f"{tmp_path / 'a.h5'}#trials").n_trials.tolist() == [5] * 4
    assert read_network(f"{tmp_path / 'a.h5'}#data/mouse/trials").n_neurons == 3
    with pytest.raises(InputError, match="has no array or group 'gone'"):
        read_network(f"{tmp_path / 'a.h5'}#gone")
    with pytest.raises(InputError, match="has circular links"):
        read_network(f"{tmp_path / 'a.h5'}#circle")


def test_an_external_file_is_not_even_opened(tmp_path: Path, other: Path) -> None:
    """A file that somebody is writing would raise another error."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        external_link(file, "trials", other)
    other.write_bytes(b"no HDF5")
    with pytest.raises(InputError, match="is stored in another file"):
        read_network(tmp_path / "a.h5")


@pytest.mark.parametrize("name", ["a.h5", "a.mat"])
def test_a_dataset_of_fill_values_is_refused(name: str, tmp_path: Path) -> None:
    with h5py.File(tmp_path / name, "w") as file:
        file.create_dataset("trials", (10, 10**6, 10**6), "f8", chunks=(1, 1, 100))
    assert (tmp_path / name).stat().st_size < 10**4
    with pytest.raises(InputError, match=r"expands to more than"):
        read_network(tmp_path / name)


def test_complex_numbers_are_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["trials"] = TRIALS + 1j
    with h5py.File(tmp_path / "new.mat", "w") as file:
        pairs = np.zeros((3, 4), dtype=[("real", "f8"), ("imag", "f8")])
        file["trials"] = pairs
    scipy.io.savemat(tmp_path / "old.mat", {"trials": TRIALS + 1j})
    for name in ("a.h5", "new.mat", "old.mat"):
        with pytest.raises(InputError, match=r"numbers of 'trials' in .* are complex"):
            read_network(tmp_path / name)


def test_cells_that_contain_one_another_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 40 levels has the next one twice, and so the last one 2**40 times."""
    monkeypatch.setattr(expansion, "MOST_OBJECTS", expansion.MOST_OBJECTS // 20)
    with h5py.File(tmp_path / "a.mat", "w") as file:
        for k in range(40):
            group = file.create_group(f"g{k}")
            if k:
                group["a"] = group["b"] = file[f"g{k - 1}"]
    with pytest.raises(InputError, match=r"levels|objects"):
        read_network(tmp_path / "a.mat")


@pytest.mark.parametrize("compress", [True, False])
def test_older_mat_files_are_limited(compress: bool, tmp_path: Path) -> None:
    contents = {"trials": np.zeros((10, 100, 1000)), "conditions": list("abcdefghij")}
    scipy.io.savemat(tmp_path / "a.mat", contents, do_compression=compress)
    with pytest.raises(InputError, match=r"expands to more than 4.77 MB, as given by max_bytes"):
        read_network(tmp_path / "a.mat", max_bytes=5 * 10**6)
    assert read_network(tmp_path / "a.mat", max_bytes="100 MB").n_neurons == 1000


def test_a_bomb_in_mat_is_not_decompressed(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "a.mat", {"a": np.zeros((3, 3))})
    head = (tmp_path / "a.mat").read_bytes()[:128]
    bomb = zlib.compress(bytes(10**8))
    (tmp_path / "a.mat").write_bytes(
        head + (15).to_bytes(4, "little") + len(bomb).to_bytes(4, "little") + bomb
    )
    with pytest.raises(InputError, match=r"expands to more than 9.54 MB"):
        read_network(tmp_path / "a.mat", max_bytes=10**7)


def test_a_large_sparse_array_is_refused(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "a.mat", {"trials": scipy.sparse.csc_array((10**6, 10**6))})
    with pytest.raises(InputError, match=r"expands to more than"):
        read_network(tmp_path / "a.mat")
    scipy.io.savemat(tmp_path / "b.mat", {"a": scipy.sparse.csc_array(np.eye(4))})
    np.testing.assert_array_equal(read_network(tmp_path / "b.mat").means, np.eye(4))


@pytest.mark.parametrize("kind", ["cell", "struct"])
def test_cells_that_are_not_there_are_refused(kind: str, tmp_path: Path) -> None:
    value: Any = {"field": 1.0}
    if kind == "cell":
        value = np.empty((1, 1), dtype=object)
        value[0, 0] = 1.0
    scipy.io.savemat(tmp_path / "a.mat", {"trials": value})
    content = bytearray((tmp_path / "a.mat").read_bytes())
    place = 128 + 8 + 16 + 8  # the dimensions of the first variable
    assert content[place : place + 8] == b"\1\0\0\0\1\0\0\0"
    content[place : place + 8] = (30_000).to_bytes(4, "little") * 2
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(InputError, match=r"damaged|expands to more than"):
        read_network(tmp_path / "a.mat")


def test_nested_cells_and_structs_are_read(tmp_path: Path) -> None:
    cells = np.empty(4, dtype=object)
    for k in range(4):
        cells[k] = TRIALS[k]
    mouse = {
        "trials": cells,
        "conditions": np.array(list("abcd"), dtype=object),
        "extra": {"x": []},
    }
    for compress in (False, True):
        scipy.io.savemat(tmp_path / "a.mat", {"mouse": mouse}, do_compression=compress)
        found = read_network(f"{tmp_path / 'a.mat'}#mouse")
        assert found.conditions == tuple("abcd")
        np.testing.assert_array_equal(found.pooled.reshape(TRIALS.shape), TRIALS)


def test_files_of_matlab_itself_are_walked_through() -> None:
    """Those that SciPy keeps for its own tests, where they are installed."""
    data = Path(scipy.io.__file__).parent / "matlab" / "tests" / "data"
    files = [
        file
        for file in sorted(data.glob("test*_*_*.mat"))
        if "hdf5" not in file.name and "matlabstring" not in file.name
    ]
    if not files:
        pytest.skip("SciPy was installed without its tests")
    for file in files:
        with open(file, "rb") as handle:
            check_sizes(handle, Expansion(file))


def test_an_object_that_only_matlab_can_read_is_no_damage(tmp_path: Path) -> None:
    """Such an object has a class and names instead of dimensions."""
    flags = struct.pack("<IIII", 6, 8, 17, 0)
    names = b"".join(struct.pack("<HH4s", 1, 4, word) for word in (b"text", b"MCOS", b"strs"))
    content = flags + names
    scipy.io.savemat(tmp_path / "a.mat", {"trials": TRIALS})
    header = (tmp_path / "a.mat").read_bytes()[:128]
    tag = struct.pack("<II", 14, len(content))
    (tmp_path / "a.mat").write_bytes(header + tag + content)
    with pytest.raises(InputError, match="objects that only MATLAB can read"):
        read_network(tmp_path / "a.mat")


def test_a_sparse_array_is_read_whatever_scipy_says_of_its_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = scipy.io.loadmat

    def warn_and_read(*given: Any, **options: Any) -> Any:
        warnings.warn("The default is changing.", DeprecationWarning, stacklevel=2)
        return read(*given, **options)

    scipy.io.savemat(tmp_path / "a.mat", {"a": scipy.sparse.csc_array(np.eye(4))})
    monkeypatch.setattr(scipy.io, "loadmat", warn_and_read)
    np.testing.assert_array_equal(read_network(tmp_path / "a.mat").means, np.eye(4))


def test_a_type_that_crashes_scipy_is_refused(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "a.mat", {"trials": TRIALS})
    content = bytearray((tmp_path / "a.mat").read_bytes())
    place = content.index(TRIALS.tobytes(order="F")) - 8
    assert content[place] == 9  # double
    content[place : place + 2] = b"\xff\xff"
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        read_network(tmp_path / "a.mat")


def test_a_sparse_index_outside_the_array_is_refused(tmp_path: Path) -> None:
    sparse = scipy.sparse.csc_array(np.diag([1.0, 2.0, 3.0]))
    scipy.io.savemat(tmp_path / "a.mat", {"a": sparse})
    content = bytearray((tmp_path / "a.mat").read_bytes())
    place = content.index(np.arange(3, dtype="<i4").tobytes())
    content[place : place + 4] = (10**8).to_bytes(4, "little")
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        read_network(tmp_path / "a.mat")
