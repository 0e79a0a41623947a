"""The simulated animals have the moments that they say, and the checks against the truth work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiments.brain import coverage, geometry, validation
from experiments.brain.coverage import COVERAGE, Coverage
from experiments.brain.nwb_files import N_BAD, N_ELSEWHERE, write_session
from experiments.brain.settings import PAPER, SMALL
from experiments.brain.simulate import Animal, animals_of, draw_trials
from experiments.brain.sources import GRATINGS, SCENES

import repshape as rs

TINY = replace(
    SMALL,
    n_animals=3,
    n_drifting=0,
    fewest_neurons=5,
    most_neurons=6,
    n_scenes=5,
    n_repeats=12,
    n_components=3,
    n_groups=4,
    n_splits=1,
    n_starts=1,
)


def test_the_paper_has_31_animals_with_19_to_110_neurons() -> None:
    counts = [one.n_neurons for one in animals_of(PAPER) if not one.drifting]
    assert (len(counts), min(counts), max(counts)) == (31, 19, 110)
    tables = Animal(PAPER, 0).tables
    assert len(tables["static_gratings"].rates) == 120
    assert len(tables["natural_scenes"].rates) == 119


def test_simulated_counts_have_the_exact_moments() -> None:
    """Means and covariances of many trials agree with r and r r' V + diag r."""
    animal = Animal(replace(TINY, n_repeats=40_000), 1)
    table = animal.tables["natural_scenes"]
    rows = np.arange(len(table.rates)) < 2
    trials = draw_trials(animal, table, rows, np.random.default_rng(5))
    exact = table.gaussians(animal.gain_covariance, rows)
    found = rs.estimate_moments(trials, "unbiased")
    scale = np.sqrt(exact.variances)
    error = np.abs(found.means - exact.means) / (scale / 200)
    assert error.max() < 4.5
    gaps = (found.covariances - exact.covariances) / (scale[:, :, None] * scale[:, None, :])
    assert np.abs(gaps).max() < 0.12  # counts have heavy tails
    fano = exact.variances / exact.means
    assert fano.min() > 1.05


def test_the_same_seed_gives_the_same_animal() -> None:
    one, again = Animal(TINY, 2), Animal(TINY, 2)
    tables = [each.tables["natural_scenes"].rates for each in (one, again)]
    assert np.array_equal(*tables)
    other = Animal(replace(TINY, seed=1), 2).tables["natural_scenes"].rates
    assert other.shape != tables[0].shape or not np.array_equal(other, tables[0])


def test_a_session_is_a_valid_file_whose_other_units_are_left_out(tmp_path: Path) -> None:
    animal = Animal(TINY, 0)
    path = tmp_path / "a.nwb"
    write_session(animal, path)
    assert [one.name for one in tmp_path.iterdir()] == ["a.nwb"]
    with rs.io.open_nwb(path) as recording:
        assert recording.areas == {"LGd": N_ELSEWHERE, "VISp": animal.n_neurons + N_BAD}
        whole = rs.io.read_allen(recording, "natural_scenes")
        late = rs.io.read_allen(recording, "natural_scenes", window=(0.05, 0.25))
        early = rs.io.read_allen(recording, "natural_scenes", window=(0.0, 0.05))
    assert whole.n_neurons == animal.n_neurons
    assert np.array_equal(whole.pooled, late.pooled + early.pooled)
    # A fraction u ** 0.7 of the window has passed, so 0.2 ** (1 / 0.7) of the spikes are early.
    share = early.pooled.sum() / whole.pooled.sum()
    assert share == pytest.approx(0.2 ** (1 / 0.7), abs=0.04)


