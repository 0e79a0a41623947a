"""`confounds` says what was matched on request, and calls norms by what they measure."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import repshape as rs
from repshape.errors import FewTrialsWarning

OPTIONS = {"n_draws": 2, "n_splits": 2, "n_permutations": 99, "workers": 1}


def make(strong: float = 1.0, n_trials: int = 24) -> list[np.ndarray]:
    """Eight networks of 4 or 5 neurons in both groups, of which the second has stronger noise."""
    rng = np.random.default_rng(4)
    sizes = [4, 5] * 4
    scales = [1.0] * 4 + [strong] * 4
    return [
        rng.normal(size=(3, 1, n)) + scale * rng.normal(size=(3, n_trials, n))
        for n, scale in zip(sizes, scales, strict=True)
    ]


LABELS = ["a"] * 4 + ["b"] * 4


def find(networks: list[np.ndarray], alpha: float, **options: object) -> rs.inference.Confounds:
    metric = rs.GaussianShapeMetric(alpha=alpha, n_starts=2, tol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rs.inference.UnequalSizesWarning)
        return rs.inference.confounds(networks, metric, **OPTIONS, **options)


def test_a_requested_match_is_reported_with_its_outcome() -> None:
    found = find(make(), 1.0, labels=LABELS, match="neurons")
    assert not found.factors  # the groups have the same sizes
    p = found.tests["matched"].p_value
    (words,) = [one for one in found.words() if "drawn from each" in one]
    assert words.startswith("With 4 neurons drawn from each (2 draws), do groups differ")
    assert f"p = {p:.3g}" in words
    assert found.matched.description["match"]["by"] == ["neurons"]


def test_without_groups_the_matched_distances_are_reported() -> None:
    found = find(make(), 1.0, match="neurons")
    middle = np.median(found.matched.condensed())
    assert f"With 4 neurons drawn from each (2 draws), the median distance is {middle:.3g}" in str(
        found
    )


@pytest.mark.parametrize(("alpha", "noun"), [(0.0, "noise"), (1.0, "response")])
def test_norms_are_those_of_the_noise_at_alpha_zero(alpha: float, noun: str) -> None:
    networks = make(strong=3.0)
    found = find(networks, alpha, labels=LABELS)
    assert str(found).startswith(f"Differences of overall {noun} strength (norm) account for")
    assert f"differ in their overall {noun} strength (median" in str(found)
    D = rs.pairwise(networks, rs.GaussianShapeMetric(alpha=alpha, n_starts=2, tol=1e-4))
    with pytest.warns(rs.inference.UnequalGainWarning, match=f"overall {noun} strength"):
        rs.inference.groups(D, LABELS)


def test_captions_name_parts_and_draws() -> None:
    from repshape.plots.captions import matrix_words

    found = find(make(), 1.0, match="neurons")
    assert matrix_words(found.angles).startswith("Distance at norm 1")
    assert matrix_words(found.gains).startswith("Difference of norms")
    assert "4 neurons drawn from each network (2 draws)." in matrix_words(found.matched)


def test_captions_name_the_preprocessing() -> None:
    from repshape.plots.captions import matrix_words

    metric = rs.GaussianShapeMetric(preprocess=rs.Preprocess(scale=True), n_starts=1)
    words = matrix_words(rs.pairwise(make(), metric))
    assert words.endswith("Each network was centred, scaled to total variance 1.")


def test_few_trials_are_counted_by_pairwise_and_confounds() -> None:
    networks = make(n_trials=7)
    with pytest.warns(FewTrialsWarning, match=r"7 trials for 5 dimensions, which need 10\."):
        rs.pairwise(networks, rs.GaussianShapeMetric(n_starts=2, tol=1e-4))
    with pytest.warns(FewTrialsWarning, match="at worst 7 trials for 5 dimensions, which need 10"):
        find(networks, 1.0)
