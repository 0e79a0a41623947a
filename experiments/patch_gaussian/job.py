"""Time what comes before the paper's distances: training its networks and collecting responses.

Processor time of a few steps of the paper's network on random images of the paper's size, and the
memory of what is kept; without reading and augmenting images.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from experiments.common.reproducible import deterministic, seeded
from experiments.patch_gaussian.networks import build_network
from experiments.patch_gaussian.settings import (
    MEASURE_SCALES,
    PAPER,
    MeasureSettings,
    Settings,
    plan_networks,
)

CLASSES, BYTES = 10, 8
N_STEPS = 2
GREY = (0.5,) * 3  # mean and scale of the pixels, which do not matter for the time


def whole_job(
    settings: Settings = PAPER,
    measure: MeasureSettings = MEASURE_SCALES["paper"],
    steps: int = N_STEPS,
) -> dict[str, Any]:
    """Return core hours of training and of collecting responses, and gigabytes of what is kept."""
    count, units = len(plan_networks(settings)), settings.architecture.units
    images = settings.train_per_class * CLASSES
    steps_each = -(-images // settings.batch_size) * settings.epochs
    passes = measure.n_images * measure.n_passes * len(settings.taus)
    training, forward = step_seconds(settings, steps)
    moments = measure.n_images * len(settings.taus) * count * BYTES
    return {
        "networks": count,
        "seconds_per_step": round(training, 4),
        "steps": steps_each,
        "training_core_hours": round(training * steps_each * count / 3600),
        "seconds_per_batch": round(forward, 4),
        "batches": -(-passes // settings.batch_size),
        "collection_core_hours": round(forward * passes / settings.batch_size * count / 3600),
        "covariances_gigabytes": round(moments * units**2 / 1e9, 1),
        "means_gigabytes": round(moments * units / 1e9, 1),
    }


def step_seconds(settings: Settings, steps: int) -> tuple[float, float]:
    """Return processor seconds of a training step and of a forward pass of one batch."""
    with deterministic(), seeded(0):
        network = build_network(settings.architecture, GREY, GREY, 0)
        optimiser = torch.optim.SGD(network.parameters(), settings.learning_rate)
        shape = (settings.batch_size, 3, settings.side, settings.side)
        images = torch.rand(shape).contiguous(memory_format=torch.channels_last)
        labels = torch.zeros(settings.batch_size, dtype=torch.int64)

        def train() -> None:
            loss = functional.cross_entropy(network(images), labels)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()

        def pass_forward() -> None:
            with torch.no_grad():
                network(images)

        training = timed(train, steps)
        network.eval()
        return training, timed(pass_forward, steps)


def timed(function: Callable[[], object], repeats: int) -> float:
    """Return the processor time of one call, after a first one that is not counted."""
    function()
    start = time.process_time()
    for _ in range(repeats):
        function()
    return (time.process_time() - start) / repeats
