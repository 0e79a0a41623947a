"""Whole cohorts: matrices with intervals and floors, and what else explains distances."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import repshape as rs
from repshape.errors import InputError, StorageError
from repshape.inference.nested import NestedPlan

FloatArray = npt.NDArray[np.float64]
METRIC = rs.GaussianShapeMetric(n_starts=4, tol=1e-6)


def networks(gains: list[float], L: int = 16, spread: float = 0.0) -> list[FloatArray]:
    """Networks that share means up to a perturbation, and differ in gain."""
    rng = np.random.default_rng(0)
    means = 2.0 * rng.normal(size=(5, 1, 3))
    return [
        g * (means + spread * rng.normal(size=means.shape) + rng.normal(size=(5, L, 3)))
        for g in gains
    ]


@pytest.fixture(scope="module")
def cohort() -> rs.Cohort:
    frame = pd.DataFrame({"area": ["V1", "V1", "V4"]})
    return rs.Cohort.from_networks(networks([1.0, 1.0, 2.0]), ["a", "b", "c"], frame)


def test_matrix_holds_the_estimates_of_each_pair(cohort: rs.Cohort) -> None:
    found = rs.inference.matrix(cohort, METRIC, n_splits=6)
    assert found.matrix.labels == ("a", "b", "c")
    assert found.matrix.metadata["area"].tolist() == ["V1", "V1", "V4"]
    np.testing.assert_array_equal(found.plug_in.values, rs.pairwise(cohort, METRIC).values)
    one = rs.inference.distance(cohort["a"], cohort["b"], METRIC)
    assert found.matrix.values[0, 1] == pytest.approx(one.estimate, rel=1e-9)
    assert (found.low[0, 1], found.high[0, 1]) == pytest.approx(one.interval, rel=1e-9)
    assert found.low[0, 2] > 0
    floors = [rs.inference.floor(x, METRIC, n_splits=6).estimate for x in cohort]
    np.testing.assert_allclose(found.network_floors, floors)
    pair = rs.inference.floor(cohort["a"], METRIC, y=cohort["c"], n_splits=6)
    assert found.floors[0, 2] == pytest.approx(pair.estimate)
    assert found.to_frame().columns.tolist()[:5] == ["x", "y", "estimate", "low", "high"]
    assert "of 3 distances are above 0" in str(found)


def test_matrix_has_the_same_bits_for_any_number_of_workers() -> None:
    some = networks([1.0, 1.5, 1.2])
    one, *others = (rs.inference.matrix(some, METRIC, n_splits=2, workers=w) for w in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(one.matrix.values, other.matrix.values)
        for name in ("low", "high", "floors", "standard_errors"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_matrix_resumes_from_its_store_with_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run computes only what the first did not finish."""
    pair = {"a": networks([1.0])[0], "b": networks([1.0, 1.5])[1]}
    run = partial(rs.inference.matrix, pair, METRIC, n_splits=2, workers=1)
    whole = run()
    calls: list[Any] = []
    solve = NestedPlan.solve

    def counted(self: NestedPlan, task: Any) -> FloatArray:
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(task)
        return solve(self, task)

    monkeypatch.setattr(NestedPlan, "solve", counted)
    with pytest.raises(KeyboardInterrupt):
        run(store=tmp_path / "kept")
    monkeypatch.setattr(
        NestedPlan, "solve", lambda self, task: calls.append(task) or solve(self, task)
    )
    resumed = run(store=tmp_path / "kept")
    assert len(calls) == 6  # ways to divide the trials into quarters
    assert len(set(calls)) == 6
    again = run(store=tmp_path / "kept")
    assert len(calls) == 6
    for found in (resumed, again):
        for name in ("low", "high", "floors", "standard_errors"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
        np.testing.assert_array_equal(found.matrix.values, whole.matrix.values)
    with pytest.raises(StorageError, match="'random_state' was 0 and is 1"):
        run(store=tmp_path / "kept", random_state=1)
    with pytest.raises(StorageError, match=r"'alpha' was .* and is 0\.5"):
        rs.inference.matrix(pair, rs.GaussianShapeMetric(0.5), store=tmp_path / "kept")
    pair["b"] = pair["b"] + 1.0
    with pytest.raises(StorageError, match="responses of network 'b' have changed"):
        run(store=tmp_path / "kept")


@pytest.mark.filterwarnings("ignore")  # those of distributed are not ours
def test_matrix_on_a_dask_cluster_has_the_same_bits(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    pair = networks([1.0, 1.5])
    run = partial(rs.inference.matrix, pair, METRIC, n_splits=2)
    here = run(workers=1)
    cluster = distributed.LocalCluster(1, processes=False, dashboard_address=None)
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        there = run(scheduler=client, store=tmp_path / "kept")
    for name in ("low", "high", "floors"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))
    again = run(store=tmp_path / "kept", workers=1)  # nothing is left to compute
    np.testing.assert_array_equal(again.low, here.low)
    with pytest.raises(InputError, match="no Dask scheduler at 'nowhere://0'"):
        run(scheduler="nowhere://0")


def test_error_bars_are_saved_and_selected_with_their_matrix(
    cohort: rs.Cohort, tmp_path: Path
) -> None:
    found = rs.inference.matrix(cohort, METRIC, n_splits=2)
    D = found.matrix
    assert D.error_bars is found.error_bars
    D.save(tmp_path / "D.npz")
    loaded = rs.DistanceMatrix.load(tmp_path / "D.npz")
    assert loaded.error_bars is not None
    assert loaded.error_bars.header() == {"level": 0.9, "method": "calibrated"}
    for name, array in found.error_bars.arrays().items():
        np.testing.assert_array_equal(loaded.error_bars.arrays()[name], array)
    part = D[["a", "c"]]
    assert part.error_bars.low[0, 1] == found.low[0, 2]
    assert D.replace(values=2 * D.values).error_bars is None  # other distances have others
    assert D.replace(labels=["x", "y", "z"]).error_bars is found.error_bars
    with pytest.raises(
        InputError, match=r"ErrorBars for 3 networks\. Got ErrorBars for 2 networks"
    ):
        D.replace(error_bars=part.error_bars)


def test_summary_is_in_words(cohort: rs.Cohort) -> None:
    found = rs.inference.matrix(cohort, METRIC, n_splits=2)
    words = found.matrix.summary().splitlines()
    assert words[0] == "3 networks, 3 pairs, GaussianShapeMetric."
    assert words[1].startswith("Distances from ")
    assert words[1].split("(")[1].startswith("a and b")
    assert (
        words[2] == "Corrected for noise (calibrated): 2 of 3 distances are above 0 at level 0.9."
    )
    share = 100 * np.sum(found.floors**2) / np.sum(found.plug_in.values**2)
    assert words[3].startswith(f"Noise alone gives {share:.0f} %")
    assert "There are no error bars" in found.plug_in.summary()


def test_matrix_refuses_one_network() -> None:
    with pytest.raises(InputError, match=r"at least two networks\. Got 1"):
        rs.inference.matrix(networks([1.0]), METRIC)


@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.0, 2.0])
@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation", "identity"])
def test_squared_distance_is_gain_and_angle(alpha: float, group: str) -> None:
    """d^2 = (|x| - |y|)^2 + |x| |y| (2 - 2 cos), and the angle does not change with gain."""
    metric = rs.GaussianShapeMetric(alpha, group=group)
    x, y = networks([1.0, 1.0], spread=0.5)
    found = rs.inference.confounds([x, y], metric)
    norms = found.networks["norm"].to_numpy()
    parts = found.gains.values[0, 1] ** 2 + norms[0] * norms[1] * found.angles.values[0, 1] ** 2
    assert parts == pytest.approx(metric.distance(x, y) ** 2)
    scaled = rs.inference.confounds([x, 3.0 * y], metric)
    assert scaled.angles.values[0, 1] == pytest.approx(found.angles.values[0, 1], rel=1e-6)
    nothing = rs.Gaussians.points(np.zeros((5, 3)))
    assert norms[0] == pytest.approx(metric.distance(x, nothing))


