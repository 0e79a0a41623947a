"""Decide the claims from measured distances."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common.intervals import units_needed
from experiments.common.results import read_results
from experiments.common.samples import Sample, Statistic, jackknife, read_sample
from experiments.common.stores import alpha_name
from experiments.common.verdicts import (
    Claim,
    Criterion,
    Verdict,
    combine,
    interval_verdict,
    shifted,
)
from experiments.vae import statistics as st
from experiments.vae.analysis import derived_numbers
from experiments.vae.claims import CLAIMS, EACH_MATRIX, ENERGY, LARGEST_FAILED
from experiments.vae.cohorts import SPRITES, Group

DATASETS = {"dSprites": "dsprites", "MNIST": "mnist", "CIFAR-10": "cifar10"}
TOO_MANY_FAILED = "too many networks failed to train"
FAILED_DECIDE = "the verdict changes without the networks that failed to train"


@dataclass(frozen=True)
class Rule:
    """How a criterion is computed: from the networks of a group, by a statistic and a test.

    ``predictions`` says whether the statistic is about predictions from neighbours (`jackknife`).
    ``chance`` is what was subtracted from a share, so that its limits move.
    """

    group: str
    statistic: Statistic
    p_value: Callable[[Sample, int], float] | None = None
    predictions: bool = False
    chance: Callable[[Sample], float] = lambda sample: 0.0


def _prediction(
    statistic: Statistic, p_value: Callable[[Sample, int], float] | None = None
) -> Rule:
    return Rule(SPRITES.name, statistic, p_value, predictions=True)


def matrix_of(name: str) -> str:
    """Return the matrix that a criterion is about.

    >>> matrix_of("alpha = 0.5"), matrix_of("energy"), matrix_of("alpha = 2 against 1")
    ('alpha-0.5', 'energy', 'alpha-2')
    """
    return ENERGY if name == ENERGY else alpha_name(float(name.split()[2]))


def _ratio(criterion: Criterion) -> Rule:
    """Read the group off a name such as "untrained MNIST networks, PyTorch initialisation"."""
    state, dataset, _, initialisation, _ = criterion.name.replace(",", "").split()
    trained = state == "trained"
    group = Group(DATASETS[dataset], initialisation.lower(), trained)
    return Rule(group.name, partial(st.log_ratio, sign=1.0 if trained else -1.0))


def _clusters(criterion: Criterion) -> Rule:
    matrix = matrix_of(criterion.name)

    def test(sample: Sample, permutations: int) -> float:
        return st.separation_p_value(sample, matrix, permutations)

    return Rule(SPRITES.name, partial(st.separation, matrix=matrix), test)


def _own_cluster(criterion: Criterion) -> Rule:
    matrix = matrix_of(EACH_MATRIX)

    def test(sample: Sample, permutations: int) -> float:
        return st.separation_p_value(sample, matrix, permutations, criterion.name)

    return Rule(SPRITES.name, partial(st.separation, matrix=matrix, own=criterion.name), test)


def _seed(criterion: Criterion) -> Rule:
    matrix = matrix_of(criterion.name)

    def test(sample: Sample, permutations: int) -> float:
        return st.seed_p_value(sample, matrix, permutations)

    return replace(_prediction(partial(st.seed_excess, matrix=matrix), test), chance=st.seed_chance)


def _gain(accuracy: Callable[[Sample, str], float]) -> Callable[[Criterion], Rule]:
    return lambda criterion: _prediction(partial(st.accuracy_gain, accuracy=accuracy))


def _scores_inside(criterion: Criterion) -> Rule:
    share = criterion.name == "share of scores"
    return _prediction(st.score_share if share else st.score_gain)


def _reconstruction(criterion: Criterion) -> Rule:
    column, matrix = "training_reconstruction", matrix_of(criterion.name)
    return _prediction(partial(st.r_squared, matrix=matrix, column=column))


def _scores(criterion: Criterion) -> Rule:
    alpha = float(criterion.name.split()[2])
    return _prediction(lambda sample: float(st.mean_r_squared(sample, (alpha,)).mean()))


def _closest(criterion: Criterion) -> Rule:
    alpha = float(criterion.name.split()[2])

    def excess(sample: Sample) -> float:
        return st.energy_mismatch(sample, alpha) - st.energy_mismatch(sample, 1.0)

    return Rule(SPRITES.name, excess)


def _no_better(criterion: Criterion) -> Rule:
    def loss(sample: Sample) -> float:
        return st.cell_accuracy(sample, alpha_name(2.0)) - st.cell_accuracy(sample, ENERGY)

    return _prediction(loss)


def _distortion(criterion: Criterion) -> Rule:
    return Rule(SPRITES.name, partial(st.plateau, matrix=matrix_of(criterion.name)))


RULES: dict[str, Callable[[Criterion], Rule]] = {
    "ratio": _ratio,
    "ratio, MNIST": _ratio,
    "ratio, CIFAR-10": _ratio,
    "clusters": _clusters,
    "clusters, each objective": _own_cluster,
    "objective, every strength": _gain(st.cell_accuracy),
    "objective, high or low": _gain(st.extreme_accuracy),
    "scores, inside": _scores_inside,
    "seed": _seed,
    "reconstruction": _reconstruction,
    "scores": _scores,
    "energy, closest to 1": _closest,
    "energy, another matrix": lambda criterion: Rule(SPRITES.name, st.rank_gap),
    "energy, no better": _no_better,
    "distortion": _distortion,
}


def groups_of_claim(name: str) -> set[str]:
    """Return the groups of networks that a claim is about.

    >>> groups_of_claim("clusters")
    {'dsprites-trained-kaiming'}
    """
    claim = next(one for one in CLAIMS if one.name == name)
    return {RULES[name](criterion).group for criterion in claim.criteria}


def decide_all(samples: Mapping[str, Sample], permutations: int) -> list[dict[str, Any]]:
    """Return every claim with its numbers and verdict, ready for JSON.

    Each claim is decided a second time without the networks that failed, if there are any.
    """
    reduced = {name: _without_failed(sample) for name, sample in samples.items()}
    return [_decide_twice(claim, samples, reduced, permutations) for claim in CLAIMS]


def decide_stored(folder: Path) -> dict[str, Any]:
    """Return stored results with what stored distances decide: all claims, and some numbers."""
    results, arrays = read_results(folder)
    groups = [name for name in results["networks"] if f"{name}/labels" in arrays]
    samples = {name: read_sample(arrays, name) for name in groups}
    claims = decide_all(samples, results["measure"]["permutations"])
    numbers = results["numbers"] | derived_numbers(samples)
    return results | {"claims": claims, "numbers": numbers}


def _without_failed(sample: Sample) -> Sample:
    failed = sample.column("failed").astype(bool)
    return sample.keep(~failed) if failed.any() else sample


def _decide_twice(
    claim: Claim, samples: Mapping[str, Sample], reduced: Mapping[str, Sample], permutations: int
) -> dict[str, Any]:
    used = groups_of_claim(claim.name)
    criteria = decide(claim, samples, permutations)
    verdict = combine(Verdict(one["verdict"]) for one in criteria)
    note = ""
    known = used & set(samples)
    if any(samples[name].column("failed").mean() > LARGEST_FAILED for name in known):
        verdict, note = Verdict.OPEN, TOO_MANY_FAILED
    elif any(reduced[name] is not samples[name] for name in known):
        again = decide(claim, reduced, permutations)
        if combine(Verdict(one["verdict"]) for one in again) is not verdict:
            verdict, note = Verdict.OPEN, FAILED_DECIDE
    words = {"name": claim.name, "sentence": claim.sentence, "source": claim.source}
    return words | {"criteria": criteria, "verdict": verdict.value, "note": note}


def decide(claim: Claim, samples: Mapping[str, Sample], permutations: int) -> list[dict[str, Any]]:
    """Return each criterion of a claim with its estimate, interval, p-value and verdict."""
    found = []
    level = claim.level
    for criterion in claim.criteria:
        rule = RULES[claim.name](criterion)
        sample = samples.get(rule.group)
        numbers: dict[str, Any] = {"estimate": None, "lower": None, "upper": None}
        p_value, verdict, needed, n_units = None, Verdict.OPEN, None, 0
        if sample is not None:
            limits = shifted(criterion.limits, rule.chance(sample))
            options: dict[str, Any] = {"limits": limits, "predictions": rule.predictions}
            interval = jackknife(rule.statistic, sample, level, **options)
            numbers = interval.summary()
            if rule.p_value is not None and np.isfinite(interval.estimate):
                p_value = rule.p_value(sample, permutations)
            verdict = interval_verdict(criterion, interval.lower, interval.upper, p_value)
            n_units = len(sample.seeds)
            if verdict is Verdict.OPEN:
                needed = units_needed(criterion, interval, n_units, level)
        found.append(
            asdict(criterion)
            | numbers
            | {"level": level, "p_value": p_value, "verdict": verdict.value}
            | {"units": n_units, "units_needed": needed}
        )
    return found
