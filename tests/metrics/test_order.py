"""A pair is solved in the same order whichever network is given first, and on every processor."""

import os
import subprocess
import sys

import numpy as np
import pytest

import repshape as rs

METRICS = [
    rs.GaussianShapeMetric(),
    rs.GaussianShapeMetric(alpha=0.0, group="permutation"),
    rs.EnergyShapeMetric(),
    rs.ProcrustesShapeMetric(),
    rs.CovarianceShapeMetric(),
]


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_rounding_does_not_decide_the_order(metric):
    rng = np.random.default_rng(0)
    orders = set()
    for factor in [0.0, *(1e-15 * rng.normal(size=20))]:
        x, y = np.random.default_rng(1).normal(size=(2, 6, 12, 3)) * (1 + factor)
        first, second = (metric._prepare_checked(rs.as_network(one)) for one in (x, y))
        assert first.precedes(second) != second.precedes(first)
        orders.add(first.precedes(second))
    assert len(orders) == 1


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_near_copies_whose_sums_are_equal_have_one_distance(metric):
    """One number differs by its last bit, which is lost in a sum with large numbers."""
    rng = np.random.default_rng(0)
    for exponent in 3 * [*range(9)]:
        x = rng.normal(size=(6, 12, 4))
        x[0] += 10.0**exponent
        y = x.copy()
        y[3, 2, 1] = np.nextafter(y[3, 2, 1], 9.0)
        assert metric.distance(x, y) == metric.distance(y, x)


PROGRAM = """
import numpy as np, repshape as rs
rng = np.random.default_rng(0)
x, y = rng.normal(size=(8, 40, 3)), 1.5 * rng.normal(size=(8, 40, 3))
found = rs.inference.distance(x, y, workers=1)
print(found.estimate, *found.interval)
"""


def test_an_interval_is_the_same_with_every_kernel_of_openblas():
    """Kernels round differently. Any x86 processor can run that of Prescott; others ignore it."""
    found = []
    for choice in ({}, {"OPENBLAS_CORETYPE": "Prescott"}):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=os.environ | choice,
            capture_output=True,
            text=True,
            check=True,
        )
        found.append([float(one) for one in done.stdout.split()])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8)
