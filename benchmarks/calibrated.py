"""Size of calibrated scores, and CKA of few conditions and neurons, for docs/evidence.

python -m benchmarks.calibrated [--simulations 400] [--only size | few_neurons]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import repshape as rs
from benchmarks import markers
from benchmarks.markers import table
from benchmarks.stamps import RESULTS, write
from repshape.baselines import cka
from repshape.baselines.calibration import calibrated
from repshape.errors import InputError

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "baselines.md"
CONDITIONS = 20
NEURONS = (10, 30, 100, 300, 1000)
LEVEL = 0.05
# Networks with more neurons than conditions have a canonical correlation of 1 with all others; as
# many principal components as leave room are compared instead.
COMPONENTS = 10
DESIGNS = ((20, 10), (20, 500), (50, 10), (50, 50), (200, 20))
"""Numbers of conditions and neurons in the simulation of few neurons."""
POPULATION = 30
"""Number of latent dimensions in the simulation of few neurons."""
SHARED = 0.7
"""Correlation of the latent responses of the two networks: CKA of their populations is 0.49."""


def _cca(x: Any, y: Any) -> float:
    reduced = [rs.Preprocess(n_components=min(COMPONENTS, one.n_neurons)) for one in (x, y)]
    return rs.baselines.cca(
        *(phi.fit(one).apply(one) for phi, one in zip(reduced, (x, y), strict=True))
    )


MEASURES_TESTED: dict[str, Callable[..., Any] | Any] = {
    "cka": cka,
    "cca": _cca,
    "rsa": rs.baselines.rsa,
    "procrustes": rs.ProcrustesShapeMetric(
        distance="angular", preprocess=rs.Preprocess(center=True)
    ),
}


@dataclass(frozen=True)
class Size:
    """How often independent networks have a positive score, and their similarity as it is.

    Attributes
    ----------
    measure : str
    n_neurons, simulations, n_permutations : int
    share : float
        Share of positive scores.
    raw : float
        Median similarity without calibration: 1 - distance, or the cosine of an angle.
    """

    measure: str
    n_neurons: int
    simulations: int
    n_permutations: int
    share: float
    raw: float


def false_positives(name: str, n: int, *, simulations: int, n_permutations: int, seed: int) -> Size:
    """Score pairs of independent networks with M = 20 conditions and n neurons each."""
    measure, positive, raw = MEASURES_TESTED[name], 0, []
    for k in range(simulations):
        rng = np.random.default_rng([seed, n, k])
        x, y = rng.normal(size=(2, CONDITIONS, n))
        found = calibrated(
            measure, x, y, n_permutations=n_permutations, level=LEVEL, random_state=k, workers=1
        )
        positive += found.score > 0
        raw.append(np.cos(found.value) if name == "procrustes" else 1 - found.value)
    share = positive / simulations
    return Size(name, n, simulations, n_permutations, share, float(np.median(raw)))


def few_neurons(M: int, n: int, *, simulations: int, seed: int) -> dict[str, Any]:
    """Return median CKA without correction, with one and with both; the population has 0.49."""
    deviations = np.arange(1, POPULATION + 1) ** -0.5
    kinds: dict[str, Callable[..., float]] = {
        "plain": cka,
        "few conditions": partial(cka, debiased=True),
        "both": partial(cka, debiased=True, few_neurons=True),
    }
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    refused = 0
    for k in range(simulations):
        rng = np.random.default_rng([seed, M, n, k])
        z, other = rng.normal(size=(2, M, POPULATION))
        latent = (z, SHARED * z + np.sqrt(1 - SHARED**2) * other)
        x, y = ((one * deviations) @ rng.normal(size=(POPULATION, n)) for one in latent)
        for kind, measure in kinds.items():
            try:
                found[kind].append(1 - measure(x, y))
            except InputError:  # the estimate of a squared norm is negative
                refused += 1
    row: dict[str, Any] = {"M": M, "n": n, "simulations": simulations, "truth": SHARED**2}
    row |= {kind: float(np.median(values)) for kind, values in found.items()}
    spread = np.percentile(found["both"], [25, 75]).tolist()
    return row | {"both, quartiles": spread, "refused": refused}


def sizes(simulations: int, n_permutations: int, seed: int) -> list[dict[str, Any]]:
    """Return the size of the test for each measure and number of neurons."""
    rows = []
    for name in MEASURES_TESTED:
        for n in NEURONS:
            row = false_positives(
                name, n, simulations=simulations, n_permutations=n_permutations, seed=seed
            )
            print(row, flush=True)
            rows.append(asdict(row))
    return rows


def tables(data: dict[str, Any]) -> dict[str, str]:
    """Return the tables of docs/evidence/baselines.md."""
    rows = []
    for name in MEASURES_TESTED:
        of = [one for one in data["size"] if one["measure"] == name]
        row = {"measure": name} | {f"n{one['n_neurons']}": one["share"] for one in of}
        rows.append(row | {f"raw{one['n_neurons']}": round(one["raw"], 2) for one in of})
    shares = {"measure": "measure"} | {f"n{n}": f"{n} neurons" for n in NEURONS}
    raw = {"measure": "measure"} | {f"raw{n}": f"{n} neurons" for n in NEURONS}
    columns = {
        "M": "conditions",
        "n": "neurons",
        "plain": "CKA",
        "few conditions": "debiased",
        "both": "debiased, few neurons",
        "quartiles": "its quartiles",
        "refused": "refused",
    }
    neurons = [
        one | {"quartiles": " to ".join(f"{q:.2f}" for q in one["both, quartiles"])}
        for one in data["few_neurons"]
    ]
    return {
        "shares": table(rows, shares),
        "raw": table(rows, raw),
        "few neurons": table(neurons, columns, digits=2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=400)
    parser.add_argument("--permutations", type=int, default=19)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--only", choices=("size", "few_neurons"))
    given = parser.parse_args()
    out = RESULTS / "calibrated.json"
    data = json.loads(out.read_text()) if out.exists() else {}
    data |= {"M": CONDITIONS, "level": LEVEL}
    if given.only in (None, "size"):
        data["size"] = sizes(given.simulations, given.permutations, given.seed)
    if given.only in (None, "few_neurons"):
        data["few_neurons"] = [
            few_neurons(*one, simulations=given.simulations, seed=given.seed) for one in DESIGNS
        ]
    write(out, data, continues=True)
    for name, found in tables(data).items():
        markers.write(PAGE, name, [found])


if __name__ == "__main__":
    main()
