"""Models against brains: estimates, errors, ceilings, tests and words."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import repshape as rs
from repshape.errors import FewTrialsWarning, InputError, InputTypeError
from repshape.inference.estimates import Settings
from repshape.inference.model_errors import jackknife, mean_squares
from repshape.inference.model_estimates import ModelPairs
from repshape.inference.model_tests import flip_tests

MEANS = rs.GaussianShapeMetric(2.0)
SETTINGS = Settings("calibrated", 0.9, 0, 1, False, n_groups=8)
QUICK: dict[str, Any] = {"n_chance": 19, "workers": 1, "progress": False}


def population(seed: int = 0, M: int = 8, n: int = 3) -> Any:
    return np.random.default_rng(seed).normal(size=(M, n))


def recordings(
    count: int, *, spread: float = 0.4, noise: float = 0.3, M: int = 8, seed: int = 1
) -> dict[str, Any]:
    """Brains that are a population plus individual differences, rotated, with noise."""
    rng = np.random.default_rng(seed)
    brains = {}
    for k in range(count):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        means = (population(M=M) + spread * rng.normal(size=(M, 3))) @ turn
        brains[f"mouse {k}"] = means[:, None] + noise * rng.normal(size=(M, 16, 3))
    return brains


def models_at(*scales: float, M: int = 8) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    return {f"m{s:g}": population(M=M) + s * rng.normal(size=(M, 3)) for s in scales}


@pytest.fixture(scope="module")
def found() -> rs.inference.ModelComparison:
    return rs.inference.models(recordings(6), models_at(0.1, 1.5), MEANS, **QUICK)


class TestMeans:
    def test_means_leave_out_pairs_of_one_unit(self) -> None:
        rng = np.random.default_rng(0)
        units = np.array([0, 0, 1, 2, 2])
        to_models = rng.random((5, 2))
        half = rng.random((5, 5))
        between = half + half.T
        np.fill_diagonal(between, 0.0)
        got = mean_squares(to_models, between, units)
        apart = [(i, j) for i, j in combinations(range(5), 2) if units[i] != units[j]]
        assert got[2] == pytest.approx(np.mean([between[one] for one in apart]))
        flat = []
        for b in range(5):
            others = np.flatnonzero(units != units[b])
            inside = between[np.ix_(others, others)]
            flat.append(between[b, others].mean() - inside.mean() / 2)
        assert got[3] == pytest.approx(np.mean(flat))
        np.testing.assert_allclose(got[:2], to_models.mean(axis=0))

    def test_flat_distances_are_those_of_points(self) -> None:
        points = np.random.default_rng(1).normal(size=(5, 3))
        squared = ((points[:, None] - points) ** 2).sum(axis=2)
        others = [np.delete(points, k, axis=0).mean(axis=0) for k in range(5)]
        expected = np.mean(((points - others) ** 2).sum(axis=1))
        got = mean_squares(squared[:, :1], squared, np.arange(5))
        assert got[-1] == pytest.approx(expected)

    @pytest.mark.parametrize("over", ["brains", "conditions", "both"])
    def test_errors_are_those_of_an_analysis_of_variance(self, over: str) -> None:
        """For a mean over a table of brains and conditions, with effects of both."""
        rng = np.random.default_rng(3)
        R, J = 5, 4
        y = rng.normal(size=(R, 1)) + rng.normal(size=(1, J)) + 0.5 * rng.normal(size=(R, J))
        table = np.empty((1 + R, 1 + J, 1))
        for r in range(1 + R):
            for j in range(1 + J):
                kept = np.delete(y, r - 1, axis=0) if r else y
                table[r, j] = (np.delete(kept, j - 1, axis=1) if j else kept).mean()
        errors = jackknife(table, over, np.zeros((1, 1)))
        v_r = y.mean(axis=1).var(ddof=1) / R
        v_c = y.mean(axis=0).var(ddof=1) / J
        rest = y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean()
        v_rc = (rest**2).sum() / ((R - 1) * (J - 1)) / (R * J)
        expected = {"brains": v_r, "conditions": v_c, "both": max(v_r + v_c - v_rc, v_r, v_c)}
        assert errors.variance(np.ones(1)) == pytest.approx(expected[over])
        assert errors.degrees == {"brains": 4, "conditions": 3, "both": 3}[over]


class TestEstimates:
    def test_pairs_of_brains_are_estimated_as_by_matrix(
        self, found: rs.inference.ModelComparison
    ) -> None:
        expected = rs.inference.matrix(recordings(6), MEANS, n_splits=1, workers=1).matrix
        np.testing.assert_allclose(found.between_brains.values, expected.values, rtol=1e-12)

    def test_noise_of_the_brains_is_removed(self) -> None:
        """The distance of a brain's responses without noise is known."""
        model = models_at(0.1)["m0.1"]
        exact = [MEANS.distance(one[:, 0], model) for one in recordings(3, noise=0.0).values()]
        truth = float(np.mean(np.square(exact)))
        got = rs.inference.models(recordings(3, noise=1.0), {"m": model}, MEANS, **QUICK)
        score = got.scores.loc["m"]
        # Twice the noise of the means in three dimensions, less what the alignment fits.
        bias = score["plug_in"] ** 2 - truth
        assert 0.15 < bias < 2 * 3 / 16 + 0.1
        assert abs(score["squared_distance"] - truth) < bias / 2

    @pytest.mark.parametrize("weights", [None, (1, 2, 3, 1, 2, 3)])
    def test_conditions_are_left_out(self, weights: Any) -> None:
        metric = rs.GaussianShapeMetric(1.0, weights=weights, covariance="unbiased")
        brains = [rs.Trials(one) for one in recordings(2, M=6).values()]
        model = metric._read(models_at(0.5, M=6)["m0.5"], "model")
        pairs = ModelPairs(brains, [model], metric, "conditions", SETTINGS)
        plan = pairs.plan()
        full = plan.collect(np.array([plan.solve(task) for task in plan.tasks])).full
        assert sorted(np.concatenate(plan.blocks)) == list(range(6))
        gone = plan.blocks[2]
        kept = np.delete(np.arange(6), gone)
        chosen = None if weights is None else np.array(weights)[kept]
        part = metric.with_parameters(weights=chosen)
        used = [plan.part(k, range(plan.n_groups)) for k in range(2)]
        x, y = (one.select(kept.tolist()) for one in used)
        assert full[0, 3] == pytest.approx(part.distance(x, y) ** 2, rel=1e-6)
        exact = part.distance(x, model.select(kept.tolist())) ** 2
        assert full[1, 3] == pytest.approx(exact, rel=1e-6)

    def test_workers_and_stores_do_not_change_a_bit(
        self, found: rs.inference.ModelComparison, tmp_path: Path
    ) -> None:
        given = recordings(6), models_at(0.1, 1.5), MEANS
        options = QUICK | {"workers": 2, "store": tmp_path / "kept"}
        first = rs.inference.models(*given, **options)
        folder = tmp_path / "kept" / "estimates" / "parts" / "c"
        chunks = sorted(one for one in folder.rglob("*") if one.is_file())
        assert len(chunks) == 6
        chunks[1].unlink()  # as if the run had been interrupted
        again = rs.inference.models(*given, **options)
        for one in (first, again):
            assert one.to_frame().equals(found.to_frame())
            assert one.differences.equals(found.differences)
        with pytest.raises(rs.errors.StorageError, match="random_state"):
            rs.inference.models(*given, **options, random_state=1)

    def test_trials_of_a_model_widen_its_interval(self) -> None:
        rng = np.random.default_rng(5)
        model = population()[:, None] + 2.0 * rng.normal(size=(8, 16, 3))
        brains = recordings(3, spread=0.05)
        got = ModelPairs(
            [rs.Trials(one) for one in brains.values()],
            [rs.Trials(model)],
            MEANS,
            "brains",
            SETTINGS,
        ).estimate([], None)
        # The mean of a model with noise of variance 4 in three dimensions, 16 trials, 8 conditions:
        # that is the error which all brains have in common.
        assert got.model_noise[0, 0] > 0.05
        own = got.to_models[:, 0, 0].var(ddof=1) / 3
        assert own < got.model_noise[0, 0]


