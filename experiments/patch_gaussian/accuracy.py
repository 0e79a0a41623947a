"""The accuracy of a trained network on test images, clean and with noise."""

from __future__ import annotations

import numpy as np
import torch

from experiments.common.devices import device_of
from experiments.common.images import FloatArray, LabelledImages
from experiments.patch_gaussian.networks import ResNet
from experiments.patch_gaussian.settings import Settings
from experiments.patch_gaussian.training import as_tensor, random_stream

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
                scores = network(as_tensor(images).to(device_of(network)))
            classes = scores.argmax(dim=1).cpu().numpy()
            correct += int((classes == test.labels[part]).sum())
        found[name] = correct / len(test)
    return found


def add_noise(images: FloatArray, tau: float, rng: np.random.Generator) -> FloatArray:
    """Return images with Gaussian noise of standard deviation tau."""
    if not tau:
        return images
    return images + np.float32(tau) * rng.standard_normal(images.shape, dtype=np.float32)
