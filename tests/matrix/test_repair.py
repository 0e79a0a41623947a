"""triangle_violations and repair: what they find, move, certify and refuse."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform

from repshape.errors import InputError, NotConvergedWarning
from repshape.matrix.distances import DistanceMatrix
from repshape.matrix.repair import repair
from repshape.matrix.triangles import triangle_violations

FloatArray = npt.NDArray[np.float64]


def noisy_plane(count: int, noise: float = 0.1, seed: int = 0) -> FloatArray:
    """Distances of points in a plane, with noise that breaks many triangles."""
    rng = np.random.default_rng(seed)
    exact = pdist(rng.normal(size=(count, 2)))
    noisy: FloatArray = squareform(exact + noise * exact.mean() * rng.normal(size=len(exact)))
    return noisy


def count_by_loops(D: FloatArray, tolerance: float) -> tuple[int, float]:
    """The definition, one triangle at a time."""
    excesses = [
        D[i, j] - (D[i, k] + D[k, j])
        for i, j in itertools.combinations(range(len(D)), 2)
        for k in range(len(D))
        if k not in (i, j)
    ]
    return sum(e > tolerance for e in excesses), max(excesses)


@pytest.mark.parametrize("seed", range(5))
def test_violations_agree_with_the_definition(seed: int) -> None:
    D = noisy_plane(17, 0.3, seed)
    found = triangle_violations(D, tol=0.01)
    assert (found.count, found.largest) == count_by_loops(D, 0.01 * np.abs(D).max())
    assert found.where is not None
    i, j, k = found.where
    assert D[i, j] - (D[i, k] + D[k, j]) == found.largest
    assert found.excess[i, j] == found.excess[j, i] == found.largest
    assert found.n_pairs == (found.excess[np.triu_indices(17, 1)] > found.tolerance).sum()
    assert found.n_inequalities == 17 * 16 * 15 / 2
    assert found.n_negative == (D[np.triu_indices(17, 1)] < 0).sum()
    assert found.relative == found.largest / np.abs(D).max()


def test_blocks_and_workers_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    D = noisy_plane(30)
    whole = triangle_violations(D)
    monkeypatch.setattr("repshape.matrix.triangles.BLOCK", 64)
    monkeypatch.setattr("repshape.matrix.triangles.available_cores", lambda: 3)
    pieces = triangle_violations(D)
    np.testing.assert_array_equal(whole.excess, pieces.excess)
    assert (whole.count, whole.where) == (pieces.count, pieces.where)


def test_unknown_distances_are_skipped() -> None:
    D = noisy_plane(12, 0.3)
    holes = D.copy()
    holes[2, 5] = holes[5, 2] = holes[0, 7] = holes[7, 0] = np.nan
    found = triangle_violations(holes)
    with np.errstate(invalid="ignore"):
        expected, largest = 0, 0.0
        for i, j in itertools.combinations(range(12), 2):
            for k in set(range(12)) - {i, j}:
                excess = holes[i, j] - (holes[i, k] + holes[k, j])
                expected += bool(excess > found.tolerance)
                largest = max(largest, excess) if excess > 0 else largest
    assert (found.count, found.largest) == (expected, largest)
    assert found.n_inequalities == 3 * (
        220 - 2 * 10
    )  # two sides of ten triangles each, none shared
    everything = np.full((4, 4), np.nan)
    np.fill_diagonal(everything, 0.0)
    assert triangle_violations(everything).count == 0


@pytest.mark.parametrize("D", [np.zeros((1, 1)), np.zeros((3, 3)), [[0, 5], [5, 0]]])
def test_no_triangle_no_violation(D: Any) -> None:
    found = triangle_violations(D)
    assert (found.count, found.largest, found.where, found.relative) == (0, 0.0, None, 0.0)


def test_a_triangle_by_hand() -> None:
    """5 > 1 + 1 by 3: one unit off the long side, one onto each of the short ones."""
    result = repair([[0, 1, 5], [1, 0, 1], [5, 1, 0]])
    np.testing.assert_allclose(result.values, [[0, 2, 4], [2, 0, 2], [4, 2, 0]], atol=1e-10)
    assert result.moved == pytest.approx(3**0.5)
    assert result.largest_change == pytest.approx(1.0)
    assert (result.n_active, result.n_triangles) == (1, 1)


def test_a_weighted_triangle_by_hand() -> None:
    """The violation is shared in proportion to 1 / weight: here 1 : 1/2 : 1/2 of 3."""
    weights = np.array([[0, 2, 1], [2, 0, 2], [1, 2, 0.0]])
    result = repair([[0, 1, 5], [1, 0, 1], [5, 1, 0]], weights=weights)
    np.testing.assert_allclose(
        result.values, [[0, 1.75, 3.5], [1.75, 0, 1.75], [3.5, 1.75, 0]], atol=1e-10
    )
    assert result.moved == pytest.approx((1.5**2 + 2 * 2 * 0.75**2) ** 0.5)


def test_weights_have_no_unit() -> None:
    D = noisy_plane(20)
    weights = squareform(np.random.default_rng(1).uniform(0.1, 10.0, 190))
    one, other = repair(D, weights=weights), repair(D, weights=1e6 * weights)
    np.testing.assert_allclose(one.values, other.values, atol=1e-8)


def test_equal_weights_are_none() -> None:
    D = noisy_plane(20)
    given = repair(D, weights=np.full((20, 20), 3.0))
    np.testing.assert_allclose(given.values, repair(D).values, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_scale_of_distances_does_not_matter(scale: float) -> None:
    D = noisy_plane(25)
    result = repair(scale * D)
    np.testing.assert_allclose(result.values, scale * repair(D).values, atol=1e-9 * scale)
    assert result.after.count == 0


def test_negative_distances() -> None:
    """Two networks: the nearest distance is zero. All negative: so is the nearest metric."""
    two = repair([[0.0, -1.0], [-1.0, 0.0]])
    assert (two.values == 0.0).all()
    assert (two.moved, two.error_bound) == (1.0, 0.0)
    result = repair(squareform(-np.random.default_rng(0).uniform(0.5, 1.0, 66)))
    np.testing.assert_allclose(result.values, 0.0, atol=1e-9)
    assert result.before.n_negative == 66
    assert result.converged


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_a_metric_is_unchanged_to_the_bit(dimension: int) -> None:
    points = np.random.default_rng(0).normal(size=(40, dimension))
    D = DistanceMatrix(squareform(pdist(points)), lower_bounds=np.zeros((40, 40)))
    result = repair(D)
    assert result.matrix is D
    assert (result.moved, result.n_rounds, result.error_bound) == (0.0, 0, 0.0)
    assert result.converged


def test_the_words_hold_the_numbers() -> None:
    words = repair([[0, 1, 5], [1, 0, 1], [5, 1, 0]]).words()
    assert "Before: 1 violated triangle (by at most 3) and 0 negative distances." in words
    assert "The largest change of a distance is 1, the root of the summed squared" in words
    assert "changes is 1.73," in words
    assert repair(np.zeros((3, 3))).words().startswith("No triangle inequality is violated")
    assert "and 1 negative distance." in repair([[0, -1], [-1, 0]]).words()


def test_everything_but_the_lower_bounds_stays() -> None:
    """They bound the distances that were measured, which the repair may shorten."""
    names = [f"net {k}" for k in range(15)]
    D = DistanceMatrix(
        noisy_plane(15),
        labels=names,
        metadata=pd.DataFrame({"day": range(15)}),
        lower_bounds=np.zeros((15, 15)),
        converged=np.arange(225).reshape(15, 15) % 2,
        description={"metric": "Energy"},
    )
    result = repair(D)
    assert result.matrix.labels == tuple(names)
    assert result.matrix.metadata["day"].tolist() == list(range(15))
    np.testing.assert_array_equal(result.matrix.converged, D.converged)
    assert result.matrix.lower_bounds is None
    assert result.matrix.description == {"metric": "Energy", "repaired": True}
    assert result.summary()["violations_before"] == result.before.count > 0


def test_stopping_early_still_gives_a_metric_and_an_honest_bound() -> None:
    D = noisy_plane(40)
    exact = repair(D)
    with pytest.warns(NotConvergedWarning, match="not converge in 2 rounds"):
        early = repair(D, max_rounds=2)
    assert not early.converged
    assert early.after.count == 0
    apart = np.linalg.norm(squareform(early.values - exact.values))
    assert apart <= early.error_bound + exact.error_bound
    assert early.moved > exact.moved


@pytest.mark.parametrize("seed", range(30))
def test_a_first_round_without_violations_is_not_yet_the_nearest(seed: int) -> None:
    """Few networks: a loosely solved first round often breaks no triangle by moving too much."""
    rng = np.random.default_rng(seed)
    weights = squareform(rng.uniform(0.2, 5.0, 6))
    result = repair(squareform(rng.uniform(size=6)), weights=weights)
    assert result.converged
    assert result.error_bound < 1e-5


HOLES = DistanceMatrix([[0, np.nan, 1], [np.nan, 0, np.nan], [1, np.nan, 0]], missing=True)


@pytest.mark.parametrize(
    ("D", "arguments", "sentence"),
    [
        ([[0, np.nan], [np.nan, 0]], {}, "complete matrix can be repaired. Got 1 missing"),
        (HOLES, {}, "Only a complete matrix can be repaired. Got 2 missing pairs"),
        ([[0, 1], [2, 0]], {}, "Distances must be symmetric"),
        ([[0, np.nan], [2, 0]], {}, "Missing distances must be symmetric"),
        ([[0, 1, 2]], {}, "square"),
        (np.zeros((2, 2)), {"weights": [1.0]}, r"shape \(2, 2\)"),
        (np.zeros((2, 2)), {"weights": np.zeros((2, 2))}, "positive"),
        (np.zeros((2, 2)), {"weights": [[0, 1], [2, 0]]}, "Weights must be symmetric"),
        (np.zeros((2, 2)), {"tol": 0.0}, "'tol'"),
    ],
)
def test_bad_input_is_one_sentence(D: Any, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        repair(D, **arguments)
