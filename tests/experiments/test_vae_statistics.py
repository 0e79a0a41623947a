"""Statistics and verdicts of the claims, on networks whose answers are known."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from experiments.common.samples import Sample, jackknife, read_sample
from experiments.common.verdicts import Verdict
from experiments.vae import decide
from experiments.vae import statistics as st
from experiments.vae.analysis import stored_arrays
from experiments.vae.claims import ALPHAS, CLAIMS, K_CHOICES
from experiments.vae.cohorts import SPRITES
from experiments.vae.scores import NAMES
from scipy.stats import t as student

import repshape as rs

OBJECTIVES = ("beta", "factor", "dip_i", "dip_ii", "beta_tc", "annealed")
MATRICES = [*(f"alpha-{a:g}" for a in ALPHAS), "energy"]


def sample_of(points: dict[str, np.ndarray], seeds: int = 4) -> Sample:
    """Return networks with two strengths of each objective, at these points for each matrix."""
    rows = [
        {"objective": o, "strength": s, "seed": k, "cell": f"{o} {s:g}", "failed": False}
        for o in OBJECTIVES
        for s in (1.0, 2.0)
        for k in range(seeds)
    ]
    frame = pd.DataFrame(rows)
    number = np.repeat(np.arange(12.0), seeds)
    frame["training_reconstruction"] = number
    frame["initialisation"] = "kaiming"
    for name in ("reconstruction", "kl", "active_latents", *NAMES):
        frame[name] = number
    frame.index = pd.Index([f"n{k}" for k in range(len(rows))])
    distances = {n: np.linalg.norm(p[:, None] - p[None], axis=2) for n, p in points.items()}
    return Sample(distances, frame)


def by_cell(noise: float, seeds: int = 4) -> np.ndarray:
    """Return points on a line: cells of one objective are close, and seeds closer still."""
    rng = np.random.default_rng(1)
    cell = np.repeat([10.0 * (k // 2) + 2 * (k % 2) for k in range(12)], seeds)
    return (cell + noise * rng.normal(size=len(cell)))[:, None]


@pytest.fixture(scope="module")
def clear() -> Sample:
    """Distances tell cells, except at alpha = 2 and for energy, which are noise."""
    rng = np.random.default_rng(0)
    points = {name: by_cell(0.1) for name in MATRICES}
    points["alpha-2"] = 100 * rng.normal(size=(48, 3))
    points["energy"] = rng.normal(size=(48, 3))
    return sample_of(points)


# Statistics against slow twins


def test_log_ratio_in_a_loop(clear: Sample) -> None:
    seed = clear.column("seed")
    pairs = [(i, j) for i, j in combinations(range(48), 2) if seed[i] != seed[j]]
    means = {
        name: np.mean([clear.distances[name][i, j] for i, j in pairs])
        for name in ("alpha-0", "alpha-2")
    }
    expected = np.log2(means["alpha-2"] / means["alpha-0"])
    assert st.log_ratio(clear) == pytest.approx(expected)
    assert st.log_ratio(clear, -1.0) == pytest.approx(-expected)


def test_separation_in_a_loop(clear: Sample) -> None:
    """Also for a design that is not balanced."""
    sample = clear.keep(np.arange(48) % 7 != 0)
    D, frame = sample.distances["alpha-1"], sample.metadata.reset_index()
    between, within = [], []
    for i, j in combinations(range(len(D)), 2):
        a, b = frame.iloc[i], frame.iloc[j]
        if a["seed"] != b["seed"] and a["cell"] != b["cell"]:
            (within if a["objective"] == b["objective"] else between).append(D[i, j])
    expected = (np.mean(between) - np.mean(within)) / np.mean(between + within)
    assert st.separation(sample, "alpha-1") == pytest.approx(expected)


def test_separation_of_one_objective_in_a_loop(clear: Sample) -> None:
    D, frame = clear.distances["alpha-1"], clear.metadata.reset_index()
    own = frame["objective"].iloc[0]
    between, within, all_pairs = [], [], []
    for i, j in combinations(range(len(D)), 2):
        a, b = frame.iloc[i], frame.iloc[j]
        if a["seed"] != b["seed"] and a["cell"] != b["cell"]:
            all_pairs.append(D[i, j])
            same = a["objective"] == b["objective"]
            if own in (a["objective"], b["objective"]):
                (within if same else between).append(D[i, j])
    expected = (np.mean(between) - np.mean(within)) / np.mean(all_pairs)
    assert st.separation(clear, "alpha-1", own) == pytest.approx(expected)
    assert 0 < st.separation_p_value(clear, "alpha-1", 19, own) <= 1


def test_cell_accuracy_with_scikit_learn() -> None:
    """With one neighbour only, the protocol is that of a nearest neighbour of other seeds."""
    from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier

    sample = sample_of({"alpha-1": by_cell(0.9)})
    D, cell, seed = sample.distances["alpha-1"], sample.column("cell"), sample.column("seed")
    model = KNeighborsClassifier(1, metric="precomputed")
    predicted = cross_val_predict(model, D, cell, groups=seed, cv=LeaveOneGroupOut())
    found = rs.analysis.knn_classify(D, cell, n_neighbors=[1], groups=seed, n_folds=3)
    assert found.estimate == pytest.approx((predicted == cell).mean())
    assert 1 in K_CHOICES
    assert st.cell_accuracy(sample, "alpha-1") <= 1


def test_extreme_strengths_of_each_objective() -> None:
    """Middle strengths, which coincide with the others here, are left out."""
    points = by_cell(0.01)
    points[8:16] = points[:8]  # the cells of the second objective lie on those of the first
    sample = sample_of({"alpha-1": points})
    frame = sample.metadata.copy()
    moved = frame["objective"] == "factor"
    frame.loc[moved, "strength"] = 1.25 + frame.loc[moved, "strength"] / 4
    frame.loc[moved, "objective"] = "beta"
    sample = Sample(sample.distances, frame)
    assert st.extreme_accuracy(sample, "alpha-1") == 1.0
    assert st.cell_accuracy(sample, "alpha-1") < 0.9


def test_seeds_are_predicted_from_other_cells() -> None:
    """Networks of a seed lie together: neighbours of the same cell would have other seeds."""
    seed = np.tile(np.arange(4.0), 12)[:, None]
    rng = np.random.default_rng(0)
    sample = sample_of({"alpha-1": 10 * seed + rng.normal(size=(48, 1)), "energy": by_cell(0.1)})
    assert st.seed_accuracy(sample, "alpha-1") == 1.0
    assert st.seed_excess(sample, "alpha-1") == pytest.approx(0.75)
    assert st.seed_p_value(sample, "alpha-1", 19) == pytest.approx(0.05)
    assert st.seed_accuracy(sample, "energy") < 0.55


def test_permuted_seeds_are_predicted_as_one_by_one() -> None:
    """All permutations at once give what the public function gives for each."""
    rng = np.random.default_rng(0)
    points = np.tile(rng.normal(size=(4, 3)), (12, 1)) + rng.normal(size=(48, 3))
    sample = sample_of({"alpha-1": points})
    seed, cell = sample.column("seed"), sample.column("cell")
    groups = np.unique(cell, return_inverse=True)[1]
    targets = np.stack([seed, *(rng.permutation(seed) for _ in range(5))]).astype(float)
    expected = [st.hits(sample, "alpha-1", row, "cell").mean() for row in targets]
    assert st.accuracies(sample, "alpha-1", targets, groups) == pytest.approx(expected, abs=1e-12)
    assert st.seed_accuracy(sample, "alpha-1") == pytest.approx(expected[0])


def test_scores_are_predicted_without_missing_values(clear: Sample) -> None:
    frame = clear.metadata.copy()
    frame.loc[frame.index[3], "B"] = np.nan
    sample = Sample(clear.distances, frame)
    assert st.r_squared(sample, "alpha-1", "B") > 0.95
    frame["C"] = np.nan
    assert np.isnan(st.r_squared(Sample(clear.distances, frame), "alpha-1", "C"))


def test_gain_of_scores_inside(clear: Sample) -> None:
    assert st.score_share(clear) == 1.0
    inside = np.mean([st.r_squared(clear, f"alpha-{a}", "A") for a in ("0.5", "1", "1.5")])
    assert st.score_gain(clear) == pytest.approx(inside - st.r_squared(clear, "alpha-2", "A"))


def test_energy_statistics_of_equal_matrices(clear: Sample) -> None:
    same = Sample(clear.distances | {"energy": 3 * clear.distances["alpha-1"]}, clear.metadata)
    assert st.energy_mismatch(same, 1.0) == pytest.approx(0, abs=1e-12)
    assert st.energy_mismatch(same, 2.0) > 0.05
    assert st.rank_gap(same) <= 0


def test_points_in_three_dimensions_need_no_more() -> None:
    rng = np.random.default_rng(0)
    sample = sample_of({"alpha-1": rng.normal(size=(48, 3))})
    assert st.plateau(sample, "alpha-1") == pytest.approx(0.1, abs=1e-3)
    assert np.isnan(st.plateau(sample_of({"alpha-1": np.zeros((48, 1))}), "alpha-1"))


# Intervals


def test_jackknife_of_a_mean_over_seeds() -> None:
    """It is the t interval of the means of the seeds."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5, 6))
    frame = pd.DataFrame({"seed": np.repeat(np.arange(5), 6), "x": values.ravel()})
    found = jackknife(lambda one: float(one.column("x").mean()), Sample({}, frame), 0.9)
    means = values.mean(axis=1)
    half = student.ppf(0.95, 4) * means.std(ddof=1) / np.sqrt(5)
    assert found.upper - found.estimate == pytest.approx(half)
    assert found.estimate - found.lower == pytest.approx(half)


