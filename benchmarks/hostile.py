"""Tables of the page on hostile inputs and broken disks, from what its three commands have saved.

python -m tests.fuzz --cases 200000 --seed 12 --tally build/fuzz.json --save
python -m tests.fuzz.planted --cases 20000 --seed 2027 --rows build/planted.jsonl --save
python -m tests.stateful --shared 2000 --seed 5000 --tally build/two-writers.json --save
"""

from __future__ import annotations

from typing import Any

from benchmarks.markers import markdown
from benchmarks.stamps import RESULTS, load
from benchmarks.two_writers import KINDS, worlds_table

CASES, PLANTED, SHARED = "fuzz_cases", "fuzz_planted", "two_writers"
OUTCOMES = ("passed", "refused", "failed")
# Columns of the pairs with a planted alignment, and what they are in a saved cell.
COLUMNS = {
    "pairs": "pairs",
    "missed": "missed",
    "missed, %": "missed_%",
    "of these without a warning": "silent",
    "worst, %": "worst_%",
    "warned, %": "warned_%",
}


def cases_table(functions: dict[str, dict[str, int]]) -> list[str]:
    """Return how the cases of each function ended."""
    rows = [
        [name, *(counts.get(one, 0) for one in OUTCOMES)]
        for name, counts in sorted(functions.items())
    ]
    sums = [sum(counts.get(one, 0) for counts in functions.values()) for one in OUTCOMES]
    return markdown(["function", *OUTCOMES], [*rows, ["all", *sums]])


def planted_table(cells: list[dict[str, Any]]) -> list[str]:
    """Return how many planted alignments were missed, by family and setting."""
    rows = [[cell["cell"], *(shown(cell[key]) for key in COLUMNS.values())] for cell in cells]
    return markdown(["pairs of", *COLUMNS], rows)


def shown(value: float | int) -> str:
    """Return a count, or a percentage."""
    return str(value) if isinstance(value, int) else f"{value:.2f}"


def summary() -> list[str]:
    """Return what was tried, how often and what went wrong, for what has been saved."""
    rows = []
    if (RESULTS / f"{CASES}.json").exists():
        found = load(CASES)
        rows.append([
            "[hostile inputs](#inputs)", f"{found['cases']} calls", f"{found['failed']} failed",
            f"python -m tests.fuzz --cases {found['cases']} --seed {found['seed']}",
        ])  # fmt: skip
    found = load(PLANTED)
    every = found["cells"][0]
    rows.append([
        "[planted alignments](#planted-alignments)", f"{found['pairs']} pairs",
        f"{every['missed']} missed by more than 0.1 %, {every['silent']} of them without a "
        f"warning; {found['failed']} wrong",
        f"python -m tests.fuzz.planted --cases {found['pairs']} --seed {found['seed']}",
    ])  # fmt: skip
    if (RESULTS / f"{SHARED}.json").exists():
        found = load(SHARED)
        counts = found["counts"]
        killed = sum(counts.get(f"{kind} killed", 0) for kind in KINDS)
        rows.append([
            "[processes that share files](#cohorts-and-stores)",
            f"{counts['steps']} steps, {killed} of them killed", "nothing lost",
            f"python -m tests.stateful --shared {counts['steps']} --seed {found['seed']}",
        ])  # fmt: skip
    head = ["what was tried", "how much", "what went wrong", "command"]
    return markdown(head, [[*row[:-1], f"`{row[-1]}`"] for row in rows])


def tables() -> dict[str, list[str]]:
    """Return the tables of the page, by name."""
    made = {"summary": summary(), "planted": planted_table(load(PLANTED)["cells"])}
    if (RESULTS / f"{CASES}.json").exists():
        made["cases"] = cases_table(load(CASES)["functions"])
    if (RESULTS / f"{SHARED}.json").exists():
        made["two writers"] = worlds_table(load(SHARED)["counts"])
    return made
