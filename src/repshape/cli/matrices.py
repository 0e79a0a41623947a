"""The command that repairs a matrix of distances: repair."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from repshape.cli.shared import (
    AsJson,
    Quiet,
    check_tables,
    load_matrix,
    option,
    tell,
)

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
