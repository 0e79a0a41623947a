"""What the paper says about Patch-Gaussian networks, and how each claim will be decided.

They are data, so that the page of results can print them beside the verdicts. `common.verdicts`
has the standard by which all studies decide.

What was known when the rules were written
------------------------------------------
The first version of sentences, statistics and thresholds was fixed before any distance was
computed, and before the networks of the study were trained. The present version was written after
the first round (the **pilot**: seeds 0 to 2) had been measured, and before any distance of the
second (the **confirmation**: seeds 3 to 8). The pilot cannot confirm what is stated here; its
verdicts are shown beside those of the confirmation. Changed with the pilot at hand:

- Intervals are family-wise and stay within their limits. With three seeds, Student's t has two
  degrees of freedom, so that few claims of the pilot can hold any more.
- *nearest network* is new. In the pilot, at tau of at most 0.05, the nearest of all other networks
  had the same seed in 90 to 100 % of cases, and the same hyper-parameters in 0 to 8 %. The claim
  *seeds*, which only compares networks of different seeds, does not show this.

**The manipulation check was changed after results had been seen.** Its first version was written
for patches on half of the images, and allowed a clean loss of 0.05. Then four trial networks of
seed 0 were looked at: none, and W = 16 with sigma = 0.3 at three shares of patched images (see the
table in `settings`). All three lost more than 0.05, the one at a share of a quarter least: 0.059.
After that, the share was set to a quarter, the allowed loss was raised to 0.10, and the criterion
``trade-off`` was added; the other thresholds were kept. Two of the four networks, none and the one
at a share of a quarter, are also in the study. So ``clean loss`` and ``trade-off`` are not
independent tests, and results must report the outcome at 0.05 as well.

Shared definitions
------------------
- ``d(alpha, tau)`` is the matrix of Gaussian shape distances (orthogonal group, no scaling) between
  all networks, with the responses to test images under noise tau: a condition is an image, a trial
  is a pass. Covariances are unbiased sample covariances; nothing is added to their diagonal, except
  at the paper's scale. Networks are not centred. Centred networks of the pilot are reported, and
  decide nothing; those of the confirmation are not measured.
- A *cell* is a combination of W and sigma; networks without patches form one more cell, ``none``.
  *Robust* cells have W of at least half the side of the image and sigma of at least 0.3.
- Networks of one seed share initial weights and the order of the data, so seeds are the independent
  units. **Folds** keep them apart:

  - *seeds*: networks of one seed only;
  - *pairs of seeds*: distances between networks of one seed and networks of another;
  - *seeds left out*: networks of one seed are predicted from those of all other seeds.

- The estimate of a statistic is its mean over the folds. Its **interval** comes from leaving out
  one seed at a time, with every fold that contains it (jackknife; Student's t with one degree of
  freedom less than there are seeds). For *seeds* it is the usual t interval. For *pairs of
  seeds* it is too wide rather than too narrow. For *seeds left out* it neglects that folds share
  networks that they predict from. A claim is decided by the intervals of its criteria. The
  manipulation check is decided seed by seed: a criterion holds if it holds for every seed.
- Permutation tests (`settings.PERMUTATIONS` permutations, statistic averaged over the folds) guard
  against chance where a claim says that there is structure at all.
- *k-NN accuracy* of W or of sigma: majority of the `NEIGHBOURS` nearest patched networks in *seeds
  left out*; among equals the label of the nearest one.
- *Agreement* of two matrices A and B, in *pairs of seeds*: Spearman's correlation over the pairs,
  relative to the highest value that sampling error allows. Both matrices are computed twice, from
  the first and from the second half of the passes; with r for Spearman's correlation,

      agreement = (r(A1, B2) + r(A2, B1)) / 2 / sqrt(r(A1, A2) r(B1, B2)).

  It is not a number, and decides nothing, where r(A1, A2) or r(B1, B2) is below
  `SMALLEST_RELIABILITY`. At the paper's scale, with 1000 passes, it is r(A, B) of all passes.
  Agreements are computed at tau in `HALVED_TAUS`.
- *Spread* of a network at tau: within-image spread over between-image distance,
  q = sqrt(mean_m tr S_m / mean_{m != m'} |mu_m - mu_m'|^2), where the part that finite trials
  add to the denominator, (tr S_m + tr S_m') / trials, is subtracted.
- Networks that failed to train stay in every number. If more than `LARGEST_FAILED` of them failed,
  or if the manipulation check does not hold, no claim is decided.
"""

from __future__ import annotations

from math import log2

from experiments.common.verdicts import CORRELATION, SHARE, Claim, Criterion, Limits
from experiments.patch_gaussian.settings import TAUS

