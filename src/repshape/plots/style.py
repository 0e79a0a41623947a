"""The common style: sizes for print, colour-blind safe colours, and text that is safe to draw."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes

from repshape._colours import MARKERS as MARKERS
from repshape._colours import PALETTE as PALETTE

# The width of one journal column, in inches (89 mm), and font sizes that stay readable in it.
COLUMN_WIDTH = 3.5
FONT_SIZE = 8.0
SMALL_SIZE = 7.0
CAPTION_SIZE = 6.5
INK = "#333333"
FAINT = "#bdbdbd"

# Lightness increases evenly, so the map remains readable in greyscale.
COLORMAP = "viridis"
# Longer names would leave too little room for the data.
LONGEST_NAME = 32

# Typed loosely: older matplotlib takes any mapping, newer lists every key.
STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same everywhere
    "font.size": FONT_SIZE,
    "axes.labelsize": FONT_SIZE,
    "axes.titlesize": FONT_SIZE,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.6,
    "axes.unicode_minus": True,
    "figure.dpi": 150,
    "image.interpolation": "nearest",
    "legend.fontsize": SMALL_SIZE,
    "legend.title_fontsize": SMALL_SIZE,
    "legend.frameon": False,
    "legend.handletextpad": 0.4,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.0,
    "patch.linewidth": 0.8,
    "pdf.fonttype": 42,  # text stays text when a figure is edited
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "text.color": INK,
    "text.usetex": False,  # names of networks are not TeX
    "xtick.labelsize": SMALL_SIZE,
    "ytick.labelsize": SMALL_SIZE,
}


@contextmanager
def style() -> Iterator[None]:
    """Use the style of repshape within a ``with`` block.

    The settings that belong to the style are restored at the end of the block. All others,
    interactive mode and the backend among them, are left alone: whatever sets them inside the
    block (a notebook backend does so when it is loaded) keeps its effect.

    Examples
    --------
    >>> import matplotlib
    >>> before = matplotlib.rcParams["font.size"]
    >>> with style():
    ...     matplotlib.rcParams["font.size"]
    8.0
    >>> matplotlib.rcParams["font.size"] == before
    True
    """
    # Not `matplotlib.rc_context`: it restores every setting, and so undoes what a backend that is
    # loaded inside the block has set, such as interactive mode.
    before: Any = {key: mpl.rcParams[key] for key in STYLE}
    mpl.rcParams.update(STYLE)
    try:
        yield
    finally:
        mpl.rcParams.update(before)


def plain(text: object, longest: int | None = LONGEST_NAME) -> str:
    r"""Return text that matplotlib shows literally, on one line and not too long.

    A dollar sign would start a formula, a leading underscore would hide a legend entry, and
    control characters have no glyph.

    Parameters
    ----------
    text : object
        A name, or any value of the metadata.
    longest : int or None
        Maximum number of characters; longer text ends in an ellipsis. None means no limit.

    Examples
    --------
    >>> plain("cost in $ or $US")
    'cost in \\$ or \\$US'
    >>> plain("a" * 100, 5)
    'aaaa…'
    """
    words = short(text, longest)
    if words.startswith("_"):
        words = "\u200b" + words  # a zero-width space
    return words.replace("$", r"\$")


def short(text: object, longest: int | None = LONGEST_NAME) -> str:
    r"""Return text on one line and not too long, for captions.

    >>> short("left\nright")
    'left right'
    """
    words = re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", str(text)).strip()
    if longest is not None and len(words) > longest:
        words = words[: longest - 1].rstrip() + "…"
    return words


def dress(ax: Axes) -> None:
    """Apply the sizes and colours of the style to axes that were made elsewhere.

    Ticks are created when the figure is drawn, after `style` has ended, so they are set here.
    """
    ax.tick_params(labelsize=SMALL_SIZE, colors=INK, length=2.5, width=0.6, pad=2)
    for label in (ax.xaxis.label, ax.yaxis.label, ax.title):
        label.set(size=FONT_SIZE, color=INK)
    for spine in ax.spines.values():
        spine.set(linewidth=0.6, edgecolor=INK)
