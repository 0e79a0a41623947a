"""How classifiers of scikit-learn are fitted here."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from experiments.vae.sprites import FloatArray, IntArray


def quiet_fit(model: Any, points: FloatArray, labels: IntArray) -> Any:
    """Fit a classifier with its default number of iterations, which the scores are defined by."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(points, labels)
