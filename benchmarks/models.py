"""Size, coverage and power of `repshape.inference.models`, for docs/evidence.

python -m benchmarks.models [--set develop | final] [--simulations 200] [--minutes 25] [--print]

Each simulation is added to benchmarks/results/models_SET.json as soon as it is finished, so that an
interrupted run resumes when you repeat the command.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

import repshape as rs
from benchmarks.model_designs import DESIGNS, MORE, TARGETS, TRUTH_BRAINS, Cell, cells
from benchmarks.tables import table

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "models.md"
PAGE_TEXT = """# Do comparisons of models hold?

Made by `python -m benchmarks.models`, which keeps every simulation in
`benchmarks/results/models_final.json`. The design and its seeds were fixed before the first of
these simulations (`benchmarks/model_designs.py`); faults were looked for on another population
with other seeds (`--set develop`).

Brains are a population of latent responses (5 dimensions, {conditions} conditions) plus
individual differences, rotated into 30 to 80 neurons with noise, {trials} trials per condition.
Networks are reduced to 5 components and their means compared (alpha = 2). Two models are at equal
distances from the brains, one is farther by a tenth of the squared distance, one is at the margin
(a tenth farther than brains are from each other), and one is one more brain. True distances come
from {truth} brains without noise, in plain NumPy. "Over both" draws conditions anew in every
simulation.

## Coverage of 90 % intervals

Shares of simulations in which the interval contains the truth, and the bias of the mean squared
distance in brackets. "pairs" and "mean" are the ceilings.

{coverage}

{below}

## Tests at level 0.05

Shares of simulations. "Corrected" is by the maximum statistic, over ten pairs of models.

{tests}

A model at the margin should be called close enough in at most 5 % of simulations, and one more
brain in at least 80 % with 20 brains. {verdicts}

## Chance

How often brains are called nearer to each other than chance (19 permutations, so that 0.05 is the
smallest p-value), and how often distances are flagged as depending on the number of neurons
(level 0.01), which they do not.

