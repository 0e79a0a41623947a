"""The statements of docs/evidence/netrep.md, if NETREP_PATH names a copy of the public code."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.skipif("NETREP_PATH" not in os.environ, reason="NETREP_PATH is not set")


@pytest.fixture(scope="module")
def metrics() -> Any:
    from benchmarks.netrep import load

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load()


@pytest.mark.filterwarnings("ignore")
def test_calls_of_the_table_agree(metrics: Any) -> None:
    from benchmarks.netrep import same_numbers

    for row in same_numbers(metrics):
        assert row["theirs"] == pytest.approx(row["ours"], rel=1e-5), row


@pytest.mark.filterwarnings("ignore")
def test_the_fit_is_another_function_at_a_quarter(metrics: Any) -> None:
    from benchmarks.netrep import excesses

    found = {row["alpha"]: row for row in excesses(metrics)}
    assert found[0.25]["same_mean"] > 1
    assert found[1.0]["same_max"] < 1e-3
    assert found[0.0]["default_max"] > 1


@pytest.mark.filterwarnings("ignore")
def test_what_ends_in_an_error_there(metrics: Any) -> None:
    from benchmarks.netrep import edges

    for row in edges(metrics):
        assert np.isfinite(float(row["repshape"]))
        assert row["netrep"].endswith("Error") or row["case"].startswith("energy, two")
