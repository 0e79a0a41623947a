"""A run over many networks: it may be stopped at any moment, and continues with the same bits."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from experiments.common import files, reproducible
from experiments.vae import run
from experiments.vae.__main__ import app
from experiments.vae.cost import N_NETWORKS, choose_networks
from experiments.vae.run import Study, check_scores, score_all, train_all
from experiments.vae.scales import MEASURE_SCALES, SCALES, SCORE_SCALES
from experiments.vae.settings import (
    Architecture,
    Convolution,
    ScoreSettings,
    Settings,
    plan_networks,
)
from experiments.vae.sprites import factors_of
from stored_support import draw_quickly
from test_common_jobs import environment
from test_vae_training import tiny_settings, without_times
from typer.testing import CliRunner
from vae_support import MEASURE

from repshape.errors import InputError, MissingDependencyError, StorageError

SPRITES = tiny_settings(
    Architecture(32, 1, (Convolution(2),) * 3, 8, 3, (2, 2)),
    {"beta": (1.0, 4.0)},
    seeds=2,
    untrained_seeds=0,
    steps=20,
)


# Training


def study(out: Path, settings: Settings = SPRITES) -> Study:
    scores = ScoreSettings(60, 40, 60, 40, group=8)
    return Study(out, {"dsprites": settings}, scores, MEASURE)


def finish(target: Study, workers: int = 1) -> dict[str, dict[str, Any]]:
    list(train_all(target, workers, lambda done, total: None))
    return {record["name"]: without_times(record) for record in target.records()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Study:
    target = study(tmp_path_factory.mktemp("vae"))
    finish(target)
    return target


def test_every_network_has_its_files(finished: Study) -> None:
    assert len(finished.plans()) == 4
    for network in finished.plans():
        folder = finished.folder(network)
        assert {path.name for path in folder.iterdir()} >= {
            files.RECORD,
            run.LATENTS,
            files.WEIGHTS,
        }
        latents = np.load(folder / run.LATENTS)
        assert latents["means"].shape == latents["log_variances"].shape == (16, 3)
        assert latents["means"].dtype == np.float32
        record = json.loads((folder / files.RECORD).read_text())
        assert record["versions"]["torch"] == torch.__version__
        assert record["active_latents"] == (latents["means"].var(axis=0) > 0.01).sum()
        assert (record["steps"], record["strength"]) == (20, network.strength)


def test_a_finished_run_has_nothing_left_to_do(finished: Study) -> None:
    seen: list[tuple[int, int]] = []
    again = list(train_all(finished, 1, lambda done, total: seen.append((done, total))))
    assert (again, seen) == ([], [(4, 4)])


def test_other_settings_are_refused(finished: Study) -> None:
    with pytest.raises(StorageError, match="other settings"):
        list(train_all(study(finished.out, replace(SPRITES, steps=21)), 1, lambda *_: None))


def test_an_incomplete_network_is_trained_again(finished: Study, tmp_path: Path) -> None:
    """Latents without a record, and a temporary file, are what a kill may leave."""
    target = study(tmp_path)
    folder = target.folder(target.plans()[0])
    folder.mkdir(parents=True)
    (folder / run.LATENTS).write_bytes(b"half")
    (folder / ".weights.npz.0.tmp").write_bytes(b"half")
    expected = {record["name"]: without_times(record) for record in finished.records()}
    assert finish(target) == expected
    assert not list(folder.glob(".*"))


SCRIPT = """
import sys
from pathlib import Path
from experiments.vae.run import Study, train_all
from experiments.vae.settings import *

if __name__ == "__main__":
    study = Study(Path(sys.argv[1]), {{"dsprites": {settings!r}}}, {scores!r}, {measure!r})
    for record in train_all(study, int(sys.argv[2]), lambda done, total: None):
        print(record["name"], flush=True)
"""


@pytest.mark.parametrize(
    ("workers", "kills"), [(1, 1), pytest.param(2, 2, marks=pytest.mark.nightly)]
)
def test_a_run_that_is_killed_continues_with_the_same_bits(
    workers: int, kills: int, finished: Study, tmp_path: Path
) -> None:
    """Records, weights and latents are those of a run that nobody stopped."""
    script = tmp_path / "train.py"
    target = study(tmp_path / "out")
    script.write_text(SCRIPT.format(settings=SPRITES, scores=target.scores, measure=MEASURE))
    for _ in range(kills):
        train_until_killed([sys.executable, str(script), str(target.out), str(workers)])
    assert list(target.records())
    expected = {record["name"]: without_times(record) for record in finished.records()}
    assert finish(target) == expected
    for plan in target.plans():
        for name in (run.LATENTS, files.WEIGHTS):
            own, other = (one.folder(plan) / name for one in (target, finished))
            assert own.read_bytes() == other.read_bytes()


def train_until_killed(command: list[str]) -> None:
    """Kill a run once it has finished one more network."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(), text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("dsprites-beta")
        process.kill()
        process.stdout.read()  # ends once no worker is left that could write


# Scores and the command line


def test_scores_are_written_for_trained_networks(
    finished: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "load_sprites", lambda images, side: _FewSprites())
    found = list(score_all(finished, 1, lambda done, total: None))
    assert {entry["name"] for entry in found} == {network.name for network in finished.plans()}
    kept = json.loads((finished.folder(finished.plans()[0]) / run.SCORES).read_text())
    assert list(kept["scores"]) == list("ABCDEFGHIJKLMNO")
    assert list(score_all(finished, 1, lambda done, total: None)) == []
    monkeypatch.setitem(SCORE_SCALES, "paper", ScoreSettings(80, 40, 60, 40, group=8))
    again = list(check_scores(finished, 3, 1, lambda done, total: None))
    assert len(again) == 3
    full = json.loads((finished.folder(finished.plans()[0]) / run.FULL_SCORES).read_text())
    assert full["settings"]["exact_trees"]
    assert full["settings"]["n_train"] == 80


