"""How many starts agree on each distance: counted, kept, saved, and warned of when it was one."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from repshape import Cohort, DistanceMatrix, GaussianShapeMetric, pairwise
from repshape.cli import run
from repshape.engine.effort import BRIEF_STARTS, MOST_HUBS, Effort
from repshape.engine.store import Store
from repshape.errors import InputError, SearchWarning, StorageError
from scale_support import make_cohort

METRIC = GaussianShapeMetric(alpha=0.0)
COUNTS = ("n_starts", "n_agreeing", "n_composed", "gaps")


def relatives(count: int, noise: float, seed: int = 0, M: int = 20, n: int = 6) -> list[Any]:
    """Rotated copies of one network, each with a perturbation of its covariances."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(M, n, n))
    networks = []
    for _ in range(count):
        factors = base + noise * rng.normal(size=base.shape)
        factors = np.linalg.qr(rng.normal(size=(n, n)))[0] @ factors
        S = factors @ factors.transpose(0, 2, 1)
        networks.append((np.zeros((M, n)), (S + S.transpose(0, 2, 1)) / 2))
    return networks


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return Cohort.from_networks(relatives(9, 1.0), [str(k) for k in range(9)])


@pytest.fixture(scope="module")
def polished(cohort: Cohort) -> DistanceMatrix:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)
        return pairwise(cohort, METRIC)


def assert_same(D: DistanceMatrix, expected: DistanceMatrix) -> None:
    np.testing.assert_array_equal(D.values, expected.values)
    for name in COUNTS:
        np.testing.assert_array_equal(getattr(D, name), getattr(expected, name))


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_counts_are_those_of_the_search() -> None:
    networks = relatives(4, 1.0)
    D = pairwise(networks, GaussianShapeMetric(0.0, n_starts=6), polish=False)
    prepared = [METRIC.prepare(one) for one in networks]
    i, j = np.triu_indices(4, 1)
    found = GaussianShapeMetric(0.0, n_starts=6).solve_pairs(prepared, np.column_stack([i, j]))
    assert D.agreement is not None
    np.testing.assert_array_equal(D.agreement[i, j], found.n_agreeing / found.n_starts)
    np.testing.assert_array_equal(D.agreement, D.agreement.T)
    np.testing.assert_array_equal(D.agreement.diagonal(), 1.0)
    assert set(np.unique(D.n_starts)) == {1, 6}


def test_callables_have_no_starts() -> None:
    D = pairwise([1.0, 2.0], lambda x, y: abs(x - y))
    assert D.agreement is None
    assert D.n_doubtful == 0


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_a_composed_alignment_has_no_start_of_its_own(polished: DistanceMatrix) -> None:
    """A pair that became shorter by more than the search distinguishes was not found by itself."""
    single = GaussianShapeMetric(0.0, n_starts=1)
    networks = relatives(9, 1.0)
    raw, D = (pairwise(networks, single, polish=polish) for polish in (False, True))
    other = D.values < (1 - 3e-4) * raw.values
    assert other.any()
    assert D.n_agreeing is not None
    assert D.n_composed is not None
    assert D.agreement is not None
    assert (D.n_agreeing[other] == 0).all()
    assert (D.agreement[other] == 0.0).all()
    assert (D.n_composed[other] >= 1).all()
    assert (D.agreement[~other] == 1.0).all()
    # The full search and the compositions end where it does.
    assert (polished.values <= (1 + 1e-6) * D.values).mean() > 0.95


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_counts_are_the_same_in_tiles_and_stores(
    cohort: Cohort, polished: DistanceMatrix, tmp_path: Path, workers: int
) -> None:
    D = pairwise(cohort, METRIC, store=tmp_path / "s", tile=5, workers=workers)
    assert_same(D, polished)
    assert_same(DistanceMatrix.load(tmp_path / "s"), polished)


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_saving_and_choosing_networks_keeps_the_counts(
    polished: DistanceMatrix, tmp_path: Path
) -> None:
    polished.save(tmp_path / "d.npz")
    assert_same(DistanceMatrix.load(tmp_path / "d.npz"), polished)
    chosen = polished[["3", "1", "7"]]
    assert polished.agreement is not None
    np.testing.assert_array_equal(
        chosen.agreement, polished.agreement[np.ix_([3, 1, 7], [3, 1, 7])]
    )
    assert polished.replace(labels=list("abcdefghi")).n_starts is not None
    assert polished.replace(values=2 * polished.values).n_starts is None


def test_pairs_that_are_missing_have_no_agreement(cohort: Cohort, tmp_path: Path) -> None:
    D = pairwise(cohort, METRIC, store=tmp_path / "s", tile=5, shard="1/2")
    assert D.agreement is not None
    np.testing.assert_array_equal(np.isnan(D.agreement), np.isnan(D.values))


