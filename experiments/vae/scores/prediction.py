"""Scores B, C, D, F, G, J and K: how well, and from which codes, factors can be predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import entropy
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC

from experiments.vae.scores.fitting import quiet_fit
from experiments.vae.scores.table import CodeTable
from experiments.vae.settings import ScoreSettings
from experiments.vae.sprites import FloatArray, IntArray

SMALLEST_IMPORTANCE = 1e-11  # keeps the entropy of a row of zeros finite


@dataclass(frozen=True)
class BoostedTrees:
    """Scores B, C and D (Eastwood and Williams 2018), and G."""

    disentanglement: float
    completeness: float
    informativeness: float
    accuracy: float


def boosted_trees(
    table: CodeTable, settings: ScoreSettings, rng: np.random.Generator
) -> BoostedTrees:
    """Return scores B, C, D and G from boosted trees that predict each factor from all codes.

    B and C describe their importances R (codes x factors). D and G are the same quantity in the
    original study, the mean accuracy on new images, estimated twice. Here too each has new images
    of its own, but both use the same trees, which take almost all of the time.
    """
    codes, factors = table.draw(rng, settings.n_train_slow)
    tests = [table.draw(rng, settings.n_test_slow) for _ in range(2)]
    importances, accuracies = [], []
    for factor in range(factors.shape[1]):
        model, shares = fit_trees(codes, factors[:, factor], settings)
        importances.append(shares)
        accuracies.append([model.score(new, truth[:, factor]) for new, truth in tests])
    R = np.stack(importances, axis=1)
    informativeness, accuracy = np.mean(accuracies, axis=0).tolist()
    return BoostedTrees(disentanglement(R), disentanglement(R.T), informativeness, accuracy)


def fit_trees(
    codes: FloatArray, labels: IntArray, settings: ScoreSettings
) -> tuple[Any, FloatArray]:
    """Fit 100 rounds of boosted trees of depth 3; return them and the importance of each code.

    The importance of a code is its share in the gain of all splits, or 0 without any split.
    """
    if settings.exact_trees:
        model = GradientBoostingClassifier(random_state=settings.seed).fit(codes, labels)
        return model, abs(model.feature_importances_)
    model = HistGradientBoostingClassifier(
        learning_rate=0.1,
        max_iter=100,
        max_depth=3,
        max_leaf_nodes=None,
        min_samples_leaf=1,
        early_stopping=False,
        random_state=settings.seed,
    ).fit(codes, labels)
    gains = np.zeros(codes.shape[1])
    for nodes in (tree.nodes for trees in model._predictors for tree in trees):
        splits = nodes[nodes["is_leaf"] == 0]
        np.add.at(gains, splits["feature_idx"], splits["gain"])
    return model, gains / (gains.sum() or 1.0)


def disentanglement(R: FloatArray) -> float:
    """Return sum_i rho_i (1 - H(R_i)), where rho_i is the share of row i in all importances.

    H is the entropy of a row with the number of columns as the base. With rows for codes this is
    disentanglement, with rows for factors completeness.

    >>> round(disentanglement(np.eye(3)), 6), round(disentanglement(np.ones((3, 3))), 6)
    (1.0, 0.0)
    """
    if R.sum() == 0:
        R = np.ones_like(R)
    purity = 1 - entropy(R + SMALLEST_IMPORTANCE, base=R.shape[1], axis=1)
    return float(purity @ (R.sum(axis=1) / R.sum()))


def logistic_accuracy(table: CodeTable, settings: ScoreSettings, rng: np.random.Generator) -> float:
    """Return score F: mean over factors of the test accuracy of a logistic regression.

    Its penalty is chosen out of ten by 5-fold cross-validation.
    """
    codes, factors = table.draw(rng, settings.n_train_slow)
    new_codes, new_factors = table.draw(rng, settings.n_test_slow)
    accuracies = [
        quiet_fit(
            LogisticRegressionCV(
                Cs=10, cv=KFold(5), scoring="accuracy", l1_ratios=(0,), use_legacy_attributes=False
            ),
            codes,
            factors[:, factor],
        ).score(new_codes, new_factors[:, factor])
        for factor in range(factors.shape[1])
    ]
    return float(np.mean(accuracies))


def explicitness(table: CodeTable, settings: ScoreSettings, rng: np.random.Generator) -> float:
    """Return score J (Ridgeway and Mozer 2018).

    Codes are standardised by the moments of the training images. Each factor is predicted by a
    logistic regression; the score is the area under the ROC curve on new images, one value of the
    factor against the rest, averaged over values and then over factors.
    """
    codes, factors = table.draw(rng, settings.n_train)
    new_codes, new_factors = table.draw(rng, settings.n_test)
    mean, deviation = codes.mean(axis=0), codes.std(axis=0)
    deviation[deviation == 0] = 1  # a code without variance says nothing, whatever its scale
    areas = []
    for factor in range(factors.shape[1]):
        model = quiet_fit(LogisticRegression(), (codes - mean) / deviation, factors[:, factor])
        probabilities = model.predict_proba((new_codes - mean) / deviation)
        truth = new_factors[:, factor, None] == model.classes_
        areas.append(roc_auc_score(truth, probabilities))
    return float(np.mean(areas))


def separated_predictability(
    table: CodeTable, settings: ScoreSettings, rng: np.random.Generator
) -> float:
    """Return score K, SAP (Kumar et al. 2018).

    A linear support vector machine predicts each factor from each code alone; the score is the
    mean over factors of the difference between the two best accuracies on new images.
    """
    codes, factors = table.draw(rng, settings.n_train)
    new_codes, new_factors = table.draw(rng, settings.n_test)
    accuracy = np.zeros((codes.shape[1], factors.shape[1]))
    for code, factor in np.ndindex(*accuracy.shape):
        model = LinearSVC(C=0.01, class_weight="balanced", random_state=settings.seed)
        quiet_fit(model, codes[:, [code]], factors[:, factor])
        accuracy[code, factor] = model.score(new_codes[:, [code]], new_factors[:, factor])
    return gap(accuracy)


def gap(values: FloatArray) -> float:
    """Return the mean over columns of the difference between the two largest values.

    >>> gap(np.array([[1.0, 0.25], [0.5, 0.5], [0.0, 0.25]]))
    0.375
    """
    ordered = np.sort(values, axis=0)
    return float(np.mean(ordered[-1] - ordered[-2]))
