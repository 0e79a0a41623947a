"""How-tos show what their code draws, and end in results."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from docs.blocks import DOCS, ROOT, find_blocks

sys.path.insert(0, str(ROOT))  # the tools are no part of the package

from docs_tools.page_pictures import FOLDERS, draw, drawing_pages, pictures_of

HOWTOS = sorted((DOCS / "howto").glob("*.md"))
LARGEST = 150_000  # bytes of a picture


@pytest.mark.parametrize("page", HOWTOS, ids=lambda page: page.stem)
def test_a_howto_shows_a_picture_that_its_code_draws(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = [*pictures_of(page)]
    assert found
    for picture in found:
        before = text[: text.index(f"images/{picture}")]
        (*_, code) = [block.code for block in find_blocks(before) if block.language == "python"]
        assert "plot" in code or "ax." in code


@pytest.mark.parametrize("page", HOWTOS, ids=lambda page: page.stem)
def test_a_howto_prints_results_and_not_that_they_are_true(page: Path) -> None:
    for block in find_blocks(page.read_text(encoding="utf-8")):
        if block.is_output:
            assert not re.fullmatch(r"(?:True|False|\s)+", block.code), f"{page.name}:{block.line}"


def test_pictures_are_those_of_pages_and_small() -> None:
    shown = {picture for page in drawing_pages() for picture in pictures_of(DOCS / page)}
    images = DOCS / "images"
    there = {path for folder in FOLDERS for path in (images / folder).iterdir()}
    assert there == {images / picture for picture in shown}
    assert max(path.stat().st_size for path in there) < LARGEST


def test_the_last_figure_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    code = "import matplotlib.pyplot as plt\nplt.figure(figsize=(1, 1))\nlast = plt.figure()"
    page.write_text(f"```python\n{code}\n```\n\n![Words](../images/howto/one.png)\n")
    names = draw(page, tmp_path)
    assert (tmp_path / "howto" / "one.png").read_bytes().startswith(b"\x89PNG")
    assert names["last"].get_size_inches()[0] > 1
