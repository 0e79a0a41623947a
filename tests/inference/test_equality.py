"""The block test: exactness, number of blocks, the smallest p-value, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import repshape as rs
from repshape.errors import InputError
from repshape.inference.blocks import plan_blocks
from repshape.inference.equality import block_statistic, squared_distances
from repshape.inference.permutations import arrange
from repshape.solvers.starts import random_orthogonal

FloatArray = npt.NDArray[np.float64]
QUICK = rs.GaussianShapeMetric(n_starts=2, tol=1e-6)
REDUCED = QUICK.with_parameters(preprocess=rs.Preprocess(n_components=3))

unstable = pytest.mark.filterwarnings("ignore::repshape.inference.UnstableSubspaceWarning")


def poisson(L: int, seed: int, n: int = 12, M: int = 6) -> FloatArray:
    rates = np.exp(0.8 + 0.5 * np.random.default_rng(0).normal(size=(M, 1, n)))
    return np.random.default_rng([1, seed]).poisson(rates, size=(M, L, n)).astype(float)


@unstable
def test_one_network_recorded_twice_is_rarely_called_different_after_pca() -> None:
    """A binomial with 80 draws at 5 % exceeds 11 in fewer than 1 of 1000 cases.

    If PCA is fitted once, to all trials, and trials are exchanged afterwards, all are rejected.
    """
    metric = QUICK.with_parameters(preprocess=rs.Preprocess(n_components=5))
    p_values = [
        rs.inference.equality(
            *(poisson(10, seed, n=30, M=20) for seed in (2 * k, 2 * k + 1)),
            metric,
            random_state=k,
            workers=1,
        ).p_value
        for k in range(80)
    ]
    assert np.sum(np.array(p_values) <= 0.05) <= 11
    assert 0.35 < np.mean(p_values) < 0.65


@unstable
@pytest.mark.parametrize("metric", [QUICK, REDUCED, rs.EnergyShapeMetric(n_starts=1, tol=1e-4)])
def test_p_value_does_not_change_under_the_group(metric: Any) -> None:
    """Blocks are never aligned to a common frame, so a rotated network gives the same result."""
    x, y = poisson(12, 0, n=5), poisson(12, 1, n=5) + 1.0
    Q = random_orthogonal(5, np.random.default_rng(3))
    one, two = (rs.inference.equality(x, z, metric) for z in (y, y @ Q))
    assert one.p_value == two.p_value
    assert one.statistic == pytest.approx(two.statistic, rel=1e-3)


def test_each_relabelling_of_the_blocks_gives_a_different_rank() -> None:
    """The p-values of all relabellings of given blocks are uniform: this is exactness."""
    rng = np.random.default_rng(0)
    blocks = [rs.Trials(rng.normal(size=(3, 4, 2))) for _ in range(8)]
    squared = squared_distances(blocks, rs.GaussianShapeMetric(group="identity"))
    rows = arrange(np.repeat([0, 1], 4)).rows
    assert len(rows) == 70
    statistics = block_statistic(squared, rows)
    p_values = np.array([np.mean(statistics >= one - 1e-12) for one in statistics])
    for level in np.arange(1, 36) / 35:
        assert np.mean(p_values <= level + 1e-12) == pytest.approx(level)


def test_power() -> None:
    x, y = poisson(20, 0), 1.2 * poisson(20, 1) + 0.5
    found = rs.inference.equality(x, y, QUICK)
    assert found.p_value == found.smallest_p_value == 1 / 126
    assert found.n_permutations == 251
    assert found.n_blocks == (5, 5)
    assert "5 and 5 blocks" in str(found)


@pytest.mark.parametrize(
    ("L_x", "L_y", "size", "blocks"),
    [
        (8, 8, 2, (4, 4)),
        (10, 10, 2, (5, 5)),
        (14, 14, 2, (7, 7)),
        (40, 40, 5, (8, 8)),
        (50, 50, 5, (10, 10)),
        (10, 40, 2, (5, 20)),
        (10, 400, 2, (5, 20)),
    ],
)
def test_number_of_blocks_follows_from_the_trials(
    L_x: int, L_y: int, size: int, blocks: tuple[int, int]
) -> None:
    x, y = (rs.Trials(np.zeros((2, L, 3))) for L in (L_x, L_y))
    plan = plan_blocks(x, y, QUICK)
    assert plan.sizes.tolist() == [size, size]
    assert plan.n_blocks == blocks


def test_blocks_share_no_trial_and_have_equal_sizes() -> None:
    x = rs.Trials([np.arange(11.0)[:, None], np.arange(100.0, 123.0)[:, None]])
    y = rs.Trials([np.zeros((24, 1)), np.zeros((20, 1))])
    plan = plan_blocks(x, y, QUICK)
    assert (plan.sizes.tolist(), plan.n_blocks) == ([2, 4], (5, 5))
    blocks = plan.divide(x, 0, np.random.default_rng(0))
    used = np.concatenate([block.pooled[:, 0] for block in blocks])
    assert len(np.unique(used)) == len(used) == 5 * (2 + 4)


def test_means_alone_need_one_trial_per_block() -> None:
    x, y = poisson(5, 0), poisson(5, 1) + 3.0
    found = rs.inference.equality(x, y, rs.GaussianShapeMetric(2.0, n_starts=1))
    assert found.n_blocks == (5, 5)
    assert found.p_value == 1 / 126


def test_refusals() -> None:
    x, y = poisson(20, 0), poisson(20, 1)
    equality = rs.inference.equality
    with pytest.raises(InputError, match=r"at least 4 blocks of 2 trials .* 7 trials allows 3\."):
        equality(x[:, :7], y, QUICK)
    with pytest.raises(InputError, match=r"with 1 trial allows 0\."):
        equality(x[:, :1], y, QUICK)
    with pytest.raises(InputError, match="20 trials allows 10, not 11"):
        equality(x, y, QUICK, n_blocks=11)
    with pytest.raises(InputError, match="'n_blocks' parameter must be an integer of at least 4"):
        equality(x, y, QUICK, n_blocks=3)
    with pytest.raises(InputError, match=r"same number of neurons.*Got 12 and 9 neurons"):
        equality(x, y[:, :, :9], REDUCED)
    many = QUICK.with_parameters(preprocess=rs.Preprocess(n_components=12))
    with pytest.raises(InputError, match="a block of 12 trials cannot have 12 components"):
        equality(x[:, :8], y[:, :8], many)


def test_networks_with_different_numbers_of_neurons_need_no_pca() -> None:
    """A silent neuron changes no distance of the orthogonal group."""
    x, y = poisson(10, 0, n=3), poisson(10, 1, n=3)
    one = rs.inference.equality(x, y, QUICK)
    two = rs.inference.equality(x, np.pad(y, ((0, 0), (0, 0), (0, 2))), QUICK)
    assert one.p_value == two.p_value
