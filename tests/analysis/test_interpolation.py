"""The sweep of alpha: endpoints, concavity, bounds, parts and the ratio."""

from __future__ import annotations

import numpy as np
import pytest

from repshape import Gaussians, GaussianShapeMetric, pairwise
from repshape.analysis import interpolate
from repshape.errors import InputError

ALPHAS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0)


def networks(count: int = 4, M: int = 8, n: int = 5) -> list[Gaussians]:
    rng = np.random.default_rng(0)
    return [
        Gaussians.from_factors(rng.normal(size=(M, n)), rng.normal(size=(M, n, n + 1)))
        for _ in range(count)
    ]


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_agrees_with_pairwise_or_is_better() -> None:
    nets = networks()
    sweep = interpolate(nets, ALPHAS)
    rows, columns = sweep.pairs.T
    for k, alpha in enumerate(sweep.alphas):
        D = pairwise(nets, GaussianShapeMetric(alpha)).values[rows, columns]
        assert (sweep.distances[k] <= D * (1 + 1e-9)).all()
        np.testing.assert_allclose(sweep.distances[k], D, rtol=0.02)


def test_squared_distance_is_concave_in_alpha() -> None:
    """A minimum over T of functions that are linear in alpha is concave."""
    sweep = interpolate(networks(), np.linspace(0, 2, 9).tolist())
    bends = np.diff(sweep.distances**2, n=2, axis=0)
    assert bends.max() <= 1e-8 * (sweep.distances**2).max()


def test_transforms_of_other_alphas_improve_a_poor_search() -> None:
    """Searches from the means alone miss optima that those at other alphas find."""
    nets, poor = networks(6), GaussianShapeMetric(n_starts=1)
    sweep = interpolate(nets, np.linspace(0, 2, 9).tolist(), poor)
    rows, columns = sweep.pairs.T
    alone = np.array(
        [
            pairwise(nets, poor.with_parameters(alpha=a), polish=False).values[rows, columns]
            for a in sweep.alphas
        ]
    )
    assert (sweep.distances <= alone * (1 + 1e-12)).all()
    assert (sweep.distances < alone * (1 - 1e-6)).any()
    bends = np.diff(sweep.distances**2, n=2, axis=0)
    assert bends.max() <= 1e-8 * (sweep.distances**2).max()


def test_parts_make_up_the_distance_and_bounds_hold() -> None:
    sweep = interpolate(networks(), ALPHAS)
    a = sweep.alphas[:, None]
    squared = a * sweep.mean_distances**2 + (2 - a) * sweep.covariance_distances**2
    np.testing.assert_allclose(sweep.distances**2, squared, rtol=1e-10)
    assert (sweep.lower_bounds <= sweep.distances * (1 + 1e-9)).all()
    assert (sweep.interpolation_bounds <= sweep.distances * (1 + 1e-9)).all()
    np.testing.assert_allclose(sweep.interpolation_bounds[[0, -1]], sweep.distances[[0, -1]])


def test_known_ratio_and_frame() -> None:
    """Covariances I and 4 I differ by n under every transform, means by their norms."""
    x = Gaussians(np.array([[3.0, 0.0]]), np.ones((1, 2)))
    y = Gaussians(np.array([[0.0, 5.0]]), np.full((1, 2), 4.0))
    sweep = interpolate([x, y], [1.0], labels=["a", "b"])
    np.testing.assert_allclose(sweep.distances[:, 0] ** 2, [4.0, 6.0, 8.0], rtol=1e-9)
    np.testing.assert_allclose(sweep.ratios, [np.sqrt(0.5)])
    frame = sweep.to_frame()
    assert frame[["alpha", "x", "y"]].iloc[1].tolist() == [1.0, "a", "b"]
    np.testing.assert_allclose(frame["mean_distance"], 2.0)
    assert sweep.ratio_summary()["median"] == pytest.approx(np.sqrt(0.5))


def test_coinciding_means_have_an_infinite_ratio() -> None:
    x = Gaussians(np.zeros((1, 2)), np.ones((1, 2)))
    y = Gaussians(np.zeros((1, 2)), np.full((1, 2), 4.0))
    assert np.isinf(interpolate([x, y]).ratios[0])


def test_same_bits_for_any_number_of_workers() -> None:
    one, two = (interpolate(networks(), ALPHAS, workers=w) for w in (1, 2))
    np.testing.assert_array_equal(one.distances, two.distances)


def test_refusals() -> None:
    with pytest.raises(InputError, match="at least two networks"):
        interpolate(networks(1))
    with pytest.raises(InputError, match=r"must be a float in \[0, 2\]"):
        interpolate(networks(2), [3.0])
