"""The commands that read a saved matrix of distances: repair, embed, neighbors."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from repshape.cli.shared import AsJson, Quiet, Seed, check_tables, number, option, tell

if TYPE_CHECKING:  # slow to import: not for --help
    from repshape.analysis.protocol import NeighborScore
    from repshape.matrix.distances import DistanceMatrix
    from repshape.matrix.repair import Repaired

Matrix = Annotated[
    Path,
    typer.Argument(
        metavar="MATRIX",
        help="A matrix of distances: .npz, .csv or a directory that repshape pairwise wrote.",
        show_default=False,
    ),
]


class Method(StrEnum):
    """Kinds of multi-dimensional scaling."""

    metric = "metric"
    classical = "classical"


class TargetKind(StrEnum):
    """How to read a column of metadata."""

    auto = "auto"
    classes = "classes"
    numbers = "numbers"


def repair(
    matrix: Matrix,
    out: Annotated[
        Path, option("FILE", "The repaired matrix: .npz, .csv or .json.", "--out", "-o")
    ],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find the nearest matrix that satisfies the triangle inequality.

    \b
    Example:
      repshape repair distances.npz -o repaired.npz
    """  # noqa: D301 (click reads the backspace)
    from repshape.matrix.distances import DistanceMatrix
    from repshape.matrix.repair import repair as repair_matrix

    check_tables([out], inputs=[matrix])
    result = repair_matrix(DistanceMatrix.load(matrix))
    _save_repaired(result, out)
    lines = [result.words(), f"Wrote {out}"]
    tell(lines, result.summary() | {"files": [str(out)]}, as_json=as_json, quiet=quiet)