def test_two_seeds_give_no_interval() -> None:
    frame = pd.DataFrame({"seed": [0, 1], "x": [1.0, 2.0]})
    found = jackknife(lambda one: float(one.column("x").mean()), Sample({}, frame), 0.95)
    assert found.summary() == {"estimate": 1.5, "lower": None, "upper": None}


def test_jackknife_covers() -> None:
    """300 intervals of 80 % for a known mean: the share that covers has an error of 2.3 %."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        frame = pd.DataFrame({"seed": np.arange(6), "x": rng.normal(size=6)})
        found = jackknife(lambda one: float(one.column("x").mean()), Sample({}, frame), 0.8)
        covered += found.lower < 0 < found.upper
    assert covered / 300 == pytest.approx(0.8, abs=0.07)


def test_what_seeds_teach_each_other_is_kept_when_one_is_left_out() -> None:
    """A part without a seed is scored by the predictions of the whole."""
    sample = sample_of({"alpha-1": by_cell(1.5)})
    seed, cell = sample.column("seed"), sample.column("cell")
    right = st.hits(sample, "alpha-1", cell, "seed")
    parts = [st.cell_accuracy(part, "alpha-1") for part in sample.without_a_seed]
    assert parts == pytest.approx([right[seed != one].mean() for one in range(4)])
    found = jackknife(lambda one: st.cell_accuracy(one, "alpha-1"), sample, 0.9, predictions=True)
    means = np.array([right[seed == one].mean() for one in range(4)])
    error = means.std(ddof=1) * np.sqrt(1 / 4 + 1 / 3)
    assert found.estimate == pytest.approx(means.mean())
    assert found.upper - found.estimate == pytest.approx(student.ppf(0.95, 3) * error)


def test_intervals_of_predictions_cover() -> None:
    """Of the expected score of such networks, for every kind of prediction.

    120 intervals of 90 %: where the true share that covers is 0.9, fewer than 0.83 has probability
    0.01. Without the correction, intervals of cells cover in three of four cases.
    """
    rng = np.random.default_rng(0)
    cells = 2 * rng.normal(size=(12, 2))
    kinds = {
        "cells": lambda one: st.cell_accuracy(one, "alpha-1"),
        "gain": lambda one: st.cell_accuracy(one, "alpha-1") - st.cell_accuracy(one, "alpha-2"),
        "seed": lambda one: st.seed_excess(one, "alpha-1"),
        "regression": lambda one: st.r_squared(one, "alpha-1", "A"),
    }
    found: dict[str, list[tuple[float, float, float]]] = {kind: [] for kind in kinds}
    for _ in range(120):
        seeds = rng.normal(size=(5, 2))
        points = np.repeat(cells, 5, axis=0) + np.tile(seeds, (12, 1))
        noisy = [points + 0.4 * rng.normal(size=points.shape) for _ in range(2)]
        sample = sample_of(dict(zip(("alpha-1", "alpha-2"), noisy, strict=True)), 5)
        sample.metadata["A"] = points[:, 0] + 0.5 * rng.normal(size=len(points))
        for kind, statistic in kinds.items():
            interval = jackknife(statistic, sample, 0.9, predictions=True)
            found[kind].append((interval.estimate, interval.lower, interval.upper))
    for kind, rows in found.items():
        estimate, lower, upper = np.array(rows).T
        truth = estimate.mean()
        assert np.mean((lower <= truth) & (truth <= upper)) >= 0.83, kind


# Verdicts


def verdict(name: str, sample: Sample) -> str:
    """Return the verdict of one claim."""
    (claim,) = [claim for claim in CLAIMS if claim.name == name]
    samples = {SPRITES.name: sample}
    found: str = decide._decide_twice(claim, samples, samples, 199)["verdict"]
    return found


def test_every_claim_has_a_rule() -> None:
    assert list(decide.RULES) == [claim.name for claim in CLAIMS]
    for claim in CLAIMS:
        for criterion in claim.criteria:
            assert decide.RULES[claim.name](criterion).group


@pytest.mark.parametrize(
    "name", ["objective, every strength", "objective, high or low", "energy, another matrix"]
)
def test_claims_hold_where_alpha_2_and_energy_are_noise(clear: Sample, name: str) -> None:
    assert verdict(name, clear) == Verdict.HOLDS


def test_claims_fail_where_only_alpha_2_tells_cells(clear: Sample) -> None:
    noise, cells = clear.distances["alpha-2"], clear.distances["alpha-1"]
    turned = dict.fromkeys(MATRICES, noise) | {"alpha-2": cells}
    sample = Sample(turned, clear.metadata)
    assert verdict("objective, every strength", sample) == Verdict.FAILS
    assert verdict("energy, no better", sample) == Verdict.HOLDS


def test_objectives_cluster_where_they_do(clear: Sample) -> None:
    sample = Sample(dict.fromkeys(MATRICES, clear.distances["alpha-1"]), clear.metadata)
    assert verdict("clusters", sample) == Verdict.HOLDS
    assert verdict("clusters", clear) != Verdict.HOLDS  # two of six matrices are noise


def test_what_is_not_measured_cannot_be_told(clear: Sample) -> None:
    assert verdict("ratio, MNIST", clear) == Verdict.OPEN


def test_groups_of_the_ratio_claims() -> None:
    claim = next(claim for claim in CLAIMS if claim.name == "ratio, CIFAR-10")
    groups = [decide.RULES[claim.name](criterion).group for criterion in claim.criteria]
    assert groups == [
        "cifar10-trained-kaiming",
        "cifar10-trained-pytorch",
        "cifar10-untrained-kaiming",
        "cifar10-untrained-pytorch",
        "cifar10-untrained-glorot",
    ]
    assert claim.level == pytest.approx(1 - 0.05 / 5)


def test_a_verdict_that_failures_decide_cannot_be_told() -> None:
    """One failed network of each seed is far from all others, and makes the ratio."""
    points = {name: by_cell(0.1) for name in MATRICES}
    points["alpha-2"] = points["alpha-2"] / 1.2
    points["alpha-2"][:4] += 1000 * np.arange(1, 5)[:, None]
    sample = sample_of(points)
    sample.metadata.loc[sample.metadata.index[:4], "failed"] = True
    (claim,) = [claim for claim in CLAIMS if claim.name == "ratio"]
    samples = {SPRITES.name: sample}
    for name in ("kaiming", "pytorch"):  # untrained: d_0 is twice d_2, all of them alike
        before = sample_of({n: by_cell(0.1) * (2 if n == "alpha-0" else 1) for n in MATRICES})
        samples[f"dsprites-untrained-{name}"] = before
    reduced = {name: decide._without_failed(one) for name, one in samples.items()}
    found = decide._decide_twice(claim, samples, reduced, 9)
    assert found["verdict"] == Verdict.OPEN
    assert found["note"] == decide.FAILED_DECIDE
    sample.metadata.loc[sample.metadata.index[:8], "failed"] = True
    found = decide._decide_twice(claim, samples, reduced, 9)
    assert found["note"] == decide.TOO_MANY_FAILED


# Storage


def test_samples_read_back(clear: Sample) -> None:
    again = read_sample(stored_arrays({SPRITES.name: clear}), SPRITES.name)
    assert again.distances["energy"] == pytest.approx(clear.distances["energy"], rel=1e-6)
    assert list(again.column("cell")) == list(clear.column("cell"))
    assert st.cell_accuracy(again, "alpha-1") == st.cell_accuracy(clear, "alpha-1")
