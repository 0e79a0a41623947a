"""Phrases that several captions share."""

from __future__ import annotations

from repshape._arrays import count
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.identity import caption

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
    if about := matrix.description.get("match"):
        words += f" {about['drawn']} drawn from each network ({count(about['n_draws'], 'draw')})."
    if matrix.n_missing:
        words += f" {count(matrix.n_missing, 'pair')} not computed yet (grey)."
    if matrix.n_unconverged:
        words += f" {count(matrix.n_unconverged, 'pair')} not converged."
    return words


def deviations(n_std: float) -> str:
    """Return the size of ellipses in words.

    >>> deviations(1.0)
    'one standard deviation'
    """
    return "one standard deviation" if n_std == 1 else f"{n_std:g} standard deviations"