class TestExactModels:
    """Models that are known exactly, where covariances matter."""

    def test_few_trials_do_not_make_distances_too_small(self) -> None:
        """Quarters of the trials have fewer than dimensions, where the rule for brains fails."""
        rng = np.random.default_rng(5)
        mu = rng.normal(size=(8, 6))
        factors = 0.5 * (np.eye(6) + rng.normal(size=(8, 6, 6)) / np.sqrt(6))
        covariances = factors @ factors.transpose(0, 2, 1)
        far = mu + 0.5 * rng.normal(size=(8, 6))
        brains = [
            mu[:, None] + np.einsum("mij,mlj->mli", factors, rng.normal(size=(8, 16, 6)))
            for _ in range(4)
        ]
        metric = rs.GaussianShapeMetric(1.0)
        exact = {"right": rs.Gaussians(mu, covariances), "far": rs.Gaussians(far, covariances)}
        with pytest.warns(FewTrialsWarning, match="16 trials per condition for 6 dimensions"):
            found = rs.inference.models(brains, exact, metric, n_chance=1, progress=False)
        truth = metric.distance(exact["right"], exact["far"]) ** 2
        squared = found.scores["squared_distance"]
        noise = found.scores["plug_in"] ** 2 - [0.0, truth]  # what a correction must remove
        assert abs(squared["right"]) < 0.25 * noise["right"]
        assert abs(squared["far"] - truth) < 0.25 * noise["far"]


