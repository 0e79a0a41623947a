"""Predictions from k nearest neighbours for all k at once, and the splits for their scores.

The order of neighbours depends only on the distances. So each split is sorted once, for all k and
all permutations of the targets, which are predicted side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, ShuffleSplit

from repshape.errors import InputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
# From targets of neighbours (..., tests, k_max) to predictions (..., k_max, tests).
Predict = Callable[[FloatArray], FloatArray]
# From true targets and predictions, both (..., tests) and broadcast together, to scores (...).
Score = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Task:
    """How targets are predicted and scored."""

    name: str
    score_name: str
    predict: Predict
    score: Score
    # The score of one group, relative to the spread of all targets, so that the mean over groups is
    # the score of all networks.
    group_score: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Fold:
    """Networks to predict, and their nearest neighbours in the training set, (tests, k_max)."""

    test: IntArray
    neighbours: IntArray


@dataclass(frozen=True, eq=False)
class Split:
    """A test set, and the folds of the other networks for choosing k."""

    outer: Fold
    inner: tuple[Fold, ...]


def vote(neighbours: FloatArray) -> FloatArray:
    """Return the most frequent class among the first k, for each k; the lowest if they tie."""
    classes = neighbours.astype(np.int32)
    most = (classes == 0).cumsum(axis=-1, dtype=np.int32)
    winners = np.zeros_like(classes)
    for one in range(1, int(classes.max()) + 1):
        count = (classes == one).cumsum(axis=-1, dtype=np.int32)
        np.copyto(winners, one, where=count > most)
        np.maximum(most, count, out=most)
    return winners.swapaxes(-1, -2).astype(np.float64)


def average(neighbours: FloatArray) -> FloatArray:
    """Return the mean of the first k, for each k."""
    sums = neighbours.cumsum(axis=-1)
    means: FloatArray = (sums / np.arange(1, neighbours.shape[-1] + 1)).swapaxes(-1, -2)
    return means


def accuracy(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    """Return the fraction of correct predictions."""
    return np.asarray((truth == predicted).mean(axis=-1))


def r_squared(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    """Return 1 - (squared errors) / (squares about the mean of the truth), as scikit-learn does."""
    return _one_minus_ratio(((truth - predicted) ** 2).mean(axis=-1), truth)


def _one_minus_ratio(error: FloatArray, reference: FloatArray) -> FloatArray:
    about = reference - reference.mean(axis=-1, keepdims=True)
    spread = (about**2).mean(axis=-1)
    constant = spread == 0.0  # no variance to explain: the score is 1 or 0
    explained = 1.0 - error / np.where(constant, 1.0, spread)
    return np.where(constant, np.where(error == 0.0, 1.0, 0.0), explained)


CLASSIFICATION = Task(
    "k-NN classification", "accuracy", vote, accuracy, lambda t, p, everyone: accuracy(t, p)
)
REGRESSION = Task(
    "k-NN regression",
    "R2",
    average,
    r_squared,
    lambda t, p, everyone: _one_minus_ratio(((t - p) ** 2).mean(axis=-1), everyone),
)


def random_splits(
    values: FloatArray, k_max: int, n_repeats: int, test_size: float, n_folds: int, seed: int
) -> list[Split]:
    """Draw ``n_repeats`` random test sets, and split the other networks into folds."""
    outer = ShuffleSplit(n_repeats, test_size=test_size, random_state=seed)
    splits = []
    for repeat, (rest, test) in enumerate(outer.split(values)):
        folds = KFold(n_folds, shuffle=True, random_state=seed + repeat)
        inner = [(rest[a], rest[b]) for a, b in folds.split(rest)]
        splits.append(_split(values, rest, test, inner, k_max))
    return splits


def group_splits(values: FloatArray, k_max: int, groups: IntArray, n_folds: int) -> list[Split]:
    """Hold out each group in turn. The folds do not divide groups either."""
    n_groups = len(np.unique(groups))
    if n_groups < 3:
        raise InputError(f"Leaving groups out needs at least three groups. Got {n_groups}.")
    splits = []
    for rest, test in LeaveOneGroupOut().split(values, groups=groups):
        folds = GroupKFold(min(n_folds, n_groups - 1))
        inner = [(rest[a], rest[b]) for a, b in folds.split(rest, groups=groups[rest])]
        splits.append(_split(values, rest, test, inner, k_max))
    return splits


def _split(
    values: FloatArray,
    rest: IntArray,
    test: IntArray,
    inner: list[tuple[IntArray, IntArray]],
    k_max: int,
) -> Split:
    # The same k is used in all folds, so it cannot exceed the smallest training set.
    k_max = min(k_max, *(len(train) for train, _ in inner))
    folds = tuple(_fold(values, train, held, k_max) for train, held in inner)
    return Split(_fold(values, rest, test, k_max), folds)


def _fold(values: FloatArray, train: IntArray, test: IntArray, k_max: int) -> Fold:
    order = np.argsort(values[np.ix_(test, train)], axis=1, kind="stable")[:, :k_max]
    return Fold(test, train[order])


def predict_split(
    split: Split, targets: FloatArray, candidates: IntArray, task: Task
) -> tuple[FloatArray, IntArray]:
    """Choose k on the inner folds, the smallest if there is a tie, and predict the test set.

    Targets are rows (rows, networks), each a case of its own: returns predictions (rows, tests) and
    the k of each row.
    """
    usable = candidates[candidates <= split.outer.neighbours.shape[1]]
    scores = np.mean([_fold_scores(fold, targets, task) for fold in split.inner], axis=0)
    k = usable[scores[:, usable - 1].argmax(axis=1)]
    predictions = task.predict(targets[:, split.outer.neighbours[:, : int(k.max())]])
    return predictions[np.arange(len(k)), k - 1], k


def _fold_scores(fold: Fold, targets: FloatArray, task: Task) -> FloatArray:
    truth = targets[:, None, fold.test]
    return task.score(truth, task.predict(targets[:, fold.neighbours]))
