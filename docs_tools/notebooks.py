"""Notebooks of tutorials and how-tos: ``python -m docs_tools.notebooks`` writes notebooks/.

The text of a page becomes Markdown cells and its code becomes code cells. What the page shows as
output is left out, because the notebook is run and keeps its own. Names on the command line select
notebooks.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs_tools.facts import fill

ROOT = Path(__file__).parents[1]
PAGES = ("spikes", "vae", "pytorch-layer")  # how-tos
TUTORIALS = ("recordings", "vaes", "layers", "models")
FOLDERS = ("tutorials", "howto", "")  # of pages, relative to docs/
SECONDS = 900  # for one cell
FENCE = re.compile(r"^( *)```(\w*)([^\n`]*)\n(.*?)^\1``` *$", re.MULTILINE | re.DOTALL)
PAGE_LINK = re.compile(r"\[([^\]]+)\](?:\((?![a-z]+:)[^)]*\)|\[[^\]]*\])", re.DOTALL)
IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)\n?")
ADMONITION = re.compile(r'^!!! \w+ "(.*)"\n\n((?: {4}.*\n|\n)+)', re.MULTILINE)
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def to_notebook(page: str) -> dict[str, Any]:
    r"""Return the notebook of a page in nbformat 4.5.

    >>> found = to_notebook("# Title\n\n```python\nx = 1\n```\n")
    >>> [(cell["cell_type"], "".join(cell["source"])) for cell in found["cells"]]
    [('markdown', '# Title'), ('code', 'x = 1')]
    """
    parts = enumerate(split_page(page))
    cells = [to_cell(kind, text, number) for number, (kind, text) in parts]
    return {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def split_page(page: str) -> Iterator[tuple[str, str]]:
    """Yield kind and text of each cell."""
    end = 0
    for fence in FENCE.finditer(page):
        yield from prose(page[end : fence.start()])
        _, language, info, code = fence.groups()
        if language == "python":
            yield "code", code.rstrip()
        elif language == "sh" and code.startswith("repshape"):
            yield "code", f"%%sh\nset -e\n{code.rstrip()}"
        elif "Output" not in info:
            yield "markdown", fence.group().strip()
        end = fence.end()
    yield from prose(page[end:])


def prose(text: str) -> Iterator[tuple[str, str]]:
    """Yield a Markdown cell without pictures and links to pages, or nothing if it is empty."""
    text = PAGE_LINK.sub(r"\1", IMAGE.sub("", text))
    text = ADMONITION.sub(quote, text).strip()
    if text:
        yield "markdown", text


def quote(admonition: re.Match[str]) -> str:
    """Return an admonition as a quotation, which every program can show."""
    title, body = admonition.groups()
    lines = [f"**{title}**", "", *(line[4:] for line in body.rstrip().splitlines())]
    return "\n".join(f"> {line}".rstrip() for line in lines) + "\n\n"


def to_cell(kind: str, text: str, number: int) -> dict[str, Any]:
    """Return one cell."""
    cell: dict[str, Any] = {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": text.splitlines(keepends=True),
    }
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def page_of(name: str) -> Path:
    """Return the page of a notebook."""
    places = (ROOT / "docs" / folder / f"{name}.md" for folder in FOLDERS)
    preferred = (place for place in places if (name in PAGES) == (place.parent.name == "howto"))
    return next(place for place in preferred if place.exists())


def plain_notebook(name: str) -> dict[str, Any]:
    """Return a page's notebook without outputs."""
    page = fill(page_of(name).read_text(encoding="utf-8"))
    return to_notebook(page)


def executed(notebook: dict[str, Any], folder: str) -> str:
    """Return the file of a notebook with the outputs of its cells, which run in a folder."""
    import nbformat
    from nbclient import NotebookClient

    node: Any = nbformat.reads(json.dumps(notebook), as_version=4)
    NotebookClient(
        node, timeout=SECONDS, record_timing=False, resources={"metadata": {"path": folder}}
    ).execute()
    for cell in node.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [one for one in map(kept_output, cell.outputs) if one]
    node.metadata = METADATA
    return str(nbformat.writes(node)) + "\n"


def kept_output(output: Any) -> Any:
    """Return an output as every run gives it; None for progress, which tells the time."""
    if output.output_type == "stream":
        return None if output.name == "stderr" else output
    shown = [kind for kind in ("image/png", "text/html", "text/plain") if kind in output.data]
    if output.output_type == "display_data" and "image/png" not in shown:
        return None
    # Beside a picture or a table, the text would be a memory address or the same table again.
    output.data = {kind: output.data[kind] for kind in shown[:1]}
    output.metadata = {}
    return output


def main(names: list[str]) -> None:
    """Run notebooks, all by default, and write them with their outputs."""
    os.environ.pop("MPLBACKEND", None)  # notebooks draw into their cells
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    (ROOT / "notebooks").mkdir(exist_ok=True)
    for name in names or (*PAGES, *TUTORIALS):
        with tempfile.TemporaryDirectory() as folder:
            text = executed(plain_notebook(name), folder)
        (ROOT / "notebooks" / f"{name}.ipynb").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
