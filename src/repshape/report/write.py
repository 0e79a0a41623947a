"""Write a report: read, check, assess, draw, render, and put it in place whole."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from repshape._arrays import count
from repshape._parallel import run_all
from repshape._version import package_version
from repshape.errors import InputError, StorageError, check_integer
from repshape.io.writing import atomic_write
from repshape.io.zarr import writable
from repshape.report.data import NEIGHBOURS, page_data
from repshape.report.pairs import view_pairs
from repshape.report.quality import (
    FULL,
    MOST_COLUMNS,
    PERMUTATIONS,
    Prediction,
    Quality,
    assess,
    predict_columns,
)
from repshape.report.render import render
from repshape.report.sources import (
    CohortLike,
    MatrixLike,
    Source,
    joint_metadata,
    read_cohorts,
    read_sources,
)
from repshape.report.words import many, settings_table, what_was_measured

# Pairs whose alignment is drawn, for each matrix; a pair takes a few hundred bytes of the page.
MAX_PAIRS = 1000


@dataclass(frozen=True)
class Report:
    """A page that was written.

    Attributes
    ----------
    path : pathlib.Path
        Where it is.
    n_bytes : int
        How large it is.
    n_networks : int
        How many networks it shows.
    matrices : tuple of str
        What it calls the matrices.
    left_out : tuple of str
        What it leaves out or simplifies, a sentence each; the page says the same.
    """

    path: Path
    n_bytes: int
    n_networks: int
    matrices: tuple[str, ...]
    left_out: tuple[str, ...]

    def summary(self) -> dict[str, Any]:
        """Return the same, ready for JSON."""
        return {
            "file": str(self.path),
            "bytes": self.n_bytes,
            "networks": self.n_networks,
            "matrices": list(self.matrices),
            "left_out": list(self.left_out),
        }


def write_report(
    matrices: MatrixLike | Sequence[MatrixLike] | Mapping[str, MatrixLike],
    path: str | os.PathLike[str],
    *,
    cohort: CohortLike | Sequence[CohortLike] | None = None,
    title: str | None = None,
    max_pairs: int = MAX_PAIRS,
    random_state: int = 0,
    progress: bool | None = None,
) -> Report:
    """Write one self-contained page that shows a cohort.

    It holds what was measured, in words; a map of all distances linked with a plane of the
    networks; each pair before and after alignment; what was checked; what neighbours tell; and
    tables that can be searched, sorted and saved. It loads nothing from anywhere.

    Parameters
    ----------
    matrices : DistanceMatrix, path, sequence of them, or mapping of names to them
        Distances of the same networks in the same order, complete or not. A path is a store, a
        folder of stores, ``.npz`` or ``.csv``. Names are made from the metrics if not given.
    path : path
        The file to write, ``.html``; it is replaced whole or not at all.
    cohort : Cohort or path, or one for each matrix, optional
        The responses, for the pictures of pairs. Alignments are read from a store that kept
        them, and found again otherwise.
    title : str, optional
        The heading.
    max_pairs : int
        Pairs to draw for each matrix, nearest neighbours first.
    random_state : int
        Seed of the starts of the embeddings and of the splits of the predictions.
    progress : bool, optional
        Show progress on stderr. By default only if that is a terminal.

    Returns
    -------
    Report

    Examples
    --------
    >>> import tempfile
    >>> import repshape as rs
    >>> toy = rs.datasets.toy_networks(3, 2)
    >>> D = rs.pairwise(toy, rs.GaussianShapeMetric())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = rs.write_report(D, f"{folder}/report.html")
    >>> report.n_networks, report.matrices
    (6, ('Gaussian, α = 1',))
    """
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"The 'path' parameter must end in .html. Got {str(target)!r} instead.")
    if not target.parent.is_dir() or target.is_dir():
        raise StorageError(f"Cannot write to {target}: it is a folder, or there is none for it.")
    check_integer("max_pairs", max_pairs, 0)
    check_integer("random_state", random_state, 0)
    sources = read_sources(matrices)
    cohorts = read_cohorts(sources, cohort)
    metadata = joint_metadata(sources, cohorts)
    qualities = run_all(
        lambda one: assess(one, random_state), sources, what="matrices", progress=progress
    )
    views = [
        view_pairs(one, responses, max_pairs, progress)
        for one, responses in zip(sources, cohorts, strict=True)
    ]
    predictions = predict_columns(sources, metadata, random_state, progress)
    left_out = _left_out(sources, metadata, max_pairs if cohort is not None else None)
    context = _context(sources, qualities, predictions, left_out, title)
    page = render(context, page_data(sources, metadata, qualities, views))
    content = page.encode("utf-8", "replace")  # half a surrogate pair has no encoding
    with writable(target), atomic_write(target) as handle:
        handle.write(content)
    names = tuple(source.name for source in sources)
    return Report(target, len(content), len(sources[0].matrix), names, left_out)


def _left_out(
    sources: Sequence[Source], metadata: pd.DataFrame, drawn: int | None
) -> tuple[str, ...]:
    size, pairs = len(sources[0].matrix), sources[0].matrix.condensed().size
    notes = []
    if size > FULL:
        notes.append(
            f"With more than {FULL} networks the table of pairs lists the {NEIGHBOURS} nearest of "
            "each network, the map shows distances to 1 part in 254 of their range, the plane is "
            "by classical scaling, and nothing is repaired."
        )
    if drawn is not None and drawn < pairs:
        notes.append(f"{drawn} of {many(pairs, 'pair')} can be drawn before and after alignment.")
    if len(metadata.columns) > MOST_COLUMNS:
        notes.append(f"Only the first {MOST_COLUMNS} columns are judged by neighbours.")
    return tuple(notes)


def _context(
    sources: Sequence[Source],
    qualities: Sequence[Quality],
    predictions: Sequence[Prediction],
    left_out: tuple[str, ...],
    title: str | None,
) -> dict[str, Any]:
    """Return what the template writes as text."""
    size = len(sources[0].matrix)
    first = next((one.found for one in predictions if one.found is not None), None)
    return {
        "title": title or f"Shape distances of {count(size, 'network')}",
        "version": package_version(),
        "networks": many(size, "network"),
        "pairs": many(sources[0].matrix.condensed().size, "pair"),
        "matrices": [
            {
                "name": source.name,
                "measured": what_was_measured(source.matrix.description),
                "settings": settings_table(source.matrix.description),
                "checks": quality.checks,
            }
            for source, quality in zip(sources, qualities, strict=True)
        ],
        "predictions": predictions,
        "protocol": "" if first is None else first.method,
        "permutations": PERMUTATIONS,
        "left_out": left_out,
    }
