"""Tests of groups: two formulas for each statistic, restricted permutations, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.stats import f_oneway

import repshape as rs
from repshape.errors import InputError
from repshape.inference.group_statistics import (
    centroid_distances,
    group_sums,
    pseudo_f,
    variance_ratio,
    welch_statistic,
)
from repshape.inference.permutations import arrange, make_design

FloatArray = npt.NDArray[np.float64]
SIZES = [(4, 4), (3, 7), (3, 5, 4), (2, 2, 6, 3)]


def distances(points: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(points[:, None] - points, axis=2))


def example(sizes: tuple[int, ...], d: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Points of groups that differ in location and spread, and their codes."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    points = rng.normal(size=(len(codes), d)) * (1 + codes)[:, None] + codes[:, None]
    return points, codes


def welch_anova(values: FloatArray, codes: FloatArray) -> float:
    """The F of Welch (1951), as in textbooks."""
    parts = [values[codes == g] for g in np.unique(codes)]
    k = len(parts)
    w = np.array([len(one) / one.var(ddof=1) for one in parts])
    means = np.array([one.mean() for one in parts])
    centre = (w * means).sum() / w.sum()
    top = (w * (means - centre) ** 2).sum() / (k - 1)
    h = sum(
        (1 - one_w / w.sum()) ** 2 / (len(one) - 1) for one, one_w in zip(parts, w, strict=True)
    )
    return float(top / (1 + 2 * (k - 2) / (k**2 - 1) * h))


@pytest.mark.parametrize("sizes", SIZES)
def test_statistic_of_numbers_is_that_of_welch(sizes: tuple[int, ...]) -> None:
    points, codes = example(sizes, 1)
    found = welch_statistic(group_sums(distances(points) ** 2, codes[None], len(sizes)))
    assert found[0] == pytest.approx(welch_anova(points[:, 0], codes))


@pytest.mark.parametrize("sizes", SIZES)
def test_sums_agree_with_centroids_in_euclidean_space(sizes: tuple[int, ...]) -> None:
    points, codes = example(sizes, 3)
    found = group_sums(distances(points) ** 2, codes[None], len(sizes))
    centres = np.array([points[codes == g].mean(axis=0) for g in range(len(sizes))])
    np.testing.assert_allclose(found.between[0], distances(centres) ** 2, atol=1e-12)
    spreads = [points[codes == g].var(axis=0, ddof=1).sum() for g in range(len(sizes))]
    np.testing.assert_allclose(found.spreads[0], spreads)
    radii = np.linalg.norm(points - centres[codes], axis=1)
    factors = np.sqrt(np.array(sizes) / (np.array(sizes) - 1))
    found_radii = centroid_distances(distances(points) ** 2, codes, len(sizes))
    np.testing.assert_allclose(found_radii, radii * factors[codes])


@pytest.mark.parametrize("sizes", SIZES)
def test_pseudo_f_and_dispersion_are_those_of_an_analysis_of_variance(
    sizes: tuple[int, ...],
) -> None:
    """PERMANOVA of D = |x - y| is the F of classical ANOVA; PERMDISP is that of the radii."""
    points, codes = example(sizes, 1)
    values = points[:, 0]
    expected = f_oneway(*(values[codes == g] for g in range(len(sizes)))).statistic
    found = pseudo_f(group_sums(distances(points) ** 2, codes[None], len(sizes)))[0]
    assert found == pytest.approx(expected)
    assert variance_ratio(values, codes[None], len(sizes))[0] == pytest.approx(expected)


def test_two_groups_of_equal_size_are_ranked_as_by_pseudo_f() -> None:
    points, codes = example((5, 5), 2)
    found = group_sums(distances(points) ** 2, arrange(codes).rows, 2)
    np.testing.assert_array_equal(
        np.argsort(np.argsort(welch_statistic(found).round(9))),
        np.argsort(np.argsort(pseudo_f(found).round(9))),
    )


def test_all_permutations_are_those_of_itertools() -> None:
    codes = np.array([0, 1, 1, 2, 2])
    found = arrange(codes)
    assert found.exact
    assert found.rows[0].tolist() == codes.tolist()
    assert {tuple(row) for row in found.rows.tolist()} == set(permutations(codes.tolist()))
    assert found.smallest_p_value == 2 / 30  # the two groups of two may swap their names


def test_permutations_within_strata() -> None:
    codes, strata = np.array([0, 1, 0, 1, 0, 0]), np.array([0, 0, 1, 1, 2, 2])
    found = arrange(codes, strata)
    assert {tuple(row) for row in found.rows.tolist()} == {
        (a, 1 - a, b, 1 - b, 0, 0) for a in (0, 1) for b in (0, 1)
    }
    assert found.smallest_p_value == 1 / 4  # the last block tells the names apart
    assert arrange(codes[:4], strata[:4]).smallest_p_value == 2 / 4


def test_random_permutations_keep_the_sizes_of_groups_within_strata() -> None:
    codes = np.tile([0, 0, 1, 2], 6)
    strata = np.repeat(np.arange(3), 8)
    found = arrange(codes, strata, n_permutations=50, random_state=3)
    assert (len(found.rows), found.exact, found.smallest_p_value) == (51, False, 1 / 51)
    for stratum in range(3):
        np.testing.assert_array_equal(
            np.sort(found.rows[:, strata == stratum], axis=1),
            np.tile(np.sort(codes[strata == stratum]), (51, 1)),
        )


def test_whole_blocks_move_together() -> None:
    labels = ["a"] * 4 + ["b"] * 4
    blocks = ["m1", "m1", "m1", "m2", "m3", "m3", "m4", "m4"]
    design = make_design(labels, blocks)
    assert design.whole
    found = design.arrange(99, 0)
    assert len(found.rows) == 6
    assert found.smallest_p_value == 1 / 3
    for row in found.rows:
        assert all(len(set(row[np.array(blocks) == block])) == 1 for block in set(blocks))


def test_three_groups_with_metadata_and_holm() -> None:
    points, codes = example((6, 6, 6), 3)
    points += 3.0 * (codes == 2)[:, None]
    frame = pd.DataFrame({"area": np.array(["V1", "V2", "V4"])[codes]})
    D = rs.DistanceMatrix(distances(points), metadata=frame)
    found = rs.inference.groups(D, "area", n_permutations=499)
    assert found.p_value == found.smallest_p_value == 1 / 500
    assert found.groups["networks"].to_dict() == {"V1": 6, "V2": 6, "V4": 6}
    assert found.groups.loc["V4", "spread"] > found.groups.loc["V1", "spread"]
    pairs = found.pairs.set_index(["first", "second"])
    assert (pairs["holm_p_value"] >= pairs["p_value"]).all()
    two = rs.inference.groups(D.values[:12, :12], codes[:12], n_permutations=499)
    assert pairs.loc[("V1", "V2"), "p_value"] == two.p_value
    assert pairs.loc[("V1", "V2"), "statistic"] == pytest.approx(two.statistic)
    assert found.summary()["groups"][0]["group"] == "V1"
    assert 0 < found.effect_size < 1


def test_distance_of_centroids_is_unbiased() -> None:
    """E |mean_x - mean_y|^2 = |mu_x - mu_y|^2 + tr S / a + tr S / b, and the latter is removed."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        points = rng.normal(size=(7, 4))
        points[3:, 0] += 1.5
        d = rs.inference.groups(distances(points), [0] * 3 + [1] * 4, n_permutations=1).pairs[
            "distance"
        ][0]
        found.append(d * abs(d))
    assert np.mean(found) == pytest.approx(1.5**2, abs=4 * np.std(found) / np.sqrt(300))


