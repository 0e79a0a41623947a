"""One look for all pictures: sizes for print, colours that every eye can tell apart, safe text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes

# A single column of a journal, in inches (89 mm), and the letters that stay readable in it.
COLUMN_WIDTH = 3.5
FONT_SIZE = 8.0
SMALL_SIZE = 7.0
CAPTION_SIZE = 6.5
INK = "#333333"
FAINT = "#bdbdbd"

# Okabe and Ito (2008), told apart by every kind of colour vision; yellow is weak on white: last.
PALETTE = (
    "#0072B2",  # blue
    "#D55E00",  # vermilion
    "#009E73",  # green
    "#CC79A7",  # purple
    "#E69F00",  # orange
    "#56B4E9",  # sky
    "#000000",  # black
    "#F0E442",  # yellow
)
# Seven markers with eight colours: 56 levels before a pair of them returns.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Its lightness rises evenly, so it survives greyscale.
COLORMAP = "viridis"
# Longer names than this would push the data out of the picture.
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
    """Draw in the style of repshape; settings are as they were afterwards.

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
    with mpl.rc_context(STYLE):
        yield


def plain(text: object, longest: int | None = LONGEST_NAME) -> str:
    r"""Return text that matplotlib shows as it stands, on one line and not too long.

    A dollar would start a formula, a leading underscore would hide an entry of a legend, and
    control characters have no glyph.

    Parameters
    ----------
    text : object
        A name, or any value of metadata.
    longest : int or None
        Cut after this many characters, and say so by an ellipsis.

    Examples
    --------
    >>> plain("cost in $ or $US")
    'cost in \\$ or \\$US'
    >>> plain("a" * 100, 5)
    'aaaa…'
    """
    words = short(text, longest)
    if words.startswith("_"):
        words = "\u200b" + words  # a space without width
    return words.replace("$", r"\$")


def short(text: object, longest: int | None = LONGEST_NAME) -> str:
    r"""Return text on one line and not too long, as captions hold it.

    >>> short("left\nright")
    'left right'
    """
    words = re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", str(text)).strip()
    if longest is not None and len(words) > longest:
        words = words[: longest - 1].rstrip() + "…"
    return words


def dress(ax: Axes) -> None:
    """Give axes, whoever made them, the sizes and colours of the style.

    Ticks are made when a figure is drawn, long after the style has ended, so it is told to them.
    """
    ax.tick_params(labelsize=SMALL_SIZE, colors=INK, length=2.5, width=0.6, pad=2)
    for label in (ax.xaxis.label, ax.yaxis.label, ax.title):
        label.set(size=FONT_SIZE, color=INK)
    for spine in ax.spines.values():
        spine.set(linewidth=0.6, edgecolor=INK)
