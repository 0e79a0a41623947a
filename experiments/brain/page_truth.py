"""The part of a page that compares a simulated cohort with the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.brain.truth import UNBOUNDED
from experiments.common.pages import table_text

# What 90 % intervals and corrected distances of simulated cohorts should reach.
COVERED, LARGEST_BIAS = (0.80, 0.97), 1 / 3
ESTIMATES = ("plug-in", "protocol", "corrected")


def truth_text(results: Mapping[str, Any]) -> str:
    """Return all tables about a simulated cohort: claims, distances, and other cohorts."""
    known = _truth(results["truth"]) + _coverage(results.get("coverage"))
    return f"{_scored(results.get('scored', ()))}\n{known}"


def _scored(found: Sequence[Mapping[str, Any]]) -> str:
    """Return whether claims are true in the simulation, and were decided rightly."""
    if not found:
        return ""
    answers = {True: "yes", False: "**no**", None: "not decided"}
    rows = []
    for claim in found:
        numbers = [f"{one['name']}: {_true_number(one)}" for one in claim["criteria"]]
        truth, right = claim["truth"], answers[claim["right"]]
        rows.append([claim["name"], "<br>".join(numbers), truth, claim["verdict"], right])
    inside = [one["covered"] for claim in found for one in claim["criteria"]]
    known = [one for one in inside if one is not None]
    decided = [claim["right"] for claim in found if claim["right"] is not None]
    words = (
        f"Of {len(found)} claims, {len(decided)} were decided, {sum(decided)} of them correctly. "
        f"Of {len(known)} intervals, {sum(known)} contain the true value. The true value of a "
        "statistic is its mean over other simulated cohorts of the same size, from exact moments; "
        "for Supplementary Figure 6, it is from the exact moments of the same pair of animals. The "
        "plug-in distances of the protocol are biased, so intervals of statistics that use them "
        "need not contain the truth."
    )
    headings = ["claim", "true values", "claim is", "verdict", "correct"]
    return f"{words}\n\n{table_text(headings, rows)}\n"


def _true_number(one: Mapping[str, Any]) -> str:
    if one["true"] is None:
        return "not known"
    if abs(one["true"]) >= UNBOUNDED:
        return "differs" if one["true"] > 0 else "does not differ"
    return f"{one['true']:.2f}" + (" (not in the interval)" if one["covered"] is False else "")


def _truth(found: Mapping[str, Any]) -> str:
    rows = []
    for key, one in found.items():
        for alpha, numbers in one["distances"].items():
            found_bias = numbers["bias"]
            bias = [f"{found_bias[kind]:+.0%}" for kind in ESTIMATES]
            part = abs(found_bias["corrected"] / found_bias["plug-in"])
            cells = [key, f"d_{alpha}", numbers["n_pairs"], *bias, f"{part:.2f}"]
            rows.append([*cells, f"{numbers['coverage']:.2f}"])
    headings = ["class", "distance", "pairs", *ESTIMATES, "corrected / plug-in", "coverage"]
    return (
        "Relative error of squared distances (median over pairs), and share of the 90 % intervals "
        f"that contain the truth (coverage):\n\n{table_text(headings, rows)}\n\n{_gammas(found)}"
    )


def _gammas(found: Mapping[str, Any]) -> str:
    names = list(next(iter(found.values()))["gamma"])
    rows = [[key, *(f"{one['gamma'][name]:.2f}" for name in names)] for key, one in found.items()]
    words = (
        "Shrinkage gamma, means over sessions. Split-half cross-validation finds the gamma that is "
        "best for half of the trials (*best, half*), which is larger than the gamma that is best "
        "for all of them (*best*)."
    )
    return f"{words}\n\n{table_text(['class', *names], rows)}\n\n"


def _coverage(found: Mapping[str, Any] | None) -> str:
    if not found:
        return ""
    rows = []
    for key, one in found["classes"].items():
        for what, numbers in one.items():
            if what == "gamma":
                continue
            error = f" ± {numbers['standard_error']:.2f}" if numbers["standard_error"] else ""
            bias = [numbers["bias, plug-in"], numbers["bias"]]
            cells = [key, what, numbers["intervals"], f"{numbers['coverage']:.2f}{error}"]
            rows.append([*cells, *(f"{one:+.1%}" for one in bias), *_reached(numbers)])
    headings = ["class", "estimate", "intervals", "coverage ± s.e.", "plug-in", "corrected"]
    headings += [f"coverage in {COVERED[0]:.2f}-{COVERED[1]:.2f}", "bias below a third"]
    return (
        f"Coverage and bias over {found['cohorts']} other simulated cohorts of four animals "
        "(`python -m experiments.brain.coverage`), with the standard error over cohorts and the "
        f"median relative error of squared distances:\n\n{table_text(headings, rows)}\n\n"
        + _gammas(found["classes"])
    )


def _reached(numbers: Mapping[str, Any]) -> list[str]:
    """Return whether coverage is in the range, and bias below a third of that of the plug-in."""
    covered = COVERED[0] <= numbers["coverage"] <= COVERED[1]
    small = abs(numbers["bias"]) < LARGEST_BIAS * abs(numbers["bias, plug-in"])
    return ["yes" if one else "no" for one in (covered, small)]
