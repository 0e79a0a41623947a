"""Copies with noise whose alignment was planted: the default search finds it."""

import pytest
from benchmarks.planted import climbed
from benchmarks.planted_pairs import make_pair


@pytest.mark.parametrize("case", [524, 544, 1244])
def test_noisy_copies_with_few_trials_are_found(case: int) -> None:
    """30 % noise, 3 to 5 trials and 22 to 47 neurons: graduated starts are needed."""
    pair = make_pair("gaussian", case, seed=0)
    assert pair.metric.distance(pair.x, pair.y) <= climbed(pair) * (1 + 1e-3)
