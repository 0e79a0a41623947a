"""The command that repairs a matrix of distances: repair."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from repshape.cli.options import Matrix, Printing, option
from repshape.cli.shared import check_tables, load_matrix

if TYPE_CHECKING:  # slow to import: not for --help
    from repshape.matrix.repair import Repaired


@dataclass(frozen=True, kw_only=True)
class RepairOptions(Printing):
    """Options of the command repair."""

    matrix: Matrix
    out: Annotated[Path, option("FILE", "The repaired matrix: .npz, .csv or .json.", "--out", "-o")]


def repair(given: RepairOptions) -> None:
    """Find the nearest matrix that satisfies the triangle inequality.

    \b
    Example:
      repshape repair distances.npz -o repaired.npz
    """  # noqa: D301 (click reads the backspace)
    from repshape.matrix.repair import repair as repair_matrix

    files = check_tables([given.out], inputs=[given.matrix])
    result = repair_matrix(load_matrix(given.matrix))
    _save_repaired(result, given.out)
    given.tell([result.words()], result.summary(), files)


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
