"""k nearest neighbours for every k at once, and the splits they are judged on.

The order of neighbours depends on the distances alone, so a split is sorted once and serves every
k and every permutation of the targets.
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
# Neighbours' targets (tests, k_max) to predictions (k_max, tests).
Predict = Callable[[FloatArray], FloatArray]
# True targets and predictions (..., tests) to scores (...).
Score = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Task:
    """What is predicted and how it is judged."""

    name: str
    score_name: str
    predict: Predict
    score: Score
    # The score of one group by the spread of all targets, so that groups average to the whole.
    group_score: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Fold:
    """The networks to predict, and the nearest to predict from, shape (tests, k_max)."""

    test: IntArray
    neighbours: IntArray


@dataclass(frozen=True, eq=False)
class Split:
    """A held-out test set, and the folds of the rest that choose k."""

    outer: Fold
    inner: tuple[Fold, ...]


def vote(neighbours: FloatArray) -> FloatArray:
    """Return the most frequent class among the first k, for each k; the lowest where they tie."""
    classes = np.arange(int(neighbours.max()) + 1)
    counts = (neighbours[:, :, None] == classes).cumsum(axis=1)
    winners: FloatArray = counts.argmax(axis=2).T.astype(np.float64)
    return winners


def average(neighbours: FloatArray) -> FloatArray:
    """Return the mean of the first k, for each k."""
    sums = neighbours.cumsum(axis=1)
    means: FloatArray = (sums / np.arange(1, neighbours.shape[1] + 1)).T
    return means


def accuracy(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    """Return the share of predictions that are right."""
    return np.asarray((truth == predicted).mean(axis=-1))


def r_squared(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    """Return 1 - (squared errors) / (squares about the mean of the truth), as scikit-learn does."""
    return _one_minus_ratio(((truth - predicted) ** 2).mean(axis=-1), truth)


def _one_minus_ratio(error: FloatArray, reference: FloatArray) -> FloatArray:
    spread = ((reference - reference.mean()) ** 2).mean()
    if spread == 0.0:  # nothing to explain: perfect or worthless
        return np.where(error == 0.0, 1.0, 0.0)
    return np.asarray(1.0 - error / spread)


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
    """Hold out a random test set, ``n_repeats`` times, and fold the rest."""
    outer = ShuffleSplit(n_repeats, test_size=test_size, random_state=seed)
    splits = []
    for repeat, (rest, test) in enumerate(outer.split(values)):
        folds = KFold(n_folds, shuffle=True, random_state=seed + repeat)
        inner = [(rest[a], rest[b]) for a, b in folds.split(rest)]
        splits.append(_split(values, rest, test, inner, k_max))
    return splits


def group_splits(values: FloatArray, k_max: int, groups: IntArray, n_folds: int) -> list[Split]:
    """Hold out each group in turn; no group is on both sides of a fold either."""
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
    # One k must do for all folds, so no k may exceed the smallest of them.
    k_max = min(k_max, *(len(train) for train, _ in inner))
    folds = tuple(_fold(values, train, held, k_max) for train, held in inner)
    return Split(_fold(values, rest, test, k_max), folds)


def _fold(values: FloatArray, train: IntArray, test: IntArray, k_max: int) -> Fold:
    order = np.argsort(values[np.ix_(test, train)], axis=1, kind="stable")[:, :k_max]
    return Fold(test, train[order])


def predict_split(
    split: Split, targets: FloatArray, candidates: IntArray, task: Task
) -> tuple[FloatArray, int]:
    """Choose k on the inner folds, and predict the test set; the smallest k wins a tie."""
    usable = candidates[candidates <= split.outer.neighbours.shape[1]]
    scores = np.mean([_fold_scores(fold, targets, task)[usable - 1] for fold in split.inner], 0)
    k = int(usable[int(scores.argmax())])
    return task.predict(targets[split.outer.neighbours[:, :k]])[k - 1], k


def _fold_scores(fold: Fold, targets: FloatArray, task: Task) -> FloatArray:
    return task.score(targets[fold.test], task.predict(targets[fold.neighbours]))
