"""Networks and manifests in files: what is read, and what is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from repshape.errors import InputError, RepshapeError, StorageError
from repshape.io.importing import import_cohort, read_network
from repshape.responses import Gaussians, Trials

RNG = np.random.default_rng(0)


def test_pooled_trials_are_split_by_their_counts(tmp_path: Path) -> None:
    rows = RNG.normal(size=(5, 2))
    np.savez(tmp_path / "a.npz", trials=rows, n_trials=[2, 3])
    found = read_network(tmp_path / "a.npz")
    assert isinstance(found, Trials)
    assert found.n_trials.tolist() == [2, 3]
    np.testing.assert_array_equal(found.pooled, rows)


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ([2, 2], r"must sum to the 5 rows of 'trials'\. Got 4"),
        ([2, 4], r"must sum to the 5 rows of 'trials'\. Got 6"),
        ([6, -1], "must sum to"),
        ([2.5, 2.5], "must be a list of integers"),
        ([[2, 3]], "must be a list of integers"),
    ],
)
def test_counts_that_do_not_fit_are_refused(counts: object, sentence: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", trials=np.zeros((5, 2)), n_trials=counts)
    with pytest.raises(InputError, match=rf"In .*a\.npz: .*{sentence}"):
        read_network(tmp_path / "a.npz")


def test_endings_in_capitals(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "A.H5", "w") as handle:
        handle["trials"] = RNG.normal(size=(4, 6, 3))
    assert read_network(tmp_path / "A.H5").n_neurons == 3


def test_names_of_conditions_in_bytes(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", trials=np.zeros((2, 3, 1)), conditions=["é".encode(), b"b"])
    assert read_network(tmp_path / "a.npz").conditions == ("é", "b")
    np.savez(tmp_path / "a.npz", trials=np.zeros((2, 3, 1)), conditions=[b"\xe9", b"b"])
    with pytest.raises(InputError, match="not text in UTF-8"):
        read_network(tmp_path / "a.npz")


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    for name in ("a.npz", "a.npy", "a.h5"):
        with pytest.raises(StorageError, match="There is no file"):
            read_network(tmp_path / name)
        (tmp_path / name).mkdir()
        with pytest.raises(StorageError, match="is a directory, not a file"):
            read_network(tmp_path / name)
    (tmp_path / "m.csv").mkdir()
    with pytest.raises(StorageError, match="is a directory, not a file"):
        import_cohort([tmp_path / "m.csv"], tmp_path / "c")


@pytest.mark.parametrize("name", ["a.npz", "a.npy", "a.h5"])
def test_a_truncated_file_is_one_sentence(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    trials = RNG.normal(size=(4, 6, 3))
    if name == "a.npz":
        np.savez_compressed(path, trials=trials, conditions=["a", "b", "c", "d"])
    elif name == "a.npy":
        np.save(path, trials)
    else:
        with h5py.File(path, "w") as handle:
            handle["trials"] = trials
    content = path.read_bytes()
    for end in range(0, len(content), 50):
        path.write_bytes(content[:end])
        with pytest.raises(RepshapeError, match=rf"{name} cannot be read as (NumPy|HDF5)"):
            read_network(path)


def test_python_objects_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="holds Python objects"):
        read_network(tmp_path / "a.npy")


def test_an_array_that_is_not_there(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", trials=np.zeros((2, 3, 1)))
    with pytest.raises(InputError, match="has no array 'x'"):
        read_network(f"{tmp_path}/a.npz#x")
    assert read_network(f"{tmp_path}/a.npz#trials").n_conditions == 2


def test_names_in_a_manifest_are_text(tmp_path: Path) -> None:
    """Neither a gap nor a number, and without the apostrophe that guards a spreadsheet."""
    for k, file in enumerate("abcd"):
        np.save(tmp_path / f"{file}.npy", np.full((2, 3, 1), k + 1.0))
    rows = ["name,file,note", "NA,a.npy,'=x", "007,b.npy,", "'=1+1,c.npy,b", "'t,d.npy,-2"]
    (tmp_path / "m.csv").write_text("\n".join(rows))
    cohort = import_cohort([tmp_path / "m.csv"], tmp_path / "c")
    assert cohort.labels == ("NA", "007", "=1+1", "'t")
    assert cohort.metadata["note"].tolist() == ["=x", None, "b", "-2"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"name,file\n\xe9,a.npy\n", r"m\.csv is not text in UTF-8: line 2 has the byte 0xe9"),
        (b"", "cannot be read as a manifest"),
        (b'name,file\n"a,a.npy\n', "cannot be read as a manifest"),
        (b"name,file\n,a.npy\n", "no 'name' in line 2"),
    ],
)
def test_bad_manifests_are_one_sentence(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        import_cohort([tmp_path / "m.csv"], tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_latents_of_a_vae_are_means_and_log_variances(tmp_path: Path) -> None:
    """What an encoder returns is a network with independent neurons, not points."""
    means, logs = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)).astype(np.float32)
    np.savez(tmp_path / "vae.npz", means=means, log_variances=logs)
    found = read_network(tmp_path / "vae.npz")
    assert isinstance(found, Gaussians)
    np.testing.assert_allclose(found.variances, np.exp(logs.astype(float)))
    np.testing.assert_array_equal(found.means, means)
    cohort = import_cohort([tmp_path / "vae.npz"], tmp_path / "vaes.zarr")
    np.testing.assert_array_equal(cohort["vae"].variances, found.variances)  # type: ignore[union-attr]


@pytest.mark.parametrize("value", [np.nan, np.inf, 1000.0])
def test_log_variances_of_no_variance_are_refused(value: float, tmp_path: Path) -> None:
    logs = np.zeros((4, 3))
    logs[2, 1] = value
    np.savez(tmp_path / "vae.npz", means=np.ones((4, 3)), log_variances=logs)
    with pytest.raises(InputError, match=r"In .*vae\.npz: 'log_variances' must be natural log"):
        read_network(tmp_path / "vae.npz")
