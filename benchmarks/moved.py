"""List the saved results that differ by more than 20 % from those of an earlier commit.

    python -m benchmarks.moved --since 4232772b   # the commit of release 0.2

Numbers are compared where a result of both has the same names and positions, and counted by their
innermost name. The release notes say why they moved.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.markers import markdown
from benchmarks.stamps import RESULTS, ROOT

MOVED = 0.2  # of the larger of the two numbers


class Change(NamedTuple):
    """How the numbers of one name differ between two saves of a result."""

    name: str
    n_compared: int
    n_moved: int
    ratio: float  # median of new / old among those that moved


def numbers(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield all numbers inside dicts and lists, each with its place.

    Rows are known by the words in them, so that added rows move no others.

    >>> list(numbers({"rows": [{"family": "V1", "seconds": 2}]}))
    [(('rows', 'row V1', 'seconds'), 2.0)]
    """
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from numbers(inner, (*place, str(name)))
    elif isinstance(value, list):
        for row, inner in zip(_row_names(value), value, strict=True):
            yield from numbers(inner, (*place, row))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place, float(value)


def _row_names(rows: list[Any]) -> list[str]:
    """Return the words in each row, or its number where these do not tell the rows apart."""
    words = [
        " ".join(["row", *(one for one in row.values() if isinstance(one, str))])
        if isinstance(row, dict)
        else ""
        for row in rows
    ]
    return words if len(set(words)) == len(rows) else [str(index) for index in range(len(rows))]


def _is_row(name: str) -> bool:
    return name.isdigit() or name.startswith("row")


def changes(old: Any, new: Any) -> list[Change]:
    """Return how the numbers of two results differ, by their innermost name."""
    before = dict(numbers(old))
    pairs: dict[str, list[tuple[float, float]]] = {}
    for place, value in numbers(new):
        if place in before:
            name = next((one for one in reversed(place) if not _is_row(one)), "numbers")
            pairs.setdefault(name, []).append((before[place], value))
    found = []
    for name, values in pairs.items():
        moved = [(a, b) for a, b in values if abs(b - a) > MOVED * max(abs(a), abs(b))]
        if moved:
            ratios = [b / a for a, b in moved if a != 0] or [float("inf")]
            found.append(Change(name, len(values), len(moved), median(ratios)))
    return found


def saved_then(path: Path, commit: str) -> Any:
    """Return a result as a commit has it, or None."""
    place = f"{commit}:{path.relative_to(ROOT).as_posix()}"
    shown = subprocess.run(["git", "show", place], cwd=ROOT, capture_output=True, text=True)
    return json.loads(shown.stdout) if shown.returncode == 0 else None


def main() -> None:
    """Print a table of what moved."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since", required=True, help="a commit or tag")
    options = parser.parse_args()
    rows, fresh = [], []
    for path in sorted(RESULTS.glob("*.json")):
        old = saved_then(path, options.since)
        if old is None:
            fresh.append(path.stem)
            continue
        new = json.loads(path.read_text(encoding="utf-8"))
        rows += [
            [path.stem, one.name, f"{one.n_moved} of {one.n_compared}", f"{one.ratio:.3g}"]
            for one in changes(old, new)
        ]
    print("\n".join(markdown(["result", "number", "moved", "median of new / old"], rows)))
    print(f"\nNot saved at {options.since}: {', '.join(fresh) or 'none'}.")


if __name__ == "__main__":
    main()
