"""The command that lists nearest neighbours, or predicts from them: neighbors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from repshape.cli.options import (
    Memory,
    Metadata,
    Parameters,
    Printing,
    Scheduler,
    Seed,
    Table,
    Text,
    Texts,
    Workers,
    argument,
    flag,
    number,
    option,
    values,
)
from repshape.cli.shared import (
    check_output_folder,
    check_tables,
    load_matrix,
    resumable,
    usage,
    with_parameters,
)
from repshape.errors import InputError, SearchWarning
from repshape.metrics.registry import make_metric

if TYPE_CHECKING:  # slow to import: not for --help
    import pandas as pd

    from repshape.analysis.neighbor_result import NeighborGraph
    from repshape.analysis.protocol import NeighborScore
    from repshape.matrix.distances import DistanceMatrix
    from repshape.metrics.base import ShapeMetric

Found = tuple["pd.DataFrame", dict[str, Any], list[str]]


class TargetKind(StrEnum):
    """How to read a column of metadata."""

    auto = "auto"
    classes = "classes"
    numbers = "numbers"


@dataclass(frozen=True, kw_only=True)
class MatrixOptions:
    """Options that need a matrix."""

    metadata: Metadata = None
    groups: Annotated[
        Text,
        option("COLUMN", "Hold out each group of networks in turn, such as those of one animal."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class MetricOptions:
    """Parameters of the metric of a search, by name."""

    alpha: Annotated[
        float | None, number("With --search: weight of the means, from 0 to 2; 1 by default.")
    ] = None
    group: Annotated[Text, option("NAME", "With --search: transforms to minimise over.")] = None
    covariance: Annotated[Text, option("NAME", "With --search: estimator of the covariances.")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Parameters of a search, by name."""

    radius: Annotated[
        float | None, number("With --search: list all neighbours within this distance.", min=0)
    ] = None
    workers: Workers = None
    memory: Memory = None


@dataclass(frozen=True, kw_only=True)
class StoreOptions:
    """Parameters of a search of the whole cohort, by name."""

    store: Annotated[
        Path | None,
        option(
            "FOLDER",
            "With --search: save solved pairs here. A repeated command resumes, and a cohort with "
            "other networks reuses the pairs that are known.",
        ),
    ] = None
    replace: Annotated[
        Texts,
        option("NAME", "A network of the store whose responses have changed. Repeatable."),
    ] = None
    shard: Annotated[Text, option("i/N", "Search only the i-th of N parts.")] = None
    scheduler: Scheduler = None


@dataclass(frozen=True, kw_only=True)
class OtherOptions:
    """What is searched, and by which metric."""

    query: Annotated[
        Path | None,
        option("COHORT", "With --search: list the neighbours of the networks of this cohort."),
    ] = None
    like: Annotated[
        Path | None, option("MATRIX", "With --search: use the metric of this matrix.")
    ] = None
    metric: Annotated[
        Text, option("NAME", "With --search: the metric, as in pairwise; gaussian by default.")
    ] = None
    set_: Parameters = None


@dataclass(frozen=True, kw_only=True)
class NeighborsOptions(
    MatrixOptions, OtherOptions, MetricOptions, SearchOptions, StoreOptions, Printing
):
    """Options of the command neighbors."""

    matrix: Annotated[
        Path | None,
        argument(
            "[MATRIX]",
            "A matrix of distances: .npz, .csv or a directory that repshape pairwise wrote.",
        ),
    ] = None
    search: Annotated[
        Path | None,
        option(
            "COHORT", "Search this cohort instead of a matrix, and solve only the pairs needed."
        ),
    ] = None
    of: Annotated[Text, option("NETWORK", "List the neighbours of this network only.")] = None
    count: Annotated[int, number("Number of neighbours to list.", "-k", min=1)] = 5
    target: Annotated[
        Text, option("COLUMN", "Predict this column of the metadata from nearest neighbours.")
    ] = None
    kind: Annotated[
        TargetKind, flag("What to predict; auto predicts numbers if the column holds numbers.")
    ] = TargetKind.auto
    repeats: Annotated[int, number("Number of random test sets for --target.", min=1)] = 20
    permutations: Annotated[int, number("Number of permutations for a p-value.", min=0)] = 0
    out: Table = None
    seed: Seed = 0


def neighbors(given: NeighborsOptions) -> None:
    """List nearest neighbours, or predict metadata from them.

    With --search, the neighbours are found without computing all distances: lower bounds exclude
    most pairs, and the result is that of the whole matrix without polish.

    \b
    Examples:
      repshape neighbors distances.npz --of mouse-3 -k 5
      repshape neighbors distances.npz --target area --groups animal --permutations 999
      repshape neighbors --search zoo.zarr -k 10 -o neighbors.csv --store pairs.zarr
      repshape neighbors --search zoo.zarr --query new.zarr -k 10 --target task
    """  # noqa: D301
    from repshape.io.tables import write_table

    inputs = [given.matrix, given.search, given.query, given.like, given.metadata]
    files = check_tables([given.out], inputs=inputs)
    if (given.matrix is None) == (given.search is None):
        raise typer.BadParameter("Give a matrix of distances, or a cohort with --search.")
    if given.matrix is not None:
        for part in (OtherOptions, SearchOptions, MetricOptions, StoreOptions):
            _refuse(values(given, part), "--search")
        table, summary, lines = _of_matrix(given.matrix, given)
    else:
        assert given.search is not None
        _refuse(values(given, MatrixOptions), "a matrix of distances")
        with usage():
            metric = _metric(given)
        with resumable(given.store, "Solved pairs"):
            graph = _search(given.search, metric, given)
        table, summary, lines = _of_graph(graph, given.target)
    for file in files:
        write_table(file, table, summary)
    given.tell(lines, summary, files)


