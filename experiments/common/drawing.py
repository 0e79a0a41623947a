"""Draw the figures of a study from its stored results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

import repshape as rs
from experiments.common import files
from experiments.common.results import Arrays

# Dates would make equal figures differ. Versions tell whether two figures can be compared.
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 200, "metadata": {"Software": f"Matplotlib {matplotlib.__version__}"}},
    "pdf": {"dpi": 300, "metadata": {"CreationDate": None}},
}
REPORT = "report.html"


@dataclass(frozen=True)
class Picture:
    """A figure: its title, how it is drawn, and the entry of the results that it needs."""

    title: str
    draw: Callable[[Mapping[str, Any], Arrays], Figure]
    needs: str


@dataclass(frozen=True)
class Pictures:
    """All figures of a study, by the names of their files."""

    known: Mapping[str, Picture]

    def drawable(self, numbers: Mapping[str, Any]) -> list[str]:
        """Return the names of the figures that the results allow."""
        return [name for name, one in self.known.items() if numbers["numbers"].get(one.needs)]

    def draw_one(
        self,
        name: str,
        numbers: Mapping[str, Any],
        arrays: Arrays,
        out: Path,
        formats: tuple[str, ...],
    ) -> None:
        """Draw one figure and write it in several formats."""
        with rs.plots.style():
            figure = self.known[name].draw(numbers, arrays)
            for suffix in formats:
                with files.write_whole(out / f"{name}.{suffix}") as handle:
                    figure.savefig(handle, format=suffix, **FORMATS[suffix])

    def draw_all(
        self,
        numbers: Mapping[str, Any],
        arrays: Arrays,
        out: Path,
        on_start: Callable[[int, int], None],
        write_report: Callable[[Path], None] | None,
    ) -> Iterator[dict[str, Any]]:
        """Draw what the stored results allow, then write the report; yield the name of each."""
        chosen = self.drawable(numbers)
        on_start(0, len(chosen) + 1)
        out.mkdir(parents=True, exist_ok=True)
        for name in chosen:
            self.draw_one(name, numbers, arrays, out, tuple(FORMATS))
            yield {"name": name}
        if write_report is not None:
            write_report(out / REPORT)
        yield {"name": REPORT}
