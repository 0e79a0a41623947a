"""Distances of resampled networks: warm starts, shared networks, and many neurons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import repshape as rs
from repshape.inference.terms import _carried, make_terms
from repshape.solvers.starts import random_orthogonal

FloatArray = npt.NDArray[np.float64]
N_NEURONS = 17_000


def similar(seed: int = 0, n: int = 3) -> tuple[FloatArray, FloatArray]:
    """Two networks with an unambiguous best alignment: distinct means, and little noise."""
    rng = np.random.default_rng(seed)
    means = 3.0 * rng.normal(size=(5, 1, n))
    x, y = means + rng.normal(size=(2, 5, 6, n)) * np.array([1.0, 0.5])[:, None, None, None]
    return x, y


@pytest.mark.filterwarnings("ignore::repshape.inference.FewTrialsWarning")
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("bootstrap", {"n_resamples": 3}),
        ("jackknife", {"n_groups": 3}),
        ("halves", {"n_groups": 6}),
    ],
)
def test_intervals_of_many_neurons_are_those_of_the_few_that_they_span(
    method: str, options: dict[str, Any]
) -> None:
    """An orthonormal embedding in 17 000 neurons does not change the distance of any resample."""
    x, y = similar()
    rng = np.random.default_rng(1)
    lifts = [np.linalg.qr(rng.normal(size=(N_NEURONS, 3)))[0].T for _ in range(2)]
    few = rs.inference.distance(x, y, method=method, **options)
    many = rs.inference.distance(x @ lifts[0], y @ lifts[1], method=method, **options)
    assert many.estimate == pytest.approx(few.estimate, rel=1e-9)
    assert many.plug_in == pytest.approx(few.plug_in, rel=1e-9)
    assert many.standard_error == pytest.approx(few.standard_error, rel=1e-6)
    np.testing.assert_allclose(many.interval, few.interval, rtol=1e-6)


@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation"])
@pytest.mark.parametrize("n_y", [4, 6])
def test_a_resample_is_never_worse_than_the_known_alignment_on_it(group: str, n_y: int) -> None:
    """The warm start is the known transform in the coordinates of the resample."""
    x = similar(2, n=4)[0]
    y = np.pad(similar(3, n=4)[1], ((0, 0), (0, 0), (0, n_y - 4)))
    y = y @ random_orthogonal(n_y, np.random.default_rng(0))
    metric = rs.GaussianShapeMetric(group=group, n_starts=1)
    terms = make_terms([(x, y)], [metric])
    known = terms.sample().align()
    for seed in range(5):
        rows = np.random.default_rng(seed).integers(0, 6, size=6)
        drawn = [rs.Trials(x[:, rows]), rs.Trials(y[:, rows[::-1]])]
        (squared,) = terms.sample(drawn).squared(known)
        assert squared <= metric.score(known[0], *drawn) ** 2 * (1 + 1e-9)


def test_a_network_in_two_pairs_is_resampled_once() -> None:
    x, y = similar()
    z = 2.0 * x
    terms = make_terms([(x, y), (x, z)], [rs.GaussianShapeMetric()] * 2)
    assert len(terms.networks) == 3
    assert [(one.x, one.y) for one in terms.terms] == [(0, 1), (0, 2)]
    assert len(make_terms([(x, x.copy())], [rs.GaussianShapeMetric()]).networks) == 2


def test_preprocessing_is_fitted_to_each_resample() -> None:
    """A resample is preprocessed as if it were all there is, and its noise is measured there."""
    x, y = similar(n=4)
    metric = rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=2, scale=True))
    terms = make_terms([(x, y)], [metric])
    known = terms.sample().align()
    drawn = [rs.Trials(x[:, :4]), rs.Trials(y[:, 2:])]
    sample = terms.sample(drawn)
    assert np.sqrt(sample.squared(known)[0]) == pytest.approx(metric.distance(*drawn), rel=1e-9)
    ready = [metric.preprocess.fit(one).apply(one) for one in drawn]
    expected = sum(
        np.mean([part.var(axis=0, ddof=1).sum() / 4 for part in one.responses]) for one in ready
    )
    np.testing.assert_allclose(sample.mean_noise(), [expected])


def test_a_known_alignment_is_carried_to_other_components() -> None:
    """If the components of a resample are P R, the transform T becomes R_y' T R_x."""
    x, y = similar(4, n=6)
    metric = rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=3))
    (known,) = make_terms([(x, y)], [metric]).sample().align()
    rng = np.random.default_rng(0)
    turns = [random_orthogonal(3, rng) for _ in range(2)]
    phis = [
        replace(phi, linear=phi.linear @ turn)
        for phi, turn in zip(known._phi, turns, strict=True)
        if phi is not None and phi.linear is not None
    ]
    expected = turns[1].T @ known.transform @ turns[0]
    np.testing.assert_allclose(_carried(known, *phis).matrix, expected, atol=1e-12)
