"""The joint mode against the reference code's metric of processes, if NETREP_PATH names a copy."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

import repshape as rs
from process_support import moments

pytestmark = pytest.mark.skipif("NETREP_PATH" not in os.environ, reason="NETREP_PATH is not set")


@pytest.mark.filterwarnings("ignore")
def test_joint_is_never_above_the_reference_and_equal_from_the_same_start() -> None:
    """At alpha = 1 both minimise one function; theirs takes one condition."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from benchmarks.netrep import load

        theirs = load().GPStochasticMetric(n_dims=3)
    rng = np.random.default_rng(0)
    for _ in range(10):
        x, y = moments(rng, 1, 4, 3), moments(rng, 1, 4, 3)
        expected = theirs.fit_score(*((mu.ravel(), S[0]) for mu, S in (x, y)))
        best = rs.ProcessShapeMetric().distance(x, y)
        assert best <= expected * (1 + 1e-7)
        same = rs.ProcessShapeMetric(n_starts=1).distance(x, y)
        assert same == pytest.approx(expected, rel=1e-2)