ALPHAS = (0.0, 1.0, 2.0)
BELOW_TWO = (0.0, 1.0)
HALVED_TAUS = (0.01, 0.1, 0.5)
GRID_TAU = 0.01
SPREAD_TAU = 0.1
NEIGHBOURS = 3
LARGEST_P = 0.01
LARGEST_FAILED = 0.1
SMALLEST_RELIABILITY = 0.3
# Robust cells: W at least this share of the side, and sigma at least this.
ROBUST_WIDTH, ROBUST_SIGMA = 0.5, 0.3
# Lopes et al. choose W and sigma among those that cost little on clean images; this is little.
TOLERATED_LOSS = 0.05
# Matrices whose agreement is higher are not called distinct: they share nearly two thirds of the
# variance of their ranks.
LARGEST_DISTINCT = 0.8
# At these taus, the pilot's networks of one seed are close together.
LOW_TAUS = (0.01, 0.05)
# Smallest effects that matter, and margins, with their reasons.
NEGLIGIBLE = 0.02
NEGLIGIBLE_REASON = "a difference of accuracy below 0.02 is less than two of the 90 networks"
DISTINCT_REASON = "margin: matrices that agree to more than 0.8 share nearly two thirds of the "
DISTINCT_REASON += "variance of their ranks"
EXCESS_REASON = "less than 5 points above chance is of no use"
NEAREST_REASON = "three quarters: half-way between chance (one half) and always the nearest"
HALF_REASON = "W or sigma explains more than half of the variance of the plane, or less"
CLOSER_REASON = "agreements that differ by less than 0.1 do not tell which embedding is resembled"
SPREAD_REASON = "a spread that is smaller by less than a fifth is not called more robust"
STRONG_REASON = "a correlation of at least 0.5 is strong"
SIGN_REASON = "which of two shares is larger; equal shares refute the claim"
DIFFERENCE: Limits = (-1.0, 1.0)  # of two shares
SHUFFLED_CELLS = "cells, permuted among the networks of each seed independently"
OVER_TAUS = f"mean over tau in {TAUS}"
OVER_HALVED = f"mean over tau in {HALVED_TAUS}"

MANIPULATION = Claim(
    "manipulation",
    "Patch-Gaussian makes networks robust to noise, at little cost on clean images.",
    "Lopes et al. (2019); Section 3.4 relies on it",
    (
        Criterion(
            "gain at tau = 0.3",
            "seeds: mean accuracy of robust cells at tau = 0.3, minus that of none",
            above=0.1,
            refuted_below=0.1,
            reason="a gain that a user would notice",
        ),
        Criterion(
            "gain at tau = 0.1",
            "seeds: mean accuracy of robust cells at tau = 0.1, minus that of none",
            above=0.05,
            refuted_below=0.05,
            reason="the same, where noise costs less",
        ),
        Criterion(
            "clean loss",
            "seeds: mean accuracy of robust cells on clean images, minus that of none",
            above=-0.1,
            refuted_below=-0.1,
            reason="margin: small networks that are trained briefly lose more than large ones",
            note="The threshold was first -0.05. It was changed to -0.1 after four trial networks "
            "had been seen, of which the one with the settings of the study lost 0.059.",
        ),
        Criterion(
            "trade-off",
            "seeds: largest gain of a cell over none at tau = 0.3, among cells whose accuracy on "
            f"clean images is at most {TOLERATED_LOSS:g} below that of none",
            above=0.1,
            refuted_below=0.1,
            reason="the gain that is asked of robust cells",
            note="Added after the same four trial networks had been seen.",
        ),
        Criterion(
            "order of W",
            "seeds: Spearman's correlation between W and the accuracy at tau = 0.3 averaged over "
            "sigma",
            above=0.5,
            refuted_below=0.5,
            reason=STRONG_REASON,
        ),
    ),
)


def _tested(name: str, statistic: str, thresholds: tuple[float, float], reason: str) -> Criterion:
    """Return a criterion about a share that also needs more structure than shuffled cells have."""
    return Criterion(name, statistic, *thresholds, reason, SHARE, LARGEST_P, SHUFFLED_CELLS)


def _nearest_cells(alpha: float) -> Criterion:
    statistic = (
        "pairs of seeds: for each network, the share of the other seed's networks of other cells "
        "that are farther from it than the one of its own cell; mean over networks of both seeds, "
        f"{OVER_TAUS}, alpha = {alpha:g}"
    )
    return _tested(f"alpha = {alpha:g}", statistic, (0.75, 0.75), NEAREST_REASON)


def _nearest_network(alpha: float) -> Criterion:
    return Criterion(
        f"alpha = {alpha:g}",
        "seeds: share of networks whose nearest other network, of all, has the same "
        "hyper-parameters, minus the share whose nearest has the same seed; mean over tau in "
        f"{LOW_TAUS}, alpha = {alpha:g}",
        above=0.0,
        refuted_below=0.0,
        reason=SIGN_REASON,
        limits=DIFFERENCE,
    )


def _prediction(target: str, chance: str, alpha: float) -> Criterion:
    accuracy = f"k-NN accuracy of {target} at alpha = {alpha:g}, minus {chance}"
    statistic = f"seeds left out: {accuracy}; {OVER_TAUS}"
    return _tested(f"{target}, alpha = {alpha:g}", statistic, (0.0, 0.05), EXCESS_REASON)


