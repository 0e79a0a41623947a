"""Does the library say what else groups differ in, and is it silent otherwise?

    python -m benchmarks.confounds [--simulations 100] [--only CELL ...]

Twelve recordings of Poisson counts in two groups (square roots, five principal components). In
some settings, half of them are cut to 9 of 21 neurons or to 8 of 20 trials; in others, only the
code differs, or nothing. Results are added to benchmarks/results/confounds.json after every few
simulations, so that an interrupted run continues when it is started again, and a larger
``--simulations`` adds to what is there.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks.inference_tables import load, save

RESULTS = Path(__file__).parent / "results" / "confounds.json"
SAVE_SECONDS = 20.0
CONDITIONS, LATENTS = 12, 5
NAMES = [f"condition {m}" for m in range(CONDITIONS)]
NEURONS, TRIALS = 21, 20
PERMUTATIONS = 999
METRIC = rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=5), tol=1e-5, n_starts=3)
# What a simulation records: p-values of the groups, of matched networks and of angles, and which
# sentences `groups` and `confounds` add.
FIELDS = ("p", "matched", "angles", "groups: neurons", "groups: trials")
FIELDS += ("neurons", "trials", "gain", "components")


@dataclass(frozen=True)
class Cell:
    """Neurons and trials that the second group is cut to, and how much its code differs.

    If ``varied``, numbers of neurons and trials vary at random, by up to a third.
    """

    neurons: int = NEURONS
    trials: int = TRIALS
    code: float = 0.0
    varied: bool = False


CELLS = {
    "half cut to 9 neurons": Cell(neurons=9),
    "half cut to 8 trials": Cell(trials=8),
    "half cut to 9 neurons and 8 trials": Cell(neurons=9, trials=8),
    "code differs": Cell(code=0.6),
    "code differs, sizes vary": Cell(code=0.6, varied=True),
    "nothing differs, sizes vary": Cell(varied=True),
    "code differs, half cut to 9 neurons": Cell(neurons=9, code=0.6),
}


def recordings(cell: Cell, rng: np.random.Generator) -> tuple[list[rs.Trials], list[str]]:
    """Twelve recordings of neurons that respond to five latent variables of the conditions."""
    codes = [rng.normal(size=(CONDITIONS, LATENTS))]
    other = codes[0] + cell.code * rng.normal(size=codes[0].shape)
    codes.append(other * np.linalg.norm(codes[0]) / np.linalg.norm(other))  # the same norm
    labels = rng.permutation(np.repeat(["whole", "cut"], 6)).tolist()
    networks = []
    for label in labels:
        cut = label == "cut"
        n, L = (cell.neurons, cell.trials) if cut else (NEURONS, TRIALS)
        if cell.varied:
            n, L = (round(size * rng.uniform(2 / 3, 4 / 3)) for size in (n, L))
        own = codes[cut] + 0.3 * rng.normal(size=codes[0].shape)  # animals differ, too
        rates = np.exp(1.0 + 0.35 * own @ rng.normal(size=(LATENTS, n)))
        counts = rng.poisson(rates[:, None], size=(CONDITIONS, L, n))
        networks.append(rs.Trials(np.sqrt(counts), conditions=NAMES))
    return networks, labels


def simulate(name: str, seed: int) -> list[float]:
    """Return the `FIELDS` of one simulation."""
    rng = np.random.default_rng([seed, crc32(name.encode())])
    networks, labels = recordings(CELLS[name], rng)
    D = rs.pairwise(networks, METRIC, workers=1)
    options = {"n_permutations": PERMUTATIONS, "random_state": seed}
    test = rs.inference.groups(D, labels, **options)
    options |= {"n_splits": 1, "workers": 1}
    found = rs.inference.confounds(networks, METRIC, D=D, labels=labels, **options)
    seen, said = ({one.name for one in result.factors} for result in (test, found))
    matched = found.tests["matched"].p_value if "matched" in found.tests else -1.0
    return [
        test.p_value,
        matched,
        found.tests["angles"].p_value,
        *(float(one in seen) for one in ("neurons", "trials")),
        *(float(one in said) for one in ("neurons", "trials", "gain", "components")),
    ]


# Trials of x and y, and what is matched. One network is recorded twice.
EQUALITY_CELLS: dict[str, tuple[int, int, str | None]] = {
    "equality": (16, 16, None),
    "equality, unequal trials": (24, 16, None),
    "equality, trials matched": (24, 16, "trials"),
}


def simulate_equality(name: str, seed: int) -> list[float]:
    """The p-value of two recordings of one network with overdispersed counts, and the least one."""
    rng = np.random.default_rng([seed, crc32(name.encode())])
    *sizes, match = EQUALITY_CELLS[name]
    rates = np.exp(0.7 + 0.6 * rng.normal(size=(18, 1, 4)) @ rng.normal(size=(4, 10)) / 2)
    pair = []
    for L in sizes:
        gains = rng.gamma(2.0, 0.5, size=(18, L, 1))  # shared by the neurons of a trial
        counts = rng.poisson(rates * gains, size=(18, L, 10))
        pair.append(rs.Trials(np.sqrt(counts), conditions=[f"condition {m}" for m in range(18)]))
    phi = rs.Preprocess(n_components=4)
    metric = rs.GaussianShapeMetric(preprocess=phi, tol=1e-5, n_starts=3)
    options = {"match": match, "n_draws": 5, "n_permutations": PERMUTATIONS, "workers": 1}
    found = rs.inference.equality(*pair, metric, random_state=seed, **options)
    return [found.p_value, found.smallest_p_value]


EVERY = [*CELLS, *EQUALITY_CELLS]


def run(cells: list[str], target: int) -> None:
    """Add simulations to those that are saved, until there are ``target`` of each cell."""
    for name in cells:
        done, saved = list(load(RESULTS).get(name, [])), time.monotonic()
        while len(done) < target:
            one = simulate_equality if name in EQUALITY_CELLS else simulate
            done.append(one(name, len(done)))
            if len(done) == target or time.monotonic() - saved > SAVE_SECONDS:
                save(RESULTS, name, done)
                saved = time.monotonic()
        print(name, words(done[:target]), flush=True)


def words(rows: list[list[float]]) -> str:
    """Return how often groups differ, before and after matching, and what is said."""
    if len(rows[0]) == 2:
        p, least = np.array(rows).T
        level = f"the smallest p-value is {np.median(least):.2g}"
        return f"{len(rows)} simulations; p <= .05 in {np.mean(p <= 0.05):.3f} ({level})"
    table = dict(zip(FIELDS, np.array(rows).T, strict=True))
    drawn = table["matched"][table["matched"] >= 0]
    parts = [f"{len(rows)} simulations", f"p <= .05 in {np.mean(table['p'] <= 0.05):.3f}"]
    if drawn.size:
        share = np.mean(drawn <= 0.05)
        parts.append(f"matched in {share:.3f} of {drawn.size}")
    parts.append(f"angles {np.mean(table['angles'] <= 0.05):.3f}")
    parts += [f"{name} {int(table[name].sum())}" for name in FIELDS[3:]]
    sizes = (table["neurons"] + table["trials"] > 0) & (table["matched"] > 0.05)
    gain = (table["gain"] > 0) & (table["angles"] > 0.05)
    could = (table["p"] <= 0.05) & (sizes | gain)
    parts.append(f"sizes or gain could explain it in {int(could.sum())}")
    return "; ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=100)
    parser.add_argument("--only", nargs="+", choices=EVERY, default=EVERY)
    options = parser.parse_args()
    silence()
    with threadpool_limits(limits=1, user_api="blas"):
        run(options.only, options.simulations)


def silence() -> None:
    """Ignore the warnings that the results are about."""
    for category in (
        rs.inference.FewTrialsWarning,
        rs.inference.UnstableSubspaceWarning,
        rs.inference.UnequalSizesWarning,
        rs.errors.SearchWarning,
    ):
        warnings.simplefilter("ignore", category)


if __name__ == "__main__":
    main()