def mild(rng: np.random.Generator) -> tuple[FloatArray, list[str], None]:
    points = rng.normal(size=(16, 3))
    points[:4] *= 1.5  # the smaller group is wider
    return points, ["a"] * 4 + ["b"] * 12, None


def nested(rng: np.random.Generator) -> tuple[FloatArray, list[str], list[str]]:
    blocks = np.repeat(np.arange(8), 3)
    points = 2.0 * rng.normal(size=(8, 3))[blocks] + rng.normal(size=(24, 3))
    return points, ["a"] * 12 + ["b"] * 12, [str(b) for b in blocks]


@pytest.mark.parametrize("draw", [mild, nested])
def test_size_with_unequal_spread_and_with_whole_blocks(draw: Callable[..., Any]) -> None:
    """Nominally 5 %; pseudo-F rejects 22 of the first, free permutations 62 of the second.

    A binomial with 150 draws at 5 % exceeds 17 in fewer than 1 of 1000 cases.
    """
    rejected = 0
    for seed in range(150):
        points, labels, blocks = draw(np.random.default_rng(seed))
        found = rs.inference.groups(distances(points), labels, blocks, n_permutations=199)
        rejected += found.p_value <= 0.05
    assert rejected <= 17


def test_areas_within_animals_are_compared_within_animals() -> None:
    rng = np.random.default_rng(0)
    animals = np.repeat(np.arange(8), 2)
    points = 4.0 * rng.normal(size=(8, 2))[animals] + 0.3 * rng.normal(size=(16, 2))
    points[1::2] += 0.5
    D, areas = distances(points), np.tile(["V1", "V4"], 8)
    free = rs.inference.groups(D, areas)
    within = rs.inference.groups(D, areas, animals)
    assert free.p_value > 0.2
    assert within.p_value == within.smallest_p_value == 2 / 2**8
    assert within.permuted == "networks permuted within blocks"


