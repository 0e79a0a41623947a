"""A small cohort and a store of its distances, for the tests of the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import repshape as rs


@pytest.fixture(scope="module")
def cohort() -> rs.Cohort:
    """Networks of unequal numbers of neurons, with few trials of six conditions."""
    rng = np.random.default_rng(0)
    found = rs.Cohort()
    for k, n in enumerate([2, 3, 4, 3, 5]):
        found.add(f"net {k}", rng.normal(size=(6, 8, n)), area="V1" if k < 3 else "LM")
    return found


@pytest.fixture(scope="module")
def stored(cohort: rs.Cohort, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stores") / "d.zarr"
    rs.pairwise(cohort, rs.GaussianShapeMetric(), store=path, alignments="float64")
    return path


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Embed in two dimensions only, and predict with fewer permutations."""
    monkeypatch.setattr("repshape.report.quality.DIMENSIONS", (1, 2))
    monkeypatch.setattr("repshape.report.quality.SEVERAL_STARTS", 0)
    monkeypatch.setattr("repshape.report.quality.PERMUTATIONS", 49)