def test_norm_is_taken_after_preprocessing() -> None:
    x = rs.Trials(networks([5.0])[0])
    metric = rs.GaussianShapeMetric(preprocess=rs.Preprocess(scale=True))
    assert metric._norm(x) == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_gain_alone_is_found_in_norms_and_not_in_angles() -> None:
    cohort = networks([1.0] * 6 + [1.6] * 6, spread=0.2)
    found = rs.inference.confounds(cohort, METRIC, labels=["low"] * 6 + ["high"] * 6)
    assert found.tests["distances"].p_value < 0.01
    assert found.tests["norms"].p_value < 0.01
    assert found.tests["angles"].p_value > 0.05
    assert found.gain_share_between > 0.5 > found.gain_share_within
    assert "gain? No evidence" in str(found)


def test_unequal_and_few_trials_are_said() -> None:
    few, many = networks([1.0] * 2, L=4), networks([1.0] * 2, L=16)
    with (
        pytest.warns(rs.inference.UnequalTrialsWarning, match="median p 4, q 16") as got,
        pytest.warns(rs.inference.FewTrialsWarning, match="2 of 4 networks"),
    ):
        found = rs.inference.confounds([*few, *many], METRIC, labels=["p", "p", "q", "q"])
    assert {one.filename for one in got} == {__file__}
    assert found.networks["trials_per_dimension"].tolist() == pytest.approx(
        [4 / 3] * 2 + [16 / 3] * 2
    )
    assert "2 of 4 networks have fewer than 2 trials per dimension: at worst 4" in str(found)
    assert "median p 4, q 16" in str(found)
    assert 0 < found.floor_share < 1.5


def test_moments_without_trials_have_no_floor() -> None:
    found = rs.inference.confounds([rs.estimate_moments(x) for x in networks([1.0, 2.0])], METRIC)
    assert np.isnan(found.floor_share)
    assert "Noise alone" not in str(found)


@pytest.mark.filterwarnings("ignore::repshape.errors.SilentNetworkWarning")
def test_confounds_refuse_other_distances() -> None:
    pair = networks([1.0, 2.0])
    with pytest.raises(InputError, match="do not agree with the norms"):
        rs.inference.confounds(pair, METRIC, D=[[0.0, 99.0], [99.0, 0.0]])
    with pytest.raises(InputError, match=r"matrix of 2 networks\. Got 3"):
        rs.inference.confounds(pair, METRIC, D=np.zeros((3, 3)))
    with pytest.raises(InputError, match="Network '1' has no response"):
        rs.inference.confounds([pair[0], 0.0 * pair[1]], METRIC)
