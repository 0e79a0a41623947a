"""The command that compares models with brains."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from repshape.cli.options import Printing, Text, Workers, argument, number, option
from repshape.cli.pairwise import MetricOptions, make_one_metric
from repshape.cli.shared import check_tables, resumable, usage, warnings_in_words
from repshape.errors import FewTrialsWarning


@dataclass(frozen=True, kw_only=True)
class ModelsOptions(MetricOptions, Printing):
    """Options of the command models."""

    brains: Annotated[Path, argument("BRAINS", "The cohort of brains, with trials.")]
    models: Annotated[Path, argument("MODELS", "The cohort of models.")]
    blocks: Annotated[
        Text,
        option(
            "COLUMN",
            "Column of the brains' metadata that names the animal, if there are several recordings "
            "of one.",
        ),
    ] = None
    over: Annotated[
        str,
        option("NAME", "What intervals and tests are about: other brains, conditions, or both."),
    ] = "brains"
    margin: Annotated[
        float,
        number(
            "A model is close enough if it is farther from the brains than they are from each "
            "other by less than this fraction.",
            min=0,
        ),
    ] = 0.1
    permutations: Annotated[
        int, number("Random sign flips; all are used if there are fewer.", min=1)
    ] = 9999
    store: Annotated[
        Path | None, option("FOLDER", "Folder that keeps finished parts, to resume from.")
    ] = None
    workers: Workers = None
    out: Annotated[
        Path | None,
        option(
            "FILE",
            "Models and ceilings as a table (.csv or .npz), or everything, which repshape report "
            "reads (.json).",
            "--out",
            "-o",
        ),
    ] = None


def models(given: ModelsOptions) -> None:
    """Compare models with brains, and find the nearest one.

    Distances are corrected for noise, with intervals, and compared with two ceilings: the distance
    between brains, and that of a brain from the mean of the others. The steps of preprocessing are
    those of repshape pairwise.

    \b
    Examples:
      repshape models mice.zarr layers.zarr --components 10 -o models.csv
      repshape models mice.zarr layers.zarr --components 10 --alpha 2 --blocks mouse
      repshape models mice.zarr layers.zarr --components 10 --over both --store parts
    """  # noqa: D301 (click reads the backspace)
    import warnings

    from repshape.errors import check_choice
    from repshape.inference.factors import UnequalSizesWarning
    from repshape.inference.model_errors import OVER
    from repshape.inference.model_file import is_comparison
    from repshape.inference.models import models as compare
    from repshape.inference.subspaces import UnstableSubspaceWarning
    from repshape.inference.terms import check_metric
    from repshape.io.cohort import Cohort
    from repshape.io.tables import write_table

    files = check_tables([given.out], inputs=[given.brains, given.models])
    with usage():
        metric = check_metric(make_one_metric(given))
        check_choice("over", given.over, OVER)
    kept = resumable(given.store, "All finished parts")
    with kept, warnings_in_words(FewTrialsWarning, quiet=given.quiet):
        warnings.simplefilter("ignore", UnequalSizesWarning)  # the words say it
        with warnings_in_words(UnstableSubspaceWarning, quiet=given.quiet):
            found = compare(
                Cohort.open(given.brains),
                Cohort.open(given.models),
                metric,
                blocks=given.blocks,
                over=given.over,
                margin=given.margin,
                n_permutations=given.permutations,
                random_state=given.random_state or 0,
                store=given.store,
                workers=given.workers,
                progress=given.progress,
            )
    summary = found.summary()
    for file in files:
        if is_comparison(file):
            found.save(file)
        else:
            write_table(file, found.to_frame(), summary)
    given.tell(found.words(), summary, files)
