"""What every figure function returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from repshape.datasets import Finding


@dataclass(frozen=True, eq=False)
class FigureResult:
    """A picture with its numbers, and the paper's claims about it.

    Attributes
    ----------
    name : str
        File name and the word for ``--only``.
    title : str
        Which figure of the paper.
    caption : str
        What is shown, in our words.
    figure : matplotlib.figure.Figure
    claims : tuple of Finding
        What the paper says of this figure, each with the numbers that decide.
    numbers : dict
        Everything else that was measured, ready for JSON.
    note : str
        What a reader should know about the verdicts, if anything.
    """

    name: str
    title: str
    caption: str
    figure: Figure
    claims: tuple[Finding, ...]
    numbers: dict[str, Any]
    note: str = ""

    def summary(self) -> dict[str, Any]:
        """Return all but the picture, ready for JSON."""
        return {
            "title": self.title,
            "caption": self.caption,
            "claims": [claim.summary() for claim in self.claims],
            "numbers": self.numbers,
            "note": self.note,
        }
