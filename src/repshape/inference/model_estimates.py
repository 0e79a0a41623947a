"""Corrected squared distances of models and brains, also without some of the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.errors import FewTrialsWarning, InputError, warn_user
from repshape.inference.calibrated import METHOD, Calibrated, plan_parts
from repshape.inference.estimates import Settings
from repshape.inference.nested import NestedPlan
from repshape.inference.part_store import PartStore, run_rows
from repshape.inference.resampling import is_exact
from repshape.inference.terms import Term, Terms
from repshape.io.cohort import Cohort
from repshape.io.json import plain
from repshape.metrics.base import ShapeMetric
from repshape.metrics.few_trials import dimensions, gives_weight_to_covariances
from repshape.metrics.identity import describe
from repshape.store.identity import Identity

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

# Conditions are divided into this many blocks, each of which is left out in turn.
CONDITION_BLOCKS = 10
FEWEST_CONDITIONS = 4
# With fewer, distances from a brain to an exact model with covariances are still too small.
TRIALS_PER_DIMENSION = 4


@dataclass(frozen=True, eq=False)
class PairEstimates:
    """Squared distances of K brains and P models, corrected for the noise of finite trials.

    Attributes
    ----------
    to_models : array of shape (K, P, 1 + J)
        From all conditions, and without each of J blocks of them.
    between : array of shape (K, K, 1 + J)
        Between brains; 0 on the diagonal.
    to_models_plug_in, between_plug_in : arrays of shape (K, P) and (K, K)
        Without correction.
    model_noise : array of shape (P, P)
        Covariance of the means over brains that is due to the trials of the models, which all
        brains have in common.
    brains : list
        The trials of the brains that were used: as many of each condition in all of them.
    method : str
    n_groups : int
    """

    to_models: FloatArray
    between: FloatArray
    to_models_plug_in: FloatArray
    between_plug_in: FloatArray
    model_noise: FloatArray
    brains: list[Any]
    method: str
    n_groups: int


@dataclass(frozen=True, eq=False)
class ModelPairs:
    """The networks to compare, brains first, and how.

    Attributes
    ----------
    brains, models : list of networks
    metric : ShapeMetric
        With unbiased covariances.
    over : {"brains", "conditions", "both"}
    settings : Settings
    """

    brains: list[Any]
    models: list[Any]
    metric: ShapeMetric[Any]
    over: str
    settings: Settings

    @property
    def networks(self) -> tuple[Any, ...]:
        """Brains, and then models."""
        return *self.brains, *self.models

    def condition_blocks(self) -> tuple[IntArray, ...]:
        """Return random blocks of conditions to leave out; none for intervals over brains."""
        if self.over == "brains":
            return ()
        count = self.brains[0].n_conditions
        if count < FEWEST_CONDITIONS:
            raise InputError(
                f"Intervals over conditions need at least {FEWEST_CONDITIONS} of them. Got {count}."
            )
        order = np.random.default_rng([self.settings.random_state, 1]).permutation(count)
        return tuple(np.array_split(order, min(CONDITION_BLOCKS, count)))

    def plan(self) -> NestedPlan:
        """Return what is computed: pairs of brains, and then brains and models.

        Groups of trials are left out only if their effect on a mean over brains is needed: that of
        the models' own trials. Trials of brains differ from brain to brain, and those of conditions
        from condition to condition, as brains and conditions do.
        """
        K, P = len(self.brains), len(self.models)
        pairs = [*combinations(range(K), 2), *((k, K + p) for k in range(K) for p in range(P))]
        terms = Terms(self.networks, tuple(Term(self.metric, *pair) for pair in pairs))
        noisy = self.over == "brains" and not all(map(is_exact, self.models))
        plan = plan_parts(terms, self.settings)
        if noisy:
            return plan
        return replace(plan, deleted="conditions", blocks=self.condition_blocks())

    def estimate(self, labels: Sequence[str], folder: Path | None) -> PairEstimates:
        """Return the estimates of all pairs; finished parts are kept in a folder if given."""
        plan = self.plan()
        rows = run_rows(
            plan.solve,
            plan.tasks,
            store=None if folder is None else self._store(plan, labels, folder),
            name="parts",
            workers=self.settings.workers,
            progress=self.settings.progress,
        )
        found = Calibrated(plan.collect(rows))
        found.warn(plan.terms, together=True)
        if not found.few_together:
            self._warn_of_exact_models()
        return self._collect(plan, found)

    def _warn_of_exact_models(self) -> None:
        """Warn if distances from models that are known exactly may be too small."""
        if not any(map(is_exact, self.models)) or not gives_weight_to_covariances(self.metric):
            return
        have = min(int(one.n_trials.min()) for one in self.brains)
        size = max(dimensions(one, self.metric) for one in self.brains)
        if have < TRIALS_PER_DIMENSION * size:
            warn_user(
                f"There are {have} trials per condition for {size} dimensions. Distances from "
                "models that are known exactly may be too small. About "
                f"{TRIALS_PER_DIMENSION * size} trials per condition would be enough, or fewer "
                "dimensions.",
                FewTrialsWarning,
            )

    def _store(self, plan: NestedPlan, labels: Sequence[str], folder: Path) -> PartStore:
        cohort = Cohort.from_networks(self.networks, labels)
        identity = Identity(plain(describe(self.metric)), cohort.labels, cohort.verify())
        settings = {
            "n_groups": self.settings.n_groups,
            "random_state": self.settings.random_state,
            "over": self.over,
        }
        return PartStore(folder, identity, settings, {"parts": (len(plan.tasks), plan.width)})

    def _collect(self, plan: NestedPlan, found: Calibrated) -> PairEstimates:
        K, P = len(self.brains), len(self.models)
        count = K * (K - 1) // 2
        values = self._corrected(found, count)
        noise = np.zeros((P, P))
        if plan.deleted == "groups":
            noise = shared_covariance(values[count:, 1:].reshape(K, P, -1))
            values = values[:, :1]
        full = found.nested.full[:, 0]
        return PairEstimates(
            to_models=values[count:].reshape(K, P, -1),
            between=_square(values[:count], K),
            to_models_plug_in=full[count:].reshape(K, P),
            between_plug_in=_square(full[:count], K),
            model_noise=noise,
            brains=[plan.part(k, range(plan.n_groups)) for k in range(K)],
            method="halves and all trials" if found.few_together else METHOD,
            n_groups=plan.n_groups,
        )

    def _corrected(self, found: Calibrated, count: int) -> FloatArray:
        """Return corrected estimates, first of ``count`` pairs of brains, also after deletions.

        If covariances matter, the calibrated rule fails for exact models: squared distances
        between quarters of a brain's trials decrease as 1/L even if a quarter has fewer trials than
        dimensions, but those from a quarter to a covariance of full rank do not. All trials and
        halves of them are used for these models.
        """
        values = found.together
        if found.few_together or not gives_weight_to_covariances(self.metric):
            return values
        exact = np.array([is_exact(one) for one in self.models] * len(self.brains))
        places = count + np.flatnonzero(exact)
        values = values.copy()
        values[places] = found.extrapolated.values[places]
        return values


def shared_covariance(replicates: FloatArray) -> FloatArray:
    """Return the covariance of means over brains that is due to what brains have in common, (P, P).

    ``replicates`` (K, P, G) are estimates without each group of trials. Their jackknife covariance
    of two different brains is due to the trials of the models.

    >>> shared_covariance(np.array([[[1.0, 3.0]], [[2.0, 4.0]]]))  # both brains change alike
    array([[1.]])
    >>> shared_covariance(np.array([[[1.0, 3.0]], [[3.0, 3.0]]]))
    array([[0.]])
    """
    K, _, G = replicates.shape
    deviations = replicates - replicates.mean(axis=2, keepdims=True)
    total = deviations.sum(axis=0)
    own = np.einsum("kpg,kqg->pq", deviations, deviations)
    return np.asarray((G - 1) / G * (total @ total.T - own) / (K * (K - 1)))


def _square(values: FloatArray, count: int) -> FloatArray:
    """Return pairs i < j, shape (pairs, ...), as a symmetric array of shape (K, K, ...)."""
    out = np.zeros((count, count, *values.shape[1:]))
    i, j = np.triu_indices(count, 1)
    out[i, j] = out[j, i] = values
    return out
