"""Facts that several pages state: docs/facts.toml has each once, and pages name it as {{ key }}.

``python -m docs_tools.facts`` fills in the README. Every fact has a function here that derives its
text from the results it comes from, so that a page cannot say what was not measured.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FACTS = ROOT / "docs" / "facts.toml"
README, TEMPLATE = ROOT / "README.md", ROOT / "docs_tools" / "README.template.md"
NAME = re.compile(r"\{\{ (\w+) \}\}")
CORES = 2  # of the machines that the pages speak of


@dataclass(frozen=True)
class Fact:
    """What pages say, the file that it follows from, and what pages must not type by hand."""

    text: str
    source: str
    pattern: str


def read_facts(path: Path = FACTS) -> dict[str, Fact]:
    """Return the facts by name."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: Fact(**entry) for name, entry in found.items()}


def fill(markdown: str) -> str:
    """Return a page with the facts in place of their names; an unknown name raises a KeyError."""
    if NAME.search(markdown) is None:
        return markdown
    facts = read_facts()
    return NAME.sub(lambda found: facts[found[1]].text, markdown)


def read_source(path: str) -> Any:
    """Return the contents of a TOML or JSON file of the repository."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return tomllib.loads(text) if path.endswith(".toml") else json.loads(text)


def rounded(value: float, digits: int = 2) -> str:
    """Return a number with few significant digits and without an exponent.

    >>> [rounded(one) for one in (7086.2, 133.4, 0.0127, 3.72)]
    ['7100', '130', '0.013', '3.7']
    """
    number = float(f"{value:.{digits}g}")
    return f"{number:.0f}" if number >= 10 else f"{number:g}"


def requirements(project: Any) -> str:
    """Derive what an installation from source needs."""
    lowest = project["project"]["requires-python"].removeprefix(">=")
    return f"Python {lowest} or newer and a C++17 compiler"


def vae_hours(prices: Any) -> str:
    """Derive the time of the paper's 1800 VAEs, over the alphas that need a search."""
    rows = [r for r in prices["rows"] if r["job"] == "VAEs, 2048 images" and r["alpha"] < 2]
    pairs = [r["networks"] * (r["networks"] - 1) / 2 for r in rows]
    hours = [n * r["pair_s"] / CORES / 3600 for n, r in zip(pairs, rows, strict=True)]
    return f"{min(hours):.0f} to {max(hours):.0f} hours on two cores"


def times_faster(solver: Any, column: str = "ratio_netrep") -> str:
    """Derive the range of ratios to the time of netrep."""
    ratios = [row[column] for row in solver["pairs"]]
    return f"{rounded(min(ratios))} to {rounded(max(ratios))} times faster"


def pair_seconds(solver: Any) -> str:
    """Derive the times of a pair with the default search, by the number of neurons."""
    times: dict[int, list[float]] = {}
    for row in solver["pairs"]:
        n = int(re.search(r"n=(\d+)", row["workload"])[1])  # type: ignore[index]
        times.setdefault(n, []).append(row["auto_s"])
    sizes = sorted(times)
    few = sum(times[sizes[0]]) / len(times[sizes[0]])
    others = [1e3 * one for n in sizes[1:] for one in times[n]]
    return (
        f"{rounded(1e3 * few, 1)} ms with {sizes[0]} neurons, {rounded(min(others), 1)} to "
        f"{rounded(max(others))} ms with {sizes[1]} to {sizes[-1]}"
    )


def energy_pair_seconds(energy: Any) -> str:
    """Derive the times of a pair of the energy metric with the default search."""
    times = [1e3 * energy[kind]["ours, auto"]["seconds"] for kind in ("white", "structured")]
    conditions, trials, neurons = energy["shape"]
    size = f"{conditions} conditions, {trials} trials, {neurons} neurons"
    return f"{rounded(min(times))} to {rounded(max(times))} ms ({size})"


def netrep_alpha(netrep: Any) -> str:
    """Derive how much larger netrep's distances are at alpha = 0.25."""
    (row,) = [row for row in netrep["alpha"] if row["alpha"] == 0.25]
    return (
        f"{row['same_mean']:.1f} % larger on average than ours from the same start, and "
        f"{row['same_max']:.1f} % larger in the worst case"
    )


def netrep_means(netrep: Any) -> str:
    """Derive how much larger netrep's distances are than those of our default at alpha = 0."""
    (row,) = [row for row in netrep["alpha"] if row["alpha"] == 0]
    return f"{row['default_mean']:.1f} % larger on average"


DERIVED: dict[str, Callable[[Any], str]] = {
    "version": lambda project: str(project["project"]["version"]),
    "requirements": requirements,
    "vae_hours": vae_hours,
    "random_vae_hours": lambda scale: f"{scale['vae_1800']['hours_on_two_cores']:.1f} hours",
    "toy_seconds": lambda scale: f"{scale['toy']['seconds']:.1f} s",
    "vae_300_seconds": lambda scale: f"{scale['vae']['seconds']:.0f} s",
    "times_faster": times_faster,
    "times_faster_default": lambda solver: times_faster(solver, "ratio_netrep_auto"),
    "pair_seconds": pair_seconds,
    "energy_pair_seconds": energy_pair_seconds,
    "netrep_alpha": netrep_alpha,
    "netrep_means": netrep_means,
}


def derive(name: str) -> str:
    """Return the text that the saved results give a fact."""
    return DERIVED[name](read_source(read_facts()[name].source))


def outdated() -> dict[str, str]:
    """Return the facts whose text is not what their source gives, with what it should be."""
    found = {name: derive(name) for name in DERIVED}
    return {name: text for name, text in found.items() if text != read_facts()[name].text}


if __name__ == "__main__":
    for name, text in outdated().items():
        raise SystemExit(f"docs/facts.toml: the text of {name!r} must be {text!r}.")
    README.write_text(fill(TEMPLATE.read_text(encoding="utf-8")), encoding="utf-8")
