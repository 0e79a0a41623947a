"""Write docs/evidence/benchmarks.md from the saved results.

python -m benchmarks.tables
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.stamps import RESULTS

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "benchmarks.md"


def load(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def table(rows: list[dict[str, Any]], columns: dict[str, str]) -> str:
    """Return a Markdown table; ``columns`` maps keys of the rows to headings."""
    lines = ["| " + " | ".join(columns.values()) + " |", "|" + "---|" * len(columns)]
    for row in rows:
        cells = [row.get(key, "") for key in columns]
        shown = (f"{c:.3g}" if isinstance(c, float) else str(c) for c in cells)
        lines.append("| " + " | ".join(shown) + " |")
    return "\n".join(lines)


def page() -> str:
    solver, optimum, resources = load("solver"), load("optimum"), load("resources")
    known, planted, doubt = load("known_optima"), load("planted_final"), load("doubt")
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
        "mean_%": "mean excess %",
        "worst_%": "worst %",
        "restarts_mean_%": "restarts, mean %",
        "other_mean_%": "0.2, mean %",
        "agreement": "agreement",
        "converged": "converged",
        "ms": "ms a pair",
        "times_one_start": "times one start",
        "faster": "times faster than 0.2",
    }
    together = {
        "alpha": "alpha",
        "pairs": "pairs",
        "mean_%": "mean excess %",
        "p99_%": "99th percentile %",
        "worst_%": "worst %",
        "holds": "within 0.02 % and 0.5 %",
    }
    permuted = {
        "family": "family",
        "n": "n",
        "alpha": "alpha",
        "pairs": "pairs",
        "mean_%": "mean excess %",
        "max_%": "worst %",
        "agreement": "agreement",
        "ms": "ms a pair",
    }
    threads, wide = resources["threads"], resources["wide"]
    layers = [kept["row"] for kept in load("wide")["seed 2"].values() if "row" in kept]
    width = {
        "n": "n",
        "M": "M",
        "passes": "passes",
        "alpha": "alpha",
        "unit_ms": "plain step, ms",
        "one_units": "one start",
        "other_one_units": "before",
        "one_excess": "excess",
        "default_units": "default",
        "other_default_units": "before",
        "default_excess": "excess",
        "one_s": "one start, s",
        "peak_over_inputs": "peak / inputs",
    }
    missed = {
        "family": "family",
        "cell": "copies",
        "pairs": "pairs",
        "missed_%": "missed %",
        "silent_%": "missed without a warning %",
        "warned_%": "warned %",
        "worst_%": "worst excess %",
        "ms": "ms a pair",
    }
    noisy = [row for row in planted["cells"] if row["cell"] in ("all", "noise 0.3")]
    rates = {
        "search": "search",
        "pairs": "pairs",
        "missed": "missed",
        "caught_%": "of these doubted %",
        "flagged_%": "right ones doubted %",
    }
    rules = {
        "hits at most": "doubtful if found by at most",
        "caught_%": "missed pairs doubted %",
        "flagged_%": "right ones doubted %",
    }
    memory = {
        "M": "M",
        "n": "n",
        "inputs_MB": "inputs, MB",
        "added_MB": "added, MB",
        "peak_over_inputs": "peak / inputs",
    }
    return f"""# Speed and accuracy of the solver

`python -m benchmarks.tables` wrote this page from the results that the commands below saved. All
times are medians on one core with one BLAS thread, and all methods are timed in the same run.
`netrep` is the public reference implementation (set `NETREP_PATH` to a checkout of it); plain
alternation is our own textbook implementation.

## One pair

`python -m benchmarks.solver`: time from moments to distance at alpha = 1, with one start in each
method. The smallest networks are timed as a cohort, in which each network is prepared once for all
of its pairs. The excess is our distance divided by that of netrep, minus 1; values below 1e-6 mean
that our distance is never larger.

{table(solver["pairs"], speed)}

The default settings, which explore until independent starts agree:

{table(solver["pairs"], default)}

## The kernel

`python -m benchmarks.solver`: floating-point operations per second of the gradient, compared with
`dgemm` on the same core. Only operations that are carried out are counted; from n = 12 on, factors
are triangular, and products with them count half.

{table(solver["kernel"], kernel)}

## The optimum

`python -m benchmarks.optimum --seed 7 --pairs 12 --large 2 --other PYTHON`: excess of the default's
distance over the best known, which is the smallest of the default with two seeds, 100 random
restarts (20 for layers), and release 0.2 (PYTHON: an interpreter with it). Times are processor
times of a pair that is prepared. `benchmarks/search_families.py` makes the pairs. This seed had no
part in choosing the search; the generators of all families but the last six did.

{table(optimum["rows"], quality)}

All families together:

{table(optimum["pooled"], together)}

Networks in which a third of the conditions have no noise and another third little (partly
noiseless) are the hard case: few of 96 starts agree, and 200 restarts do no better.
`Alignment.agreement` shows this, and most of these pairs come with a `SearchWarning`.

## Planted alignments

`python -m benchmarks.planted --set final`: copies with noise of 0, 1, 3, 10 and 30 % of the
standard deviation, moved by a random transform and compared by `rs.pairwise`. A pair is missed if
its distance is more than 0.1 % above that of the planted transform, climbed to its optimum, or, for
every tenth pair, above that of 100 restarts. These pairs had no part in choosing the search.

{table(noisy, missed)}

## Doubt

`python -m benchmarks.doubt --pairs 30 --seed 11`: how many missed pairs are doubted, and how many
right ones. The default misses hardly any, so misses were provoked by searches from 8, 16 and 32
starts without moves. The rule in use doubts optima that at most two starts found; the second table
shows the rates of other rules, over all searches.

{table(doubt["rates"], rates)}

{table(doubt["curve"], rules)}

## Permutations of more than eight neurons

`python -m benchmarks.known_optima larger --share 0.2`: excess of the default over the best of
twelve runs with different seeds, 20 conditions. Up to eight neurons, permutations are exact. At
alpha = 0, no two starts agree on the best permutation of unrelated networks, and a longer search
finds a shorter distance; `Alignment.agreement` shows this.

{table(known["larger"], permuted)}

## Wide layers

`python -m benchmarks.wide --other PYTHON`: synthetic layers of n rectified units that share M
inputs. Times of a search are in units of one step of plain alternation in NumPy (a gradient on thin
factors, and a singular value decomposition). *Before* is release 0.2, which PYTHON runs. The excess
is the distance divided by that of the earlier search, minus 1. Between covariances alone (alpha =
0), single starts end in different optima, which differ by some 0.1 %. One pair for each row
(`--seed 2`), which had no part in choosing the ascent.

{table(layers, width)}

## Threads, memory, width

`python -m benchmarks.resources`

- Two pairs on two threads take {threads["ratio"]:.2f} times as long as one pair on one thread.
- A pair of networks with {wide["responses"]} responses of {wide["neurons"]} neurons takes
  {wide["seconds"]:.1f} s.

{table(resources["memory"], memory)}

<!-- builds -->
"""


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE}")
