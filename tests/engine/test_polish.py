"""Polish: distances only fall, no triangle stays violated, and the report says what changed."""

from __future__ import annotations

from functools import wraps
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from repshape import GaussianShapeMetric, ProcrustesShapeMetric, pairwise
from repshape.datasets import toy_networks
from repshape.engine import job
from repshape.engine.plan import Plan
from repshape.engine.polish import can_polish, count_violations, shortest_detours, summarise
from repshape.engine.store import Store
from repshape.errors import InputError

FloatArray = npt.NDArray[np.float64]


def noisy_copies(count: int, sizes: tuple[int, ...], seed: int) -> list[Any]:
    """Networks that share their covariances up to noise and rotation: many local optima."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(5, max(sizes), 8))
    networks = []
    for k in range(count):
        n = sizes[k % len(sizes)]
        factors = base[:, :n] + 0.2 * rng.normal(size=(5, n, 8))
        factors = np.linalg.qr(rng.normal(size=(n, n)))[0] @ factors
        S = factors @ factors.transpose(0, 2, 1)
        networks.append((rng.normal(size=(5, n)), (S + S.transpose(0, 2, 1)) / 2))
    return networks


def violated(D: FloatArray) -> int:
    """Count triangles one by one."""
    slack = 1e-9 * D.max()
    triples = permutations(range(len(D)), 3)
    return sum(D[i, j] > D[i, k] + D[k, j] + slack for i, k, j in triples if i < j)


@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation"])
@pytest.mark.parametrize("sizes", [(4,), (2, 6), (3, 4, 6)])
def test_no_triangle_stays_violated_and_no_distance_grows(
    group: str, sizes: tuple[int, ...]
) -> None:
    networks = noisy_copies(12, sizes, seed=len(sizes))
    metric = GaussianShapeMetric(alpha=0.0, n_starts=1, group=group)
    raw = pairwise(networks, metric, polish=False)
    D = pairwise(networks, metric)
    assert (D.values <= raw.values).all()
    assert violated(D.values) == 0
    report = D.description["polish"]
    assert report["violated_triangles_before"] == violated(raw.values)
    assert report["violated_triangles_after"] == 0
    gains = raw.condensed() - D.condensed()
    assert report["pairs_improved"] == (gains > 1e-9 * raw.values.max()).sum()
    assert report["total_before"] == raw.condensed().sum()
    assert report["total_after"] == D.condensed().sum()
    assert D.lower_bounds is not None
    assert (D.lower_bounds <= D.values).all()


def test_a_bad_start_is_improved() -> None:
    networks = noisy_copies(12, (4,), seed=1)
    single = GaussianShapeMetric(alpha=0.0, n_starts=1)
    raw, D = (pairwise(networks, single, polish=polish) for polish in (False, True))
    assert violated(raw.values) > 0
    best = pairwise(networks, GaussianShapeMetric(alpha=0.0, n_starts=40), polish=False)
    assert D.values.sum() < 0.5 * (raw.values.sum() + best.values.sum())


def test_certified_pairs_are_not_solved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    original = GaussianShapeMetric.solve_pairs

    @wraps(original)
    def counting(self: Any, prepared: Any, pairs: Any, **options: Any) -> Any:
        calls.extend([len(pairs)] * (options.get("starts") is not None))
        return original(self, prepared, pairs, **options)

    monkeypatch.setattr(GaussianShapeMetric, "solve_pairs", counting)
    D = pairwise(noisy_copies(6, (3,), seed=0), GaussianShapeMetric(alpha=2.0))
    assert D.description["polish"]["pairs_improved"] == 0
    assert sum(calls) == 0  # at alpha 2 the bound is the distance


def test_rounding_is_no_gain() -> None:
    """Half of 1e-16 is not a shorter distance."""
    before = np.array([[0.0, 1.0, 2e-16], [1.0, 0.0, 1.0], [2e-16, 1.0, 0.0]])
    after = np.array([[0.0, 0.9, 1e-16], [0.9, 0.0, 1.0], [1e-16, 1.0, 0.0]])
    report = summarise(before, after, left=0)
    assert report["pairs_improved"] == 1
    assert report["largest_gain"] == pytest.approx(0.1)


def test_pairs_that_are_solved_exactly_stay_as_they_are() -> None:
    """In the plane, the search covers all angles."""
    toy = toy_networks()
    D, raw = (pairwise(toy, GaussianShapeMetric(0.0), polish=polish) for polish in (True, False))
    np.testing.assert_array_equal(D.values, raw.values)
    assert D.description["polish"]["pairs_improved"] == 0


def test_metrics_that_are_polished() -> None:
    assert can_polish(GaussianShapeMetric())
    assert not can_polish(GaussianShapeMetric(group="identity"))
    assert not can_polish(np.hypot)


@pytest.mark.parametrize("metric", [ProcrustesShapeMetric(), np.hypot])
def test_alignments_need_a_metric_that_keeps_them(metric: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs a metric that keeps transforms"):
        pairwise(noisy_copies(3, (2,), seed=0), metric, store=tmp_path / "s", alignments="float32")
    assert not (tmp_path / "s").exists()


def test_polish_on_disk_keeps_both_matrices(tmp_path: Path) -> None:
    networks = noisy_copies(9, (3, 4), seed=0)
    metric = GaussianShapeMetric(alpha=0.0, n_starts=1)
    raw = pairwise(
        networks, metric, store=tmp_path / "s", polish=False, alignments="float64", tile=3
    )
    D = pairwise(networks, metric, store=tmp_path / "s")
    assert D.values.sum() < raw.values.sum()
    np.testing.assert_array_equal(Store(tmp_path / "s").entries(0).distance, raw.values)


def test_detours_and_counts_match_a_loop() -> None:
    rng = np.random.default_rng(0)
    D = rng.uniform(0.1, 1.0, size=(9, 9))
    D = np.triu(D, 1) + np.triu(D, 1).T
    pairs = Plan(9, 9).tiles[0].pairs
    sums, through = shortest_detours(D, pairs)
    for (i, j), found, via in zip(pairs, sums, through, strict=True):
        every = [(D[i, k] + D[k, j], k) for k in range(9) if k not in (i, j)]
        assert (found, via) == min(every)
    assert count_violations(D) == violated(D)


def test_a_polish_that_does_not_fit_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Too many alignments for a store, or for half of the memory."""
    networks = noisy_copies(4, (3,), seed=0)
    metric = GaussianShapeMetric(n_starts=1)
    monkeypatch.setattr(job, "LARGEST_STORE", 100)
    with pytest.warns(
        UserWarning, match=r"The polish is left out: its alignments would take"
    ) as caught:
        D = pairwise(networks, metric, store=tmp_path / "d.zarr")
    assert [one.filename for one in caught] == [__file__]
    assert D.complete
    assert "polish" not in D.description
    assert "polish" in pairwise(networks, metric).description
