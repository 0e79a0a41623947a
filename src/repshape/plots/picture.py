"""What all pictures share: axes in and out, the style, and a caption on request."""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from typing import ClassVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repshape.plots.style import CAPTION_SIZE, COLUMN_WIDTH, INK, dress, plain, style

POINTS_PER_INCH = 72.0
# Mean width of a letter of our font, in units of its size; a little generous.
LETTER_WIDTH = 0.53
# From the lowest label to the caption, in points.
CAPTION_GAP = 6.0


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
            self._draw(axes)
            dress(axes)
        if caption:
            add_caption(axes, self.caption)
        return axes

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
    box, frame = ax.get_tightbbox(), ax.get_window_extent()
    points = POINTS_PER_INCH / figure.dpi
    if box is None:
        box = frame
    letters = int(box.width * points / (LETTER_WIDTH * CAPTION_SIZE))
    offset = ((box.x0 - frame.x0) * points, (box.y0 - frame.y0) * points - CAPTION_GAP)
    with style():
        ax.annotate(
            textwrap.fill(plain(caption, None), max(letters, 20)),
            xy=(0, 0),
            xycoords="axes fraction",
            xytext=offset,
            textcoords="offset points",
            ha="left",
            va="top",
            fontsize=CAPTION_SIZE,
            color=INK,
            linespacing=1.25,
            annotation_clip=False,
        )
