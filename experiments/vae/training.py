"""Train one network, and measure what the study needs of it.

Equal plans give equal bits on one machine: one thread, deterministic algorithms, and a stream of
random numbers of its own for weights, order of the data, noise and discriminator.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from experiments.common.devices import CPU, device_of
from experiments.common.reproducible import deterministic, versions, weights_hash
from experiments.vae.data import ImageData
from experiments.vae.networks import Vae, build_discriminator
from experiments.vae.objectives import (
    REGULARISERS,
    Context,
    Latents,
    discriminator_loss,
    kl_divergence,
    permute_latents,
    reconstruction_loss,
)
from experiments.vae.settings import UNTRAINED, NetworkPlan, Settings, checkpoint_steps
from experiments.vae.sprites import FloatArray

# A network has failed if it does not reconstruct held-out images clearly better than the mean
# image does: if it closes less than this share of the gap between the mean image's loss and the
# lowest possible loss. Set before any network was trained. Failures are kept and reported.
SMALLEST_EXPLAINED = 0.1
# A latent is active if its mean varies over the held-out images by more than this (Burda 2016).
ACTIVE_VARIANCE = 0.01
# The training loss of a network is the mean over this share of the steps, at the end.
LAST_SHARE = 0.1
PROBABILITY_FLOOR = 1e-6
STREAMS = ("weights", "order", "noise", "discriminator", "permutation", "evaluation")
EVALUATION_SEED = 0  # the same noise for all networks


@dataclass(frozen=True, eq=False)
class Outcome:
    """A network after its training.

    Attributes
    ----------
    record : dict
        What is known of it, ready for JSON.
    latents : dict of str to ndarray
        ``means`` and ``log_variances`` (images, latents) of the held-out images, float32; where
        checkpoints were kept also ``steps``, ``checkpoint_means``, ``checkpoint_log_variances``.
    weights : dict of str to ndarray
    """

    record: dict[str, Any]
    latents: dict[str, FloatArray]
    weights: dict[str, FloatArray]


def train_network(
    plan: NetworkPlan,
    data: ImageData,
    settings: Settings,
    on_step: Callable[[int, float], None] = lambda step, loss: None,
    device: str = CPU,
) -> Outcome:
    """Train a network as planned, or leave it untrained, and measure it.

    Parameters
    ----------
    plan : NetworkPlan
    data : ImageData
    settings : Settings
    on_step : callable
        Called after every step with the number of steps done and the reconstruction loss.
    device : str
        Random numbers are drawn on the CPU, so that they are the same on every device.
    """
    start = time.perf_counter()
    with deterministic():
        seed = stream(plan.seed, "weights")
        vae = Vae.build(settings.architecture, seed, plan.initialisation, device)
        training = _Training(plan, data, settings, vae)
        if plan.objective != UNTRAINED:
            training.run(on_step)
        held_out = data.read(data.held_out)
        record, latents = evaluate(vae, held_out, data.mean_image())
    weights = vae.weights()
    record = training.record() | record
    if plan.objective == UNTRAINED:
        record["failed"] = False  # it was not to learn anything
    record["seconds"] = round(time.perf_counter() - start, 2)
    record["weights_sha256"] = weights_hash(weights)
    record["versions"] = versions()
    record["device"] = device
    return Outcome(record, latents | training.checkpoints(), weights)


class _Training:
    """The loop over steps, and what it keeps."""

    def __init__(self, plan: NetworkPlan, data: ImageData, settings: Settings, vae: Vae) -> None:
        self.plan, self.data, self.settings, self.vae = plan, data, settings, vae
        trained = plan.objective != UNTRAINED
        self.steps = settings.other_steps.get(plan.objective, settings.steps) if trained else 0
        self.losses: list[float] = []
        self.kept: dict[int, tuple[FloatArray, FloatArray]] = {}
        self.best_loss, self.best_step = np.inf, self.steps
        self.best_weights: dict[str, FloatArray] | None = None

    def run(self, on_step: Callable[[int, float], None]) -> None:
        """Train; stop early only if the loss is no longer a number."""
        plan, settings = self.plan, self.settings
        step = _Step(plan, settings, self.vae)
        checkpoints = checkpoint_steps(plan, settings)
        rng = np.random.default_rng(stream(plan.seed, "order"))
        batches = self.data.batches(rng, settings.batch_size)
        self._keep(0, checkpoints)
        for done in range(1, self.steps + 1):
            images = torch.from_numpy(self.data.read(next(batches))).to(step.device)
            self.losses.append(step(images, (done - 1) / self.steps))
            on_step(done, self.losses[-1])
            self._keep(done, checkpoints)
            if settings.validate_every and done % settings.validate_every == 0:
                self._validate(done, step.regularise)
            if not np.isfinite(self.losses[-1]):
                break
        if self.best_weights is not None:
            self.vae.load(self.best_weights)

    def _keep(self, step: int, checkpoints: tuple[int, ...]) -> None:
        if step in checkpoints:
            self.kept[step] = self.vae.latents(self.data.read(self.data.held_out))

    def _validate(self, step: int, regularise: Callable[[Latents, float], Tensor]) -> None:
        images = self.data.read(self.data.validation)
        reconstruction, latents = reconstruct(self.vae, images)
        with torch.no_grad():
            loss = reconstruction + float(regularise(latents, 1.0))
        if loss < self.best_loss:
            self.best_loss, self.best_step = loss, step
            self.best_weights = self.vae.weights()

    def record(self) -> dict[str, Any]:
        """Return what the plan and the training say, ready for JSON."""
        plan = self.plan
        last = self.losses[-max(1, round(LAST_SHARE * self.steps)) :]
        return {
            "name": plan.name,
            "dataset": plan.dataset,
            "objective": plan.objective,
            "strength": plan.strength,
            "seed": plan.seed,
            "initialisation": plan.initialisation,
            "steps": len(self.losses),
            "kept_step": min(self.best_step, len(self.losses)),
            "training_reconstruction": finite(np.mean(last)) if last else None,
        }

    def checkpoints(self) -> dict[str, FloatArray]:
        """Return the latents that were kept along the training, or nothing."""
        if not self.kept:
            return {}
        means, log_variances = zip(*self.kept.values(), strict=True)
        return {
            "steps": np.array(list(self.kept)),
            "checkpoint_means": np.stack(means),
            "checkpoint_log_variances": np.stack(log_variances),
        }


class _Step:
    """One step of the optimisers."""

    def __init__(self, plan: NetworkPlan, settings: Settings, vae: Vae) -> None:
        assert plan.strength is not None
        self.vae, self.settings, self.strength = vae, settings, plan.strength
        self.device = device_of(vae)
        self.regulariser = REGULARISERS[plan.objective]
        self.optimiser = torch.optim.Adam(vae.parameters(), settings.learning_rate, fused=True)
        self.noise = generator(plan.seed, "noise")
        self.permutation = generator(plan.seed, "permutation")
        self.discriminator = None
        if plan.objective == "factor":
            shape, latents = settings.discriminator, settings.architecture.latents
            seed = stream(plan.seed, "discriminator")
            self.discriminator = build_discriminator(latents, shape, seed).to(self.device)
            self.adversary = torch.optim.Adam(
                self.discriminator.parameters(), shape.learning_rate, shape.betas, fused=True
            )

    def regularise(self, latents: Latents, progress: float) -> Tensor:
        """Return the regulariser of the objective at this stage of the training."""
        context = Context(progress, self.settings.annealed_gamma, self.discriminator)
        return self.regulariser(latents, self.strength, context)

    def __call__(self, images: Tensor, progress: float) -> float:
        """Take a step; return the reconstruction loss before it."""
        return float(self.take(images, progress).detach())

    def take(self, images: Tensor, progress: float) -> Tensor:
        """Take a step; return the reconstruction loss before it, on the device."""
        means, log_variances = self.vae.encode(images)
        epsilon = torch.randn(means.shape, generator=self.noise).to(self.device)
        latents = Latents.draw(means, log_variances, epsilon)
        reconstruction = reconstruction_loss(self.vae.decoder(latents.samples), images)
        loss = reconstruction + self.regularise(latents, progress)
        self.optimiser.zero_grad()
        torch.autograd.backward(loss)
        if self.discriminator is not None:
            self._train_discriminator(self.discriminator, latents.samples.detach())
        self.optimiser.step()
        return reconstruction

    def _train_discriminator(
        self, discriminator: Callable[[Tensor], Tensor], samples: Tensor
    ) -> None:
        """Take a step of the discriminator, on the samples of the same batch."""
        permuted = permute_latents(samples, self.permutation)
        loss = discriminator_loss(discriminator(samples), discriminator(permuted))
        self.adversary.zero_grad()  # also drops what the loss of the network left behind
        torch.autograd.backward(loss)
        self.adversary.step()


def evaluate(
    vae: Vae, images: FloatArray, mean_image: FloatArray
) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Measure a network on held-out images; return numbers ready for JSON, and the latents."""
    reconstruction, latents = reconstruct(vae, images)
    means, log_variances = latents.means.numpy(), latents.log_variances.numpy()
    highest, lowest = cross_entropy(images, mean_image), cross_entropy(images, images)
    explained = (highest - reconstruction) / (highest - lowest)
    return {
        "reconstruction": finite(reconstruction),
        "kl": finite(kl_divergence(latents)),
        "active_latents": int((means.var(axis=0) > ACTIVE_VARIANCE).sum()),
        "mean_image_loss": highest,
        "explained": finite(explained),
        "failed": not explained >= SMALLEST_EXPLAINED,  # also if it is not a number
    }, {"means": means, "log_variances": log_variances}


