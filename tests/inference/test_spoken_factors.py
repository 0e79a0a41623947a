"""Each factor that could explain groups is said in each place, without being asked."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import repshape as rs
from repshape.errors import words_of
from repshape.inference import UnequalSizesWarning
from repshape.report.evidence import find_groups
from repshape.report.sources import read_inputs
from repshape.report.study import Plan, study

FACTORS = ("neurons", "trials", "gain", "components")
# What the page and the results call each of them.
WORDS = {
    "neurons": "differ in their number of neurons",
    "trials": "differ in their number of trials",
    "gain": "differ in their overall response strength",
    "components": "differ in how well two halves of the trials agree about principal components",
}
METRIC = rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=2), n_starts=2, tol=1e-4)


def make_cohort(factor: str | None) -> rs.Cohort:
    """Two groups of six networks that differ in their shape, and in one more thing.

    Two directions are strong. Components are unstable if the others are as strong.
    """
    rng = np.random.default_rng(3)
    drawn = rng.normal(size=(2, 5, 2))
    bases = np.linalg.qr(drawn - drawn.mean(axis=1, keepdims=True))[0]
    shapes = bases[:, :, None] * [7.0, 5.0]  # with the same strength along two directions
    cohort = rs.Cohort()
    for k in range(12):
        second = k >= 6
        n = 9 if factor == "neurons" and second else 5
        L = 12 if factor == "trials" and second else 24
        means = np.zeros((5, 1, n))
        means[..., :2] = shapes[int(second)] + 0.4 * rng.normal(size=(5, 1, 2))
        noise = np.full(n, 0.5)
        if factor == "components" and second:
            means[..., 1] = 0.0
            noise[1:] = 2.0
        gain = 2.0 if factor == "gain" and second else 1.0
        cohort.add(
            f"network {k}",
            gain * (means + noise * rng.normal(size=(5, L, n))),
            area="V4" if second else "V1",
        )
    return cohort


@cache
def distances(factor: str | None) -> rs.DistanceMatrix:
    return rs.pairwise(make_cohort(factor), METRIC)


@pytest.mark.parametrize("factor", FACTORS)
class TestEachFactor:
    def test_groups_name_the_call(self, factor: str) -> None:
        with pytest.warns(UnequalSizesWarning) as caught:
            found = rs.inference.groups(distances(factor), "area")
        mine = [words_of(one.message) for one in caught if WORDS[factor] in str(one.message)]
        assert len(mine) == 1
        assert mine[0] in str(found)
        assert "run rs.inference.confounds(cohort, metric, labels='area'" in mine[0]
        assert (f"match={factor!r}" in mine[0]) == (factor in ("neurons", "trials"))
        assert factor in [one.name for one in found.factors]

    def test_summary(self, factor: str) -> None:
        assert f"By 'area': Groups {WORDS[factor]}" in distances(factor).summary()

    def test_confounds_repeat_the_test(self, factor: str) -> None:
        options = {"n_draws": 2, "n_splits": 2, "n_permutations": 199, "workers": 1}
        cohort, D = make_cohort(factor), distances(factor)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of sizes and of unstable components
            found = rs.inference.confounds(cohort, METRIC, D=D, labels="area", **options)
        mine = next(one for one in found.factors if one.name == factor)
        assert mine.repeated_p_value is not None
        assert WORDS[factor] in str(found)
        assert f"p = {mine.repeated_p_value:.3g}" in str(found)

    @pytest.mark.usefixtures("quick_report")
    def test_report(self, factor: str) -> None:
        """From responses the test is repeated; from the matrix alone, the factor is named."""
        inputs = read_inputs(distances(factor), make_cohort(factor))
        plan = Plan(find_groups(inputs, "area", None))
        found = study(inputs, plan)[0]
        mine = next(one for one in found.evidence.factors if one.name == factor)
        assert mine.repeated_p_value is not None
        headline = found.sentences[0]
        if factor == "gain":
            assert "with all networks scaled to the same norm (p = " in headline
        else:
            assert f"they also {WORDS[factor]}" in headline
        alone = study(read_inputs(distances(factor)), plan)[0]
        assert f"they also {WORDS[factor]}" in alone.sentences[0]


@pytest.fixture
def quick_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("repshape.report.evidence.N_DRAWS", 2)
    monkeypatch.setattr("repshape.report.quality.DIMENSIONS", (1, 2))
    monkeypatch.setattr("repshape.report.quality.SEVERAL_STARTS", 0)
    monkeypatch.setattr("repshape.report.quality.PERMUTATIONS", 49)


def test_nothing_is_said_where_only_the_shape_differs() -> None:
    D = distances(None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rs.inference.groups(D, "area")
    assert found.p_value <= 0.05
    assert found.factors == ()
    assert "differ in" not in D.summary()
