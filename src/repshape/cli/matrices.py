"""The commands that read a saved matrix of distances: repair, embed, neighbors."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from repshape.cli.shared import AsJson, Quiet, Seed, check_tables, tell

if TYPE_CHECKING:  # slow to import: not for --help
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
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The repaired matrix: .npz, .csv or .json."
        ),
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
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="The points: .csv, .npz or .json."),
    ],
    components: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Dimension of the points.")
    ] = 2,
    method: Annotated[Method, typer.Option(help="Kind of multi-dimensional scaling.")] = (
        Method.metric
    ),
    pca_from: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="Embed in this many dimensions first, then keep the principal components.",
        ),
    ] = None,
    starts: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Starting points of metric scaling.")
    ] = 4,
    align_to: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rotate the points onto these, from an earlier embed."),
    ] = None,
    scale: Annotated[
        bool, typer.Option("--scale", help="Also scale the points to those of --align-to.")
    ] = False,
    curve: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write the distortion in 1 to 20 dimensions to this file."
        ),
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
    from repshape.analysis.distortion import distortion_curve
    from repshape.analysis.embedding import embed as embed_matrix
    from repshape.cli.results import aligned_points, embedding_summary, with_metadata
    from repshape.io.tables import write_table
    from repshape.matrix.distances import DistanceMatrix

    files = [out, *([curve] if curve else [])]
    check_tables(files, inputs=[matrix, *([align_to] if align_to else [])])
    D = DistanceMatrix.load(matrix)
    found = embed_matrix(
        D, components, method=method.value, pca_from=pca_from, n_init=starts, random_state=seed
    )
    summary, table = embedding_summary(D, found), found.to_frame()
    if align_to is not None:
        table, alignment = aligned_points(found, align_to, scale)
        summary |= alignment
    write_table(out, with_metadata(table, D), summary)
    if curve:
        frame = distortion_curve(D, method=method.value, random_state=seed).to_frame()
        write_table(curve, frame, {"method": method.value})
    lines = [f"{len(D)} networks by {found.method}: stress {found.stress:.3g}."]
    lines += [f"Wrote {file}" for file in files]
    data = summary | {"files": [str(file) for file in files]}
    tell(lines, data, as_json=as_json, quiet=quiet)


def neighbors(
    matrix: Matrix,
    of: Annotated[
        str | None,
        typer.Option(metavar="NETWORK", help="List the neighbours of this network only."),
    ] = None,
    count: Annotated[
        int, typer.Option("-k", min=1, metavar="NUMBER", help="Number of neighbours to list.")
    ] = 5,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Predict this column of the metadata instead."),
    ] = None,
    kind: Annotated[
        TargetKind,
        typer.Option(help="How to read the target; auto reads whole numbers as classes."),
    ] = TargetKind.auto,
    metadata: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV of metadata; its first column names the networks."),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Leave out each group of this column in turn."),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Number of random test sets.")
    ] = 20,
    permutations: Annotated[
        int,
        typer.Option(min=0, metavar="NUMBER", help="Number of permutations for a p-value."),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="A table: .csv, .npz or .json."),
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
    from repshape.cli import results
    from repshape.io.tables import write_table
    from repshape.matrix.distances import DistanceMatrix

    if target is not None and of is not None:
        raise typer.BadParameter("--of lists neighbours and --target predicts: use one of them.")
    if target is None and groups is not None:
        raise typer.BadParameter("--groups needs --target.")
    files = [out] if out else []
    check_tables(files, inputs=[matrix, *([metadata] if metadata else [])])
    D = results.join_metadata(DistanceMatrix.load(matrix), metadata)
    if target is None:
        table = results.neighbor_table(D, D.labels if of is None else [of], count)
        summary: dict[str, Any] = {"networks": len(D), "neighbors": table.to_dict("records")}
        lines = results.neighbor_words(table)
    else:
        score = results.predict(D, target, kind.value, groups, repeats, permutations, seed)
        table, summary = results.score_table(score), {"target": target} | score.summary()
        lines = [results.score_words(target, score)]
    for file in files:
        write_table(file, table.set_index(table.columns[0]), summary)
        lines.append(f"Wrote {file}")
    data = summary | {"files": [str(file) for file in files]}
    tell(lines, data, as_json=as_json, quiet=quiet)


def _save_repaired(result: Repaired, path: Path) -> None:
    """Write a repaired matrix; JSON also holds the summary of the repair."""
    from repshape.io.json import json_text
    from repshape.io.matrices import metadata_to_json
    from repshape.io.writing import atomic_write

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
    with atomic_write(path) as handle:
        handle.write(json_text(data).encode())
