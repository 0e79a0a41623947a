"""The figures of the gallery page, drawn from simulated data through the public interface.

``python -m repshape.plots.gallery --out FOLDER`` draws all of them; the page shows the same calls.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot
from matplotlib.axes import Axes

import repshape as rs
from repshape import plots
from repshape.io.writing import open_output

# Twice the pixels of a text column; all figures together stay below one megabyte.
DPI = 180
AREAS = ("V1", "V4", "IT")


@dataclass(frozen=True)
class Example:
    """A simulated cohort: three areas, each with its own code, and networks of varying noise."""

    n_networks: int = 24
    n_conditions: int = 12
    n_trials: int = 40
    n_neurons: int = 8
    random_state: int = 0

    @cached_property
    def metadata(self) -> pd.DataFrame:
        """Area of each network, and its noise level in random order."""
        rng = np.random.default_rng(self.random_state)
        area = [AREAS[k % len(AREAS)] for k in range(self.n_networks)]
        noise = np.linspace(0.4, 0.9, self.n_networks).round(2)
        table = pd.DataFrame({"area": area, "noise": rng.permutation(noise)})
        return table.set_axis([f"{name} {k}" for k, name in enumerate(area)])

    @cached_property
    def directions(self) -> pd.Series[float]:
        """The conditions: directions of motion, in degrees."""
        turn = np.arange(self.n_conditions) * 360.0 / self.n_conditions
        return pd.Series(turn, name="direction (degrees)")

    @cached_property
    def networks(self) -> list[rs.Trials]:
        """Trials of each network, each under its own random rotation."""
        rng = np.random.default_rng(self.random_state + 1)
        n, angles = self.n_neurons, np.radians(self.directions.to_numpy())
        waves = np.column_stack([wave(k * angles) for k in (1, 2) for wave in (np.cos, np.sin)])
        gains = {area: rng.normal(size=(4, n)) * [[1.5], [1.5], [0.6], [0.6]] for area in AREAS}
        shapes = {area: np.diag(rng.permutation(np.linspace(0.2, 1.8, n))) for area in AREAS}
        found = []
        for area, noise in self.metadata.to_numpy():
            means = waves @ (gains[area] + 0.7 * rng.normal(size=(4, n)))
            trials = rng.normal(size=(self.n_conditions, self.n_trials, n)) @ shapes[area]
            rotation = np.linalg.qr(rng.normal(size=(n, n)))[0]
            found.append(rs.Trials((means[:, None] + noise * trials) @ rotation))
        return found

    @cached_property
    def matrices(self) -> dict[str, rs.DistanceMatrix]:
        """Distances of all pairs: covariances only, both, and means only."""
        return rs.pairwise_many(
            self.networks,
            {f"alpha = {a:g}": rs.GaussianShapeMetric(alpha=a) for a in (0.0, 1.0, 2.0)},
            labels=list(self.metadata.index),
            metadata=self.metadata,
            progress=False,
        )


def matrix(example: Example) -> Axes:
    """Draw distances ordered by clustering, with bars for the areas."""
    D = example.matrices["alpha = 1"]
    return plots.plot_matrix(D, order="hierarchical", groups="area", caption=True)


def cross(example: Example) -> Axes:
    """Draw the distances between networks of one area and of two others."""
    area = example.metadata["area"].to_numpy()
    names = example.metadata.index.to_numpy()
    sides = [np.flatnonzero(area == AREAS[0]), np.flatnonzero(area != AREAS[0])]
    rows, columns = ({names[k]: example.networks[k] for k in side[:8]} for side in sides)
    C = rs.cross(rows, columns, rs.GaussianShapeMetric(), progress=False)
    return plots.plot_cross(C, rows="V1", columns="other areas", caption=True)


def embedding(example: Example) -> Axes:
    """Draw the embedding of the networks, coloured by area."""
    D = example.matrices["alpha = 1"]
    return plots.plot_embedding(rs.embed(D), D, colour="area", caption=True)


def responses(example: Example) -> Axes:
    """Draw the responses of one network."""
    return plots.plot_responses(
        example.networks[0], colour=example.directions, connect=True, caption=True
    )


def alignment(example: Example) -> Axes:
    """Draw two networks of the same area before and after alignment."""
    x, y = example.networks[0], example.networks[3]
    metric = rs.GaussianShapeMetric()
    found = metric.align(x, y)
    return plots.plot_alignment(x, y, found, metric, names=("V1 0", "V1 3"), caption=True)[0]


def sweep(example: Example) -> Axes:
    """Draw the distance of one pair against alpha."""
    found = rs.analysis.interpolate(
        example.networks[:2], np.linspace(0, 2, 9).tolist(), labels=["V1 0", "V4 1"], progress=False
    )
    return plots.plot_sweep(found, ("V1 0", "V4 1"), caption=True)


def parts(example: Example) -> Axes:
    """Draw covariance against mean distances of all pairs."""
    d_2, d_0 = example.matrices["alpha = 2"], example.matrices["alpha = 0"]
    return plots.plot_parts(d_2, d_0, groups="area", caption=True)


def distortion(example: Example) -> Axes:
    """Draw the distortion against dimension."""
    curve = rs.analysis.distortion_curve(example.matrices["alpha = 1"], range(1, 11))
    return plots.plot_distortion(curve, caption=True)


def neighbors(example: Example) -> Axes:
    """Draw how well neighbours predict the area, for three values of alpha."""
    scores = {
        name: rs.analysis.knn_classify(D, "area", n_neighbors=range(1, 6), n_permutations=99)
        for name, D in example.matrices.items()
    }
    return plots.plot_neighbors(scores, caption=True)


def intervals(example: Example) -> Axes:
    """Draw bootstrap intervals of three pairs, with the noise floor of the first network."""
    names, networks = example.metadata.index, example.networks
    found = {
        f"{names[0]} and {names[k]}": rs.inference.distance(
            networks[0], networks[k], method="bootstrap", n_resamples=60, progress=False
        )
        for k in (3, 1, 2)
    }
    floor = rs.inference.floor(networks[0], progress=False)
    return plots.plot_intervals(found, floor, label=f"distance ({plots.UNIT})", caption=True)


def models(example: Example) -> Axes:
    """Draw how far the means of three networks are from the other networks of one area."""
    names, networks = example.metadata.index, example.networks
    brains = {names[k]: networks[k] for k in range(3, min(24, len(networks)), 3)}
    given = {names[k]: networks[k].means for k in range(3)}
    metric = rs.GaussianShapeMetric(alpha=2.0)
    found = rs.inference.models(brains, given, metric, n_chance=19, progress=False)
    return plots.plot_models(found, caption=True)


def transport(example: Example) -> Axes:
    """Draw the optimal transport between two networks for one condition."""
    x, y = example.networks[0], example.networks[1]
    found = rs.GaussianShapeMetric().align(x, y)
    return plots.plot_transport(x, y, 2, found, names=("V1 0", "V4 1"), caption=True)


GALLERY: dict[str, Callable[[Example], Axes]] = {
    f"plot_{function.__name__}": function
    for function in (
        matrix,
        cross,
        embedding,
        responses,
        alignment,
        sweep,
        parts,
        distortion,
        neighbors,
        intervals,
        models,
        transport,
    )
}


def save_gallery(out: str | Path, names: Sequence[str] = tuple(GALLERY)) -> list[Path]:
    """Draw the named figures into a folder, and return the files."""
    folder, example = Path(out), Example()
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name in names:
        figure = GALLERY[name](example).figure.figure
        files.append(folder / f"{name.removeprefix('plot_')}.png")
        with open_output(files[-1]) as handle:
            # Without the version that matplotlib adds, equal figures give equal files.
            figure.savefig(handle, format="png", dpi=DPI, metadata={"Software": None})
        pyplot.close(figure)
    return files


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the gallery into the folder given by ``--out``."""
    parser = argparse.ArgumentParser(prog="python -m repshape.plots.gallery", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the figures")
    parser.add_argument("names", nargs="*", metavar="NAME", help="figures to draw; default: all")
    given = parser.parse_args(arguments)
    for name in given.names:
        if name not in GALLERY:
            parser.error(f"there is no figure {name!r}; choose from {', '.join(GALLERY)}")
    for file in save_gallery(given.out, given.names or tuple(GALLERY)):
        print(file)


if __name__ == "__main__":
    main()
