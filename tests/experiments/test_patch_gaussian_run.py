"""A run over networks: the same bits whatever stops it, and a complete record."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.common import files, reproducible
from experiments.common.command import INTERRUPTED
from experiments.common.reproducible import weights_hash
from experiments.patch_gaussian import __main__ as command
from experiments.patch_gaussian import run
from experiments.patch_gaussian.run import Study, train_all
from experiments.patch_gaussian.settings import SCALES, plan_networks
from patch_support import MEASURE, PATCHED, PLAIN, TINY, contents
from test_common_cifar10 import write_binary
from typer.testing import CliRunner

from repshape.errors import MissingDependencyError, StorageError

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cifar10")
    write_binary(folder)
    return folder


@pytest.fixture(scope="module")
def finished(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = Study(tmp_path_factory.mktemp("study"), TINY, MEASURE, images)
    assert len(list(train_all(study, 1))) == 2
    return study


def test_record_says_what_was_done(finished: Study) -> None:
    for plan, record in zip(plan_networks(TINY), finished.records(), strict=True):
        assert (record["name"], record["cell"], record["seed"]) == (plan.name, plan.cell, 0)
        assert record["settings"] == json.loads(json.dumps(asdict(TINY)))
        assert list(record["accuracy"]) == ["clean", "0.1", "0.5"]
        assert record["failed"] == (record["accuracy"]["clean"] < 0.2)
        assert len(record["losses"]) == 2
        assert record["versions"]["torch"].startswith("2.")
        assert record["seconds"] > 0
        weights = dict(np.load(finished.folder(plan) / files.WEIGHTS))
        assert record["weights_sha256"] == weights_hash(weights)
    assert (record["width"], record["sigma"]) == (4, 0.3)


def test_finished_networks_are_not_trained_again(finished: Study) -> None:
    before = contents(finished)
    started: list[tuple[int, int]] = []
    assert list(train_all(finished, 1, lambda *counts: started.append(counts))) == []
    assert started == [(2, 2)]
    assert contents(finished) == before


@pytest.mark.parametrize("written_before", [0, 1, 2])
def test_interrupted_network_leaves_no_record_and_the_same_bits_later(
    written_before: int,
    finished: Study,
    images: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C while any file of the second network is written."""
    study = Study(tmp_path, TINY, MEASURE, images)
    calls = iter(range(100))
    # Of a network: weights, record. One more is the settings.
    stop = 1 + 2 + written_before

    def interrupt(path: Path) -> Iterator[Any]:
        if next(calls) == stop:
            raise KeyboardInterrupt
        return original(path)

    original: Any = files.write_whole
    with monkeypatch.context() as patch:
        patch.setattr(files, "write_whole", interrupt)
        if written_before < 2:
            with pytest.raises(KeyboardInterrupt):
                list(train_all(study, 1))
            assert [record["name"] for record in study.records()] == [PLAIN.name]
        else:
            list(train_all(study, 1))
    list(train_all(study, 1))
    assert contents(study) == contents(finished)


MANY = replace(TINY, widths=(4, 8), seeds=200)
SCRIPT = f"""
import sys
from pathlib import Path
from experiments.patch_gaussian.run import Study, train_all
from experiments.patch_gaussian.settings import Architecture, MeasureSettings, Settings

if __name__ == "__main__":
    out, images = map(Path, sys.argv[1:])
    for record in train_all(Study(out, {MANY!r}, {MEASURE!r}, images), 2):
        print(record["name"], flush=True)
"""


def test_killed_run_continues_with_the_same_bits(
    finished: Study, images: Path, tmp_path: Path
) -> None:
    """A run of two processes is killed in the middle; its workers end with it."""
    script, out = tmp_path / "script.py", tmp_path / "out"
    script.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script), str(out), str(images)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    names = [process.stdout.readline().strip() for _ in range(3)]
    process.send_signal(signal.SIGKILL)
    # The workers hold the same pipe: its end means that they have ended, too.
    names += process.stdout.read().split()
    process.wait()
    process.stdout.close()
    study = Study(out, MANY, MEASURE, images)
    done = {record["name"]: record for record in study.records()}
    assert set(names) <= set(done)
    assert len(done) < len(plan_networks(MANY))
    expected = {record["name"]: record for record in finished.records()}
    for plan in (PLAIN, PATCHED):
        (study.folder(plan) / files.RECORD).unlink(missing_ok=True)
        again = run.train_job(study, plan)
        assert again["weights_sha256"] == expected[plan.name]["weights_sha256"]
        assert again["accuracy"] == expected[plan.name]["accuracy"]
        if plan.name in done:
            assert done[plan.name]["weights_sha256"] == again["weights_sha256"]
    assert set(names) & {PLAIN.name, PATCHED.name}


def test_other_settings_are_refused(finished: Study) -> None:
    other = Study(finished.out, replace(TINY, epochs=3), MEASURE, finished.images)
    with pytest.raises(StorageError, match="other settings"):
        list(train_all(other, 1))


def test_missing_torch_is_reported(finished: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproducible, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install torch"):
        list(train_all(finished, 1))


# The command


def invoke(study: Study, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(SCALES, "small", study.settings)
    arguments = ["train", "--out", str(study.out), "--images", str(study.images), "--workers", "1"]
    return CliRunner().invoke(command.app, arguments)


def test_command_prints_accuracies(finished: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(TINY, taus=(0.1, 0.3), epochs=1)
    study = Study(finished.out.with_name("command"), settings, MEASURE, finished.images)
    result = invoke(study, monkeypatch)
    assert result.exit_code == 0
    for record in study.records():
        assert record["cell"] in result.output
        assert f"{record['accuracy']['clean']:.3f}" in result.output
    assert "The manipulation check" in result.output
    assert "gain at tau = 0.3" in result.output
    words = " ".join(result.output.split())
    assert "clean loss: The threshold was first -0.05." in words


def test_command_reports_errors_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = invoke(Study(tmp_path / "out", TINY, MEASURE, tmp_path), monkeypatch)
    assert result.exit_code == 1
    assert "has CIFAR-10" in " ".join(result.output.split())


def test_command_stops_on_interrupt(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "train_job", interrupt)
    result = invoke(Study(tmp_path, TINY, MEASURE, images), monkeypatch)
    assert result.exit_code == INTERRUPTED
    assert "Repeat the command to continue" in result.output
