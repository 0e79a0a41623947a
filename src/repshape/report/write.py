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
from repshape.report.evidence import find_groups
from repshape.report.page import render_page, simplifications
from repshape.report.sources import CohortLike, MatrixLike, TableLike, read_inputs
from repshape.report.study import Plan, study

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
        Sentences about what the page leaves out or simplifies. The page shows them, too.
    sentences : tuple of str
        The three sentences at the top of the page, about the first matrix: what the networks
        differ in, how much of the distances is noise, and how sure the distances are.
    """

    path: Path
    n_bytes: int
    n_networks: int
    matrices: tuple[str, ...]
    left_out: tuple[str, ...]
    sentences: tuple[str, str, str]

    def summary(self) -> dict[str, Any]:
        """Return the attributes, ready for JSON."""
        return {
            "file": str(self.path),
            "bytes": self.n_bytes,
            "networks": self.n_networks,
            "matrices": list(self.matrices),
            "left_out": list(self.left_out),
            "sentences": list(self.sentences),
        }


def write_report(
    matrices: MatrixLike | Sequence[MatrixLike] | Mapping[str, MatrixLike],
    path: str | os.PathLike[str],
    *,
    cohort: CohortLike | Sequence[CohortLike] | None = None,
    metadata: TableLike | None = None,
    title: str | None = None,
    labels: str | None = None,
    blocks: str | None = None,
    max_pairs: int = MAX_PAIRS,
    max_intervals: int | None = None,
    random_state: int = 0,
    progress: bool | None = None,
) -> Report:
    """Write a self-contained, interactive HTML page about the distances of a cohort.

    The page begins with three sentences about the matrix that is shown, the first one at first:
    what the networks differ in, how much of the distances is noise, and how sure the distances are.
    It describes what was measured and shows a heat map of all distances next to an embedding of the
    networks, each pair before and after alignment, checks of the distances, predictions of the
    metadata from nearest neighbours, and tables that can be searched, sorted and saved. It loads
    nothing from the network.

    Parameters
    ----------
    matrices : DistanceMatrix, path, sequence of them, or mapping of names to them
        Distances between the same networks in the same order; pairs may be missing. A path is a
        store, a folder of stores, an ``.npz`` file or a ``.csv`` file. By default, matrices are
        named after their metrics.
    path : path
        The ``.html`` file to write. An existing file is replaced only once the page is complete.
    cohort : Cohort or path, or one for each matrix, optional
        The responses, which are needed to draw pairs, and to say how much of the distances is
        noise, gain or a matter of trial counts. Alignments are read from the store if it kept them,
        and computed again otherwise.
    metadata : pandas.DataFrame or path of a CSV file, optional
        Further columns about the networks, which replace those of the same name. The index of the
        table, or the first column of the file, names the networks; rows of other networks are
        ignored. A table with the default index 0, 1, ... is in the order of the networks.
    title : str, optional
        The heading of the page.
    labels : str, optional
        The column of the metadata whose groups are compared, as in `repshape.inference.groups`. By
        default the first column of text whose groups have at least two networks each.
    blocks : str, optional
        The column that says which networks are not independent of each other, for example because
        they come from the same animal; see `repshape.inference.groups`.
    max_pairs : int
        Maximum number of pairs to draw for each matrix, nearest neighbours first.
    max_intervals : int, optional
        Maximum number of pairs of each matrix whose distance is corrected for noise and gets a
        confidence interval, nearest neighbours first. Each pair takes 320 alignments; by default
        there are as many pairs as take some seconds. A matrix from `repshape.inference.matrix` has
        intervals for all pairs already.
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
        raise InputError(f"The name of a report must end in .html. Got {str(target)!r} instead.")
    check_output_file(target)
    check_integer("max_pairs", max_pairs, 0)
    if max_intervals is not None:
        check_integer("max_intervals", max_intervals, 0)
    check_integer("random_state", random_state, 0)
    inputs = read_inputs(matrices, cohort, metadata)
    grouping = find_groups(inputs, labels, blocks)
    plan = Plan(grouping, max_pairs, max_intervals, random_state, progress)
    studied = study(inputs, plan)
    left_out = simplifications(inputs, max_pairs if cohort is not None else None)
    page = render_page(inputs, studied, left_out, title)
    content = page.encode("utf-8", "replace")  # a lone surrogate cannot be encoded
    with open_output(target) as handle:
        handle.write(content)
    names = tuple(source.name for source in inputs.sources)
    size = len(inputs.labels)
    return Report(target, len(content), size, names, left_out, studied[0].sentences)
