"""What a run would cost: the estimate against a whole run, counted instead of timed."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from repshape import Cohort, GaussianShapeMetric, pairwise
from repshape.engine import estimate, threads
from repshape.engine.estimate import count_preparations, estimate_cost, sample_networks
from repshape.engine.footprint import transform_bytes
from repshape.engine.job import Run
from repshape.engine.plan import Settings
from repshape.engine.run import plan_pairwise

# Some pairs of these small networks are found once only.
pytestmark = pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
METRIC = GaussianShapeMetric(alpha=0.5)
PREPARING, RATING = 7.0, 0.25


def networks(count: int, seed: int = 0) -> Cohort:
    """Unrelated networks of 3 to 6 neurons: many pairs are searched at length."""
    rng = np.random.default_rng(seed)
    cohort = Cohort()
    for k in range(count):
        n = 3 + k % 4
        roots = rng.normal(size=(5, n, n))
        cohort.add(f"n{k}", (rng.normal(size=(5, n)), roots @ roots.transpose(0, 2, 1)))
    return cohort


def plan(cohort: Any, metric: Any = METRIC, store: Path | None = None, **options: Any) -> Run:
    names = {"": None if isinstance(metric, GaussianShapeMetric) else "mine"}
    settings = Settings.checked(**({"workers": 1} | options))
    return plan_pairwise(cohort, {"": metric}, names, None, None, store, settings)


class Counter:
    """A clock that advances with the work that is done, by numbers that are known."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.searched = 0.0
        monkeypatch.setattr(estimate, "thread_time", lambda: self.now)
        solve, rate = GaussianShapeMetric.solve_pairs, GaussianShapeMetric.rate_starts
        prepare = threads.PreparedCache._prepare

        @wraps(solve)
        def solving(metric: Any, prepared: Any, pairs: Any, **given: Any) -> Any:
            # As many gradients as there are starts, each of a cost that grows with the sizes.
            found = solve(metric, prepared, pairs, **given)
            sizes = [prepared[i].native.neurons * prepared[j].native.neurons for i, j in pairs]
            starts = given.get("starts")
            counts = found.n_starts if starts is None else [len(one) for one in starts]
            cost = float(np.dot(sizes, counts))
            self.now += cost
            self.searched += cost if starts is None else 0.0
            return found

        def rating(metric: Any, prepared: Any, pairs: Any, starts: Any) -> Any:
            self.now += RATING * sum(map(len, starts))
            return rate(metric, prepared, pairs, starts)

        def preparing(cache: Any, index: int) -> Any:
            self.now += PREPARING
            return prepare(cache, index)

        monkeypatch.setattr(GaussianShapeMetric, "solve_pairs", solving)
        monkeypatch.setattr(GaussianShapeMetric, "rate_starts", rating)
        monkeypatch.setattr(threads.PreparedCache, "_prepare", preparing)


def test_each_stage_of_a_run_is_extrapolated(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Counter(monkeypatch)
    monkeypatch.setattr(estimate, "BUDGET_SECONDS", 1e9)
    cohort = networks(50)
    found = estimate_cost(plan(cohort))
    assert (found.n_pairs, found.n_known) == (1225, 0)
    assert (found.n_sampled, found.n_sampled_pairs) == (16, 120)
    assert found.preparing == PREPARING * 50
    assert found.writing == found.disk == 0
    clock.now = clock.searched = 0.0
    pairwise(cohort, METRIC, workers=1)
    assert found.searching == pytest.approx(clock.searched, rel=0.1)
    polishing = clock.now - clock.searched - PREPARING * 50
    assert found.polishing == pytest.approx(polishing, rel=0.33)
    assert found.cpu_seconds == pytest.approx(clock.now, rel=0.33)


def test_costly_pairs_are_sampled_sparingly(monkeypatch: pytest.MonkeyPatch) -> None:
    Counter(monkeypatch)
    monkeypatch.setattr(estimate, "BUDGET_SECONDS", 1e-9)
    found = estimate_cost(plan(networks(50)))
    assert (found.n_sampled, found.n_sampled_pairs) == (4, 6)


def test_workers_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    Counter(monkeypatch)
    one, four = (estimate_cost(plan(networks(12), workers=workers)) for workers in (1, 4))
    assert four.cpu_seconds == one.cpu_seconds
    assert four.seconds == one.seconds / 4


def test_pairs_that_a_store_has_are_not_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Counter(monkeypatch)
    cohort, store = networks(20), tmp_path / "s"
    before = estimate_cost(plan(cohort, store=store))
    assert not store.exists()  # nothing is written
    pairwise(cohort[[f"n{k}" for k in range(15)]], METRIC, store=store)
    after = estimate_cost(plan(cohort, store=store))
    assert (before.n_pairs, before.n_known) == (190, 0)
    assert (after.n_pairs, after.n_known) == (190, 105)
    assert after.searching == pytest.approx(before.searching * 85 / 190)
    assert after.lines()[0] == "190 pairs, of which 105 are known already"
    pairwise(cohort, METRIC, store=store)
    assert estimate_cost(plan(cohort, store=store)).searching == 0
    some = cohort[["n3", "n4"]]  # a selection: nothing is left to do
    assert estimate_cost(plan(some, store=store)).cpu_seconds == 0


@pytest.mark.parametrize("options", [{}, {"polish": False}, {"alignments": "float64", "tile": 7}])
def test_the_size_of_a_store(tmp_path: Path, options: dict[str, Any]) -> None:
    cohort, store = networks(30), tmp_path / "s"
    found = estimate_cost(plan(cohort, store=store, **options))
    pairwise(cohort, METRIC, store=store, **options)
    size = sum(file.stat().st_size for file in store.rglob("c/**/*") if file.is_file())
    assert 1 / 1.5 < found.disk / size < 1.5


def test_the_sample_has_the_sizes_of_the_cohort() -> None:
    sizes = np.repeat([4, 8, 50], [60, 30, 10])
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(sizes)
    chosen = shuffled[sample_networks(shuffled, 10)]
    assert sorted(chosen.tolist()) == [4] * 6 + [8] * 3 + [50]
    assert sample_networks(shuffled[:3], 10).tolist() == [0, 1, 2]


def test_transforms_of_all_pairs_are_counted() -> None:
    sizes = np.array([3, 1, 4, 1, 5])
    pairs = [(i, j) for j in range(5) for i in range(j)]
    assert transform_bytes(sizes, 4) == 4 * sum(int(sizes[i] * sizes[j]) for i, j in pairs)


def test_networks_that_do_not_fit_are_prepared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as a run does."""
    prepared: list[int] = []
    original = threads.PreparedCache._prepare

    def counting(self: Any, index: int) -> Any:
        prepared.append(index)
        return original(self, index)

    cohort, options = networks(30), {"polish": False, "memory": "40k"}
    (job,) = plan(cohort, **options).jobs
    edge = job.form("").edge
    assert edge < 10
    expected = count_preparations(job, edge, 1)
    assert expected > 60
    monkeypatch.setattr(threads.PreparedCache, "_prepare", counting)
    pairwise(cohort, METRIC, workers=1, polish=False, memory="40k")
    assert len(prepared) == expected


def test_callables_are_estimated_too() -> None:
    def gap(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> float:
        return float(abs(x.sum() - y.sum()))

    points = [np.full((2, 3), float(k)) for k in range(9)]
    found = estimate_cost(plan(points, gap))
    assert (found.n_pairs, found.n_sampled_pairs, found.polishing) == (36, 36, 0.0)
    assert "estimated from 36 pairs of 9 networks, solved just now" in found.lines()
