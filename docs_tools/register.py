"""The animation of the home page: ``python -m docs_tools.register`` writes register.svg.

Two networks with two neurons respond to five conditions. `repshape` finds the rotation that brings
the second into register with the first, and the picture turns by it. Plain SVG with CSS, without
scripts; readers who prefer less motion see the aligned networks.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import repshape as rs

PATH = Path(__file__).parents[1] / "docs" / "images" / "register.svg"
COLOURS = ("#3f51b5", "#e64a19")
WIDTH, HEIGHT, SCALE = 640, 300, 36.0  # pixels; pixels per unit
CENTRE = (WIDTH / 2, HEIGHT / 2)
SHOWN_TRIALS = 12
STYLE = """
text { font: 15px system-ui, sans-serif; fill: #5c6370; }
.second { transform-origin: 320px 150px; animation: turn 7s ease-in-out infinite alternate; }
@keyframes turn { 0%, 15% { transform: rotate(DEGREESdeg); } 75%, 100% { transform: none; } }
@media (prefers-reduced-motion: reduce) { .second { animation: none; } }
"""


def networks() -> tuple[rs.Gaussians, rs.Gaussians]:
    """Return a network, and one with similar means and more noise in other coordinates."""
    rng = np.random.default_rng(4)
    means = np.array([[-2.6, -0.9], [-1.5, 1.3], [0.2, 0.1], [1.5, 1.6], [2.6, -0.8]])
    factors = 0.1 * rng.normal(size=(5, 2, 2)) + 0.3 * np.eye(2)
    angle = np.deg2rad(140)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    other = rs.Gaussians.from_factors((means + 0.15) @ turn, turn.T @ (1.4 * factors))
    return rs.Gaussians.from_factors(means, factors), other


def cloud(network: rs.Gaussians, colour: str, seed: int) -> list[str]:
    """Draw each condition as trials and an ellipse of two standard deviations."""
    rng = np.random.default_rng(seed)
    parts = []
    for mean, S in zip(network.means, network.covariances, strict=True):
        values, axes = np.linalg.eigh(S)
        x, y = CENTRE[0] + SCALE * mean[0], CENTRE[1] - SCALE * mean[1]
        rx, ry = 2 * SCALE * np.sqrt(values[::-1])
        tilt = -np.rad2deg(np.arctan2(axes[1, 1], axes[0, 1]))
        place = f'transform="rotate({tilt:.1f} {x:.1f} {y:.1f})"'
        parts.append(
            f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{rx:.1f}" ry="{ry:.1f}" {place} '
            f'fill="{colour}" fill-opacity="0.15" stroke="{colour}" stroke-width="2"/>'
        )
        for dx, dy in rng.multivariate_normal([0, 0], SCALE**2 * S, size=SHOWN_TRIALS):
            parts.append(f'<circle cx="{x + dx:.1f}" cy="{y - dy:.1f}" r="2.2" fill="{colour}"/>')
    return parts


def draw() -> str:
    """Return the animation: the second network begins as given and turns into register."""
    x, y = networks()
    found = rs.GaussianShapeMetric(group="rotation").align(x, y)
    T = found.transform
    aligned = rs.Gaussians(y.means @ T, T.T @ y.covariances @ T)
    degrees = np.rad2deg(np.arctan2(T[0, 1], T[0, 0]))  # upwards on a page is minus
    first, second = cloud(x, COLOURS[0], 1), cloud(aligned, COLOURS[1], 2)
    label = f"distance after alignment: {found.distance:.2f}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="Two clouds of responses turn into register">',
        f"<style>{STYLE.replace('DEGREES', f'{degrees:.1f}')}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#fff"/>',  # readable on dark pages
        *first,
        '<g class="second">',
        *second,
        "</g>",
        f'<text x="12" y="24" style="fill:{COLOURS[0]}">network 1</text>',
        f'<text x="12" y="46" style="fill:{COLOURS[1]}">network 2</text>',
        f'<text x="{WIDTH - 12}" y="{HEIGHT - 12}" text-anchor="end">{label}</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PATH.write_text(draw(), encoding="utf-8")
