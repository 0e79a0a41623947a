"""Train one network.

Equal plans give equal bits on one machine: one thread, deterministic algorithms, and a stream of
random numbers of its own for each use.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from experiments.common.devices import CPU
from experiments.common.images import FloatArray, IntArray, TrainTest
from experiments.patch_gaussian.augment import (
    add_patches,
    crop_and_flip,
    draw_crops,
    draw_patches,
)
from experiments.patch_gaussian.data import channel_moments
from experiments.patch_gaussian.networks import ResNet, build_network
from experiments.patch_gaussian.schedule import learning_rate
from experiments.patch_gaussian.settings import NetworkPlan, Settings

# Streams of random numbers. The first two depend on a network's seed alone.
STREAMS = ("weights", "order", "patches", "responses", "evaluation")


@dataclass(frozen=True, eq=False)
class Trained:
    """A network after its training.

    Attributes
    ----------
    network : ResNet
    losses : list of float
        Mean cross-entropy over the images of each epoch. Shorter than planned if a loss was not
        finite, which ends the training.
    """

    network: ResNet
    losses: list[float]


def train_network(
    plan: NetworkPlan, data: TrainTest, settings: Settings, device: str = CPU
) -> Trained:
    """Train a network as planned; augmentations are drawn on the CPU, whatever the device.

    Parameters
    ----------
    plan : NetworkPlan
    data : TrainTest
    settings : Settings
    device : str
    """
    seed = int(random_stream("weights", plan.seed).integers(2**63))
    network = build_network(settings.architecture, *channel_moments(data.train), seed).to(device)
    optimiser = torch.optim.SGD(
        network.parameters(),
        settings.learning_rate,
        momentum=settings.momentum,
        weight_decay=settings.weight_decay,
    )
    batches = TrainingBatches(plan, data, settings)
    losses: list[float] = []
    network.train()
    step = 0
    for _ in range(settings.epochs):
        total = 0.0
        for images, labels in batches.epoch():
            for group in optimiser.param_groups:
                group["lr"] = learning_rate(settings, step, batches.per_epoch)
            loss = functional.cross_entropy(network(images.to(device)), labels.to(device))
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            total += float(loss.detach()) * len(labels)
            step += 1
        losses.append(total / len(data.train))
        if not np.isfinite(losses[-1]):
            break
    return Trained(network, losses)


class TrainingBatches:
    """Augmented training images of a network, epoch after epoch."""

    def __init__(self, plan: NetworkPlan, data: TrainTest, settings: Settings) -> None:
        self.plan, self.data, self.settings = plan, data, settings
        self.order = random_stream("order", plan.seed)
        self.patches = random_stream("patches", plan.seed, plan.cell)
        self.per_epoch = -(-len(data.train) // settings.batch_size)

    def epoch(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield images and labels of one epoch; the last batch may be smaller."""
        train, size = self.data.train, self.settings.batch_size
        order = self.order.permutation(len(train))
        for start in range(0, len(order), size):
            index = order[start : start + size]
            labels = torch.from_numpy(train.labels[index].astype(np.int64))
            yield as_tensor(self.augment(index)), labels

    def augment(self, index: IntArray) -> FloatArray:
        """Return images after random crop, flip and patch."""
        crops = draw_crops(len(index), self.settings.padding, self.order)
        images = crop_and_flip(self.data.train.pixels(index), crops)
        if self.plan.patch is None:
            return images
        return add_patches(images, draw_patches(self.plan.patch, images.shape, self.patches))


def as_tensor(images: FloatArray) -> Tensor:
    """Return images as a tensor in the order of memory that suits convolutions."""
    return torch.from_numpy(images).contiguous(memory_format=torch.channels_last)


def random_stream(name: str, seed: int, *words: str) -> np.random.Generator:
    """Return a stream of random numbers, independent of those of other names, seeds or words."""
    text = "/".join(words).encode()
    return np.random.default_rng([STREAMS.index(name), seed, *text])


class Stopwatch:
    """Seconds since it was made, of the clock and of this process's core."""

    def __init__(self) -> None:
        self.started = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, Any]:
        """Return both, ready for JSON."""
        wall, core = self.started
        return {
            "seconds": round(time.perf_counter() - wall, 2),
            "core_seconds": round(time.process_time() - core, 2),
        }
