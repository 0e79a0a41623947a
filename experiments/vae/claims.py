"""What the paper says about these networks, and how each claim will be decided.

The sentences, statistics, thresholds and rules were fixed before any distance was computed. They
are data, so that the page of results can print them beside the verdicts.

Shared definitions
------------------
- ``d_alpha(i, j)`` is the distance of networks i and j at alpha, with means and variances of the
  held-out images; ALPHAS are the values used. ``energy`` is the energy distance with q = 1.
- A *cell* is an objective at one strength. Networks of one seed share initial weights and the
  order of the data, so **seeds are the independent units**: intervals are delete-one-seed
  jackknife intervals with Student's t of (seeds - 1) degrees of freedom. For a mean over seeds
  this is the usual t interval.
- A claim with m criteria uses intervals of level 1 - 0.05 / m each, so that all of them are
  covered together with probability 0.95.
- k-NN classification and regression leave out one seed at a time: its networks are predicted from
  those of all other seeds. k is chosen among K_CHOICES inside the training seeds, again leaving
  one seed out at a time (the smallest k among equals). Seeds themselves are predicted leaving out
  one cell at a time.
- R^2 is pooled: 1 - SS_residual / SS_total over the predictions of all networks.
- Networks that failed to train (`training.SMALLEST_EXPLAINED`) stay in every number. Each claim
  is decided a second time without them, and **cannot be told** if the two verdicts differ.
- If more than LARGEST_FAILED of the trained networks of a data set failed, no claim about them is
  decided.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

ALPHAS = (0.0, 0.5, 1.0, 1.5, 2.0)
BELOW_TWO = (0.0, 0.5, 1.0, 1.5)
BETWEEN = (0.5, 1.0, 1.5)
K_CHOICES = (1, 2, 3, 4, 5, 7, 9, 12, 15)
DIMENSIONS = (1, 2, 3, 5, 7, 10, 15, 20)
PERMUTATIONS = 999
FAMILY_LEVEL = 0.95
LARGEST_FAILED = 0.1


class Verdict(StrEnum):
    """The three possible ends of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "cannot be told"


