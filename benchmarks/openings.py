"""How pages of evidence open: one sentence and one picture, made from saved results.

The picture keeps a digest of the numbers that it shows, so that a test can tell whether it is
current without drawing it: SVG files of other versions of matplotlib differ.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stamps import ROOT
from repshape.plots import PALETTE

DOCS = ROOT / "docs"
IMAGES = DOCS / "images" / "evidence"
SIZE = (4.4, 2.8)  # inches: text stays readable when a phone shows the picture in its width
DIGITS = 16
NOTE = re.compile(r"numbers ([0-9a-f]+)")
GUIDE = "#9e9e9e"
LEGEND: dict[str, Any] = {"frameon": False, "loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
FONTS = "'DejaVu Sans', Verdana, sans-serif"  # text is drawn in what the reader has


@dataclass(frozen=True)
class Opening:
    """The first lines of a page.

    ``data`` returns the numbers, from saved results; ``say`` puts them into a sentence, ``draw``
    into axes, and ``alt`` says what the picture shows.
    """

    page: str
    data: Callable[[], Any]
    say: Callable[[Any], str]
    alt: str
    draw: Callable[[Any, Any], None]

    @property
    def picture(self) -> Path:
        """Return the path of the picture."""
        return IMAGES / f"{Path(self.page).stem}.svg"

    def digest(self) -> str:
        """Return a hash of the numbers that the picture shows."""
        text = json.dumps(self.data(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]

    def text(self) -> str:
        """Return sentence and picture in Markdown."""
        return (
            f"**{self.say(self.data())}**\n\n![{self.alt}](../images/evidence/{self.picture.name})"
        )

    def is_drawn(self) -> bool:
        """Return whether the picture shows the numbers that are saved."""
        if not self.picture.exists():
            return False
        found = NOTE.search(self.picture.read_text(encoding="utf-8"))
        return found is not None and found[1] == self.digest()

    def write_picture(self) -> None:
        """Draw the picture."""
        import matplotlib as mpl
        from matplotlib.figure import Figure

        from repshape.plots.style import dress, style

        with style(), mpl.rc_context({"svg.hashsalt": "repshape"}):
            figure = Figure(figsize=SIZE, layout="constrained")
            axes = figure.subplots()
            self.draw(axes, self.data())
            dress(axes)
            axes.spines[["top", "right"]].set_visible(False)
            IMAGES.mkdir(parents=True, exist_ok=True)
            note = {"Description": f"numbers {self.digest()}", "Date": None}
            figure.savefig(self.picture, metadata=note)
        text = self.picture.read_text(encoding="utf-8")
        text = re.sub(r"(font:[^;\"]*?px) [^;\"]*", rf"\1 {FONTS}", text)
        lines = (line.rstrip() for line in text.splitlines())
        self.picture.write_text("\n".join(lines) + "\n", encoding="utf-8")


def lines(axes: Any, x: Any, curves: dict[str, Any]) -> None:
    """Draw curves with points, and a legend beside them."""
    for (name, y), colour in zip(curves.items(), PALETTE, strict=False):
        axes.plot(x, np.array(y, dtype=float), "o-", color=colour, label=name)
    axes.legend(**LEGEND)


def dots(axes: Any, names: list[str], columns: dict[str, Any]) -> None:
    """Draw a row of points for each name, with the first name on top."""
    y = np.arange(len(names))[::-1]
    for (name, x), colour in zip(columns.items(), PALETTE, strict=False):
        axes.plot(np.array(x, dtype=float), y, "o", color=colour, label=name)
    axes.set_yticks(y, names)
    axes.grid(axis="y", color="#eeeeee", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(
        frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=3, columnspacing=1.2
    )
