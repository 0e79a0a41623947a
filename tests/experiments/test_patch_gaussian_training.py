"""Training: the same bits every time, whatever stops a run, and a complete record."""

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
import torch
from experiments.common import files, reproducible
from experiments.common.command import INTERRUPTED
from experiments.common.images import LabelledImages, TrainTest
from experiments.common.reproducible import deterministic, weights_hash
from experiments.patch_gaussian import __main__ as command
from experiments.patch_gaussian import responses, run
from experiments.patch_gaussian.augment import (
    PatchGaussian,
    add_patches,
    crop_and_flip,
    draw_crops,
    draw_patches,
)
from experiments.patch_gaussian.data import balanced_choice, channel_moments, load_data
from experiments.patch_gaussian.networks import build_network, get_weights, set_weights
from experiments.patch_gaussian.responses import draw_trials, measure_accuracy, measure_responses
from experiments.patch_gaussian.run import Study, train_all
from experiments.patch_gaussian.schedule import learning_rate
from experiments.patch_gaussian.settings import (
    SMALL,
    Architecture,
    NetworkPlan,
    Sampling,
    Settings,
    plan_networks,
)
from experiments.patch_gaussian.training import (
    TrainingBatches,
    random_stream,
    train_network,
)
from test_common_cifar10 import write_binary
from torch.nn import functional
from typer.testing import CliRunner

from repshape.errors import MissingDependencyError, StorageError

ROOT = Path(__file__).parents[2]
TINY = Settings(
    side=8,
    architecture=Architecture(2, (1, 1), units=5),
    widths=(4,),
    sigmas=(0.3,),
    seeds=1,
    share=0.5,
    epochs=2,
    schedule="one-cycle",
    sampling=Sampling(4, 3, 4, 3, moments=False),
    batch_size=16,
    taus=(0.1, 0.5),
    train_per_class=5,
    test_per_class=1,
)
PATCHED, PLAIN = NetworkPlan(PatchGaussian(4, 0.3, 0.5), 0), NetworkPlan(None, 0)
TIMES = ("seconds", "core_seconds")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cifar10")
    write_binary(folder)
    return folder


@pytest.fixture(scope="module")
def data(images: Path) -> TrainTest:
    return load_data(images, 8, 5, 1)


