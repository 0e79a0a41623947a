"""The toy networks end to end: what `repshape demo` computes, writes and says.

Reproduces Figure 2 C-E of Duong et al. (2023).
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._files import atomic_write
from repshape._version import package_version
from repshape.analysis.embedding import Embedding, embed
from repshape.datasets.findings import COINCIDE, quadratic_r2
from repshape.datasets.toy import ToyNetworks, toy_networks
from repshape.demo_figure import draw_demo
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.pairwise.matrix import DistanceMatrix
from repshape.pairwise.run import pairwise

FloatArray = npt.NDArray[np.float64]

# The order of the paper's panels C, D and E.
ALPHAS = {1.0: "means and covariances", 2.0: "means only", 0.0: "covariances only"}
# What the words below call held and lost.
HELD, LOST = 0.95, 0.05


@dataclass(frozen=True, eq=False)
class DemoPanel:
    """The toy networks as one value of alpha sees them."""

    alpha: float
    distances: DistanceMatrix
    embedding: Embedding
    r2_correlation: float
    r2_scale: float
    largest_distance: float
    largest_opposite: float

    def summary(self) -> dict[str, Any]:
        """Return the numbers of this panel, ready for JSON."""
        return {
            "alpha": self.alpha,
            "largest_distance": self.largest_distance,
            "largest_distance_of_opposite_correlation": self.largest_opposite,
            "r2_correlation": self.r2_correlation,
            "r2_scale": self.r2_scale,
            "stress": self.embedding.stress,
            "pairs_not_converged": self.distances.n_unconverged,
        }

    def words(self) -> str:
        """Say what the reader sees, from the numbers."""
        lead = f"alpha = {self.alpha:g} ({ALPHAS[self.alpha]}): "
        if self.largest_distance < COINCIDE:
            return lead + f"all networks coincide (largest distance {self.largest_distance:.1e})."
        parts = [
            f"correlation is {_verdict(self.r2_correlation)} (R2 = {self.r2_correlation:.3f})",
            f"scale is {_verdict(self.r2_scale)} (R2 = {self.r2_scale:.3f})",
        ]
        if self.largest_opposite < COINCIDE:
            parts.append("networks of opposite correlation coincide")
        return lead + "; ".join(parts) + "."


@dataclass(frozen=True, eq=False)
class Demo:
    """The toy networks and one panel for each alpha."""

    toy: ToyNetworks
    panels: tuple[DemoPanel, ...]

    def summary(self) -> dict[str, Any]:
        """Return all numbers, ready for JSON."""
        return {
            "repshape": package_version(),
            "networks": len(self.toy),
            "pairs": len(self.toy) * (len(self.toy) - 1) // 2,
            "panels": [panel.summary() for panel in self.panels],
        }

    def words(self) -> str:
        """Say what the reader sees, a line for each alpha."""
        grid = self.toy.metadata.nunique()
        lines = [
            f"{len(self.toy)} networks of two neurons: {grid['correlation']} noise correlations "
            f"x {grid['scale']} noise scales, the same means, each under its own random rotation.",
            "R2: how well a quadratic map of the plane of points gives a parameter back.",
            *(f"  {panel.words()}" for panel in self.panels),
        ]
        return "\n".join(lines)


def run_demo(
    n_correlations: int = 11,
    n_scales: int = 9,
    *,
    workers: int | None = None,
    progress: bool | None = None,
) -> Demo:
    """Compute the distances of the toy networks at each alpha, and embed them in a plane."""
    toy = toy_networks(n_correlations, n_scales)
    panels = []
    for alpha in ALPHAS:
        metric = GaussianShapeMetric(alpha=alpha)
        distances = pairwise(toy, metric, workers=workers, progress=progress)
        panels.append(_panel(alpha, toy, distances))
    return Demo(toy, tuple(panels))


def save_demo(demo: Demo, out: str | os.PathLike[str]) -> list[Path]:
    """Write the figure, the distances, the points and the summary; return the files."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "toy_networks.png", folder / "summary.json"]
    with atomic_write(files[0]) as handle:
        draw_demo(demo.toy, [(p.alpha, ALPHAS[p.alpha], p.embedding) for p in demo.panels]).savefig(
            handle, format="png", dpi=160
        )
    for panel in demo.panels:
        stem = f"alpha_{panel.alpha:g}"
        for suffix in (".npz", ".csv"):
            files.append(folder / f"distances_{stem}{suffix}")
            panel.distances.save(files[-1])
        files.append(folder / f"embedding_{stem}.csv")
        table = demo.toy.metadata.join(panel.embedding.to_frame())
        with atomic_write(files[-1]) as handle:
            handle.write(table.to_csv(index_label="network").encode("utf-8"))
    with atomic_write(files[1]) as handle:
        handle.write((json.dumps(demo.summary(), indent=2) + "\n").encode("utf-8"))
    return files


def _panel(alpha: float, toy: ToyNetworks, distances: DistanceMatrix) -> DemoPanel:
    embedding = embed(distances)
    truth = toy.metadata
    return DemoPanel(
        alpha=alpha,
        distances=distances,
        embedding=embedding,
        r2_correlation=quadratic_r2(embedding.points, truth["correlation"]),
        r2_scale=quadratic_r2(embedding.points, truth["scale"]),
        largest_distance=float(distances.values.max()),
        largest_opposite=_largest_opposite(toy, distances.values),
    )


def _largest_opposite(toy: ToyNetworks, distances: FloatArray) -> float:
    """Return the largest distance between networks (c, s) and (-c, s)."""
    c = toy.metadata["correlation"].to_numpy()
    s = toy.metadata["scale"].to_numpy()
    opposite = np.isclose(c[:, None], -c[None]) & np.isclose(s[:, None], s[None])
    return float(distances[opposite].max())


def _verdict(r2: float) -> str:
    if r2 >= HELD:
        return "recovered"
    return "lost" if r2 < LOST else "partly recovered"
