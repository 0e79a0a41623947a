"""The stateful test at length: ``python -m tests.stateful --steps 10000 --seed 0``."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are no part of the package

from benchmarks import evidence, stamps
from benchmarks.stamps import replace_text
from benchmarks.two_writers import RESULT

from repshape.errors import FewTrialsWarning, SearchWarning

from .checks import tally
from .machine import AnyMomentMachine
from .shared import run_world
from .writers import Schedule, run_schedule

# Rounds of two processes that share a world.
ROUNDS = 10
# Machines, and steps of each, between two writings of the tally.
MACHINES = 4
STEPS = 50


def main() -> None:
    """Run rounds of machines until this many steps are done; a tally is continued."""
    options = argparse.ArgumentParser(prog="python -m tests.stateful", description=main.__doc__)
    options.add_argument("--steps", type=int, default=10_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--tally", type=Path, default=None, help="JSON; continued if it exists")
    options.add_argument("--shrink", action="store_true", help="look for a shorter failure")
    options.add_argument("--writers", type=int, help="schedules of two runs at once, instead")
    options.add_argument("--shared", type=int, help="steps of two processes on one cohort")
    options.add_argument("--save", action="store_true", help="write its table to docs/trust.md")
    given = options.parse_args()
    warnings.simplefilter("error")
    for category in (SearchWarning, FewTrialsWarning):
        warnings.simplefilter("ignore", category)
    if given.writers:
        run_schedules(range(given.seed, given.seed + given.writers))
        return
    if given.shared:
        total = run_worlds(given.seed, given.shared, given.tally)
        if given.save:
            save_worlds(given.seed, total)
        return
    total = {"rounds": 0, "steps": 0, "cpu_seconds": 0.0}
    if given.tally is not None and given.tally.exists():
        total |= json.loads(given.tally.read_text())
    while total["steps"] < given.steps:
        tally.clear()
        start = time.process_time()
        run_round(given.seed + total["rounds"], shrink=given.shrink)
        tally.update({"rounds": 1, "cpu_seconds": round(time.process_time() - start, 1)})  # type: ignore[dict-item]
        total = {key: total.get(key, 0) + tally[key] for key in sorted(total.keys() | tally.keys())}
        print(json.dumps(total), flush=True)
        if given.tally is not None:
            given.tally.write_text(json.dumps(total, indent=2) + "\n")


def run_schedules(seeds: range) -> None:
    """Let two runs work on one store at once, in a schedule for each seed."""
    for number in seeds:
        outcomes = run_schedule(Schedule.of(number))
        print(number, *(outcome.end for outcome in outcomes), flush=True)
    print(json.dumps(dict(sorted(tally.items()))), flush=True)


def run_worlds(first: int, steps: int, path: Path | None) -> dict[str, Any]:
    """Let two processes share one cohort and one store, until the given number of steps is done."""
    total: dict[str, Any] = {"build": build(), "steps": 0, "worlds": 0}
    if path is not None and path.exists():
        total = json.loads(path.read_text())
        if total["build"] != build():
            sys.exit(f"{path} belongs to another build.")
    while total["steps"] < steps:
        tally.clear()
        run_world(first + total["worlds"], ROUNDS)
        total |= {key: total.get(key, 0) + count for key, count in tally.items()}
        print(json.dumps(total), flush=True)
        if path is not None:
            replace_text(path, json.dumps(total, indent=1) + "\n")
    return total


def build() -> dict[str, str]:
    """Return the hashes of the code that two processes run."""
    return {name: stamps.sources()[name] for name in ("search", "matrices", "files")}


def save_worlds(first: int, total: dict[str, Any]) -> None:
    """Keep the counts with a stamp, and write them to the page."""
    counts = {key: total[key] for key in sorted(total.keys() - {"build"})}
    stamps.write(RESULT, {"seed": first, "counts": counts})
    evidence.write("trust.md")


def run_round(number: int, *, shrink: bool = False) -> None:
    """Run a few machines with a seed of their own."""
    phases = [Phase.generate, *([Phase.shrink] if shrink else [])]
    rules = settings(
        max_examples=MACHINES,
        stateful_step_count=STEPS,
        phases=phases,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    run_state_machine_as_test(seed(number)(AnyMomentMachine), settings=rules)


if __name__ == "__main__":
    main()