def test_different_spread_is_said() -> None:
    points = np.random.default_rng(0).normal(size=(20, 3))
    points[10:] *= 4.0
    found = rs.inference.groups(distances(points), [0] * 10 + [1] * 10, n_permutations=499)
    assert found.dispersion_p_value <= 0.01
    assert "differ in their spread" in str(found)
    equal = rs.inference.groups(distances(points[:10]), [0, 1] * 5)
    assert "no sign that their spread differs" in str(equal)


def test_negative_estimates_have_negative_squares() -> None:
    D = np.array([[0.0, -1, 2, 2], [-1, 0, 2, 2], [2, 2, 0, -1], [2, 2, -1, 0]])
    found = rs.inference.groups(D, [0, 0, 1, 1])
    assert found.groups["spread"].tolist() == [-np.sqrt(0.5)] * 2
    assert found.pairs["distance"][0] == pytest.approx(np.sqrt(4 + 0.5 + 0.5))


def test_refusals() -> None:
    D = rs.DistanceMatrix(
        distances(np.arange(6.0)[:, None]),
        labels=list("abcdef"),
        metadata=pd.DataFrame({"area": ["V1", "V1", None, "V4", "V4", "V4"]}),
    )
    groups = rs.inference.groups
    with pytest.raises(InputError, match="Network 'c' has none"):
        groups(D, "area")
    with pytest.raises(InputError, match=r"no column 'region'. Its columns: 'area'"):
        groups(D, "region")
    with pytest.raises(InputError, match=r"an entry for each of 6 networks. Got 5"):
        groups(D, [0, 0, 0, 1, 1])
    with pytest.raises(InputError, match=r"at least two networks. Group '1' has one"):
        groups(D, [0, 0, 0, 0, 0, 1])
    with pytest.raises(InputError, match=r"at least two groups. Got only '0'"):
        groups(D, [0] * 6)
    with pytest.raises(InputError, match="group '0' has only the block 'm1'"):
        groups(D, [0, 0, 0, 1, 1, 1], ["m1", "m1", "m1", "m2", "m3", "m3"])
    with pytest.raises(InputError, match="Group '2' is never in a block with another group"):
        groups(D, [0, 1, 0, 1, 2, 2], ["m1", "m1", "m2", "m2", "m3", "m3"])
