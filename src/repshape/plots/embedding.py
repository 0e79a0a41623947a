"""Networks as points of an embedding, coloured by their metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from repshape._joins import in_order, is_indexed, match_rows
from repshape.analysis.distortion import distortion
from repshape.analysis.embedding import METHODS, Embedding, collapse_words
from repshape.errors import InputError, check_real
from repshape.matrix.columns import ValuesLike, find_column, in_order_of
from repshape.matrix.distances import DistanceMatrix
from repshape.plots.captions import UNIT, matrix_words
from repshape.plots.colouring import Colouring
from repshape.plots.picture import Picture, set_window
from repshape.plots.style import FAINT, SMALL_SIZE, plain, short

FloatArray = npt.NDArray[np.float64]
Lines = tuple[FloatArray, ...]

# Area of a marker in square points, up to this many networks.
AREAS = ((50, 26.0), (300, 14.0), (np.inf, 6.0))
MARGIN = 1.08
# Characters in a line of text inside the axes.
WRAP = 38


@dataclass(frozen=True, eq=False)
class EmbeddingPicture(Picture):
    """The points of an embedding, ready to be drawn.

    Attributes
    ----------
    points : ndarray, shape (K, 2)
        The first two coordinates of each network.
    colouring : Colouring
        Colour and marker of each point.
    areas : ndarray, shape (K,)
        Area of each marker in square points. Larger markers lie behind smaller ones.
    names : tuple of str
        Names written beside the points; empty if there are none.
    lines : tuple of ndarray, shape (k, 2)
        Points joined by lines, in the order of the matrix.
    reach : float
        Both axes run from ``-reach`` to ``reach``.
    axis_labels : tuple of two str
    caption : str

    Examples
    --------
    >>> picture = EmbeddingPicture.of([[0.0, 1.0], [2.0, 0.0]], colour=[0.1, 0.9])
    >>> picture.colouring.kind, picture.reach
    ('continuous', 2.16)
    """

    points: FloatArray
    colouring: Colouring
    areas: FloatArray
    names: tuple[str, ...]
    lines: Lines
    reach: float
    axis_labels: tuple[str, str]
    caption: str

    @classmethod
    def of(
        cls,
        embedding: Embedding | npt.ArrayLike,
        D: DistanceMatrix | None = None,
        *,
        colour: ValuesLike | None = None,
        kind: str = "auto",
        connect: str | Sequence[str] = (),
        names: bool = False,
        areas: npt.ArrayLike | None = None,
        reach: float | None = None,
        unit: str = UNIT,
    ) -> EmbeddingPicture:
        """Make the picture of an embedding; the parameters are those of `plot_embedding`."""
        points = _points(embedding)
        matrix = D if D is not None else _bare(embedding, len(points))
        if len(matrix) != len(points):
            raise InputError(
                f"The 'D' parameter must hold the networks of the embedding. Got {len(matrix)} "
                f"networks and {len(points)} points."
            )
        if isinstance(embedding, Embedding):
            matrix = in_order_of(matrix, embedding.labels, "D")
        columns = [connect] if isinstance(connect, str) else list(connect)
        lines = tuple(line for one in columns for line in _lines(points, matrix, one))
        window = float(np.abs(points).max()) * MARGIN or 1.0
        return cls(
            points=points,
            colouring=_colouring(matrix, colour, kind),
            areas=_areas(areas, matrix),
            names=tuple(plain(label) for label in matrix.labels) if names else (),
            lines=lines,
            reach=window if reach is None else check_real("reach", reach, 0, closed="neither"),
            axis_labels=_axis_labels(embedding),
            caption=_caption(points, embedding, D, colour, columns, unit),
        )

    def _draw(self, ax: Axes) -> None:
        for line in self.lines:
            ax.plot(line[:, 0], line[:, 1], color=FAINT, linewidth=0.6, zorder=1)
        self.colouring.scatter(ax, self.points, self.areas)
        for name, (x, y) in zip(self.names, self.points, strict=bool(self.names)):
            ax.annotate(
                name, (x, y), xytext=(3, 3), textcoords="offset points", fontsize=SMALL_SIZE
            )
        limits = -self.reach, self.reach
        set_window(ax, (limits, limits), self.axis_labels)
        if words := collapse_words(self.points):
            text = fill(words, WRAP)
            ax.text(0.02, 0.98, text, fontsize=SMALL_SIZE, transform=ax.transAxes, va="top")
        self.colouring.draw_key(ax)


def _points(embedding: Embedding | npt.ArrayLike) -> FloatArray:
    given = embedding.points if isinstance(embedding, Embedding) else embedding
    points = np.array(given, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] < 2 or not len(points):
        raise InputError(
            "The 'embedding' parameter must have a row for each network and at least two "
            f"columns. Got shape {points.shape}."
        )
    if not np.isfinite(points).all():
        raise InputError("The points of the embedding must be finite. Got NaN or infinity.")
    points = points[:, :2]
    points.setflags(write=False)
    return points


def _bare(embedding: Embedding | npt.ArrayLike, count: int) -> DistanceMatrix:
    """Return a matrix of zeros that has the names of the networks."""
    labels = embedding.labels if isinstance(embedding, Embedding) else None
    return DistanceMatrix(np.zeros((count, count)), labels)


def _colouring(matrix: DistanceMatrix, colour: Any, kind: str) -> Colouring:
    if colour is None:
        return Colouring.one(len(matrix))
    if not isinstance(colour, str) and np.ndim(colour) == 2 and np.shape(colour)[1] > 1:
        return Colouring.given(_rows(matrix, colour))
    column = find_column(matrix, colour, "colour")
    return Colouring.of(column, str(column.name or ""), kind)


def _rows(matrix: DistanceMatrix, colours: Any) -> Any:
    """Return a row of numbers for each network, joined by name if the rows have names."""
    if is_indexed(colours):
        what = "The 'colour' parameter"
        rows = match_rows(list(colours.index), matrix.labels, len(matrix), what, entry="row")
        return colours.iloc[rows].to_numpy()
    if len(colours) != len(matrix):
        raise InputError(f"'colour' must have {len(matrix)} rows. Got {len(colours)}.")
    return colours


def _areas(areas: npt.ArrayLike | None, matrix: DistanceMatrix) -> FloatArray:
    count = len(matrix)
    if areas is None:
        return np.full(count, next(area for most, area in AREAS if count <= most))
    given = areas if np.isscalar(areas) else in_order(areas, matrix.labels, count, "areas")
    return np.broadcast_to(np.asarray(given, dtype=np.float64).ravel(), (count,))


def _lines(points: FloatArray, matrix: DistanceMatrix, column: str) -> Lines:
    values = find_column(matrix, column, "connect")
    known = values.dropna().unique()
    return tuple(points[(values == value).to_numpy()] for value in known)


def _axis_labels(embedding: Embedding | npt.ArrayLike) -> tuple[str, str]:
    if not isinstance(embedding, Embedding):
        return "axis 1", "axis 2"
    name = METHODS["classical"] if METHODS["classical"] in embedding.method else "MDS"
    return f"{name}, axis 1", f"{name}, axis 2"


def _distortion_words(embedding: Embedding, D: DistanceMatrix | None) -> str:
    """Say how far distances between points are from those of the matrix."""
    if D is None or len(D) < 3 or D.n_missing or (D.values < 0.0).any() or not D.values.any():
        return ""
    middle = distortion(in_order_of(D, embedding.labels, "D"), embedding.points[:, :2]).median
    if not np.isfinite(middle):
        return ""
    return f"; half of the distances drawn are within {100 * (middle - 1):.2g} % of the true ones"


def _caption(
    points: FloatArray,
    embedding: Embedding | npt.ArrayLike,
    D: DistanceMatrix | None,
    colour: Any,
    columns: list[str],
    unit: str,
) -> str:
    parts = [] if D is None else [matrix_words(D)]
    if isinstance(embedding, Embedding):
        method = f"{embedding.method[0].upper()}{embedding.method[1:]}"
        parts.append(f"{method}, stress {embedding.stress:.3g}{_distortion_words(embedding, D)}.")
    parts += [words for words in [collapse_words(points)] if words]
    if isinstance(colour, str):
        parts.append(f"Colour: {short(colour)}.")
    if columns:
        listed = " or the same ".join(map(short, columns))
        parts.append(f"Lines connect networks with the same {listed}.")
    return " ".join([*parts, f"Axes in {unit}."])


def plot_embedding(
    embedding: Embedding | npt.ArrayLike,
    D: DistanceMatrix | None = None,
    *,
    colour: ValuesLike | None = None,
    kind: str = "auto",
    connect: str | Sequence[str] = (),
    names: bool = False,
    areas: npt.ArrayLike | None = None,
    reach: float | None = None,
    unit: str = UNIT,
    ax: Axes | None = None,
    caption: bool = False,
) -> Axes:
    """Draw networks as points of an embedding.

    Parameters
    ----------
    embedding : Embedding or array_like, shape (K, at least 2)
        The points. The first two coordinates are drawn.
    D : DistanceMatrix, optional
        The distances that were embedded. Their metadata can colour the points, and the caption
        names their metric.
    colour : str, sequence of length K, Series or dict by name, or array of shape (K, 3), optional
        A column of ``D.metadata``, a value for each network, or RGB colours. Values that have the
        names of the networks as their index or keys are matched by name.
    kind : {"auto", "categorical", "continuous", "cyclic"}
        How to colour values. With "auto", numbers are continuous (lightness) and everything else
        is categorical (hue and marker); numbers named orientation, direction, phase or angle, in
        degrees (or radians, if the name says so), are cyclic. Missing values are grey crosses.
    connect : str or sequence of str
        Columns of ``D.metadata``; lines connect networks with the same value.
    names : bool
        Whether to write the name of each network beside its point.
    areas : array_like, shape (K,), optional
        Areas of the markers in square points. Larger markers lie behind smaller ones.
    reach : float, optional
        Both axes run from ``-reach`` to ``reach``; set it to give several panels the same limits.
    unit, ax, caption
        As in `plot_matrix`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> points = [[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]]
    >>> ax = plot_embedding(points, colour=["V1", "V4", "V1"], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['V1', 'V4']
    """
    picture = EmbeddingPicture.of(
        embedding,
        D,
        colour=colour,
        kind=kind,
        connect=connect,
        names=names,
        areas=areas,
        reach=reach,
        unit=unit,
    )
    return picture.draw(ax, caption=caption)
