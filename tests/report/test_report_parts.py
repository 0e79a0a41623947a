"""The parts of a report: its input, what it says about matrices, and the pairs that it draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from report_support import line
from repshape.datasets import toy_networks
from repshape.errors import InputError, InputTypeError
from repshape.metrics.identity import describe, restore
from repshape.moments import CovarianceEstimator
from repshape.report.page import settings_table, what_was_measured
from repshape.report.pairs import choose_pairs, view_pairs
from repshape.report.quality import MOST_COLUMNS, assess, check_matrix
from repshape.report.sources import Source, read_inputs, short_name


class TestSources:
    def test_names_come_from_the_metrics(self) -> None:
        D = line([0, 1, 3])
        made = [
            rs.DistanceMatrix(D.values, description=describe(metric))
            for metric in (rs.GaussianShapeMetric(0.5), rs.EnergyShapeMetric(), max)
        ]
        assert [one.name for one in read_inputs([*made, made[0]]).sources] == [
            "Gaussian, α = 0.5",
            "Energy, q = 1",
            "max",
            "Gaussian, α = 0.5 (2)",
        ]

    def test_a_mapping_names_them(self) -> None:
        found = read_inputs({"first": line([0, 1]), "second": line([0, 2])})
        assert [one.name for one in found.sources] == ["first", "second"]

    def test_files_of_one_metric_are_told_apart_by_name(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            line([0, 1]).save(tmp_path / f"{name}.csv")
        found = read_inputs([tmp_path / "a.csv", tmp_path / "b.csv"])
        assert [one.name for one in found.sources] == ["a", "b"]

    def test_a_folder_of_stores_stands_for_all(self, cohort: rs.Cohort, tmp_path: Path) -> None:
        metrics = {f"alpha-{a}": rs.GaussianShapeMetric(a) for a in (0.0, 2.0)}
        rs.pairwise_many(cohort, metrics, store=tmp_path / "sweep")
        found = read_inputs(tmp_path / "sweep").sources
        assert [one.name for one in found] == ["Gaussian, α = 0", "Gaussian, α = 2"]
        assert all(one.store is not None for one in found)

    def test_networks_that_coincide_are_judged_beside_other_matrices(self) -> None:
        tiny, whole = line([0, 1e-9, 2e-9]), line([0, 1, 2])
        assert [one.coincide for one in read_inputs([tiny, whole]).sources] == [True, False]
        assert [one.coincide for one in read_inputs([tiny]).sources] == [False]

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ([], "at least one matrix"),
            (3, "Got int instead"),
            ([3], "Got int instead"),
            ("nowhere.npz", "There is nothing at nowhere.npz"),
        ],
    )
    def test_bad_input_is_one_sentence(self, given: Any, words: str) -> None:
        with pytest.raises((InputError, InputTypeError), match=words):
            read_inputs(given)

    def test_other_networks_are_refused(self) -> None:
        with pytest.raises(InputError, match="Got 2 and 3 networks"):
            read_inputs([line([0, 1]), line([0, 1, 2])])
        other = rs.DistanceMatrix([[0, 1], [1, 0]], labels=["0", "x"])
        with pytest.raises(InputError, match="Network 1 is '1' in one and 'x' in another"):
            read_inputs([line([0, 1]), other])

    def test_metadata_is_joined(self) -> None:
        first, second = line([0, 1], area=["a", "b"]), line([0, 1], depth=[1.0, 2.0])
        frame = read_inputs([first, second]).metadata
        assert frame.columns.tolist() == ["area", "depth"]

    def test_given_metadata_comes_first_and_is_matched_by_name(self, tmp_path: Path) -> None:
        D = line([0, 1], area=["a", "b"], age=[7, 8])
        table = pd.DataFrame({"area": ["z", "y", "x"]}, index=[1, 0, 2])
        frame = read_inputs(D, metadata=table).metadata
        assert frame["area"].tolist() == ["y", "z"]
        assert frame["age"].tolist() == [7, 8]
        table.rename_axis("network").to_csv(tmp_path / "m.csv")
        pd.testing.assert_frame_equal(read_inputs(D, metadata=tmp_path / "m.csv").metadata, frame)
        with pytest.raises(InputError, match="'metadata' parameter has no row for network '1'"):
            read_inputs(D, metadata=table.drop(index=1))
        with pytest.raises(InputTypeError, match="must be a table or the path of a CSV file"):
            read_inputs(D, metadata=[1, 2])  # type: ignore[arg-type]


class TestColumns:
    """Each column is predicted from every matrix, up to a number of columns."""

    def test_the_first_thirty_columns_are_predicted(self) -> None:
        columns = {f"c{k:02}": np.arange(8.0) + k for k in range(32)}
        qualities = assess(read_inputs(line(range(8), **columns)), 0, progress=False)
        predicted = [one.column for one in qualities[0].predictions]
        assert predicted == [f"c{k:02}" for k in range(30)]

    def test_all_columns_of_the_autoencoders_are(self) -> None:
        assert len(rs.datasets.load_vae_distances(1.0).metadata.columns) <= MOST_COLUMNS


class TestWords:
    @pytest.mark.parametrize(
        "metric",
        [
            rs.GaussianShapeMetric(0.3, group="rotation", weights=[1.0, 2.0]),
            rs.GaussianShapeMetric(covariance=CovarianceEstimator("ridge", ridge=0.1)),
            rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=3, whitening=0.5)),
            rs.EnergyShapeMetric(0.7, estimator="v"),
            rs.WassersteinShapeMetric(1.5),
            rs.ProcrustesShapeMetric(distance="angular", group="permutation"),
        ],
    )
    def test_a_metric_comes_back_from_its_description(self, metric: Any) -> None:
        description = json.loads(json.dumps(describe(metric)))
        found = restore(description)
        assert found is not None
        assert describe(found) == describe(metric)
        topics = dict(what_was_measured(found, description))
        assert topics["Invariances"]
        assert topics["Preprocessing"]

    def test_nothing_in_a_description_is_evaluated(self) -> None:
        for text in ("__import__('os').getcwd()", "Preprocess(center=open('x'))", "Other()"):
            description = {
                "metric": "GaussianShapeMetric",
                "parameters": {"alpha": 1.0, "preprocess": text},
            }
            assert restore(description) is None

    def test_settings_that_are_not_ours_are_not_guessed(self) -> None:
        assert restore({}) is None
        assert restore({"metric": "GaussianShapeMetric", "parameters": {"alpha": 9}}) is None
        words = "The file does not name the metric."
        assert what_was_measured(None, {}) == [("Distance", words)]
        assert short_name({}, Path("mine.csv")) == "mine"

    def test_all_settings_are_listed(self) -> None:
        names = [name for name, _ in settings_table(describe(rs.EnergyShapeMetric()))]
        assert names[0] == "metric"
        assert {"q", "random_state", "tol", "repshape"} <= set(names)


class TestPairs:
    def test_nearest_neighbours_are_chosen_first(self) -> None:
        D = line([0, 1, 10, 12, 30]).values
        assert choose_pairs(D, 10).tolist() == np.column_stack(np.triu_indices(5, 1)).tolist()
        few = {tuple(pair) for pair in choose_pairs(D, 4).tolist()}
        assert {(0, 1), (2, 3), (3, 4)} < few
        assert len(few) == 4
        assert len(choose_pairs(D, 0)) == 0

    def test_aligned_means_come_closer(self, cohort: rs.Cohort) -> None:
        D = rs.pairwise(cohort, rs.GaussianShapeMetric(2.0))
        view = view_pairs(Source("a", D, cohort=cohort), 100, False)
        gap = {
            when: np.linalg.norm((getattr(view, when) - view.own[view.index[:, 0]])[..., :2])
            for when in ("before", "after")
        }
        assert gap["after"] < gap["before"]

    def test_what_is_drawn_of_two_neurons_is_the_network_itself(self) -> None:
        """In two dimensions the components keep everything: distances of means are exact."""
        toy = toy_networks(3, 2)
        cohort = rs.Cohort.from_networks(toy)
        D = rs.pairwise(toy, rs.GaussianShapeMetric())
        view = view_pairs(Source("a", D, cohort=cohort), 100, False)
        gaps = view.after - view.own[view.index[:, 0]]
        means = np.sqrt((gaps[..., :2] ** 2).sum(-1).mean(-1))
        np.testing.assert_allclose(means**2, view.parts[:, 2], atol=1e-9)
        traces = view.own[..., 2] + view.own[..., 4]
        scales = toy.metadata["scale"].to_numpy()[:5]
        np.testing.assert_allclose(traces[:5], np.repeat(2 * scales[:, None], 5, axis=1))

    def test_stored_alignments_give_the_same_picture(self, cohort: rs.Cohort, stored: Path) -> None:
        (source,) = read_inputs(stored, cohort).sources
        kept = view_pairs(source, 100, False)
        anew = view_pairs(Source("anew", source.matrix, cohort=cohort), 100, False)
        assert "read from the store" in kept.note
        assert "computed again" in anew.note
        i, j = kept.index.T
        np.testing.assert_allclose(kept.parts[:, 0], source.matrix.values[i, j], rtol=1e-9)
        shorter = kept.parts[:, 0] < anew.parts[:, 0] - 1e-9  # by the polish
        np.testing.assert_allclose(kept.after[~shorter], anew.after[~shorter], atol=1e-4)
        np.testing.assert_allclose(kept.parts[~shorter, 2:], anew.parts[~shorter, 2:], atol=1e-5)

    @pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 2.0])
    def test_parts_add_up_for_every_alpha(
        self, cohort: rs.Cohort, alpha: float, tmp_path: Path
    ) -> None:
        """Both for alignments that are solved again and for those that a store kept."""
        metric = rs.GaussianShapeMetric(alpha, n_starts=4)
        store = tmp_path / "d.zarr"
        D = rs.pairwise(cohort, metric, store=store, alignments="float64", polish=False)
        kept = read_inputs(store, cohort).sources[0]
        for source in (kept, Source("anew", D, cohort=cohort)):
            whole, _, means, covariances = view_pairs(source, 100, False).parts.T
            np.testing.assert_allclose(means + covariances, whole**2, rtol=1e-9)
            np.testing.assert_allclose(whole, D.condensed(), rtol=1e-6)
            assert (means > 0).all() == (alpha > 0)
            assert (covariances > 0).all() == (alpha < 2)

    def test_parts_that_do_not_add_up_are_not_shown(self, cohort: rs.Cohort) -> None:
        D = rs.pairwise(cohort, rs.ProcrustesShapeMetric())
        assert np.isnan(view_pairs(Source("a", D, cohort=cohort), 9, False).parts[:, 2:]).all()

    def test_many_conditions_are_thinned_and_said(self) -> None:
        cohort = rs.Cohort.from_networks(toy_networks(2, 2, n_conditions=40))
        D = rs.pairwise(cohort, rs.GaussianShapeMetric())
        view = view_pairs(Source("a", D, cohort=cohort), 100, False)
        assert view.own.shape == (4, 16, 5)
        assert "16 of 40 conditions" in view.note

    def test_absence_is_explained(self, cohort: rs.Cohort) -> None:
        D = rs.pairwise(cohort, rs.GaussianShapeMetric())
        assert "without the responses" in view_pairs(Source("a", D), 9, False).note
        assert "no alignment" in view_pairs(Source("a", line([0, 1])), 9, False).note
        exact = rs.Cohort.from_networks(toy_networks(2, 2))
        E = rs.pairwise(toy_networks(2, 2, n_trials=4), rs.EnergyShapeMetric())
        note = view_pairs(Source("a", E, cohort=exact), 9, False).note
        assert note.startswith("Alignments are not drawn: ")
        assert "single trials" in note

    def test_other_responses_are_refused(self, cohort: rs.Cohort, stored: Path) -> None:
        other = rs.Cohort()
        for k, network in enumerate(cohort):
            other.add(f"net {k}", 3 * np.asarray(network.responses))  # type: ignore[union-attr]
        with pytest.raises(InputError, match="'net 0' in the cohort are not those"):
            rs.write_report(stored, "x.html", cohort=other)
        D = rs.DistanceMatrix.load(stored)
        with pytest.raises(InputError, match=r"in the cohort, but [\d.]+ in the matrix"):
            rs.write_report(D, "x.html", cohort=other)
        with pytest.raises(InputError, match="Got 2 for 1 matrices"):
            rs.write_report(D, "x.html", cohort=[cohort, cohort])
        with pytest.raises(InputError, match="Got 4 networks, among them 'c0s0'"):
            rs.write_report(D, "x.html", cohort=rs.Cohort.from_networks(toy_networks(2, 2)))


class TestQuality:
    @staticmethod
    def words(values: list[float], bounds: list[float]) -> tuple[str, str]:
        """Return what is said about the bounds of three pairs."""
        square = [np.zeros((3, 3)) for _ in range(2)]
        for one, entries in zip(square, (values, bounds), strict=True):
            one[np.triu_indices(3, 1)] = entries
            one += one.T
        D = rs.DistanceMatrix(square[0], lower_bounds=square[1])
        checks = check_matrix(Source("one", D), 0).checks
        found = ((verdict, said) for topic, verdict, said in checks if topic == "Bounds")
        return next(found, ("", ""))

    def test_a_gap_of_rounding_is_not_a_gap(self) -> None:
        """A distance of zero is minimal, whatever its lower bound."""
        assert self.words([1e-16, 2.0, 2.0], [0.0, 2.0, 2.0]) == (
            "good",
            "All 2 distances above zero are proven to be minimal.",
        )

    def test_bounds_that_are_close_for_most_pairs_are_told(self) -> None:
        verdict, said = self.words([1.0, 2.0, 2.0], [0.5, 1.97, 2.0])
        assert verdict == "note"
        assert "within 2 % of the distance for 2 of 3 pairs; 1 is proven to be minimal" in said
        assert said.endswith("(not a confidence limit).")

    def test_bounds_that_say_nothing_are_left_out(self) -> None:
        assert self.words([1.0, 2.0, 2.0], [0.5, 1.9, 2.0]) == ("", "")
