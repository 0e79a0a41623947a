"""The style, the captions, and any text that may have to be drawn."""

from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import repshape as rs
from repshape.plots.picture import caption_figure
from repshape.plots.style import MARKERS, PALETTE, plain, style

HOSTILE = [
    "$x$",
    "a $ b",
    r"\frac{1}{2}",
    "_hidden",
    "line\nbreak\ttab\x00",
    "100 %",
    "x" * 10_000,
    "{",
]


def test_importing_repshape_imports_no_matplotlib() -> None:
    code = (
        "import sys, repshape as rs; assert 'matplotlib' not in sys.modules; rs.plots.plot_matrix;"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_attributes_are_still_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'plotz'"):
        _ = rs.plotz


def test_style_reaches_axes_of_other_settings(line: rs.DistanceMatrix) -> None:
    """Labels and ticks have our sizes though the axes were made with others, and drawn later."""
    with mpl.rc_context({"font.size": 30, "xtick.labelsize": 30}):
        ax = Figure().subplots()
        rs.plots.plot_embedding(rs.embed(line), ax=ax)
        ax.figure.draw_without_rendering()
        assert ax.xaxis.label.get_size() == 8
        assert {label.get_size() for label in ax.get_xticklabels()} == {7}


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_is_drawn_as_it_stands(text: str, ax: Axes) -> None:
    with style():
        drawn = ax.set_title(plain(text))
    shown, is_formula = drawn._preprocess_math(drawn.get_text())
    assert not is_formula
    assert shown.lstrip("\u200b")[:4].strip() in text
    assert len(shown) <= 33
    ax.legend(ax.plot([0, 1]), [plain(text)])
    ax.figure.draw_without_rendering()  # warnings are errors


def test_sevenfold_markers_make_many_levels_unique() -> None:
    pairs = {(PALETTE[k % len(PALETTE)], MARKERS[k % len(MARKERS)]) for k in range(56)}
    assert len(pairs) == 56


def test_caption_lies_below_the_labels(line: rs.DistanceMatrix, ax: Axes) -> None:
    rs.plots.plot_embedding(rs.embed(line), line, ax=ax, caption=True)
    ax.figure.draw_without_rendering()
    caption = ax.texts[-1].get_window_extent()
    assert caption.y1 < ax.xaxis.label.get_window_extent().y0
    assert caption.y0 >= 0
    assert caption.x1 <= ax.figure.bbox.x1


def test_own_figures_grow_by_their_caption() -> None:
    figure = Figure(figsize=(3.5, 2.0), layout="constrained")
    ax = figure.subplots()
    ax.set_xlabel("label")
    caption_figure(figure, "many words " * 40)
    figure.draw_without_rendering()
    caption = figure.texts[-1].get_window_extent()
    assert figure.get_figheight() > 2.5
    assert caption.y1 < ax.xaxis.label.get_window_extent().y0
    assert caption.y0 >= 0
    assert caption.x1 <= figure.bbox.x1


def test_without_axes_pyplot_has_the_figure(line: rs.DistanceMatrix) -> None:
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    ax = rs.plots.plot_matrix(line, caption=True)
    try:
        assert pyplot.gcf() is ax.figure
        assert ax.figure.get_figwidth() == 3.5
    finally:
        pyplot.close(ax.figure)
