"""The command that turns distances into points: embed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from repshape.cli.shared import AsJson, Quiet, Seed, check_tables, number, option, tell

if TYPE_CHECKING:  # slow to import: not for --help
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from repshape.matrix.distances import DistanceMatrix

MATRIX = "matrix"  # the column that tells the matrices of a directory apart


class Method(StrEnum):
    """Kinds of multi-dimensional scaling."""

    metric = "metric"
    classical = "classical"


def embed(
    matrix: Annotated[
        Path,
        typer.Argument(
            metavar="MATRIX",
            help="A matrix of distances: .npz, .csv or a directory that repshape pairwise wrote, "
            "with one matrix or several.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, option("FILE", "The points: .csv, .npz or .json.", "--out", "-o")],
    components: Annotated[int, number("Number of dimensions of the points.", min=1)] = 2,
    method: Annotated[Method, typer.Option(help="Kind of multi-dimensional scaling.")] = (
        Method.metric
    ),
    pca_from: Annotated[
        int | None,
        number("Embed in this many dimensions first, then keep the principal components.", min=1),
    ] = None,
    starts: Annotated[int, number("Number of starting points of metric scaling.", min=1)] = 4,
    align_to: Annotated[
        Path | None,
        option("FILE", "Rotate the points to match those in this file, written by an earlier run."),
    ] = None,
    scale: Annotated[
        bool, typer.Option("--scale", help="Also scale points to match those they are rotated to.")
    ] = False,
    curve: Annotated[
        Path | None, option("FILE", "Also write the distortion in 1 to 20 dimensions to this file.")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Embed networks as points whose distances resemble the matrix.

    If the directory holds several matrices, as repshape pairwise writes for several --alpha, all of
    them are embedded, and each is rotated to match the one before it. The column "matrix" of the
    table tells them apart.

    \b
    Examples:
      repshape embed distances.npz -o plane.csv
      repshape embed sweep -o planes.csv
      repshape embed other.npz -o other.csv --align-to plane.csv --scale
    """  # noqa: D301 (click reads the backspace)
    import pandas as pd

    from repshape.io.tables import read_points, write_table

    files = [out, *([curve] if curve else [])]
    check_tables(files, inputs=[matrix, *([align_to] if align_to else [])])
    matrices = _read_matrices(matrix)
    labels = next(iter(matrices.values())).labels
    target = None if align_to is None else read_points(align_to, labels)
    settings = {"n_components": components, "method": method.value, "pca_from": pca_from}
    settings |= {"n_init": starts, "random_state": seed}
    lines, summaries, tables, curves = [], [], [], []
    for name, D in matrices.items():
        words, summary, points, table = _embed_one(D, settings, target, scale=scale)
        lines.append(f"{name}: {words}" if name else words)
        summaries.append({MATRIX: name} | summary if name else summary)
        tables.append(_named(name, table))
        if curve:
            curves.append(_named(name, _curve(D, method.value, seed)))
        if name and points.any():  # points that coincide cannot be matched
            target = points
    several = len(summaries) > 1 or bool(next(iter(matrices)))
    summary = {"matrices": summaries} if several else summaries[0]
    write_table(out, pd.concat(tables), summary)
    if curve:
        write_table(curve, pd.concat(curves), {"method": method.value})
    data = summary | {"files": [str(file) for file in files]}
    lines += [f"Wrote {file}" for file in files]
    tell(lines, data, as_json=as_json, quiet=quiet)


def _read_matrices(path: Path) -> dict[str, DistanceMatrix]:
    """Return the matrices of a directory by name, or a single one without a name."""
    from repshape.matrix.distances import DistanceMatrix
    from repshape.report.sources import check_same_networks, stores_in

    inside = stores_in(path)
    if inside is None:
        return {"": DistanceMatrix.load(path)}
    found = {one.name: DistanceMatrix.load(one) for one in inside}
    first = next(iter(found.values()))
    for other in found.values():
        check_same_networks(first.labels, other.labels)
    return found


def _embed_one(
    D: DistanceMatrix,
    settings: dict[str, Any],
    target: npt.NDArray[np.float64] | None,
    *,
    scale: bool,
) -> tuple[str, dict[str, Any], npt.NDArray[np.float64], pd.DataFrame]:
    """Return an embedding in words, as a summary, as points and as a table with the metadata."""
    from repshape.analysis.distortion import distortion
    from repshape.analysis.embedding import embed as embed_matrix
    from repshape.analysis.panels import align_embeddings
    from repshape.io.tables import with_metadata

    found = embed_matrix(D, **settings)
    summary, points = found.summary(), found.points
    summary["distortion_percentiles"] = distortion(D, found).summary() if len(D) > 1 else {}
    if target is not None:
        aligned = align_embeddings(found, target, scaling=scale)
        summary |= {"align_scale": aligned.scale, "align_residual": aligned.residual}
        points = aligned.points
    table = found.to_frame()
    table.loc[:, :] = points
    return found.words(), summary, points, with_metadata(table, D)


def _curve(D: DistanceMatrix, method: str, seed: int) -> pd.DataFrame:
    from repshape.analysis.distortion import distortion_curve

    return distortion_curve(D, method=method, random_state=seed).to_frame()


def _named(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the name of its matrix in front, if it has one."""
    if not name:
        return table
    others = [column for column in table.columns if column != MATRIX]
    named = table[others].copy()
    named.insert(0, MATRIX, name)
    return named
