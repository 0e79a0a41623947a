"""Measure a trained network on test images with noise: its accuracy, and its responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from experiments.common.images import FloatArray, LabelledImages, TrainTest
from experiments.patch_gaussian.data import balanced_choice
from experiments.patch_gaussian.networks import ResNet
from experiments.patch_gaussian.settings import NetworkPlan, Sampling, Settings
from experiments.patch_gaussian.training import as_tensor, random_stream

Arrays = dict[str, npt.NDArray[Any]]

CLEAN = "clean"
EVALUATION_SEED = 0  # the same noise for all networks: their accuracies are then comparable
# A network with a lower accuracy on clean images, twice chance, has failed. It is kept and
# reported.
SMALLEST_ACCURACY = 0.2
BLOCK = 250  # images in a forward pass


def measure_accuracy(network: ResNet, test: LabelledImages, settings: Settings) -> dict[str, float]:
    """Return the accuracy on all test images, clean and with noise of each tau.

    Noise is added to pixels in [0, 1] and not clipped.
    """
    found = {}
    for tau in (0.0, *settings.taus):
        name = f"{tau:g}" if tau else CLEAN
        rng = random_stream("evaluation", EVALUATION_SEED, name)
        correct = 0
        for start in range(0, len(test), BLOCK):
            part = slice(start, start + BLOCK)
            images = add_noise(test.pixels(part), tau, rng)
            with torch.no_grad():
                classes = network(as_tensor(images)).argmax(dim=1).numpy()
            correct += int((classes == test.labels[part]).sum())
        found[name] = correct / len(test)
    return found


def measure_responses(
    network: ResNet, plan: NetworkPlan, data: TrainTest, settings: Settings
) -> Iterator[tuple[float, Arrays]]:
    """Yield each tau with the responses of the representation layer to noisy test images.

    Yields
    ------
    tau : float
    arrays : dict
        ``images``, numbers of the test images; ``trials`` (images, passes, units), those that are
        kept; and if the settings say so ``means`` (images, units) and ``covariances`` (images,
        units, units) over all passes. All float32 but for the numbers.
    """
    chosen = balanced_choice(data.test.labels, settings.sampling.n_images)
    pixels = data.test.pixels(chosen)
    for tau in settings.taus:
        rng = random_stream("responses", plan.seed, plan.cell, f"{tau:g}")
        yield tau, {"images": chosen} | _respond(network, pixels, tau, settings.sampling, rng)


def _respond(
    network: ResNet,
    pixels: FloatArray,
    tau: float,
    sampling: Sampling,
    rng: np.random.Generator,
) -> Arrays:
    """Return what is kept of the responses at one tau; only one image's trials are held."""
    kept: list[FloatArray] = []
    means: list[FloatArray] = []
    covariances: list[FloatArray] = []
    for number, image in enumerate(pixels):
        trials = draw_trials(network, image, tau, sampling.n_passes, rng)
        if number < sampling.n_images_kept:
            kept.append(trials[: sampling.n_passes_kept])
        if sampling.moments:
            means.append(trials.mean(axis=0, dtype=np.float64).astype(np.float32))
            covariances.append(np.cov(trials, rowvar=False, dtype=np.float64).astype(np.float32))
    arrays: Arrays = {"trials": np.stack(kept)}
    if sampling.moments:
        arrays |= {"means": np.stack(means), "covariances": np.stack(covariances)}
    return arrays


def draw_trials(
    network: ResNet, image: FloatArray, tau: float, count: int, rng: np.random.Generator
) -> FloatArray:
    """Return responses (passes, units) to one image with fresh noise in every pass."""
    blocks = []
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        images = add_noise(np.repeat(image[None], size, axis=0), tau, rng)
        with torch.no_grad():
            blocks.append(network.represent(as_tensor(images)).numpy())
    return np.concatenate(blocks)


def add_noise(images: FloatArray, tau: float, rng: np.random.Generator) -> FloatArray:
    """Return images with Gaussian noise of standard deviation tau."""
    if not tau:
        return images
    return images + np.float32(tau) * rng.standard_normal(images.shape, dtype=np.float32)
