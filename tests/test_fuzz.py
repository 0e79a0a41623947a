"""The fuzzer itself: a few thousand of its cases, and that it finds what is wrong."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fuzz import guard, metrics, runner
from fuzz.__main__ import load, run_chunk
from fuzz.checks import WrongError, in_group, no_nan, one_sentence
from fuzz.draws import Draw
from repshape.errors import InputError

ROOT = Path(__file__).parents[1]
# Enough for every function to be tried, with those of every night; a third of them in each run.
CASES = 1200
FILE_CASES = 300


NIGHTLY = [pytest.param(part, marks=pytest.mark.nightly) for part in (1, 2)]


@pytest.mark.parametrize("part", [0, *NIGHTLY])
def test_no_case_fails(part: int) -> None:
    size = CASES // 3
    tally = runner.run_range(7, part * size, (part + 1) * size)
    assert tally.failures == []
    assert tally.n_cases == size


def test_no_case_of_hostile_files_fails() -> None:
    """In another process, which a file could crash."""
    tally, _ = run_chunk(7, 0, FILE_CASES, "files")
    assert tally.failures == []
    assert tally.functions["files"]["passed"] > 0.1 * FILE_CASES
    assert tally.functions["files"]["refused"] > 0.5 * FILE_CASES


def code(folder: Path) -> None:
    os.system("true")


def writing(folder: Path) -> None:
    (folder / "victim" / "file").write_text("changed")


def deleting(folder: Path) -> None:
    shutil.rmtree(folder / "victim")


def opening(folder: Path) -> None:
    open(folder / "other", "w").close()


def unpickling(folder: Path) -> None:
    pickle.loads(pickle.dumps(Path))


@pytest.mark.parametrize("act", [code, writing, deleting, opening, unpickling])
def test_what_a_file_must_not_do_is_noticed(act: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "file").write_text("precious")
    (tmp_path / "given").mkdir()
    with (
        pytest.raises(WrongError, match=r"more than to read|changes files outside"),
        guard.guarded(tmp_path / "given", tmp_path / "victim"),
    ):
        act(tmp_path)


def test_a_case_that_takes_much_memory_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = guard._peak()
    with (
        pytest.raises(WrongError, match="takes 600 MB of memory"),
        guard.guarded(tmp_path, tmp_path),
    ):
        monkeypatch.setattr(guard, "_peak", lambda: before + 600 * 2**20)


def test_what_a_file_may_do_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "given" / "folder").mkdir(parents=True)
    with guard.guarded(tmp_path / "given", tmp_path / "victim"):
        (tmp_path / "given" / "folder" / "file").write_text("new")
        shutil.rmtree(tmp_path / "given" / "folder")


def test_a_case_depends_on_the_seed_and_its_number_alone() -> None:
    first = [runner.run_case(3, k, describe=True) for k in range(20)]
    again = [runner.run_case(3, k, describe=True) for k in reversed(range(20))]
    assert first == again[::-1]
    assert len({one.words for one in first}) == 20


def test_one_function_can_be_tried_alone() -> None:
    tally = runner.run_range(3, 0, 5, "embed")
    assert set(tally.functions) == {"embed"}
    assert tally.n_cases == 5


def test_wrong_answers_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A distance that is off by a millionth, or that depends on the order, is a failure."""
    original = metrics.rs.GaussianShapeMetric.align

    def wrong(self, x, y):
        found = original(self, x, y)
        object.__setattr__(found, "distance", found.distance * (1 + 1e-6))
        return found

    monkeypatch.setattr(metrics.rs.GaussianShapeMetric, "align", wrong)
    monkeypatch.setattr(
        runner, "SUBJECTS", {"GaussianShapeMetric": runner.SUBJECTS["GaussianShapeMetric"]}
    )
    tally = runner.run_range(1, 0, 60)
    assert tally.n_failed > 20
    assert {one["reason"][:30] for one in tally.failures} == {"the distance is not its twin's"}


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (lambda draw: 1 / 0, "ZeroDivisionError at"),
        (lambda draw: np.log(np.zeros(1)), "leaks RuntimeWarning"),
        (lambda draw: no_nan(float("nan")), "result is not finite"),
    ],
)
def test_crashes_leaks_and_nan_are_failures(
    subject: runner.Subject, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "SUBJECTS", {"it": (subject, 1.0)})
    outcome = runner.run_case(0, 0)
    assert outcome.result == "failed"
    assert outcome.reason.startswith(reason)


def test_a_hang_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def forever(draw: Draw) -> None:
        while True:
            pass

    monkeypatch.setattr(runner, "SUBJECTS", {"it": (forever, 1.0)})
    monkeypatch.setattr(runner, "PATIENCE", 0.05)
    assert runner.run_case(0, 0).reason.startswith("HangError")


def test_a_refusal_where_a_value_is_due_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(draw: Draw) -> None:
        draw.expect = "value"
        raise InputError("The trials must be something else entirely.")

    monkeypatch.setattr(runner, "SUBJECTS", {"it": (refuse, 1.0)})
    assert runner.run_case(0, 0).reason.startswith("refuses usable input: The trials")


def test_sentences_and_groups_are_checked() -> None:
    with pytest.raises(WrongError):
        one_sentence(InputError("bad"))
    one_sentence(InputError("The trials must be real numbers. Got text instead."))
    in_group(np.eye(3)[[1, 0, 2]], "permutation", padded=False)
    with pytest.raises(WrongError):
        in_group(np.eye(3)[[1, 0, 2]], "rotation", padded=False)
    with pytest.raises(WrongError):
        in_group(np.ones((2, 2)), "orthogonal", padded=False)


def test_the_command_continues_its_tally(tmp_path: Path) -> None:
    path = tmp_path / "tally.json"

    def command(*more: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "tests.fuzz", "--seed", "3", "--tally", str(path), *more]
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)

    assert command("--cases", "10").returncode == 0
    assert command("--cases", "25").returncode == 0
    kept = json.loads(path.read_text())
    assert (kept["cases"], kept["next"], kept["failed"]) == (25, 25, 0)
    counted = runner.run_range(3, 0, 25)
    assert kept["functions"] == {name: dict(one) for name, one in counted.functions.items()}
    for seed, function in ((4, None), (3, "embed")):
        with pytest.raises(SystemExit, match="belongs to another seed, function or version"):
            load(path, seed, function)
