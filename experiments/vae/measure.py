"""Distances between the networks of a study, kept in stores.

A run may be stopped at any moment: repeat the command to continue. Stores are kept by number of
networks, so that a study that has grown is measured again. Matrices of the same networks are
taken from earlier results (`known`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

import repshape as rs
from experiments.common.rounds import CONFIRMATION
from experiments.common.samples import PairSample, Sample, jackknife
from experiments.common.stores import (
    DISTANCES,
    DistanceStores,
    gaussian_metrics,
    raw_and_centred,
)
from experiments.common.verdicts import FAMILY_LEVEL
from experiments.vae.claims import ALPHAS, ENERGY
from experiments.vae.cohorts import (
    SPRITES,
    complete_plans,
    draw_trials,
    groups_of,
    metadata_of,
    read_checkpoints,
    read_networks,
)
from experiments.vae.known import KnownResults
from experiments.vae.pairs import EXTREMES, SUFFIX, Pair, compare_pairs, disjoint_pairs
from experiments.vae.run import Study
from experiments.vae.settings import UNTRAINED, NetworkPlan, checkpoint_steps
from experiments.vae.statistics import log_ratio
from repshape.errors import InputError

PAIRS = "pairs"
CENTRED_ALPHAS = (1.0, 2.0)  # at alpha 0, centring changes nothing


class Measurement:
    """Everything that is computed from the latents of a study, one matrix at a time.

    Parameters
    ----------
    study : Study
    workers : int
    known : KnownResults, optional
        Earlier results, from which matrices of the same networks are taken.
    """

    def __init__(self, study: Study, workers: int, known: KnownResults | None = None) -> None:
        self.study, self.workers, self.size = study, workers, study.measure
        self.known = known
        self.taken: dict[str, str] = {}  # store of each matrix that was taken, by its name
        self.stores = DistanceStores(study.out / DISTANCES, workers)

    @cached_property
    def groups(self) -> dict[str, list[NetworkPlan]]:
        """The networks that are measured, by group; groups of fewer than two are left out.

        A group of the confirmation is measured once all of its seeds are finished, or all that were
        chosen, so that verdicts do not hang on when one looks.
        """
        found = {group.name: complete_plans(self.study, group) for group in groups_of(self.study)}
        if self.study.part == CONFIRMATION:
            planned = {one.name: len(one.plans(self.study)) for one in groups_of(self.study)}
            found = {name: one for name, one in found.items() if len(one) == planned[name]}
        return {name: plans for name, plans in found.items() if len(plans) > 1}

    def check(self) -> None:
        """Raise one sentence if there is nothing to measure."""
        if not self.groups:
            whole = "group" if self.study.part == CONFIRMATION else "seed"
            raise InputError(
                f"{self.study.out} has no complete {whole} yet. Run the step 'train' first."
            )

    def tasks(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield the name of each matrix, and the function that returns it."""
        for name in self.groups:
            if self.is_paired(name):
                if self.pairs_of(name):
                    yield f"{name}/{PAIRS}", partial(self.compare_pairs, name)
                continue
            full = name == SPRITES.name
            alphas = ALPHAS if full else EXTREMES
            centred = tuple(alpha for alpha in alphas if alpha in CENTRED_ALPHAS)
            for metric_name, metric in raw_and_centred(alphas, centred).items():
                yield f"{name}/{metric_name}", partial(self.distances, name, metric_name, metric)
            if full:
                yield (
                    f"{name}/{ENERGY}",
                    partial(self.distances, name, ENERGY, rs.EnergyShapeMetric(1.0)),
                )

    def is_paired(self, group: str) -> bool:
        """Return whether each network of a group is compared with one other only."""
        return self.size.untrained_pairs and UNTRAINED in group

    def pairs_of(self, group: str) -> list[Pair]:
        """Return the disjoint pairs of a group."""
        plans = self.groups[group]
        return disjoint_pairs(plans, self.study.settings[plans[0].dataset].first_seed)

    def compare_pairs(self, group: str) -> PairSample:
        """Return the distances of disjoint pairs, as far as possible from their file."""
        start = time.perf_counter()
        path = self.study.out / DISTANCES / f"{group}{SUFFIX}"
        found = compare_pairs(self.study, self.pairs_of(group), path, self.workers)
        self.stores.add_seconds(f"{group}-{len(found)}/{PAIRS}", time.perf_counter() - start)
        return found

    def distances(self, group: str, name: str, metric: Any) -> rs.DistanceMatrix:
        """Return one matrix, from known results or from its store as far as it is there."""
        plans = self.groups[group]
        store = f"{group}-{len(plans)}/{name}"
        known = self.known if group in self.known_groups else None
        if known is not None and known.has_matrix(f"{group}/{name}"):
            self.taken[f"{group}/{name}"] = store
            return known.matrix(group, name)
        networks: list[Any] = read_networks(self.study, plans, self.size.n_images)
        if name == ENERGY:
            networks = [
                draw_trials(plan.name, network, self.size.n_trials)
                for plan, network in zip(plans, networks, strict=True)
            ]
        return self._pairwise(networks, plans, metric, store)

    @cached_property
    def known_groups(self) -> set[str]:
        """The groups whose networks are those of known results."""
        if self.known is None:
            return set()
        return {
            name
            for name, plans in self.groups.items()
            if not self.is_paired(name)
            and self.known.is_about(
                name,
                metadata_of(self.study, plans),
                read_networks(self.study, plans, self.size.n_images),
                self.size,
            )
        }

    @property
    def seconds(self) -> dict[str, float]:
        """Wall time of each matrix, also where it was spent by an earlier run."""
        if self.known is None:
            return self.stores.seconds
        taken = {store: self.known.seconds(store) for store in self.taken.values()}
        return self.stores.seconds | taken

    def _pairwise(
        self, networks: list[Any], plans: list[NetworkPlan], metric: Any, store: str
    ) -> rs.DistanceMatrix:
        return self.stores.pairwise(store, networks, metric, metadata_of(self.study, plans))

    # Samples of energy distances

    @cached_property
    def sweep_plans(self) -> list[NetworkPlan]:
        """The sprite networks of the first seeds, on which numbers of samples are compared."""
        plans = self.groups.get(SPRITES.name, [])
        seeds = sorted({plan.seed for plan in plans})[: self.size.sweep_seeds]
        return [plan for plan in plans if plan.seed in seeds]

    def sweep_tasks(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield the matrices of the comparison of numbers of samples, as `tasks` does."""
        if not self.sweep_plans:
            return
        metrics: dict[str, Any] = gaussian_metrics((1.0, 2.0), centred=False)
        for count in self.size.sweep_trials:
            metrics[f"{ENERGY}-{count}"] = rs.EnergyShapeMetric(1.0)
        for name, metric in metrics.items():
            yield f"sweep/{name}", partial(self.sweep_distances, name, metric)

    def sweep_distances(self, name: str, metric: Any) -> rs.DistanceMatrix:
        """Return one matrix of the comparison; fewer samples are the first of the most."""
        plans = self.sweep_plans
        networks: list[Any] = read_networks(self.study, plans, self.size.sweep_images)
        if name.startswith(ENERGY):
            count, most = int(name.split("-")[1]), max(self.size.sweep_trials)
            networks = [
                rs.Trials([one[:count] for one in draw_trials(plan.name, network, most).responses])
                for plan, network in zip(plans, networks, strict=True)
            ]
        return self._pairwise(networks, plans, metric, f"sweep-{len(plans)}/{name}")

    # Checkpoints

    def training_ratio(self) -> dict[str, dict[str, Any]]:
        """Return, for each cell that kept checkpoints, mean distances along the training.

        Distances are those of networks of the cell with different seeds. ``log_ratio`` is
        log2(mean d_2 / mean d_0) with its 95 % interval over seeds.
        """
        found = {}
        for name, plans in self.groups.items():
            if UNTRAINED in name:
                continue
            size = self.study.settings[plans[0].dataset]
            cells: dict[str, list[NetworkPlan]] = {}
            for plan in plans:
                if checkpoint_steps(plan, size):
                    label = (
                        f"{plan.dataset} {plan.initialisation} {plan.objective} {plan.strength:g}"
                    )
                    cells.setdefault(label, []).append(plan)
            for label, members in cells.items():
                if len(members) > 1:
                    found[label] = self._along_training(members)
        return found

    def _along_training(self, plans: list[NetworkPlan]) -> dict[str, Any]:
        found: dict[str, Any] = {"steps": [], "alpha-0": [], "alpha-2": [], "log_ratio": []}
        metrics = gaussian_metrics(EXTREMES, centred=False)
        metadata = metadata_of(self.study, plans)
        for step, networks in read_checkpoints(self.study, plans, self.size.n_images):
            matrices = rs.pairwise_many(networks, metrics, workers=self.workers, progress=False)
            sample = Sample({name: one.values for name, one in matrices.items()}, metadata)
            found["steps"].append(step)
            for name in matrices:
                found[name].append(float(sample.listed(name).mean()))
            ratio = jackknife(log_ratio, sample, FAMILY_LEVEL)
            found["log_ratio"].append(ratio.summary())
        return found | {"seeds": len(plans), "pairs": len(plans) * (len(plans) - 1) // 2}


def repaired(matrix: rs.DistanceMatrix) -> tuple[rs.DistanceMatrix, dict[str, float]]:
    """Return energy distances as the closest metric, as the paper does, and what was changed."""
    result = rs.repair(matrix)
    values = matrix.condensed()
    return result.matrix, {
        "negative": int((values < 0).sum()),
        "violations": int(result.before.count),
        "largest_violation": float(result.before.relative),
        "largest_change": float(result.largest_change / np.abs(values).max()),
    }
