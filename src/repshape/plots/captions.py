"""Phrases that several captions share."""

from __future__ import annotations

from repshape._arrays import count
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.identity import caption, restore
from repshape.preprocess import Preprocess
from repshape.responses.transforms import transform_name

# Distances have the units of the responses unless the metric rescales them.
UNIT = "units of the responses"


def matrix_words(matrix: DistanceMatrix) -> str:
    """Describe a matrix: its metric, its numbers of networks and pairs, and what is missing.

    >>> matrix_words(DistanceMatrix([[0, 1], [1, 0]]))
    'Distance, 2 networks, 1 pair.'
    """
    pairs = len(matrix) * (len(matrix) - 1) // 2
    words = f"{caption(matrix.description)}, {count(len(matrix), 'network')}, "
    words += f"{count(pairs, 'pair')}."
    preprocess = getattr(restore(matrix.description), "preprocess", None)
    if isinstance(preprocess, Preprocess) and (steps := preprocess_steps(preprocess)):
        words += f" Each network was {', '.join(steps)}."
    if about := matrix.description.get("match"):
        words += f" {about['drawn']} drawn from each network ({count(about['n_draws'], 'draw')})."
    if matrix.n_missing:
        words += f" {count(matrix.n_missing, 'pair')} not computed yet (grey)."
    if matrix.n_unconverged:
        words += f" {count(matrix.n_unconverged, 'pair')} not converged."
    return words


def preprocess_steps(preprocess: Preprocess) -> list[str]:
    """Return what was done to each network, in order.

    >>> preprocess_steps(Preprocess(n_components=3, scale=True))
    ['centred', 'reduced to 3 principal components', 'scaled to total variance 1']
    """
    steps = []
    if preprocess.transform is not None:
        steps.append(f"transformed by {transform_name(preprocess.transform)}")
    if preprocess.center:
        steps.append("centred")
    if preprocess.n_components is not None:
        steps.append(f"reduced to {preprocess.n_components} principal components")
    if preprocess.whitening:
        steps.append(f"whitened by {preprocess.whitening:g}")
    if preprocess.scale:
        steps.append("scaled to total variance 1")
    return steps


def deviations(n_std: float) -> str:
    """Return the size of ellipses in words.

    >>> deviations(1.0)
    'one standard deviation'
    """
    return "one standard deviation" if n_std == 1 else f"{n_std:g} standard deviations"
