"""Whole cohorts: matrices with intervals and floors, and what else explains distances."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import repshape as rs
from repshape.errors import InputError
from repshape.inference.confounds import network_norm

FloatArray = npt.NDArray[np.float64]
METRIC = rs.GaussianShapeMetric(n_starts=4, tol=1e-6)


def networks(gains: list[float], L: int = 12, spread: float = 0.0) -> list[FloatArray]:
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
    pair = networks([1.0, 1.5])
    one, two = (rs.inference.matrix(pair, METRIC, n_splits=2, workers=w) for w in (1, 3))
    for name in ("low", "high", "floors"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


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
    assert network_norm(x, metric) == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_gain_alone_is_found_in_norms_and_not_in_angles() -> None:
    cohort = networks([1.0] * 6 + [1.6] * 6, spread=0.2)
    found = rs.inference.confounds(cohort, METRIC, labels=["low"] * 6 + ["high"] * 6)
    assert found.tests["distances"].p_value < 0.01
    assert found.tests["norms"].p_value < 0.01
    assert found.tests["angles"].p_value > 0.05
    assert found.gain_share_between > 0.5 > found.gain_share_within
    assert "in angles, which ignore gain" in str(found)


def test_unequal_and_few_trials_are_said() -> None:
    few, many = networks([1.0] * 2, L=4), networks([1.0] * 2, L=12)
    found = rs.inference.confounds([*few, *many], METRIC, labels=["p", "p", "q", "q"])
    assert found.networks["trials_per_dimension"].tolist() == pytest.approx([4 / 3] * 2 + [4] * 2)
    assert "2 of 4 networks have fewer than 2 trials per dimension." in str(found)
    assert "median p 4, q 12" in str(found)
    assert 0 < found.floor_share < 1.5


def test_moments_without_trials_have_no_floor() -> None:
    found = rs.inference.confounds([rs.estimate_moments(x) for x in networks([1.0, 2.0])], METRIC)
    assert np.isnan(found.floor_share)
    assert "Noise alone" not in str(found)


def test_confounds_refuse_other_distances() -> None:
    pair = networks([1.0, 2.0])
    with pytest.raises(InputError, match="do not agree with the norms"):
        rs.inference.confounds(pair, METRIC, D=[[0.0, 99.0], [99.0, 0.0]])
    with pytest.raises(InputError, match=r"matrix of 2 networks\. Got 3"):
        rs.inference.confounds(pair, METRIC, D=np.zeros((3, 3)))
    with pytest.raises(InputError, match="Network '1' has no response"):
        rs.inference.confounds([pair[0], 0.0 * pair[1]], METRIC)
