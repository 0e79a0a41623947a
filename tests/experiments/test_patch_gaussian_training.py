"""Training of one network: what it learns, and what it draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from experiments.common.images import LabelledImages, TrainTest
from experiments.common.reproducible import deterministic
from experiments.patch_gaussian import accuracy
from experiments.patch_gaussian.accuracy import measure_accuracy
from experiments.patch_gaussian.augment import (
    add_patches,
    crop_and_flip,
    draw_crops,
    draw_patches,
)
from experiments.patch_gaussian.data import channel_moments, load_data
from experiments.patch_gaussian.networks import build_network, get_weights
from experiments.patch_gaussian.schedule import learning_rate
from experiments.patch_gaussian.settings import SMALL, NetworkPlan
from experiments.patch_gaussian.training import TrainingBatches, random_stream, train_network
from patch_support import PATCHED, PLAIN, TINY
from test_common_cifar10 import write_binary
from torch.nn import functional


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TrainTest:
    folder = tmp_path_factory.mktemp("cifar10")
    write_binary(folder)
    return load_data(folder, 8, 5, 1)


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


# Accuracy


def test_accuracy_counts_correct_answers(data: TrainTest, monkeypatch: pytest.MonkeyPatch) -> None:
    with deterministic():
        network = build_network(TINY.architecture, *channel_moments(data.train), 0).eval()
        whole = measure_accuracy(network, data.test, TINY)
        monkeypatch.setattr(accuracy, "BLOCK", 3)
        blocks = measure_accuracy(network, data.test, TINY)
        with torch.no_grad():
            scores = network(torch.from_numpy(data.test.pixels(slice(None)))).numpy()
    assert list(whole) == ["clean", "0.1", "0.5"]
    assert whole["clean"] == (scores.argmax(axis=1) == data.test.labels).mean()
    assert whole == blocks  # the noise does not depend on the blocks either
