"""The command that computes distances between two cohorts: cross."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from repshape.cli.options import Printing, argument, option
from repshape.cli.pairwise import (
    ChangeOptions,
    MetricOptions,
    RunOptions,
    make_one_metric,
    make_settings,
    tell_estimate,
    tell_known,
)
from repshape.cli.shared import (
    check_output_folder,
    check_outputs,
    resumable,
    usage,
    warnings_in_words,
)
from repshape.errors import FewTrialsWarning, SearchWarning

if TYPE_CHECKING:  # slow to import: not for --help
    from repshape.matrix.cross import CrossDistances

FILE = ".npz"  # a name with another ending is that of a store


@dataclass(frozen=True, kw_only=True)
class CrossOptions(MetricOptions, RunOptions, ChangeOptions, Printing):
    """Options of the command cross."""

    rows: Annotated[Path, argument("ROWS", "The cohort of the rows.")]
    columns: Annotated[Path, argument("COLUMNS", "The cohort of the columns.")]
    out: Annotated[
        Path,
        option(
            "PATH",
            "File to write (.npz), or directory. A computation into a directory can be resumed.",
            "--out",
            "-o",
        ),
    ]


def cross(given: CrossOptions) -> None:
    """Compute the distances between the networks of two cohorts.

    Pairs within a cohort are not computed. If the output is a directory, an interrupted run resumes
    when you repeat the command, and several shards can work on it at the same time. Name networks
    for --replace and --remove with their side, as in rows/NAME or columns/NAME. The steps of
    preprocessing are those of repshape pairwise.

    \b
    Examples:
      repshape cross mice.zarr layers.zarr -o c.npz --components 20
      repshape cross resnet.zarr vgg.zarr -o c.zarr --components 50 --shard 2/8
    """  # noqa: D301 (click reads the backspace)
    from repshape.engine.cross import plan_cross
    from repshape.io.cohort import Cohort
    from repshape.report.info import describe_cross

    in_file, inputs = given.out.suffix == FILE, [given.rows, given.columns]
    if in_file:
        check_outputs([given.out], inputs=inputs)
    else:
        check_output_folder(given.out, inputs=inputs)
    with usage():
        metric = make_one_metric(given)
        settings = make_settings(given, given, in_file, given.out)
    rows, columns = Cohort.open(given.rows), Cohort.open(given.columns)
    kept = resumable(given.out, "All finished tiles")
    with kept, warnings_in_words(FewTrialsWarning, quiet=given.quiet):
        warnings.simplefilter("ignore", SearchWarning)  # the description says it in words
        store = None if in_file else given.out
        changes = {"replace": given.replace, "remove": given.remove}
        run = plan_cross(rows, columns, metric, None, store, settings, **changes)
        if given.estimate:
            tell_estimate(run, given.out, given)
            return
        known = tell_known(run, given)
        C: CrossDistances = run.run()[""]
    if in_file:
        C.save(given.out)
    found = describe_cross(C, str(given.out))
    lines = [f"{given.out}: {found.lines[0]}", *found.lines[1:]]
    given.tell(lines, found.data | {"known_pairs": known})
