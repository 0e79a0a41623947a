"""Studies of networks that were not trained but drawn, with known differences between them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from experiments.common import files
from experiments.vae.run import LATENTS, SCORES, Study
from experiments.vae.scales import SCALES, SCORE_SCALES
from experiments.vae.scores import NAMES
from experiments.vae.settings import (
    UNTRAINED,
    MeasureSettings,
    NetworkPlan,
    Settings,
    checkpoint_steps,
)

MEASURE = MeasureSettings(8, 4, (2, 4), sweep_images=4, permutations=19)


def drawn_settings(**changes: Any) -> Settings:
    tiny = SCALES["tiny"]["dsprites"]
    strengths = {"beta": (1.0, 10.0), "dip_i": (1.0, 20.0), "annealed": (5.0, 20.0)}
    sizes = {"strengths": strengths, "n_held_out": 12, "seeds": 4, "untrained_seeds": 3}
    return replace(tiny, **sizes | changes)


def drawn_study(out: Path, *, datasets: tuple[str, ...] = ("dsprites",), **changes: Any) -> Study:
    """Write the files of a study whose latents differ by objective, strength and seed."""
    settings = dict.fromkeys(datasets, drawn_settings(**changes))
    study = Study(out, settings, SCORE_SCALES["tiny"], MEASURE, scale="tiny")
    files.claim_folder(out, study.summary(), "datasets")
    for plan in study.plans():
        write_network(study, plan)
    return study


def write_network(study: Study, plan: NetworkPlan, **record: Any) -> None:
    """Write record, latents and scores of one network."""
    folder = study.folder(plan)
    files.prepare_network_folder(folder)
    means, log_variances = drawn_latents(plan)
    arrays = {"means": means, "log_variances": log_variances}
    steps = checkpoint_steps(plan, study.settings[plan.dataset])
    if steps:
        scales = np.linspace(0.1, 1, len(steps))[:, None, None]
        arrays |= {
            "steps": np.array(steps),
            "checkpoint_means": scales * means,
            "checkpoint_log_variances": scales * log_variances,
        }
    files.write_arrays(folder / LATENTS, {k: np.asarray(v) for k, v in arrays.items()})
    loss = 10.0 + (plan.strength or 0.0)
    files.write_json(
        folder / files.RECORD,
        {
            "name": plan.name,
            "dataset": plan.dataset,
            "objective": plan.objective,
            "strength": plan.strength,
            "seed": plan.seed,
            "initialisation": plan.initialisation,
            "training_reconstruction": loss,
            "reconstruction": loss + 1,
            "kl": 5.0,
            "active_latents": 3,
            "explained": 0.8,
            "seconds": 2.0,
            "failed": False,
        }
        | record,
    )
    if plan.objective != UNTRAINED:
        scores = {letter: loss + k for k, letter in enumerate(NAMES)}
        found = {"name": plan.name, "scores": scores, "seconds": {"A": 0.5, "F": 1.0}}
        files.write_json(folder / SCORES, found)


def drawn_latents(plan: NetworkPlan) -> tuple[np.ndarray, np.ndarray]:
    """Return means that depend on objective and strength, with a little noise of the seed.

    Untrained networks have small means and variances that differ a lot.
    """
    initial = plan.initialisation.encode() if plan.objective == UNTRAINED else b""
    words = [plan.seed, len(plan.objective), int(plan.strength or 0), *initial]
    rng = np.random.default_rng(words)
    noise = rng.normal(size=(12, 3))
    if plan.objective == UNTRAINED:
        return 0.1 * noise, noise
    shape = np.random.default_rng(len(plan.objective)).normal(size=(12, 3))
    means = (2 + np.log(plan.strength or 1.0)) * shape + 0.2 * noise
    return means, -1 + 0.1 * (plan.strength or 0.0) * shape.clip(-1, 1)
