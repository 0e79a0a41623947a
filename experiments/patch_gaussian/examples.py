"""Figure 5 A: images with patches and with noise, and single responses of four networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

import repshape as rs
from experiments.common.cifar10 import CLASSES
from experiments.common.reproducible import deterministic
from experiments.common.results import Arrays
from experiments.patch_gaussian.accuracy import add_noise
from experiments.patch_gaussian.augment import add_patches, draw_patches
from experiments.patch_gaussian.claims import SPREAD_TAU
from experiments.patch_gaussian.collecting import load_network, noise_seed
from experiments.patch_gaussian.data import balanced_choice
from experiments.patch_gaussian.networks import REPRESENTATION
from experiments.patch_gaussian.run import Study
from experiments.patch_gaussian.settings import NetworkPlan
from experiments.patch_gaussian.training import as_tensor, random_stream


def example_plans(plans: Sequence[NetworkPlan]) -> list[NetworkPlan]:
    """Return four networks of one seed: none, the narrowest, a middle and the widest patch.

    sigma is the largest, the middle and the largest one.
    """
    own = [plan for plan in plans if plan.seed == min(one.seed for one in plans)]
    widths = sorted({plan.patch.width for plan in own if plan.patch})
    sigmas = sorted({plan.patch.sigma for plan in own if plan.patch})
    wanted = [
        (widths[0], sigmas[-1]),
        (widths[len(widths) // 2], sigmas[len(sigmas) // 2]),
        (widths[-1], sigmas[-1]),
    ]
    known = {(p.patch.width, p.patch.sigma): p for p in own if p.patch}
    plain = [plan for plan in own if plan.patch is None]
    return [*plain, *(known[one] for one in dict.fromkeys(wanted))]


def collect_examples(study: Study, plans: Sequence[NetworkPlan]) -> Arrays:
    """Return the arrays of the figure.

    ``example/noisy`` (taus, side, side, channels) is the first image with the noise of each tau.
    For each network, ``example/NAME/image`` is the same image as in its training, and
    ``example/NAME/points`` (images, passes, 2) an embedding of its responses, one image a class.
    """
    data = study.data()
    chosen = balanced_choice(data.test.labels, CLASSES)
    pixels = data.test.pixels(chosen)
    rng = random_stream("evaluation", 0, "examples")
    noisy = [add_noise(pixels[:1], tau, rng)[0] for tau in study.settings.taus]
    found: Arrays = {"example/noisy": _picture(np.stack(noisy))}
    for plan in example_plans(plans):
        image = pixels[:1]
        if plan.patch is not None:
            image = add_patches(image, draw_patches(_always(plan), image.shape, rng))
        found[f"example/{plan.name}/image"] = _picture(image)[0]
        with deterministic():
            trials: Any = rs.pytorch.collect(
                load_network(study, plan, data),
                REPRESENTATION,
                as_tensor(pixels),
                study.measure.example_passes,
                noise=SPREAD_TAU,
                moments=False,
                random_state=noise_seed(plan, SPREAD_TAU, "examples"),
                progress=False,
            )
        found[f"example/{plan.name}/points"] = embed_responses(np.stack(trials.responses))
    return found


def embed_responses(responses: Any) -> Any:
    """Return responses (images, passes, units) as points in the plane, by metric scaling."""
    images, passes, units = responses.shape
    D = squareform(pdist(responses.reshape(-1, units)))
    points = rs.embed(D, n_init=1).points
    return np.asarray(points, dtype=np.float32).reshape(images, passes, 2)


def _always(plan: NetworkPlan) -> Any:
    from dataclasses import replace

    assert plan.patch is not None
    return replace(plan.patch, share=1.0)


def _picture(images: Any) -> Any:
    """Return images as bytes with the channels last."""
    return np.round(255 * np.clip(images, 0, 1)).astype(np.uint8).transpose(0, 2, 3, 1)
