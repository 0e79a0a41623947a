"""The command that turns distances into points: embed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from repshape.cli.options import Printing, Seed, argument, flag, number, option
from repshape.cli.shared import check_tables

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


@dataclass(frozen=True, kw_only=True)
class EmbedOptions(Printing):
    """Options of the command embed."""

    matrix: Annotated[
        Path,
        argument(
            "MATRIX",
            "A matrix of distances: .npz, .csv or a directory that repshape pairwise wrote, "
            "with one matrix or several.",
        ),
    ]
    out: Annotated[Path, option("FILE", "The points: .csv, .npz or .json.", "--out", "-o")]
    components: Annotated[int, number("Number of dimensions of the points.", min=1)] = 2
    method: Annotated[Method, flag("Kind of multi-dimensional scaling.")] = Method.metric
    pca_from: Annotated[
        int | None,
        number("Embed in this many dimensions first, then keep the principal components.", min=1),
    ] = None
    starts: Annotated[int, number("Number of starting points of metric scaling.", min=1)] = 4
    align_to: Annotated[
        Path | None,
        option("FILE", "Rotate the points to match those in this file, written by an earlier run."),
    ] = None
    scale: Annotated[
        bool, flag("Also scale points to match those they are rotated to.", "--scale")
    ] = False
    curve: Annotated[
        Path | None, option("FILE", "Also write the distortion in 1 to 20 dimensions to this file.")
    ] = None
    seed: Seed = 0

    @property
    def settings(self) -> dict[str, Any]:
        """Parameters of the function `embed`."""
        found = {"n_components": self.components, "method": self.method.value}
        return found | {
            "pca_from": self.pca_from,
            "n_init": self.starts,
            "random_state": self.seed,
        }


def embed(given: EmbedOptions) -> None:
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
    from repshape.io.tables import read_points

    files = check_tables([given.out, given.curve], inputs=[given.matrix, given.align_to])
    matrices = _read_matrices(given.matrix)
    labels = next(iter(matrices.values())).labels
    target = None if given.align_to is None else read_points(given.align_to, labels)
    lines, summaries, tables = [], [], []
    for name, D in matrices.items():
        words, summary, points, table = _embed_one(D, given.settings, target, scale=given.scale)
        lines.append(f"{name}: {words}" if name else words)
        summaries.append({MATRIX: name} | summary if name else summary)
        tables.append(_named(name, table))
        if name and points.any():  # points that coincide cannot be matched
            target = points
    several = len(summaries) > 1 or bool(next(iter(matrices)))
    summary = {"matrices": summaries} if several else summaries[0]
    _write(given, matrices, tables, summary)
    given.tell(lines, summary, files)


def _write(
    given: EmbedOptions,
    matrices: dict[str, DistanceMatrix],
    tables: list[pd.DataFrame],
    summary: dict[str, Any],
) -> None:
    """Write the points, and the curves of distortion if they are asked for."""
    import pandas as pd

    from repshape.analysis.distortion import distortion_curve
    from repshape.io.tables import write_table

    settings: dict[str, Any] = {"method": given.method.value, "random_state": given.seed}
    curves = [
        _named(name, distortion_curve(D, **settings).to_frame())
        for name, D in matrices.items()
        if given.curve
    ]
    write_table(given.out, pd.concat(tables), summary)
    if given.curve:
        write_table(given.curve, pd.concat(curves), {"method": given.method.value})


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


def _named(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the name of its matrix in front, if it has one."""
    if not name:
        return table
    others = [column for column in table.columns if column != MATRIX]
    named = table[others].copy()
    named.insert(0, MATRIX, name)
    return named