{chance}
"""
METRIC = rs.GaussianShapeMetric(2.0, preprocess=rs.Preprocess(n_components=5))
N_CHANCE = 19  # the smallest number that allows p = 0.05
LEVEL = 0.05
CEILINGS = ("pairs", "mean")


def simulate(cell: Cell, k: int) -> dict[str, Any]:
    """Return squared distances with their intervals, and p-values, of one simulation."""
    brains, models = cell.sample(k)
    start = time.process_time()
    with warnings.catch_warnings():
        # Numbers of neurons are counted below, and small overlaps are part of the design.
        warnings.simplefilter("ignore", rs.inference.UnequalNeuronsWarning)
        warnings.simplefilter("ignore", rs.inference.UnstableSubspaceWarning)
        found = rs.inference.models(
            brains, models, METRIC, over=cell.over, n_chance=N_CHANCE, workers=1, progress=False
        )
    rows = found.to_frame()
    ends = rows[["low", "high"]]
    tests = found.differences.set_index(["first", "second"])
    return {
        "squares": rows["squared_distance"].to_dict(),
        "ends": {name: [low * abs(low), high * abs(high)] for name, low, high in ends.itertuples()},
        "equal": tests.loc[("first", "equal"), ["p_value", "max_p_value"]].tolist(),
        "farther": tests.loc[("first", "farther"), ["p_value", "max_p_value"]].tolist(),
        "false": float(tests.loc[("first", "equal"), "max_p_value"]),
        "smallest": float(tests["smallest_p_value"].max()),
        "close": found.scores["close_p_value"].to_dict(),
        "chance": found.chance.p_value,
        "neurons": bool(found.neurons.related),
        "seconds": time.process_time() - start,
    }


def run(name: str, simulations: int, minutes: float) -> None:
    """Add simulations of all cells in turn, up to a number of each or a time of the processor."""
    file = RESULTS / f"models_{name}.json"
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    end = time.process_time() + 60 * minutes
    for k in range(simulations):
        for cell in cells(name):
            if k % cell.every or time.process_time() > end:
                continue
            if cell.name not in found:
                found[cell.name] = {"truth": cell.truth, "rows": []}
            one = found[cell.name]
            if len(one["rows"]) > k // cell.every:
                continue
            vars(cell)["truth"] = one["truth"]  # of the run before
            one["rows"].append(simulate(cell, k // cell.every))
            draft = file.with_suffix(".part")
            draft.write_text(json.dumps(found, indent=1) + "\n")
            draft.replace(file)


def share(values: Any) -> str:
    """Return a share with its number."""
    some = np.array(list(values), dtype=float)
    return f"{some.mean():.3f}" if len(some) else ""


def coverage(one: dict[str, Any], name: str) -> str:
    truth = one["truth"][name]
    return share(row["ends"][name][0] <= truth <= row["ends"][name][1] for row in one["rows"])


def bias(one: dict[str, Any], name: str) -> str:
    truth = one["truth"][name]
    return f"{100 * (np.mean([row['squares'][name] for row in one['rows']]) / truth - 1):+.1f} %"


def markdown(headings: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    names = {str(k): heading for k, heading in enumerate(headings)}
    return table([{str(k): cell for k, cell in enumerate(row)} for row in rows], names)


def tables(found: dict[str, Any]) -> dict[str, str]:
    """Return the tables of the page, in Markdown."""
    related = {name: one for name, one in found.items() if "unrelated" not in name}
    names = [*TARGETS, *CEILINGS]
    covered = [
        [name, str(len(one["rows"])), *(f"{coverage(one, n)} ({bias(one, n)})" for n in names)]
        for name, one in related.items()
    ]
    tested = []
    for name, one in related.items():
        rows = one["rows"]
        tested.append(
            [
                name,
                f"{rows[0]['smallest']:.2g}",
                share(row["equal"][0] <= LEVEL for row in rows),
                share(row["equal"][1] <= LEVEL for row in rows),
                share(row["farther"][0] <= LEVEL for row in rows),
                share(row["farther"][1] <= LEVEL for row in rows),
                share(row["close"]["margin"] <= LEVEL for row in rows),
                share(row["close"][MORE] <= LEVEL for row in rows),
                share(row["close"]["first"] <= LEVEL for row in rows),
                f"{np.median([row['seconds'] for row in rows]):.1f} s",
            ]
        )
    chance = [
        [
            name,
            str(len(one["rows"])),
            share(row["chance"] <= LEVEL for row in one["rows"]),
            share(row["neurons"] for row in one["rows"]),
        ]
        for name, one in found.items()
    ]
    return {
        "coverage": markdown(["", "simulations", *names], covered),
        "tests": markdown(
            [
                "",
                "smallest p",
                "equal models differ",
                "corrected",
                "farther model found",
                "corrected",
                "at the margin: close enough",
                f"{MORE}: close enough",
                "first: close enough",
                "time",
            ],
            tested,
        ),
        "chance": markdown(["", "simulations", "nearer than chance", "neurons flagged"], chance),
    }


def exceeds(hits: int, count: int, rate: float, *, above: bool) -> bool:
    """Whether a share is significantly above (below) a rate, at one-sided level 0.05."""
    law = binom(count, rate)
    return bool((law.sf(hits - 1) if above else law.cdf(hits)) < LEVEL)


def low_coverage(found: dict[str, Any]) -> str:
    """Say which coverages are significantly below 0.85."""
    low, total = [], 0
    for name, one in found.items():
        for what in (*TARGETS, *CEILINGS) if "unrelated" not in name else ():
            truth, rows = one["truth"][what], one["rows"]
            hits = sum(row["ends"][what][0] <= truth <= row["ends"][what][1] for row in rows)
            total += 1
            if exceeds(hits, len(rows), 0.85, above=False):
                low.append(f"{what} of {name} ({hits} of {len(rows)})")
    listed = ": " + ", ".join(low) if low else ""
    return f"Significantly below 0.85 (one-sided, level 0.05): {len(low)} of {total}{listed}."


def verdicts(found: dict[str, Any]) -> str:
    """Say what the numbers show about the aims."""
    out = []
    for name, one in found.items():
        if "unrelated" in name:
            continue
        rows = one["rows"]
        false = sum(row["close"]["margin"] <= LEVEL for row in rows)
        size = sum(row["equal"][0] <= LEVEL for row in rows)
        for what, hits in (("a model at the margin", false), ("equal models", size)):
            if exceeds(hits, len(rows), LEVEL, above=True):
                out.append(f"{name}: {what}, {hits} of {len(rows)}, significantly above 5 %.")
    more = found["20 brains, over brains"]["rows"]
    hits = sum(row["close"][MORE] <= LEVEL for row in more)
    out.append(f"One more brain with 20 brains: {hits} of {len(more)}.")
    if not any("significantly" in one for one in out):
        out.insert(0, "No share of false decisions is significantly above 5 %.")
    return " ".join(out)


def precision(found: dict[str, Any]) -> str:
    """Say how far the shares can be trusted."""
    fewest = min(len(one["rows"]) for name, one in found.items() if "over brains" in name)
    error = np.sqrt(0.9 * 0.1 / fewest)
    words = f"A share of 0.9 of {fewest} simulations has a standard error of {error:.2f}."
    few = " That is enough to see gross failures only; repeat the command to add simulations."
    return words + (few if fewest < 150 else "")


def write_page(name: str, found: dict[str, Any]) -> None:
    design = DESIGNS[name]
    PAGE.write_text(
        PAGE_TEXT.format(
            conditions=design.conditions,
            trials=design.trials,
            truth=TRUTH_BRAINS,
            below=f"{low_coverage(found)} {precision(found)}",
            verdicts=verdicts(found),
            **tables(found),
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=list(DESIGNS), default="final")
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=np.inf)
    parser.add_argument("--print", action="store_true", help="print the tables only")
    given = parser.parse_args()
    if not given.print:
        run(given.set, given.simulations, given.minutes)
    found = json.loads((RESULTS / f"models_{given.set}.json").read_text())
    for one in tables(found).values():
        print(one, end="\n\n")
    print(low_coverage(found), verdicts(found))
    if given.set == "final":
        write_page(given.set, found)


if __name__ == "__main__":
    main()
