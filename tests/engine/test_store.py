"""Stores that are refused, damaged, full or read-only: one sentence, and nothing is lost."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from repshape import Cohort, DistanceMatrix, GaussianShapeMetric, pairwise
from repshape.cli import run
from repshape.engine.store import Store
from repshape.errors import InputError, StorageError
from repshape.io import zarr as _zarr
from scale_support import CONTEXT, EDGE, METRIC, contents, make_cohort, run_limited, start

# Some pairs of these small networks are found once only.
pytestmark = pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Cohort:
    return make_cohort(tmp_path_factory.mktemp("store") / "cohort", 12)


@pytest.fixture(scope="module")
def expected(cohort: Cohort) -> DistanceMatrix:
    return pairwise(cohort, METRIC)


@pytest.fixture
def half(cohort: Cohort, tmp_path: Path) -> Path:
    """A store with every other tile."""
    pairwise(cohort, METRIC, store=tmp_path / "half", shard="1/2", tile=EDGE)
    return tmp_path / "half"


def refused(cohort: Any, metric: Any, store: Path, sentence: str, **options: Any) -> None:
    """Assert that a run is refused with a sentence, and the store stays as it is."""
    before = contents(store)
    with pytest.raises(StorageError, match=sentence):
        pairwise(cohort, metric, store=store, **options)
    assert contents(store) == before


def test_another_metric_is_refused(cohort: Cohort, half: Path) -> None:
    refused(cohort, GaussianShapeMetric(alpha=1.0), half, "'alpha' was 0.5 and is 1.0")
    refused(cohort, np.array_equal, half, "was GaussianShapeMetric and is numpy.array_equal")


def test_other_data_is_refused(cohort: Cohort, half: Path, tmp_path: Path) -> None:
    renamed = [f"other {k}" for k in range(12)]
    words = "it has a network 'net/0', which the cohort lacks. Name it in 'remove'"
    refused(cohort, METRIC, half, words, labels=renamed)
    other = make_cohort(tmp_path / "other", 12, seed=1)
    refused(other, METRIC, half, "the responses of network 'net/0' have changed")


def test_another_version_is_refused(cohort: Cohort, half: Path) -> None:
    header = json.loads((half / "zarr.json").read_text())
    header["attributes"]["description"]["repshape"] = "0.0.1"
    del header["attributes"]["seal"]
    (half / "zarr.json").write_text(json.dumps(header))
    refused(cohort, METRIC, half, "made by repshape 0.0.1 and this is")
    header["attributes"]["version"] = 7
    (half / "zarr.json").write_text(json.dumps(header))
    refused(cohort, METRIC, half, "has format version 7; this repshape reads versions 3 to 5")


def test_polish_needs_alignments(cohort: Cohort, tmp_path: Path) -> None:
    pairwise(cohort, METRIC, store=tmp_path / "s", polish=False)
    refused(cohort, METRIC, tmp_path / "s", "keeps no alignments, which the polish needs")


def test_a_foreign_group_is_left_alone(cohort: Cohort, tmp_path: Path) -> None:
    group = zarr.create_group(tmp_path / "foreign")
    group.create_array("x", data=np.arange(3))
    refused(cohort, METRIC, tmp_path / "foreign", "not a repshape distance store")
    refused(cohort, METRIC, Path(str(cohort.path)), "not a repshape distance store")


def test_a_truncated_chunk(cohort: Cohort, half: Path, expected: DistanceMatrix) -> None:
    chunk = next(path for path in sorted((half / "tiles" / "c").rglob("*")) if path.is_file())
    chunk.write_bytes(chunk.read_bytes()[:-100])
    before = contents(half)
    with pytest.raises(StorageError, match=rf"{chunk} is damaged .* Delete that file"):
        DistanceMatrix.load(half)
    assert contents(half) == before
    assert run(["info", str(half)]) == 1
    chunk.unlink()
    np.testing.assert_array_equal(pairwise(cohort, METRIC, store=half).values, expected.values)


def test_flipped_bits_are_noticed(half: Path) -> None:
    chunk = next(path for path in sorted((half / "tiles" / "c").rglob("*")) if path.is_file())
    content = bytearray(chunk.read_bytes())
    content[20] ^= 1
    chunk.write_bytes(content)
    with pytest.raises(StorageError, match="is damaged"):
        DistanceMatrix.load(half)


def test_a_full_disk(cohort: Cohort, half: Path, expected: DistanceMatrix) -> None:
    before = contents(half)
    answer = CONTEXT.Queue()
    process = start(run_limited, cohort.path, half, 300, answer)
    words = answer.get(timeout=60)
    process.join(60)
    assert words.startswith(f"Cannot write to {half}: the file would be larger")
    assert words.endswith("Finished tiles are safe: run the same command again to continue.")
    assert contents(half) == before
    np.testing.assert_array_equal(pairwise(cohort, METRIC, store=half).values, expected.values)


@pytest.mark.parametrize(
    ("code", "words"), [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "is read-only")]
)
def test_a_disk_that_refuses(
    cohort: Cohort, half: Path, monkeypatch: pytest.MonkeyPatch, code: int, words: str
) -> None:
    def refuse(path: Any) -> Any:
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr(_zarr, "atomic_write", refuse)
    refused(cohort, METRIC, half, words)


def test_missing_metadata_is_valid_json_and_reads_back(tmp_path: Path) -> None:
    def refuse(constant: str) -> Any:
        raise AssertionError(f"{constant} is not JSON")

    cohort = Cohort()
    for k, facts in enumerate([{"depth": 1.5, "day": 3, "area": "V1"}, {}, {"depth": 0.5}]):
        cohort.add(f"net {k}", np.random.default_rng(k).normal(size=(3, 8, 2)), **facts)
    made = pairwise(cohort, METRIC, store=tmp_path / "s")
    files = sorted((tmp_path / "s").rglob("zarr.json"))
    for file in files:
        json.loads(file.read_text(), parse_constant=refuse)
    header = json.loads((tmp_path / "s" / "zarr.json").read_text())["attributes"]
    assert [one["values"] for one in header["metadata"]] == [
        [1.5, None, 0.5],
        [3.0, None, None],
        ["V1", None, None],
    ]
    loaded = DistanceMatrix.load(tmp_path / "s").metadata
    np.testing.assert_array_equal(loaded["depth"], [1.5, np.nan, 0.5])
    np.testing.assert_array_equal(loaded["day"], [3.0, np.nan, np.nan])
    assert loaded["area"].isna().tolist() == made.metadata["area"].isna().tolist()


def test_a_metric_without_a_number_writes_nothing(cohort: Cohort, tmp_path: Path) -> None:
    def broken(x: Any, y: Any) -> float:
        return float("nan")

    with pytest.raises(InputError, match="gave nan for networks 'net/0' and 'net/1'"):
        pairwise(cohort, broken, name="broken", store=tmp_path / "s")
    assert Store(tmp_path / "s").missing() == list(Store(tmp_path / "s").plan.tiles)


def test_callables_and_lists_can_be_stored(cohort: Cohort, tmp_path: Path) -> None:
    def gap(x: Any, y: Any) -> float:
        return float(abs(x.means.sum() - y.means.sum()))

    named = {"name": "gap of the means", "store": tmp_path / "s"}
    first = pairwise(list(cohort), gap, shard="1/3", tile=EDGE, **named)
    assert not first.complete
    assert first.lower_bounds is None
    D = pairwise(list(cohort), gap, **named)
    assert D.description["metric"] == "gap of the means"
    np.testing.assert_array_equal(D.values, pairwise(list(cohort), gap).values)
    assert DistanceMatrix.load(tmp_path / "s").lower_bounds is None
    with pytest.raises(InputError, match="A store needs networks that it can recognise"):
        pairwise([object(), object()], gap, name="gap", store=tmp_path / "t")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--alpha", "3"], "must be a float in [0, 2]"),
        (["--shard", "5/4"], "A shard must be i/N"),
        (["--memory", "much"], "Memory must be a size"),
        (["--metric", "cosine"], "must be one of 'gaussian'"),
        (["--q", "1"], "no parameter 'q'"),
        (["--engine", "magic"], "must be one of 'threads', 'dask'"),
        (["--alignments", "int8"], "must be one of 'float32', 'float64'"),
        (["--alpha", "0", "--alpha", "1", "-o", "x.npz"], "Several matrices need a folder"),
    ],
)
def test_bad_options_exit_2(
    cohort: Cohort, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run(["pairwise", str(cohort.path), "-o", "never", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in " ".join(captured.err.split())


def test_command_line_writes_each_form(
    cohort: Cohort, tmp_path: Path, capsys: pytest.CaptureFixture[str], expected: DistanceMatrix
) -> None:
    command = ["pairwise", str(cohort.path), "--alpha", "0.5", "--json", "--quiet"]
    for name in ("d.zarr", "d.npz", "d.csv"):
        assert run([*command, "-o", str(tmp_path / name)]) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        assert json.loads(captured.out)["complete"] is True
        D = DistanceMatrix.load(tmp_path / name)
        np.testing.assert_array_equal(D.values, expected.values)
    assert run([*command, "--alpha", "1", "-o", str(tmp_path / "sweep")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [Path(one["path"]).name for one in told["matrices"]] == ["alpha-0.5", "alpha-1"]
