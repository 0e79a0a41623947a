"""The drawn answer to "Which metric?": ``python -m docs_tools.decision_tree`` writes an SVG.

Questions are on the left, one below the other; each answer leads to a call on the right.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

PATH = Path(__file__).parents[1] / "docs" / "images" / "which-metric.svg"
WIDTH, ROW, TOP = 780, 78, 16
QUESTION_WIDTH, CALL_X, BOX = 320, 425, 50
STYLE = """
rect { fill: #e8eaf6; stroke: #3f51b5; rx: 6px; } .call rect { fill: #fff3e0; stroke: #e64a19; }
text { font: 14px system-ui, sans-serif; fill: #1a1c22; }
.call text { font: 12.5px ui-monospace, monospace; }
path { stroke: #7a7f8c; stroke-width: 1.5; fill: none; } .answer { fill: #6b7080; font-size: 13px; }
"""


@dataclass(frozen=True)
class Step:
    """A question, the answer that ends the search, and the metric that it leads to."""

    question: str
    answer: str
    call: str


STEPS = (
    Step("Are trials sequences in time?", "yes", "rs.ProcessShapeMetric()"),
    Step("Are responses maps of a convolution?", "yes", "rs.ConvShapeMetric(shifts=True)"),
    Step("Is there one response per condition?", "yes", "rs.ProcrustesShapeMetric()"),
    Step(
        "Do heavy tails or several modes matter?",
        "yes",
        "rs.EnergyShapeMetric(), rs.repair",
    ),
    Step("Do both networks have the same neurons?", "yes", 'GaussianShapeMetric(group="identity")'),
    Step(
        "Do single neurons have a meaning?",
        "yes",
        'GaussianShapeMetric(group="permutation")',
    ),
    Step(
        "Should only noise count, or only means?",
        "noise: 0, means: 2",
        "GaussianShapeMetric(alpha=...)",
    ),
    Step("Otherwise", "", "rs.GaussianShapeMetric()"),
)


def box(x: float, y: float, width: float, text: str) -> str:
    """Return a rounded rectangle with text in its middle."""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{BOX}"/>'
        f'<text x="{x + width / 2}" y="{y + BOX / 2 + 5}" text-anchor="middle">'
        f"{escape(text)}</text>"
    )


def draw() -> str:
    """Return the tree."""
    parts = []
    for k, step in enumerate(STEPS):
        y = TOP + k * ROW
        middle = y + BOX / 2
        parts.append(box(16, y, QUESTION_WIDTH, step.question))
        parts.append(f'<path d="M{16 + QUESTION_WIDTH} {middle} H{CALL_X}"/>')
        parts.append(f'<g class="call">{box(CALL_X, y, WIDTH - CALL_X - 16, step.call)}</g>')
        x = (16 + QUESTION_WIDTH + CALL_X) / 2
        for line, words in enumerate(reversed(step.answer.split(", "))):
            at = middle - 6 - 15 * line
            parts.append(
                f'<text class="answer" x="{x}" y="{at}" text-anchor="middle">{words}</text>'
            )
        if k + 1 < len(STEPS):
            parts.append(f'<path d="M166 {y + BOX} V{y + ROW}"/>')
            parts.append(f'<text class="answer" x="174" y="{y + BOX + 19}">no</text>')
    height = TOP + len(STEPS) * ROW
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-label="Questions that lead to a metric">'
    )
    background = f'<path d="M0 0 H{WIDTH} V{height} H0 Z" style="fill:#fff;stroke:none"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", background, *parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    PATH.write_text(draw(), encoding="utf-8")
