"""What a report says about recordings of macaque V1 (Henaff et al. 2021), if available."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import repshape as rs
from repshape.inference.subspaces import UnstableSubspaceWarning
from repshape.report.evidence import find_groups
from repshape.report.sources import read_inputs
from repshape.report.study import Plan, study

FOLDER = os.environ.get("REPSHAPE_DATA")
RECORDINGS = Path(FOLDER, "macaque_v1_counts.npz") if FOLDER else None
METRIC = rs.GaussianShapeMetric(n_starts=4, preprocess=rs.Preprocess(n_components=3))


@pytest.mark.skipif(
    RECORDINGS is None or not RECORDINGS.exists(), reason="REPSHAPE_DATA names no recordings"
)
def test_the_sentences_are_what_the_library_computes() -> None:
    """Gain, floor and both tests of four monkeys, for ten natural images."""
    assert RECORDINGS is not None
    cohort = rs.Cohort()
    with np.load(RECORDINGS) as file:
        for name in file.files:
            counts = file[name][0, 0, :, 5].astype(float)  # a frame of each movie
            kept = counts[:, (counts < 0).mean(axis=(0, 2)) < 0.02]
            trials = [one[:, (one >= 0).all(axis=0)].T for one in kept]
            cohort.add(name, rs.Trials(trials), monkey=name[:3])
    D = rs.pairwise(cohort, METRIC, polish=False)
    inputs = read_inputs(D, cohort)
    first, second, _ = study(inputs, Plan(find_groups(inputs, None, None)))[0].sentences
    with warnings.catch_warnings():  # the components of one recording are unstable
        warnings.simplefilter("ignore", UnstableSubspaceWarning)
        found = rs.inference.confounds(
            cohort, METRIC, D=D, labels="monkey", n_splits=5, n_permutations=999
        )
    p, without = (found.tests[name].p_value for name in ("distances", "angles"))
    assert f"p = {p:.2g}" in first
    assert (f"p = {without:.2g}" in first) or (p > 0.05 and without > 0.05)
    share = f"{100 * found.gain_share:.0f} % of the squared distances"
    assert f"overall response strength account for {share}" in first
    squared = found.networks["floor"].to_numpy() ** 2
    floors = np.sqrt(np.add.outer(squared, squared) / 2)[np.triu_indices(len(D), 1)]
    ratio = np.median(floors) / np.median(D.condensed())
    assert f"The noise floor is {100 * ratio:.0f} % of the median distance" in second
