"""Disentanglement scores: their values for codes where the answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from experiments.vae.scales import SCORE_SCALES
from experiments.vae.scores import NAMES, CodeTable, all_scores
from experiments.vae.scores.compute import SCORES
from experiments.vae.scores.correlation import (
    gaussian_total_correlation,
    gaussian_wasserstein_correlation,
    normalised_wasserstein_correlation,
)
from experiments.vae.scores.information import in_bins, information, modularity_of
from experiments.vae.scores.interventions import count_votes, difference_points
from experiments.vae.scores.prediction import boosted_trees, disentanglement, fit_trees
from experiments.vae.settings import ScoreSettings
from experiments.vae.sprites import factors_of

SIZES = (4, 4, 4, 4)
FACTORS = factors_of(np.arange(256), SIZES)
SETTINGS = ScoreSettings(4000, 2000, 400, 300, exact_trees=False)
FEW = ScoreSettings(200, 100, 100, 80, group=16)
# Every code has the same share of every factor, and codes are uncorrelated.
MIXING = scipy.linalg.hadamard(4) / 2


def table(codes: np.ndarray) -> CodeTable:
    return CodeTable(codes.astype(np.float32), SIZES)


def scores_of(codes: np.ndarray) -> dict[str, float]:
    found: dict[str, float] = all_scores(table(codes), SETTINGS)["scores"]
    return found


@pytest.fixture(scope="module")
def perfect() -> dict[str, float]:
    return scores_of(FACTORS)


@pytest.fixture(scope="module")
def mixed() -> dict[str, float]:
    return scores_of((FACTORS - 1.5) @ MIXING)


@pytest.fixture(scope="module")
def constant() -> dict[str, float]:
    return scores_of(np.full((256, 4), 0.7))


# Codes that are the factors


@pytest.mark.parametrize("letter", "ADEG")
def test_perfect_codes_predict_everything(perfect: dict[str, float], letter: str) -> None:
    assert perfect[letter] == 1


@pytest.mark.parametrize("letter", "BCFHIJ")
def test_perfect_codes_are_disentangled(perfect: dict[str, float], letter: str) -> None:
    """Up to the chance agreement of independent codes in a finite sample."""
    assert perfect[letter] == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("letter", "LMNO")
def test_perfect_codes_are_independent(perfect: dict[str, float], letter: str) -> None:
    assert perfect[letter] == pytest.approx(0, abs=0.02)


def test_sap_of_codes_that_are_binary_factors() -> None:
    """The right code is always right, and any other one half of the time."""
    sizes = (2, 2, 2)
    codes = factors_of(np.arange(8), sizes).astype(np.float32)
    found = SCORES["K"](CodeTable(codes, sizes), SETTINGS, np.random.default_rng(0))
    assert found[0] == pytest.approx(0.5, abs=0.03)


# Codes that each depend on all factors alike


@pytest.mark.parametrize(("letter", "largest"), [("B", 0.1), ("C", 0.1), ("H", 0.05), ("I", 0.2)])
def test_mixed_codes_are_entangled(mixed: dict[str, float], letter: str, largest: float) -> None:
    assert 0 <= mixed[letter] < largest


def test_mixed_codes_do_not_tell_factors_apart(mixed: dict[str, float]) -> None:
    """Each of four factors changes all codes alike, so a guess is right in a quarter of cases."""
    assert mixed["A"] == pytest.approx(0.25, abs=0.05)
    assert mixed["E"] == pytest.approx(0.25, abs=0.06)
    assert mixed["K"] == pytest.approx(0, abs=0.05)


def test_a_rotation_of_uncorrelated_codes_is_uncorrelated(mixed: dict[str, float]) -> None:
    for letter in "LMN":
        assert mixed[letter] == pytest.approx(0, abs=0.02)
    # A code of 13 levels and three others tell more about each other than factors do.
    assert mixed["O"] > 0.1


def test_mixed_codes_keep_all_information(mixed: dict[str, float]) -> None:
    assert mixed["F"] > 0.9
    assert mixed["J"] > 0.95


# Codes that say nothing


def test_constant_codes_say_nothing(constant: dict[str, float]) -> None:
    for letter in "BCEHIKLMNO":
        assert constant[letter] == pytest.approx(0, abs=1e-9), letter
    assert constant["J"] == 0.5
    for letter in "ADFG":
        assert constant[letter] == pytest.approx(0.25, abs=0.05), letter


# Second formulas


def test_information_from_a_table_of_counts() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.integers(5, size=(200, 2)), rng.integers(4, size=(200, 3))
    found = information(left, right)
    for i, j in np.ndindex(2, 3):
        p = np.zeros((5, 4))
        np.add.at(p, (left[:, i], right[:, j]), 1 / 200)
        outer = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
        expected = (p[p > 0] * np.log(p[p > 0] / outer[p > 0])).sum()
        assert found[i, j] == pytest.approx(expected)


def test_bins_have_equal_width() -> None:
    codes = np.random.default_rng(0).normal(size=(300, 2))
    low, high = codes.min(axis=0), codes.max(axis=0)
    expected = np.minimum(np.floor((codes - low) / (high - low) * 20), 19) + 1
    assert np.array_equal(in_bins(codes, 20), expected)


def test_modularity_in_a_loop() -> None:
    shared = np.random.default_rng(0).random((6, 5))
    values = []
    for row in shared:
        best = row.argmax()
        rest = sum(row[f] ** 2 for f in range(5) if f != best)
        values.append(1 - rest / (row[best] ** 2 * 4))
    assert modularity_of(shared) == pytest.approx(np.mean(values))


def test_disentanglement_in_a_loop() -> None:
    R = np.random.default_rng(0).random((6, 5))
    expected = 0.0
    for row in R:
        p = row / row.sum()
        expected += row.sum() / R.sum() * (1 + (p * np.log(p)).sum() / np.log(5))
    assert disentanglement(R) == pytest.approx(expected)
    assert disentanglement(np.zeros((6, 5))) == pytest.approx(0, abs=1e-9)


def test_wasserstein_correlation_with_a_matrix_root() -> None:
    factor = np.random.default_rng(0).normal(size=(5, 5))
    C = factor @ factor.T
    root = np.trace(scipy.linalg.sqrtm(np.diag(np.diag(C)) @ C)).real
    expected = 2 * np.trace(C) - 2 * root
    assert gaussian_wasserstein_correlation(C) == pytest.approx(expected)
    assert normalised_wasserstein_correlation(C) == pytest.approx(expected / np.trace(C))


def test_total_correlation_as_a_sum_of_log_eigenvalues() -> None:
    factor = np.random.default_rng(1).normal(size=(4, 4))
    C = factor @ factor.T
    scale = 1 / np.sqrt(np.diag(C))
    eigenvalues = np.linalg.eigvalsh(scale[:, None] * C * scale)
    assert gaussian_total_correlation(C) == pytest.approx(-np.log(eigenvalues).sum() / 2)


def test_codes_that_repeat_each_other_have_no_finite_total_correlation() -> None:
    codes = np.repeat(FACTORS[:, :1], 2, axis=1)
    C = np.cov(codes.T)
    assert gaussian_total_correlation(C) == np.inf
    # D C = s^2 [[1, 1], [1, 1]] has the roots s sqrt(2) and 0.
    assert gaussian_wasserstein_correlation(C) == pytest.approx((4 - 2 * np.sqrt(2)) * C[0, 0])
    assert all_scores(table(codes), FEW)["scores"]["L"] is None


# Boosted trees on bins instead of all values


@pytest.mark.parametrize("exact", [True, False])
def test_importances_are_of_the_codes_that_decide(exact: bool) -> None:
    """A label that is the sign of the first code needs no other; four signs need two alike."""
    codes = np.random.default_rng(0).normal(size=(400, 3))
    settings = ScoreSettings(exact_trees=exact)
    _, one = fit_trees(codes, (codes[:, 0] > 0).astype(int), settings)
    assert one == pytest.approx([1, 0, 0], abs=1e-6)
    labels = 2 * (codes[:, 0] > 0) + (codes[:, 1] > 0)
    _, two = fit_trees(codes, labels, settings)
    assert two == pytest.approx([0.5, 0.5, 0], abs=0.03)


def test_bins_hardly_change_the_scores_of_trees() -> None:
    codes = ((FACTORS - 1.5) @ MIXING * [1, 1, 1, 0.1] + FACTORS * [1, 0, 0, 0])[:, :3]
    bins, exact = (
        boosted_trees(table(codes), replace(SETTINGS, exact_trees=e), np.random.default_rng(0))
        for e in (False, True)
    )
    for letter in ("disentanglement", "completeness", "informativeness", "accuracy"):
        assert getattr(bins, letter) == pytest.approx(getattr(exact, letter), abs=0.04), letter


def test_both_accuracies_are_of_new_images() -> None:
    """D and G share their trees; they differ by the sampling error of their own test images."""
    codes = FACTORS + np.random.default_rng(0).normal(size=FACTORS.shape)
    found = boosted_trees(table(codes), SETTINGS, np.random.default_rng(0))
    assert found.accuracy != found.informativeness
    assert found.accuracy == pytest.approx(found.informativeness, abs=0.06)


# How groups of images are drawn


def test_pairs_share_exactly_the_fixed_factor() -> None:
    points, labels = difference_points(table(FACTORS), 50, 64, np.random.default_rng(0))
    zero = points == 0
    assert np.array_equal(zero.argmax(axis=1), labels)
    assert np.array_equal(zero.sum(axis=1), np.ones(50))
    # Two independent draws from 0, 1, 2, 3 differ by 1.25 on average.
    assert points[~zero].mean() == pytest.approx(1.25, abs=0.03)


def test_the_fixed_factor_gets_the_vote() -> None:
    kept = np.array([True, False, True, True])
    rng = np.random.default_rng(0)
    votes = count_votes(table(FACTORS), 400, 64, np.full(4, 1.25), kept, rng)
    assert votes.shape == (4, 3)
    assert votes.sum() == 400
    assert np.count_nonzero(votes[[0, 2, 3]]) == 3
    assert votes[[0, 2, 3], [0, 1, 2]].min() > 0


def test_draws_are_uniform() -> None:
    rng = np.random.default_rng(0)
    codes, factors = table(FACTORS).draw(rng, 20_000)
    assert np.array_equal(codes, factors)
    assert factors.mean(axis=0) == pytest.approx(np.full(4, 1.5), abs=0.04)


# All together


def test_scores_do_not_depend_on_what_was_drawn_before() -> None:
    sizes = (2, 2, 2)
    codes = CodeTable(factors_of(np.arange(8), sizes).astype(np.float32), sizes)
    found = all_scores(codes, FEW)
    assert found == all_scores(codes, FEW) | {"seconds": found["seconds"]}
    stream = list(NAMES).index("H")
    alone = SCORES["H"](codes, FEW, np.random.default_rng([0, stream]))
    assert found["scores"]["H"] == alone[0]
    assert list(found["scores"]) == list(NAMES) == list("ABCDEFGHIJKLMNO")


def test_sizes_of_both_scales() -> None:
    paper, small = SCORE_SCALES["paper"], SCORE_SCALES["small"]
    assert (paper.n_train, paper.n_test, paper.group, paper.bins) == (10_000, 5_000, 64, 20)
    assert (small.n_train_slow, small.n_test_slow) == (2000, 1000)
    assert (small.n_train, paper.n_train_slow) == (10_000, 10_000)
    assert paper.exact_trees


def test_collapsed_codes_have_no_vote() -> None:
    """A code with a standard deviation below 0.05 is left out, and without any the score is 0."""
    almost = FACTORS * 0.01
    assert almost.std() < 0.05
    assert SCORES["E"](table(almost), SETTINGS, np.random.default_rng(0)) == [0.0]
