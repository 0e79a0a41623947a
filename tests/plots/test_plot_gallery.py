"""Every plot has its picture, made by a command, and its place on the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib import pyplot

import repshape as rs
from repshape.plots.gallery import GALLERY, main

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "gallery.md").read_text(encoding="utf-8")
PLOTS = sorted(name for name in rs.plots.__all__ if name.startswith("plot_"))


def test_the_gallery_has_every_plot_and_no_other() -> None:
    assert sorted(GALLERY) == PLOTS
    files = sorted(file.stem for file in (DOCS / "images" / "gallery").glob("*.png"))
    assert [f"plot_{stem}" for stem in files] == PLOTS


def test_pictures_are_small() -> None:
    assert sum(file.stat().st_size for file in (DOCS / "images" / "gallery").iterdir()) < 1e6


@pytest.mark.parametrize("name", PLOTS)
def test_the_page_shows_every_plot(name: str) -> None:
    assert f"rs.plots.{name}(" in PAGE
    assert f"](images/gallery/{name.removeprefix('plot_')}.png)" in PAGE


def test_the_command_draws_the_same_bytes_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pyplot.switch_backend("Agg")
    for folder in ("a", "b"):
        main(["--out", str(tmp_path / folder), "plot_responses", "plot_alignment"])
    assert len(capsys.readouterr().out.split()) == 4
    for file in ("responses.png", "alignment.png"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert not pyplot.get_fignums()


def test_names_that_are_no_plot_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--out", str(tmp_path), "plot_nothing"])
    assert stopped.value.code == 2
