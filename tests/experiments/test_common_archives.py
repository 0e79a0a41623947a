"""Archives of networks: what was written is read, and the kept networks are what they were."""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.common import files
from experiments.common.archives import (
    Archive,
    NetworkFiles,
    add_to_archive,
    archive_of,
    find_archives,
    open_archive,
    read_records,
    require_finished,
    write_archive,
)
from experiments.common.reproducible import weights_hash
from experiments.patch_gaussian import run as patch_run
from experiments.patch_gaussian.keep import keep_networks
from experiments.vae import run as vae_run
from patch_support import MEASURE, TINY

from repshape.errors import InputError

ROOT = Path(__file__).parents[2] / "experiments"
RECORD = b'{\n  "name": "a",\n  "seed": 3\n}\n'
ARRAYS = {"encoder.0.weight": np.arange(6.0, dtype=np.float32).reshape(2, 3), "steps": np.arange(3)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "small-mnist.zip"
    networks = {name: {"weights.npz": ARRAYS, "record.json": RECORD} for name in ("a", "b")}
    write_archive(target, networks, {"study": "vae", "settings": {"seeds": 3, "widths": (1, 2)}})
    return target


def test_what_was_written_is_read(path: Path) -> None:
    archive = Archive(path)
    assert archive.networks == ["a", "b"]
    assert archive.read("a", files.RECORD) == RECORD
    found = archive.arrays("b", files.WEIGHTS)
    assert found.keys() == ARRAYS.keys()
    for name, values in ARRAYS.items():
        assert (found[name].dtype, found[name].tolist()) == (values.dtype, values.tolist())
    assert archive.has("a", files.WEIGHTS)
    assert not archive.has("a", "scores.json")
    assert not archive.has("c", files.RECORD)
    archive.check()


def test_numpy_opens_an_archive(path: Path) -> None:
    with np.load(path) as stored:
        assert stored["a/weights/steps"].tolist() == [0, 1, 2]
        assert stored["a/record.json"] == RECORD


def test_equal_networks_make_equal_bytes(path: Path) -> None:
    before = path.read_bytes()
    networks = {name: {"record.json": RECORD, "weights.npz": ARRAYS} for name in ("b", "a")}
    write_archive(path, networks, {"study": "vae", "settings": {"seeds": 3, "widths": (1, 2)}})
    assert path.read_bytes() == before


def test_a_changed_network_is_found(path: Path) -> None:
    archive = Archive(path)
    archive.provenance["sha256"]["b"] = "0"
    with pytest.raises(InputError, match=r"b in .* is not what its fingerprint says"):
        archive.check()


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"no zip")
    with pytest.raises(InputError, match="not an archive of networks"):
        Archive(tmp_path / "x.zip")
    np.savez(tmp_path / "y.npz", one=np.ones(3))
    with pytest.raises(InputError, match="not an archive of networks"):
        Archive(tmp_path / "y.npz")


def test_archives_are_found_by_their_settings(path: Path) -> None:
    folder = path.parent
    assert find_archives(folder, study="vae", settings={"seeds": 3, "widths": (1, 2)}) == (path,)
    assert find_archives(folder, settings={"seeds": 3, "added_later": 1}) == (path,)
    assert find_archives(folder, settings={"seeds": 4}) == ()
    assert find_archives(folder, settings={"widths": (1, 2, 3)}) == ()
    assert archive_of("b", [path]) == path
    assert archive_of("c", [path]) is None


def test_files_of_a_folder_come_first(path: Path, tmp_path: Path) -> None:
    stored = NetworkFiles(tmp_path / "a", path)
    assert stored.json(files.RECORD) == {"name": "a", "seed": 3}
    assert list(read_records([stored, NetworkFiles(tmp_path / "c", path)])) == [
        {"name": "a", "seed": 3}
    ]
    stored.folder.mkdir()
    files.write_json(stored.folder / files.RECORD, {"name": "a", "seed": 4})
    files.write_arrays(stored.folder / "latents.npz", {"means": np.ones(2)})
    assert stored.json(files.RECORD)["seed"] == 4
    assert stored.arrays("latents.npz")["means"].tolist() == [1, 1]
    assert stored.arrays(files.WEIGHTS).keys() == ARRAYS.keys()
    with pytest.raises(FileNotFoundError):
        NetworkFiles(tmp_path / "a").read("scores.json")


def test_an_archive_that_is_written_again_is_read_again(path: Path) -> None:
    assert open_archive(path) is open_archive(path)
    write_archive(path, {"c": {"record.json": RECORD}}, {})
    assert open_archive(path).networks == ["c"]


def test_seeds_are_added_to_an_archive(path: Path) -> None:
    """Whatever the order, the archive is the one that is written at once; others are refused."""
    stated = {"study": "vae", "settings": {"seeds": 3, "widths": (1, 2)}}
    contents = {"weights.npz": ARRAYS, "record.json": RECORD}
    for name in "ca":
        add_to_archive(path, {name: contents}, stated)
    whole = path.with_name("whole.zip")
    add_to_archive(whole, dict.fromkeys("abc", contents), stated)
    assert path.read_bytes() == whole.read_bytes()
    Archive(path).check()
    add_to_archive(path, {"a": {"record.json": b"{}"}}, stated)
    assert Archive(path).read("a", files.RECORD) == b"{}"
    assert not Archive(path).has("a", files.WEIGHTS)
    with pytest.raises(InputError, match="networks of another study, round or settings"):
        add_to_archive(path, {"d": contents}, {**stated, "study": "other"})