def _grid(target: str) -> Criterion:
    statistic = (
        f"seeds: R^2 of a linear regression of the rank of {target} on the first two principal "
        "components of an embedding (MDS) of the patched networks of the seed, alpha = 0, "
        f"tau = {GRID_TAU:g}"
    )
    return _tested(target, statistic, (0.5, 0.5), HALF_REASON)


def _changes_with_tau(alpha: float) -> Criterion:
    low, high = HALVED_TAUS[0], HALVED_TAUS[-1]
    return Criterion(
        f"alpha = {alpha:g}",
        f"pairs of seeds: - agreement of d({alpha:g}, {low:g}) and d({alpha:g}, {high:g})",
        above=-LARGEST_DISTINCT,
        refuted_below=-LARGEST_DISTINCT,
        reason=DISTINCT_REASON,
        limits=CORRELATION,
    )


CLAIMS = (
    Claim(
        "alpha",
        "The mean-insensitive (alpha = 0) and the covariance-insensitive (alpha = 2) metrics give "
        "clearly distinct embeddings.",
        "Section 3.4, first point; Figure 5 B",
        (
            Criterion(
                "alpha 0 and 2",
                f"pairs of seeds: - agreement of d(0, tau) and d(2, tau), {OVER_HALVED}",
                above=-LARGEST_DISTINCT,
                refuted_below=-LARGEST_DISTINCT,
                reason=DISTINCT_REASON,
                limits=CORRELATION,
            ),
        ),
    ),
    Claim(
        "position",
        "The position of networks in stochastic shape space reflects both W and sigma.",
        "Section 3.4, second point",
        tuple(
            _prediction(target, chance, alpha)
            for alpha in ALPHAS
            for target, chance in (("W", "1 / number of W"), ("sigma", "1 / number of sigma"))
        ),
    ),
    Claim(
        "grid",
        "At alpha = 0 and tau = 0.01 networks are laid out as the grid of W and sigma.",
        "Section 3.4, second point",
        (_grid("W"), _grid("sigma")),
    ),
    Claim(
        "seeds",
        "Networks with the same hyper-parameters but different seeds are close together.",
        "Section 3.4, second point",
        tuple(map(_nearest_cells, ALPHAS)),
    ),
    Claim(
        "nearest network",
        "Networks with the same hyper-parameters are closer together than networks that share a "
        "seed, under little noise.",
        "Section 3.4, second point, read for all networks at once",
        tuple(map(_nearest_network, ALPHAS)),
    ),
    Claim(
        "tau",
        "The noise at test changes the structure that every metric reveals.",
        "Section 3.4, third point",
        tuple(map(_changes_with_tau, ALPHAS)),
    ),
    Claim(
        "alpha 1",
        "Embeddings at alpha = 1 resemble those at alpha = 2 rather than those at alpha = 0.",
        "Section 3.4, last point",
        (
            Criterion(
                "alpha 1 and 2",
                "pairs of seeds: agreement of d(1, tau) and d(2, tau), minus that of d(1, tau) and "
                f"d(0, tau), {OVER_HALVED}",
                above=0.1,
                refuted_below=0.1,
                reason=CLOSER_REASON,
                limits=(-2.0, 2.0),
            ),
        ),
    ),
    Claim(
        "prediction",
        "Hyper-parameters are predicted better for alpha < 2 than for alpha = 2.",
        "Section 3.3 says so of variational autoencoders; tested here on these networks",
        (
            Criterion(
                "W and sigma",
                f"seeds left out: k-NN accuracy, mean over W and sigma and alpha in {BELOW_TWO}, "
                f"minus that at alpha = 2; {OVER_TAUS}",
                above=0.0,
                refuted_below=NEGLIGIBLE,
                reason=NEGLIGIBLE_REASON,
                limits=DIFFERENCE,
                largest_p=LARGEST_P,
                null="the sign of the difference of each predicted network",
            ),
        ),
    ),
    Claim(
        "spread",
        "Patch-Gaussian leads to representations of noisy images that are more robust.",
        "Section 3.4; Figure 5 A",
        (
            Criterion(
                "against none",
                "seeds: mean over robust cells of log2(spread of none / spread of the cell), "
                f"tau = {SPREAD_TAU:g}",
                above=log2(1.25),  # smaller by a fifth
                refuted_below=log2(1.25),
                reason=SPREAD_REASON,
            ),
            Criterion(
                "with accuracy",
                "seeds: Spearman's correlation between the accuracy and - spread at "
                f"tau = {SPREAD_TAU:g}, over all networks of the seed",
                above=0.5,
                refuted_below=0.5,
                reason=STRONG_REASON,
                limits=CORRELATION,
                largest_p=LARGEST_P,
                null="accuracies, permuted among the networks of each seed independently",
            ),
        ),
    ),
)
