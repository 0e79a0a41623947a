"""What was measured, in words, from the description that a matrix carries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from repshape._arrays import count
from repshape.metrics.base import ShapeMetric
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.metrics.registry import restore, short_title
from repshape.preprocess import Preprocess

__all__ = ["many", "settings_table", "short_name", "what_was_measured"]

INVARIANCES = {
    "orthogonal": "Rotations and reflections of the neurons do not count.",
    "rotation": "Rotations of the neurons do not count; reflections do.",
    "permutation": "The order of the neurons does not count; rotations do.",
    "identity": "Nothing is aligned: neuron k of one network is compared with neuron k of the "
    "other.",
}
ESTIMATORS = {
    "mle": "maximum likelihood",
    "unbiased": "the unbiased estimate",
    "ledoit-wolf": "shrinkage of Ledoit and Wolf",
    "oas": "oracle approximating shrinkage",
    "shrinkage-cv": "cross-validated shrinkage",
    "ridge": "maximum likelihood with a ridge",
}


def many(number: int, noun: str) -> str:
    """Return a count whose digits stand in groups of three.

    >>> many(44850, "pair").replace("\u202f", " ")
    '44 850 pairs'
    """
    words = count(number, noun)
    return words.replace(str(number), f"{number:,}".replace(",", "\u202f"), 1)


def short_name(description: Mapping[str, Any], path: Path | None = None) -> str:
    """Return a few words for a matrix.

    >>> short_name({"metric": "GaussianShapeMetric", "parameters": {"alpha": 0.5}})
    'Gaussian, α = 0.5'
    """
    repaired = ", repaired" if description.get("repaired") else ""
    return (short_title(description) or (path.stem if path is not None else "matrix")) + repaired


def what_was_measured(description: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (topic, sentence) for each thing a reader must know of a matrix.

    >>> dict(what_was_measured(GaussianShapeMetric(2.0).describe()))["Distance"]
    'Gaussian shape distance at α = 2: it sees mean responses only.'
    """
    metric = restore(description)
    made = description.get("repshape")
    known = made and made != "unknown"
    version = [("Version", f"Computed with repshape {made}.")] if known else []
    repaired = description.get("repaired")
    moved = [("Repair", "These are the nearest distances that break no triangle.")]
    if metric is None:
        name = description.get("metric")
        words = f"Distances by {name}." if name else "The file does not say how it was measured."
        return [("Distance", words), *(moved if repaired else []), *version]
    return [
        ("Distance", metric._sentence()),
        ("Invariances", INVARIANCES[str(metric.get_params()["group"])]),
        ("Preprocessing", _preprocess_words(metric.preprocess)),
        ("Conditions", _weights_words(metric.weights)),
        *(_covariance_words(metric)),
        ("Search", _search_words(metric.get_params(deep=False))),
        *(moved if repaired else []),
        *version,
    ]


def _preprocess_words(preprocess: Preprocess | None) -> str:
    if preprocess is None:
        return "None: responses are compared as they were given."
    steps = ["centred"] if preprocess.center else []
    if preprocess.n_components is not None:
        steps.append(f"reduced to {preprocess.n_components} principal components")
    if preprocess.whitening:
        steps.append(f"whitened by {preprocess.whitening:g}")
    if preprocess.scale:
        steps.append("scaled to total variance 1")
    return f"Each network was {', '.join(steps)}." if steps else "None."


def _weights_words(weights: Any) -> str:
    return "All conditions weigh alike." if weights is None else "Conditions have given weights."


def _covariance_words(metric: ShapeMetric[Any]) -> list[tuple[str, str]]:
    if not isinstance(metric, GaussianShapeMetric):
        return []
    name = getattr(metric.covariance, "name", metric.covariance)
    how = ESTIMATORS.get(str(name), str(name))
    return [("Covariances", f"Where trials were given, estimated from them by {how}.")]


def _search_words(parameters: Mapping[str, Any]) -> str:
    if "n_starts" not in parameters:
        return "Solved in closed form."
    starts = parameters["n_starts"]
    tried = "many starts, screened" if starts == "auto" else f"{starts} starts"
    tolerance = str(parameters.get("tol")).replace("e-0", "e-")
    return (
        f"{tried[0].upper()}{tried[1:]}; seed {parameters.get('random_state')}; tolerance "
        f"{tolerance}; at most {parameters.get('max_iter')} iterations a start."
    )


def settings_table(description: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return every setting as the matrix keeps it, for those who must have them all."""
    rows = [("metric", description.get("metric", "not known"))]
    rows += sorted(dict(description.get("parameters") or {}).items())
    rows.append(("repshape", description.get("repshape", "not known")))
    return [(str(name), str(value)) for name, value in rows]
