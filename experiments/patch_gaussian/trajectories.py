"""Paths of Patch-Gaussian networks through shape space, along W and along log sigma.

    python -m experiments.patch_gaussian.trajectories RESPONSES --out DIR

RESPONSES is a cohort of the study's networks, with their responses at one tau. Names such as
``W8-sigma0.3-seed1`` say how a network was trained. Networks without patches are left out.

The tangent vectors of all networks at their Frechet mean are regressed on W, and on log10 sigma.
A permutation exchanges values only between networks of the same seed that agree in the other
number, so that p values are valid whatever the other number does. R squared is a share of the
squared distances from the mean that the responses show: noise from few passes lowers it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import repshape as rs
from experiments.common import files
from repshape.errors import InputError, RepshapeError
from repshape.plots import PALETTE

NAME = re.compile(r"W(?P<width>\d+)-sigma(?P<sigma>[\d.]+)-seed(?P<seed>\d+)")
RESULTS = "trajectories.json"
PICTURE = "trajectories.png"
SYMBOLS = ("o", "s", "^", "D", "v", "P", "X")


@dataclass(frozen=True)
class NumberPath:
    """A path along one number.

    Attributes
    ----------
    along : str
        The number, as an axis shows it.
    other : str
        The column of the number that stays the same in a permutation.
    found : Trajectory
    """

    along: str
    other: str
    found: Any


def read_patches(names: list[str]) -> pd.DataFrame:
    """Return width, sigma and seed of the networks with patches, by name.

    >>> read_patches(["none-seed0", "W8-sigma0.3-seed1"]).loc["W8-sigma0.3-seed1"].tolist()
    [8.0, 0.3, 1.0]
    """
    matched = {name: NAME.fullmatch(name) for name in names}
    rows = {name: found.groupdict() for name, found in matched.items() if found is not None}
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["width", "sigma", "seed"])
    return frame.astype(float)


def follow_patches(
    cohort: rs.Cohort, metric: Any = None, *, n_permutations: int = 999
) -> tuple[pd.DataFrame, list[NumberPath]]:
    """Return the networks with patches, and their paths along W and log10 sigma."""
    patches = read_patches(list(cohort.labels))
    if patches.nunique().get("width", 0) < 2 or patches.nunique().get("sigma", 0) < 2:
        raise InputError(
            "Paths need networks of at least two W and two sigma, with names such as "
            f"'W8-sigma0.3-seed1'. Got {len(patches)} such networks of {len(cohort)}."
        )
    networks = [cohort[name] for name in patches.index]
    numbers = {"W": patches["width"], "log10 sigma": np.log10(patches["sigma"])}
    paths = []
    for (along, values), other in zip(numbers.items(), ("sigma", "width"), strict=True):
        blocks = [f"{value:g}, {seed:g}" for value, seed in patches[[other, "seed"]].to_numpy()]
        found = rs.analysis.trajectory(
            networks, values.to_numpy(), metric, blocks=blocks, n_permutations=n_permutations
        )
        paths.append(NumberPath(along, other, found))
    return patches, paths


def summarise(patches: pd.DataFrame, paths: list[NumberPath]) -> dict[str, Any]:
    """Return the results, ready for JSON."""
    described = {
        one.along: {
            "r_squared": one.found.r_squared,
            "p_value": one.found.p_value,
            "speed": one.found.speed,
            "scores": dict(zip(patches.index, one.found.scores.tolist(), strict=True)),
        }
        for one in paths
    }
    return {"networks": len(patches), "paths": described}


def draw(patches: pd.DataFrame, paths: list[NumberPath]) -> Figure:
    """Draw the coordinate of every network along each path against the number."""
    figure = Figure(figsize=(6.4, 2.9), layout="constrained")
    for axis, one in zip(figure.subplots(1, len(paths)), paths, strict=True):
        draw_path(axis, patches, one)
    return figure


def draw_path(axis: Axes, patches: pd.DataFrame, one: NumberPath) -> None:
    """Draw one path, with a colour and a symbol for each value of the other number."""
    found = one.found
    for k, value in enumerate(sorted(patches[one.other].unique())):
        chosen = (patches[one.other] == value).to_numpy()
        label = f"{'σ' if one.other == 'sigma' else 'W'} = {value:g}"
        colour, symbol = PALETTE[k % len(PALETTE)], SYMBOLS[k % len(SYMBOLS)]
        axis.plot(
            found.values[chosen],
            found.scores[chosen],
            symbol,
            color=colour,
            markersize=4,
            alpha=0.8,
            label=label,
        )
    ends = np.array([found.values.min(), found.values.max()])
    axis.plot(ends, found.speed * (ends - found.values.mean()), color="0.3", linewidth=1, zorder=0)
    ticks = np.unique(found.values)
    shown = ticks if one.along == "W" else 10**ticks
    axis.set_xticks(ticks, [f"{value:g}" for value in shown])
    axis.set(xlabel="W" if one.along == "W" else "σ", ylabel="distance along the path")
    axis.set_title(f"R² = {found.r_squared:.2f}, p = {found.p_value:.3f}", fontsize=9)
    axis.legend(fontsize=7, frameon=False)
    axis.spines[["top", "right"]].set_visible(False)


def main(
    responses: Annotated[Path, typer.Argument(help="Cohort of the responses at one tau.")],
    out: Annotated[Path, typer.Option(help="Folder for the results and the picture.")],
    alpha: Annotated[float, typer.Option(min=0, max=2, help="Weight of the means.")] = 1.0,
    components: Annotated[
        int | None,
        typer.Option(min=1, help="Keep this many principal components of each network, for speed."),
    ] = None,
) -> None:
    """Follow Patch-Gaussian networks along W and along log sigma."""
    try:
        kept = None if components is None else rs.Preprocess(n_components=components)
        metric = rs.GaussianShapeMetric(alpha, preprocess=kept)
        patches, paths = follow_patches(rs.Cohort.open(responses), metric)
        out.mkdir(parents=True, exist_ok=True)
        files.write_json(out / RESULTS, summarise(patches, paths))
        with files.write_whole(out / PICTURE) as handle:
            draw(patches, paths).savefig(handle, format="png", dpi=200)
    except RepshapeError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    for one in paths:
        found = one.found
        typer.echo(
            f"along {one.along}: R² = {found.r_squared:.2f}, p = {found.p_value:.3f}, "
            f"{found.speed:.3g} per unit"
        )


if __name__ == "__main__":
    typer.run(main)
