"""NPY and NPZ files: a limit on what they expand to, and what is refused."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from repshape import DistanceMatrix
from repshape._memory import default_memory, size_in_words
from repshape.errors import InputError
from repshape.io import import_cohort, read_network
from repshape.io.npz import read_arrays

TRIALS = np.random.default_rng(0).normal(size=(4, 5, 3))
MEGABYTE = 2**20


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def archive(file: Path, members: list[tuple[str, bytes]]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members:
            opened.writestr(name, content)
    return file


def header(shape: str, descr: str = "'<f8'", length: int | None = None) -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    size = len(text) if length is None else length
    return b"\x93NUMPY\x02\x00" + size.to_bytes(4, "little") + text


@pytest.mark.parametrize(
    "array",
    [
        TRIALS,
        np.asfortranarray(TRIALS),
        np.array(["a", "é"]),
        np.array([b"a"]),
        np.array(1.5),
        np.array("text"),
        np.zeros((0, 3)),
        np.array([True, False]),
        np.arange(4, dtype=">i2"),
        np.array([""]),
    ],
)
def test_arrays_come_back(array: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", array)
    np.savez_compressed(tmp_path / "a.npz", a=array, b=array)
    np.testing.assert_array_equal(read_arrays(tmp_path / "a.npy")[""], array)
    found = read_arrays(tmp_path / "a.npz", names={"b", "c"})
    assert list(found) == ["b"]
    np.testing.assert_array_equal(found["b"], array)
    assert found["b"].dtype == array.dtype


def bomb(tmp_path: Path) -> Path:
    """300 MB of zeros in less than one."""
    content = header("(10, 1250, 3000)") + bytes(3 * 10**8)
    return archive(tmp_path / "bomb.npz", [("trials.npy", content)])


def test_a_file_that_expands_too_much_is_refused(tmp_path: Path) -> None:
    file = bomb(tmp_path)
    assert file.stat().st_size < MEGABYTE
    tracemalloc.start()
    with pytest.raises(InputError, match=r"expands to more than 100 MB, as given by max_bytes"):
        read_network(file, max_bytes="100 MB")
    assert tracemalloc.get_traced_memory()[1] < 20 * MEGABYTE
    tracemalloc.stop()
    with pytest.raises(InputError, match=r"expands to more than 1 MB"):
        import_cohort([file], tmp_path / "cohort", max_bytes=MEGABYTE)
    assert not (tmp_path / "cohort").exists()


def test_the_default_is_a_quarter_of_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("repshape.io.expansion.default_memory", lambda: MEGABYTE)
    with pytest.raises(InputError, match=r"than 1 MB, by default a quarter of the memory. If you"):
        read_network(bomb(tmp_path))
    np.save(tmp_path / "a.npy", np.zeros((4, 5, 10**4)))  # does not expand
    assert read_network(tmp_path / "a.npy").n_neurons == 10**4
    assert size_in_words(default_memory()).endswith("GB")


@pytest.mark.parametrize("max_bytes", [0, -1, "much", 1.5j])
def test_a_wrong_limit(max_bytes: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", TRIALS)
    with pytest.raises(InputError, match="The 'max_bytes' parameter must be a size"):
        read_network(tmp_path / "a.npy", max_bytes=max_bytes)


def test_the_sum_of_all_arrays_counts(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", **{f"a{k}": np.zeros(10**5) for k in range(10)})
    with pytest.raises(InputError, match=r"expands to more than 4.77 MB"):
        read_arrays(tmp_path / "a.npz", max_bytes=5 * 10**6)
    assert len(read_arrays(tmp_path / "a.npz", max_bytes=9 * 10**6)) == 10


def test_a_matrix_that_expands_too_much_is_refused(tmp_path: Path) -> None:
    DistanceMatrix(1 - np.eye(100)).save(tmp_path / "d.npz")
    with pytest.raises(InputError, match=r"expands to more than 50 kB"):
        DistanceMatrix.load(tmp_path / "d.npz", max_bytes="50 kB")
    assert len(DistanceMatrix.load(tmp_path / "d.npz", max_bytes="1 MB")) == 100


@pytest.mark.parametrize(
    "content",
    [
        header("(10**9, 10**9)"),
        header("(1000000000000,)"),
        header("(1000000000000,)", "'<U0'"),
        header("(-1, -8)"),
        header("(1,)", length=2**32 - 1) + bytes(10**6),
        header("(1,)", "'|O'") + b"cos\nsystem\n(S'true'\ntR.",
        header("(1,)", "[('a', '<f8')]") + bytes(8),
        header("(1,)", "'<M8[s]'") + bytes(8),
        header("(3,)") + bytes(23),
        b"\x93NUMPY\x03\x00" + header("(1,)")[8:] + bytes(8),
        npy(TRIALS)[:-1],
        npy(TRIALS)[:50],
        b"",
        b"PK",
    ],
)
def test_headers_are_not_trusted(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    archive(tmp_path / "a.npz", [("trials.npy", content)])
    tracemalloc.start()
    for name in ("a.npy", "a.npz"):
        with pytest.raises(InputError, match=r"damaged, cut short|expands to more than"):
            read_network(tmp_path / name)
    assert tracemalloc.get_traced_memory()[1] < 20 * MEGABYTE
    tracemalloc.stop()


def test_the_directory_of_an_archive_is_not_trusted(tmp_path: Path) -> None:
    """It announces a smaller size than the member has."""
    file = archive(tmp_path / "a.npz", [("trials.npy", npy(TRIALS))])
    content = bytearray(file.read_bytes())
    place = content.index(b"PK\x01\x02")
    content[place + 24 : place + 28] = (10).to_bytes(4, "little")
    file.write_bytes(content)
    with pytest.raises(InputError, match="damaged, cut short"):
        read_network(file)


def test_a_wrong_checksum_is_noticed(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", trials=TRIALS)
    content = bytearray((tmp_path / "a.npz").read_bytes())
    place = content.index(TRIALS.tobytes())
    content[place] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(InputError, match="damaged, cut short"):
        read_network(tmp_path / "a.npz")


def test_complex_numbers_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", TRIALS + 0j)
    np.savez(tmp_path / "a.npz", trials=TRIALS + 1j)
    for name, words in (("a.npy", "holds complex numbers; "), ("a.npz", "numbers in 'trials'; ")):
        with pytest.raises(InputError, match=f"{words}responses and distances must be real"):
            read_network(tmp_path / name)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_arrays_of_one_name_are_refused(tmp_path: Path) -> None:
    members = [("trials.npy", npy(TRIALS)), ("trials.npy", npy(TRIALS + 1))]
    archive(tmp_path / "a.npz", members)
    with pytest.raises(InputError, match="holds two arrays named 'trials'"):
        read_network(tmp_path / "a.npz")
