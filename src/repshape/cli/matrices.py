"""The commands that repair a matrix of distances and find neighbours in it: repair, neighbors."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from repshape.cli.shared import (
    AsJson,
    Metadata,
    Quiet,
    Seed,
    check_tables,
    load_matrix,
    number,
    option,
    tell,
)

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
    from repshape.matrix.repair import repair as repair_matrix

    check_tables([out], inputs=[matrix])
    result = repair_matrix(load_matrix(matrix))
    _save_repaired(result, out)
    lines = [result.words(), f"Wrote {out}"]
    tell(lines, result.summary() | {"files": [str(out)]}, as_json=as_json, quiet=quiet)


def neighbors(
    matrix: Matrix,
    of: Annotated[
        str | None, option("NETWORK", "List the neighbours of this network only.")
    ] = None,
    count: Annotated[int, number("Number of neighbours to list.", "-k", min=1)] = 5,
    target: Annotated[
        str | None, option("COLUMN", "Predict this column of the metadata from nearest neighbours.")
    ] = None,
    kind: Annotated[
        TargetKind,
        typer.Option(help="What to predict; auto predicts numbers if the column holds numbers."),
    ] = TargetKind.auto,
    metadata: Metadata = None,
    groups: Annotated[
        str | None,
        option("COLUMN", "Hold out each group of networks in turn, such as those of one animal."),
    ] = None,
    repeats: Annotated[int, number("Number of random test sets for --target.", min=1)] = 20,
    permutations: Annotated[int, number("Number of permutations for a p-value.", min=0)] = 0,
    out: Annotated[
        Path | None, option("FILE", "Table to write: .csv, .npz or .json.", "--out", "-o")
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

    if target is not None and of is not None:
        raise typer.BadParameter("--of lists neighbours and --target predicts: use one of them.")
    if target is None and groups is not None:
        raise typer.BadParameter("--groups needs --target.")
    files = [out] if out else []
    check_tables(files, inputs=[matrix, *([metadata] if metadata else [])])
    D = join_metadata(load_matrix(matrix), metadata)
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
    from repshape.io.tables import is_numeric

    numbers = kind is TargetKind.numbers
    if kind is TargetKind.auto and target in D.metadata:
        numbers = is_numeric(D.metadata[target])
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