def doubtful(n_agreeing: int, bound: float = 0.0) -> DistanceMatrix:
    """A pair of networks with eight starts."""
    ones = np.ones((2, 2), dtype=int)
    return DistanceMatrix(
        [[0.0, 1.0], [1.0, 0.0]],
        lower_bounds=[[0.0, bound], [bound, 0.0]],
        n_starts=8 * ones,
        n_agreeing=n_agreeing * ones,
    )


def test_what_is_doubtful() -> None:
    assert doubtful(1).n_doubtful == 1
    assert doubtful(2).n_doubtful == 1
    assert doubtful(3).n_doubtful == 0
    assert doubtful(1, bound=1.0).n_doubtful == 0  # proven
    two = np.full((2, 2), 2)
    assert doubtful(0).replace(n_composed=two // 2).n_doubtful == 1
    assert doubtful(0).replace(n_composed=two).n_doubtful == 1
    assert doubtful(0).replace(n_composed=two + 1).n_doubtful == 0
    assert doubtful(1).replace(n_starts=two).n_doubtful == 0  # too few to tell


def test_one_warning_for_a_matrix() -> None:
    """Networks without structure: random starts end in many optima."""
    networks = relatives(5, 30.0, n=8)
    metric = GaussianShapeMetric(0.0, n_starts=8)
    with pytest.warns(SearchWarning, match=r"^\d+ of 10 pairs may be longer than necess") as caught:
        D = pairwise(networks, metric, polish=False)
    assert [one.filename for one in caught] == [__file__]
    assert str(caught[0].message).startswith(f"{D.n_doubtful} of 10")
    assert D.possible_excess is not None
    i, j = np.argwhere(D.possible_excess != 0)[0]
    with pytest.warns(SearchWarning, match=r"was found by [12] starts? of 8 only"):
        metric.align(networks[i], networks[j])


def test_easy_networks_are_no_reason_to_warn() -> None:
    """Warnings are errors here."""
    rng = np.random.default_rng(0)
    networks = rng.normal(size=(9, 6, 1, 3)) + 0.1 * rng.normal(size=(9, 6, 20, 3))
    assert pairwise(networks, GaussianShapeMetric()).n_doubtful == 0
    assert GaussianShapeMetric().align(networks[0], networks[1]).agreement > 0.2


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_a_store_keeps_the_effort_that_it_was_made_with(
    cohort: Cohort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("repshape.engine.effort.BRIEF_STARTS", 2)
    monkeypatch.setattr("repshape.engine.effort.MOST_HUBS", 3)
    expected = pairwise(cohort, METRIC, effort="brief")
    pairwise(cohort, METRIC, store=tmp_path / "s", tile=5, shard="1/2", effort="brief")
    monkeypatch.undo()
    assert Store(tmp_path / "s").effort == Effort(brief=2, hubs=3, exact=True)
    with pytest.raises(StorageError, match="with effort='brief', and this run asks for 'full'"):
        pairwise(cohort, METRIC, store=tmp_path / "s")
    assert_same(pairwise(cohort, METRIC, store=tmp_path / "s", effort="brief"), expected)


def test_a_brief_store_that_waits_for_the_polish_says_so(cohort: Cohort, tmp_path: Path) -> None:
    for shard in ("1/2", "2/2"):
        pairwise(cohort, METRIC, store=tmp_path / "s", tile=5, shard=shard, effort="brief")
    with pytest.warns(SearchWarning, match="is not finished: its pairs were searched briefly"):
        assert DistanceMatrix.load(tmp_path / "s").complete
    pairwise(cohort, METRIC, store=tmp_path / "f", effort="brief", polish=False)
    assert DistanceMatrix.load(tmp_path / "f").complete  # as it was asked for: no warning


def test_pairs_are_searched_briefly_only_if_the_caller_asks_for_it() -> None:
    assert Effort.of(METRIC, 6) == Effort(exact=True)
    assert Effort.of(METRIC, 6, "brief") == Effort(brief=BRIEF_STARTS, exact=True)
    assert Effort.of(METRIC, 1000).hubs < MOST_HUBS
    assert Effort.of(GaussianShapeMetric(n_starts=3), 6, "brief") == Effort()
    assert Effort.of(GaussianShapeMetric(group="permutation"), 6, "brief").brief is None
    with pytest.raises(InputError, match=r"'effort' parameter must be .* Got 'short'"):
        pairwise(relatives(2, 1.0), METRIC, effort="short")  # type: ignore[arg-type]


def test_info_and_the_command_line_tell_the_agreement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cohort = make_cohort(tmp_path / "c", 9)
    out = str(tmp_path / "d")
    assert run(["pairwise", str(cohort.path), "-o", out, "--alpha", "0", "--json"]) == 0
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    D = DistanceMatrix.load(out)
    assert D.agreement is not None
    assert told["median_agreement"] == np.median(D.agreement[np.triu_indices(9, 1)])
    assert told["doubtful_pairs"] == D.n_doubtful
    assert f"{100 * told['median_agreement']:.0f} % of the starts" in captured.err
    assert run(["info", out]) == 0
    assert "% of the starts found the best optimum" in capsys.readouterr().err
