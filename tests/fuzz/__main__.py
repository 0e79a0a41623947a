"""Run hostile cases: ``python -m tests.fuzz --cases 1000 --seed 1``."""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are no part of the package

from benchmarks import evidence, stamps

from .guard import limit_memory
from .runner import SUBJECTS, Outcome, Tally, run_case, run_range

# Cases between two states of the tally on disk; each chunk runs in a process of its own.
CHUNK = 1000
CONTEXT = multiprocessing.get_context("fork")
RESULT = stamps.RESULTS / "fuzz_cases.json"
KEPT = ("seed", "cases", "failed", "cpu_seconds", "functions", "failures")  # of a tally
# The code that the cases try.
SUBJECTS_TRIED = ("search", "matrices", "analysis", "inference", "baselines")


def identity() -> str:
    """Return a digest of the fuzzer itself: other cases must not be added to its tally."""
    state = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.name != "__main__.py":
            state.update(path.read_bytes())
    return state.hexdigest()[:16]


VERSION = identity()  # of the code that runs, even if its files change meanwhile


def build() -> dict[str, str]:
    """Return the hashes of the code that the cases try."""
    return {name: stamps.sources()[name] for name in SUBJECTS_TRIED}


def load(path: Path | None, seed: int, function: str | None) -> tuple[Tally, int, float]:
    """Return the tally so far, the next case, and the seconds of CPU time spent."""
    if path is None or not path.exists():
        return Tally(), 0, 0.0
    kept: dict[str, Any] = json.loads(path.read_text())
    if (kept["seed"], kept["function"], kept["fuzzer"]) != (seed, function, VERSION):
        sys.exit(f"{path} belongs to another seed, function or version of the fuzzer.")
    if kept["build"] != build():
        sys.exit(f"{path} belongs to another build.")
    functions = {name: Counter(counts) for name, counts in kept["functions"].items()}
    tally = Tally(functions, Counter(kept["warnings"]), kept["failures"])
    return tally, int(kept["next"]), float(kept["cpu_seconds"])


def save(
    path: Path, tally: Tally, seed: int, function: str | None, following: int, seconds: float
) -> None:
    """Replace the file of the tally."""
    kept = {
        "seed": seed,
        "function": function,
        "fuzzer": VERSION,
        "build": build(),
        "next": following,
        "cpu_seconds": round(seconds, 1),
        "cases": tally.n_cases,
        "failed": tally.n_failed,
        "functions": {name: dict(tally.functions[name]) for name in sorted(tally.functions)},
        "warnings": dict(tally.warnings),
        "failures": tally.failures,
    }
    part = path.with_suffix(".part")
    part.write_text(json.dumps(kept, indent=1) + "\n")
    os.replace(part, path)


def _in_child(
    pipe: Any, current: Any, seed: int, start: int, stop: int, function: str | None
) -> None:
    began = time.process_time()
    if function == "files":
        limit_memory()
    begin = partial(setattr, current, "value")
    tally = run_range(seed, start, stop, function, begin)
    pipe.send((tally, time.process_time() - began))


def run_chunk(seed: int, start: int, stop: int, function: str | None = None) -> tuple[Tally, float]:
    """Run cases in another process, so that even a crash or a killed hang is counted.

    If the process dies, the case that it was running has failed, and the others run again.
    """
    if start >= stop:
        return Tally(), 0.0
    receiver, sender = CONTEXT.Pipe(duplex=False)
    current = CONTEXT.Value("q", start)
    child = CONTEXT.Process(target=_in_child, args=(sender, current, seed, start, stop, function))
    child.start()
    sender.close()
    try:
        found: tuple[Tally, float] = receiver.recv()
        child.join()
        return found
    except EOFError:
        child.join()
    number = int(current.value)
    tally, seconds = run_chunk(seed, start, number, function)
    reason = f"the process died, code {child.exitcode}"
    tally.add(number, Outcome(function or "unknown", "failed", reason))
    rest = run_chunk(seed, number + 1, stop, function)
    tally.merge(rest[0])
    return tally, seconds + rest[1]


def show(console: Console, tally: Tally, seconds: float) -> None:
    """Print the tally and the first failures."""
    table = Table("function", "passed", "refused", "failed")
    for name, counts in sorted(tally.functions.items()):
        table.add_row(name, *(str(counts[one]) for one in ("passed", "refused", "failed")))
    console.print(table)
    console.print(f"{tally.n_cases} cases, {tally.n_failed} failed, {seconds:.0f} s of CPU time")
    for one in tally.failures[:20]:
        console.print(f"{one['number']} {one['function']}: {one['reason']}", soft_wrap=True)


def main() -> int:
    """Run the cases that are asked for; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="number of cases in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--function", choices=SUBJECTS, help="call this function alone")
    parser.add_argument("--only", type=int, help="run this case alone, and print what it does")
    parser.add_argument("--tally", type=Path, help="JSON file to write and to continue from")
    parser.add_argument("--save", action="store_true", help="write the tally to docs/trust.md")
    options = parser.parse_args()
    if options.save and (options.function or options.tally is None):
        parser.error("--save needs the tally of all functions")
    console = Console()
    if options.only is not None:
        outcome = run_case(options.seed, options.only, function=options.function, describe=True)
        console.print(f"{outcome.function}: {outcome.result}. {outcome.reason}", soft_wrap=True)
        for words in outcome.words:
            console.print(f"  {words}", soft_wrap=True, markup=False)
        return int(outcome.result == "failed")
    tally, start, seconds = load(options.tally, options.seed, options.function)
    import_module("ot")  # here, not in every child: it takes seconds
    with Progress(console=console) as progress:
        task = progress.add_task("cases", total=options.cases, completed=start)
        while start < options.cases:
            stop = min(start + CHUNK, options.cases)
            found, spent = run_chunk(options.seed, start, stop, options.function)
            tally.merge(found)
            start, seconds = stop, seconds + spent
            if options.tally is not None:
                save(options.tally, tally, options.seed, options.function, start, seconds)
            progress.update(task, completed=start, description=f"{tally.n_failed} failed")
    show(console, tally, seconds)
    if options.save:
        kept = json.loads(options.tally.read_text())
        stamps.write(RESULT, {key: kept[key] for key in KEPT})
        evidence.write("trust.md")
    return int(tally.n_failed > 0)


if __name__ == "__main__":
    sys.exit(main())
