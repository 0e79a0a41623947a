"""Figures that pages draw: ``python -m docs_tools.page_pictures`` runs the pages and saves them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl

DOCS = Path(__file__).parents[1] / "docs"
FOLDER = DOCS / "images" / "howto"
PAGES = {"layers": "howto/layer-by-layer.md", "models": "models.md"}
DPI = 180


def run_page(page: Path) -> dict[str, Any]:
    """Run the code of a page and return its names."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
    return names


def main() -> None:
    """Draw what the pages draw."""
    mpl.use("Agg")
    from matplotlib import pyplot

    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        run_page(DOCS / page)
        pyplot.gcf().savefig(FOLDER / f"{name}.png", dpi=DPI)
        pyplot.close("all")


if __name__ == "__main__":
    main()
