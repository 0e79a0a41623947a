"""Training one network: the same bits every time, and an honest record."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from experiments.vae.data import ImageData
from experiments.vae.networks import Vae
from experiments.vae.scales import SCALES
from experiments.vae.settings import (
    Architecture,
    Convolution,
    Discriminator,
    NetworkPlan,
    Settings,
    checkpoint_steps,
    plan_networks,
)
from experiments.vae.training import (
    SMALLEST_EXPLAINED,
    _Step,
    cross_entropy,
    evaluate,
    stream,
    train_network,
)


def tiny_settings(
    architecture: Architecture, strengths: dict[str, tuple[float, ...]], **changes: Any
) -> Settings:
    """Return settings of a study of sprites that is trained in moments."""
    sizes = {"learning_rate": 1e-2, "n_held_out": 16, "batch_size": 8, "checkpointed": ()}
    small = SCALES["small"]["dsprites"]
    return replace(small, architecture=architecture, strengths=strengths, **sizes, **changes)


TINY = tiny_settings(
    Architecture(8, 1, (Convolution(4), Convolution(4)), 16, 3, (4,)),
    dict.fromkeys(SCALES["small"]["dsprites"].strengths, (2.0,)),
    steps=50,
    discriminator=Discriminator(1, 8, 1e-3),
)
OBJECTIVES = list(TINY.strengths)


@pytest.fixture(scope="module")
def data() -> ImageData:
    """A bright square of 4 x 4 at one of 25 places, or none at all."""
    pictures = np.zeros((26, 1, 8, 8), dtype=np.float32)
    for number, (row, column) in enumerate(np.ndindex(5, 5)):
        pictures[number, 0, row : row + 4, column : column + 4] = 1
    numbers = np.arange(208)
    parts = numbers[:176], numbers[176:192], numbers[192:]
    return ImageData("dsprites", lambda index: pictures[index % 26], *parts, replace=True)


def plan(objective: str = "beta", strength: float = 2.0, seed: int = 0) -> NetworkPlan:
    return NetworkPlan("dsprites", objective, strength, seed, "kaiming")


def without_times(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != "seconds"}


# One network


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_training_is_reproducible_and_learns(data: ImageData, objective: str) -> None:
    losses: list[float] = []
    settings = replace(TINY, steps=150, strengths={objective: (1.0,)})
    first = train_network(
        plan(objective, 1.0), data, settings, lambda step, loss: losses.append(loss)
    )
    assert len(losses) == 150
    assert np.mean(losses[-10:]) < 0.8 * losses[0]
    record = first.record
    assert record["training_reconstruction"] == pytest.approx(np.mean(losses[-15:]))
    again = train_network(plan(objective, 1.0), data, settings)
    assert without_times(again.record) == without_times(record)
    assert np.array_equal(again.latents["means"], first.latents["means"])


def test_a_seed_fixes_weights_and_data_for_all_objectives(data: ImageData) -> None:
    """Then all objectives see the same images with the same weights and noise in the first step."""
    firsts: list[float] = []
    for objective in OBJECTIVES:
        losses: list[float] = []
        train_network(
            plan(objective),
            data,
            replace(TINY, steps=2),
            lambda step, loss, kept=losses: kept.append(loss),
        )
        firsts.append(losses[0])
    assert len(set(firsts)) == 1
    other: list[float] = []
    train_network(plan(seed=1), data, TINY, lambda step, loss: other.append(loss))
    assert other[0] != firsts[0]


def test_untrained_network_keeps_its_initial_weights(data: ImageData) -> None:
    untrained = NetworkPlan("dsprites", "untrained", None, 0, "pytorch")
    found = train_network(untrained, data, TINY)
    built = Vae.build(TINY.architecture, stream(0, "weights"), "pytorch").weights()
    assert all(np.array_equal(found.weights[name], built[name]) for name in built)
    assert (found.record["steps"], found.record["training_reconstruction"]) == (0, None)
    assert found.record["name"] == "dsprites-untrained-pytorch-0"
    assert not found.record["failed"]
    assert json.loads(json.dumps(found.record, allow_nan=False)) == found.record


def test_checkpoints_run_from_the_start_to_the_end(data: ImageData) -> None:
    settings = replace(TINY, steps=64, checkpointed=(("beta", 2.0),), checkpoint_seeds=1)
    assert checkpoint_steps(plan(), settings) == (0, 1, 2, 4, 8, 16, 32, 64)
    assert checkpoint_steps(plan(seed=1), settings) == ()
    assert checkpoint_steps(plan(strength=1.0), settings) == ()
    found = train_network(plan(), data, settings).latents
    assert found["steps"].tolist() == [0, 1, 2, 4, 8, 16, 32, 64]
    assert found["checkpoint_means"].shape == (8, 16, 3)
    untrained = train_network(NetworkPlan("dsprites", "untrained", None, 0, "kaiming"), data, TINY)
    assert np.array_equal(found["checkpoint_means"][0], untrained.latents["means"])
    assert np.array_equal(found["checkpoint_log_variances"][-1], found["log_variances"])
    assert found["means"].dtype == np.float32


def test_weights_of_the_lowest_validation_loss_are_kept(data: ImageData) -> None:
    """A run that ends at the step that was kept, without validation, has the same weights."""
    settings = replace(TINY, steps=60, learning_rate=0.1, validate_every=5)
    kept = train_network(plan(), data, settings).record
    assert kept["kept_step"] % 5 == 0
    assert kept["kept_step"] < 60  # this learning rate is too high to end at its best
    shorter = replace(settings, steps=kept["kept_step"], validate_every=0)
    assert train_network(plan(), data, shorter).record["weights_sha256"] == kept["weights_sha256"]


def test_the_discriminator_learns_from_its_own_loss_only(data: ImageData) -> None:
    """So its first step does not depend on the strength of the objective."""
    images = torch.from_numpy(data.read(data.train[:8]))
    found = []
    for strength in (1.0, 1000.0):
        vae = Vae.build(TINY.architecture, 0, "kaiming")
        step = _Step(plan("factor", strength), TINY, vae)
        assert step.discriminator is not None
        before = [value.detach().clone() for value in step.discriminator.parameters()]
        step(images, 0.0)
        after = list(step.discriminator.parameters())
        assert not torch.equal(before[0], after[0])
        found.append(after)
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


# The criterion of failure


def test_a_network_that_shows_the_mean_image_has_failed(data: ImageData) -> None:
    """It closes none of the gap between the mean image and perfection."""
    images = data.read(data.held_out)
    mean = images.mean(axis=0)
    vae = Vae.build(TINY.architecture, 0, "kaiming")
    with torch.no_grad():
        last = vae.decoder[-1]
        last.weight.zero_()  # type: ignore[operator, union-attr]
        last.bias.fill_(float(np.log(mean.mean() / (1 - mean.mean()))))  # type: ignore[operator, union-attr]
    record, _ = evaluate(vae, images, np.full_like(mean, mean.mean()))
    assert record["explained"] == pytest.approx(0, abs=1e-5)
    assert record["failed"]
    assert 0 < SMALLEST_EXPLAINED < 1


def test_cross_entropy_of_a_coin() -> None:
    images = np.array([[[[0.0, 1.0]]], [[[1.0, 1.0]]]], dtype=np.float32)
    assert cross_entropy(images, np.full((1, 1, 2), 0.5)) == pytest.approx(2 * np.log(2))
    assert cross_entropy(images, images) == pytest.approx(2e-6, rel=1e-2)


def test_a_network_that_diverges_is_recorded_as_failed(data: ImageData) -> None:
    found = train_network(plan(), data, replace(TINY, learning_rate=1e30)).record
    assert found["failed"]
    assert found["steps"] < TINY.steps
    assert found["reconstruction"] is None
    json.dumps(found, allow_nan=False)


# The plan


def test_plans_have_the_promised_networks() -> None:
    small, paper = (
        {name: plan_networks(name, settings) for name, settings in SCALES[scale].items()}
        for scale in ("small", "paper")
    )
    trained = {k: sum(p.strength is not None for p in v) for k, v in small.items()}
    assert trained == {"dsprites": 180, "mnist": 40, "cifar10": 40}
    assert all(len(plans) - trained[name] == 20 for name, plans in small.items())
    assert sum(p.strength is not None for p in paper["dsprites"]) == 1800
    assert (
        sum(
            p.initialisation == "kaiming" and p.seed < 50 and p.strength is not None
            for p in paper["mnist"]
        )
        == 350
    )
    names = [p.name for plans in small.values() for p in plans]
    assert len(names) == len(set(names))
    assert SCALES["paper"]["mnist"].steps == 1000 * 859
