"""The command that lists nearest neighbours, or predicts from them: neighbors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from repshape.cli.shared import (
    AsJson,
    Metadata,
    Parameters,
    Quiet,
    Seed,
    check_output_folder,
    check_tables,
    load_matrix,
    number,
    option,
    tell,
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

Text = str | None
Found = tuple["pd.DataFrame", dict[str, Any], list[str]]


class TargetKind(StrEnum):
    """How to read a column of metadata."""

    auto = "auto"
    classes = "classes"
    numbers = "numbers"


def neighbors(
    matrix: Annotated[
        Path | None,
        typer.Argument(
            metavar="[MATRIX]",
            help="A matrix of distances: .npz, .csv or a directory that repshape pairwise wrote.",
            show_default=False,
        ),
    ] = None,
    of: Annotated[Text, option("NETWORK", "List the neighbours of this network only.")] = None,
    count: Annotated[int, number("Number of neighbours to list.", "-k", min=1)] = 5,
    target: Annotated[
        Text, option("COLUMN", "Predict this column of the metadata from nearest neighbours.")
    ] = None,
    kind: Annotated[
        TargetKind,
        typer.Option(help="What to predict; auto predicts numbers if the column holds numbers."),
    ] = TargetKind.auto,
    metadata: Metadata = None,
    groups: Annotated[
        Text,
        option("COLUMN", "Hold out each group of networks in turn, such as those of one animal."),
    ] = None,
    repeats: Annotated[int, number("Number of random test sets for --target.", min=1)] = 20,
    permutations: Annotated[int, number("Number of permutations for a p-value.", min=0)] = 0,
    search: Annotated[
        Path | None,
        option(
            "COHORT", "Search this cohort instead of a matrix, and solve only the pairs needed."
        ),
    ] = None,
    query: Annotated[
        Path | None,
        option("COHORT", "With --search: list the neighbours of the networks of this cohort."),
    ] = None,
    radius: Annotated[
        float | None, number("With --search: list all neighbours within this distance.", min=0)
    ] = None,
    like: Annotated[
        Path | None, option("MATRIX", "With --search: use the metric of this matrix.")
    ] = None,
    metric: Annotated[
        Text, option("NAME", "With --search: the metric, as in pairwise; gaussian by default.")
    ] = None,
    alpha: Annotated[
        float | None, number("With --search: weight of the means, from 0 to 2; 1 by default.")
    ] = None,
    group: Annotated[Text, option("NAME", "With --search: transforms to minimise over.")] = None,
    covariance: Annotated[
        Text, option("NAME", "With --search: estimator of the covariances.")
    ] = None,
    set_: Parameters = None,
    store: Annotated[
        Path | None,
        option(
            "FOLDER",
            "With --search: save solved pairs here. A repeated command resumes, and a cohort with "
            "other networks reuses the pairs that are known.",
        ),
    ] = None,
    replace: Annotated[
        list[str] | None,
        option("NAME", "A network of the store whose responses have changed. Repeatable."),
    ] = None,
    shard: Annotated[Text, option("i/N", "Search only the i-th of N parts.")] = None,
    workers: Annotated[
        int | None, number("Number of threads or Dask workers; all cores by default.", min=1)
    ] = None,
    memory: Annotated[
        Text, option("SIZE", "Memory to use, such as 2G; a quarter of the total by default.")
    ] = None,
    scheduler: Annotated[Text, option("ADDRESS", "Address of a Dask scheduler.")] = None,
    out: Annotated[
        Path | None, option("FILE", "Table to write: .csv, .npz or .json.", "--out", "-o")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
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
    files = [out] if out else []
    inputs = [path for path in (matrix, search, query, like, metadata) if path is not None]
    check_tables(files, inputs=inputs)
    if (matrix is None) == (search is None):
        raise typer.BadParameter("Give a matrix of distances, or a cohort with --search.")
    if search is None:
        assert matrix is not None
        given: dict[str, Any] = {"--query": query, "--radius": radius, "--like": like}
        given |= {"--metric": metric, "--set": set_ or None}
        given |= {"--alpha": alpha, "--group": group, "--covariance": covariance, "--store": store}
        given |= {"--shard": shard, "--workers": workers, "--memory": memory}
        given |= {"--replace": replace or None}
        _refuse(given | {"--scheduler": scheduler}, "--search")
        protocol = {"repeats": repeats, "permutations": permutations, "seed": seed}
        found = _of_matrix(matrix, of, count, target, kind, metadata, groups, protocol)
    else:
        _refuse({"--groups": groups, "--metadata": metadata}, "a matrix of distances")
        with usage():
            options = {"alpha": alpha, "group": group, "covariance": covariance}
            chosen = _metric(like, metric, with_parameters(options, set_))
        settings: dict[str, Any] = {"radius": radius, "workers": workers, "memory": memory}
        settings["progress"] = False if quiet else None
        more = {"store": store, "replace": replace or None, "shard": shard, "scheduler": scheduler}
        try:
            graph = _search(search, query, of, count, chosen, settings, more)
        except KeyboardInterrupt:
            kept = f" Solved pairs are safe in {store}: repeat the command to resume."
            typer.echo(f"repshape: interrupted.{kept if store else ''}", err=True)
            raise typer.Exit(1) from None
        found = _of_graph(graph, target)
    table, summary, lines = found
    _write(table, summary, lines, files, as_json=as_json, quiet=quiet)


def _refuse(options: dict[str, Any], needed: str) -> None:
    """Exit with 2 if an option is given that needs something else."""
    for name, value in options.items():
        if value is not None:
            raise typer.BadParameter(f"{name} needs {needed}.")


def _write(
    table: pd.DataFrame,
    summary: dict[str, Any],
    lines: list[str],
    files: list[Path],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    from repshape.io.tables import write_table

    for file in files:
        write_table(file, table, summary)
        lines.append(f"Wrote {file}")
    data = summary | {"files": [str(file) for file in files]}
    tell(lines, data, as_json=as_json, quiet=quiet)


def _of_matrix(
    path: Path,
    of: str | None,
    k: int,
    target: str | None,
    kind: TargetKind,
    metadata: Path | None,
    groups: str | None,
    settings: dict[str, int],
) -> Found:
    """Return the neighbours in a matrix, or the score of predictions from them."""
    import pandas as pd

    from repshape.analysis.neighbors import nearest_neighbors
    from repshape.io.tables import join_metadata

    if target is not None and of is not None:
        raise typer.BadParameter("--of lists neighbours and --target predicts: use one of them.")
    if target is None and groups is not None:
        raise typer.BadParameter("--groups needs --target.")
    D = join_metadata(load_matrix(path), metadata)
    if target is None:
        found = [nearest_neighbors(D, name, k) for name in (D.labels if of is None else [of])]
        table = pd.concat([one.to_frame() for one in found])
        listed: dict[str, Any] = {"networks": len(D), "neighbors": table.to_dict("records")}
        return table.set_index("network"), listed, [one.words() for one in found]
    score = _predictor(D, target, kind)(
        D,
        target,
        groups=groups,
        n_repeats=settings["repeats"],
        n_permutations=settings["permutations"],
        random_state=settings["seed"],
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


def _metric(like: Path | None, name: str | None, parameters: dict[str, Any]) -> ShapeMetric[Any]:
    """Return the metric that the options ask for, or that of a matrix."""
    from repshape.metrics.identity import restore

    if like is None:
        return make_metric(name or "gaussian", **parameters)
    if name is not None or parameters:
        raise InputError("--like chooses the metric: it cannot be used with other options of it.")
    metric = restore(load_matrix(like).description)
    if metric is None:
        raise InputError(f"{like} does not say by which metric it was computed.")
    return metric


def _search(
    search: Path,
    query: Path | None,
    of: str | None,
    k: int,
    metric: ShapeMetric[Any],
    settings: dict[str, Any],
    more: dict[str, Any],
) -> NeighborGraph:
    """Search a cohort for the neighbours of all its networks, of one, or of new ones."""
    from repshape.analysis.neighbor_graph import neighbor_graph
    from repshape.analysis.neighbor_graph import query as query_cohort
    from repshape.io.cohort import Cohort

    alone = "a search of the whole cohort, without --query and --of"
    if query is not None or of is not None:
        _refuse({f"--{name}": value for name, value in more.items()}, alone)
    if query is not None and of is not None:
        raise typer.BadParameter("--query and --of cannot be used together.")
    if more["store"] is not None:
        check_output_folder(more["store"], inputs=[search])
    cohort = Cohort.open(search)
    wanted = None if settings["radius"] is not None else k
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)  # _of_graph says it in words
        if query is not None:
            return query_cohort(cohort, Cohort.open(query), metric, wanted, **settings)
        if of is not None:
            rest = cohort[[label for label in cohort.labels if label != of]]
            return query_cohort(rest, {of: cohort[of]}, metric, wanted, **settings)
        more |= {"engine": "threads" if more["scheduler"] is None else "dask"}
        return neighbor_graph(cohort, metric, wanted, **settings, **more)


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