@pytest.fixture(scope="module")
def finished(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = Study(tmp_path_factory.mktemp("study"), TINY, images)
    assert len(list(train_all(study, 1))) == 2
    return study


def contents(study: Study) -> dict[str, Any]:
    """All that a study has written, without the times."""
    found: dict[str, Any] = {}
    for path in sorted(path for path in study.out.rglob("*") if path.is_file()):
        name = str(path.relative_to(study.out))
        if path.name == "record.json":
            record = json.loads(path.read_text())
            found[name] = {key: value for key, value in record.items() if key not in TIMES}
        else:
            found[name] = path.read_bytes()
    return found


# One network


def test_training_equals_a_plain_loop(data: TrainTest) -> None:
    """The same draws through PyTorch's optimiser, with the rate and momentum written out."""
    settings = replace(TINY, epochs=1)
    order, patches = random_stream("order", 0), random_stream("patches", 0, PATCHED.cell)
    seed = int(random_stream("weights", 0).integers(2**63))
    with deterministic():
        trained = train_network(PATCHED, data, settings)
        network = build_network(settings.architecture, *channel_moments(data.train), seed)
        speed = {name: torch.zeros_like(p) for name, p in network.named_parameters()}
        index = order.permutation(50)
        for step, part in enumerate((index[:16], index[16:32], index[32:48], index[48:])):
            batch = crop_and_flip(data.train.pixels(part), draw_crops(len(part), 1, order))
            assert PATCHED.patch is not None
            batch = add_patches(batch, draw_patches(PATCHED.patch, batch.shape, patches))
            scores = network(torch.from_numpy(batch))
            loss = functional.cross_entropy(scores, torch.from_numpy(data.train.labels[part]))
            network.zero_grad()
            loss.backward()
            rate = learning_rate(settings, step, 4)
            with torch.no_grad():
                for name, p in network.named_parameters():
                    assert p.grad is not None
                    speed[name] = 0.9 * speed[name] + p.grad + 1e-4 * p
                    p -= rate * speed[name]
    expected = get_weights(network)
    for name, value in get_weights(trained.network).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_training_learns_what_can_be_learnt() -> None:
    """Classes that differ in brightness alone are told apart; the loss falls."""
    labels = np.repeat(np.arange(10), 5)
    shades = LabelledImages(np.tile(labels[:, None, None, None], (1, 3, 8, 8)), labels, white=9)
    data = TrainTest(shades, shades)
    settings = replace(TINY, epochs=15, batch_size=10)
    with deterministic():
        trained = train_network(PLAIN, data, settings)
        found = measure_accuracy(trained.network.eval(), data.train, settings)
    assert trained.losses[-1] < 0.7 * trained.losses[0]
    assert found["clean"] > 0.3  # chance is 0.1
    assert len(trained.losses) == 15


def test_networks_of_one_seed_share_all_but_the_patches(data: TrainTest) -> None:
    plain, patched = (list(TrainingBatches(p, data, TINY).epoch()) for p in (PLAIN, PATCHED))
    other = list(TrainingBatches(NetworkPlan(None, 1), data, TINY).epoch())
    assert [len(labels) for _, labels in plain] == [16, 16, 16, 2]
    changed = 0
    for (image, label), (patched_image, patched_label) in zip(plain, patched, strict=True):
        assert torch.equal(label, patched_label)
        pixels = (image != patched_image).any(dim=1).sum(dim=(1, 2))
        assert int(pixels.max()) <= 16
        changed += int((pixels > 0).sum())
    assert 10 < changed < 40  # half of the 50 images
    assert not torch.equal(plain[0][1], other[0][1])


def test_divergence_ends_the_training(data: TrainTest) -> None:
    with deterministic():
        trained = train_network(PLAIN, data, replace(TINY, learning_rate=1e30, epochs=5))
    assert len(trained.losses) < 5
    assert not np.isfinite(trained.losses[-1])


def test_streams_are_independent() -> None:
    draws = [
        random_stream(*arguments).integers(2**62)
        for arguments in (
            ("order", 0),
            ("order", 1),
            ("patches", 0),
            ("patches", 0, "W4"),
            ("responses", 0, "W4", "0.1"),
            ("responses", 0, "W4", "0.5"),
        )
    ]
    assert len(set(draws)) == len(draws)


def test_one_cycle_rises_and_falls() -> None:
    rates = [learning_rate(SMALL, step, 391) for step in range(6 * 391)]
    peak = int(np.argmax(rates))
    assert abs(peak - 0.25 * 6 * 391) <= 1
    assert max(rates) == pytest.approx(SMALL.learning_rate, rel=1e-3)
    assert rates[0] == pytest.approx(0.01)
    assert (np.diff(rates[: peak + 1]) > 0).all()
    assert (np.diff(rates[peak:]) < 0).all()
    assert rates[-1] < 1e-4


# Responses


def test_accuracy_counts_correct_answers(data: TrainTest, monkeypatch: pytest.MonkeyPatch) -> None:
    with deterministic():
        network = build_network(TINY.architecture, *channel_moments(data.train), 0).eval()
        whole = measure_accuracy(network, data.test, TINY)
        monkeypatch.setattr(responses, "BLOCK", 3)
        blocks = measure_accuracy(network, data.test, TINY)
        with torch.no_grad():
            scores = network(torch.from_numpy(data.test.pixels(slice(None)))).numpy()
    assert list(whole) == ["clean", "0.1", "0.5"]
    assert whole["clean"] == (scores.argmax(axis=1) == data.test.labels).mean()
    assert whole == blocks  # the noise does not depend on the blocks either


def test_noise_has_scale_tau_and_is_not_clipped(data: TrainTest) -> None:
    class Identity(torch.nn.Module):
        def represent(self, images: torch.Tensor) -> torch.Tensor:
            return images.flatten(1)

    image = data.test.pixels(np.array([0]))[0]
    rng = np.random.default_rng(0)
    trials: Any = draw_trials(Identity(), image, 0.5, 2000, rng)  # type: ignore[arg-type]
    noise = trials - image.ravel()
    assert abs(noise.std() - 0.5) < 4 * 0.5 / (2 * noise.size) ** 0.5
    assert trials.min() < -0.5
    assert trials.max() > 1.5


def test_moments_are_those_of_the_trials(data: TrainTest) -> None:
    sampling = Sampling(4, 30, 2, 10, moments=True)
    everything = replace(sampling, n_images_kept=4, n_passes_kept=30)
    with deterministic():
        network = build_network(TINY.architecture, *channel_moments(data.train), 0).eval()
        few, every = (
            dict(measure_responses(network, PLAIN, data, replace(TINY, sampling=s)))
            for s in (sampling, everything)
        )
    for tau in TINY.taus:
        trials = every[tau]["trials"].astype(float)
        assert trials.shape == (4, 30, 5)
        np.testing.assert_array_equal(few[tau]["trials"], every[tau]["trials"][:2, :10])
        np.testing.assert_allclose(few[tau]["means"], trials.mean(axis=1), rtol=1e-5, atol=1e-7)
        expected = [np.cov(one, rowvar=False) for one in trials]
        np.testing.assert_allclose(few[tau]["covariances"], expected, rtol=1e-4, atol=1e-9)


def test_larger_tau_spreads_responses_and_noise_differs_between_networks(data: TrainTest) -> None:
    with deterministic():
        network = build_network(TINY.architecture, *channel_moments(data.train), 0).eval()
        first, second = (
            dict(measure_responses(network, plan, data, TINY)) for plan in (PLAIN, PATCHED)
        )
    assert first[0.5]["trials"].std(axis=1).mean() > 2 * first[0.1]["trials"].std(axis=1).mean()
    assert (first[0.1]["trials"] != second[0.1]["trials"]).all()
    np.testing.assert_array_equal(first[0.1]["images"], balanced_choice(data.test.labels, 4))


# A run


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


def test_weights_give_back_the_responses(finished: Study, data: TrainTest) -> None:
    network = build_network(TINY.architecture, *channel_moments(data.train), 99)
    set_weights(network, dict(np.load(finished.folder(PATCHED) / files.WEIGHTS)))
    with deterministic():
        for tau, arrays in measure_responses(network.eval(), PATCHED, data, TINY):
            written = np.load(finished.responses(PATCHED, tau))
            assert written["trials"].dtype == np.float32
            assert written["trials"].shape == (4, 3, 5)
            np.testing.assert_array_equal(written["trials"], arrays["trials"])


def test_finished_networks_are_not_trained_again(finished: Study) -> None:
    before = contents(finished)
    started: list[tuple[int, int]] = []
    assert list(train_all(finished, 1, lambda *counts: started.append(counts))) == []
    assert started == [(2, 2)]
    assert contents(finished) == before


@pytest.mark.parametrize("written_before", [0, 1, 2, 3, 4])
def test_interrupted_network_leaves_no_record_and_the_same_bits_later(
    written_before: int,
    finished: Study,
    images: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C while any file of the second network is written."""
    study = Study(tmp_path, TINY, images)
    calls = iter(range(100))
    # Of a network: responses at two taus, weights, record. One more is the settings.
    stop = 1 + 4 + written_before

    def interrupt(path: Path) -> Iterator[Any]:
        if next(calls) == stop:
            raise KeyboardInterrupt
        return original(path)

    original: Any = files.write_whole
    with monkeypatch.context() as patch:
        patch.setattr(files, "write_whole", interrupt)
        if written_before < 4:
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
from experiments.patch_gaussian.settings import Architecture, Sampling, Settings

if __name__ == "__main__":
    out, images = map(Path, sys.argv[1:])
    for record in train_all(Study(out, {MANY!r}, images), 2):
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
    study = Study(out, MANY, images)
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
    other = Study(finished.out, replace(TINY, epochs=3), finished.images)
    with pytest.raises(StorageError, match="other settings"):
        list(train_all(other, 1))


def test_missing_torch_is_reported(finished: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproducible, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install torch"):
        list(train_all(finished, 1))


# The command


def invoke(study: Study, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(command.SCALES, "small", study.settings)
    arguments = ["train", "--out", str(study.out), "--images", str(study.images), "--workers", "1"]
    return CliRunner().invoke(command.app, arguments)


def test_command_prints_accuracies(finished: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(TINY, taus=(0.1, 0.3), epochs=1)
    study = Study(finished.out.with_name("command"), settings, finished.images)
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
    result = invoke(Study(tmp_path / "out", TINY, tmp_path), monkeypatch)
    assert result.exit_code == 1
    assert "has CIFAR-10" in " ".join(result.output.split())


def test_command_stops_on_interrupt(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "train_job", interrupt)
    result = invoke(Study(tmp_path, TINY, images), monkeypatch)
    assert result.exit_code == INTERRUPTED
    assert "Repeat the command to continue" in result.output
