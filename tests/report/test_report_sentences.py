"""The three sentences at the top of a report are true."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from report_support import (
    METRIC,
    gain_cohort,
    line,
    matrix_with,
    square,
    studied,
    trials,
    verdict,
)
from repshape.moments import OneTrialWarning
from repshape.report.sources import read_inputs
from repshape.report.study import Plan, study

pytestmark = pytest.mark.usefixtures("quick")


class TestSentences:
    def test_gain_alone_is_said(self) -> None:
        first, second, _ = studied(gain_cohort([1] * 5 + [2] * 5)).sentences
        assert first.startswith("Groups by 'gain' differ (p = 0.0")
        assert "but perhaps only in overall response strength" in first
        assert re.search(r"the difference is not significant \(p = 0\.\d+\)", first)
        found = re.match(r"The noise floor is (\d+) % of the median distance", second)
        assert found is not None

    def test_the_floor_is_the_one_beside_the_median_distance(self) -> None:
        found = studied(trials([8] * 4, apart=0.5))
        assert found.evidence.floors is not None
        floors = found.evidence.floors[np.triu_indices(4, 1)]
        ratio = np.median(floors) / np.median(found.source.distances)
        below = int((found.source.distances <= floors).sum())
        assert f"The noise floor is {100 * ratio:.0f} % of the median" in found.sentences[1]
        assert (f"{below} of 6 distances are not above" in found.sentences[1]) == (below > 0)

    def test_a_difference_of_shape_is_said(self) -> None:
        rng = np.random.default_rng(0)
        shapes = 3 * rng.normal(size=(2, 4, 1, 2))
        networks = [shapes[k // 5] + rng.normal(size=(4, 20, 2)) for k in range(10)]
        table = pd.DataFrame({"area": ["V1"] * 5 + ["V4"] * 5})
        first = studied(rs.Cohort.from_networks(networks, metadata=table)).sentences[0]
        assert re.match(r"Groups by 'area' differ \(p = 0\.0\d+, if networks are indep", first)
        assert "also with all networks scaled to the same norm" in first

    def test_a_difference_that_gain_hides_is_said(self) -> None:
        """Shapes differ by group, and gains of all networks are so different that it is hidden."""
        rng = np.random.default_rng(0)
        shapes = 3 * rng.normal(size=(2, 4, 1, 2))
        gains = np.tile([0.2, 1.0, 5.0, 25.0, 125.0], 2)
        networks = [gains[k] * (shapes[k // 5] + rng.normal(size=(4, 9, 2))) for k in range(10)]
        table = pd.DataFrame({"area": ["V1"] * 5 + ["V4"] * 5})
        first = studied(rs.Cohort.from_networks(networks, metadata=table)).sentences[0]
        assert re.match(r"Groups by 'area' do not differ significantly \(p = [\d.]+\), but ", first)
        assert re.search(r"but do with all networks scaled to the same norm \(p = 0\.0", first)

    def test_equal_groups_do_not_differ(self) -> None:
        first = studied(trials([9] * 8, area=list("aabbaabb"), seed=2)).sentences[0]
        assert re.match(r"Groups by 'area' do not differ significantly \(p = 0\.\d+\);", first)

    def test_groups_that_are_too_small_are_not_tested(self) -> None:
        first = studied(trials([9] * 4, area=list("aabb"))).sentences[0]
        assert first.startswith("Groups by 'area' are too small to test: the smallest possible")

    def test_unequal_trials_of_groups_are_said(self) -> None:
        cohort = trials([5] * 5 + [40] * 5, apart=0.0, area=list("aaaaabbbbb"))
        found = studied(cohort)
        words = "they also differ in their number of trials (median a 5, b 40), which "
        assert words in found.sentences[0]
        assert "5 trials drawn from each (10 draws), p = 0." in found.sentences[0]
        assert verdict(found, "Groups") == "bad"

    def test_unequal_neurons_of_groups_are_said_with_and_without_responses(self) -> None:
        rng = np.random.default_rng(0)
        shape = rng.normal(size=(4, 1, 2))
        networks = [
            np.concatenate([shape, shape], axis=2)[..., : 4 - 2 * (k % 2)]
            + 0.5 * rng.normal(size=(4, 20, 4 - 2 * (k % 2)))
            for k in range(10)
        ]
        table = pd.DataFrame({"area": ["V1", "V4"] * 5})
        cohort = rs.Cohort.from_networks(networks, metadata=table)
        found = studied(cohort)
        words = "they also differ in their number of neurons (median V1 4, V4 2), which "
        assert words in found.sentences[0]
        assert "with 2 neurons drawn from each" in found.sentences[0]
        alone = study(read_inputs(found.source.matrix), Plan(found.evidence.grouping))[0]
        assert f"{words}alone can make them differ" in alone.sentences[0]
        groups = next(words for topic, _, words in alone.checks if topic == "Groups")
        assert "a page made with the responses compares networks of the same size" in groups

    def test_unstable_components_are_said_and_stable_ones_are_good(self) -> None:
        rng = np.random.default_rng(0)
        scales = np.array([3.0, 3.0, 1.0, 1.0, 1.0, 1.0])
        networks = [rng.normal(size=(5, 8, 6)) * scales for _ in range(4)]
        for components, stable in ((2, True), (3, False)):
            phi = rs.Preprocess(n_components=components)
            metric = rs.GaussianShapeMetric(n_starts=2, preprocess=phi)
            cohort = rs.Cohort.from_networks(networks)
            found = studied(cohort, D=rs.pairwise(cohort, metric))
            assert verdict(found, "Components") == ("good" if stable else "bad")
            assert ("are unstable (two halves" in found.sentences[1]) != stable

    def test_one_trial(self) -> None:
        cohort = trials([1] * 4)
        with pytest.warns(OneTrialWarning):
            D = rs.pairwise(cohort, METRIC)
        found = studied(cohort, D=D)
        assert found.sentences[1].startswith("There is a single trial of each condition")
        assert verdict(found, "Trials") == "bad"
        assert found.evidence.floors is None

    def test_no_metadata(self) -> None:
        assert studied(trials([9] * 4)).sentences[0].startswith("There is no metadata")

    def test_networks_without_noise(self) -> None:
        points = np.random.default_rng(0).normal(size=(5, 4, 3))
        found = studied(rs.Cohort.from_networks(points))
        assert found.sentences[1].startswith("The networks are given without noise")
        assert found.evidence.trial_counts is None

    def test_moments(self) -> None:
        found = studied(rs.Cohort.from_networks(rs.datasets.toy_networks(3, 2)))
        assert found.sentences[1].startswith("The networks are given as means and covariances")
        assert "no triangle inequality is violated" in found.sentences[2]

    def test_without_responses_noise_is_not_known(self) -> None:
        second = study(read_inputs(line([0, 1, 3])), Plan())[0].sentences[1]
        assert second.endswith("because the report was made without the responses.")

    def test_sizes_that_the_matrix_records_are_said_without_responses(self) -> None:
        D = line([0, 1, 3]).replace(sizes={"neurons": [9, 21, 12], "trials": [20, 20, 20]})
        second = study(read_inputs(D), Plan())[0].sentences[1]
        assert second.endswith("9 to 21 neurons and 20 trials of each condition or more.")

    def test_numbers_of_neurons_are_said_if_they_are_quite_different(self) -> None:
        rng = np.random.default_rng(0)
        for sizes, said in (((2, 2, 4, 4), True), ((4, 4, 5, 5), False)):
            networks = [rng.normal(size=(4, 20, n)) for n in sizes]
            second = studied(rs.Cohort.from_networks(networks)).sentences[1]
            assert ("the networks have 2 to 4 neurons, and distances grow" in second) == said

    def test_numbers_are_predicted_or_not(self) -> None:
        places = [0.0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]
        noise = np.random.default_rng(0).normal(size=12)
        for column, words in (
            (places, r"Nearest neighbours predict 'x' \(R² = 0\.9\d\) of held-out networks"),
            (noise, "Nearest neighbours do not predict the only column of the metadata"),
        ):
            inputs = read_inputs(line(places, x=list(column)))
            assert re.match(words, study(inputs, Plan())[0].sentences[0])

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"converged": square(False, True)}, "the solver stopped early for 3 of 3 pairs"),
            (
                {"n_starts": square(24, 1), "n_agreeing": square(1, 1)},
                "3 of 3 pairs may be longer than necessary",
            ),
            (
                {
                    "n_starts": square(24, 1),
                    "n_agreeing": square(1, 1),
                    "gaps": square(0.014, 0),
                },
                "3 of 3 pairs may be longer than necessary, by up to about 7 %",  # five gaps
            ),
            ({"values": [[0, 1, 5], [1, 0, 2], [5, 2, 0]]}, "33 % of the triangle inequalities"),
            ({"values": [[0, -1, 1], [-1, 0, 1], [1, 1, 0]]}, "1 distance came out negative"),
        ],
    )
    def test_doubts_about_the_distances_are_said(self, fields: Any, words: str) -> None:
        third = matrix_with(**fields).sentences[2]
        assert third.startswith("Use the distances with care: ")
        assert words in third

    def test_what_speaks_for_the_distances_is_said(self) -> None:
        known = {"converged": square(True, True)}
        proven = matrix_with(**known, lower_bounds=line([0, 1, 3]).values).sentences[2]
        assert proven.startswith("All distances are proven to be the smallest")
        starts = {"n_starts": square(20, 1), "n_agreeing": [[1, 10, 4], [10, 1, 8], [4, 8, 1]]}
        agreed = matrix_with(**known, **starts).sentences[2]
        assert "in the median pair, 40 % of the independent starts" in agreed
        assert "(20 % in the worst), and no triangle inequality is violated." in agreed
        starts["n_agreeing"] = [[1, 10, 0], [10, 1, 8], [0, 8, 1]]
        composed = matrix_with(**known, **starts).sentences[2]
        assert (
            "(in 1 pair none did: it was composed from the alignments of other pairs)" in composed
        )
        assert matrix_with().sentences[2].startswith("Nothing is recorded about the search")

    def test_one_of_four_starts_is_not_called_more_than_once(self) -> None:
        found = matrix_with(n_starts=square(4, 1), n_agreeing=square(1, 1))
        words = {one[0]: one[1:] for one in found.checks}["Search"]
        assert words[0] == "note"
        assert words[1].endswith("that of 3 pairs was found by one start of fewer than 8.")

    def test_floors_of_some_pairs_are_not_those_of_all(self) -> None:
        """A network with exact moments has no floor that could be measured."""
        cohort = trials([9, 9, 9])
        cohort.add("vae", (np.zeros((4, 2)), np.ones((4, 2))))
        second = studied(cohort).sentences[1]
        assert "of the median distance of the 3 pairs with enough trials" in second

    def test_one_network(self) -> None:
        alone = study(read_inputs(rs.DistanceMatrix([[0.0]])), Plan())[0].sentences
        assert alone[0] == "There is only one network, so there is nothing to compare."
