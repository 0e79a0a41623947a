"""`write_report`: read the input, check it, draw the pairs, and write the page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repshape._compact import compact_repr
from repshape.errors import InputError, check_integer
from repshape.io.paths import check_output_file
from repshape.io.writing import open_output
from repshape.report.page import render_page, simplifications
from repshape.report.pairs import view_pairs
from repshape.report.quality import assess
from repshape.report.sources import CohortLike, MatrixLike, read_inputs

# Number of pairs of each matrix that are drawn; a pair takes a few hundred bytes of the page.
MAX_PAIRS = 1000


@compact_repr
@dataclass(frozen=True)
class Report:
    """The result of `write_report`.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    n_bytes : int
        Size of the file.
    n_networks : int
        Number of networks.
    matrices : tuple of str
        Names of the matrices on the page.
    left_out : tuple of str
        What the page leaves out or simplifies, in one sentence each. The page says the same.
    """

    path: Path
    n_bytes: int
    n_networks: int
    matrices: tuple[str, ...]
    left_out: tuple[str, ...]

    def summary(self) -> dict[str, Any]:
        """Return the attributes, ready for JSON."""
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
    """Write a self-contained, interactive HTML page about the distances of a cohort.

    The page describes what was measured and shows a heat map of all distances next to an
    embedding of the networks, each pair before and after alignment, checks of the distances,
    predictions of the metadata from nearest neighbours, and tables that can be searched, sorted
    and saved. It loads nothing from the network.

    Parameters
    ----------
    matrices : DistanceMatrix, path, sequence of them, or mapping of names to them
        Distances between the same networks in the same order; pairs may be missing. A path is a
        store, a folder of stores, an ``.npz`` file or a ``.csv`` file. By default, matrices are
        named after their metrics.
    path : path
        The ``.html`` file to write. An existing file is replaced only once the page is complete.
    cohort : Cohort or path, or one for each matrix, optional
        The responses, which are needed to draw pairs. Alignments are read from the store if it
        kept them, and computed again otherwise.
    title : str, optional
        The heading of the page.
    max_pairs : int
        Maximum number of pairs to draw for each matrix, nearest neighbours first.
    random_state : int
        Seed of the embeddings and of the splits into training and test networks.
    progress : bool, optional
        Whether to show progress on stderr. By default, only if stderr is a terminal.

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
    check_output_file(target)
    check_integer("max_pairs", max_pairs, 0)
    check_integer("random_state", random_state, 0)
    inputs = read_inputs(matrices, cohort)
    qualities = assess(inputs, random_state, progress)
    views = [view_pairs(source, max_pairs, progress) for source in inputs.sources]
    left_out = simplifications(inputs, max_pairs if cohort is not None else None)
    page = render_page(inputs, qualities, views, left_out, title)
    content = page.encode("utf-8", "replace")  # a lone surrogate cannot be encoded
    with open_output(target) as handle:
        handle.write(content)
    names = tuple(source.name for source in inputs.sources)
    return Report(target, len(content), len(inputs.labels), names, left_out)
