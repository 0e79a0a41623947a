"""Notebooks are those of the present pages, and run from top to bottom."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from docs.blocks import ROOT, check_output, find_blocks

sys.path.insert(0, str(ROOT))  # the tools are no part of the package

from docs_tools.facts import fill
from docs_tools.notebooks import PAGES, TUTORIALS, kept_output, page_of, plain_notebook

NOTEBOOKS = ROOT / "notebooks"
LARGEST = 120_000  # bytes of a notebook with its pictures


def committed(name: str) -> Any:
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


@pytest.mark.parametrize("name", [*PAGES, *TUTORIALS])
def test_notebook_is_of_the_present_page(name: str) -> None:
    found = [(cell.cell_type, cell.source) for cell in committed(name).cells]
    page = plain_notebook(name)["cells"]
    expected = [(cell["cell_type"], "".join(cell["source"])) for cell in page]
    assert found == expected, f"Run python -m docs_tools.notebooks {name}."


@pytest.mark.parametrize("name", [*PAGES, *TUTORIALS])
def test_notebook_shows_what_the_page_shows(name: str) -> None:
    """Tests of code blocks check that pages print this."""
    notebook = committed(name)
    nbformat.validate(notebook)
    printed = {
        cell.source: "".join(one.text for one in cell.outputs if one.output_type == "stream")
        for cell in notebook.cells
        if cell.cell_type == "code"
    }
    blocks = find_blocks(fill(page_of(name).read_text(encoding="utf-8")))
    for block in blocks:
        if block.is_output and blocks[block.follows].language == "python":
            check_output(block.code, printed[blocks[block.follows].code.rstrip()], name)


@pytest.mark.parametrize("name", [*PAGES, *TUTORIALS])
def test_notebook_has_pictures_and_is_small(name: str) -> None:
    assert (NOTEBOOKS / f"{name}.ipynb").stat().st_size < LARGEST
    assert len(pictures(committed(name))) >= 1


def test_progress_and_addresses_are_not_kept() -> None:
    progress = nbformat.v4.new_output("display_data", {"text/plain": "3 of 10 pairs, 2 s"})
    assert kept_output(progress) is None
    assert kept_output(nbformat.v4.new_output("stream", name="stderr", text="warning")) is None
    picture = {"image/png": "AA==", "text/plain": "<Figure size 1 at 0x7f>"}
    assert kept_output(nbformat.v4.new_output("display_data", picture)).data == {
        "image/png": "AA=="
    }


def pictures(notebook: Any) -> list[Any]:
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    outputs = (one for cell in cells for one in cell.outputs)
    return [one for one in outputs if "image/png" in one.get("data", {})]


# Notebooks have the code of pages, which test_code_blocks.py runs: one shows that kernels draw.
SLOW = [
    *(pytest.param(name, 1, marks=pytest.mark.nightly) for name in PAGES[1:]),
    *(pytest.param(name, 1, marks=pytest.mark.nightly) for name in TUTORIALS),
]


@pytest.mark.parametrize(("name", "expected"), [(PAGES[0], 1), *SLOW])
def test_notebook_runs_and_draws(
    name: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MPLBACKEND", raising=False)  # notebooks draw into their cells
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    notebook = committed(name)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    assert len(pictures(notebook)) == expected
