"""Does the library say what else groups differ in, and is it silent otherwise?

    python -m benchmarks.confounds [--simulations 100] [--only CELL ...]

Twelve recordings of Poisson counts in two groups (square roots, five principal components). In
some settings, half of them are cut to 9 of 21 neurons or to 8 of 20 trials, respond more strongly,
or are recorded with noise that makes their principal components unstable; in others, only the code
differs, or nothing. Designs were chosen with seeds that are not used here. Results are added to
benchmarks/results/confounds.json after every few simulations, so that an interrupted run continues
when it is started again, and a larger ``--simulations`` adds to what is there. The tables of
docs/confounds.md are written at the end.
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
import numpy.typing as npt
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks.inference_tables import load, replace_table, save

FloatArray = npt.NDArray[np.float64]
RESULTS = Path(__file__).parent / "results" / "confounds.json"
PAGE = Path(__file__).parents[1] / "docs" / "confounds.md"
SAVE_SECONDS = 20.0
CONDITIONS, LATENTS = 12, 5
NAMES = [f"condition {m}" for m in range(CONDITIONS)]
NEURONS, TRIALS = 21, 20
PERMUTATIONS = 999
LEVEL = 0.05
FACTORS = ("neurons", "trials", "gain", "components")
# What a simulation records: p-values of the groups, of matched networks, of angles and without the
# part that components predict (-1 if a test was not repeated); and which factors `groups`, from the
# matrix alone, and `confounds` name.
FIELDS = ("p", "matched", "angles", "without components")
FIELDS += (*(f"groups: {one}" for one in FACTORS), *FACTORS)
# Part of the seed, which differs from that of earlier simulations.
ROUND = 2


@dataclass(frozen=True)
class Cell:
    """Neurons and trials that the second group is cut to, and how much its code differs.

    Its responses are multiplied by ``gain``, and independent ``noise`` of this standard deviation
    is added to them. If ``varied``, numbers of neurons and trials vary at random, by up to a third.
    """

    neurons: int = NEURONS
    trials: int = TRIALS
    code: float = 0.0
    varied: bool = False
    gain: float = 1.0
    noise: float = 0.0
    alpha: float = 1.0

    @property
    def metric(self) -> rs.GaussianShapeMetric:
        phi = rs.Preprocess(n_components=5)
        return rs.GaussianShapeMetric(self.alpha, preprocess=phi, tol=1e-5, n_starts=3)


CELLS = {
    "half cut to 9 neurons": Cell(neurons=9),
    "half cut to 8 trials": Cell(trials=8),
    "half cut to 9 neurons and 8 trials": Cell(neurons=9, trials=8),
    "code differs": Cell(code=0.6),
    "code differs, sizes vary": Cell(code=0.6, varied=True),
    "nothing differs, sizes vary": Cell(varied=True),
    "code differs, half cut to 9 neurons": Cell(neurons=9, code=0.6),
    "half with gain 1.5": Cell(gain=1.5),
    "half with gain 2": Cell(gain=2.0),
    "code differs, half with gain 2": Cell(gain=2.0, code=0.6),
    "half with noise": Cell(noise=1.0),
    "half with noise, means compared": Cell(noise=2.0, alpha=2.0),
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
        responses = np.sqrt(counts)
        if cut:
            responses = cell.gain * responses + cell.noise * rng.normal(size=counts.shape)
        networks.append(rs.Trials(responses, conditions=NAMES))
    return networks, labels


def simulate(name: str, seed: int) -> list[float]:
    """Return the `FIELDS` of one simulation."""
    cell = CELLS[name]
    networks, labels = recordings(cell, np.random.default_rng([seed, crc32(name.encode()), ROUND]))
    D = rs.pairwise(networks, cell.metric, workers=1)
    options = {"n_permutations": PERMUTATIONS, "random_state": seed}
    test = rs.inference.groups(D, labels, **options)
    options |= {"n_splits": 1, "workers": 1}
    found = rs.inference.confounds(networks, cell.metric, D=D, labels=labels, **options)
    seen, said = ({one.name: one for one in result.factors} for result in (test, found))
    matched = found.tests["matched"].p_value if "matched" in found.tests else -1.0
    removed = said["components"].repeated_p_value if "components" in said else -1.0
    return [
        test.p_value,
        matched,
        found.tests["angles"].p_value,
        removed,
        *(float(one in seen) for one in FACTORS),
        *(float(one in said) for one in FACTORS),
    ]


# Trials of x and y, and what is matched. One network is recorded twice.
EQUALITY_CELLS: dict[str, tuple[int, int, str | None]] = {
    "equality": (16, 16, None),
    "equality, unequal trials": (24, 16, None),
    "equality, trials matched": (24, 16, "trials"),
}


def simulate_equality(name: str, seed: int) -> list[float]:
    """The p-value of two recordings of one network with overdispersed counts, and the least one."""
    rng = np.random.default_rng([seed, crc32(name.encode()), ROUND])
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
    parts = [f"{len(rows)} simulations", f"p <= .05 in {np.mean(table['p'] <= 0.05):.3f}"]
    parts += [f"{name}: {repeated(table, name)}" for name in FIELDS[1:4]]
    parts += [f"{name} {int(table[name].sum())}" for name in FIELDS[4:]]
    return "; ".join(parts)


def repeated(table: dict[str, FloatArray], name: str) -> str:
    """Return in how many studies groups differ once a test is repeated, of those in which it was.

    >>> repeated({"matched": np.array([0.01, -1.0, 0.2])}, "matched")
    '1 of 2'
    """
    p = table[name][table[name] >= 0]
    return f"{int((p <= LEVEL).sum())} of {p.size}" if p.size else ""


def tables(results: dict[str, list[list[float]]]) -> str:
    """Return the tables of docs/confounds.md."""
    lines = [
        "| recordings | studies | groups differ | neurons named | trials named | gain named | "
        "components named | same sizes | angles | without components |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in (one for one in CELLS if one in results):
        table = dict(zip(FIELDS, np.array(results[name]).T, strict=True))
        said = [int(table[f"groups: {one}"].sum()) for one in FACTORS]
        again = [repeated(table, one) for one in FIELDS[1:4]]
        differ = int((table["p"] <= LEVEL).sum())
        row = [name, len(results[name]), differ, *said, *again]
        lines.append(f"| {' | '.join(map(str, row))} |")
    lines += ["", "| one network recorded twice | pairs | p ≤ 0.05 |", "|---|---|---|"]
    for name in (one for one in EQUALITY_CELLS if one in results):
        p = np.array(results[name])[:, 0]
        lines.append(f"| {name} | {len(p)} | {int((p <= LEVEL).sum())} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=100)
    parser.add_argument("--only", nargs="+", choices=EVERY, default=EVERY)
    options = parser.parse_args()
    silence()
    with threadpool_limits(limits=1, user_api="blas"):
        run(options.only, options.simulations)
    replace_table("confounds", tables(load(RESULTS)), PAGE)


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
