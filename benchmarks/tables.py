"""Write docs/evidence/benchmarks.md from the saved results, so that no number is copied by hand.

python -m benchmarks.tables
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.solver import RESULTS

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "benchmarks.md"


def load(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def table(rows: list[dict[str, Any]], columns: dict[str, str]) -> str:
    """Markdown table of the given keys under the given headings."""
    lines = ["| " + " | ".join(columns.values()) + " |", "|" + "---|" * len(columns)]
    for row in rows:
        cells = [row.get(key, "") for key in columns]
        shown = (f"{c:.3g}" if isinstance(c, float) else str(c) for c in cells)
        lines.append("| " + " | ".join(shown) + " |")
    return "\n".join(lines)


def page() -> str:
    solver, optimum, resources = load("solver"), load("optimum"), load("resources")
    speed = {
        "workload": "workload",
        "one_start_s": "repshape, s",
        "netrep_s": "netrep, s",
        "ratio_netrep": "ratio",
        "alternation_s": "plain alternation, s",
        "ratio_alternation": "ratio",
        "excess_over_netrep": "worst excess over netrep",
    }
    default = {
        "workload": "workload",
        "auto_s": "repshape, s",
        "ratio_netrep_auto": "ratio to netrep",
        "excess_over_netrep_auto": "worst excess over netrep",
    }
    kernel = {
        "n": "n",
        "M": "M",
        "gflops": "GFLOP/s",
        "single_gflops": "float32 GFLOP/s",
        "dgemm_gflops": "dgemm GFLOP/s",
        "share": "share of dgemm",
    }
    quality = {
        "family": "family",
        "alpha": "alpha",
        "pairs": "pairs",
        "one_start_max_%": "one start, worst %",
        "median_%": "default, median %",
        "p99_%": "99th percentile %",
        "share_of_time": "share of their time",
    }
    threads, wide = resources["threads"], resources["wide"]
    memory = {
        "M": "M",
        "n": "n",
        "inputs_MB": "inputs, MB",
        "added_MB": "added, MB",
        "peak_over_inputs": "peak / inputs",
    }
    return f"""# How fast, and how good

Every number on this page was written by `python -m benchmarks.tables` from results that the
commands beside it saved. One core, one BLAS thread, medians; rivals are timed in the same run.
`netrep` is the public reference code (`NETREP_PATH` names a checkout); plain alternation is our own
textbook version.

## One pair

`python -m benchmarks.solver`: alpha = 1, from moments to distance, one start on both sides. The
tiny networks are timed as a cohort, each prepared once for all of its pairs. Excess is our distance
over netrep's, less one: below 1e-6 means never worse.

{table(solver["pairs"], speed)}

The default, which races many starts:

{table(solver["pairs"], default)}

## The kernel

Floating-point operations of the gradient as they are done (from n = 12 on factors are triangular,
and products with them count half), against `dgemm` of this core (`python -m benchmarks.solver`).

{table(solver["kernel"], kernel)}

## The optimum

`python -m benchmarks.optimum --pairs 12`: excess of a distance over the best of 100 random
restarts, all finished. *Related* networks are rotated copies of one, each perturbed by half
(M = 60, n = 14); *nearly isotropic* ones are independent, with noise within 40 % of
isotropic and weak means (M = 60, n = 12).

{table(optimum, quality)}

Harder still are independent networks with covariances of rank one or two, as from two or three
trials: there the default is within a few percent of 100 restarts, and `n_starts=100` is worth its
time.

## Threads, memory, width

`python -m benchmarks.resources`

- Two pairs on two threads take {threads["ratio"]:.2f} times as long as one pair on one.
- {wide["responses"]} responses of {wide["neurons"]} neurons: {wide["seconds"]:.1f} s for a pair.

{table(resources["memory"], memory)}
"""


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE}")
