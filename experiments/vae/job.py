"""Time what comes before the paper's distances: training its networks, and encoding the images.

Processor time of a few steps of the paper's networks with the plain objective on random images, and
the memory of what is kept; without reading images, the discriminator of FactorVAE and the scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.nn import functional

from experiments.common.reproducible import deterministic, seeded
from experiments.patch_gaussian.job import timed
from experiments.vae.networks import Vae
from experiments.vae.scales import SCALES
from experiments.vae.settings import UNTRAINED, Settings, plan_networks

N_STEPS = 5
BYTES = 8


def whole_job(
    sizes: Mapping[str, Settings] = SCALES["paper"], steps: int = N_STEPS
) -> dict[str, dict[str, Any]]:
    """Return core hours of training and of encoding, and megabytes of latents, by data set."""
    return {name: one_data_set(name, size, steps) for name, size in sizes.items()}


def one_data_set(name: str, size: Settings, steps: int) -> dict[str, Any]:
    """Return the price of all networks of a data set."""
    plans = [plan for plan in plan_networks(name, size) if plan.objective != UNTRAINED]
    all_steps = sum(size.other_steps.get(plan.objective, size.steps) for plan in plans)
    training, encoding = step_seconds(size, steps)
    latents = 2 * size.n_held_out * size.architecture.latents * len(plans) * BYTES
    batches = -(-size.n_held_out // size.batch_size) * len(plans)
    return {
        "networks": len(plans),
        "seconds_per_step": round(training, 4),
        "training_core_hours": round(training * all_steps / 3600),
        "collection_core_hours": round(encoding * batches / 3600, 2),
        "latents_megabytes": round(latents / 1e6),
    }


def step_seconds(size: Settings, steps: int) -> tuple[float, float]:
    """Return processor seconds of a training step and of encoding one batch."""
    shape = size.architecture
    with deterministic(), seeded(0):
        vae = Vae.build(shape, 0, "pytorch")
        optimiser = torch.optim.Adam(vae.parameters(), size.learning_rate)
        images = torch.rand(size.batch_size, shape.channels, shape.side, shape.side)

        def train() -> None:
            means, log_variances = vae.encode(images)
            latents = means + torch.exp(log_variances / 2) * torch.randn_like(means)
            loss = functional.binary_cross_entropy_with_logits(vae.decoder(latents), images)
            loss = loss + (means**2 + torch.exp(log_variances) - log_variances - 1).mean()
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()

        def encode() -> None:
            with torch.no_grad():
                vae.encode(images)

        return timed(train, steps), timed(encode, steps)
