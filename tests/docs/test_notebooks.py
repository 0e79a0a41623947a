"""Notebooks are those of the present pages, and run from top to bottom."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from docs.blocks import ROOT

sys.path.insert(0, str(ROOT))  # the tools are no part of the package

from docs_tools.notebooks import PAGES, TUTORIALS, notebook_text

NOTEBOOKS = ROOT / "notebooks"


@pytest.mark.parametrize("name", [*PAGES, *TUTORIALS])
def test_notebook_is_of_the_present_page(name: str) -> None:
    assert (NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8") == notebook_text(name), (
        "Run python -m docs_tools.notebooks."
    )


# Notebooks have the code of pages, which test_code_blocks.py runs: one shows that kernels draw.
SLOW = [
    *(pytest.param(name, 2, marks=pytest.mark.nightly) for name in PAGES[1:]),
    *(pytest.param(name, 1, marks=pytest.mark.nightly) for name in TUTORIALS),
]


@pytest.mark.parametrize(("name", "pictures"), [(PAGES[0], 2), *SLOW])
def test_notebook_runs_and_draws(
    name: str, pictures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MPLBACKEND", raising=False)  # notebooks draw into their cells
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    shown = [
        output.data
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "display_data"
    ]
    assert sum("image/png" in one for one in shown) == pictures
