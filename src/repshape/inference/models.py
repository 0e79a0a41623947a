"""Models against brains: distances with intervals, ceilings, and tests."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._arrays import condition_weights
from repshape.errors import (
    check_choice,
    check_integer,
    check_real,
    warn_user,
)
from repshape.inference.ceilings import chance_test, curvature
from repshape.inference.estimates import Settings
from repshape.inference.factors import (
    FACTOR_LEVEL,
    FACTOR_PERMUTATIONS,
    LEVEL,
    UnequalNeuronsWarning,
)
from repshape.inference.model_errors import CEILINGS, OVER, MeanSquares, summarise
from repshape.inference.model_estimates import ModelPairs, PairEstimates
from repshape.inference.model_inputs import Networks, Side, Sides, roots
from repshape.inference.model_result import ModelComparison, Neurons
from repshape.inference.model_tests import closeness, compare_models, rank_correlation_test
from repshape.inference.part_store import store_folder
from repshape.inference.permutations import N_PERMUTATIONS
from repshape.inference.resampling import is_exact
from repshape.inference.subspaces import check_subspaces
from repshape.inference.terms import check_metric
from repshape.matrix.columns import ValuesLike
from repshape.metrics.base import ShapeMetric, signed_root
from repshape.metrics.few_trials import dimensions
from repshape.metrics.gaussian import GaussianShapeMetric

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


def models(
    brains: Networks,
    models: Networks,
    metric: ShapeMetric[Any] | None = None,
    *,
    blocks: ValuesLike | None = None,
    over: str = "brains",
    margin: float = 0.1,
    level: float = 0.9,
    n_groups: int = 8,
    n_permutations: int = N_PERMUTATIONS,
    n_chance: int = 99,
    random_state: int = 0,
    store: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> ModelComparison:
    r"""Compare models with brains: which model is nearest, and whether it is close enough.

    Every number is a root mean square distance over brains. Squared distances of all pairs are
    corrected for the noise of finite trials by the estimator of `distance` with
    ``method="calibrated"``: the preprocessing is fitted again in every part of the trials.

    Brains differ, so that no model can be at distance 0 of all of them. The **ceilings** say what
    can be reached: "pairs" is the distance between two brains, and "mean" that from a brain to the
    Frechet mean of the others. A model that is as good as another brain reaches the first, and a
    perfect model of the population about the second. Both are corrected for noise.

    Parameters
    ----------
    brains : Cohort, dict or iterable of K networks with trials
        At least six trials in every condition.
    models : Cohort, dict or iterable of networks
        Networks with trials, or known exactly: responses without noise (conditions, neurons), or
        moments.
    metric : ShapeMetric, optional
        By default ``GaussianShapeMetric()``. Brains and models have different numbers of neurons:
        reduce them to the same number of components, ``preprocess=Preprocess(n_components=k)``.
    blocks : str, sequence of K, Series or dict by name, optional
        The animal of each brain, if there are several recordings of one, or the name of a column
        of the metadata of a cohort. Recordings of one animal are resampled together, and not
        compared with each other for the ceilings.
    over : {"brains", "conditions", "both"}
        What would be drawn again if the experiment were repeated. "brains": other brains, the same
        conditions. "conditions": the same brains, other conditions like these. With "both" the
        result is about other brains and other conditions.
    margin : float
        A model is close enough if it is farther from the brains than they are from each other by
        less than this fraction.
    level : float
        Nominal coverage of the intervals.
    n_groups : int
        Number of groups of trials, as in `matrix`.
    n_permutations : int
        Number of random sign flips; all are used if there are fewer.
    n_chance : int
        Number of permutations of conditions for the test of the ceiling.
    random_state : int
        Seed. The result is exactly the same for any number of workers.
    store : path, optional
        A folder in which finished parts are saved. An interrupted run resumes when you repeat the
        call, and gives the same bits.
    workers, progress
        As in `repshape.pairwise`.

    Warns
    -----
    FewTrialsWarning
        If trials do not allow the calibrated estimate, are fewer than four times the dimensions
        while covariances are compared with a model that is known exactly, or if a model is given by
        moments of trials.
    UnequalNeuronsWarning
        If brains and models are compared in different numbers of dimensions, or distances depend
        on the number of neurons of a brain.
    UnstableSubspaceWarning
        As in `distance`.

    Notes
    -----
    *Errors.* The error over brains is that of a jackknife over brains (or blocks), and the error
    over conditions that of a jackknife over ten blocks of conditions, with the preprocessing fitted
    again. With v_r, v_c and the part v_rc that both contain, "both" has the variance v_r + v_c -
    v_rc, but not less than v_r or v_c. Intervals use Student's t distribution with R - 1 degrees of
    freedom for R brains, nine for ten blocks, and the smaller of both. They are symmetric for mean
    squared distances. Errors over brains include noise of the models' own trials.

    *Differences* between models are tested by flipping the signs of the brains' differences of
    squared distances, which is exact if these are symmetric about 0 under the hypothesis. With R
    brains no p-value is below :math:`2^{1 - R}`, so that at least six are needed for p < 0.05. Over
    conditions or both, it is a t test. All pairs of models are corrected after Holm, and by the
    distribution of the largest statistic.

    *Close enough* is the rejection, at level 0.05, of the hypothesis that a model is farther from
    the brains than they are from each other, by the margin or more. A model that is not shown to be
    close enough need not be too far.

    *Models that are known exactly* are corrected by all trials and halves of the brains' trials,
    :math:`2 d^2(L) - d^2(L/2)`, where covariances matter (alpha < 2). With fewer trials than four
    times the dimensions, their distances may still be too small.

    *The mean of the others* is approximate. It is a Frechet mean of plug-in shapes. The factor by
    which its squared distances exceed those of a flat space is applied to what corrected distances
    between brains give in a flat space. With K brains the mean of K - 1 others is not that of the
    population: the squared distance is larger by a factor of about K / (K - 1).

    *Models without noise* are compared with the means of the brains at alpha = 2. At smaller alpha
    their distance contains that noise is missing, :math:`(2 - \alpha) \sum_m w_m \mathrm{tr} S_m`;
    ``missing_noise`` is its share of the mean squared distance.

    References
    ----------
    Schuett, Kipnis, Diedrichsen and Kriegeskorte (2023), eLife 12. Feather, Khosla, Murty and
    Nayebi (2025), arXiv 2502.16238.

    Examples
    --------
    Seven brains that are noisy rotations of one population; one model is that population.

    >>> import numpy as np
    >>> import repshape as rs
    >>> rng = np.random.default_rng(0)
    >>> population, other = rng.normal(size=(2, 12, 3))
    >>> brains = {}
    >>> for k in range(7):
    ...     axes = np.linalg.qr(rng.normal(size=(8, 3)))[0]
    ...     means = (population + 0.3 * rng.normal(size=(12, 3))) @ axes.T
    ...     brains[f"mouse {k}"] = means[:, None] + 0.2 * rng.normal(size=(12, 16, 8))
    >>> metric = rs.GaussianShapeMetric(2.0, preprocess=rs.Preprocess(n_components=3))
    >>> found = models(brains, {"right": population, "wrong": other}, metric)
    >>> found.best, found.differences["p_value"].tolist()
    ('right', [0.015625])
    >>> found.scores["close_enough"].tolist()
    [True, False]
    """
    check_choice("over", over, OVER)
    check_real("margin", margin, 0)
    check_integer("n_permutations", n_permutations, 1)
    check_integer("n_chance", n_chance, 1)
    settings = Settings.checked(
        "calibrated", n_groups, None, None, level, random_state, workers, progress
    )
    sides = Sides(Side.read(brains, "brains"), Side.read(models, "models"))
    units = sides.brains.units(blocks, over)
    chosen = sides.prepare(check_metric(metric))
    check_subspaces(sides.brains.networks, chosen, random_state, stacklevel=3)
    exact = chosen._unbiased()
    pairs = ModelPairs(sides.brains.networks, sides.models.networks, exact, over, settings)
    found = pairs.estimate(sides.labels, store_folder(store, "estimates"))
    means = summarise(found, units, over, curvature(found, units, exact, workers))
    squared, names = found.to_models[..., 0], tuple(sides.models.labels)
    result = ModelComparison(
        distances=sides.cross(squared, chosen),
        between_brains=sides.brains.matrix(found.between[..., 0], chosen),
        scores=_scores(sides.models, means, exact, found, margin, level),
        ceilings=_rows(means, CEILINGS, slice(len(names), None), level),
        differences=compare_models(
            names, squared, means, units, level, n_permutations, random_state
        ),
        chance=chance_test(found.brains, units, exact, n_chance, settings),
        neurons=_neurons(sides.brains.networks, sides.models.networks, exact, squared),
        over=over,
        level=level,
        margin=margin,
        n_blocks=len(np.unique(units)),
        blocked=blocks is not None,
        n_conditions=sides.brains.networks[0].n_conditions,
        method=found.method,
        random_state=random_state,
    )
    if result.neurons.words:
        warn_user(result.neurons.words, UnequalNeuronsWarning)
    return result


def _rows(found: MeanSquares, names: tuple[str, ...], chosen: slice, level: float) -> pd.DataFrame:
    """Return distances with intervals, a row each."""
    size = len(found.values)
    errors = np.sqrt([found.errors.variance(one) for one in np.eye(size)])
    half = found.errors.quantile(level) * errors
    columns = {
        "distance": roots(found.values),
        "low": roots(found.values - half),
        "high": roots(found.values + half),
        "squared_distance": found.values,
        "squared_error": errors,
        "plug_in": roots(found.plug_in),
    }
    rows = {name: column[chosen] for name, column in columns.items()}
    return pd.DataFrame(rows, index=pd.Index(names, name="name"))


def _scores(
    models: Side,
    found: MeanSquares,
    metric: ShapeMetric[Any],
    pairs: PairEstimates,
    margin: float,
    level: float,
) -> pd.DataFrame:
    names, networks = tuple(models.labels), models.networks
    P = len(names)
    frame = _rows(found, names, slice(P), level)
    p = closeness(found, margin)
    silent = np.array([_is_silent(one) for one in networks])
    missing = _missing_noise(pairs.brains, metric)
    share = np.divide(missing, found.values[:P], out=np.full(P, np.nan), where=found.values[:P] > 0)
    pair = signed_root(float(found.values[P]))
    return frame.assign(
        ratio=frame["distance"] / pair,
        close_p_value=p,
        close_enough=p <= LEVEL,
        deterministic=silent,
        missing_noise=np.where(silent, share, 0.0),
        neurons=[one.n_neurons for one in networks],
    )


def _is_silent(network: Any) -> bool:
    """Return whether a network has no noise."""
    flat = getattr(network, "flat", network)
    return is_exact(network) and not np.any(flat.total_variance)


def _missing_noise(brains: list[Any], metric: ShapeMetric[Any]) -> float:
    """Return what noise of the brains adds to squared distances of a model without noise."""
    if not isinstance(metric, GaussianShapeMetric):
        return float("nan")
    out = []
    for one in brains:
        phi = metric.preprocess
        network = one if phi is None else phi.fit(one, metric.weights).apply(one)
        variances = metric._moments(network).total_variance
        out.append(float(condition_weights(metric.weights, len(variances)) @ variances))
    return (2.0 - metric.alpha) * float(np.mean(out))


def _neurons(
    brains: list[Any], networks: list[Any], metric: ShapeMetric[Any], squared: FloatArray
) -> Neurons:
    """Return how numbers of neurons and of dimensions bear on the distances."""
    sizes = [one.n_neurons for one in brains]
    inside = [dimensions(one, metric) for one in (*brains, *networks)]
    r, p = rank_correlation_test(sizes, squared.mean(axis=1), FACTOR_PERMUTATIONS)
    return Neurons(min(sizes), max(sizes), min(inside), max(inside), r, p, p <= FACTOR_LEVEL)
