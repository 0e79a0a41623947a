"""Cross-validated scores of predictions from nearest neighbours, with permutation tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._compact import compact_repr
from repshape.analysis import _knn
from repshape.errors import InputError, check_integer, check_real
from repshape.matrix.columns import ValuesLike, find_column
from repshape.matrix.distances import DistanceMatrix

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

# The mean of the same scores in another order differs by rounding, and counts as equal.
ROUNDING = 1e-12
# Permuted targets are predicted side by side, in batches of at most this many numbers, which stay
# in the cache.
BATCH = 200_000


@compact_repr
@dataclass(frozen=True, eq=False)
class NeighborScore:
    """How well a property of networks is predicted from their nearest neighbours.

    Attributes
    ----------
    estimate : float
        Mean score over test sets, or over networks if groups are left out.
    spread : float
        Standard deviation of the score over test sets. Test sets share networks, so this is not a
        standard error.
    interval : tuple of float
        The 5th and 95th percentile of the score over test sets.
    scores : ndarray, shape (n_splits,)
        The score on each test set.
    score : str
        ``"accuracy"`` or ``"R2"``.
    chance : float
        Score of the best prediction without distances: the fraction of the most frequent class,
        or 0 for R2.
    p_value : float or None
        Fraction of permutations of the targets, including the identity, that reach the estimate;
        None without permutations.
    null : ndarray, shape (n_permutations,)
        The estimates for permuted targets: what the protocol gives if distances say nothing about
        the target. `null_mean` and `null_interval` summarise them.
    balanced_accuracy : float
        Mean over classes of the fraction of their networks that are predicted correctly, over all
        test sets. By chance it is 1 / (number of classes), however unequal the classes are. NaN for
        numbers.
    predictions : ndarray, shape (n_networks,), or None
        What was predicted for each network, if groups are left out. None for random test sets, in
        which a network may be several times, or never.
    method : str
        Description of the protocol.
    n_neighbors : tuple of int
        The k chosen by cross-validation for each test set.
    n_networks, n_splits, n_permutations : int
        Numbers of networks, test sets and permutations.
    """

    estimate: float
    spread: float
    interval: tuple[float, float]
    scores: FloatArray
    score: str
    chance: float
    p_value: float | None
    null: FloatArray
    balanced_accuracy: float
    predictions: npt.NDArray[Any] | None
    method: str
    n_neighbors: tuple[int, ...]
    n_networks: int
    n_splits: int
    n_permutations: int

    @property
    def null_mean(self) -> float:
        """Mean estimate for permuted targets; NaN without permutations."""
        return float(self.null.mean()) if len(self.null) else float("nan")

    @property
    def null_interval(self) -> tuple[float, float]:
        """The 5th and 95th percentile of the estimate for permuted targets."""
        if not len(self.null):
            return float("nan"), float("nan")
        low, high = np.percentile(self.null, [5.0, 95.0]).tolist()
        return low, high

    def summary(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON."""
        return {
            "score": self.score,
            "estimate": self.estimate,
            "spread": self.spread,
            "interval": list(self.interval),
            "chance": self.chance,
            "null_mean": self.null_mean,
            "null_interval": list(self.null_interval),
            "balanced_accuracy": self.balanced_accuracy,
            "p_value": self.p_value,
            "method": self.method,
            "networks": self.n_networks,
            "splits": self.n_splits,
            "permutations": self.n_permutations,
            "median_n_neighbors": float(np.median(self.n_neighbors)),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the score and the chosen k of each test set, indexed by ``split``."""
        index = pd.RangeIndex(self.n_splits, name="split")
        columns = {self.score: self.scores.copy(), "n_neighbors": list(self.n_neighbors)}
        return pd.DataFrame(columns, index=index)

    def words(self) -> str:
        """Return the result in one sentence."""
        words = f"{self.score} {self.estimate:.3f} +- {self.spread:.3f} over test sets"
        if np.isfinite(self.balanced_accuracy):
            words += f", balanced over classes {self.balanced_accuracy:.3f}"
        words += f", chance {self.chance:.3f}"
        if self.p_value is not None:
            low, high = self.null_interval
            words += (
                f", permuted targets {self.null_mean:.3f} [{low:.3f}, {high:.3f}], "
                f"p = {self.p_value:.3g}"
            )
        return f"{words} ({self.method})."


class Protocol:
    """The protocol of `knn_classify` and `knn_regress`, with the parameters of `knn_classify`."""

    def __init__(
        self,
        n_neighbors: Iterable[int],
        test_size: float,
        n_folds: int,
        n_repeats: int,
        n_permutations: int,
        random_state: int,
    ) -> None:
        candidates = sorted({check_integer("n_neighbors", k, 1) for k in n_neighbors})
        if not candidates:
            raise InputError("There must be at least one number of neighbours to choose from.")
        self.candidates = np.array(candidates, dtype=np.intp)
        self.test_size = check_real("test_size", test_size, 0.0, 1.0, closed="neither")
        self.n_folds = check_integer("n_folds", n_folds, 2)
        self.n_repeats = check_integer("n_repeats", n_repeats, 1)
        self.n_permutations = check_integer("n_permutations", n_permutations, 0)
        self.seed = check_integer("random_state", random_state, 0)

    def run(
        self,
        matrix: DistanceMatrix,
        targets: FloatArray,
        groups: ValuesLike | None,
        task: _knn.Task,
        chance: float,
        classes: npt.NDArray[Any] | None = None,
    ) -> NeighborScore:
        """Return the scores of the true targets and of permuted ones.

        ``classes`` names the classes whose numbers are the targets.
        """
        members = None
        if groups is not None:
            members = np.unique(metadata_column(matrix, groups, "groups"), return_inverse=True)[1]
        splits = self._splits(matrix.values, members)
        predicted = self._predict(splits, targets[None], task)
        rows, estimates = self._judge(splits, targets[None], task, members, predicted)
        scores, estimate = rows[0], float(estimates[0])
        null = self._null(splits, targets, task, members)
        predictions = None if members is None else _assemble(splits, predicted, classes)
        for array in (scores, null, predictions):
            if array is not None:
                array.setflags(write=False)
        low, high = np.percentile(scores, [5.0, 95.0]).tolist()
        return NeighborScore(
            estimate=estimate,
            spread=float(scores.std(ddof=1)) if len(scores) > 1 else float("nan"),
            interval=(low, high),
            scores=scores,
            score=task.score_name,
            chance=chance,
            p_value=_p_value(estimate, null),
            null=null,
            balanced_accuracy=_balanced(splits, targets, predicted, task),
            predictions=predictions,
            method=self._words(task, members),
            n_neighbors=tuple(int(k[0]) for _, k in predicted),
            n_networks=len(matrix),
            n_splits=len(splits),
            n_permutations=len(null),
        )

    def _splits(self, values: FloatArray, members: IntArray | None) -> list[_knn.Split]:
        k_max = int(self.candidates.max())
        if members is not None:
            splits = _knn.group_splits(values, k_max, members, self.n_folds)
        else:
            tests = int(np.ceil(self.test_size * len(values)))
            if tests < 2 or len(values) - tests < self.n_folds:
                raise InputError(
                    f"{len(values)} networks are too few to hold out a fraction of "
                    f"{self.test_size:g} and split the rest into {self.n_folds} folds."
                )
            splits = _knn.random_splits(
                values, k_max, self.n_repeats, self.test_size, self.n_folds, self.seed
            )
        if any(self.candidates.min() > split.outer.neighbours.shape[1] for split in splits):
            raise InputError(f"There are too few networks for {self.candidates.min()} neighbours.")
        return splits

    def _predict(
        self, splits: list[_knn.Split], targets: FloatArray, task: _knn.Task
    ) -> list[tuple[FloatArray, IntArray]]:
        return [_knn.predict_split(one, targets, self.candidates, task) for one in splits]

    def _judge(
        self,
        splits: list[_knn.Split],
        targets: FloatArray,
        task: _knn.Task,
        members: IntArray | None,
        predicted: Sequence[tuple[FloatArray, IntArray]],
    ) -> tuple[FloatArray, FloatArray]:
        """Return, for each row of targets, the score of each test set and their mean."""
        columns = []
        for split, (found, _) in zip(splits, predicted, strict=True):
            truth = targets[:, split.outer.test]
            columns.append(
                task.score(truth, found)
                if members is None
                else task.group_score(truth, found, targets)
            )
        scores = np.stack(columns, axis=1)
        sizes = [len(split.outer.test) for split in splits]
        return scores, np.average(scores, axis=1, weights=sizes)

    def _null(
        self,
        splits: list[_knn.Split],
        targets: FloatArray,
        task: _knn.Task,
        members: IntArray | None,
    ) -> FloatArray:
        """Return the estimates for permuted targets, some permutations at a time."""
        rng = np.random.default_rng(self.seed)
        drawn = [_permute(targets, members, rng) for _ in range(self.n_permutations)]
        classes = len(np.unique(targets)) if task is _knn.CLASSIFICATION else 1
        size = len(targets) * int(self.candidates.max()) * classes
        step = max(1, BATCH // size)
        out: list[FloatArray] = []
        for start in range(0, len(drawn), step):
            rows = np.stack(drawn[start : start + step])
            found = self._predict(splits, rows, task)
            out.append(self._judge(splits, rows, task, members, found)[1])
        return np.concatenate([np.empty(0), *out])

    def _words(self, task: _knn.Task, members: IntArray | None) -> str:
        if members is None:
            held = f"{self.n_repeats} random test sets of {100 * self.test_size:g} %"
        else:
            held = f"each of {members.max() + 1} groups left out"
        return f"{task.name}, {held}, k chosen by {self.n_folds}-fold cross-validation"


def _assemble(
    splits: list[_knn.Split],
    predicted: Sequence[tuple[FloatArray, IntArray]],
    classes: npt.NDArray[Any] | None,
) -> npt.NDArray[Any]:
    """Return the prediction for each network; the test sets together have each network once."""
    tests = np.concatenate([split.outer.test for split in splits])
    values = np.concatenate([found[0] for found, _ in predicted])[np.argsort(tests)]
    return values if classes is None else classes[values.astype(np.intp)]


def _balanced(
    splits: list[_knn.Split],
    targets: FloatArray,
    predicted: Sequence[tuple[FloatArray, IntArray]],
    task: _knn.Task,
) -> float:
    """Return the accuracy over all test sets, as a mean over classes; NaN for numbers."""
    if task is not _knn.CLASSIFICATION:
        return float("nan")
    truth = np.concatenate([targets[split.outer.test] for split in splits])
    right = np.concatenate([found[0] for found, _ in predicted]) == truth
    return float(np.mean([right[truth == one].mean() for one in np.unique(truth)]))


def _p_value(estimate: float, null: FloatArray) -> float | None:
    if not len(null):
        return None
    return (1 + int((null >= estimate - ROUNDING).sum())) / (1 + len(null))


def _permute(targets: FloatArray, members: IntArray | None, rng: np.random.Generator) -> FloatArray:
    """Permute targets over networks, or over groups if they are constant in every group."""
    if members is not None:
        first = np.array([targets[members == group][0] for group in range(members.max() + 1)])
        if (first[members] == targets).all():
            return rng.permutation(first)[members]
    return rng.permutation(targets)


def metadata_column(matrix: DistanceMatrix, values: Any, name: str) -> npt.NDArray[Any]:
    """Return a value for each network, from the metadata if a column is named; none is missing."""
    column = find_column(matrix, values, name)
    if column.isna().any():
        raise InputError(f"'{name}' must be known for every network. Some values are missing.")
    array = column.to_numpy()
    return array.astype(str) if array.dtype.kind == "O" else array