class _FewSprites:
    """Large and small squares at 2 x 2 places."""

    side = 32
    sizes = (2, 2, 2)

    def images(self, index: np.ndarray) -> np.ndarray:
        pictures = np.zeros((len(index), 1, 32, 32), dtype=np.float32)
        for number, factors in enumerate(factors_of(index, self.sizes)):
            size, row, column = factors
            side = 4 + 4 * size
            pictures[number, 0, 8 * row :, 8 * column :][:side, :side] = 1
        return pictures


def test_command_line_trains_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = {"dsprites": SPRITES, "mnist": SPRITES, "cifar10": SPRITES}
    monkeypatch.setitem(SCALES, "small", tiny)
    monkeypatch.setitem(SCORE_SCALES, "small", ScoreSettings(60, 40, 60, 40, group=8))
    options = ["train", "--out", str(tmp_path), "--workers", "1"]
    done = CliRunner().invoke(app, [*options, "--only", "dsprites"])
    assert done.exit_code == 0
    assert "dsprites" in done.stderr
    assert len(list(tmp_path.glob("networks/*/record.json"))) == 4
    monkeypatch.delenv("REPSHAPE_IMAGES", raising=False)
    missing = CliRunner().invoke(app, options)
    assert missing.exit_code == 1
    assert "mnist" in missing.stderr


def test_command_line_says_that_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "train_job", stop)
    options = ["train", "--out", str(tmp_path), "--workers", "1", "--only", "dsprites"]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 130
    assert "Repeat the command" in done.stderr


def test_only_commands_that_exist_are_offered() -> None:
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    assert sorted(names) == ["all", "decide", "figures", "measure", "score", "train"]


def test_the_scale_of_the_paper_does_not_render_sprites_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REPSHAPE_IMAGES", raising=False)
    options = ["train", "--scale", "paper", "--out", str(tmp_path / "out"), "--only", "dsprites"]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 1
    assert "Name the file with --sprites" in " ".join(done.output.split())
    assert not list((tmp_path / "out").glob("networks/*"))


def test_records_say_where_sprites_come_from(finished: Study) -> None:
    assert {record["sprites"] for record in finished.records()} == {"rendered"}


@pytest.mark.nightly  # each step has tests of its own
def test_all_steps_follow_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From two networks of 50 steps for each seed to figures, with one command."""
    draw_quickly(monkeypatch)
    strengths = {"beta": (1.0,), "dip_i": (5.0,)}
    sizes = replace(SPRITES, strengths=strengths, seeds=3, steps=50, untrained_seeds=2)
    monkeypatch.setitem(SCALES, "tiny", {"dsprites": sizes})
    monkeypatch.setitem(MEASURE_SCALES, "tiny", MEASURE)
    monkeypatch.setitem(SCORE_SCALES, "tiny", ScoreSettings(60, 40, 60, 40, group=8))
    monkeypatch.setattr(run, "load_sprites", lambda images, side: _FewSprites())
    options = ["all", "--scale", "tiny", "--out", str(tmp_path), "--workers", "1"]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.output
    assert {"results.json", "arrays.npz", "fig4.png", "report.html"} <= {
        file.name for file in tmp_path.iterdir()
    }
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["networks"]["dsprites-trained-kaiming"]["measured"] == 6


def test_missing_torch_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reproducible, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"torch==2\.13\.0"):
        finish(study(tmp_path))


def test_everything_but_the_networks_works_without_torch() -> None:
    code = "import sys, experiments.vae.__main__; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True)


def test_networks_that_are_kept_belong_to_the_small_scale() -> None:
    """They need no weights any more: latents and scores are there.

    Of MNIST and CIFAR-10, only the latents of the measured images are kept.
    """
    sizes = SCALES["small"]
    plans = {plan.name: plan for name in sizes for plan in plan_networks(name, sizes[name])}
    study = Study.of_scale("small", Path("no-folder"), kept=True)
    for plan in plans.values():
        settings, stored = sizes[plan.dataset], study.network(plan)
        record = stored.json(files.RECORD)
        assert (record["name"], record["seed"]) == (plan.name, plan.seed)
        sprites = plan.dataset == "dsprites"
        images = settings.n_held_out if sprites else MEASURE_SCALES["small"].n_images
        means = stored.arrays(run.LATENTS)["means"]
        assert means.shape == (images, settings.architecture.latents)
        if run.is_scored(plan):
            assert record["steps"] == settings.steps
            found = stored.json(run.SCORES)
            assert list(found["scores"]) == list("ABCDEFGHIJKLMNO")


# What the paper's job costs


def test_kept_networks_are_enough_to_measure_the_cost(tmp_path: Path) -> None:
    chosen = choose_networks(Study.of_scale("small", tmp_path, kept=True), N_NETWORKS)
    assert len({plan.objective for plan in chosen}) == N_NETWORKS


def test_cost_needs_networks_with_weights(finished: Study) -> None:
    with pytest.raises(InputError, match="At least 2 trained networks of different objectives"):
        choose_networks(finished, 2)
    (plan,) = choose_networks(finished, 1)
    assert plan.objective == "beta"
