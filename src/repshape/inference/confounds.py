"""Is it only gain? Norms, angles, trials and floors beside a matrix of distances."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._compact import compact_repr
from repshape._parallel import progress_bar
from repshape.engine.run import pairwise
from repshape.errors import (
    TRIALS_PER_DIMENSION,
    FewTrialsWarning,
    InputError,
    check_integer,
)
from repshape.inference.columns import read_networks, text_column
from repshape.inference.explanations import AUTO, Draws, Grouped, drawn_words, explain
from repshape.inference.factors import LEVEL, Factor, strength, warn_of_sizes
from repshape.inference.floor import split_distances
from repshape.inference.groups import GroupTest, evidence_words
from repshape.inference.permutations import N_PERMUTATIONS
from repshape.inference.subspaces import STABLE_OVERLAP, UnstableSubspaceWarning
from repshape.io.cohort import Cohort
from repshape.io.matched import N_DRAWS
from repshape.matrix.columns import ValuesLike, in_order_of
from repshape.matrix.distances import DistanceMatrix, as_complete
from repshape.matrix.sizes import SIZES
from repshape.metrics.gaussian import GaussianShapeMetric, check_gaussian
from repshape.metrics.subspaces import overlaps
from repshape.responses import Gaussians, Trials

FloatArray = npt.NDArray[np.float64]

# A squared distance may leave the range that the norms allow by this fraction, due to rounding.
TOLERANCE = 1e-6


@compact_repr
@dataclass(frozen=True, eq=False)
class Confounds:
    """What else could explain distances: gain, noise, and numbers of neurons and trials.

    Attributes
    ----------
    angles : DistanceMatrix
        Distances between networks scaled to norm 1: sqrt(2 - 2 cos) of the angle between them.
    gains : DistanceMatrix
        Differences of norms, | |x| - |y| |.
    networks : pandas.DataFrame
        A row per network: norm, neurons, dimensions after preprocessing, least number of trials of
        a condition, trials per dimension, noise floor (NaN without trials), and overlap of the
        principal components of two halves of the trials (NaN without PCA).
    gain_share : float
        Fraction of the sum of squared distances that differences of norms account for.
    gain_share_between, gain_share_within : float
        The same between and within groups; NaN without labels.
    floor_share : float
        Fraction of the mean squared distance that noise alone produces; NaN without trials.
    tests : dict of str to GroupTest
        Tests of the groups on ``"distances"``, ``"angles"`` and ``"norms"``, and on ``"matched"``
        distances if sizes were matched; empty without labels.
    factors : tuple of Factor
        What the groups differ in besides their distances, each with the p-value of the groups once
        it is matched or removed: numbers of neurons and trials, norm, and overlap.
    matched : DistanceMatrix or None
        Distances between networks of the same size, if sizes were matched;
        ``matched.description["match"]`` says what was drawn.
    strength : str
        What norms measure: ``"response strength"``, or ``"noise strength"`` at alpha = 0.
    """

    angles: DistanceMatrix
    gains: DistanceMatrix
    networks: pd.DataFrame
    gain_share: float
    gain_share_between: float
    gain_share_within: float
    floor_share: float
    tests: dict[str, GroupTest] = field(default_factory=dict)
    factors: tuple[Factor, ...] = ()
    matched: DistanceMatrix | None = None
    strength: str = "response strength"

    def __str__(self) -> str:
        return "\n".join(self.words())

    def words(self) -> list[str]:
        """Return the result in sentences."""
        lines = [
            f"Differences of overall {self.strength} (norm) account for "
            f"{_percent(self.gain_share)} of the squared distances."
        ]
        if self.tests:
            lines[0] = lines[0][:-1] + (
                f" ({_percent(self.gain_share_between)} between groups, "
                f"{_percent(self.gain_share_within)} within)."
            )
            found = {name: evidence_words(test.p_value) for name, test in self.tests.items()}
            lines.append(
                f"Do groups differ in distance? {found['distances']}. In angle, which ignores "
                f"gain? {found['angles']}. In norm alone? {found['norms']}."
            )
        if np.isfinite(self.floor_share):
            lines.append(
                f"Noise alone gives {_percent(self.floor_share)} of the mean squared distance."
            )
        lines += [self._few_trials(), self._unstable(), self._matched_words()]
        lines = [words for words in lines if words]
        return lines + [one.words(self._differ) for one in self.factors]

    @property
    def _differ(self) -> bool:
        return bool(self.tests) and self.tests["distances"].p_value <= LEVEL

    def _matched_words(self) -> str:
        """Say what was matched on request, unless a factor says so with its outcome."""
        if self.matched is None or self._told_by_a_factor:
            return ""
        drawn = drawn_words(self.matched)
        if "matched" not in self.tests:
            middle = float(np.median(self.matched.condensed()))
            return f"{drawn}, the median distance is {middle:.3g}; no groups were tested."
        found = evidence_words(self.tests["matched"].p_value)
        return f"{drawn}, do groups differ in distance? {found}."

    @property
    def _told_by_a_factor(self) -> bool:
        return any(one.name in SIZES and one.repeated_p_value is not None for one in self.factors)

    def _few_trials(self) -> str:
        ratio = self.networks["trials_per_dimension"]
        few = int((ratio < TRIALS_PER_DIMENSION).sum())
        if not few:
            return ""
        worst = self.networks.iloc[int(np.nanargmin(ratio))]
        return (
            f"{few} of {len(ratio)} networks have fewer than {TRIALS_PER_DIMENSION} trials per "
            f"dimension: at worst {worst['trials']:.0f} trials for {worst['dimensions']:.0f} "
            f"dimensions, which need {TRIALS_PER_DIMENSION * worst['dimensions']:.0f}."
        )

    def _unstable(self) -> str:
        overlap = self.networks["overlap"]
        low = int((overlap < STABLE_OVERLAP).sum())
        if not low:
            return ""
        return (
            f"The principal components of {low} of {len(overlap)} networks are unstable: those of "
            f"two halves of the trials overlap by {overlap.min():.2f} at worst (1 is identical)."
        )

    def _warn(self, stacklevel: int) -> None:
        """Warn of few trials, of unstable components, and of sizes in which groups differ."""
        if words := self._few_trials():
            warnings.warn(words, FewTrialsWarning, stacklevel=stacklevel + 1)
        if words := self._unstable():
            warnings.warn(words, UnstableSubspaceWarning, stacklevel=stacklevel + 1)
        # Norms and overlaps are part of what the user asked for, and the result says it in words.
        warn_of_sizes([one for one in self.factors if one.name in SIZES], self._differ)


def confounds(
    cohort: Cohort | Iterable[Any],
    metric: GaussianShapeMetric | None = None,
    *,
    D: DistanceMatrix | npt.ArrayLike | None = None,
    labels: ValuesLike | None = None,
    blocks: ValuesLike | None = None,
    match: str | Sequence[str] = AUTO,
    n_draws: int = N_DRAWS,
    n_splits: int = 5,
    n_permutations: int = N_PERMUTATIONS,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Confounds:
    r"""Show how much of the distances between networks is gain, and how much noise.

    With the norm :math:`|x|^2 = \sum_m w_m [\alpha |\mu_m|^2 + (2 - \alpha) \mathrm{tr} S_m]` of a
    network, which no transform of the group changes, every squared Gaussian distance is exactly

    .. math:: d^2 = (|x| - |y|)^2 + 2 |x| |y| (1 - \cos\theta).

    The first part is a difference of gain: all responses larger by a factor. The second is a
    difference of shape, and the angle :math:`\theta` does not change when responses are scaled. If
    labels are given, the test of `groups` is repeated on :math:`\sqrt{2 - 2 \cos\theta}` and on
    the norms alone.

    If the groups also differ in their numbers of neurons or trials, by the rule of `groups`, their
    test is repeated on networks of the same size, drawn at random (``match``). By the same rule it
    is repeated on angles if the groups differ in their norms; and, after PCA, if they differ in how
    well two halves of the trials agree about the principal components, with the part of the
    distances removed that this agreement predicts. The result says which of these could explain
    the difference between the groups.

    Parameters
    ----------
    cohort : Cohort, mapping or iterable of K networks
    metric : GaussianShapeMetric, optional
        By default ``GaussianShapeMetric()``.
    D : DistanceMatrix or array of shape (K, K), optional
        The plug-in distances of this metric, if they are known already. Computed otherwise.
    labels, blocks : str, sequence of K, Series or dict by name, optional
        As in `groups`; a name is that of a column of the metadata.
    match : {"auto", "neurons", "trials"}, or both sizes
        What to match by drawing as many neurons, or trials of each condition, from every network
        as the smallest one has; see `repshape.pairwise`. By default those sizes in which the groups
        differ, together if they differ in both.
    n_draws : int
        Number of draws, each of which takes as long as the distances themselves.
    n_splits : int
        Number of random splits for each network's noise floor and overlap.
    n_permutations, random_state
        As in `groups`.
    workers, progress
        As in `repshape.pairwise`.

    Warns
    -----
    FewTrialsWarning
        If networks have fewer than two trials per dimension.
    UnequalNeuronsWarning, UnequalTrialsWarning
        If groups differ in their numbers of neurons or trials.
    UnstableSubspaceWarning
        If principal components of two halves of the trials are quite different.

    Examples
    --------
    The second group of networks responds twice as strongly:

    >>> rng = np.random.default_rng(0)
    >>> means = rng.normal(size=(4, 1, 3))
    >>> networks = [g * (means + rng.normal(size=(4, 40, 3))) for g in [1.0] * 4 + [2.0] * 4]
    >>> found = confounds(networks, labels=["low"] * 4 + ["high"] * 4)
    >>> found.gain_share > 0.5, found.tests["norms"].p_value < 0.05
    (True, True)
    """
    check_integer("n_splits", n_splits, 1)
    draws = Draws(match, n_draws, random_state, workers, progress)
    chosen = check_gaussian(metric)
    chosen._validate_parameters()
    networks, names = read_networks(cohort)
    given = None if D is None else _check_distances(D, len(networks), names)
    named = _bare(len(networks), names) if given is None else given
    groups_of = None if labels is None else text_column(named, labels, "labels")
    units = None if blocks is None else text_column(named, blocks, "blocks")
    known = given
    if known is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewTrialsWarning)  # which the result warns of
            known = pairwise(networks, chosen, workers=workers, progress=progress, **names)
    norms = np.array([chosen._norm(one) for one in networks])
    gains, angles = decompose(known, norms)
    floors = _squared_floors(networks, chosen, n_splits, random_state, workers, progress)
    table = _network_table(networks, known, norms, floors, chosen)
    table["overlap"] = overlaps(networks, chosen, n_splits, random_state)
    sides = {"distances": known, "angles": angles, "norms": gains}
    grouped = None
    if groups_of is not None:
        grouped = Grouped(groups_of, units, n_permutations, random_state)
    factors, matched = explain(networks, chosen, sides, table, grouped, draws)
    if matched is not None:
        sides["matched"] = matched
    upper = np.triu_indices(len(known), 1)
    squared = known.values[upper] ** 2
    found = Confounds(
        angles=angles,
        gains=gains,
        networks=table,
        floor_share=_share(np.add.outer(floors, floors)[upper] / 2, squared),
        tests={} if grouped is None else {name: grouped.test(D) for name, D in sides.items()},
        factors=factors,
        matched=matched,
        strength=strength(chosen.alpha),
        **_gain_shares(gains.values[upper] ** 2, squared, groups_of),
    )
    found._warn(stacklevel=2)
    return found


def _check_distances(
    D: DistanceMatrix | npt.ArrayLike, count: int, names: dict[str, Any]
) -> DistanceMatrix:
    """Return the distances in the order of the networks, with their names if D has none."""
    matrix = as_complete(D)
    if len(matrix) != count:
        raise InputError(f"There must be a distance matrix of {count} networks. Got {len(matrix)}.")
    if names.get("labels") is None:
        return matrix
    if isinstance(D, DistanceMatrix):
        return in_order_of(matrix, names["labels"], "D")
    return matrix.replace(**names)


def _bare(count: int, names: dict[str, Any]) -> DistanceMatrix:
    """Return a matrix of zeros that has the names and metadata of the networks."""
    return DistanceMatrix(np.zeros((count, count)), **names)


def _gain_shares(
    parts: FloatArray, squared: FloatArray, names: list[str] | None
) -> dict[str, float]:
    """Return the shares of gain over all pairs, and between and within groups."""
    found = {"gain_share": _share(parts, squared)}
    same = np.ones(len(parts), dtype=bool)
    if names is not None:
        array = np.array(names)
        same = (array[:, None] == array[None, :])[np.triu_indices(len(array), 1)]
    found["gain_share_between"] = _share(parts[~same], squared[~same])
    inside = _share(parts[same], squared[same])
    return found | {"gain_share_within": float("nan") if names is None else inside}


def _squared_floors(
    networks: list[Trials | Gaussians],
    metric: GaussianShapeMetric,
    n_splits: int,
    random_state: int,
    workers: int | None,
    progress: bool | None,
) -> FloatArray:
    """Return the squared noise floor of each network; NaN without two trials per condition."""
    floors = np.full(len(networks), np.nan)
    with progress_bar("noise floors", len(networks), progress) as advance:
        for k, network in enumerate(networks):
            if isinstance(network, Trials) and network.n_trials.min() >= 2:
                found = split_distances(network, metric, n_splits, random_state, workers, False)
                floors[k] = found[:, 1].mean()
            advance(1)
    return floors


def decompose(D: DistanceMatrix, norms: FloatArray) -> tuple[DistanceMatrix, DistanceMatrix]:
    """Return differences of norms and angles: D^2 = gains^2 + |x| |y| angles^2."""
    gains = np.abs(norms[:, None] - norms[None, :])
    products = norms[:, None] * norms[None, :]
    scale = norms[:, None] ** 2 + norms[None, :] ** 2
    rest = D.values**2 - gains**2
    np.fill_diagonal(rest, 0.0)
    if (norms <= 0).any():
        dead = D.labels[int(np.argmin(norms))]
        raise InputError(f"Network {dead!r} has no response, so its angles are undefined.")
    if (rest < -TOLERANCE * scale).any() or (rest > (2 + TOLERANCE) * products + TOLERANCE).any():
        raise InputError(
            "The distances do not agree with the norms of the networks. Pass plug-in distances "
            "of the same metric, including its preprocessing."
        )
    angles = np.sqrt(np.maximum(rest, 0.0) / products)
    plain = {"lower_bounds": None, "converged": None}
    return _part(D, gains, "Difference of norms", plain), _part(
        D, angles, "Distance at norm 1", plain
    )


def _part(
    D: DistanceMatrix, values: FloatArray, title: str, plain: dict[str, None]
) -> DistanceMatrix:
    """Return a part of the distances under its own title, so that captions do not call it D."""
    return D.replace(values=values, description={**D.description, "metric": title}, **plain)


def _network_table(
    networks: list[Trials | Gaussians],
    D: DistanceMatrix,
    norms: FloatArray,
    floors: FloatArray,
    metric: GaussianShapeMetric,
) -> pd.DataFrame:
    phi = metric.preprocess
    kept = None if phi is None else phi.n_components
    sizes = np.array([kept or one.n_neurons for one in networks])
    trials = np.array(
        [float(one.n_trials.min()) if isinstance(one, Trials) else np.nan for one in networks]
    )
    columns = {
        "norm": norms,
        "neurons": np.array([one.n_neurons for one in networks]),
        "dimensions": sizes,
        "trials": trials,
        "trials_per_dimension": trials / sizes,
        "floor": np.sqrt(floors),
    }
    return pd.DataFrame(columns, index=list(D.labels))


def _share(part: FloatArray, whole: FloatArray) -> float:
    total = float(whole.sum())
    return float(part.sum() / total) if total > 0 else float("nan")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