def test_best_shrinkage_minimises_the_expected_loss() -> None:
    """Against a grid, with the density written out."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 3, 5))
    exact = rs.Gaussians(rng.normal(size=(4, 3)), A @ A.transpose(0, 2, 1) / 5)
    sample = rs.estimate_moments(exact.sample(8, random_state=1))
    S, C = sample.covariances, exact.covariances

    def loss(gamma: float) -> float:
        total = 0.0
        for m in range(4):
            shrunk = gamma * np.eye(3) + (1 - gamma) * S[m]
            gap = exact.means[m] - sample.means[m]
            inverse = np.linalg.inv(shrunk)
            total += np.linalg.slogdet(shrunk)[1] + np.trace(inverse @ C[m]) + gap @ inverse @ gap
        return float(total)

    grid = np.linspace(0.001, 0.999, 999)
    best = grid[np.argmin([loss(one) for one in grid])]
    assert validation.best_shrinkage(sample, exact) == pytest.approx(best, abs=2e-3)


def test_compare_counts_bias_and_coverage() -> None:
    truth = {"0": [1.0, 2.0, 3.0]}
    found = {
        "estimate": [1.0, 2.0, -1.0],
        "plug_in": [2.0, 4.0, 6.0],
        "low": [0.5, 2.5, -2.0],
        "high": [1.5, 3.0, 4.0],
    }
    out = validation.compare(truth, {"0": found}, {"0": [0.0, 0.0, 0.0]})["0"]
    assert out["bias"] == {"corrected": 0.0, "plug-in": 3.0, "protocol": -1.0}
    assert out["coverage"] == pytest.approx(2 / 3)


def test_ratios_are_compared_with_the_pairs_of_the_first_session() -> None:
    truth = {"0": [2.0, 6.0, 9.0], "2": [1.0, 2.0, 1.0]}
    found = {"values": [[2.0, 1.0, 3.0, 4.0], [None, None, None, 1.0]]}
    out = validation.compare_ratios(truth, found)
    assert out["coverage"] == 1.0
    assert out["n_pairs"] == 1
    assert out["bias"]["corrected"] == pytest.approx(0)
    assert out["bias"]["plug-in"] == pytest.approx(np.log(2))


def test_coverage_over_cohorts_is_resumable(tmp_path: Path) -> None:
    run = Coverage(tmp_path, TINY, 2)
    assert [one["name"] for one in coverage.measure(run, 1)] == ["cohort 1", "cohort 2"]
    first = (tmp_path / COVERAGE).read_bytes()
    assert list(coverage.measure(run, 1)) == []
    assert (tmp_path / COVERAGE).read_bytes() == first


def test_coverage_is_the_mean_over_cohorts() -> None:
    def cohort(high: float) -> dict[str, dict[str, dict[str, list[float]]]]:
        numbers = {"truth": [1.0], "estimate": [1.0], "low": [0.0], "plug_in": [2.0]}
        gamma = {"chosen": [0.5], "best": [0.25], "best, half": [high]}
        return {"scenes": {"d_0": {**numbers, "high": [high]}, "gamma": gamma}}

    found = coverage.summarise([cohort(0.5), cohort(2.0)])["classes"]["scenes"]
    assert found["gamma"]["mean error, best, half"] == 0.75
    out = found["d_0"]
    assert (out["coverage"], out["intervals"]) == (0.5, 2)
    assert out["standard_error"] == pytest.approx(0.5)
    assert (out["bias"], out["bias, plug-in"]) == (0.0, 3.0)


# Single animals


def planar(covariances: np.ndarray, n_trials: int, seed: int) -> rs.Trials:
    means = np.zeros((len(covariances), 2))
    return rs.Gaussians(means, covariances).sample(n_trials, random_state=seed)


def test_equal_covariances_do_not_vary_more_than_shuffled_ones() -> None:
    equal = planar(np.tile(np.diag([2.0, 1.0]), (40, 1, 1)), 60, 0)
    found = geometry.session_geometry(equal, 20, np.random.default_rng(0))
    assert abs(found["scale"]) < 0.35
    assert abs(found["orientation"]) < 0.35


def test_scale_and_orientation_are_told_apart() -> None:
    grown = planar(np.diag([2.0, 1.0]) * np.linspace(0.5, 4, 40)[:, None, None], 60, 1)
    angles = np.linspace(0, np.pi / 2, 40)
    turns = np.array([[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in angles])
    turned = planar(turns @ np.diag([4.0, 0.5]) @ turns.transpose(0, 2, 1), 60, 2)
    scale = geometry.session_geometry(grown, 20, np.random.default_rng(0))
    orientation = geometry.session_geometry(turned, 20, np.random.default_rng(0))
    assert scale["scale"] > 1 > 0.35 > abs(scale["orientation"])
    assert orientation["orientation"] > 0.7 > 0.35 > abs(orientation["scale"])


def test_signal_to_noise_is_the_ratio_of_variances() -> None:
    rng = np.random.default_rng(0)
    means = 3.0 * rng.normal(size=(400, 2))
    trials = rs.Trials(means[:, None] + 1.5 * rng.normal(size=(400, 20, 2)))
    assert geometry.signal_to_noise(trials) == pytest.approx(4, rel=0.2)
    equal = rs.Trials(np.array([[[-1.0, 0.0], [1.0, 0.0]], [[0.0, -1.0], [0.0, 1.0]]]))
    assert geometry.signal_to_noise(equal) < 0  # less than nothing is left of the means


def test_the_conditions_of_a_class() -> None:
    animal = Animal(TINY, 0)
    counts = [validation.true_moments(animal, one).n_conditions for one in (GRATINGS, SCENES)]
    assert counts == [6, TINY.n_scenes]
