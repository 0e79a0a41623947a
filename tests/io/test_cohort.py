"""Cohorts: what they keep, refuse and survive; and import from files."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import zarr

from repshape import Cohort, Gaussians, Trials
from repshape.cli import run
from repshape.datasets import toy_networks
from repshape.errors import InputError, InputTypeError, RepshapeError, StorageError
from repshape.io import network_arrays, swaps
from repshape.io.importing import import_cohort, read_network
from repshape.report.info import info

RNG = np.random.default_rng(0)
MEANS = RNG.normal(size=(4, 3))
KINDS: dict[str, Any] = {
    "stacked trials": Trials(RNG.normal(size=(4, 5, 3)), conditions=list("abcd")),
    "ragged trials": Trials([RNG.normal(size=(size, 2)) for size in (2, 5, 3, 4)]),
    "missing trials": Trials(np.where(np.arange(5)[:, None] > 3, np.nan, np.ones((4, 5, 3)))),
    "full": Gaussians(MEANS, np.broadcast_to(np.eye(3), (4, 3, 3))),
    "variances": Gaussians(MEANS, np.abs(MEANS)),
    "factors": Gaussians.from_factors(MEANS, RNG.normal(size=(4, 3, 2))),
    "points": Gaussians.points(MEANS),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_comes_back_as_it_went(kind: str, tmp_path: Path) -> None:
    cohort = Cohort.create(tmp_path / "c")
    cohort.add("x", KINDS[kind], area="V1", units=3, rate=0.5, awake=True, note=None)
    back = Cohort.open(tmp_path / "c")
    network = back["x"]
    assert repr(network) == repr(KINDS[kind])
    assert network.fingerprint == KINDS[kind].fingerprint == back.fingerprints[0]
    assert network.conditions == KINDS[kind].conditions
    expected = {"area": "V1", "units": 3, "rate": 0.5, "awake": True, "note": None}
    assert back.records[0].metadata == expected


def test_order_names_and_metadata_are_kept(tmp_path: Path) -> None:
    toy = toy_networks(3, 2)
    cohort = Cohort.from_networks(toy).save(tmp_path / "c")
    names = ["z/../a", ".hidden", "100 %", "ü", "CON"]
    for k, name in enumerate(names):
        cohort.add(name, np.full((5, 2), k))
    back = Cohort.open(tmp_path / "c")
    assert back.labels == (*toy.labels, *names)
    np.testing.assert_array_equal(back.metadata["scale"][:6], toy.metadata["scale"])
    assert all(path.parent == tmp_path / "c" for path in (tmp_path / "c").iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c"]


def test_networks_are_read_when_asked_for(tmp_path: Path) -> None:
    cohort = Cohort.from_networks(toy_networks(2, 2)).save(tmp_path / "c")
    for array in (tmp_path / "c" / "c0s0").glob("*/c/*"):
        for file in [array] if array.is_file() else array.rglob("*"):
            if file.is_file():
                file.write_bytes(file.read_bytes()[:-3])
    back = Cohort.open(tmp_path / "c")
    assert len(back) == 4
    assert back[1].n_neurons == 2
    with pytest.raises(StorageError, match=r"c0s0.* is damaged"):
        back[0]
    assert cohort[-1].fingerprint == cohort[3].fingerprint
    assert [one.fingerprint for one in cohort[1:3]] == list(cohort.fingerprints[1:3])


@pytest.mark.parametrize("disk", [False, True])
def test_conditions_must_agree(tmp_path: Path, disk: bool) -> None:
    cohort = Cohort.create(tmp_path / "c") if disk else Cohort()
    cohort.add("a", Trials(np.ones((2, 3, 2)), conditions=["cat", "dog"]))
    with pytest.raises(InputError, match="Got 2 in 'a' and 3 in 'b'"):
        cohort.add("b", np.zeros((3, 3, 2)))
    with pytest.raises(InputError, match="Condition 1 is 'dog' in 'a' and 'owl' in 'b'"):
        cohort.add("b", Trials(np.zeros((2, 3, 2)), conditions=["cat", "owl"]))
    with pytest.raises(InputError, match="already has a network named 'a'"):
        cohort.add("a", np.zeros((2, 3, 2)))
    with pytest.raises(InputTypeError, match="metadata 'when' must be"):
        cohort.add("b", np.zeros((2, 3, 2)), when=object())
    assert cohort.labels == ("a",)


@pytest.mark.parametrize("disk", [False, True])
def test_a_selection_is_a_cohort_of_the_same_networks(tmp_path: Path, disk: bool) -> None:
    whole = Cohort.from_networks(toy_networks(3, 2))
    whole = whole.save(tmp_path / "c") if disk else whole
    scale = whole.metadata["scale"].iloc[1]
    chosen = whole.select(scale=lambda value: value >= scale)
    keep = [k for k, value in enumerate(whole.metadata["scale"]) if value >= scale]
    assert 0 < len(keep) < len(whole)
    assert chosen.labels == tuple(whole.labels[k] for k in keep)
    assert chosen.fingerprints == chosen.verify() == tuple(whole.fingerprints[k] for k in keep)
    assert chosen[0].fingerprint == whole[keep[0]].fingerprint
    assert chosen.path == whole.path
    again = whole[list(whole.labels[::-1])].save(tmp_path / "again")
    assert again.labels == whole.labels[::-1]
    with pytest.raises(InputError, match=r"no network named 'c0s'\. Did you mean"):
        whole["c0s"]
    if disk:
        with pytest.raises(InputError, match="cannot be added to a selection"):
            chosen.add("new", whole[0])
    else:
        chosen.add("new", whole[0])
        assert "new" not in whole.labels


def test_a_selection_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cohort = Cohort.from_networks(toy_networks(2, 2)).save(tmp_path / "c")

    def load(*arguments: Any) -> None:
        raise AssertionError("a network was read")

    monkeypatch.setattr("repshape.io.cohort.load_network", load)
    column = cohort.metadata.columns[0]
    assert len(cohort.select(**{column: cohort.metadata[column].tolist()})) == 4


def test_common_conditions_are_matched_by_label(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = Trials(rng.normal(size=(4, 3, 2)), conditions=list("abcd"))
    y = Trials(rng.normal(size=(4, 3, 2)), conditions=list("daxb"))
    cohort = Cohort.common_conditions([x, y])
    assert cohort[0].conditions == cohort[1].conditions == ("a", "b", "d")
    np.testing.assert_array_equal(cohort[1].stacked, y.stacked[[1, 3, 0]])
    assert cohort.dropped == {"0": ("c",), "1": ("x",)}
    assert repr(cohort).endswith("2 conditions dropped)")
    assert cohort.common_conditions().fingerprints == cohort.fingerprints
    assert cohort.save(tmp_path / "c").common_conditions().path == tmp_path / "c"
    with pytest.raises(InputError, match="those of network '1' have none"):
        Cohort.common_conditions([x, np.zeros((4, 3, 2))])
    with pytest.raises(InputError, match=r"no condition in common: 'a', 'b' in 'x'; 'c' in 'y'"):
        Cohort.common_conditions({"x": x[["a", "b"]], "y": x[["c"]]})
    with pytest.raises(InputError, match="at least one network"):
        Cohort.common_conditions([])


def test_the_error_for_conditions_that_differ_offers_a_way_out() -> None:
    x = Trials(np.ones((2, 3, 2)), conditions=["cat", "dog"])
    for given, first in [
        (x[["dog", "cat"]], "Condition 0 is 'cat' in 'x' and 'dog' in 'y'"),
        (x[["cat"]], "Condition 1 is 'dog' in 'x' and missing in 'y'"),
    ]:
        with pytest.raises(InputError, match=first) as error:
            Cohort.from_networks({"x": x, "y": given})
        assert "Cohort.common_conditions(networks)" in str(error.value)


def test_a_cohort_without_labels_of_neurons_is_still_read(tmp_path: Path) -> None:
    Cohort.from_networks({"x": KINDS["full"]}).save(tmp_path / "c")
    file = tmp_path / "c" / "x" / "zarr.json"
    header = json.loads(file.read_text())
    del header["attributes"]["neurons"], header["attributes"]["seal"]
    file.write_text(json.dumps(header))
    assert Cohort.open(tmp_path / "c")["x"].neurons is None


def test_a_notebook_shows_names_and_metadata() -> None:
    cohort = Cohort()
    cohort.add("<mouse>", np.zeros((2, 2)), area="V1")
    html = cohort._repr_html_()
    assert "&lt;mouse&gt;" in html
    assert "V1" in html


def test_what_is_no_cohort_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no cohort at"):
        Cohort.open(tmp_path / "nothing")
    zarr.create_group(tmp_path / "foreign")
    with pytest.raises(StorageError, match="not a repshape cohort"):
        Cohort.open(tmp_path / "foreign")
    with pytest.raises(StorageError, match="exists already"):
        Cohort.create(tmp_path / "foreign")
    attributes = {"format": "repshape-cohort", "version": 9}
    zarr.create_group(tmp_path / "later", attributes=attributes)
    with pytest.raises(StorageError, match="format version 9; this repshape reads version 1"):
        Cohort.open(tmp_path / "later")


def test_a_failed_save_leaves_nothing(tmp_path: Path) -> None:
    def networks() -> Any:
        yield "a", np.zeros((2, 3)), {}
        raise InputError("the source dried up")

    from repshape.io.cohort import save_networks

    with pytest.raises(InputError, match="dried up"):
        save_networks(networks(), tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


def test_only_the_written_files_are_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, and their folders, before the network gets its name."""
    cohort = Cohort.create(tmp_path / "c")
    flushed: set[int] = set()
    original = os.fsync

    def fsync(handle: int) -> None:
        flushed.add(os.fstat(handle).st_ino)
        original(handle)

    def sync() -> None:
        raise AssertionError("the whole machine was flushed")

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "sync", sync)
    cohort.add("x", KINDS["full"])
    network = tmp_path / "c" / "x"
    written = {path.stat().st_ino for path in [network.parent, network, *network.rglob("*")]}
    assert flushed >= written


