"""Networks of the same size: repeated draws, what is averaged, and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import repshape as rs
from repshape.errors import InputError
from repshape.io.matched import Matching

FloatArray = npt.NDArray[np.float64]
METRIC = rs.GaussianShapeMetric(n_starts=2)
SIZES = {"a": (24, 6), "b": (30, 4), "c": (24, 3)}  # trials and neurons


def networks(seed: int = 0) -> dict[str, FloatArray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(5, L, n)) for name, (L, n) in SIZES.items()}


def seeds(count: int, random_state: int) -> list[int]:
    return [int(k) for k in np.random.SeedSequence(random_state).generate_state(count)]


@pytest.mark.parametrize("by", ["neurons", "trials", ("neurons", "trials")])
def test_matched_distances_are_root_mean_squares_over_draws(by: str) -> None:
    D = rs.pairwise(networks(), METRIC, match=by, n_draws=4, random_state=3)
    draws = [
        rs.pairwise(rs.draw_matched(networks(), by, random_state=seed), METRIC).values
        for seed in seeds(4, 3)
    ]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        distances = [float(one[i, j]) for one in draws]
        assert D.values[i, j] == pytest.approx((sum(d**2 for d in distances) / 4) ** 0.5)
        assert D.draw_deviations is not None
        assert D.draw_deviations[i, j] == pytest.approx(np.std(distances, ddof=1))
    assert D.sizes is not None
    assert D.sizes["neurons"].nunique() == (1 if "neurons" in by else 3)
    assert D.sizes["trials"].nunique() == (1 if "trials" in by else 2)
    assert D.description["match"]["n_draws"] == 4
    assert D.lower_bounds is not None
    assert (D.lower_bounds <= D.values + 1e-12).all()


def test_networks_of_one_size_are_compared_whole_and_once() -> None:
    same = {name: one[:, :20, :3] for name, one in networks().items()}
    D, plain = rs.pairwise(same, METRIC, match="neurons"), rs.pairwise(same, METRIC)
    assert D.values == pytest.approx(plain.values, rel=1e-12)
    assert D.draw_deviations is not None
    assert not D.draw_deviations.any()
    assert D.description["match"]["n_draws"] == 1


def test_matched_distances_do_not_depend_on_workers_and_keep_labels_and_metadata(
    tmp_path: Path,
) -> None:
    table = pd.DataFrame({"area": ["V1", "V4", "V4"]}, index=list("abc"))
    options = {"match": "neurons", "n_draws": 2, "metadata": table}
    one, two = (rs.pairwise(networks(), METRIC, workers=n, **options) for n in (1, 2))
    assert np.array_equal(one.values, two.values)
    assert one.metadata["area"].tolist() == ["V1", "V4", "V4"]
    one.save(tmp_path / "d.npz")
    loaded = rs.DistanceMatrix.load(tmp_path / "d.npz")
    assert np.array_equal(loaded.draw_deviations, one.draw_deviations)
    cohort = rs.Cohort.from_networks(networks(), metadata=table)
    assert rs.pairwise(cohort, METRIC, match="neurons", n_draws=2).metadata["area"].nunique() == 2


def test_matched_sizes_are_refused_with_a_store_and_where_there_are_no_trials(
    tmp_path: Path,
) -> None:
    for function in (rs.pairwise, rs.inference.matrix):
        with pytest.raises(InputError, match="which a store does not keep"):
            function(networks(), METRIC, match="neurons", store=tmp_path / "d.zarr")
    with pytest.raises(InputError, match="'match' parameter must be"):
        rs.pairwise(networks(), METRIC, match="cells")
    with pytest.raises(InputError, match="'n_draws' parameter"):
        rs.pairwise(networks(), METRIC, match="neurons", n_draws=0)
    moments = {name: rs.estimate_moments(rs.Trials(one)) for name, one in networks().items()}
    with pytest.raises((InputError, rs.errors.InputTypeError), match="trials"):
        rs.pairwise(moments, METRIC, match="trials")


def test_warnings_of_draws_are_given_once() -> None:
    few = {name: one[:, :5] for name, one in networks().items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rs.pairwise(few, METRIC, match="neurons", n_draws=3)
    assert [one.category for one in caught] == [rs.errors.FewTrialsWarning]
    assert caught[0].filename == __file__


def test_equality_of_networks_of_the_same_size_is_twice_the_median_over_draws() -> None:
    metric = rs.GaussianShapeMetric(n_starts=2, preprocess=rs.Preprocess(n_components=2))
    rng = np.random.default_rng(0)
    x, y = (  # two strong directions, in which every neuron takes part
        4 * rng.normal(size=(5, 24, 2)) @ rng.normal(size=(2, n)) + rng.normal(size=(5, 24, n)) / 4
        for n in (6, 3)
    )
    with pytest.raises(InputError, match=r"match='neurons'"):
        rs.inference.equality(x, y, metric)
    options = {"n_permutations": 99, "workers": 1}
    found = rs.inference.equality(x, y, metric, match="neurons", n_draws=3, **options)
    pairs, _ = Matching(("neurons",), 3, 0).draw(rs.Cohort({"x": x, "y": y}))
    single = [
        rs.inference.equality(*pair, metric, random_state=k, **options).p_value
        for k, pair in enumerate(pairs)
    ]
    assert found.p_values == tuple(single)
    assert found.p_value == min(1.0, 2 * sorted(single)[1])
    assert "3 neurons drawn from each" in str(found)
    assert "in 3 draws" in str(found)


def test_estimates_of_networks_of_the_same_size_average_squares() -> None:
    given = {name: networks()[name] for name in "ac"}
    options = {"n_splits": 2, "workers": 1}
    found = rs.inference.matrix(given, METRIC, match="neurons", n_draws=2, **options)
    draws, _ = Matching(("neurons",), 2, 0).draw(rs.Cohort(given))
    single = [
        rs.inference.matrix(one, METRIC, random_state=k, **options) for k, one in enumerate(draws)
    ]
    squares = [one.matrix.values[0, 1] * abs(one.matrix.values[0, 1]) for one in single]
    value = found.matrix.values[0, 1]
    assert value * abs(value) == pytest.approx(np.mean(squares))
    highs = [one.high[0, 1] ** 2 for one in single]
    assert found.high[0, 1] ** 2 == pytest.approx(np.mean(highs))
    assert found.low[0, 1] <= value <= found.high[0, 1]
    assert found.matrix.draw_deviations is not None
