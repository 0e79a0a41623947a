"""The command that tests whether groups of networks differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from repshape.cli.options import Matrix, Printing, Seed, Text, number, option
from repshape.cli.shared import check_tables

if TYPE_CHECKING:
    from repshape.inference.confounds import Confounds
    from repshape.matrix.distances import DistanceMatrix


@dataclass(frozen=True, kw_only=True)
class GroupsOptions(Printing):
    """Options of the command groups."""

    matrix: Matrix
    labels: Annotated[str, option("COLUMN", "Column of the metadata that names the groups.")]
    blocks: Annotated[
        Text,
        option(
            "COLUMN",
            "Column of what networks have in common, such as the animal. Blocks are permuted "
            "whole if each belongs to one group, and labels within blocks otherwise.",
        ),
    ] = None
    metadata: Annotated[
        Path | None, option("FILE", "CSV of metadata; its first column names the networks.")
    ] = None
    cohort: Annotated[
        Path | None,
        option(
            "FOLDER",
            "Cohort of these networks, to repeat the test on angles and norms, and on networks "
            "of the same size if the groups differ in it.",
        ),
    ] = None
    permutations: Annotated[
        int, number("Random permutations; all are used if there are fewer.", min=1)
    ] = 9999
    out: Annotated[
        Path | None,
        option("FILE", "Pairs of groups as a table: .csv, .npz or .json.", "--out", "-o"),
    ] = None
    seed: Seed = 0


def groups(given: GroupsOptions) -> None:
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

    files = check_tables([given.out], inputs=[given.matrix, given.metadata])
    D = as_complete(join_metadata(DistanceMatrix.load(given.matrix), given.metadata))
    settings: dict[str, Any] = {"n_permutations": given.permutations, "random_state": given.seed}
    found = compare_groups(D, given.labels, given.blocks, **settings)
    confounds = None
    if given.cohort is not None:
        confounds = _confounds(given.cohort, D, given)
        found = replace(found, factors=())  # of which the confounds say more
    lines = found.words()
    if len(found.groups) > 2:
        lines += [
            f"{row.first} and {row.second}: distance {row.distance:.3g}, "
            f"p = {row.p_value:.3g} ({row.holm_p_value:.3g} after Holm's correction)."
            for row in found.pairs.itertuples()
        ]
    summary = {"labels": given.labels, "blocks": given.blocks} | found.summary()
    if confounds is not None:
        lines += confounds.words()
        tests = confounds.tests.items()
        summary["p_values"] = {name: test.p_value for name, test in tests}
        summary |= {"gain_share": confounds.gain_share, "floor_share": confounds.floor_share}
        summary["factors"] = table_of(confounds.factors)
    for file in files:
        write_table(file, found.pairs.set_index("first"), summary)
    given.tell(lines, summary, files)


def _confounds(path: Path, D: DistanceMatrix, given: GroupsOptions) -> Confounds:
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
            labels=text_column(D, given.labels, "labels"),
            blocks=None if given.blocks is None else text_column(D, given.blocks, "blocks"),
            n_permutations=given.permutations,
            random_state=given.seed,
        )