def reconstruct(vae: Vae, images: FloatArray) -> tuple[float, Latents]:
    """Return the reconstruction loss from one sample for each image, and the latents."""
    means, log_variances = map(torch.from_numpy, vae.latents(images))
    noise = generator(EVALUATION_SEED, "evaluation")
    latents = Latents.draw(means, log_variances, torch.randn(means.shape, generator=noise))
    total, size = 0.0, 512
    with torch.no_grad():
        for start in range(0, len(images), size):
            part = torch.from_numpy(images[start : start + size])
            logits = vae.decoder(latents.samples[start : start + size].to(device_of(vae))).cpu()
            total += float(reconstruction_loss(logits, part)) * len(part)
    return total / len(images), latents


def cross_entropy(images: FloatArray, prediction: FloatArray) -> float:
    """Return the Bernoulli cross-entropy of images, summed over pixels, for given probabilities."""
    p = np.clip(prediction.astype(np.float64), PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR)
    pixels = -(images * np.log(p) + (1 - images) * np.log(1 - p))
    return float(pixels.sum() / len(images))


def stream(seed: int, name: str) -> int:
    """Return the seed of one of a network's independent streams of random numbers."""
    state = np.random.SeedSequence([seed, STREAMS.index(name)]).generate_state(1, np.uint64)
    return int(state[0]) >> 1  # PyTorch takes signed seeds


def generator(seed: int, name: str) -> torch.Generator:
    """Return one of a network's streams of random numbers, for PyTorch."""
    return torch.Generator().manual_seed(stream(seed, name))


def finite(value: Any) -> float | None:
    """Return a float, or None if it is not finite, which JSON cannot say."""
    number = float(value)
    return number if np.isfinite(number) else None
