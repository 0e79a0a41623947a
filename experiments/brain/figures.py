"""Draw all figures of a run from what it stored, and write the report of its cohort."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import repshape as rs
from experiments.brain import headline, new_figures, paper_figures
from experiments.brain.claims import CLASSES, DRIFTING
from experiments.brain.cohort_page import write_page
from experiments.brain.results import collect, read_results
from experiments.brain.settings import Source
from experiments.brain.study import Study
from experiments.common import drawing
from experiments.common.files import write_whole

Draw = Callable[[Study, dict[str, Any]], Figure]

REPORT = drawing.REPORT


def chosen_figures(study: Study, others: Sequence[dict[str, Any]]) -> dict[str, Draw]:
    """Return the figures that the results of a run allow, by name."""
    roles = {one.role for one in study.classes}
    out: dict[str, Draw] = {}
    if roles.issuperset(CLASSES):
        out |= {
            "fig3": paper_figures.figure3,
            "noise": new_figures.noise,
            "multiverse": new_figures.multiverse,
        }
        if study.source is Source.SIMULATED:
            out["truth"] = new_figures.truth
    if roles.intersection(DRIFTING):
        out["supp5"] = paper_figures.supplement5
    if "natural" in roles:
        out["supp6"] = paper_figures.supplement6
    out["side-by-side"] = partial(headline.side_by_side, others=others)
    return out


def draw_all(
    study: Study,
    beside: Sequence[Path],
    workers: int,
    on_start: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[dict[str, Any]]:
    """Decide the claims, and draw all figures and the report; yield the name of each.

    Parameters
    ----------
    study : Study
    beside : sequence of Path
        Results of other runs, and of the VAE study, for the figure that compares them.
    workers : int
        Not used: figures take seconds.
    on_start : callable
        Called once, with 0 and the number of figures.
    """
    others = [json.loads(path.read_text()) for path in beside]
    collect(study, others)
    results = read_results(study.out)
    figures = chosen_figures(study, others)
    on_start(0, len(figures) + 1)
    for name, draw in figures.items():
        with rs.plots.style():
            figure = draw(study, results)
            for suffix, options in drawing.FORMATS.items():
                with write_whole(study.out / f"{name}.{suffix}") as handle:
                    figure.savefig(handle, format=suffix, **options)
        yield {"name": name}
    write_page(study)
    yield {"name": REPORT}
