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
from benchmarks import markers, stamps
from benchmarks.model_designs import DESIGNS, MORE, TARGETS, Cell, cells
from benchmarks.stamps import RESULTS

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "models.md"
METRIC = rs.GaussianShapeMetric(2.0, preprocess=rs.Preprocess(n_components=5))
N_CHANCE = 19  # the smallest number that allows p = 0.05
LEVEL = 0.05
PLANNED = 200  # simulations of a cell; more were added where a share was in doubt
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
            stamps.write(file, found, continues=True)


def share(values: Any) -> str:
    """Return a share with its number."""
    some = np.array(list(values), dtype=float)
    return f"{some.mean():.3f}" if len(some) else ""


def hits(one: dict[str, Any], name: str) -> int:
    """Return the number of intervals that contain the truth."""
    truth = one["truth"][name]
    return sum(row["ends"][name][0] <= truth <= row["ends"][name][1] for row in one["rows"])


def coverage(one: dict[str, Any], name: str) -> str:
    return f"{hits(one, name) / len(one['rows']):.3f}"


def bias(one: dict[str, Any], name: str) -> str:
    truth = one["truth"][name]
    return f"{100 * (np.mean([row['squares'][name] for row in one['rows']]) / truth - 1):+.1f} %"


def tables(found: dict[str, Any]) -> dict[str, list[str]]:
    """Return the tables and the sentences of the page, as lines of Markdown."""
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
        "coverage": markers.markdown(["", "simulations", *names], covered),
        "tests": markers.markdown(
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
        "chance": markers.markdown(
            ["", "simulations", "nearer than chance", "neurons flagged"], chance
        ),
        "below": [f"{low_coverage(found)} {precision(found)}"],
        "verdicts": [verdicts(found)],
    }


def exceeds(times: int, count: int, rate: float, *, above: bool) -> bool:
    """Whether a share is significantly above (below) a rate, at one-sided level 0.05."""
    law = binom(count, rate)
    return bool((law.sf(times - 1) if above else law.cdf(times)) < LEVEL)


def low_coverage(found: dict[str, Any]) -> str:
    """Say which coverages are significantly below 0.85."""
    low, total = [], 0
    for name, one in found.items():
        for what in (*TARGETS, *CEILINGS) if "unrelated" not in name else ():
            covered, count = hits(one, what), len(one["rows"])
            total += 1
            if exceeds(covered, count, 0.85, above=False):
                low.append(f"{what} of {name} ({covered} of {count})")
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
        for what, times in (("a model at the margin", false), ("equal models", size)):
            if exceeds(times, len(rows), LEVEL, above=True):
                out.append(f"{name}: {what}, {times} of {len(rows)}, significantly above 5 %.")
        added = rows[PLANNED:]
        if added:
            again = sum(row["equal"][0] <= LEVEL for row in added)
            out.append(
                f"{len(added)} simulations of this setting were added because the share of equal "
                f"models that differ was high in the first {PLANNED}; of those added, {again}."
            )
    more = found["20 brains, over brains"]["rows"]
    close = sum(row["close"][MORE] <= LEVEL for row in more)
    out.append(f"One more brain with 20 brains: {close} of {len(more)}.")
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=list(DESIGNS), default="final")
    parser.add_argument("--simulations", type=int, default=PLANNED)
    parser.add_argument("--minutes", type=float, default=np.inf)
    parser.add_argument("--print", action="store_true", help="print the tables only")
    given = parser.parse_args()
    if not given.print:
        run(given.set, given.simulations, given.minutes)
    found = json.loads((RESULTS / f"models_{given.set}.json").read_text())
    for name, lines in tables(found).items():
        print("\n".join(lines), end="\n\n")
        if given.set == "final":
            markers.write(PAGE, name, lines)


if __name__ == "__main__":
    main()
