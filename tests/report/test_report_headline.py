"""Each part of the headline, and each verdict of a badge, changes with the data behind it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import repshape as rs
from report_support import gain_cohort, line, matrix_with, square, studied, trials
from repshape.inference.factors import Factor
from repshape.report.badges import make_badges
from repshape.report.evidence import Evidence, Grouping, find_groups
from repshape.report.headline import make_headline
from repshape.report.sources import read_inputs
from repshape.report.study import Plan, Studied, study

pytestmark = pytest.mark.usefixtures("quick")

AREAS = ["V1"] * 5 + ["LM"] * 5
APART = [0.0, 1.0, 2.0, 3.0, 4.0, 20.0, 21.0, 22.0, 23.0, 24.0]
MIXED = [0.0, 10.0, 20.0, 30.0, 40.0, 1.0, 11.0, 21.0, 31.0, 41.0]


def grouped(places: list[float]) -> Studied:
    inputs = read_inputs(line(places, area=AREAS))
    return study(inputs, Plan(find_groups(inputs, None, None)))[0]


def headline(found: Studied, evidence: Evidence | None = None) -> str:
    return make_headline(found.source, found.quality, evidence or found.evidence)


class TestGroups:
    def test_a_difference_has_its_size_and_its_p_value(self) -> None:
        found = grouped(APART)
        test = found.evidence.test
        assert test is not None
        size = f"they explain {100 * test.effect_size:.0f} % of the squared distances"
        assert found.headline.startswith(f"Groups by 'area' differ: {size} (p = {test.p_value:.2g}")
        assert grouped(MIXED).headline.startswith("Groups by 'area' do not differ significantly")

    def test_the_smallest_p_value_is_named_with_the_permutations(self) -> None:
        found = grouped(APART)
        assert found.evidence.test is not None
        assert found.evidence.test.exact  # all 252 permutations: the p-value is what it is
        assert "≤" not in found.headline
        rare = replace(found.evidence.test, exact=False, p_value=0.01, n_permutations=99)
        evidence = replace(found.evidence, test=rare)
        assert "(p ≤ 0.01, 99 permutations)" in headline(found, evidence)
        badges = make_badges(found.source, found.quality, evidence, found.checks, found.sentences)
        assert badges[0].short == "p ≤ 0.01"
        common = replace(found.evidence, test=replace(rare, p_value=0.02))
        assert "(p = 0.02)" in headline(found, common)

    @pytest.mark.parametrize(
        ("repeated", "words"), [(None, "could explain it"), (0.4, "could explain it"), (0.01, "")]
    )
    def test_a_confound_is_named_unless_it_is_excluded(
        self, repeated: float | None, words: str
    ) -> None:
        found = grouped(APART)
        factor = Factor("neurons", {"V1": 9.0, "LM": 21.0}, 0.01, repeated, "With 9 neurons drawn")
        said = headline(found, replace(found.evidence, factors=(factor,)))
        assert ("but differences in their number of neurons could explain it" in said) == bool(
            words
        )

    def test_spread_and_gain_are_named(self) -> None:
        found = grouped(APART)
        test = found.evidence.test
        assert test is not None
        spread = replace(found.evidence, test=replace(test, dispersion_p_value=0.01))
        assert "but they differ in spread" in headline(found, spread)
        gain = replace(found.evidence, test_without_gain=replace(test, p_value=0.5))
        assert "but differences in overall response strength could" in headline(found, gain)
        both = replace(found.evidence, test_without_gain=test)
        assert "but" not in headline(found, both)

    def test_few_networks_are_not_tested(self) -> None:
        inputs = read_inputs(line([0.0, 1.0, 8.0, 9.0], area=["a", "a", "b", "b"]))
        found = study(inputs, Plan(find_groups(inputs, None, None)))[0]
        assert found.headline == "Groups by 'area' are too small to test."

    def test_the_verdict_is_bad_if_something_else_explains_groups(self) -> None:
        apart = gain_cohort([1] * 5 + [2] * 5)
        badge = studied(apart).badges[0]
        assert (badge.topic, badge.verdict) == ("Groups", "bad")
        inputs = read_inputs(line(APART, area=AREAS))
        clean = study(inputs, Plan(Grouping("area", tuple(AREAS))))[0]
        assert clean.badges[0].verdict == "good"


class TestNoise:
    def test_the_share_of_noise_follows_the_trials(self) -> None:
        quiet = studied(trials([40, 40, 40], apart=30.0))
        floors = quiet.evidence.floors
        assert floors is not None
        upper = np.triu_indices(3, 1)
        ratio = np.median(floors[upper]) / np.median(quiet.source.distances)
        assert f"Noise accounts for about {100 * ratio**2:.2g} % of a typical" in quiet.headline

    def test_a_floor_above_the_distances_is_said(self) -> None:
        found = studied(trials([6, 6, 6], apart=1.0))
        assert found.evidence.floors is not None
        above = replace(found.evidence, floors=10.0 * found.evidence.floors)
        assert "no larger than noise alone" in headline(found, above)
        none = replace(found.evidence, floors=None)
        assert "noise" not in headline(found, none).lower()

    @pytest.mark.filterwarnings("ignore::repshape.inference.subspaces.UnstableSubspaceWarning")
    def test_unstable_components_spoil_the_badge(self) -> None:
        """A run that warned of them is not called good."""
        rng = np.random.default_rng(0)
        cohort = rs.Cohort()
        for k in range(3):
            cohort.add(f"net {k}", rng.normal(size=(4, 30, 6)) + 3.0 * rng.normal(size=(4, 1, 6)))
        metric = rs.GaussianShapeMetric(n_starts=1, preprocess=rs.Preprocess(n_components=2))
        found = studied(cohort, metric)
        assert found.evidence.facts is not None
        stable = replace(found.evidence.facts, overlaps=np.ones(3))
        shaky = replace(found.evidence.facts, overlaps=np.array([1.0, 0.3, 1.0]))
        for facts, expected in ((stable, False), (shaky, True)):
            changed = replace(found, evidence=replace(found.evidence, facts=facts))
            noise = changed.badges[1]
            assert (noise.verdict == "bad") == expected
            assert ("are unstable" in noise.sentence) == expected


class TestSearch:
    def test_the_doubts_of_the_search_are_said(self) -> None:
        good = square(True, True)
        assert "search" not in matrix_with(converged=good).headline
        early = matrix_with(converged=square(False, True)).headline
        assert early.endswith("The solver stopped early for 3 pairs.")
        once = matrix_with(converged=good, n_starts=square(20, 1), n_agreeing=square(1, 1))
        assert once.headline.endswith("The search is in doubt for 3 pairs.")

    def test_violated_triangles_spoil_the_badge(self) -> None:
        broken = rs.DistanceMatrix([[0, 1, 5], [1, 0, 2], [5, 2, 0]])
        found = study(read_inputs(broken), Plan())[0]
        assert found.badges[2].verdict == "bad"
        assert "triangle inequalities are violated" in found.badges[2].sentence

    def test_missing_pairs_come_first(self) -> None:
        values = line([0, 1, 3]).values.copy()
        values[0, 1] = values[1, 0] = np.nan
        part = study(read_inputs(rs.DistanceMatrix(values, missing=True)), Plan())[0]
        assert part.headline == "The matrix is incomplete: 1 of 3 pairs are missing."

    def test_networks_that_coincide(self) -> None:
        inputs = read_inputs([line([0, 1, 3]), line([0.0, 1e-9, 2e-9])])
        first, second = study(inputs, Plan())
        assert second.headline == "All networks coincide: the distances are rounding errors."
        assert first.headline != second.headline

    def test_few_neurons_are_solved_exactly(self) -> None:
        metric = {"parameters": {"n_starts": "auto"}}
        sure = {"converged": square(True, True), "n_starts": square(1, 1)}
        for neurons, expected in ((2, ("good", "exact")), (40, ("note", "converged"))):
            found = matrix_with(
                **sure,
                n_agreeing=square(1, 1),
                sizes={"neurons": [neurons] * 3, "trials": [9.0] * 3},
                description=metric,
            )
            assert (found.badges[2].verdict, found.badges[2].short) == expected


class TestPredictions:
    def test_without_groups_the_best_columns_are_named(self) -> None:
        points = list(np.arange(16.0))
        noise = list(np.random.default_rng(0).normal(size=16))
        found = study(read_inputs(line(points, depth=points, noise=noise)), Plan())[0]
        assert found.headline.startswith("Nearest neighbours predict 'depth' (R² = 0.")
        assert "noise" not in found.headline
        alone = study(read_inputs(line(points, noise=noise)), Plan())[0]
        assert alone.headline.startswith("Nearest neighbours do not predict the only column")

    def test_without_metadata_the_nearest_and_farthest_pairs_are_named(self) -> None:
        said = study(read_inputs(line([0.0, 5.0, 7.0])), Plan())[0].headline
        nearest, farthest = "'1' and '2' (distance 2)", "'0' and '2' (7)"
        assert said == f"The nearest networks are {nearest}, the farthest {farthest}."
        two = study(read_inputs(line([0.0, 5.0])), Plan())[0].headline
        assert two == "The distance between the two networks is 5."

    def test_one_network(self) -> None:
        assert "only one network" in study(read_inputs(line([0.0])), Plan())[0].headline
