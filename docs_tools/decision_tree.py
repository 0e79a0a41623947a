"""The drawn answer to "Which metric?": ``python -m docs_tools.decision_tree`` writes two SVGs.

Questions are one below the other; each answer leads to a call, which is on the right in the wide
drawing and below its question in the narrow one, for phones.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "docs" / "images"
PATH, NARROW_PATH = IMAGES / "which-metric.svg", IMAGES / "which-metric-narrow.svg"
WIDTH, ROW, TOP = 780, 78, 16
QUESTION_WIDTH, CALL_X, BOX = 320, 425, 50
NARROW_WIDTH, NARROW_ROW, NARROW_BOX, INDENT = 360, 128, 40, 44
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


def box(x: float, y: float, width: float, text: str, height: float = BOX) -> str:
    """Return a rounded rectangle with text in its middle."""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}"/>'
        f'<text x="{x + width / 2}" y="{y + height / 2 + 5}" text-anchor="middle">'
        f"{escape(text)}</text>"
    )


def answer(x: float, y: float, words: str, anchor: str = "start") -> str:
    """Return the label of a line."""
    return f'<text class="answer" x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>'


def wide_step(step: Step, y: float, *, last: bool) -> list[str]:
    """Return a question, the call on its right, and the way on."""
    middle = y + BOX / 2
    parts = [
        box(16, y, QUESTION_WIDTH, step.question),
        f'<path d="M{16 + QUESTION_WIDTH} {middle} H{CALL_X}"/>',
        f'<g class="call">{box(CALL_X, y, WIDTH - CALL_X - 16, step.call)}</g>',
    ]
    x = (16 + QUESTION_WIDTH + CALL_X) / 2
    for line, words in enumerate(reversed(step.answer.split(", "))):
        parts.append(answer(x, middle - 6 - 15 * line, words, "middle"))
    if not last:
        parts.append(f'<path d="M166 {y + BOX} V{y + ROW}"/>')
        parts.append(answer(174, y + BOX + 19, "no"))
    return parts


def narrow_step(step: Step, y: float, *, last: bool) -> list[str]:
    """Return a question, the call below it, and the way on, which passes on the left."""
    right, below = NARROW_WIDTH - 4, y + NARROW_BOX + 24
    parts = [
        box(4, y, right - 4, step.question, NARROW_BOX),
        f'<path d="M{NARROW_WIDTH / 2} {y + NARROW_BOX} V{below}"/>',
        answer(NARROW_WIDTH / 2 + 8, y + NARROW_BOX + 17, step.answer),
        f'<g class="call">{box(INDENT, below, right - INDENT, step.call, NARROW_BOX)}</g>',
    ]
    if not last:
        parts.append(f'<path d="M16 {y + NARROW_BOX} V{y + NARROW_ROW}"/>')
        parts.append(answer(22, y + NARROW_BOX + 42, "no"))
    return parts


def draw(*, narrow: bool = False) -> str:
    """Return the tree."""
    width, row = (NARROW_WIDTH, NARROW_ROW) if narrow else (WIDTH, ROW)
    make = narrow_step if narrow else wide_step
    parts = []
    for k, step in enumerate(STEPS):
        parts += make(step, TOP + k * row, last=k + 1 == len(STEPS))
    height = TOP + len(STEPS) * row
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="Questions that lead to a metric">'
    )
    background = f'<path d="M0 0 H{width} V{height} H0 Z" style="fill:#fff;stroke:none"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", background, *parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    PATH.write_text(draw(), encoding="utf-8")
    NARROW_PATH.write_text(draw(narrow=True), encoding="utf-8")
