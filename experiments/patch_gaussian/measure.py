"""Distances between the networks of a study, kept in stores.

A run may be stopped at any moment: repeat the command to continue. Stores are kept by number of
networks, so that a study that has grown is measured again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import pandas as pd

import repshape as rs
from experiments.common.rounds import CONFIRMATION
from experiments.common.stores import DISTANCES, DistanceStores, gaussian_metrics, raw_and_centred
from experiments.patch_gaussian.claims import ALPHAS, HALVED_TAUS
from experiments.patch_gaussian.cohorts import complete_plans, metadata_of, spread
from experiments.patch_gaussian.run import Study
from experiments.patch_gaussian.settings import NetworkPlan
from repshape.errors import InputError

HALVES = (1, 2)
# How distances are searched. A trial with four pairs of the networks of seed 0 decided: processor
# seconds of a pair, and mean excess over the distance of the first row.
#
#                                alpha 0              alpha 1
#     starts  tolerance    tau 0.1    tau 0.5    tau 0.1    tau 0.5
#     auto      1e-5       1.58       2.52       0.30       0.91
#     auto      1e-4       1.11 .04%  1.45 .04%  0.27 .02%  0.79 .01%
#     2         1e-4       0.90 .01%  1.49 .24%  0.19 .01%  0.45 .01%
#     1         3e-5       0.40 .01%  0.97 .33%  0.11 .00%  0.26 .02%
#     1         1e-4       0.27 .03%  0.87 .35%  0.10 .02%  0.19 .02%
#
# The distances of these pairs differ by a tenth (alpha 0, tau 0.1) to a factor of three (alpha 1,
# tau 0.5). What the search misses is measured again with the finished matrices (`search.py`).
SEARCH: dict[str, Any] = {"n_starts": 1, "tol": 3e-5}
# Halves of the passes only say how reliable ranks of distances are, which needs less.
HALVES_SEARCH: dict[str, Any] = {"n_starts": 1, "tol": 1e-4}
POLISH = False


def tau_name(tau: float) -> str:
    """Return the first part of the names of all matrices of one tau."""
    return f"tau-{tau:g}"


class Measurement:
    """Everything that is computed from the responses of a study, one matrix at a time."""

    def __init__(self, study: Study, workers: int) -> None:
        self.study = study
        self.stores = DistanceStores(study.out / DISTANCES, workers, POLISH)
        self.read: tuple[Any, Any] = (None, None)

    @cached_property
    def plans(self) -> list[NetworkPlan]:
        """The networks that are measured."""
        return complete_plans(self.study)

    @cached_property
    def metadata(self) -> pd.DataFrame:
        """What is known of each network."""
        return metadata_of(self.study, self.plans)

    def check(self) -> None:
        """Raise one sentence if there is nothing to measure.

        The confirmation is measured once all of its seeds are finished, or all that were chosen, so
        that verdicts do not hang on when one looks.
        """
        planned = len(self.study.plans())
        if self.study.part == CONFIRMATION and len(self.plans) < planned:
            raise InputError(
                f"The confirmation is measured when all of its {planned} networks are trained. "
                f"{len(self.plans)} are, in complete seeds. Run the step 'train' first, or choose "
                "finished seeds with --seeds, which the results then state."
            )
        if len(self.plans) < 2:
            raise InputError(
                f"{self.study.out} has no seed of which all networks are trained. Run the step "
                "'train' first."
            )

    def networks(self, tau: float, half: int) -> Any:
        """Return the networks at one tau; those of the last call are kept."""
        from experiments.patch_gaussian.collecting import read_networks

        if self.read[0] != (tau, half):
            self.read = (tau, half), read_networks(self.study, self.plans, tau, half)
        return self.read[1]

    def tasks(self) -> Iterator[tuple[str, Callable[[], rs.DistanceMatrix]]]:
        """Yield the name of each matrix, such as "tau-0.1/alpha-0", and what returns it."""
        for tau in self.study.settings.taus:
            metrics = raw_and_centred(ALPHAS, None if self.study.measure.centred else (), **SEARCH)
            yield from self._tasks_of(tau, metrics, 0)
        if self.study.measure.keep_trials:
            for tau in self.halved_taus:
                for half in HALVES:
                    metrics = gaussian_metrics(ALPHAS, centred=False, **HALVES_SEARCH)
                    yield from self._tasks_of(tau, metrics, half)

    @property
    def halved_taus(self) -> list[float]:
        """The taus at which distances are also computed from halves of the passes."""
        return [tau for tau in HALVED_TAUS if tau in self.study.settings.taus]

    def _tasks_of(
        self, tau: float, metrics: dict[str, rs.GaussianShapeMetric], half: int
    ) -> Iterator[tuple[str, Callable[[], rs.DistanceMatrix]]]:
        suffix = f"-half-{half}" if half else ""
        for name, metric in metrics.items():
            full = f"{tau_name(tau)}/{name}{suffix}"
            yield full, partial(self.distances, full, metric, tau, half)

    def distances(self, name: str, metric: Any, tau: float, half: int) -> rs.DistanceMatrix:
        """Return one matrix, from its store as far as it is there."""
        size = self.study.measure
        store = f"{size.n_images}x{size.n_passes}/{name}"  # grows with the seeds
        return self.stores.pairwise(store, self.networks(tau, half), metric, self.metadata)

    def spreads(self) -> pd.DataFrame:
        """Return within-image spread over between-image distance, by network and tau."""
        passes = self.study.measure.n_passes
        return pd.DataFrame(
            {
                f"spread-{tau:g}": [spread(one, passes) for one in self.networks(tau, 0)]
                for tau in self.study.settings.taus
            },
            index=self.metadata.index,
        )
