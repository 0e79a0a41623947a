"""What `repshape demo` computes, writes and says.

It reproduces Figure 2 C-E of Duong et al. (2023) with toy networks, adds energy distances between
sampled trials, and shows everything on one page.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repshape._version import package_version
from repshape.analysis.embedding import Embedding
from repshape.datasets.toy import ToyNetworks, toy_networks
from repshape.demo.figure import draw_demo
from repshape.demo.findings import Finding, GridRecovery, grid_recovery, toy_findings
from repshape.engine.run import pairwise
from repshape.io.cohort import Cohort
from repshape.io.json import json_text
from repshape.io.tables import write_table
from repshape.io.writing import open_output
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.energy import EnergyShapeMetric
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.report.write import write_report

# In the order of the paper's panels C, D and E.
ALPHAS = {1.0: "means and covariances", 2.0: "means only", 0.0: "covariances only"}
# Trials per condition: enough for the energy distance to recover the grid, and done in seconds.
N_TRIALS = 100
# All pairs can be drawn.
MAX_PAIRS = 5000
TITLE = "The toy networks of Duong et al. (2023), Figure 2"


@dataclass(frozen=True, eq=False)
class DemoPanel:
    """The distances between the toy networks for one alpha, and the grid recovered from them."""

    alpha: float
    distances: DistanceMatrix
    recovery: GridRecovery

    @property
    def embedding(self) -> Embedding:
        """The networks as points in a plane."""
        return self.recovery.embedding

    def summary(self) -> dict[str, Any]:
        """Return the numbers of this panel, ready for JSON."""
        return {
            "alpha": self.alpha,
            "largest_distance": self.recovery.largest_distance,
            "largest_distance_of_opposite_correlation": self.recovery.largest_opposite,
            "r2_correlation": self.recovery.r2_correlation,
            "r2_scale": self.recovery.r2_scale,
            "share_of_cells_unfolded": self.recovery.unfolded,
            "stress": self.embedding.stress,
            "pairs_not_converged": self.distances.n_unconverged,
        }


@dataclass(frozen=True, eq=False)
class Demo:
    """The toy networks, a panel for each alpha, the energy distances and the findings.

    ``toy`` has exact moments; ``sampled`` has trials of the same networks, and ``energy`` holds the
    distances between these.
    """

    toy: ToyNetworks
    sampled: ToyNetworks
    panels: tuple[DemoPanel, ...]
    energy: DistanceMatrix
    findings: tuple[Finding, ...]

    @property
    def matrices(self) -> dict[str, DistanceMatrix]:
        """All distances by the name of their files, in the order of the panels C, D and E."""
        gaussian = {f"alpha_{one.alpha:g}": one.distances for one in self.panels}
        return gaussian | {"energy": self.energy}

    def summary(self) -> dict[str, Any]:
        """Return all numbers, ready for JSON."""
        return {
            "repshape": package_version(),
            "networks": len(self.toy),
            "pairs": len(self.toy) * (len(self.toy) - 1) // 2,
            "panels": [panel.summary() for panel in self.panels],
            "findings": [finding.summary() for finding in self.findings],
        }

    def words(self) -> str:
        """Say what was simulated, and each finding with the numbers that decide it."""
        grid = self.toy.metadata.nunique()
        lines = [
            f"{len(self.toy)} networks of two neurons: {grid['correlation']} noise correlations "
            f"x {grid['scale']} noise scales, the same means, each under its own random rotation.",
            "R2 here: how well a quadratic function of the embedded points fits a parameter of all "
            "networks. The R2 of the page is that of predictions from nearest neighbours.",
            *(f"  {finding}" for finding in self.findings),
        ]
        return "\n".join(lines)


def run_demo(
    n_correlations: int = 11,
    n_scales: int = 9,
    n_trials: int = N_TRIALS,
    *,
    workers: int | None = None,
    progress: bool | None = None,
) -> Demo:
    """Compute the distances between the toy networks, embed them, and check the findings."""
    toy = toy_networks(n_correlations, n_scales)
    sampled = toy_networks(n_correlations, n_scales, n_trials=n_trials)
    panels = []
    for alpha in ALPHAS:
        metric = GaussianShapeMetric(alpha=alpha)
        distances = pairwise(toy, metric, workers=workers, progress=progress)
        panels.append(DemoPanel(alpha, distances, grid_recovery(distances)))
    energy = pairwise(sampled, EnergyShapeMetric(), workers=workers, progress=progress)
    findings = toy_findings(
        {panel.alpha: panel.distances for panel in panels},
        {panel.alpha: panel.embedding for panel in panels},
    )
    return Demo(toy, sampled, tuple(panels), energy, findings)


def save_demo(
    demo: Demo, out: str | os.PathLike[str], *, progress: bool | None = None
) -> list[Path]:
    """Write page, figure, distances, points and summary; return the files, the page first."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "report.html", folder / "toy_networks.png", folder / "summary.json"]
    panels = [(p.alpha, ALPHAS[p.alpha], p.embedding, p.distances) for p in demo.panels]
    with open_output(files[1]) as handle:
        draw_demo(demo.toy, panels).savefig(handle, format="png", dpi=200)
    for name, distances in demo.matrices.items():
        for suffix in (".npz", ".csv"):
            files.append(folder / f"distances_{name}{suffix}")
            distances.save(files[-1])
    for panel in demo.panels:
        files.append(folder / f"embedding_alpha_{panel.alpha:g}.csv")
        write_table(files[-1], demo.toy.metadata.join(panel.embedding.to_frame()), {})
    with open_output(files[2]) as handle:
        handle.write(f"{json_text(demo.summary(), indent=2)}\n".encode())
    _write_page(demo, files[0], progress)
    return files


def _write_page(demo: Demo, path: Path, progress: bool | None) -> None:
    """Write the report on all matrices, with every pair drawn."""
    exact, trials = (Cohort.from_networks(one) for one in (demo.toy, demo.sampled))
    matrices = list(demo.matrices.values())
    write_report(
        matrices,
        path,
        cohort=[exact] * (len(matrices) - 1) + [trials],
        title=TITLE,
        max_pairs=MAX_PAIRS,
        progress=progress,
    )
