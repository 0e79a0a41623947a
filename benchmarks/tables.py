"""The tables of docs/evidence/benchmarks.md, which ``benchmarks.evidence --write`` writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.markers import table as table
from benchmarks.stamps import load

Rows = list[dict[str, Any]]


def pairs() -> Rows:
    """Return the timed workloads, with times in ms."""
    times = ("one_start_s", "auto_s", "netrep_s", "alternation_s")
    return [row | {key: 1e3 * row[key] for key in times} for row in load("solver")["pairs"]]


def planted() -> Rows:
    """Return the rows of whole families, and of their noisiest copies."""
    return [row for row in load("planted_final")["cells"] if row["cell"] in ("all", "noise 0.3")]


def wide_layers() -> Rows:
    """Return the rows of the seed that had no part in choosing the search."""
    return [kept["row"] for kept in load("wide")["seed 2"].values() if "row" in kept]


# Each table: how to get its rows, and the headings of its columns.
TABLES: dict[str, tuple[Callable[[], Rows], dict[str, str]]] = {
    "pairs": (
        pairs,
        {
            "workload": "workload",
            "one_start_s": "repshape, ms",
            "netrep_s": "netrep, ms",
            "ratio_netrep": "ratio",
            "alternation_s": "plain alternation, ms",
            "ratio_alternation": "ratio",
            "excess_over_netrep": "worst excess over netrep",
        },
    ),
    "default": (
        pairs,
        {
            "workload": "workload",
            "auto_s": "repshape, ms",
            "ratio_netrep_auto": "ratio to netrep",
            "excess_over_netrep_auto": "worst excess over netrep",
        },
    ),
    "kernel": (
        lambda: load("solver")["kernel"],
        {
            "n": "n",
            "M": "M",
            "gflops": "GFLOP/s",
            "single_gflops": "float32 GFLOP/s",
            "dgemm_gflops": "dgemm GFLOP/s",
            "share": "share of dgemm",
        },
    ),
    "optimum": (
        lambda: load("optimum")["rows"],
        {
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
        },
    ),
    "all families": (
        lambda: load("optimum")["pooled"],
        {
            "alpha": "alpha",
            "pairs": "pairs",
            "mean_%": "mean excess %",
            "p99_%": "99th percentile %",
            "worst_%": "worst %",
            "holds": "within 0.02 % and 0.5 %",
        },
    ),
    "planted": (
        planted,
        {
            "family": "family",
            "cell": "copies",
            "pairs": "pairs",
            "missed_%": "missed %",
            "silent_%": "missed without a warning %",
            "warned_%": "warned %",
            "worst_%": "worst excess %",
            "ms": "ms a pair",
        },
    ),
    "doubt": (
        lambda: load("doubt")["rates"],
        {
            "search": "search",
            "pairs": "pairs",
            "missed": "missed",
            "caught_%": "of these doubted %",
            "flagged_%": "right ones doubted %",
        },
    ),
    "rules": (
        lambda: load("doubt")["curve"],
        {
            "hits at most": "doubtful if found by at most",
            "caught_%": "missed pairs doubted %",
            "flagged_%": "right ones doubted %",
        },
    ),
    "permutations": (
        lambda: load("known_optima")["larger"],
        {
            "family": "family",
            "n": "n",
            "alpha": "alpha",
            "pairs": "pairs",
            "mean_%": "mean excess %",
            "max_%": "worst %",
            "agreement": "agreement",
            "ms": "ms a pair",
        },
    ),
    "wide": (
        wide_layers,
        {
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
        },
    ),
    "memory": (
        lambda: load("resources")["memory"],
        {
            "M": "M",
            "n": "n",
            "inputs_MB": "inputs, MB",
            "added_MB": "added, MB",
            "peak_over_inputs": "peak / inputs",
        },
    ),
}


def resources() -> str:
    """Return what was measured about threads and many neurons, as a list."""
    found = load("resources")
    threads, wide = found["threads"], found["wide"]
    return (
        f"- Two pairs on two threads take {threads['ratio']:.2f} times as long as one pair on one "
        f"thread.\n- A pair of networks with {wide['responses']} responses of {wide['neurons']} "
        f"neurons takes {wide['seconds']:.1f} s."
    )


def tables() -> dict[str, str]:
    """Return every table, by its marker."""
    made = {name: table(rows(), columns) for name, (rows, columns) in TABLES.items()}
    return made | {"resources": resources()}