def embed(
    matrix: Matrix,
    out: Annotated[Path, option("FILE", "The points: .csv, .npz or .json.", "--out", "-o")],
    components: Annotated[int, number("Dimension of the points.", min=1)] = 2,
    method: Annotated[Method, typer.Option(help="Kind of multi-dimensional scaling.")] = (
        Method.metric
    ),
    pca_from: Annotated[
        int | None,
        number("Embed in this many dimensions first, then keep the principal components.", min=1),
    ] = None,
    starts: Annotated[int, number("Starting points of metric scaling.", min=1)] = 4,
    align_to: Annotated[
        Path | None, option("FILE", "Rotate the points onto these, from an earlier embed.")
    ] = None,
    scale: Annotated[
        bool, typer.Option("--scale", help="Also scale the points to those of --align-to.")
    ] = False,
    curve: Annotated[
        Path | None, option("FILE", "Also write the distortion in 1 to 20 dimensions to this file.")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Embed networks as points whose distances resemble the matrix.

    \b
    Examples:
      repshape embed distances.npz -o plane.csv
      repshape embed other.npz -o other.csv --align-to plane.csv --scale
    """  # noqa: D301
    from repshape.analysis.distortion import distortion, distortion_curve
    from repshape.analysis.embedding import embed as embed_matrix
    from repshape.analysis.panels import align_embeddings
    from repshape.io.tables import read_points, with_metadata, write_table
    from repshape.matrix.distances import DistanceMatrix

    files = [out, *([curve] if curve else [])]
    check_tables(files, inputs=[matrix, *([align_to] if align_to else [])])
    D = DistanceMatrix.load(matrix)
    found = embed_matrix(
        D, components, method=method.value, pca_from=pca_from, n_init=starts, random_state=seed
    )
    summary, table = found.summary(), found.to_frame()
    summary["distortion_percentiles"] = distortion(D, found).summary() if len(D) > 1 else {}
    if align_to is not None:
        aligned = align_embeddings(found, read_points(align_to, D.labels), scaling=scale)
        summary |= {"align_scale": aligned.scale, "align_residual": aligned.residual}
        table.loc[:, :] = aligned.points
    write_table(out, with_metadata(table, D), summary)
    if curve:
        frame = distortion_curve(D, method=method.value, random_state=seed).to_frame()
        write_table(curve, frame, {"method": method.value})
    lines = [found.words(), *(f"Wrote {file}" for file in files)]
    data = summary | {"files": [str(file) for file in files]}
    tell(lines, data, as_json=as_json, quiet=quiet)


def neighbors(
    matrix: Matrix,
    of: Annotated[
        str | None, option("NETWORK", "List the neighbours of this network only.")
    ] = None,
    count: Annotated[int, number("Number of neighbours to list.", "-k", min=1)] = 5,
    target: Annotated[
        str | None, option("COLUMN", "Predict this column of the metadata instead.")
    ] = None,
    kind: Annotated[
        TargetKind,
        typer.Option(help="How to read the target; auto reads whole numbers as classes."),
    ] = TargetKind.auto,
    metadata: Annotated[
        Path | None, option("FILE", "CSV of metadata; its first column names the networks.")
    ] = None,
    groups: Annotated[
        str | None, option("COLUMN", "Leave out each group of this column in turn.")
    ] = None,
    repeats: Annotated[int, number("Number of random test sets.", min=1)] = 20,
    permutations: Annotated[int, number("Number of permutations for a p-value.", min=0)] = 0,
    out: Annotated[
        Path | None, option("FILE", "A table: .csv, .npz or .json.", "--out", "-o")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """List nearest neighbours, or predict metadata from them.

    \b
    Examples:
      repshape neighbors distances.npz --of mouse-3 -k 5
      repshape neighbors distances.npz --target area --groups animal --permutations 999
    """  # noqa: D301
    import pandas as pd

    from repshape.analysis.neighbors import nearest_neighbors
    from repshape.io.tables import join_metadata, write_table
    from repshape.matrix.distances import DistanceMatrix

    if target is not None and of is not None:
        raise typer.BadParameter("--of lists neighbours and --target predicts: use one of them.")
    if target is None and groups is not None:
        raise typer.BadParameter("--groups needs --target.")
    files = [out] if out else []
    check_tables(files, inputs=[matrix, *([metadata] if metadata else [])])
    D = join_metadata(DistanceMatrix.load(matrix), metadata)
    if target is None:
        found = [nearest_neighbors(D, name, count) for name in (D.labels if of is None else [of])]
        table = pd.concat([one.to_frame() for one in found])
        summary: dict[str, Any] = {"networks": len(D), "neighbors": table.to_dict("records")}
        table, lines = table.set_index("network"), [one.words() for one in found]
    else:
        score = _predictor(D, target, kind)(
            D,
            target,
            groups=groups,
            n_repeats=repeats,
            n_permutations=permutations,
            random_state=seed,
        )
        table, summary = score.to_frame(), {"target": target} | score.summary()
        lines = [f"{target}: {score.words()}"]
    for file in files:
        write_table(file, table, summary)
        lines.append(f"Wrote {file}")
    data = summary | {"files": [str(file) for file in files]}
    tell(lines, data, as_json=as_json, quiet=quiet)


def _predictor(D: DistanceMatrix, target: str, kind: TargetKind) -> Callable[..., NeighborScore]:
    """Return the function that predicts a column of the metadata, as classes or as numbers."""
    from repshape.analysis.neighbors import knn_classify, knn_regress

    numbers = kind is TargetKind.numbers
    if kind is TargetKind.auto and target in D.metadata:
        numbers = D.metadata[target].dtype.kind == "f"
    return knn_regress if numbers else knn_classify


def _save_repaired(result: Repaired, path: Path) -> None:
    """Write a repaired matrix; JSON also holds the summary of the repair."""
    from repshape.io.json import json_text
    from repshape.io.matrices import metadata_to_json
    from repshape.io.writing import open_output

    D = result.matrix
    if path.suffix != ".json":
        D.save(path)
        return
    data = result.summary() | {
        "labels": D.labels,
        "values": D.values,
        "metadata": metadata_to_json(D.metadata),
        "description": D.description,
    }
    with open_output(path) as handle:
        handle.write(json_text(data).encode())
