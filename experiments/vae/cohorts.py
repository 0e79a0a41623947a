"""The networks of a study as cohorts: responses to the same images, and what is known of each.

Only complete seeds are used: those of which every objective and strength is finished. A study may
so be measured while it is still being trained.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import repshape as rs
from experiments.common import files
from experiments.common.archives import NetworkFiles
from experiments.common.rounds import is_chosen
from experiments.vae.run import LATENTS, SCORES, Study
from experiments.vae.scores import NAMES
from experiments.vae.settings import UNTRAINED, NetworkPlan, Settings, plan_networks

# Columns of the metadata that come from the record of a network.
RECORDED = (
    "objective",
    "strength",
    "seed",
    "initialisation",
    "reconstruction",
    "training_reconstruction",
    "kl",
    "active_latents",
    "explained",
    "failed",
)


@dataclass(frozen=True)
class Group:
    """Networks that are compared with each other.

    Attributes
    ----------
    dataset, initialisation : str
    trained : bool

    >>> Group("mnist", "kaiming", False).name
    'mnist-untrained-kaiming'
    """

    dataset: str
    initialisation: str
    trained: bool

    @property
    def name(self) -> str:
        """Name of the group and of the folder of its distances."""
        state = "trained" if self.trained else UNTRAINED
        return f"{self.dataset}-{state}-{self.initialisation}"

    def plans(self, study: Study) -> list[NetworkPlan]:
        """Return the networks of the group, finished or not, cell by cell.

        Of trained networks those of the study's seeds alone, if some were chosen.
        """
        plans = plan_networks(self.dataset, study.settings[self.dataset])
        return [
            plan
            for plan in sorted(plans, key=lambda plan: cell_order(plan, study))
            if plan.initialisation == self.initialisation
            and (plan.objective != UNTRAINED) == self.trained
            and (not self.trained or is_chosen(plan.seed, study.seeds))
        ]


SPRITES = Group("dsprites", "kaiming", True)


def groups_of(study: Study) -> list[Group]:
    """Return all groups of a study, those of sprites first."""
    chosen = [study.only] if study.only else list(study.settings)
    return [
        Group(dataset, initialisation, trained)
        for dataset in chosen
        for trained in (True, False)
        for initialisation in initialisations_of(study.settings[dataset], trained=trained)
    ]


def initialisations_of(size: Settings, *, trained: bool) -> tuple[str, ...]:
    """Return the initialisations of the trained or of the untrained networks."""
    return size.initialisations if trained else size.untrained_initialisations


def cell_order(plan: NetworkPlan, study: Study) -> tuple[int, float, int]:
    """Return a key that sorts networks by objective, strength and seed."""
    objectives = list(study.settings[plan.dataset].strengths)
    place = objectives.index(plan.objective) if plan.objective in objectives else -1
    return place, plan.strength or 0.0, plan.seed


def complete_seeds(study: Study, group: Group) -> list[int]:
    """Return the seeds of which all networks of the group are finished."""
    finished: dict[int, list[bool]] = defaultdict(list)
    for plan in group.plans(study):
        finished[plan.seed].append(study.network(plan).has(files.RECORD))
    return sorted(seed for seed, found in finished.items() if all(found))


def complete_plans(study: Study, group: Group) -> list[NetworkPlan]:
    """Return the networks of the complete seeds, cell by cell."""
    seeds = complete_seeds(study, group)
    return [plan for plan in group.plans(study) if plan.seed in seeds]


def describe_network(stored: NetworkFiles) -> dict[str, Any]:
    """Return a row of metadata: the record, and scores A to O (NaN where there are none)."""
    record = stored.json(files.RECORD)
    row = {name: record[name] for name in RECORDED}
    row["trained"] = row["objective"] != UNTRAINED
    row["cell"] = UNTRAINED
    if row["trained"]:
        row["cell"] = f"{row['objective']} {row['strength']:g}"
    found = stored.json(SCORES)["scores"] if stored.has(SCORES) else {}
    scores = {letter: found.get(letter) for letter in NAMES}
    return row | {letter: np.nan if one is None else one for letter, one in scores.items()}


def metadata_of(study: Study, plans: list[NetworkPlan]) -> pd.DataFrame:
    """Return a row for each network, indexed by its name."""
    rows = [describe_network(study.network(plan)) for plan in plans]
    frame = pd.DataFrame(rows, index=[plan.name for plan in plans])
    return frame.astype({"strength": float})


def read_network(stored: NetworkFiles, n_images: int) -> rs.Gaussians:
    """Return the latents of evenly spaced images as Gaussians with independent neurons."""
    latents = stored.arrays(LATENTS)
    return gaussians(latents["means"], latents["log_variances"], n_images)


def gaussians(
    means: npt.NDArray[Any], log_variances: npt.NDArray[Any], n_images: int
) -> rs.Gaussians:
    """Return Gaussians of ``n_images`` of the images, evenly spaced, or of all if they are fewer.

    The held-out images are sorted by their factors, so the first ones would not be representative.

    >>> gaussians(np.arange(8.0)[:, None], np.zeros((8, 1)), 4).means.ravel()
    array([0., 2., 4., 6.])
    """
    chosen = spaced(n_images, len(means))
    variances = np.exp(log_variances[chosen].astype(np.float64))
    return rs.Gaussians(means[chosen].astype(np.float64), variances)


def spaced(count: int, available: int) -> npt.NDArray[np.intp]:
    """Return the positions of ``count`` images, evenly spaced, or of all if they are fewer.

    >>> spaced(4, 8), spaced(4, 3)
    (array([0, 2, 4, 6]), array([0, 1, 2]))
    """
    count = min(count, available)
    return np.arange(count) * available // count


def read_networks(study: Study, plans: list[NetworkPlan], n_images: int) -> list[rs.Gaussians]:
    """Return the networks of several plans."""
    return [read_network(study.network(plan), n_images) for plan in plans]


def read_checkpoints(
    study: Study, plans: list[NetworkPlan], n_images: int
) -> Iterator[tuple[int, list[rs.Gaussians]]]:
    """Yield for each kept step the networks as they were after it."""
    stored = [study.network(plan).arrays(LATENTS) for plan in plans]
    for k, step in enumerate(stored[0]["steps"].tolist()):
        yield (
            step,
            [
                gaussians(one["checkpoint_means"][k], one["checkpoint_log_variances"][k], n_images)
                for one in stored
            ],
        )


def draw_trials(name: str, network: rs.Gaussians, n_trials: int) -> rs.Trials:
    """Draw trials of a network from a stream of its own, so that noise is independent."""
    stream = np.random.default_rng(list(name.encode()))
    return network.sample(n_trials, random_state=stream)
