"""A matrix against its pairs: the same search, and never a longer distance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from repshape import (
    Cohort,
    ConvShapeMetric,
    DistanceMatrix,
    EnergyShapeMetric,
    GaussianShapeMetric,
    ProcessShapeMetric,
    ProcrustesShapeMetric,
    WassersteinShapeMetric,
    cross,
    pairwise,
)
from repshape._native import PairResults
from repshape.engine.chunks import FIRST_QUANTITIES
from repshape.engine.polish import SAME, _gap
from repshape.engine.store import Store
from repshape.errors import StorageError
from repshape.metrics.base import in_one_space

FloatArray = npt.NDArray[np.float64]
pytestmark = pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")


def unrelated(count: int, seed: int = 0, M: int = 9) -> dict[str, Any]:
    """Networks of 3 to 6 neurons that share nothing."""
    rng = np.random.default_rng(seed)
    found = {}
    for k in range(count):
        n = int(rng.integers(3, 7))
        A = rng.normal(size=(M, n, n)) * np.exp(-np.arange(n) / 3)
        found[f"n{k}"] = (rng.normal(size=(M, n)), A @ A.transpose(0, 2, 1) / n)
    return found


def trials(count: int, *positions: int) -> list[FloatArray]:
    """Responses of 4 neurons to 5 conditions, with means, in 30 trials."""
    rng = np.random.default_rng(count)
    means = 2 * rng.normal(size=(count, 5, 1, *positions, 4))
    return list(means + rng.normal(size=(count, 5, 30, *positions, 4)))


def alone(networks: list[Any], metric: Any) -> FloatArray:
    """Return the distances pair by pair, in the space of the largest network."""
    placed = in_one_space(metric, networks)
    i, j = np.triu_indices(len(networks), 1)
    pairs = zip(i, j, strict=True)
    return np.array([placed.distance(networks[a], networks[b]) for a, b in pairs])


CASES = [
    *(
        (GaussianShapeMetric(alpha, group=group), list(unrelated(5).values()))
        for alpha in (0.0, 1.0)
        for group in ("orthogonal", "rotation", "permutation", "soft")
    ),
    (EnergyShapeMetric(), trials(4)),
    (WassersteinShapeMetric(), trials(3)),
    (ProcrustesShapeMetric(), trials(4)),
    (ProcessShapeMetric(mode="causal"), trials(3, 3)),
    (ConvShapeMetric(shifts=True), trials(3, 2, 2)),
]


@pytest.mark.parametrize(("metric", "networks"), CASES)
def test_without_the_polish_a_matrix_has_the_bits_of_its_pairs(metric: Any, networks: Any) -> None:
    expected = alone(networks, metric)
    raw = pairwise(networks, metric, polish=False)
    np.testing.assert_array_equal(raw.condensed(), expected)
    polished = pairwise(networks, metric)
    assert (polished.condensed() <= expected).all()
    block = np.asarray(cross(networks[:2], networks[2:], metric))
    np.testing.assert_array_equal(block, raw.values[:2, 2:])


def test_the_first_layer_of_a_store_has_the_bits_of_the_pairs(tmp_path: Path) -> None:
    networks = unrelated(10)
    metric = GaussianShapeMetric(0.0)
    expected = alone(list(networks.values()), metric)
    D = pairwise(networks, metric, store=tmp_path / "s", tile=4)
    first = Store(tmp_path / "s").entries(0).distance[np.triu_indices(10, 1)]
    np.testing.assert_array_equal(first, expected)
    assert (D.condensed() <= expected).all()


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_grown_in_three_steps_the_search_of_pairs_is_that_of_a_fresh_store(
    tmp_path: Path, alpha: float
) -> None:
    every, metric = unrelated(12, seed=1), GaussianShapeMetric(alpha)
    before: DistanceMatrix | None = None
    for count in (5, 8, 12):
        networks = dict(list(every.items())[:count])
        D = pairwise(networks, metric, store=tmp_path / "grown", tile=3)
        if before is not None:
            assert (D[list(before.labels)].values <= before.values).all()
        before = D
    pairwise(every, metric, store=tmp_path / "fresh", tile=5)
    grown, fresh = (Store(tmp_path / name).entries(0) for name in ("grown", "fresh"))
    for name in vars(fresh):
        np.testing.assert_array_equal(getattr(grown, name), getattr(fresh, name))
    assert (D.values <= grown.distance).all()


def as_of_0_2(store: Path, monkeypatch: pytest.MonkeyPatch, networks: Any, metric: Any) -> None:
    """Make a store of brief searches in the form that repshape 0.2 wrote, without gaps."""
    monkeypatch.setattr("repshape.engine.growth.QUANTITIES", FIRST_QUANTITIES)
    pairwise(networks, metric, store=store, effort="brief", tile=4)
    monkeypatch.undo()
    content = json.loads((store / "zarr.json").read_text())
    for name in ("kind", "rows", "seal", "quantities"):
        content["attributes"].pop(name, None)
    content["attributes"]["version"] = 4
    (store / "zarr.json").write_text(json.dumps(content))


def test_a_store_of_brief_searches_from_before_is_read_and_continued_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks, metric = unrelated(9, seed=2), GaussianShapeMetric(0.0)
    as_of_0_2(tmp_path / "s", monkeypatch, networks, metric)
    old = DistanceMatrix.load(tmp_path / "s")
    expected = pairwise(networks, metric, effort="brief")
    np.testing.assert_array_equal(old.values, expected.values)
    np.testing.assert_array_equal(old.n_agreeing, expected.n_agreeing)
    assert old.description["effort"] == "brief"
    assert old.gaps is not None
    assert np.isnan(old.gaps[np.triu_indices(9, 1)]).all()  # not known
    for asked in (networks, dict(list(networks.items())[:3]), unrelated(10, seed=2)):
        with pytest.raises(StorageError, match="Pass effort='brief'"):
            pairwise(asked, metric, store=tmp_path / "s")
    again = pairwise(networks, metric, store=tmp_path / "s", effort="brief")
    np.testing.assert_array_equal(again.values, old.values)
    grown = pairwise(unrelated(10, seed=2), metric, store=tmp_path / "s", effort="brief")
    assert (grown[list(old.labels)].values <= old.values).all()
    assert grown.gaps is not None
    assert np.isfinite(grown.gaps[:9, 9]).all()  # of the new pairs
    tile = tmp_path / "s" / "tiles"
    assert not tile.exists()


def test_a_missing_tile_of_an_older_store_is_written_in_its_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks, metric = unrelated(6, seed=3), GaussianShapeMetric(0.0)
    as_of_0_2(tmp_path / "s", monkeypatch, networks, metric)
    old = DistanceMatrix.load(tmp_path / "s")
    files = [one for one in (tmp_path / "s" / "tiles").rglob("*") if one.is_file()]
    next(one for one in files if one.name != "zarr.json").unlink()
    again = pairwise(networks, metric, store=tmp_path / "s", effort="brief")
    np.testing.assert_array_equal(again.values, old.values)


def test_gaps_are_carried_from_the_search_to_files(tmp_path: Path) -> None:
    networks, metric = unrelated(5, seed=4), GaussianShapeMetric(0.0)
    cohort = Cohort.from_networks(networks)
    D = pairwise(cohort, metric, polish=False, store=tmp_path / "s", tile=2)
    i, j = np.triu_indices(5, 1)
    found = [metric.align(cohort[a], cohort[b]).gap for a, b in zip(i, j, strict=True)]
    assert D.gaps is not None
    np.testing.assert_array_equal(D.gaps[i, j], found)
    D.save(tmp_path / "d.npz")
    for path in ("d.npz", "s"):
        np.testing.assert_array_equal(DistanceMatrix.load(tmp_path / path).gaps, D.gaps)


def slow_gap(before: float, old: float, new: float, gap: float) -> float:
    """Return the gap to the next of all optima that are known."""
    optima = {old, new, *([old * (1 + before)] if before > 0 else [])}
    optima |= {new * (1 + gap)} if gap > 0 and np.isfinite(new) else set()
    best = min(optima)
    others = [one / best - 1 for one in optima if one > best * (1 + SAME) and np.isfinite(one)]
    return min(others, default=0.0)


@pytest.mark.parametrize("before", [0.0, 0.05])
@pytest.mark.parametrize("new", [0.9, 1.0, 1.02, 1.2, np.inf])
@pytest.mark.parametrize("gap", [0.0, 0.03])
def test_the_gap_is_that_to_the_second_best_of_all_optima(
    before: float, new: float, gap: float
) -> None:
    """What a composition ended in may be a new best, the same, or another optimum."""
    one, old = np.ones(1), np.ones(1)
    found = PairResults(new * one, one, one == 1, one, one, gap=gap * one)
    other, same = found.distance < (1 - SAME) * old, np.abs(found.distance - old) <= SAME * old
    result = _gap(before * one, old, found, other, same)
    assert result[0] == pytest.approx(slow_gap(before, 1.0, new, gap), rel=1e-12)


def test_a_gap_that_is_not_known_stays_so_until_another_optimum_is_found() -> None:
    one, nan = np.ones(1), np.full(1, np.nan)
    no = np.zeros(1, dtype=bool)
    for new, expected in ((1.0, np.nan), (1.2, 0.2)):
        found = PairResults(new * one, one, one == 1, one, one, gap=0 * one)
        result = _gap(nan, one, found, no, np.array([new == 1.0]))
        np.testing.assert_allclose(result, expected)
