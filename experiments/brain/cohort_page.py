"""The interactive page of a run: all distances of the sessions that have all classes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

import repshape as rs
from experiments.brain import protocol
from experiments.brain.claims import CLASSES
from experiments.brain.sources import Stimulus
from experiments.brain.study import Study
from experiments.common import drawing
from repshape.errors import FewTrialsWarning, NotConvergedWarning, SearchWarning

ALPHAS = (1.0, 0.0, 2.0)
# The page says in words what these warnings say.
SAID = (FewTrialsWarning, NotConvergedWarning, SearchWarning)


def write_page(study: Study) -> None:
    """Write the page; with the responses, unless the run was kept without spike counts."""
    shared = [one for one in study.classes if one.role in CLASSES] or study.classes[:1]
    names = _shared_names(study, shared)
    animals = {record["name"]: record["animal"] for record in study.records}
    matrices: dict[str, rs.DistanceMatrix] = {}
    cohorts: list[rs.Cohort] = []
    with warnings.catch_warnings():
        for category in SAID:
            warnings.simplefilter("ignore", category)
        for stimulus in shared:
            cohort = None if study.stored is not None else _responses(study, stimulus, names)
            for alpha in ALPHAS:
                matrices[f"{stimulus.title}, α = {alpha:g}"] = _distances(
                    study, stimulus, names, alpha, cohort
                )
                cohorts += [] if cohort is None else [cohort]
        rs.write_report(
            {name: _with_animals(D, animals) for name, D in matrices.items()},
            study.out / drawing.REPORT,
            cohort=cohorts or None,
            title=f"Visual cortex, {study.source} recordings",
            progress=False,
        )


def _shared_names(study: Study, shared: Sequence[Stimulus]) -> list[str]:
    found = [study.read(f"protocol-{one.key}")["names"] for one in shared]
    return [name for name in found[0] if all(name in one for one in found)]


def _responses(study: Study, stimulus: Stimulus, names: Sequence[str]) -> rs.Cohort:
    trials = study.load(stimulus.key)
    return rs.Cohort({name: trials[name] for name in names})


def _distances(
    study: Study, stimulus: Stimulus, names: Sequence[str], alpha: float, cohort: rs.Cohort | None
) -> rs.DistanceMatrix:
    """Return the distances of the protocol, with what is known of their alignments if possible."""
    if cohort is not None:
        metric = rs.GaussianShapeMetric(
            alpha,
            covariance=protocol.SHRINKAGE,
            preprocess=rs.Preprocess(n_components=study.settings.n_components),
            **protocol.search(study.settings.n_starts),
        )
        return rs.pairwise(cohort, metric, progress=False)
    stored = study.read(f"protocol-{stimulus.key}")
    index = [stored["names"].index(name) for name in names]
    values = np.array(stored["distances"][f"{alpha:g}"])[np.ix_(index, index)]
    return rs.DistanceMatrix(values, labels=names)


def _with_animals(D: rs.DistanceMatrix, animals: dict[str, str]) -> rs.DistanceMatrix:
    return D.replace(metadata={"animal": [animals[name] for name in D.labels]})
