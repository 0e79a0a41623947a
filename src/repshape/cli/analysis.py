"""The commands that read a saved matrix of distances: repair, embed, neighbors."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:  # slow to import: not for --help
    import pandas as pd

    from repshape.analysis.embedding import Embedding
    from repshape.analysis.protocol import NeighborScore
    from repshape.matrix.distances import DistanceMatrix

Matrix = Annotated[Path, typer.Argument(help="Saved distances, .npz or .csv.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No words on stderr.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]


class Method(StrEnum):
    """Kinds of multi-dimensional scaling."""

    metric = "metric"
    classical = "classical"


class TargetKind(StrEnum):
    """What a column of metadata is taken for."""

    auto = "auto"
    classes = "classes"
    numbers = "numbers"


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (repair, embed, neighbors):
        app.command()(command)


def repair(
    matrix: Matrix,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Where the repaired matrix goes: .npz, .csv, .json.")
    ],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the nearest matrix that breaks no triangle inequality, and say what was moved."""
    from repshape.io.tables import check_suffix, json_text
    from repshape.io.writing import atomic_write
    from repshape.matrix.distances import DistanceMatrix
    from repshape.matrix.repair import repair as repair_matrix

    suffix = check_suffix(out)
    result = repair_matrix(DistanceMatrix.load(matrix))
    summary = result.summary()
    if suffix == ".json":
        full = {"labels": result.matrix.labels, "values": result.values.tolist()}
        with atomic_write(out) as handle:
            handle.write(json_text(summary | full).encode())
    else:
        result.matrix.save(out)
    words = (
        f"{summary['violations_before']} broken triangles (largest "
        f"{summary['largest_violation_before']:.3g}) and {summary['negative_before']} negative "
        f"distances before; {summary['violations_after']} and 0 after. "
        f"Moved by {summary['moved']:.3g} in all, at most {summary['largest_change']:.3g} a pair, "
        f"and within {summary['error_bound']:.1e} of the nearest."
    )
    _report(words, summary, [out], as_json=as_json, quiet=quiet)


