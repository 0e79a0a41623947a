"""One matrix from several: distances between random parts of the same networks, averaged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.matrix.distances import COUNTS, DistanceMatrix
from repshape.matrix.error_bars import ARRAYS, ErrorBars

FloatArray = npt.NDArray[np.float64]


def average_draws(draws: Sequence[DistanceMatrix], about: dict[str, Any]) -> DistanceMatrix:
    """Return the root mean square of distances over draws, with their standard deviations.

    Squares are averaged because the mean of squared distances does not depend on how many
    different parts a network has: a network that is drawn whole every time, and one whose parts
    differ, are treated alike. A root mean square of metrics is a metric. Negative estimates have
    negative squares. The pair's search is described by the draw with the lowest agreement.

    >>> one, three = (DistanceMatrix([[0, d], [d, 0]]) for d in (1.0, 7.0))
    >>> D = average_draws([one, three], {"n_draws": 2})
    >>> D.values[0, 1].item(), D.draw_deviations[0, 1].round(3).item()
    (5.0, 4.243)
    """
    first, values = draws[0], _stack(draws, "values")
    known: dict[str, Any] = {"draw_deviations": np.zeros(first.shape)}
    if len(draws) > 1:
        known["draw_deviations"] = values.std(axis=0, ddof=1)
    if first.lower_bounds is not None:
        known["lower_bounds"] = mean_square(_stack(draws, "lower_bounds"))
    if first.converged is not None:
        known["converged"] = _stack(draws, "converged").all(axis=0)
    if first.agreement is not None:
        worst = _stack(draws, "agreement").argmin(axis=0)[None]
        for name in (*COUNTS, "gaps"):
            if getattr(first, name) is not None:
                known[name] = np.take_along_axis(_stack(draws, name), worst, axis=0)[0]
    if first.error_bars is not None:
        known["error_bars"] = _average_bars([one.error_bars for one in draws])
    description = {key: value for key, value in first.description.items() if key != "polish"}
    return first.replace(
        values=mean_square(values), description=description | {"match": about}, **known
    )


def _stack(draws: Sequence[Any], name: str) -> npt.NDArray[Any]:
    """Return a field of every draw, (n_draws, K, K)."""
    return np.array([getattr(one, name) for one in draws])


def mean_square(values: Iterable[Any]) -> FloatArray:
    """Return the root of the mean square over the first axis, with the sign of that mean.

    >>> mean_square([[1.0, -1.0], [7.0, -7.0]])
    array([ 5., -5.])
    """
    array = np.array(list(values), dtype=np.float64)
    squared = (array * np.abs(array)).mean(axis=0)
    return np.asarray(np.copysign(np.sqrt(np.abs(squared)), squared))


def _average_bars(bars: Sequence[Any]) -> ErrorBars:
    """Return averaged error bars.

    The ends of the intervals are averaged like the distances. The draws share trials, so the
    average has at most the mean of their errors, and the interval is at least as wide as needed.
    """
    fields: dict[str, Any] = {name: mean_square(_stack(bars, name)) for name in ARRAYS}
    return ErrorBars(**fields, **bars[0].header())
