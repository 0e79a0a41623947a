"""Mantel and paired tests: two formulas, calibration, and refusals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import pearsonr, spearmanr

import repshape as rs
from repshape.errors import InputError
from repshape.inference.matrices import network_parts

FloatArray = npt.NDArray[np.float64]


def distances(points: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(points[:, None] - points, axis=2))


def upper(D: FloatArray) -> FloatArray:
    return np.asarray(D[np.triu_indices(len(D), 1)])


def test_correlation_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    one, two = (distances(rng.normal(size=(7, 2))) for _ in range(2))
    options = {"n_permutations": 9}
    pearson = rs.inference.mantel(one, two, **options)
    assert pearson.correlation == pytest.approx(pearsonr(upper(one), upper(two)).statistic)
    spearman = rs.inference.mantel(one, two, method="spearman", **options)
    assert spearman.correlation == pytest.approx(spearmanr(upper(one), upper(two)).statistic)


def test_partial_correlation_is_the_textbook_formula() -> None:
    rng = np.random.default_rng(1)
    x, y, z = (distances(rng.normal(size=(8, 2))) for _ in range(3))
    found = rs.inference.mantel(x, y, given=z, n_permutations=9)
    xy, xz, yz = (pearsonr(upper(a), upper(b)).statistic for a, b in ((x, y), (x, z), (y, z)))
    expected = (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))
    assert found.correlation == pytest.approx(expected)
    assert "does not remove a confound" in str(found)
    assert rs.inference.mantel(x, y, n_permutations=9).caveat == ""


def test_mantel_is_calibrated_and_finds_related_matrices() -> None:
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(60):
        one, two = (distances(rng.normal(size=(8, 2))) for _ in range(2))
        p_values.append(rs.inference.mantel(one, two, n_permutations=99).p_value)
    assert 0.35 < np.mean(p_values) < 0.65
    points = rng.normal(size=(12, 2))
    near = distances(points + 0.1 * rng.normal(size=points.shape))
    found = rs.inference.mantel(distances(points), near, n_permutations=99)
    assert found.p_value == found.smallest_p_value == 0.01


def test_networks_are_matched_by_label() -> None:
    rng = np.random.default_rng(0)
    D = rs.DistanceMatrix(distances(rng.normal(size=(6, 2))), labels=list("abcdef"))
    order = np.array([3, 1, 0, 5, 4, 2])
    moved = rs.DistanceMatrix(D.values[np.ix_(order, order)], [D.labels[k] for k in order])
    assert rs.inference.mantel(D, moved, n_permutations=9).correlation == pytest.approx(1.0)
    assert rs.inference.paired(D, moved).estimate == pytest.approx(0.0)


def test_parts_of_networks_are_least_squares() -> None:
    rng = np.random.default_rng(0)
    gaps = rng.normal(size=(6, 6))
    gaps = (gaps + gaps.T) * (1 - np.eye(6))
    i, j = np.triu_indices(6, 1)
    design = np.zeros((15, 6))
    design[np.arange(15), i] = design[np.arange(15), j] = 1.0
    expected = np.linalg.lstsq(design, upper(gaps), rcond=None)[0]
    np.testing.assert_allclose(network_parts(gaps), expected, atol=1e-12)
    assert 2 * expected.mean() == pytest.approx(upper(gaps).mean())


def test_paired_test_with_effects_of_networks_and_of_pairs() -> None:
    """5 % of 200 is 10; a binomial exceeds 21 in fewer than 1 of 1000 cases."""
    rng = np.random.default_rng(0)
    rejected = {"networks": 0, "pairs": 0}
    for _ in range(200):
        u, e = rng.normal(size=8), rng.normal(size=(8, 8))
        for what, gaps in {"networks": u[:, None] + u, "pairs": e + e.T}.items():
            one = 20 + gaps * (1 - np.eye(8)) - 20 * np.eye(8)
            two = np.full((8, 8), 20.0) - 20 * np.eye(8)
            rejected[what] += rs.inference.paired(one, two).p_value <= 0.05
    assert 2 <= rejected["networks"] <= 21
    assert rejected["pairs"] <= rejected["networks"]


def test_paired_differences_by_animal() -> None:
    rng = np.random.default_rng(0)
    D = distances(rng.normal(size=(12, 3)))
    noise = rng.normal(size=12)
    more = D + 0.5 * (1 - np.eye(12)) + 0.02 * (noise[:, None] + noise) * (1 - np.eye(12))
    free = rs.inference.paired(more, D)
    assert free.n_blocks == 12
    assert free.interval[0] < free.estimate < free.interval[1]
    assert free.estimate == pytest.approx(upper(more - D).mean())
    assert free.p_value == free.smallest_p_value == 2 / 2**12
    nested = rs.inference.paired(more, D, np.repeat(np.arange(4), 3))
    assert nested.p_value == nested.smallest_p_value == 2 / 2**4
    assert "signs of 4 blocks flipped" in str(nested)
    few = rs.inference.paired(more, D, n_permutations=99)
    assert few.p_value == few.smallest_p_value == 0.01
    ratio = rs.inference.paired(2 * D, D, relative=True)
    assert ratio.estimate == pytest.approx(np.log(2))


def test_refusals() -> None:
    D = distances(np.arange(6.0)[:, None])
    with pytest.raises(InputError, match="the same networks"):
        rs.inference.mantel(D, D[:5, :5])
    with pytest.raises(InputError, match=r"at least four networks\. Got 3"):
        rs.inference.mantel(D[:3, :3], D[:3, :3])
    with pytest.raises(InputError, match=r"at least three networks or blocks\. Got 2"):
        rs.inference.paired(D, D, [0, 0, 0, 1, 1, 1])
    with pytest.raises(InputError, match="Logarithms need positive distances"):
        rs.inference.paired(D, -D, relative=True)
