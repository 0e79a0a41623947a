"""Ratios of distances between VAEs, read from the results of the VAE study, beside those here.

That study reports log2 (mean d_2 / mean d_0) over pairs of networks with different seeds, with
intervals over seeds. Here these become natural logarithms of d_0 / d_2. They are plug-in distances:
the latents of VAEs have known means and variances, so there is no noise to correct for.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import Any, NamedTuple

from experiments.brain.statistics import Measured

RATIO_CLAIM = "ratio"  # and, of other data sets, names that start with it
# The networks of Figure 4 B, which the abstract is about.
DECIDING = {
    "trained": "trained dSprites networks, Kaiming initialisation",
    "untrained": "untrained dSprites networks, Kaiming initialisation",
}
# With the sign that a criterion needs: covariances dominate in untrained networks.
SIGNS = {"trained": -1.0, "untrained": 1.0}


class VaeRatio(NamedTuple):
    """log (d_0 / d_2) of some VAEs with its interval over seeds."""

    networks: str
    value: float
    low: float
    high: float
    level: float


def read_ratios(results: Mapping[str, Any]) -> list[VaeRatio]:
    """Return the ratios that a file of results has; none if it is not of the VAE study."""
    return [
        _ratio(row)
        for claim in results.get("claims", ())
        if claim["name"].startswith(RATIO_CLAIM)
        for row in claim["criteria"]
        if row["estimate"] is not None
    ]


def _ratio(row: Mapping[str, Any]) -> VaeRatio:
    # The study reports the negative of its ratio for untrained networks.
    scale = log(2) * (1.0 if row["name"].startswith("untrained") else -1.0)
    ends = [float("nan") if row[k] is None else scale * row[k] for k in ("lower", "upper")]
    return VaeRatio(row["name"], scale * row["estimate"], min(ends), max(ends), row["level"])


def deciding_ratios(found: list[VaeRatio]) -> dict[str, Measured]:
    """Return the numbers of the criteria about VAEs, with the sign that each needs."""
    out = {}
    for criterion, sign in SIGNS.items():
        for one in found:
            if one.networks == DECIDING[criterion]:
                low, high = sorted((sign * one.low, sign * one.high))
                out[criterion] = Measured(sign * one.value, low, high, 0)
    return out
