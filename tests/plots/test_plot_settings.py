"""Drawing changes no setting of matplotlib that belongs to the user."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

import repshape as rs
from repshape.demo.figure import draw_demo
from repshape.plots.gallery import GALLERY, Example

# Like the backend of notebooks, it turns interactive mode on when pyplot loads it, which is when
# the first figure is made.
NOTEBOOK_BACKEND = """
import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas

matplotlib.interactive(True)
"""
FIRST_FIGURE = """
import matplotlib, numpy, repshape as rs
from matplotlib import pyplot

x = numpy.random.default_rng(0).normal(size=(3, 5, 2))
assert not matplotlib.is_interactive()  # the backend is not loaded yet
{statement}
assert matplotlib.is_interactive()
assert pyplot.get_fignums() == [1]
"""


@pytest.fixture(scope="module")
def example() -> Example:
    return Example(n_networks=12, n_conditions=4, n_trials=12, n_neurons=3)


@pytest.fixture(params=[True, False], ids=["interactive", "not interactive"])
def settings(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Settings that a user chose, which must not change."""
    pyplot.switch_backend("Agg")
    with mpl.rc_context({"font.size": 13.0, "figure.dpi": 77.0, "interactive": request.param}):
        yield dict(mpl.rcParams)
        pyplot.close("all")


@pytest.mark.parametrize(
    "statement",
    [
        "rs.plots.plot_matrix(1.0 - numpy.eye(3), caption=True)",
        "rs.plots.plot_alignment(x, x, rs.GaussianShapeMetric().align(x, x))",
        "with rs.plots.style(): pyplot.figure()",
    ],
)
def test_a_backend_that_the_first_figure_loads_keeps_its_settings(
    tmp_path: Path, statement: str
) -> None:
    """Otherwise a notebook would show no figure after the first."""
    (tmp_path / "notebook_backend.py").write_text(NOTEBOOK_BACKEND)
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"MPLBACKEND": "module://notebook_backend", "PYTHONPATH": paths}
    code = FIRST_FIGURE.format(statement=statement)
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.parametrize("name", GALLERY)
def test_every_plot_leaves_the_settings_alone(
    settings: dict[str, Any], example: Example, name: str
) -> None:
    own = pyplot.figure()
    ax = GALLERY[name](example)
    assert dict(mpl.rcParams) == settings
    assert pyplot.get_fignums() == [own.number, ax.figure.figure.number]  # one new figure,
    assert pyplot.gcf() is ax.figure  # which is the current one, as with pyplot's own functions


def test_given_axes_leave_pyplot_alone(settings: dict[str, Any], line: rs.DistanceMatrix) -> None:
    current = pyplot.figure().subplots()
    ax = Figure().subplots()
    rs.plots.plot_matrix(line, groups="area", ax=ax, caption=True)
    assert dict(mpl.rcParams) == settings
    assert pyplot.get_fignums() == [current.figure.number]
    assert pyplot.gca() is current


def test_the_style_restores_its_own_settings_only(settings: dict[str, Any]) -> None:
    with rs.plots.style():
        assert mpl.rcParams["font.size"] == 8.0
        mpl.rcParams["font.size"] = 9.0
        pyplot.ion()
    assert dict(mpl.rcParams) == settings | {"interactive": True}


def test_report_and_demo_draw_without_pyplot(settings: dict[str, Any], tmp_path: Path) -> None:
    toy = rs.datasets.toy_networks(3, 2)
    D = rs.pairwise(toy, rs.GaussianShapeMetric())
    rs.write_report(D, tmp_path / "report.html", cohort=rs.Cohort.from_networks(toy))
    draw_demo(toy, [(1.0, "both", rs.embed(D), D)]).savefig(tmp_path / "demo.png")
    assert dict(mpl.rcParams) == settings
    assert pyplot.get_fignums() == []
