"""The slider of docs/which-metric.md: ``python -m docs_tools.alpha_slider`` writes its HTML.

Distances between the 99 toy networks are embedded at eleven values of alpha. The file holds these
points, a drawing at alpha = 1 that needs no script, and controls that docs/assets/alpha-slider.js
shows. Nothing is requested when the page is read.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_hex

import repshape as rs
from repshape.plots import grid_colours

PATH = Path(__file__).with_suffix(".html")
MARK = "<!-- alpha slider -->"
ALPHAS = tuple(k / 5 for k in range(11))
START = 5  # the slider begins at alpha = 1
PAIRS = {
    "Opposite correlations (ringed)": ("c0s4", "c10s4"),
    "Little and much noise (squared)": ("c5s0", "c5s8"),
}
WIDTH, HEIGHT, MARGIN = 480, 360, 16  # pixels of the drawing
RADIUS = 5
FloatArray = npt.NDArray[np.float64]


def computed() -> tuple[list[FloatArray], dict[str, list[float]]]:
    """Return points for each alpha, and distances of each pair."""
    toy = rs.datasets.toy_networks()
    points: list[FloatArray] = []
    distances: dict[str, list[float]] = {name: [] for name in PAIRS}
    for alpha in ALPHAS:
        D = rs.pairwise(toy, rs.GaussianShapeMetric(alpha=alpha), progress=False)
        points.append(rs.embed(D).points)
        for name, pair in PAIRS.items():
            distances[name].append(round(D[pair], 2) + 0.0)
    return in_register(points), distances


def in_register(points: list[FloatArray]) -> list[FloatArray]:
    """Turn every embedding onto that of alpha = 1, from there to both sides."""
    found = [one - one.mean(axis=0) for one in points]
    for order in (range(START + 1, len(found)), range(START - 1, -1, -1)):
        for k in order:
            before = found[k - 1 if k > START else k + 1]
            u, _, vt = np.linalg.svd(found[k].T @ before)
            found[k] = found[k] @ (u @ vt)
    return found


def on_canvas(points: list[FloatArray]) -> list[list[list[float]]]:
    """Return the points in pixels, with one scale for all values of alpha."""
    extent = np.max([np.abs(one).max(axis=0) for one in points], axis=0)
    half = np.array([WIDTH, HEIGHT]) / 2
    scale = ((half - MARGIN) / extent).min()
    return [np.round(half + scale * one * [1, -1], 1).tolist() for one in points]


def drawing(places: list[list[float]], colours: list[str], labels: tuple[str, ...]) -> str:
    """Return the points of one alpha as SVG."""
    size = RADIUS + 5
    square = f'<rect class="mark" x="-{size}" y="-{size}" width="{2 * size}" height="{2 * size}"/>'
    marks = (f'<circle class="mark" r="{size}"/>', square)
    marked = {name: mark for mark, pair in zip(marks, PAIRS.values(), strict=True) for name in pair}
    parts = [
        f'<g transform="translate({x} {y})"><title>{name}</title>'
        f'<circle r="{RADIUS}" fill="{colour}"/>{marked.get(name, "")}</g>'
        for (x, y), colour, name in zip(places, colours, labels, strict=True)
    ]
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Embedding of 99 toy networks; '
        f'blue: negative correlations, red: positive, dark: much noise">{"".join(parts)}</svg>'
    )


def table(distances: dict[str, list[float]]) -> str:
    """Return the distances of the pairs at the first alpha that is shown."""
    rows = [
        f'<tr><th scope="row">{escape(name)}</th><td data-pair="{k}">{values[START]:.2f}</td></tr>'
        for k, (name, values) in enumerate(distances.items())
    ]
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def build() -> str:
    """Return the file."""
    toy = rs.datasets.toy_networks()
    colours = [
        to_hex(one) for one in grid_colours(toy.metadata["correlation"], toy.metadata["scale"])
    ]
    points, distances = computed()
    places = on_canvas(points)
    data: dict[str, Any] = {
        "alphas": ALPHAS,
        "points": places,
        "distances": list(distances.values()),
    }
    lines = [
        '<figure class="alpha-slider">',
        drawing(places[START], colours, toy.labels),
        '<p class="alpha-controls" hidden><label for="alpha-input">alpha</label>'
        f'<input id="alpha-input" type="range" min="0" max="{len(ALPHAS) - 1}" value="{START}">'
        '<output for="alpha-input" aria-live="polite">1.0: means and covariances</output></p>',
        table(distances),
        "<figcaption>Each point is a toy network; nearby points have a small distance. Blue and "
        "red: negative and positive noise correlations. Dark: much noise.</figcaption>",
        f'<script type="application/json">{json.dumps(data, separators=(",", ":"))}</script>',
        '<script src="assets/alpha-slider.js" defer></script>',
        "</figure>",
    ]
    return "\n".join(lines) + "\n"


def stored() -> str:
    """Return the file that is committed."""
    return PATH.read_text(encoding="utf-8")


if __name__ == "__main__":
    PATH.write_text(build(), encoding="utf-8")
