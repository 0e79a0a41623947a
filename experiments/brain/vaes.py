"""Ratios of distances between VAEs, read from the results of the VAE study, beside those here.

That study reports log2 (mean d_2 / mean d_0) over pairs of networks with different seeds, with
intervals over seeds. Here these become natural logarithms of d_0 / d_2. They are plug-in distances:
the latents of VAEs have known means and variances, so there is no noise to correct for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log
from typing import Any, NamedTuple

from scipy.stats import t as student

from experiments.brain.claims import CLAIMS, INITIALISATIONS
from experiments.brain.statistics import Measured

RATIO_CLAIM = "ratio"  # and, of other data sets, names that start with it
# The networks of Figure 4 B, which the abstract is about.
DECIDING = {"trained": "trained dSprites networks, Kaiming initialisation"} | {
    f"untrained, {one}": f"untrained dSprites networks, {one} initialisation"
    for one in INITIALISATIONS
}
DRAWN_FIRST = "dSprites"
ABSTRACT = "Abstract"  # the claims whose names begin with it all have as many criteria
LEVEL = next(claim.level for claim in CLAIMS if claim.name.startswith(ABSTRACT))


class VaeRatio(NamedTuple):
    """log (d_0 / d_2) of some VAEs with its interval over seeds."""

    networks: str
    value: float
    low: float
    high: float
    level: float
    n_units: int = 0


def read_ratios(results: Mapping[str, Any]) -> list[VaeRatio]:
    """Return the ratios that a file of results has; none if it is not of the VAE study."""
    return [
        _ratio(row)
        for claim in results.get("claims", ())
        if claim["name"].startswith(RATIO_CLAIM)
        for row in claim["criteria"]
        if row["estimate"] is not None
    ]


def latest_ratios(results: Iterable[Mapping[str, Any]]) -> list[VaeRatio]:
    """Return the ratios of several files; of networks that two have, those of the first."""
    found: dict[str, VaeRatio] = {}
    for ratio in (ratio for one in results for ratio in read_ratios(one)):
        found.setdefault(ratio.networks, ratio)
    return sorted(found.values(), key=lambda one: DRAWN_FIRST not in one.networks)


def _ratio(row: Mapping[str, Any]) -> VaeRatio:
    # The study reports the negative of its ratio for untrained networks.
    scale = log(2) * (1.0 if row["name"].startswith("untrained") else -1.0)
    low, high = sorted(
        float("nan") if row[k] is None else scale * float(row[k]) for k in ("lower", "upper")
    )
    units = row.get("units", 0)
    return VaeRatio(row["name"], scale * row["estimate"], low, high, row["level"], units)


def at_level(one: VaeRatio, level: float) -> VaeRatio:
    """Return a ratio with an interval of another level: Student's, over as many seeds.

    >>> one = VaeRatio("trained", 0.0, -2.776445, 2.776445, 0.95, 5)
    >>> round(at_level(one, 0.99).high, 3)
    4.604
    """
    if one.n_units < 2:
        return one
    wide, own = (student.ppf((1 + each) / 2, one.n_units - 1) for each in (level, one.level))
    ends = (one.value + (end - one.value) * float(wide / own) for end in (one.low, one.high))
    low, high = ends
    return one._replace(low=low, high=high, level=level)


def deciding_ratios(found: list[VaeRatio]) -> dict[str, Measured]:
    """Return the numbers of the criteria about VAEs, with the sign that each needs.

    Intervals have the level of the abstract's claim, as all others of that claim.
    """
    out = {}
    for criterion, networks in DECIDING.items():
        sign = 1.0 if criterion.startswith("untrained") else -1.0  # covariances dominate there
        for one in (at_level(one, LEVEL) for one in found):
            if one.networks == networks:
                low, high = sorted((sign * one.low, sign * one.high))
                out[criterion] = Measured(sign * one.value, low, high, one.n_units)
    return out