def test_only_whole_seeds_are_kept() -> None:
    require_finished({"a": True})
    with pytest.raises(InputError, match="1 of 2 networks are not finished, b among them"):
        require_finished({"a": True, "b": False})
    with pytest.raises(InputError, match="0 of 0"):
        require_finished({})


def test_kept_networks_need_no_training(tmp_path: Path) -> None:
    """Weights and records are read from the archive, and nothing is left to train."""
    study = patch_run.Study(tmp_path / "study", TINY, MEASURE, scale="tiny")
    for k, plan in enumerate(study.plans()):
        weights = {"weight": np.full(2, k, dtype=np.float16)}
        files.prepare_network_folder(study.folder(plan))
        files.write_arrays(study.folder(plan) / files.WEIGHTS, weights)
        record = {"name": plan.name, "weights_sha256": weights_hash(weights)}
        files.write_json(study.folder(plan) / files.RECORD, record)
    archive = keep_networks(study, "pilot", tmp_path / "kept")
    again = replace(study, out=tmp_path / "other", archives=(archive,))
    assert list(again.records()) == list(study.records())
    assert list(patch_run.train_all(again, 1)) == []
    for k, plan in enumerate(again.plans()):
        assert again.network(plan).arrays(files.WEIGHTS)["weight"].tolist() == [k, k]


# The networks of the repository

# Of all files as they were, one folder a network, before they were put into archives.
BEFORE = {
    "vae/trained/small-dsprites.zip": (
        "0ef6227eef0457b597736240f1eaeb50d27538aa11637b3195a8ae7ed86801b0"
    ),
    "vae/trained/small-mnist.zip": (
        "cea8f76fc0465de7c33de176e6a81c7d64f1cab2af70d79e1863e20acd413180"
    ),
    "vae/trained/small-cifar10.zip": (
        "ba000fb3601f741159b281f4ebb6847e5401c015db2d3677feb12c2249a31e33"
    ),
    "patch_gaussian/trained/small-cifar10.zip": (
        "df6855065cb941e58e5c64c94b25ea7df34191bbe259e8c72eccf95efc68e18a"
    ),
    "patch_gaussian/trained/wide-cifar10.zip": (
        "295dc96cb4ec1681a3a8c37078c92b0f0b44e625ad27ffb1a2e0acba95dd725c"
    ),
}


def content(archive: Archive, name: str) -> tuple[str, bytes]:
    """Name and content as they were: arrays with type and shape, texts to the byte."""
    raw = archive.zipped.read(name)
    if not name.endswith(".npy"):
        return name, raw
    array = np.load(io.BytesIO(raw), allow_pickle=False)
    return name.removesuffix(".npy"), f"{array.dtype}{array.shape}".encode() + array.tobytes()


@pytest.mark.parametrize("name", BEFORE)
def test_networks_are_those_that_were_kept_in_folders(name: str) -> None:
    archive = Archive(ROOT / name)
    digest = hashlib.sha256()
    for key, raw in sorted(content(archive, one) for one in archive.names - {"provenance.json"}):
        digest.update(key.encode())
        digest.update(raw)
    assert digest.hexdigest() == BEFORE[name]


def all_archives() -> list[Path]:
    return sorted(ROOT.glob("*/trained/*.zip"))


@pytest.mark.parametrize("path", all_archives(), ids=lambda path: str(path.relative_to(ROOT)))
def test_archives_say_where_networks_come_from(path: Path) -> None:
    archive = Archive(path)
    stated: dict[str, Any] = archive.provenance
    assert stated["study"] == path.parents[1].name
    assert path.name.startswith(f"{stated['scale']}-{stated['dataset']}")
    assert stated["round"] in ("pilot", "confirmation")
    seeds = range(stated["settings"]["seeds"])
    for network in archive.networks:
        record = NetworkFiles(Path(network), path).json(files.RECORD)
        assert record["name"] == network
        assert len(record["weights_sha256"]) == 64
        assert record["versions"]["torch"].startswith("2.")
        first = stated["settings"]["first_seed"]
        assert record["seed"] - first in seeds or record.get("objective") == "untrained"


def test_there_are_few_archives_of_the_pilot() -> None:
    pilot = [path for path in all_archives() if "confirmation" not in path.name]
    assert len(pilot) <= 12


def test_commands_find_the_networks_of_the_pilot(tmp_path: Path) -> None:
    vaes = vae_run.Study.of_scale("small", tmp_path, kept=True)
    assert len(list(vaes.records())) == len(vaes.plans()) == 320
    for scale, count in (("small", 48), ("wide", 10)):
        patches = patch_run.Study.of_scale(scale, tmp_path, kept=True)
        assert len(list(patches.records())) == len(patches.plans()) == count
    assert not list(vae_run.Study.of_scale("small", tmp_path).records())
    assert not list(tmp_path.iterdir())


def test_kept_weights_are_those_of_the_record(tmp_path: Path) -> None:
    study = patch_run.Study.of_scale("small", tmp_path, kept=True)
    plan = study.plans()[0]
    stored = study.network(plan)
    assert weights_hash(stored.arrays(files.WEIGHTS)) == stored.json(files.RECORD)["weights_sha256"]
