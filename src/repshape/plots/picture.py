"""What all pictures share: axes in and out, the style, and a caption on request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import text_to_path

from repshape.plots.style import CAPTION_SIZE, COLUMN_WIDTH, INK, STYLE, dress, plain, short, style

POINTS_PER_INCH = 72.0
# From the lowest label to the caption, in points.
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
    """Everything that was decided about one picture, ready to be drawn.

    Subclasses are frozen dataclasses made by their method ``of``; they hold plain numbers and
    words, and drawing decides nothing.

    Attributes
    ----------
    caption : str
        What is shown, with settings and units.
    size : tuple of two floats
        Width and height of a figure of its own, in inches.
    """

    caption: str
    size: ClassVar[tuple[float, float]] = (COLUMN_WIDTH, 2.8)

    def draw(self, ax: Axes | None = None, *, caption: bool = False) -> Axes:
        """Draw on ``ax``, or on a new figure of pyplot, and return the axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw.
        caption : bool
            Whether to put the caption under the axes.
        """
        with style():
            axes = new_figure(self.size).subplots() if ax is None else ax
            dress(axes)
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
        """Draw what was decided, and nothing else."""


def new_figure(size: tuple[float, float]) -> Figure:
    """Return a new figure of pyplot, which is imported here and nowhere else."""
    from matplotlib import pyplot

    figure: Figure = pyplot.figure(figsize=size, layout="constrained")
    return figure


def add_caption(ax: Axes, caption: str) -> None:
    r"""Write a caption under the axes, below their labels and as wide as they are.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    caption : str
        It is broken into lines.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure(layout="constrained").subplots()
    >>> add_caption(ax, "Distances cost $.")
    >>> ax.texts[-1].get_text()
    'Distances cost \\$.'
    """
    figure: Figure = ax.figure.figure  # the whole, also of a subfigure
    figure.draw_without_rendering()  # lets the layout settle
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
    """Write a caption under all axes of a figure of our own, which grows by its height."""
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
    """Break a caption into lines of at most ``width`` points, by the font's own measures."""
    font = FontProperties(family=STYLE["font.sans-serif"], size=CAPTION_SIZE)
    lines: list[str] = []
    for word in short(caption, None).split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_to_path.get_text_width_height_descent(longer, font, False)[0] <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return [plain(line, None) for line in lines]
