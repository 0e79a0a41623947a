"""The page about two sets of networks: their distances, and models compared with brains."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from repshape._arrays import count
from repshape.errors import InputError
from repshape.inference.factors import LEVEL
from repshape.inference.model_file import is_comparison
from repshape.inference.model_result import ModelComparison, ends_words
from repshape.io.cross import FORMAT
from repshape.io.npz import read_arrays
from repshape.io.zarr import read_attributes
from repshape.matrix.cross import CrossDistances
from repshape.metrics.identity import restore, short_title
from repshape.report.badges import Badge
from repshape.report.data import MAPS, colours
from repshape.report.packing import packed
from repshape.report.page import HELPERS, render, settings_table, what_was_measured
from repshape.store.header import kind_in

if TYPE_CHECKING:
    from repshape.plots.cross import CrossPicture

CrossLike = CrossDistances | ModelComparison
TEMPLATE = "cross.html.j2"
SCRIPTS = (*HELPERS, "cross.js")
# The page holds a number for each pair, and tables of at most this many rows.
MOST_PAIRS, MOST_ROWS = 250_000, 500
NONE = "\N{EN DASH}"


class Sets(NamedTuple):
    """What the two sets are called: in the title, one of each, and several."""

    title: str
    row: str
    column: str
    rows: str
    columns: str


SETS = {
    False: Sets(
        "Distances between two sets",
        "a network of the first set",
        "one of the second",
        "rows",
        "columns",
    ),
    True: Sets("Models and brains", "a brain", "a model", "brains", "models"),
}


def read_cross(given: Any) -> CrossLike | None:
    """Return distances of two sets or a comparison of models, read from a path if it is one.

    None stands for anything else.
    """
    if isinstance(given, CrossDistances | ModelComparison):
        return given
    if not isinstance(given, str | os.PathLike):
        return None
    path = Path(given)
    if is_comparison(path):
        return ModelComparison.load(path)
    return CrossDistances.load(path) if _is_cross(path) else None


def _is_cross(path: Path) -> bool:
    """Return whether a path is a file or a store of distances between two sets."""
    if path.is_dir():
        return kind_in(read_attributes(path)) == "cross"
    if path.suffix.lower() != ".npz" or not path.exists():
        return False
    try:
        return FORMAT in str(read_arrays(path, None, {"header"}).get("header"))
    except InputError:
        return False  # reading it as a matrix says what is wrong


def check_size(block: CrossDistances) -> None:
    """Raise if a page about the distances would be too large for a laptop to open."""
    if block.values.size > MOST_PAIRS:
        raise InputError(
            f"A page can show at most {MOST_PAIRS} pairs of two sets. Got {block.values.size}."
        )


def cross_sentences(found: CrossLike) -> tuple[str, ...]:
    """Return what the page says in words, the most important first."""
    if isinstance(found, ModelComparison):
        return tuple(found.words())
    return (*found.summary().splitlines(), *_matches(found))


def render_cross(found: CrossLike, title: str | None, notes: Sequence[str]) -> str:
    """Return the page."""
    from repshape.plots.cross import CrossPicture  # slow to import, so only when it is needed

    comparison = found if isinstance(found, ModelComparison) else None
    block = found if isinstance(found, CrossDistances) else found.distances
    picture = CrossPicture.of(block)
    sets = SETS[comparison is not None]
    rows, columns = block.shape
    text = {
        "title": title or sets.title,
        "lead": f"{rows} {sets.rows}, {columns} {sets.columns}, {count(rows * columns, 'pair')}",
        "headline": _headline(found),
        "badges": [] if comparison is None else model_badges(comparison),
        "models": None if comparison is None else _model_text(comparison),
        "row_noun": sets.row,
        "column_noun": sets.column,
        "left_out": notes,
        "nearest": nearest_rows(block)[:MOST_ROWS],
        "matrix": {
            "name": cross_name(block),
            "measured": what_was_measured(restore(block.description), block.description),
            "settings": settings_table(block.description),
        },
    }
    models = None if comparison is None else _model_data(comparison)
    return render(TEMPLATE, SCRIPTS, text, _data(block, picture) | {"models": models})


def cross_name(block: CrossDistances) -> str:
    """Return a short name of the distances."""
    return short_title(block.description) or "distances"


def left_out(found: CrossLike) -> tuple[str, ...]:
    """Return a sentence for everything that the page leaves out."""
    block = found if isinstance(found, CrossDistances) else found.distances
    notes = []
    if block.shape[0] > MOST_ROWS:
        notes.append(f"The table of nearest columns lists the first {MOST_ROWS} rows.")
    if isinstance(found, ModelComparison) and len(found.differences) > MOST_ROWS:
        notes.append(f"The table of differences lists the {MOST_ROWS} with the smallest p-values.")
    return tuple(notes)


def _data(block: CrossDistances, picture: CrossPicture) -> dict[str, Any]:
    bounds = block.lower_bounds
    return {
        "name": cross_name(block),
        "rows": list(block.row_labels),
        "columns": list(block.column_labels),
        "values": packed(block.values, "f8"),
        "bounds": None if bounds is None else packed(bounds, "f8"),
        "low": picture.limits[0],
        "high": picture.limits[1],
        "missing": block.n_missing,
        "nearest": picture.nearest.tolist(),
        "colours": {"heat": colours(*MAPS["heat"])},
    }


def _model_data(found: ModelComparison) -> dict[str, Any]:
    """Return what the figure of models draws, the nearest first."""
    from matplotlib.ticker import MaxNLocator

    from repshape.plots.models import ModelsPicture

    picture = ModelsPicture.of(found)
    low, high = picture.limits
    ticks = [one for one in MaxNLocator(5).tick_values(low, high) if low <= one <= high]
    return {
        "names": found.scores.sort_values("squared_distance").index.tolist(),
        "values": np.column_stack([picture.estimates, picture.intervals]).tolist(),
        "ceilings": picture.ceilings.tolist(),
        "nearer": picture.nearer.tolist(),
        "limits": [low, high],
        "ticks": [float(f"{one:.6g}") for one in ticks],
    }


def _headline(found: CrossLike) -> str:
    if isinstance(found, CrossDistances):
        return " ".join([*found.summary().splitlines()[1:], *_matches(found)])
    best, pairs = found.scores.loc[found.best], found.ceilings.iloc[0]
    return (
        f"{found.best} is the nearest of {count(len(found.scores), 'model')}: "
        f"{best['distance']:.3g} {ends_words(best)} from the brains, which are at "
        f"{pairs['distance']:.3g} {ends_words(pairs)} from each other."
    )


def _matches(block: CrossDistances) -> list[str]:
    """Say how many rows are nearest to the column of the same name, if both sets have the names."""
    if block.row_labels != block.column_labels or block.n_missing or len(block.row_labels) < 2:
        return []
    same = int((block.values.argmin(axis=1) == np.arange(block.shape[0])).sum())
    return [f"{same} of {block.shape[0]} rows are nearest to the column of the same name."]


def model_badges(found: ModelComparison) -> list[Badge]:
    """Return verdicts on differences, closeness and chance, which open their sentences."""
    topics = found.topics()
    table = found.differences
    first = table[(table["first"] == found.best) | (table["second"] == found.best)]
    beaten = int((first["max_p_value"] <= LEVEL).sum())
    close = bool(found.scores.loc[found.best, "close_enough"])
    chance = found.chance.p_value <= LEVEL
    given = (
        (
            "Differences",
            bool(len(first)) and beaten == len(first),
            f"nearer than {beaten} of {count(len(first), 'other')}",
        ),
        ("Close enough", close, f"{found.best}: {'yes' if close else 'not shown'}"),
        ("Ceilings", chance, f"{'nearer' if chance else 'not nearer'} than chance"),
    )
    return [
        Badge(topic, "good" if good else "note", short, " ".join(topics.get(topic, [])))
        for topic, good, short in given
        if topic in topics
    ]


def _model_text(found: ModelComparison) -> dict[str, Any]:
    order = found.differences.sort_values("p_value").head(MOST_ROWS)
    columns = ("difference", "p_value", "holm_p_value", "max_p_value")
    return {
        "level": f"{100 * found.level:g} %",
        "margin": f"{100 * found.margin:g} %",
        "over": "brains and conditions" if found.over == "both" else found.over,
        "rows": [*_score_rows(found), *_ceiling_rows(found)],
        "words": found.topics(),
        "differences": [
            [row["first"], row["second"], *(f"{row[name]:.3g}" for name in columns)]
            for row in order.to_dict("records")
        ],
    }


def _score_rows(found: ModelComparison) -> list[dict[str, str]]:
    out = []
    for name, row in found.scores.sort_values("squared_distance").iterrows():
        verdict = "yes" if row["close_enough"] else "not shown"
        out.append(
            _row(str(name), row)
            | {
                "ratio": f"{row['ratio']:.2f}",
                "close": f"{verdict} (p = {row['close_p_value']:.2g})",
            }
        )
    return out


def _ceiling_rows(found: ModelComparison) -> list[dict[str, str]]:
    names = ("Between brains", "To the mean of others")
    rows = zip(names, (row for _, row in found.ceilings.iterrows()), strict=True)
    return [_row(name, row) for name, row in rows if np.isfinite(row["distance"])]


def _row(name: str, row: Any) -> dict[str, str]:
    return {
        "name": name,
        "distance": f"{row['distance']:.3g}",
        "interval": ends_words(row),
        "plug_in": f"{row['plug_in']:.3g}",
        "ratio": NONE,
        "close": NONE,
    }


def nearest_rows(block: CrossDistances) -> list[list[str]]:
    """Return the name of each row, its two nearest columns, and their distances.

    >>> nearest_rows(CrossDistances([[3.0, 5.0, 4.0]], ["a"], ["x", "y", "z"]))
    [['a', 'x', '3', 'z', '4']]
    """
    out = []
    for label, row in zip(block.row_labels, block.values, strict=True):
        known = [int(k) for k in np.argsort(row, kind="stable") if not np.isnan(row[k])][:2]
        cells = [cell for k in known for cell in (block.column_labels[k], f"{row[k]:.4g}")]
        out.append([label, *cells, *[NONE] * (4 - len(cells))])
    return out
