"""Size of calibrated scores, and CKA of few conditions and neurons, for docs/evidence.

python -m benchmarks.calibrated [--simulations 400] [--out benchmarks/results/calibrated.json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import repshape as rs
from repshape.baselines import cka
from repshape.baselines.calibration import calibrated

RESULTS = Path(__file__).parent / "results"
CONDITIONS = 20
NEURONS = (10, 30, 100, 300, 1000)
LEVEL = 0.05
# Networks with more neurons than conditions have a canonical correlation of 1 with all others; as
# many principal components as leave room are compared instead.
COMPONENTS = 10
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
    """Return mean CKA without correction, with one and with both, for a population CKA of 0.49."""
    spread = np.arange(1, POPULATION + 1) ** -0.5
    kinds: dict[str, Callable[..., float]] = {
        "plain": cka,
        "few conditions": partial(cka, debiased=True),
        "both": partial(cka, debiased=True, few_neurons=True),
    }
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    for k in range(simulations):
        rng = np.random.default_rng([seed, M, n, k])
        z, other = rng.normal(size=(2, M, POPULATION))
        latent = (z, SHARED * z + np.sqrt(1 - SHARED**2) * other)
        x, y = ((one * spread) @ rng.normal(size=(POPULATION, n)) for one in latent)
        for kind, measure in kinds.items():
            found[kind].append(1 - measure(x, y))
    row: dict[str, Any] = {"M": M, "n": n, "simulations": simulations, "truth": SHARED**2}
    row |= {kind: float(np.mean(values)) for kind, values in found.items()}
    return row | {"deviation of both": float(np.std(found["both"]))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=400)
    parser.add_argument("--permutations", type=int, default=19)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--out", type=Path, default=RESULTS / "calibrated.json")
    given = parser.parse_args()
    begun = time.process_time()
    sizes = []
    for name in MEASURES_TESTED:
        for n in NEURONS:
            row = false_positives(
                name,
                n,
                simulations=given.simulations,
                n_permutations=given.permutations,
                seed=given.seed,
            )
            print(row, flush=True)
            sizes.append(asdict(row))
    designs = ((20, 10), (20, 500), (50, 10), (50, 50), (200, 20))
    neurons = [few_neurons(*one, simulations=given.simulations, seed=given.seed) for one in designs]
    data = {"M": CONDITIONS, "level": LEVEL, "size": sizes, "few_neurons": neurons}
    data["cpu_seconds"] = time.process_time() - begun
    given.out.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