def embed(
    matrix: Matrix,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Where the points go: .csv, .npz or .json.")
    ],
    components: Annotated[int, typer.Option(min=1, help="Dimension of the points.")] = 2,
    method: Annotated[Method, typer.Option(help="Kind of scaling.")] = Method.metric,
    pca_from: Annotated[
        int | None,
        typer.Option(min=1, help="Embed in this many dimensions and keep principal components."),
    ] = None,
    starts: Annotated[int, typer.Option(min=1, help="Number of starts.")] = 4,
    align_to: Annotated[
        Path | None, typer.Option(help="An embedding to turn this one onto, as this command wrote.")
    ] = None,
    scale: Annotated[bool, typer.Option("--scale", help="Also scale it to --align-to.")] = False,
    curve: Annotated[
        Path | None, typer.Option(help="Also write the distortion in 1 to 20 dimensions here.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Embed networks as points whose distances resemble the matrix."""
    from repshape.analysis.distortion import distortion_curve
    from repshape.analysis.embedding import embed as embed_matrix
    from repshape.io import tables
    from repshape.matrix.distances import DistanceMatrix

    files = [out, *([curve] if curve else [])]
    for file in files:
        tables.check_suffix(file)
    D = DistanceMatrix.load(matrix)
    found = embed_matrix(
        D, components, method=method.value, pca_from=pca_from, n_init=starts, random_state=seed
    )
    summary, table = _embedding_summary(D, found), found.to_frame()
    if align_to is not None:
        table, alignment = _aligned(found, align_to, scale)
        summary |= alignment
    tables.write_table(out, _with_metadata(table, D), summary)
    if curve:
        frame = distortion_curve(D, method=method.value, random_state=seed).to_frame()
        tables.write_table(curve, frame, {"method": method.value})
    words = f"{len(D)} networks by {found.method}: stress {found.stress:.3g}."
    _report(words, summary, files, as_json=as_json, quiet=quiet)


def neighbors(
    matrix: Matrix,
    of: Annotated[str | None, typer.Option(help="List the neighbours of this one alone.")] = None,
    count: Annotated[int, typer.Option("-k", min=1, help="How many neighbours to list.")] = 5,
    target: Annotated[
        str | None, typer.Option(help="Predict this column of the metadata from neighbours.")
    ] = None,
    kind: Annotated[
        TargetKind, typer.Option(help="What the target is; auto takes fractions for numbers.")
    ] = TargetKind.auto,
    metadata: Annotated[
        Path | None, typer.Option(help="CSV of metadata; its first column names the networks.")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="Leave out each group in this column in turn.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Random test sets.")] = 20,
    permutations: Annotated[int, typer.Option(min=0, help="For the p-value.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Table to write: .csv, .npz or .json.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List nearest neighbours, or predict metadata from them (with --target)."""
    from repshape.io import tables
    from repshape.matrix.distances import DistanceMatrix

    if target is not None and of is not None:
        raise typer.BadParameter("--of lists neighbours and --target predicts: give one of them.")
    if target is None and groups is not None:
        raise typer.BadParameter("--groups needs --target.")
    if out is not None:
        tables.check_suffix(out)
    D = _join_metadata(DistanceMatrix.load(matrix), metadata)
    if target is None:
        table = _neighbour_table(D, [of] if of is not None else list(D.labels), count)
        summary: dict[str, Any] = {"networks": len(D), "neighbors": table.to_dict("records")}
        words = "\n".join(_neighbour_words(table))
    else:
        score = _predict(D, target, kind, groups, repeats, permutations, seed)
        table, summary = _score_table(score), {"target": target} | score.summary()
        words = _score_words(target, score)
    if out is not None:
        tables.write_table(out, table.set_index(table.columns[0]), summary)
    _report(words, summary, [out] if out else [], as_json=as_json, quiet=quiet)


def _report(
    words: str, summary: dict[str, Any], files: list[Path], *, as_json: bool, quiet: bool
) -> None:
    if not quiet:
        typer.echo(words, err=True)
        for file in files:
            typer.echo(f"Wrote {file}", err=True)
    if as_json:
        from repshape.io.tables import json_text

        typer.echo(json_text(summary | {"files": [str(file) for file in files]}))


def _embedding_summary(D: DistanceMatrix, found: Embedding) -> dict[str, Any]:
    from repshape.analysis.distortion import distortion

    percentiles = distortion(D, found).percentiles if len(D) > 1 else {}
    return {
        "networks": len(D),
        "method": found.method,
        "stress": found.stress,
        "explained": found.explained.tolist(),
        "distortion_percentiles": {f"p{p:g}": value for p, value in percentiles.items()},
    }


def _aligned(found: Embedding, onto: Path, scale: bool) -> tuple[pd.DataFrame, dict[str, Any]]:
    from repshape.analysis.panels import align_embeddings
    from repshape.io.tables import read_points

    aligned = align_embeddings(found, read_points(onto, found.labels), scaling=scale)
    table = found.to_frame()
    table.loc[:, :] = aligned.points
    return table, {"align_scale": aligned.scale, "align_residual": aligned.residual}


def _with_metadata(table: pd.DataFrame, D: DistanceMatrix) -> pd.DataFrame:
    columns = [name for name in D.metadata.columns if name not in table.columns]
    return D.metadata[columns].join(table)


def _join_metadata(D: DistanceMatrix, path: Path | None) -> DistanceMatrix:
    """Return the matrix with the rows of a CSV that name its networks."""
    if path is None:
        return D
    import pandas as pd

    from repshape.errors import InputError
    from repshape.matrix.distances import DistanceMatrix

    frame = pd.read_csv(path, dtype={0: str})
    frame = frame.set_index(frame.columns[0])
    missing = [name for name in D.labels if name not in frame.index]
    if missing:
        raise InputError(f"{path.name} has no row for network {missing[0]!r}.")
    return DistanceMatrix(D.values, D.labels, frame.loc[list(D.labels)])


def _neighbour_table(D: DistanceMatrix, names: list[str], count: int) -> pd.DataFrame:
    import pandas as pd

    from repshape.analysis.neighbors import nearest_neighbors

    rows = [
        {"network": name, "rank": rank, "neighbor": label, "distance": float(distance)}
        for name in names
        for found in [nearest_neighbors(D, name, count)]
        for rank, (label, distance) in enumerate(zip(found.labels, found.distances, strict=True), 1)
    ]
    return pd.DataFrame(rows, columns=["network", "rank", "neighbor", "distance"])


def _neighbour_words(table: pd.DataFrame) -> list[str]:
    return [
        f"{name}: " + ", ".join(f"{r.neighbor} ({r.distance:.4g})" for r in rows.itertuples())
        for name, rows in table.groupby("network", sort=False)
    ]


def _predict(
    D: DistanceMatrix,
    target: str,
    kind: TargetKind,
    groups: str | None,
    repeats: int,
    permutations: int,
    seed: int,
) -> NeighborScore:
    from repshape.analysis.neighbors import knn_classify, knn_regress

    numbers = kind is TargetKind.numbers
    if kind is TargetKind.auto and target in D.metadata:
        numbers = D.metadata[target].dtype.kind == "f"
    judge = knn_regress if numbers else knn_classify
    return judge(
        D,
        target,
        groups=groups,
        n_repeats=repeats,
        n_permutations=permutations,
        random_state=seed,
    )


def _score_table(score: NeighborScore) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "split": range(score.n_splits),
            score.score: score.scores,
            "n_neighbors": score.n_neighbors,
        }
    )


def _score_words(target: str, score: NeighborScore) -> str:
    p = "" if score.p_value is None else f", p = {score.p_value:.3g}"
    return (
        f"{target}: {score.score} {score.estimate:.3f} +- {score.spread:.3f} over test sets, "
        f"chance {score.chance:.3f}{p} ({score.method})."
    )