class TestResult:
    def test_the_right_model_is_nearest_and_close_enough(
        self, found: rs.inference.ModelComparison
    ) -> None:
        assert found.best == "m0.1"
        assert found.scores["close_enough"].tolist() == [True, False]
        row = found.differences.iloc[0]
        assert row["p_value"] == row["max_p_value"] == row["smallest_p_value"] == 2.0**-5
        assert row["high"] < 0 < found.scores["low"].min()
        assert found.chance.p_value == found.chance.smallest_p_value == 1 / 20

    def test_ceilings(self, found: rs.inference.ModelComparison) -> None:
        squares = found.between_brains.values * np.abs(found.between_brains.values)
        pairs, mean = found.ceilings["squared_distance"]
        assert pairs == pytest.approx(squares.sum() / 30)
        # Six points in a flat space are at 3/5 of their mean squared distance from the mean of the
        # other five. Shape space is curved, so that it is more, but not by much.
        assert 0.6 < mean / pairs < 0.66

    def test_words(self, found: rs.inference.ModelComparison) -> None:
        text = str(found)
        assert "6 brains, 2 models, 8 conditions." in text
        assert "m0.1 is nearer to the brains than m1.5 (p = 0.031)" in text
        assert "smallest possible p-value is 0.031." in text
        assert "m0.1 is close enough: within 10 %" in text
        assert "alpha = 2" in text

    def test_frame_and_summary(self, found: rs.inference.ModelComparison) -> None:
        assert found.to_frame()["kind"].tolist() == ["model"] * 2 + ["ceiling"] * 2
        assert [one["name"] for one in found.summary()["models"]] == ["m0.1", "m1.5"]

    def test_five_brains_cannot_reject(self) -> None:
        got = rs.inference.models(recordings(5), models_at(0.1, 1.5), MEANS, **QUICK)
        assert got.differences["p_value"].tolist() == [0.0625]
        assert "no difference can be significant at 0.05" in str(got)

    def test_blocks_are_not_compared_inside(self) -> None:
        brains = recordings(3)
        brains |= {f"{name} again": one for name, one in recordings(3).items()}
        animals = [name.removesuffix(" again") for name in brains]
        got = rs.inference.models(brains, models_at(0.1), MEANS, blocks=animals, **QUICK)
        squares = got.between_brains.values * np.abs(got.between_brains.values)
        apart = np.not_equal.outer(animals, animals)
        assert got.ceilings["squared_distance"]["pairs"] == pytest.approx(squares[apart].mean())
        assert got.n_blocks == 3
        assert "6 brains in 3 blocks" in str(got)

    def test_missing_noise_is_all_of_the_distance_of_the_right_means(self) -> None:
        """At alpha = 1 the squared distance is then tr S of the brains, 3 times 0.25."""
        brains = recordings(3, spread=0.0, noise=0.5)
        got = rs.inference.models(
            brains, {"means": population()}, rs.GaussianShapeMetric(1.0), **QUICK
        )
        score = got.scores.loc["means"]
        assert score["squared_distance"] == pytest.approx(0.75, rel=0.1)
        assert score["missing_noise"] == pytest.approx(1.0, abs=0.05)
        assert "means 9" in str(got) or "means 10" in str(got)

    def test_unrelated_brains_are_not_nearer_than_chance(self) -> None:
        rng = np.random.default_rng(4)
        brains = list(rng.normal(size=(4, 8, 1, 3)) + 0.1 * rng.normal(size=(4, 8, 16, 3)))
        got = rs.inference.models(brains, [population()], MEANS, **QUICK)
        assert got.chance.p_value > 0.05
        assert "no evidence that this is nearer than chance" in str(got)

    def test_intervals_over_conditions(self) -> None:
        given = recordings(3), models_at(0.1, 0.2, 2.0), MEANS
        tables = {
            over: rs.inference.models(*given, over=over, **QUICK).differences
            for over in ("conditions", "both")
        }
        equal, far, _ = tables["conditions"]["p_value"]
        assert far < 0.05 < equal
        for one in tables.values():
            assert (one["max_p_value"] >= one["p_value"]).all()
            assert (one["smallest_p_value"] == 0).all()
        widths = [one["high"] - one["low"] for one in tables.values()]
        assert (widths[1] > widths[0]).all()

    def test_metrics_without_means_have_one_ceiling(self) -> None:
        metric = rs.GaussianShapeMetric(2.0, group="soft")
        got = rs.inference.models(recordings(3), models_at(0.1, 1.5), metric, **QUICK)
        assert np.isnan(got.ceilings.loc["mean", "distance"])
        assert np.isfinite(got.scores["close_p_value"]).all()
        assert "mean of the others" not in str(got)


