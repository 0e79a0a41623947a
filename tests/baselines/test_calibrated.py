"""Calibrated scores: the plain formula, exactness of the test, layers, metrics and refusals."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import pytest
from benchmarks.calibrated import MEASURES_TESTED, false_positives

import repshape as rs
from repshape.baselines import calibrated, cka, mutual_knn, nbs
from repshape.errors import InputError, InputTypeError

FloatArray = npt.NDArray[np.float64]


def pair(seed: int = 0, noise: float = 1.0, M: int = 12) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(M, 5))
    y = x @ rng.normal(size=(5, 7)) + noise * rng.normal(size=(M, 7))
    return x, np.asarray(y)


def plain(s: float, null: list[float], level: float) -> tuple[float, float]:
    """Return score and p-value of a similarity with a perfect value of 1, by counting."""
    p = (1 + sum(one >= s for one in null)) / (len(null) + 1)
    allowed = int(level * (len(null) + 1))
    threshold = sorted([s, *null], reverse=True)[allowed]
    return max(0.0, (s - threshold) / (1 - threshold)), p


@pytest.mark.parametrize("noise", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("name", ["cka", "mutual_knn"])
def test_score_and_p_value_are_those_of_the_plain_formula(name: str, noise: float) -> None:
    x, y = pair(noise=noise)
    options = {"k": 3} if name == "mutual_knn" else {"debiased": True}
    found = calibrated(name, x, y, n_permutations=39, level=0.1, **options)

    def similarity(a: FloatArray) -> float:
        value = rs.baselines.MEASURES[name](a, y, **options)
        return value if name == "mutual_knn" else 1 - value

    rng = np.random.default_rng(0)
    null = [similarity(x[rng.permutation(12)]) for _ in range(39)]
    score, p = plain(similarity(x), null, 0.1)
    assert found.score == pytest.approx(score, abs=1e-12)
    assert found.p_value == p
    assert (found.score > 0) == (found.p_value <= 0.1)
    assert found.null == pytest.approx(null if name == "mutual_knn" else 1 - np.array(null))


def test_copies_score_one_and_a_shape_distance_is_measured_in_units_of_chance() -> None:
    x, y = pair(noise=2.0)
    assert calibrated("nbs", x, 3 * x[:, ::-1], n_permutations=19).score == pytest.approx(1)
    metric = rs.ProcrustesShapeMetric(preprocess=rs.Preprocess(center=True))
    found = calibrated(metric, x, y, n_permutations=39)
    assert found.kind == "distance"
    assert found.value == pytest.approx(metric.distance(x, y), rel=1e-9)
    chance = np.sort([found.value, *found.null])[2]  # 0.05 times 40 values may be smaller
    assert found.threshold == pytest.approx(chance)
    assert found.score == pytest.approx(max(0.0, 1 - found.value / chance))
    assert found.score > 0


def test_functions_and_partials_of_measures_keep_their_kind() -> None:
    x, y = pair()
    by_name = calibrated("cka", x, y, n_permutations=19, debiased=True)
    for measure in (partial(cka, debiased=True), lambda a, b: cka(a, b, debiased=True)):
        found = calibrated(measure, x, y, n_permutations=19)
        assert (found.score, found.p_value) == (by_name.score, by_name.p_value)
    similar = calibrated(partial(mutual_knn, k=3), x, y, n_permutations=19)
    mine = calibrated(
        lambda a, b: mutual_knn(a, b, k=3), x, y, kind="similarity", n_permutations=19
    )
    assert similar.kind == mine.kind == "similarity"
    assert similar.score == mine.score
    table = calibrated(rs.baselines.MEASURES["nbs"], x, y, n_permutations=19)
    assert table.score == calibrated(nbs, x, y, n_permutations=19).score


def test_the_best_of_several_layers_is_searched_in_each_permutation() -> None:
    x, y = pair(noise=3.0)
    layers = {f"layer {k}": pair(k + 1)[1] for k in range(4)} | {"right": y}
    found = calibrated("cka", x, layers, n_permutations=59)
    single = {name: calibrated("cka", x, one, n_permutations=59) for name, one in layers.items()}
    assert found.best == "right"
    assert found.values == {name: one.value for name, one in single.items()}
    np.testing.assert_array_equal(found.null, np.min([one.null for one in single.values()], axis=0))
    assert found.p_value >= single["right"].p_value
    assert found.threshold < single["right"].threshold


def test_the_search_over_layers_keeps_the_size() -> None:
    """With seven unrelated layers, the best one alone would be significant far too often."""
    searched, naive = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        x, layers = rng.normal(size=(8, 3)), rng.normal(size=(7, 8, 3))
        found = calibrated("nbs", x, dict(zip("abcdefg", layers, strict=True)), n_permutations=19)
        searched.append(found.p_value <= 0.05)
        best = layers["abcdefg".index(found.best or "a")]
        naive.append(calibrated("nbs", x, best, n_permutations=19).p_value <= 0.05)
    assert np.mean(searched) < 0.12
    assert np.mean(naive) > 0.2


@pytest.mark.parametrize("name", MEASURES_TESTED)
def test_size_for_few_conditions_and_many_neurons(name: str) -> None:
    """19 permutations make a test of exactly level 0.05: 6 or fewer of 40 in 99 % of runs."""
    rate = false_positives(name, n=30, simulations=40, n_permutations=19, seed=1)
    assert rate.share <= 6 / 40
    assert rate.share < 0.5 < rate.raw or name in ("rsa", "cca")


def test_labelled_conditions_are_permuted() -> None:
    x, y = pair()
    names = [f"image {m}" for m in range(12)]
    labelled = [rs.Gaussians.points(one, conditions=names) for one in (x, y)]
    found = calibrated("cka", *labelled, n_permutations=19)
    assert found.score == calibrated("cka", x, y, n_permutations=19).score
    assert labelled[0].conditions == tuple(names)


def test_wrong_input_gets_one_sentence() -> None:
    x, y = pair()
    with pytest.raises(InputError, match="The 'measure' parameter of calibrated must be one of"):
        calibrated("cosine", x, y)
    with pytest.raises(InputTypeError, match="name of a measure, a function of two networks or"):
        calibrated(3, x, y)
    with pytest.raises(InputError, match=r"level of 0.01 needs at least 99 permutations. Got 50"):
        calibrated("cka", x, y, level=0.01, n_permutations=50)
    with pytest.raises(InputError, match="has no parameter 'k'"):
        calibrated("cka", x, y, k=3)
    with pytest.raises(InputError, match=r"Options are for measures given by their name. Got k"):
        calibrated(mutual_knn, x, y, k=3)
    with pytest.raises(InputError, match=r"'cka' is a distance. Got kind='similarity'"):
        calibrated("cka", x, y, kind="similarity")
    with pytest.raises(InputError, match=r"at least 5 conditions to permute. Got 4"):
        calibrated("cka", x[:4], y[:4])
    with pytest.raises(InputError, match="must hold a network"):
        calibrated("cka", x, {})
    with pytest.raises(InputError, match="same conditions"):
        calibrated("cka", x, y[:10])