@pytest.fixture
def files(tmp_path: Path) -> Path:
    np.savez(tmp_path / "a.npz", trials=RNG.normal(size=(4, 6, 3)))
    np.save(tmp_path / "b.npy", RNG.normal(size=(4, 5, 2)))
    np.savez(tmp_path / "c.npz", means=MEANS, variances=np.abs(MEANS))
    with h5py.File(tmp_path / "d.h5", "w") as handle:
        handle["m1/trials"] = RNG.normal(size=(9, 3))
        handle["m1/n_trials"] = [2, 3, 2, 2]
        handle["m2"] = MEANS
    rows = ["name,file,area,rate", "a,a.npz,V1,1.5", "007,b.npy,V1,", "c,c.npz,,2"]
    (tmp_path / "m.csv").write_text("\n".join([*rows, "m1,d.h5#m1,IT,3", "m2,d.h5#m2,IT,4"]))
    return tmp_path


def test_import_from_a_manifest(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", str(files / "m.csv"), "-o", str(files / "c"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["networks"], told["conditions"], told["neurons"]) == (5, 4, [2, 3])
    cohort = Cohort.open(files / "c")
    assert cohort.labels == ("a", "007", "c", "m1", "m2")
    assert cohort.metadata["area"].tolist() == ["V1", "V1", None, "IT", "IT"]
    assert cohort.records[1].metadata["rate"] is None
    assert repr(cohort["m1"]) == "Trials(4 conditions, 2-3 trials each, 3 neurons)"
    assert repr(cohort["m2"]) == "Gaussians(4 conditions, 3 neurons, no covariance)"


def test_import_of_files_by_their_names(files: Path) -> None:
    sources = [files / "a.npz", f"{files}/d.h5#m2"]
    assert import_cohort(sources, files / "c").labels == ("a", "m2")


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        ("name,path\na,a.npz", "needs a column 'file'"),
        ("name,file\na,", "no 'file' in line 2"),
        ("name,file\na,gone.npz", "There is no file"),
        ("name,file\na,a.npz\na,b.npy", "already has a network named 'a'"),
        ("name,file\na,a.npz\nb,bad.npy", "Got 4 in 'a' and 2 in 'b'"),
        ("name,file\na,a.pkl", "must be one of .npz, .npy, .h5, .hdf5, .mat"),
        ("name,file\na,d.h5#m9", "no array or group 'm9'"),
        ("name,file\na,d.h5", "It holds 'm2'|single array|no trials"),
        ("name,file\na,junk.npy", "cannot be read as NumPy"),
        ("name,file\na,junk.h5", "cannot be read as HDF5"),
        ("name,file", "no rows"),
    ],
)
def test_import_refuses_in_one_sentence(
    files: Path, manifest: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(files / "bad.npy", np.zeros((2, 3, 3)))
    for name in ("junk.npy", "junk.h5"):
        (files / name).write_bytes(b"junk")
    (files / "bad.csv").write_text(manifest)
    if "d.h5\n" in manifest + "\n":  # one dataset at the top: read as the only array
        assert read_network(files / "d.h5").n_neurons == 3
        return
    with pytest.raises(RepshapeError, match=sentence):
        import_cohort([files / "bad.csv"], files / "c")
    assert not (files / "c").exists()
    assert run(["import", str(files / "bad.csv"), "-o", str(files / "c")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_info_of_each_kind(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import_cohort([files / "m.csv"], files / "c")
    assert info(files / "c").data["kind"] == "cohort"
    assert info(f"{files}/d.h5#m1").data["trials"] == [2, 3]
    assert info(files / "a.npz").data["kind"] == "network"
    assert run(["pairwise", str(files / "c"), "-o", str(files / "d"), "--shard", "1/2"]) == 0
    assert info(files / "d").data["kind"] == "distances"
    capsys.readouterr()
    assert run(["info", str(files / "c")]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "5 networks, 4 conditions, 2-3 neurons" in captured.err
    (files / "x.txt").write_text("")
    (files / "empty").mkdir()
    for name in ("x.txt", "empty", "nothing"):
        assert run(["info", str(files / name)]) == 1


@pytest.mark.parametrize("disk", [False, True])
def test_a_replaced_network_keeps_its_place_and_nothing_of_its_data(
    tmp_path: Path, disk: bool
) -> None:
    cohort = Cohort.from_networks(toy_networks(2, 2))
    cohort = cohort.save(tmp_path / "c") if disk else cohort
    before, new = cohort.fingerprints, np.ones((5, 4, 3))
    old = [record.metadata for record in cohort.records]
    cohort.replace("c0s1", new)
    cohort.replace("c1s0", 3 * new, day=2)
    cohort.replace("c1s0", 2 * new)
    back = Cohort.open(tmp_path / "c") if disk else cohort
    assert back.labels == ("c0s0", "c0s1", "c1s0", "c1s1")
    same = [a == b for a, b in zip(back.fingerprints, before, strict=True)]
    assert same == [True, False, False, True]
    assert back.verify() == back.fingerprints
    np.testing.assert_array_equal(back["c1s0"].stacked, 2 * new)
    rows = [record.metadata for record in back.records]
    assert rows == [old[0], old[1], {"day": 2}, old[3]]
    with pytest.raises(InputError, match="Got 5 in 'c0s0' and 2 in 'c1s1'"):
        cohort.replace("c1s1", np.ones((2, 4, 3)))
    with pytest.raises(InputError, match="no network named 'c9'"):
        cohort.replace("c9", new)
    assert back.labels == cohort.labels
    if disk:
        assert len([one for one in (tmp_path / "c").iterdir() if one.is_dir()]) == 4


@pytest.mark.parametrize("disk", [False, True])
def test_a_removed_network_is_gone(tmp_path: Path, disk: bool) -> None:
    cohort = Cohort.from_networks(toy_networks(2, 2))
    cohort = cohort.save(tmp_path / "c") if disk else cohort
    cohort.remove("c0s1")
    with pytest.raises(InputError, match="no network named 'c0s1'"):
        cohort.remove("c0s1")
    cohort.add("c0s1", np.ones((5, 4, 3)))
    back = Cohort.open(tmp_path / "c") if disk else cohort
    assert back.labels == ("c0s0", "c1s0", "c1s1", "c0s1")
    np.testing.assert_array_equal(back["c0s1"].stacked, np.ones((5, 4, 3)))
    if disk:
        with pytest.raises(InputError, match="cannot be removed from a selection"):
            back[["c0s0"]].remove("c0s0")
        with pytest.raises(InputError, match="cannot be replaced in a selection"):
            back[["c0s0"]].replace("c0s0", np.ones((5, 4, 3)))


def test_of_two_revisions_the_latest_counts(tmp_path: Path) -> None:
    """As earlier releases left them if they were killed; later removed, they do not come back."""
    cohort = Cohort.from_networks(toy_networks(2, 2)).save(tmp_path / "c")
    shutil.copytree(tmp_path / "c" / "c0s1", tmp_path / "copy")
    cohort.replace("c0s1", np.ones((5, 4, 3)))
    shutil.move(tmp_path / "copy", tmp_path / "c" / "c0s1")
    back = Cohort.open(tmp_path / "c")
    assert back.labels == cohort.labels
    np.testing.assert_array_equal(back["c0s1"].stacked, np.ones((5, 4, 3)))
    back.remove("c0s1")
    assert Cohort.open(tmp_path / "c").labels == ("c0s0", "c1s0", "c1s1")


class KilledError(BaseException):
    """Stands for the end of a process."""


def killed(*_: object) -> bool:
    raise KilledError


def test_a_replacement_that_was_interrupted_counts_once_it_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the new responses are at their place: whoever reads next moves them there."""
    cohort = Cohort.from_networks(toy_networks(2, 2)).save(tmp_path / "c")
    with monkeypatch.context() as patch:
        patch.setattr(swaps, "settle_swap", killed)
        with pytest.raises(KilledError):
            cohort.replace("c0s1", np.ones((5, 4, 3)))
    assert not (tmp_path / "c" / "c0s1").exists()
    back = Cohort.open(tmp_path / "c")
    assert back.labels == ("c0s0", "c0s1", "c1s0", "c1s1")
    np.testing.assert_array_equal(back["c0s1"].stacked, np.ones((5, 4, 3)))
    assert len([one for one in (tmp_path / "c").iterdir() if one.is_dir()]) == 4
    back.remove("c0s1")
    assert Cohort.open(tmp_path / "c").labels == ("c0s0", "c1s0", "c1s1")


def test_a_replacement_that_was_interrupted_before_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cohort = Cohort.from_networks(toy_networks(2, 2)).save(tmp_path / "c")
    with monkeypatch.context() as patch:
        patch.setattr(swaps, "move_away", killed)
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(KilledError):
            cohort.replace("c0s1", np.ones((5, 4, 3)))
    back = Cohort.open(tmp_path / "c")
    assert back.fingerprints == Cohort.from_networks(toy_networks(2, 2)).fingerprints


@pytest.mark.parametrize("winner", ["remove", "replace"])
@pytest.mark.parametrize("loser", ["remove", "replace"])
def test_of_two_processes_that_change_one_network_the_second_is_told(
    tmp_path: Path, winner: str, loser: str
) -> None:
    """Both open the cohort before either changes it; in one order, the other must be refused."""
    Cohort.from_networks(toy_networks(2, 2)).save(tmp_path / "c")
    first, second = Cohort.open(tmp_path / "c"), Cohort.open(tmp_path / "c")
    change(first, winner, np.ones((5, 4, 3)))
    with pytest.raises(StorageError, match=r"'c0s1'.*replaced or removed by another process"):
        change(second, loser, 2 * np.ones((5, 4, 3)))
    back = Cohort.open(tmp_path / "c")
    assert ("c0s1" in back.labels) == (winner == "replace")
    if winner == "replace":
        np.testing.assert_array_equal(back["c0s1"].stacked, np.ones((5, 4, 3)))


def change(cohort: Cohort, kind: str, responses: np.ndarray) -> None:
    if kind == "remove":
        cohort.remove("c0s1")
    else:
        cohort.replace("c0s1", responses)


def test_a_network_that_another_process_replaces_meanwhile_is_named_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cohort = Cohort.create(tmp_path / "c")
    cohort.add("mouse", np.ones((2, 3, 4)))
    original = network_arrays.list_folder

    def vanishing(folder: Path) -> list[Path]:
        if folder.name == "trials":  # between two looks at the folder
            monkeypatch.setattr(network_arrays, "list_folder", original)
            Cohort.open(tmp_path / "c").replace("mouse", np.full((2, 3, 4), 2.0))
        return original(folder)

    monkeypatch.setattr(network_arrays, "list_folder", vanishing)
    with pytest.raises(StorageError, match=r"disappeared while it was read.*Open the cohort again"):
        cohort.verify()
