"""Calibrated scores: how far a similarity is above what chance gives, on a scale from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from repshape._arrays import FloatArray, IntArray
from repshape._compact import compact_repr
from repshape._parallel import run_all
from repshape.baselines.measures import MEASURES, Measure, find_measure
from repshape.errors import InputError, InputTypeError, check_choice, check_integer, check_real
from repshape.metrics.base import check_same_conditions
from repshape.metrics.registry import is_shape_metric
from repshape.responses import as_network

KINDS = ("distance", "similarity")


@compact_repr
@dataclass(frozen=True, eq=False)
class CalibratedScore:
    """A similarity on a scale where 0 is chance and 1 is a perfect match.

    Attributes
    ----------
    score : float
        In [0, 1]. It is above 0 if and only if ``p_value <= level``.
    p_value : float
        Chance of a match at least as good if the conditions of x and y are unrelated.
    value : float
        The measure itself, without calibration; that of the best network if there are several.
    threshold : float
        The value of the measure at which the score is 0.
    kind : {"distance", "similarity"}
        Whether small or large values of the measure mean a good match.
    best : str or None
        Name of the best network, if y is a dict.
    values : dict
        The measure for each network, if y is a dict.
    null : ndarray, shape (n_permutations,)
        The measure for permuted conditions; the best over networks if there are several.
    level : float
        The level of the test.
    """

    score: float
    p_value: float
    value: float
    threshold: float
    kind: str
    best: str | None
    values: dict[str, float]
    null: FloatArray
    level: float


def calibrated(
    measure: Any,
    x: Any,
    y: Any,
    *,
    n_permutations: int = 199,
    level: float = 0.05,
    kind: str | None = None,
    random_state: int = 0,
    workers: int | None = None,
    **options: Any,
) -> CalibratedScore:
    r"""Compare two networks on a scale where chance is 0 and a perfect match is 1.

    Values of most measures depend on the numbers of conditions and neurons, so that even
    independent networks may have a CKA near 1. The conditions of x are therefore permuted K times.
    With the measure as a similarity s, the K values :math:`s_k` of permuted conditions give

    .. math:: p = \frac{1 + \#\{k : s_k \ge s\}}{K + 1}, \qquad
              \text{score} = \max\Big(0, \frac{s - \tau}{s_{\max} - \tau}\Big)

    where :math:`\tau` is the (1 - level) quantile of the K + 1 values, the observed one included,
    and :math:`s_{\max}` that of a perfect match. For a distance d this is 1 - d / :math:`d_\tau`.

    Parameters
    ----------
    measure : str, callable or ShapeMetric
        A name in `MEASURES`; a function of two networks; or a shape metric, whose distance is used.
    x : network
    y : network, or dict of networks by name
        A dict, such as the layers of a model, is searched for the best match, and so it is for
        each permutation: the p-value takes the search into account. All must have the conditions
        of x, at least 5.
    n_permutations : int
        K. The smallest possible p-value is 1 / (K + 1), which must not exceed the level.
    level : float in (0, 1)
        Level of the test, which is the chance of a positive score for unrelated networks.
    kind : {"distance", "similarity"}, optional
        For functions of your own: whether 0 is a perfect match (the default) or 1.
    random_state : int
        Seed of the permutations.
    workers : int, optional
        Number of threads; all cores by default.
    **options
        Options of a measure that is given by its name.

    Returns
    -------
    CalibratedScore

    Notes
    -----
    The null hypothesis is that conditions are exchangeable, in their relation to each other: it
    does not hold for conditions with an order in both networks, such as successive frames of a
    film, for which p is too small.

    References
    ----------
    Phipson and Smyth, "Permutation p-values should never be zero", 2010. The scale of the score is
    that of the package calibrated-similarity (arXiv 2602.14486).

    Examples
    --------
    Ten conditions and 200 neurons: CKA of independent networks is near 1, and its score is 0.

    >>> from repshape.baselines import cka
    >>> x, y = np.random.default_rng(0).normal(size=(2, 10, 200))
    >>> bool(1 - cka(x, y) > 0.9)
    True
    >>> calibrated("cka", x, y).score
    0.0
    >>> calibrated("cka", x, x).score
    1.0
    """
    check_integer("n_permutations", n_permutations, 1, owner="calibrated")
    check_real("level", level, 0, 1, closed="neither", owner="calibrated")
    check_integer("random_state", random_state, 0, owner="calibrated")
    kept = int(level * (n_permutations + 1) * (1 + 1e-12))
    if kept < 1:
        raise InputError(
            f"A level of {level:g} needs at least {int(np.ceil(1 / level)) - 1} permutations. "
            f"Got {n_permutations}."
        )
    function, kind = _function(measure, kind, options)
    first, others = _networks(x, y, measure._read if is_shape_metric(measure) else as_network)
    if is_shape_metric(measure):
        others = {name: measure.prepare(one) for name, one in others.items()}
    orders = _orders(first.n_conditions, n_permutations, random_state)
    sign = 1.0 if kind == "similarity" else -1.0

    def values(order: IntArray) -> list[float]:
        moved = first._take(order)
        return [sign * float(function(moved, one)) for one in others.values()]

    found = np.array(run_all(values, orders, workers=workers, progress=False))
    return _result(found, list(others), kept, level, kind, isinstance(y, Mapping))


def _result(
    found: FloatArray, names: list[str], kept: int, level: float, kind: str, several: bool
) -> CalibratedScore:
    """Return the score of values (K + 1, networks), the larger the better, the data first."""
    sign = 1.0 if kind == "similarity" else -1.0
    best = found.max(axis=1)
    observed, null = float(best[0]), best[1:]
    threshold = float(np.sort(best)[::-1][kept])
    perfect = 1.0 if kind == "similarity" else 0.0
    score = 0.0
    if observed > threshold:
        # Estimates may exceed those of a perfect match.
        room = max(perfect, observed) - threshold
        score = (observed - threshold) / room
    return CalibratedScore(
        score=float(score),
        p_value=float((1 + np.count_nonzero(null >= observed)) / (len(null) + 1)),
        value=sign * observed,
        threshold=sign * threshold,
        kind=kind,
        best=names[int(found[0].argmax())] if several else None,
        values=dict(zip(names, (sign * found[0]).tolist(), strict=True)) if several else {},
        null=sign * null,
        level=float(level),
    )


def _function(
    measure: Any, kind: str | None, options: dict[str, Any]
) -> tuple[Callable[[Any, Any], Any], str]:
    """Return the function of two networks that a measure stands for, and its kind."""
    if isinstance(measure, str):
        measure = find_measure(measure, "calibrated")
    known = measure if isinstance(measure, Measure) else _known(measure)
    if known is not None and kind not in (None, known.kind):
        raise InputError(f"The measure {known.name!r} is a {known.kind}. Got kind={kind!r}.")
    if isinstance(measure, Measure):
        measure.as_distance(**options)  # refuses unknown options
        return partial(measure, **options), measure.kind
    if options:
        raise InputError(
            "Options are for measures given by their name. "
            f"Got {', '.join(options)} for {measure!r}."
        )
    if is_shape_metric(measure):
        measure._validate_parameters()
        return partial(_shape_distance, measure), "distance"
    if not callable(measure) or isinstance(measure, type):
        raise InputTypeError(
            "The 'measure' parameter of calibrated must be the name of a measure, a function of "
            f"two networks or a shape metric. Got {measure!r} instead."
        )
    if known is not None:
        return measure, known.kind
    kind = "distance" if kind is None else kind
    return measure, check_choice("kind", kind, KINDS, owner="calibrated")


def _shape_distance(metric: Any, x: Any, prepared: Any) -> float:
    """Return the distance of a network to a prepared one."""
    return float(metric.align_prepared(metric.prepare(x), prepared).distance)


def _known(measure: Any) -> Measure | None:
    """Return the row of the table for one of its functions, or a partial of it."""
    while isinstance(measure, partial):
        measure = measure.func
    for one in MEASURES.values():
        if measure is one.function:
            return one
    return None


def _networks(x: Any, y: Any, read: Callable[..., Any]) -> tuple[Any, dict[str, Any]]:
    """Return the networks without names of conditions, which permutations would exchange."""
    first = read(x, "x")
    if isinstance(y, Mapping):
        if not y:
            raise InputError("The 'y' parameter of calibrated must hold a network. Got none.")
        others = {str(name): read(one, repr(name)) for name, one in y.items()}
    else:
        others = {"y": read(y, "y")}
    for one in others.values():
        check_same_conditions(first, one)
    if first.n_conditions < 5:
        raise InputError(
            f"A calibrated score needs at least 5 conditions to permute. Got {first.n_conditions}."
        )
    return first._unnamed(), {name: one._unnamed() for name, one in others.items()}


def _orders(M: int, count: int, seed: int) -> list[IntArray]:
    """Return orders of M conditions: as given, then random ones."""
    rng = np.random.default_rng(seed)
    return [np.arange(M), *(rng.permutation(M) for _ in range(count))]
