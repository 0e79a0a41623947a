"""Tables of docs/evidence/scale.md that are made from several saved results."""

from __future__ import annotations

from typing import Any

from benchmarks.markers import markdown, number, table
from benchmarks.stamps import load

LAW = {"gaussian": ("M", "n"), "energy": ("M", "L", "n")}
WORK = {"seconds_a_gradient": "one gradient", "seconds_a_pair": "one pair"}


def exponents() -> list[str]:
    """Return the table of exponents: those of n >= 20, and those of all sizes in brackets."""
    rows = [["the paper, one iteration", "1", "", "3", ""]]
    for family, found in load("scale")["exponents"].items():
        if family not in LAW:
            continue
        for key, words in WORK.items():
            fits = [found["fits"][name][key] for name in ("n >= 20", "all")]
            powers = [dict(zip(found["sizes"], fit["exponents"], strict=True)) for fit in fits]
            cells = [
                f"{powers[0][size]:.2f} ({powers[1][size]:.2f})" if size in powers[0] else ""
                for size in ("M", "L", "n")
            ]
            name = f"{family.capitalize() if family == 'gaussian' else family}, {words}"
            rows.append([name, *cells, f"{fits[0]['largest_factor']:.2f}"])
    return markdown(["", "exponent of M", "of L", "of n", "factor"], rows)


def estimates() -> list[str]:
    """Return the table of estimated and measured costs."""
    rows = []
    runs = {k: v for k, v in load("scale")["estimates"].items() if "estimated" in v}
    for name, found in runs.items():
        times = [found[kind]["cpu_seconds"] for kind in ("estimated", "measured")]
        factors = [f"{found['factors'][key]:.2f}" for key in ("cpu_seconds", "memory", "disk")]
        rows.append([name, ", ".join(f"{one:.0f} s" for one in times), *factors])
    head = ["run", "processor time, estimated and measured", "ratio"]
    return markdown([*head, "ratio of peak memory", "ratio of disk"], rows)


def reports() -> list[str]:
    """Return the table of pages with many networks."""
    columns = {
        "networks": "networks",
        "make_s": "to make, s",
        "MB": "file, MB",
        "open_ms": "to open, s",
        "switch_ms": "to switch matrix, s",
        "sort_ms": "to sort, s",
        "select_ms": "to select, s",
    }
    rows: list[dict[str, Any]] = [
        row | {key: f"{row[key] / 1e3:.2f}" for key in columns if key.endswith("_ms")}
        for row in load("report")["rows"]
    ]
    return table(rows, columns).split("\n")


def one_report() -> list[str]:
    """Return what was measured about the page of one large matrix, as a sentence."""
    found = load("report")["one_matrix"]
    times = [number(found[key] / 1e3, 2) for key in ("open_ms", "open_worst_ms")]
    return [
        f"The file has {found['MB']:.2f} MB. It opens in {times[0]} s (median of five, the slowest "
        f"{times[1]} s)."
    ]


def tables() -> dict[str, list[str]]:
    """Return the tables, by their markers."""
    return {
        "exponents": exponents(),
        "estimates": estimates(),
        "reports": reports(),
        "one report": one_report(),
    }
