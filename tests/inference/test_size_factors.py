"""What groups differ in besides their distances: said where it is so, and only there."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from benchmarks.confounds import CELLS, recordings
from scipy.stats import f_oneway, kruskal

import repshape as rs
from repshape.inference.factors import find_factor, rank_variance, size_sentences, without
from repshape.inference.permutations import make_design

FloatArray = npt.NDArray[np.float64]
LABELS = ["A"] * 6 + ["B"] * 6


def matrix(
    neurons: list[int], trials: list[int], seed: int = 0, **table: list[str]
) -> rs.DistanceMatrix:
    """Distances between random points, with sizes."""
    points = np.random.default_rng(seed).normal(size=(len(neurons), 3))
    values = np.linalg.norm(points[:, None] - points, axis=2)
    sizes = {"neurons": neurons, "trials": trials}
    return rs.DistanceMatrix(values, metadata=pd.DataFrame(table) if table else None, sizes=sizes)


def test_rank_variance_orders_labellings_as_the_test_of_kruskal_and_wallis() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 6, size=12).astype(float)  # with ties
    rows = np.array([rng.permutation(np.repeat([0, 1, 2], 4)) for _ in range(30)])
    ours = rank_variance(values, rows, 3)
    theirs = [kruskal(*(values[row == g] for g in range(3))).statistic for row in rows]
    assert ours / ours[0] == pytest.approx(np.array(theirs) / theirs[0])


def test_sizes_in_which_groups_differ_are_said_with_the_call_that_settles_it() -> None:
    D = matrix([21] * 6 + [9] * 6, [20] * 12, area=LABELS)
    with pytest.warns(rs.inference.UnequalNeuronsWarning, match="median A 21, B 9") as got:
        found = rs.inference.groups(D, "area")
    assert got[0].filename == __file__
    assert [one.name for one in found.factors] == ["neurons"]
    assert found.factors[0].p_value == pytest.approx(2 / 924)
    call = "run rs.inference.confounds(cohort, metric, labels='area', match='neurons')"
    assert call in str(found)
    assert found.summary()["factors"][0]["medians"] == {"A": 21.0, "B": 9.0}
    assert call in D.summary()


def test_sizes_that_vary_alike_in_both_groups_are_not_said() -> None:
    D = matrix([9, 21] * 6, list(range(10, 22)), area=["A", "B", "B", "A"] * 3)
    assert rs.inference.groups(D, "area").factors == ()
    assert "neurons" not in D.summary()


def test_small_differences_of_medians_are_not_said() -> None:
    D = matrix([101] * 6 + [100] * 6, [20] * 12)
    assert rs.inference.groups(D, LABELS).factors == ()


def test_false_alarms_are_as_rare_as_the_rule_says() -> None:
    """At most 1 % of permuted labels give a factor, counted over all of them."""
    sizes = np.random.default_rng(0).integers(5, 60, size=12).astype(float)
    design = make_design(LABELS, None)
    allowed = design.arrange(9999, 0)
    statistic = rank_variance(sizes, allowed.rows, 2)
    p_values = np.array([np.mean(statistic >= one - 1e-9) for one in statistic])
    assert 0 < np.mean(p_values <= 0.01) <= 0.01


def test_few_networks_are_said_to_differ_if_they_are_separated() -> None:
    design = make_design(list("AAABBB"), None)
    allowed = design.arrange(999, 0)
    assert find_factor("neurons", [9, 9, 8, 20, 21, 21], design, allowed) is not None
    assert find_factor("neurons", [9, 20, 8, 9, 21, 21], design, allowed) is None


def test_labels_within_blocks_are_permuted_for_sizes_too() -> None:
    """Animals differ in size; areas within animals do not."""
    areas, animals = ["A", "B"] * 6, [str(k // 2) for k in range(12)]
    D = matrix([10 + 5 * (k // 2) for k in range(12)], [20] * 12)
    assert rs.inference.groups(D, areas, animals).factors == ()
    D = matrix([10 + 5 * (k // 2) + 12 * (k % 2) for k in range(12)], [20] * 12)
    with pytest.warns(rs.inference.UnequalNeuronsWarning):
        assert rs.inference.groups(D, areas, animals).factors[0].p_value == pytest.approx(2 / 64)


def test_regression_on_a_covariate_is_the_analysis_of_covariance() -> None:
    """For numbers, the share is that of least squares with the covariate before the groups."""
    rng = np.random.default_rng(0)
    y, z = rng.normal(size=(2, 12))
    design = make_design(LABELS, None)
    allowed = design.arrange(199, 0)

    def residual(columns: list[FloatArray]) -> float:
        X = np.column_stack([np.ones(12), *columns])
        left = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
        return float(left @ left)

    rows = allowed.rows
    shares = np.array([1 - residual([z, row.astype(float)]) / residual([z]) for row in rows])
    expected = allowed.p_value(shares)
    assert without((y[:, None] - y) ** 2, z, design, allowed) == pytest.approx(expected)
    constant = without((y[:, None] - y) ** 2, np.ones(12), design, allowed)
    by_hand = [f_oneway(y[row == 0], y[row == 1]).statistic for row in rows]
    assert constant == pytest.approx(allowed.p_value(np.array(by_hand)))


@pytest.mark.filterwarnings("ignore::repshape.inference.UnstableSubspaceWarning")
@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_cut_recordings_differ_and_matched_ones_do_not() -> None:
    for seed in range(2):
        cell = CELLS["half cut to 9 neurons"]
        networks, labels = recordings(cell, np.random.default_rng([seed, 7]))
        options = {"n_permutations": 199, "n_splits": 1, "workers": 1}
        with pytest.warns(rs.inference.UnequalNeuronsWarning, match="it could explain"):
            found = rs.inference.confounds(
                networks, cell.metric, labels=labels, n_draws=3, **options
            )
        assert found.tests["distances"].p_value <= 0.05 < found.tests["matched"].p_value
        pattern = r"Groups also differ in their number of neurons \(median cut 9, whole 21\)\. "
        assert re.search(pattern + r"With 9 neurons drawn from each \(3 draws\), p = 0", str(found))
        assert found.matched is not None
        assert found.matched.sizes is not None
        assert set(found.matched.sizes["neurons"]) == {9.0}


@pytest.mark.filterwarnings("ignore::repshape.inference.UnstableSubspaceWarning")
@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_recordings_whose_code_differs_are_not_explained_by_sizes() -> None:
    for seed in range(2):
        cell = CELLS["code differs, sizes vary"]
        networks, labels = recordings(cell, np.random.default_rng([seed, 8]))
        options = {"n_permutations": 199, "n_splits": 1, "workers": 1}
        found = rs.inference.confounds(networks, cell.metric, labels=labels, **options)
        assert found.tests["distances"].p_value <= 0.05
        assert {one.name for one in found.factors}.isdisjoint({"neurons", "trials"})
        assert found.matched is None


def test_sizes_are_matched_if_they_are_named_and_refused_where_they_cannot_be() -> None:
    rng = np.random.default_rng(0)
    networks = [rng.normal(size=(4, 24, n)) for n in (3, 3, 4, 4)]
    metric = rs.GaussianShapeMetric(n_starts=2)
    found = rs.inference.confounds(networks, metric, match="neurons", n_draws=2, n_splits=1)
    assert found.matched is not None
    assert found.tests == {}
    moments = [rs.estimate_moments(rs.Trials(one)) for one in networks]
    with pytest.raises((rs.errors.InputError, rs.errors.InputTypeError), match="trials"):
        rs.inference.confounds(moments, metric, match="trials")
    with pytest.raises(rs.errors.InputError, match="'match' parameter must be"):
        rs.inference.confounds(networks, metric, match="cells")


def test_groups_of_old_matrices_are_compared_without_sizes() -> None:
    D = matrix([21] * 6 + [9] * 6, [20] * 12, area=LABELS).replace(sizes=None)
    assert rs.inference.groups(D, "area").factors == ()
    assert list(size_sentences(D)) == []