class TestFlips:
    def test_all_flips_of_one_pair_are_counted(self) -> None:
        parts = np.random.default_rng(0).normal(size=(1, 6)) + 0.5
        got = flip_tests(parts, np.ones(1), 9999, 0)
        signs = np.array(np.meshgrid(*[[1, -1]] * 6)).reshape(6, -1)
        sums = np.abs(parts @ signs)[0]
        assert got.single[0] == np.mean(sums >= abs(parts.sum()) - 1e-9)
        assert got.largest[0] == got.single[0]

    def test_the_largest_of_several_is_corrected(self) -> None:
        parts = np.random.default_rng(1).normal(size=(6, 8)) + 0.4
        got = flip_tests(parts, np.ones(6), 9999, 0)
        assert (got.largest >= got.single).all()
        assert (got.largest <= np.minimum(6 * got.single, 1.0) + 1e-12).all()

    def test_noise_of_models_makes_p_values_larger(self) -> None:
        parts = np.random.default_rng(2).normal(size=(1, 8)) + 0.8
        plain, shrunk = (flip_tests(parts, np.array([one]), 9999, 0) for one in (1.0, 0.5))
        assert shrunk.single[0] > plain.single[0]


class TestRefusals:
    def test_few_brains(self) -> None:
        with pytest.raises(InputError, match=r"at least 3 brains\. Got 2"):
            rs.inference.models(recordings(2), models_at(0.1), MEANS)
        with pytest.raises(InputError, match=r"at least 3 blocks\. Got 2"):
            rs.inference.models(recordings(4), models_at(0.1), MEANS, blocks=list("aabb"))

    def test_brains_without_trials(self) -> None:
        with pytest.raises((InputError, InputTypeError), match="trials"):
            rs.inference.models([population()] * 3, models_at(0.1), MEANS)

    def test_other_conditions(self) -> None:
        with pytest.raises(InputError, match="conditions"):
            rs.inference.models(recordings(3), models_at(0.1, M=7), MEANS)

    def test_unknown_choice(self) -> None:
        with pytest.raises(InputError, match="'over'"):
            rs.inference.models(recordings(3), models_at(0.1), MEANS, over="trials")

    def test_no_models(self) -> None:
        with pytest.raises(InputError, match="'models' parameter"):
            rs.inference.models(recordings(3), [], MEANS)


class TestWarnings:
    def test_moments_of_trials(self) -> None:
        model = rs.estimate_moments(population()[:, None] + np.zeros((1, 5, 1)))
        with pytest.warns(FewTrialsWarning, match="moments of 5 trials"):
            rs.inference.models(recordings(3), {"m": model}, MEANS, **QUICK)

    def test_dimensions_differ(self) -> None:
        wide = np.pad(population(), ((0, 0), (0, 4)), constant_values=0.3)
        with pytest.warns(rs.inference.UnequalNeuronsWarning, match="in 3 to 7 dimensions"):
            rs.inference.models(recordings(3), {"wide": wide}, MEANS, **QUICK)