@dataclass(frozen=True)
class Criterion:
    """A statistic that must exceed a threshold.

    Attributes
    ----------
    statistic : str
        What is computed, precisely. Claims that something is small are stated for its negative.
    above : float
        The criterion holds if the whole interval of the statistic lies above this.
    refuted_below : float
        The criterion does not hold if the whole interval lies below this. It is at least ``above``:
        an effect between the two may be there, but is too small to matter.
    largest_p : float or None
        If given, the criterion also needs a permutation test with a p-value of at most this.
    null : str
        What that test permutes.
    """

    statistic: str
    above: float
    refuted_below: float
    largest_p: float | None = None
    null: str = ""

    def __post_init__(self) -> None:
        if self.refuted_below < self.above:
            raise ValueError("'refuted_below' must be at least 'above'.")
        if (self.largest_p is None) != (not self.null):
            raise ValueError("A p-value needs a null, and a null a p-value.")

    def verdict(self, lower: float, upper: float, p_value: float | None = None) -> Verdict:
        """Decide from the interval of the statistic, and from the p-value if one is needed.

        >>> Criterion("accuracy", above=0.1, refuted_below=0.15).verdict(0.12, 0.3)
        <Verdict.HOLDS: 'holds'>
        >>> Criterion("accuracy", above=0.1, refuted_below=0.15).verdict(0.08, 0.14)
        <Verdict.FAILS: 'does not hold'>
        >>> Criterion("accuracy", above=0.1, refuted_below=0.15).verdict(0.08, 0.2)
        <Verdict.OPEN: 'cannot be told'>
        """
        unlikely = self.largest_p is None or (p_value is not None and p_value <= self.largest_p)
        if lower > self.above and unlikely:
            return Verdict.HOLDS
        if upper < self.refuted_below and not lower > self.above:
            return Verdict.FAILS
        return Verdict.OPEN


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, where it is, and what decides it.

    Attributes
    ----------
    name : str
    sentence : str
    source : str
        Place in the paper.
    criteria : tuple of Criterion
        All of them must hold; one that does not hold refutes the claim.
    """

    name: str
    sentence: str
    source: str
    criteria: tuple[Criterion, ...]

    @property
    def level(self) -> float:
        """Level of each criterion's interval, so that together they cover with 0.95."""
        return 1 - (1 - FAMILY_LEVEL) / len(self.criteria)


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a claim from those of its criteria.

    >>> combine([Verdict.HOLDS, Verdict.OPEN])
    <Verdict.OPEN: 'cannot be told'>
    """
    found = set(verdicts)
    if Verdict.FAILS in found:
        return Verdict.FAILS
    return Verdict.HOLDS if found == {Verdict.HOLDS} else Verdict.OPEN


# Differences of accuracy or R^2 below this are not worth speaking of.
NEGLIGIBLE = 0.02


def _ratio(networks: str, sign: str) -> Criterion:
    """Trained networks must have a positive log ratio of distances, untrained ones a negative."""
    return Criterion(
        f"{sign}log2(mean d_2 / mean d_0) over pairs of {networks} with different seeds",
        above=0.0,
        refuted_below=0.0,
    )


def _ratio_claim(name: str, dataset: str, trained: tuple[str, ...], source: str) -> Claim:
    before = [
        f"untrained {dataset} networks, {init} initialisation" for init in ("Kaiming", "PyTorch")
    ]
    after = [f"trained {dataset} networks, {init} initialisation" for init in trained]
    return Claim(
        name,
        f"Trained networks ({dataset}) are farther apart at alpha = 2 than at alpha = 0; untrained "
        "ones the reverse, for every initialisation.",
        source,
        (*(_ratio(n, "") for n in after), *(_ratio(n, "- ") for n in before)),
    )


def _clusters(matrix: str) -> Criterion:
    return Criterion(
        f"(mean distance between objectives - mean distance within objectives) / mean distance, "
        f"over pairs with different seeds and different cells, {matrix}",
        above=0.0,
        refuted_below=0.05,
        largest_p=0.01,
        null="objective labels of whole cells, permuted over the cells; the same for every seed",
    )


def _accuracy_gain(target: str) -> Criterion:
    return Criterion(
        f"mean over alpha in {BELOW_TWO} of the k-NN accuracy of {target}, minus that at alpha = 2",
        above=0.0,
        refuted_below=NEGLIGIBLE,
    )


MATRICES = (*(f"alpha = {alpha:g}" for alpha in ALPHAS), "energy")
EVERY_STRENGTH = "objective x strength (every strength)"
HIGH_LOW = "objective x strength (highest against lowest strength of each objective, no others)"

CLAIMS = (
    _ratio_claim("ratio", "dSprites", ("Kaiming",), "Figure 4 B"),
    _ratio_claim("ratio, MNIST", "MNIST", ("Kaiming", "PyTorch"), "Supplementary, MNIST and CIFAR"),
    _ratio_claim(
        "ratio, CIFAR-10", "CIFAR-10", ("Kaiming", "PyTorch"), "Supplementary, MNIST and CIFAR"
    ),
    Claim(
        "clusters",
        "In all cases, different objectives cluster together in stochastic shape space.",
        "Figure 4 A",
        tuple(map(_clusters, MATRICES)),
    ),
    Claim(
        "objective, every strength",
        "Objective and strength are predicted better for alpha < 2 than for alpha = 2.",
        "Figure 4 E",
        (_accuracy_gain(EVERY_STRENGTH),),
    ),
    Claim(
        "objective, high or low",
        "Objective and high against low strength are predicted better for alpha < 2 than for "
        "alpha = 2.",
        "Figure 4 E",
        (_accuracy_gain(HIGH_LOW),),
    ),
    Claim(
        "scores, inside",
        "Many disentanglement scores are predicted better for 0 < alpha < 2 than for alpha = 2.",
        "Figure 4 F",
        (
            Criterion(
                f"mean over scores A to O and alpha in {BETWEEN} of the k-NN R^2, minus the mean "
                "over scores at alpha = 2",
                above=0.0,
                refuted_below=NEGLIGIBLE,
            ),
            Criterion(
                f"share of the 15 scores whose mean R^2 over alpha in {BETWEEN} exceeds that at "
                "alpha = 2",
                above=0.5,
                refuted_below=0.5,
            ),
        ),
    ),
    Claim(
        "seed",
        "The random seed is predicted above chance at every alpha, by neighbours of other cells.",
        "Figure 4 C",
        tuple(
            Criterion(
                f"k-NN accuracy of the seed at alpha = {alpha:g}, minus 1 / number of seeds; "
                "networks of the same cell are not among the neighbours",
                above=0.0,
                refuted_below=0.05,
                largest_p=0.01,
                null="seed labels, permuted within every cell independently",
            )
            for alpha in ALPHAS
        ),
    ),
    Claim(
        "reconstruction",
        "The reconstruction loss in training is predicted by neighbours.",
        "Figure 4 D",
        tuple(
            Criterion(
                f"k-NN R^2 of the training reconstruction loss at alpha = {alpha:g}",
                above=0.5,
                refuted_below=0.5,
            )
            for alpha in ALPHAS
        ),
    ),
    Claim(
        "scores",
        "Disentanglement scores are predicted by neighbours.",
        "Figure 4 F",
        tuple(
            Criterion(
                f"mean over scores A to O of the k-NN R^2 at alpha = {alpha:g}",
                above=0.0,
                refuted_below=0.1,
            )
            for alpha in ALPHAS
        ),
    ),
    Claim(
        "energy, closest to 1",
        "Rescaled to [0, 1], energy distances are distributed most like those at alpha = 1.",
        "Supplementary, energy C",
        tuple(
            Criterion(
                "Wasserstein distance of the distribution of rescaled energy distances to that of "
                f"rescaled d_{alpha:g}, minus the same to d_1",
                above=0.0,
                refuted_below=0.0,
            )
            for alpha in ALPHAS
            if alpha != 1.0
        ),
    ),
    Claim(
        "energy, another matrix",
        "The energy matrix is qualitatively different from all Wasserstein matrices.",
        "Supplementary, energy A",
        (
            Criterion(
                "smallest Spearman correlation between d_1 and d_0.5 or d_1.5, minus the largest "
                f"one between energy and d_alpha for alpha in {ALPHAS}, over pairs",
                above=0.0,
                refuted_below=0.0,
            ),
        ),
    ),
    Claim(
        "energy, no better",
        "Energy distances predict objective and strength no better than alpha = 2 does.",
        "Supplementary, energy D",
        (
            Criterion(
                f"k-NN accuracy of {EVERY_STRENGTH} at alpha = 2, minus that of energy",
                above=-NEGLIGIBLE,
                refuted_below=-NEGLIGIBLE,
            ),
        ),
    ),
    Claim(
        "distortion",
        "The distortion of a Euclidean embedding falls to a plateau by 15 dimensions.",
        "Supplementary, distortion",
        tuple(
            Criterion(
                "0.1 - (f(15) - f(20)) / (f(1) - f(20)), where f(m) is the median distortion of "
                f"an embedding in m dimensions, {matrix}",
                above=0.0,
                refuted_below=0.0,
            )
            for matrix in MATRICES
        ),
    ),
)