def _refuse(options: dict[str, Any], needed: str) -> None:
    """Exit with 2 if an option is given that needs something else."""
    for name, value in options.items():
        if value is not None:
            raise typer.BadParameter(f"--{name.rstrip('_')} needs {needed}.")


def _of_matrix(path: Path, given: NeighborsOptions) -> Found:
    """Return the neighbours in a matrix, or the score of predictions from them."""
    import pandas as pd

    from repshape.analysis.neighbors import nearest_neighbors
    from repshape.io.tables import join_metadata

    target = given.target
    if target is not None and given.of is not None:
        raise typer.BadParameter("--of lists neighbours and --target predicts: use one of them.")
    if target is None and given.groups is not None:
        raise typer.BadParameter("--groups needs --target.")
    D = join_metadata(load_matrix(path), given.metadata)
    if target is None:
        names = D.labels if given.of is None else [given.of]
        found = [nearest_neighbors(D, name, given.count) for name in names]
        table = pd.concat([one.to_frame() for one in found])
        listed: dict[str, Any] = {"networks": len(D), "neighbors": table.to_dict("records")}
        return table.set_index("network"), listed, [one.words() for one in found]
    score = _predictor(D, target, given.kind)(
        D,
        target,
        groups=given.groups,
        n_repeats=given.repeats,
        n_permutations=given.permutations,
        random_state=given.seed,
    )
    summary = {"target": target} | score.summary()
    return score.to_frame(), summary, [f"{target}: {score.words()}"]


def _predictor(D: DistanceMatrix, target: str, kind: TargetKind) -> Callable[..., NeighborScore]:
    """Return the function that predicts a column of the metadata, as classes or as numbers."""
    from repshape.analysis.neighbors import knn_classify, knn_regress
    from repshape.io.tables import is_numeric

    numbers = kind is TargetKind.numbers
    if kind is TargetKind.auto and target in D.metadata:
        numbers = is_numeric(D.metadata[target])
    return knn_regress if numbers else knn_classify


def _metric(given: NeighborsOptions) -> ShapeMetric[Any]:
    """Return the metric that the options ask for, or that of a matrix."""
    from repshape.metrics.identity import restore

    parameters = with_parameters(values(given, MetricOptions), given.set_)
    if given.like is None:
        return make_metric(given.metric or "gaussian", **parameters)
    if given.metric is not None or parameters:
        raise InputError("--like chooses the metric: it cannot be used with other options of it.")
    metric = restore(load_matrix(given.like).description)
    if metric is None:
        raise InputError(f"{given.like} does not say by which metric it was computed.")
    return metric


def _search(search: Path, metric: ShapeMetric[Any], given: NeighborsOptions) -> NeighborGraph:
    """Search a cohort for the neighbours of all its networks, of one, or of new ones."""
    from repshape.analysis.neighbor_graph import neighbor_graph, query
    from repshape.io.cohort import Cohort

    whole = values(given, StoreOptions)
    if given.query is not None or given.of is not None:
        _refuse(whole, "a search of the whole cohort, without --query and --of")
    if given.query is not None and given.of is not None:
        raise typer.BadParameter("--query and --of cannot be used together.")
    if given.store is not None:
        check_output_folder(given.store, inputs=[search])
    cohort = Cohort.open(search)
    settings = values(given, SearchOptions) | {"progress": given.progress}
    k = None if given.radius is not None else given.count
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)  # _of_graph says it in words
        if given.query is not None:
            return query(cohort, Cohort.open(given.query), metric, k, **settings)
        if given.of is not None:
            rest = cohort[[label for label in cohort.labels if label != given.of]]
            return query(rest, {given.of: cohort[given.of]}, metric, k, **settings)
        settings |= whole | {"engine": "threads" if given.scheduler is None else "dask"}
        return neighbor_graph(cohort, metric, k, **settings)


def _of_graph(graph: NeighborGraph, target: str | None) -> Found:
    """Return the table, the summary and the words of a search, or its predictions."""
    lines = [graph.words()]
    doubtful = graph.settings["doubtful_pairs"]
    if doubtful:
        lines.append(f"{doubtful} of the solved pairs may be longer than necessary.")
    summary = graph.summary()
    if target is None:
        lines += [graph.neighbors(row).words() for row in range(min(len(graph.of), LISTED))]
        if len(graph.of) > LISTED:
            lines.append(f"... and {len(graph.of) - LISTED} more networks.")
        table = graph.to_frame()
        return table.set_index("network"), summary | {"neighbors": table.to_dict("records")}, lines
    predicted = graph.predict(target)
    lines += [f"{label}: {target} {value}" for label, value in predicted.items()]
    frame = predicted.rename("prediction").to_frame()
    frame.index.name = "network"
    records = frame.reset_index().to_dict("records")
    return frame, summary | {"target": target, "predictions": records}, lines


# Networks whose neighbours are listed in words; files and JSON hold all of them.
LISTED = 20
