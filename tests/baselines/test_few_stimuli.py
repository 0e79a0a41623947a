"""Unbiased moments for few stimuli, and the duality of Bures and Procrustes distances."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import repshape as rs
from repshape.baselines import nbs, procrustes_moments
from repshape.baselines.few_stimuli import increasing_cycles
from repshape.errors import InputError
from repshape.reference.gaussian import symmetric_root


def test_duality_of_bures_and_procrustes_distances():
    """cos(angular Procrustes distance) = tr (K_x^1/2 K_y K_x^1/2)^1/2 / sqrt(tr K_x tr K_y)."""
    rng = np.random.default_rng(0)
    for sizes in ((3, 3), (5, 2), (2, 6)):
        x, y = (rng.normal(size=(8, n)) for n in sizes)
        K_x, K_y = ((one - one.mean(0)) @ (one - one.mean(0)).T for one in (x, y))
        half = symmetric_root(K_x)
        fidelity = np.sqrt(np.maximum(np.linalg.eigvalsh(half @ K_y @ half), 0)).sum()
        similarity = fidelity / np.sqrt(np.trace(K_x) * np.trace(K_y))
        assert nbs(x, y) == pytest.approx(1 - similarity, rel=1e-6)
        angle = rs.ProcrustesShapeMetric(distance="angular").distance(x, y)
        assert nbs(x, y, angular=True) == pytest.approx(angle, rel=1e-9)
        assert np.cos(angle) == pytest.approx(similarity, rel=1e-7)


def test_increasing_cycles_are_sums_over_all_increasing_indices():
    rng = np.random.default_rng(1)
    K_x, K_y = (A @ A.T for A in rng.normal(size=(2, 6, 3)))
    found = increasing_cycles(K_x, K_y, 3)
    for p in (1, 2, 3):
        total, count = 0.0, 0
        for cycle in itertools.combinations(range(6), 2 * p):
            steps = [(K_x, K_y)[k % 2][cycle[k], cycle[(k + 1) % (2 * p)]] for k in range(2 * p)]
            total, count = total + np.prod(steps), count + 1
        assert found[p - 1] == pytest.approx(total / count, rel=1e-10)


def population(rng, M, n=4):
    """Stimuli with a known covariance of both responses, and an unknown mean."""
    latent = rng.normal(size=(M, n))
    loads = np.linspace(2.0, 0.5, n)
    x = latent * loads + 3.0
    y = latent[:, ::-1] * 0.5 + rng.normal(size=(M, n)) - 1.0
    return x, y


def truth(n=4):
    loads = np.linspace(2.0, 0.5, n)
    singular = np.sort(0.5 * loads)
    squared = (loads**2).sum() + n * 1.25 - 2 * singular.sum()
    return singular, squared


def test_moments_are_unbiased_where_the_plug_in_is_not():
    """12 stimuli, averaged over many draws: within four standard errors of the truth."""
    singular, _ = truth()
    rng = np.random.default_rng(2)
    draws, plug_in = [], []
    for _ in range(300):
        x, y = population(rng, 12)
        draws.append(procrustes_moments(x, y, n_moments=2, n_pairings=1).moments)
        cross = (x - x.mean(0)).T @ (y - y.mean(0)) / 11
        plug_in.append([np.linalg.norm(cross) ** 2, np.linalg.norm(cross @ cross.T) ** 2])
    for k in (0, 1):
        values = np.array(draws)[:, k]
        error = values.std() / np.sqrt(len(values))
        expected = (singular ** (2 * k + 2)).sum()
        assert abs(values.mean() - expected) < 4 * error
        assert np.array(plug_in)[:, k].mean() > 1.5 * expected


def test_the_squared_distance_is_closer_to_the_truth_than_the_plug_in():
    """40 neurons and 40 stimuli."""
    _, expected = truth(40)
    rng = np.random.default_rng(3)
    found = [procrustes_moments(*population(rng, 40, 40), n_pairings=5) for _ in range(10)]
    ours = np.mean([one.squared for one in found])
    theirs = np.mean([one.plug_in for one in found])
    assert abs(ours - expected) < 0.75 * abs(theirs - expected)
    assert abs(ours - expected) < np.mean([one.bias_bound for one in found])


def test_noise_of_trials_is_subtracted_from_the_traces():
    rng = np.random.default_rng(4)
    x, y = population(rng, 40)
    noisy = [one[:, None] + rng.normal(size=(40, 5, 4)) for one in (x, y)]
    clean = procrustes_moments(x, y).squared
    means = procrustes_moments(*(one.mean(axis=1) for one in noisy)).squared
    trials = procrustes_moments(*noisy).squared
    assert means - trials == pytest.approx(2 * 4 / 5, rel=0.2)
    assert abs(trials - clean) < abs(means - clean)


def test_too_few_stimuli_are_refused():
    x = np.random.default_rng(5).normal(size=(10, 3))
    with pytest.raises(InputError, match=r"needs at least 16 conditions. Got 10."):
        procrustes_moments(x, x)
    assert procrustes_moments(x, x, n_moments=2).moments.shape == (2,)
