"""The simulated cohort is scored against what is true of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.brain.claims import CLAIMS
from experiments.brain.macaque import AXES, convert, convert_folder
from experiments.brain.settings import PAPER, SMALL, Source, settings_of
from experiments.brain.simulate import animals_of
from experiments.brain.sources import MACAQUE_FILE, SCENES
from experiments.brain.truth import (
    UNBOUNDED,
    mean_values,
    other_cohort,
    score,
    session_truth,
    true_cohort,
    true_subsampling,
    true_values,
)
from experiments.brain.validation import true_moments
from scipy.io import savemat

import repshape as rs
from repshape.errors import InputError

TINY = replace(
    SMALL,
    n_animals=4,
    n_drifting=3,
    fewest_neurons=5,
    most_neurons=8,
    n_scenes=7,
    n_components=3,
    subsample_sizes=(3, 5),
    n_draws=2,
)


@pytest.fixture(scope="module")
def values() -> dict[str, dict[str, float]]:
    return true_values(true_cohort(TINY, 1))


def test_the_simulated_cohort_has_the_sizes_of_the_paper() -> None:
    found = settings_of(Source.SIMULATED, "paper")
    assert (found.n_animals, found.n_drifting, found.n_draws) == (31, 26, 15)
    assert (PAPER.n_drifting, PAPER.n_draws) == (26, 15)


def test_true_values_are_those_of_exact_moments(values: dict[str, dict[str, float]]) -> None:
    """log R of natural scenes, written out for the four animals."""
    moments = [true_moments(one, SCENES) for one in animals_of(TINY)[:4]]
    reduced = rs.Preprocess(n_components=3)
    squares = {
        alpha: np.mean(
            [
                rs.GaussianShapeMetric(alpha, preprocess=reduced).distance(moments[i], moments[j])
                ** 2
                for i in range(4)
                for j in range(i)
            ]
        )
        for alpha in (0.0, 2.0)
    }
    expected = 0.5 * np.log(squares[0.0] / squares[2.0])
    assert values["Section 3.2, reversal"]["natural"] == pytest.approx(-expected, abs=1e-3)


def test_every_criterion_about_animals_has_a_true_value(
    values: dict[str, dict[str, float]],
) -> None:
    for claim in CLAIMS:
        for criterion in claim.criteria:
            if "Figure 6" not in claim.name and "trained" not in criterion.name:
                assert np.isfinite(values[claim.name][criterion.name])


def test_covariances_that_do_not_differ_have_no_spread() -> None:
    means = np.random.default_rng(0).normal(size=(5, 4))
    equal = rs.Gaussians(means, np.tile(np.diag([3.0, 2.0, 1.0, 0.5]), (5, 1, 1)))
    found = session_truth(equal, 2)
    assert found["scale"] == found["orientation"] == -UNBOUNDED
    scaled = rs.Gaussians(means, equal.covariances * np.arange(1, 6)[:, None, None])
    assert session_truth(scaled, 2)["scale"] == UNBOUNDED


def test_signal_of_exact_moments_is_what_many_trials_give() -> None:
    animal = animals_of(TINY)[0]
    exact = true_moments(animal, SCENES)
    plane = rs.Preprocess(n_components=2).fit(exact).apply(exact)
    assert isinstance(plane, rs.Gaussians)
    between = plane.means.var(axis=0, ddof=1).sum()
    noise = np.trace(plane.covariances, axis1=1, axis2=2).mean()
    assert session_truth(exact, 3)["signal"] == pytest.approx(between / noise)


def test_the_truth_is_the_mean_over_other_cohorts() -> None:
    first, second = (other_cohort(TINY, k, 1) for k in (1, 2))
    both = [one["Section 3.2 (c)"]["difference"] for one in (first, second)]
    assert both[0] != both[1]
    measured = {"sessions": ["animal-01", "animal-02"], "sizes": [3, 5]}
    drawn = true_subsampling(TINY, "scenes", measured, 1)
    found = mean_values([first, second], drawn)
    one = found["Section 3.2 (c)"]["difference"]
    assert one["value"] == pytest.approx(np.mean(both))
    assert one["error"] == pytest.approx(abs(both[0] - both[1]) / 2)
    slopes = found["Supplementary Figure 6, growth"]
    assert list(slopes) == ["alpha = 0", "alpha = 1", "alpha = 2"]


# Scores


def decided(name: str, verdict: str, ends: tuple[float, float] | None) -> dict[str, Any]:
    claim = next(one for one in CLAIMS if one.name == name)
    low, high = ends or (None, None)
    rows = [{"name": one.name, "low": low, "high": high} for one in claim.criteria]
    return {"name": name, "verdict": verdict, "criteria": rows}


@pytest.mark.parametrize(
    ("true", "verdict", "truth", "right"),
    [
        (1.0, "holds", "true", True),
        (1.0, "does not hold", "true", False),
        (1.0, "inconclusive", "true", None),
        (-1.0, "holds", "false", False),
        (-1.0, "does not hold", "false", True),
        (0.01, "does not hold", "true, but too small to matter", True),
        (np.nan, "holds", "not known", None),
    ],
)
def test_verdicts_are_scored(true: float, verdict: str, truth: str, right: bool | None) -> None:
    """An effect below 5 % is there, but too small to matter."""
    values = {"Figure 3 D": {"d_2": {"value": true, "error": 0.0}}}
    (found,) = score([decided("Figure 3 D", verdict, (0.5, 1.5))], values)
    assert (found["truth"], found["right"]) == (truth, right)
    expected = None if np.isnan(true) else 0.5 <= true <= 1.5
    assert found["criteria"][0]["covered"] is expected


def test_one_false_criterion_makes_a_claim_false() -> None:
    values = {"Section 3.2, reversal": {"artificial": {"value": 1.0}, "natural": {"value": -0.5}}}
    claim = decided("Section 3.2, reversal", "does not hold", None)
    (found,) = score([claim], values)
    assert (found["truth"], found["right"]) == ("false", True)
    assert [one["covered"] for one in found["criteria"]] == [None, None]


# The file of the macaque recordings


def test_macaque_counts_are_converted(tmp_path: Path) -> None:
    counts = np.random.default_rng(0).poisson(2.0, (2, 2, 10, 11, 3, 5)).astype(float)
    counts[1, 0, 3, 4, 2, 1] = np.nan
    turned = counts.transpose(5, 4, 3, 2, 1, 0)
    savemat(tmp_path / "ay1_u001.mat", {"counts": turned, "other": np.ones(3)})
    np.save(tmp_path / "ay1_u002.npy", turned)
    path = convert_folder(tmp_path, AXES[::-1], tmp_path / "out")
    assert path.name == MACAQUE_FILE
    with np.load(path) as file:
        assert sorted(file.files) == ["ay1_u001", "ay1_u002"]
        for name in file.files:
            assert file[name].dtype == np.int8
            assert np.array_equal(file[name], np.nan_to_num(counts, nan=-1))


def test_other_counts_are_refused(tmp_path: Path) -> None:
    counts = np.zeros((2, 2, 10, 11, 3, 5))
    with pytest.raises(InputError, match="must name each of zoom"):
        convert(counts, AXES[:5], "a")
    with pytest.raises(InputError, match=r"must have 10 along 'movie'\. Got 11"):
        convert(counts, ("zoom", "category", "frame", "movie", "unit", "repeat"), "a")
    with pytest.raises(InputError, match="whole counts up to 127"):
        convert(counts + 0.5, AXES, "a")
    with pytest.raises(InputError, match="Got none"):
        convert_folder(tmp_path, AXES, tmp_path)
    savemat(tmp_path / "ay1_u001.mat", {"counts": np.zeros((2, 3))})
    with pytest.raises(InputError, match=r"one array of 6 dimensions\. Got 0"):
        convert_folder(tmp_path, AXES, tmp_path)
