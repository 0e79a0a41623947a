"""Pairs of realistic sizes with a planted alignment.

    python -m tests.fuzz.planted --cases 20000 --seed 1

Every pair passes the hard checks of the fuzzer: a transform of the group, the value of the plain
twin, a bound that is not above the best distance known, and the same bits in both orders. A search
may miss the best alignment, so that misses are counted, by family, with those that raised no
warning. The reference is the planted transform, climbed to its optimum, and for every 20th pair
also 100 restarts. Finished pairs are appended to a file, from which a repeated command continues.
With --until, no pair is begun after that time of the day.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are no part of the package

from benchmarks import evidence, stamps
from benchmarks.hostile import planted_table
from benchmarks.planted import ROUNDING, norm, read, verdict
from benchmarks.planted_pairs import ALPHAS, NOISE, Planted, integer, plant

import repshape as rs
from repshape.errors import SearchWarning

from . import twins
from .checks import WrongError, demand, sound
from .metrics import Case, agrees_with_twin, normalised, symmetric
from .networks import Net

RESULT = stamps.RESULTS / "fuzz_planted.json"
# Families and the structure of their responses; None stands for any of the benchmark's.
FAMILIES = {
    "near copies": None,
    "low rank": "low rank",
    "structured noise": "shared noise",
    "exact symmetries": "symmetric",
    "unequal weights": None,
}
GROUPS = ("orthogonal", "rotation", "permutation")
# What pairs are counted by, in words.
SETTINGS = {"family": "{}", "group": "{}", "alpha": "alpha {:g}", "noise": "noise {:.0%}"}
# How often both orders are compared, and 100 restarts are made: these take long.
EVERY_ORDER, EVERY_RESTART = 10, 20


def make(seed: int, number: int) -> tuple[str, Planted]:
    """Return one pair and its family; both depend on the seed and the number alone."""
    rng = np.random.default_rng([seed, number])
    family = list(FAMILIES)[number % len(FAMILIES)]
    n = round(10 * 6 ** float(rng.uniform()))  # larger networks are rarer, since they take longer
    shape = integer(rng, 2, 40), integer(rng, 2, 12), n
    settings = {
        name: values[integer(rng, 0, len(values) - 1)]
        for name, values in (("noise", NOISE), ("alpha", ALPHAS), ("group", GROUPS))
    }
    options = {}
    if family == "unequal weights":
        weights = rng.exponential(size=shape[0]) * (rng.random(shape[0]) < 0.8)
        weights[0] = 1.0
        options["weights"] = weights
    metric = rs.GaussianShapeMetric(settings["alpha"], group=settings["group"], **options)
    return family, plant(rng, shape, metric, settings, FAMILIES[family])


def as_net(x: np.ndarray) -> Net:
    """Return trials with the plain numbers that the twin needs."""
    return Net(x, list(x), x.mean(axis=1), plain=x)


def as_case(pair: Planted) -> Case:
    """Return a pair with its plain twin."""
    w = normalised(pair.metric.weights, len(pair.x))
    alpha = pair.metric.alpha

    def twin(x: Net, y: Net, T: np.ndarray, unit: float) -> float:
        means, noise = twins.gaussian_parts(twins.Pair(x, y, T, unit), w)
        return float(alpha * means + (2 - alpha) * noise)

    return Case(pair.metric, as_net(pair.x), as_net(pair.y), lambda n, _: as_net(pair.x), twin)


def run(seed: int, number: int) -> dict[str, Any]:
    """Search one pair by default; return whether it was missed, and what is wrong, if anything."""
    family, pair = make(seed, number)
    row: dict[str, Any] = {"case": number, "build": build(), "family": family, "failed": ""}
    row |= pair.settings
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", SearchWarning)
        found = pair.metric.align(pair.x, pair.y)
        row["warned"] = bool(caught)
    row |= verdict(pair, found.distance, restarts=number % EVERY_RESTART == 0)
    try:
        check(number, pair, found, min(row["distance"], row["climbed"]))
    except WrongError as error:
        row["failed"] = str(error)
    return row


def check(number: int, pair: Planted, found: Any, best: float) -> None:
    """Raise if an alignment is wrong, whichever optimum it is."""
    case = as_case(pair)
    sound(found, pair.metric.group, parts=True, padded=False)
    agrees_with_twin(case, found)
    margin = ROUNDING * norm(pair)
    demand(found.lower_bound <= best + margin, f"bound {found.lower_bound} above {best}")
    if number % EVERY_ORDER == 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            symmetric(None, case, found)  # type: ignore[arg-type]  # it draws nothing


def cells(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Count what was missed, by family, group, alpha and noise."""
    named: dict[str, list[dict[str, Any]]] = {"all": list(rows)}
    for key, words in SETTINGS.items():
        for value in sorted({row[key] for row in rows}):
            named[words.format(value)] = [row for row in rows if row[key] == value]
    if many := [row for row in rows if "restarts" in row]:
        named["compared with 100 restarts too"] = many
    return [counted(name, some) for name, some in named.items()]


def counted(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Count what was missed of some pairs."""
    missed = [row for row in rows if row["missed"]]
    return {
        "cell": name,
        "pairs": len(rows),
        "missed": len(missed),
        "missed_%": 100 * len(missed) / len(rows),
        "silent": sum(not row["warned"] for row in missed),
        "worst_%": max((float(row["excess_%"]) for row in missed), default=0.0),
        "warned_%": 100 * float(np.mean([row["warned"] for row in rows])),
    }


def build() -> str:
    """Return the hash of the code that is measured."""
    return stamps.sources()["search"]


def save(rows: Sequence[dict[str, Any]], seed: int) -> None:
    """Keep the counts with a stamp, and write them to the page."""
    failed = sum(bool(row["failed"]) for row in rows)
    kept = {"seed": seed, "pairs": len(rows), "failed": failed, "cells": cells(rows)}
    stamps.write(RESULT, kept)
    evidence.write("trust.md")


def clock(text: str) -> datetime:
    """Return a time of today."""
    hours, minutes = text.split(":")
    return datetime.now(UTC).replace(hour=int(hours), minute=int(minutes), second=0)


def main() -> int:
    """Run the cases that are asked for; return 1 if a hard check failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.planted", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="number of pairs in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=Path, help="file to write, one line a pair; continued")
    parser.add_argument("--save", action="store_true", help="write the table to docs/trust.md")
    parser.add_argument("--until", type=clock, help="when to stop today: HH:MM in UTC")
    options = parser.parse_args()
    path = options.rows or Path(f"planted-{options.seed}.jsonl")
    rows = read(path)
    if any(row["build"] != build() for row in rows):
        sys.exit(f"{path} belongs to another build.")
    done = {row["case"] for row in rows}
    with threadpool_limits(1), path.open("a", encoding="utf-8") as file:
        for number in range(options.cases):
            if options.until is not None and datetime.now(UTC) > options.until:
                break
            if number not in done:
                rows.append(run(options.seed, number))
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
    print("\n".join(planted_table(cells(rows))))
    if options.save:
        save(rows, options.seed)
    wrong = [row for row in rows if row["failed"]]
    for row in wrong:
        print(f"{row['case']}: {row['failed']}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
