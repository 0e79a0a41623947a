"""The command that tests whether groups of networks differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from repshape.cli.matrices import Matrix
from repshape.cli.shared import AsJson, Quiet, Seed, check_tables, tell

if TYPE_CHECKING:
    from repshape.inference.confounds import Confounds
    from repshape.matrix.distances import DistanceMatrix


def groups(
    matrix: Matrix,
    labels: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column of the metadata that names the groups.")
    ],
    blocks: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of what networks have in common, such as the animal. Blocks are permuted "
            "whole if each belongs to one group, and labels within blocks otherwise.",
        ),
    ] = None,
    metadata: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV of metadata; its first column names the networks."),
    ] = None,
    cohort: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Cohort of these networks, to repeat the test on angles and norms, and on "
            "networks of the same size if the groups differ in it.",
        ),
    ] = None,
    permutations: Annotated[
        int,
        typer.Option(
            min=1, metavar="NUMBER", help="Random permutations; all are used if there are fewer."
        ),
    ] = 9999,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Pairs of groups as a table: .csv, .npz or .json."
        ),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Test whether groups of networks differ.

    \b
    Examples:
      repshape groups distances.npz --labels area --blocks mouse
      repshape groups distances.npz --labels genotype --metadata mice.csv -o pairs.csv
      repshape groups distances.npz --labels area --blocks mouse --cohort mice.zarr
    """  # noqa: D301 (click reads the backspace)
    from repshape.inference.factors import table_of
    from repshape.inference.groups import compare_groups
    from repshape.io.tables import join_metadata, write_table
    from repshape.matrix.distances import DistanceMatrix, as_complete

    files = [out] if out else []
    check_tables(files, inputs=[matrix, *([metadata] if metadata else [])])
    D = as_complete(join_metadata(DistanceMatrix.load(matrix), metadata))
    found = compare_groups(D, labels, blocks, n_permutations=permutations, random_state=seed)
    confounds = None
    if cohort is not None:
        confounds = _confounds(cohort, D, labels, blocks, permutations, seed)
        found = replace(found, factors=())  # of which the confounds say more
    lines = found.words()
    if len(found.groups) > 2:
        lines += [
            f"{row.first} and {row.second}: distance {row.distance:.3g}, "
            f"p = {row.p_value:.3g} ({row.holm_p_value:.3g} after Holm's correction)."
            for row in found.pairs.itertuples()
        ]
    summary = {"labels": labels, "blocks": blocks} | found.summary()
    if confounds is not None:
        lines += confounds.words()
        tests = confounds.tests.items()
        summary["p_values"] = {name: test.p_value for name, test in tests}
        summary |= {"gain_share": confounds.gain_share, "floor_share": confounds.floor_share}
        summary["factors"] = table_of(confounds.factors)
    for file in files:
        write_table(file, found.pairs.set_index("first"), summary)
        lines.append(f"Wrote {file}")
    data = summary | {"files": [str(file) for file in files]}
    tell(lines, data, as_json=as_json, quiet=quiet)


def _confounds(
    path: Path, D: DistanceMatrix, labels: str, blocks: str | None, permutations: int, seed: int
) -> Confounds:
    """Repeat the test on angles and norms, with the metric that the matrix was computed with."""
    import warnings

    from repshape.errors import FewTrialsWarning, InputError
    from repshape.inference.columns import text_column
    from repshape.inference.confounds import confounds
    from repshape.inference.factors import UnequalSizesWarning
    from repshape.inference.subspaces import UnstableSubspaceWarning
    from repshape.io.cohort import Cohort
    from repshape.metrics.gaussian import GaussianShapeMetric
    from repshape.metrics.identity import restore

    metric = restore(D.description)
    if not isinstance(metric, GaussianShapeMetric):
        raise InputError(
            "Angles and norms need distances of a GaussianShapeMetric, computed by "
            "'repshape pairwise'."
        )
    with warnings.catch_warnings():
        # The words say what these warnings say.
        for kind in (FewTrialsWarning, UnequalSizesWarning, UnstableSubspaceWarning):
            warnings.simplefilter("ignore", kind)
        return confounds(
            Cohort.open(path)[list(D.labels)],
            metric,
            D=D,
            labels=text_column(D, labels, "labels"),
            blocks=None if blocks is None else text_column(D, blocks, "blocks"),
            n_permutations=permutations,
            random_state=seed,
        )
