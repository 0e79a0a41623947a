"""Neighbours: equal to scikit-learn for the same splits, and at chance without an effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneGroupOut, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from repshape.analysis.neighbors import knn_classify, knn_regress, nearest_neighbors
from repshape.errors import InputError
from repshape.matrix.distances import DistanceMatrix

FloatArray = npt.NDArray[np.float64]
KS = tuple(range(1, 11))


def blobs(count: int = 60, classes: int = 3, apart: float = 2.0, seed: int = 0) -> DistanceMatrix:
    """Points around ``classes`` centres; the first coordinate is a number to predict."""
    rng = np.random.default_rng(seed)
    kind = np.arange(count) % classes
    points = rng.normal(size=(count, 3))
    points[:, 1] += apart * kind
    frame = pd.DataFrame(
        {"kind": [f"k{k}" for k in kind], "depth": points[:, 0], "animal": np.arange(count) // 6}
    )
    return DistanceMatrix(squareform(pdist(points)), metadata=frame)


def by_scikit_learn(
    D: FloatArray, y: Any, model: Any, repeats: int
) -> tuple[FloatArray, list[int]]:
    """The same protocol with scikit-learn."""
    scores, chosen = [], []
    splits = ShuffleSplit(repeats, test_size=0.2, random_state=0).split(D)
    for repeat, (rest, test) in enumerate(splits):
        folds = KFold(6, shuffle=True, random_state=repeat)
        search = GridSearchCV(model, {"n_neighbors": list(KS)}, cv=folds)
        search.fit(D[np.ix_(rest, rest)], y[rest])
        scores.append(search.score(D[np.ix_(test, rest)], y[test]))
        chosen.append(search.best_params_["n_neighbors"])
    return np.array(scores), chosen


def test_classification_equals_scikit_learn() -> None:
    D = blobs()
    y = D.metadata["kind"].to_numpy(dtype=str)
    model = KNeighborsClassifier(metric="precomputed")
    scores, chosen = by_scikit_learn(D.values, y, model, 8)
    ours = knn_classify(D, "kind", n_neighbors=KS, n_repeats=8)
    np.testing.assert_allclose(ours.scores, scores)
    assert list(ours.n_neighbors) == chosen
    assert ours.estimate == pytest.approx(scores.mean())
    assert ours.spread == pytest.approx(scores.std(ddof=1))


def test_regression_equals_scikit_learn() -> None:
    D = blobs()
    y = D.metadata["depth"].to_numpy()
    model = KNeighborsRegressor(metric="precomputed")
    scores, chosen = by_scikit_learn(D.values, y, model, 8)
    ours = knn_regress(D, "depth", n_neighbors=KS, n_repeats=8)
    np.testing.assert_allclose(ours.scores, scores)
    assert list(ours.n_neighbors) == chosen


def test_leaving_groups_out_equals_scikit_learn_for_one_k() -> None:
    D = blobs()
    y, animals = D.metadata["kind"].to_numpy(dtype=str), D.metadata["animal"].to_numpy()
    model = KNeighborsClassifier(3, metric="precomputed")
    right = [
        model.fit(D.values[np.ix_(rest, rest)], y[rest]).score(
            D.values[np.ix_(test, rest)], y[test]
        )
        for rest, test in LeaveOneGroupOut().split(y, groups=animals)
    ]
    ours = knn_classify(D, "kind", n_neighbors=[3], groups="animal")
    np.testing.assert_allclose(ours.scores, right)
    assert ours.n_splits == 10
    assert "each of 10 groups left out" in ours.method


def test_groups_of_unequal_size_average_to_the_whole() -> None:
    """R2 of held-out predictions over all networks is the mean over groups, weighted by size."""
    D = blobs()
    groups = np.minimum(np.arange(60) // 5, 6)
    y = D.metadata["depth"].to_numpy()
    ours = knn_regress(D, y, n_neighbors=[3], groups=groups)
    model = KNeighborsRegressor(3, metric="precomputed")
    predicted = np.empty(60)
    for rest, test in LeaveOneGroupOut().split(y, groups=groups):
        model.fit(D.values[np.ix_(rest, rest)], y[rest])
        predicted[test] = model.predict(D.values[np.ix_(test, rest)])
    whole = 1 - ((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert ours.estimate == pytest.approx(whole)
    assert ours.predictions == pytest.approx(predicted)
    assert knn_regress(D, y, n_permutations=0).predictions is None  # random test sets


def test_no_network_is_predicted_from_its_own_group() -> None:
    """Twins share a random class, which only the twin predicts."""
    rng = np.random.default_rng(0)
    twins = np.repeat(np.arange(40), 2)
    points = np.repeat(rng.normal(size=(40, 3)), 2, axis=0) + 1e-3 * rng.normal(size=(80, 3))
    D, y = squareform(pdist(points)), rng.integers(0, 2, 40)[twins]
    assert knn_classify(D, y).estimate > 0.85
    assert abs(knn_classify(D, y, groups=twins).estimate - 0.5) < 0.2


def test_separated_classes_are_decoded() -> None:
    found = knn_classify(blobs(apart=12.0), "kind", n_permutations=39)
    assert found.estimate == 1.0
    assert found.chance == pytest.approx(1 / 3)
    assert found.p_value == 1 / 40
    assert abs(found.null.mean() - 1 / 3) < 0.1


def test_shuffled_labels_are_at_chance() -> None:
    D = blobs(120)
    shuffled = np.random.default_rng(1).permutation(D.metadata["kind"].to_numpy(dtype=str))
    found = knn_classify(D, shuffled, n_permutations=99)
    assert abs(found.estimate - found.chance) < 0.1
    assert found.p_value is not None
    assert found.p_value > 0.05
    numbers = np.random.default_rng(2).permutation(D.metadata["depth"].to_numpy())
    assert knn_regress(D, numbers).estimate < 0.1


def test_p_values_are_uniform_without_effect() -> None:
    """A valid p-value is below u with probability at most u."""
    D = blobs(40)
    rng = np.random.default_rng(3)
    values = [
        knn_classify(
            D, rng.integers(0, 2, 40), n_neighbors=[1, 5], n_repeats=2, n_permutations=19
        ).p_value
        for _ in range(60)
    ]
    p = np.array(values, dtype=float)
    assert 0.35 < p.mean() < 0.7
    assert (p <= 0.1).mean() <= 0.25  # 0.1, and four standard errors


def test_targets_that_belong_to_groups_are_permuted_with_them() -> None:
    """Two classes of three animals: there are 20 labellings, so p cannot be small."""
    rng = np.random.default_rng(0)
    animals = np.repeat(np.arange(6), 8)
    centres = np.array([0.0, 0.5, 1.0, 20.0, 20.5, 21.0])
    D = squareform(pdist(centres[animals, None] + 0.1 * rng.normal(size=(48, 1))))
    y = (animals >= 3).astype(int)
    found = knn_classify(D, y, n_neighbors=[3], groups=animals, n_permutations=199)
    assert found.estimate == 1.0
    assert found.p_value is not None
    assert 0.04 < found.p_value < 0.2


def test_chance_of_unequal_classes_is_the_commonest() -> None:
    y = np.array([0] * 45 + [1] * 15)
    assert knn_classify(blobs(), y).chance == 0.75


def test_equal_seeds_give_equal_scores() -> None:
    D = blobs()
    one, same = (knn_classify(D, "kind", n_permutations=9) for _ in range(2))
    np.testing.assert_array_equal(one.scores, same.scores)
    np.testing.assert_array_equal(one.null, same.null)
    other = knn_classify(D, "kind", random_state=1)
    assert not np.array_equal(one.scores, other.scores)


def test_a_constant_test_set_is_scored_as_scikit_learn_does() -> None:
    D = blobs()
    assert knn_regress(D, np.ones(60)).estimate == 1.0


def test_one_split_has_no_spread() -> None:
    found = knn_classify(blobs(), "kind", n_repeats=1, n_permutations=0)
    assert np.isnan(found.spread)
    assert found.p_value is None
    assert found.summary()["splits"] == 1
    assert found.to_frame().to_dict("list") == {
        "accuracy": found.scores.tolist(),
        "n_neighbors": list(found.n_neighbors),
    }
    assert found.words().startswith(
        f"accuracy {found.estimate:.3f} +- nan over test sets, balanced"
    )
    assert np.isnan(found.null_mean)
    assert np.isnan(found.null_interval).all()


def test_null_is_summarised_beside_the_score() -> None:
    found = knn_classify(blobs(), "kind", n_permutations=39)
    assert found.null_mean == pytest.approx(found.null.mean())
    assert found.null_interval == pytest.approx(tuple(np.percentile(found.null, [5, 95])))
    low, high = found.null_interval
    assert f"permuted targets {found.null_mean:.3f} [{low:.3f}, {high:.3f}]" in found.words()
    assert found.summary()["null_mean"] == found.null_mean
    numbers = knn_regress(blobs(), "depth", n_permutations=9)
    assert numbers.score == "R2"
    assert np.isnan(numbers.balanced_accuracy)
    assert "balanced" not in numbers.words()


def test_balanced_accuracy_is_the_mean_recall_of_scikit_learn() -> None:
    D = blobs()
    y = (D.metadata["depth"] > 0.8).to_numpy().astype(int)  # unequal classes
    animals = D.metadata["animal"].to_numpy()
    ours = knn_classify(D, y, n_neighbors=[3], groups=animals, n_permutations=0)
    model = KNeighborsClassifier(3, metric="precomputed")
    predicted = np.empty(60, dtype=int)
    for rest, test in LeaveOneGroupOut().split(y, groups=animals):
        model.fit(D.values[np.ix_(rest, rest)], y[rest])
        predicted[test] = model.predict(D.values[np.ix_(test, rest)])
    assert ours.balanced_accuracy == pytest.approx(balanced_accuracy_score(y, predicted))
    assert ours.predictions is not None
    assert ours.predictions.tolist() == predicted.tolist()
    words = np.where(y > 0, "deep", "shallow")
    named = knn_classify(D, words, n_neighbors=[3], groups=animals, n_permutations=0)
    assert named.predictions is not None
    assert named.predictions.tolist() == np.where(predicted > 0, "deep", "shallow").tolist()
    assert ours.balanced_accuracy < ours.estimate


def test_balanced_accuracy_of_the_commonest_class_is_chance() -> None:
    """Meaningless distances and one rare class: accuracy is high, and balanced accuracy 1/2."""
    rng = np.random.default_rng(0)
    D = squareform(pdist(rng.normal(size=(60, 3))))
    y = np.array([0] * 54 + [1] * 6)
    found = knn_classify(D, y, n_neighbors=[15], n_permutations=0)
    assert found.estimate > 0.8
    assert found.balanced_accuracy == pytest.approx(0.5)


def test_nearest_neighbors_of_one_network() -> None:
    D = blobs()
    found = nearest_neighbors(D, "7", 4)
    order = [k for k in np.argsort(D.values[7]) if k != 7][:4]
    assert found.indices.tolist() == order
    assert found.of == "7"
    assert found.labels == tuple(str(k) for k in order)
    np.testing.assert_array_equal(found.distances, D.values[7, order])
    table = found.to_frame()
    assert table["distance"].is_monotonic_increasing
    assert table["neighbor"].tolist() == list(found.labels)
    assert table["rank"].tolist() == [1, 2, 3, 4]
    assert set(table["network"]) == {"7"}
    assert nearest_neighbors(D, 7, 4).labels == found.labels
    assert len(nearest_neighbors(D, 7, 1000).labels) == 59


def test_a_twin_at_distance_zero_is_a_neighbour() -> None:
    assert nearest_neighbors([[0, 0, 1], [0, 0, 1], [1, 1, 0]], 1, 1).labels == ("0",)


@pytest.mark.parametrize(
    ("target", "arguments", "sentence"),
    [
        ("shape", {}, "no column 'shape'. Its columns: 'kind', 'depth', 'animal'"),
        ([1, 2], {}, "an entry for each of 60 networks. Got 2"),
        ([None] * 60, {}, "known for every network"),
        (["a"] * 60, {}, "at least two classes"),
        ("kind", {"groups": [0] * 30 + [1] * 30}, "at least three groups. Got 2"),
        ("kind", {"test_size": 0.95}, "too few to hold out"),
        ("kind", {"n_neighbors": []}, "at least one number of neighbours"),
        ("kind", {"n_neighbors": [59]}, "too few networks for 59 neighbours"),
        ("kind", {"n_folds": 1}, "'n_folds'"),
    ],
)
def test_bad_input_is_one_sentence(target: Any, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        knn_classify(blobs(), target, **arguments)


def test_other_bad_input() -> None:
    with pytest.raises(InputError, match=r"must be numbers\. Got values like 'k0'"):
        knn_regress(blobs(), "kind")
    with pytest.raises(InputError, match="no network named 'x'"):
        nearest_neighbors(blobs(), "x")
    with pytest.raises(InputError, match=r"60 networks\. Got position 60"):
        nearest_neighbors(blobs(), 60)
