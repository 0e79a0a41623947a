"""What all pictures have in common: axes, style and an optional caption."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import text_to_path

from repshape.plots.style import CAPTION_SIZE, COLUMN_WIDTH, INK, STYLE, dress, plain, short, style

Limits = tuple[tuple[float, float], tuple[float, float]]

POINTS_PER_INCH = 72.0
# Distance from the lowest label to the caption, in points.
CAPTION_GAP = 6.0
LINE_SPACING = 1.25
LOOK: dict[str, Any] = {
    "ha": "left",
    "va": "top",
    "fontsize": CAPTION_SIZE,
    "color": INK,
    "linespacing": LINE_SPACING,
}


class Picture(ABC):
    """The content of one picture, ready to be drawn.

    Subclasses are frozen dataclasses that their method ``of`` creates. They hold numbers and text
    only: all choices are made by ``of``, and none by ``draw``.

    Attributes
    ----------
    caption : str
        What is shown, with settings and units.
    size : tuple of two floats
        Width and height, in inches, of a new figure for this picture.
    """

    caption: str
    size: ClassVar[tuple[float, float]] = (COLUMN_WIDTH, 2.8)

    def draw(self, ax: Axes | None = None, *, caption: bool = False) -> Axes:
        """Draw the picture and return the axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on. By default a new pyplot figure is made.
        caption : bool
            Whether to write the caption below the axes.
        """
        axes = new_axes(self.size)[0] if ax is None else ax
        with style():
            dress(axes)
            axes.spines[["top", "right"]].set_visible(False)
            self._draw(axes)
        if caption:
            self._write(axes, own=ax is None)
        return axes

    def _write(self, ax: Axes, own: bool) -> None:
        if own:
            caption_figure(ax.figure.figure, self.caption)
        else:
            add_caption(ax, self.caption)

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw the content on the axes."""


def new_axes(size: tuple[float, float], n_columns: int = 1) -> list[Axes]:
    """Return a row of axes on a new pyplot figure.

    This is the only place that imports pyplot. The figure is made before the style is set,
    because pyplot may load a backend then, and backends have settings of their own.
    """
    from matplotlib import pyplot

    figure: Figure = pyplot.figure(figsize=size, dpi=STYLE["figure.dpi"], layout="constrained")
    with style():
        return list(figure.subplots(1, n_columns, squeeze=False)[0])


def set_window(ax: Axes, limits: Limits, labels: tuple[str, str]) -> None:
    """Set the limits and the labels of both axes, with equal units."""
    ax.set(xlim=limits[0], ylim=limits[1], aspect="equal", xlabel=labels[0], ylabel=labels[1])


def add_caption(ax: Axes, caption: str) -> None:
    r"""Write a caption below the labels of the axes, as wide as the axes.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    caption : str
        The text; lines are broken automatically.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure(layout="constrained").subplots()
    >>> add_caption(ax, "Distances cost $.")
    >>> ax.texts[-1].get_text()
    'Distances cost \\$.'
    """
    figure: Figure = ax.figure.figure  # the top-level figure, also for axes of a subfigure
    figure.draw_without_rendering()  # so that the layout is final
    frame, points = ax.get_window_extent(), POINTS_PER_INCH / figure.dpi
    box = ax.get_tightbbox() or frame
    offset = ((box.x0 - frame.x0) * points, (box.y0 - frame.y0) * points - CAPTION_GAP)
    with style():
        ax.annotate(
            "\n".join(_lines(caption, box.width * points)),
            xy=(0, 0),
            xycoords="axes fraction",
            xytext=offset,
            textcoords="offset points",
            annotation_clip=False,
            **LOOK,
        )


def caption_figure(figure: Figure, caption: str) -> None:
    """Write a caption below all axes of a figure, which becomes taller to make room for it."""
    width, height = figure.get_size_inches()
    lines = _lines(caption, POINTS_PER_INCH * width - 2 * CAPTION_GAP)
    added = (2 * CAPTION_GAP + len(lines) * LINE_SPACING * CAPTION_SIZE) / POINTS_PER_INCH
    share = added / (height + added)
    figure.set_size_inches(width, height + added)
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0, share, 1, 1 - share))
    across, up = (CAPTION_GAP / POINTS_PER_INCH / one for one in (width, height + added))
    with style():
        text = figure.text(across, share - up, "\n".join(lines), **LOOK)
    text.set_in_layout(False)


def _lines(caption: str, width: float) -> list[str]:
    """Break a caption into lines of at most ``width`` points, using the metrics of the font."""
    font = FontProperties(family=STYLE["font.sans-serif"], size=CAPTION_SIZE)
    lines: list[str] = []
    for word in short(caption, None).split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_to_path.get_text_width_height_descent(longer, font, False)[0] <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return [plain(line, None) for line in lines]
