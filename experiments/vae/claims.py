"""What the paper says about these networks, and how each claim will be decided.

The sentences, statistics, thresholds and rules were fixed before any distance was computed. They
are data, so that the page of results can print them beside the verdicts. One rule was changed
since, before any distance of the present networks was computed, but after those of 180 other
networks, which were lost, had been seen: how intervals of k-NN predictions are computed. Choosing k
and predicting anew without each seed gave intervals that were much too wide (in simulations, 75 of
75 nominal 95 % intervals of an accuracy covered it). A test shows how often the present ones do.

Shared definitions
------------------
- ``d_alpha(i, j)`` is the distance of networks i and j at alpha, with means and variances of the
  held-out images; ALPHAS are the values used. ``energy`` is the energy distance with q = 1, from
  64 samples an image and network, each network with noise of its own: the unbiased estimate, and
  then the closest metric, as in the paper. Networks are neither centred nor scaled.
- Distances are *rescaled* by dividing them by the largest.
- A *cell* is an objective at one strength. Networks of one seed share initial weights and the
  order of the data, so **seeds are the independent units**: intervals are delete-one-seed
  jackknife intervals with Student's t of (seeds - 1) degrees of freedom. For a mean over seeds
  this is the usual t interval. Numbers from k-NN predictions keep the predictions and leave the
  networks of a seed out of the score alone; because seeds are predicted from each other, the
  variance is multiplied by 1 + n / (n - 1) for n seeds (Nadeau and Bengio 2003).
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

from experiments.common.verdicts import Claim, Criterion

ALPHAS = (0.0, 0.5, 1.0, 1.5, 2.0)
BELOW_TWO = (0.0, 0.5, 1.0, 1.5)
BETWEEN = (0.5, 1.0, 1.5)
K_CHOICES = (1, 2, 3, 4, 5, 7, 9, 12, 15)
DIMENSIONS = (1, 2, 3, 5, 7, 10, 15, 20)
PERMUTATIONS = 999
FAMILY_LEVEL = 0.95
LARGEST_FAILED = 0.1


def interval_level(claim: Claim) -> float:
    """Return the level of each criterion's interval: together they cover with 0.95."""
    return 1 - (1 - FAMILY_LEVEL) / len(claim.criteria)


# Differences of accuracy or R^2 below this are not worth speaking of.
NEGLIGIBLE = 0.02


def _ratio(networks: str, sign: str) -> Criterion:
    """Trained networks must have a positive log ratio of distances, untrained ones a negative."""
    return Criterion(
        networks,
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
        matrix,
        f"(mean distance between objectives - mean distance within objectives) / mean distance, "
        f"over pairs with different seeds and different cells, {matrix}",
        above=0.0,
        refuted_below=0.05,
        largest_p=0.01,
        null="objective labels of whole cells, permuted over the cells; the same for every seed",
    )


def _accuracy_gain(target: str) -> Criterion:
    return Criterion(
        "alpha < 2 against 2",
        f"mean over alpha in {BELOW_TWO} of the k-NN accuracy of {target}, minus that at alpha = 2",
        above=0.0,
        refuted_below=NEGLIGIBLE,
    )


MATRICES = (*(f"alpha = {alpha:g}" for alpha in ALPHAS), "energy")
EVERY_STRENGTH = "objective x strength (every strength)"
HIGH_LOW = "objective x strength (highest against lowest strength of each objective, no others)"

CLAIMS = (
    _ratio_claim("ratio", "dSprites", ("Kaiming",), "Figure 4 B"),
    _ratio_claim("ratio, MNIST", "MNIST", ("Kaiming", "PyTorch"), "Supplementary Figure 9"),
    _ratio_claim("ratio, CIFAR-10", "CIFAR-10", ("Kaiming", "PyTorch"), "Supplementary Figure 9"),
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
                "mean of R^2",
                f"mean over scores A to O and alpha in {BETWEEN} of the k-NN R^2, minus the mean "
                "over scores at alpha = 2",
                above=0.0,
                refuted_below=NEGLIGIBLE,
            ),
            Criterion(
                "share of scores",
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
                f"alpha = {alpha:g}",
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
                f"alpha = {alpha:g}",
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
                f"alpha = {alpha:g}",
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
        "Supplementary Figure 7 C",
        tuple(
            Criterion(
                f"alpha = {alpha:g} against 1",
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
        "Supplementary Figure 7 A",
        (
            Criterion(
                "rank correlations",
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
        "Supplementary Figure 7 D",
        (
            Criterion(
                "alpha = 2 against energy",
                f"k-NN accuracy of {EVERY_STRENGTH} at alpha = 2, minus that of energy",
                above=-NEGLIGIBLE,
                refuted_below=-NEGLIGIBLE,
            ),
        ),
    ),
    Claim(
        "distortion",
        "The distortion of a Euclidean embedding falls to a plateau by 15 dimensions.",
        "Supplementary Figure 8",
        tuple(
            Criterion(
                matrix,
                "0.1 - (f(15) - f(20)) / (f(1) - f(20)), where f(m) is the median distortion of "
                f"an embedding in m dimensions, {matrix}",
                above=0.0,
                refuted_below=0.0,
            )
            for matrix in MATRICES
        ),
    ),
)
