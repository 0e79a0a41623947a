"""What the measurement of a figure returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from repshape.demo.findings import Finding

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class FigureResult:
    """The numbers behind a figure, and the paper's claims about it.

    Attributes
    ----------
    title : str
        Which figure of the paper.
    caption : str
        What the figure shows.
    claims : tuple of Finding
        What the paper says about the figure, each with the numbers that decide whether it holds.
    numbers : dict
        Everything else that was measured, ready for JSON.
    arrays : mapping of str to ndarray
        What is needed to draw the figure.
    note : str
        A remark about the verdicts, if one is needed.
    """

    title: str
    caption: str
    claims: tuple[Finding, ...]
    numbers: dict[str, Any]
    arrays: Arrays
    note: str = ""

    def summary(self) -> dict[str, Any]:
        """Return everything but the arrays, ready for JSON."""
        return {
            "title": self.title,
            "caption": self.caption,
            "claims": [claim.summary() for claim in self.claims],
            "numbers": self.numbers,
            "note": self.note,
        }
