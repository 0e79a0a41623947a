"""The figure of a how-to: ``python -m docs_tools.layers`` runs its page and draws what it draws."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "howto" / "layer-by-layer.md"
IMAGE = DOCS / "images" / "howto" / "layers.png"
DPI = 180


def run_page() -> dict[str, Any]:
    """Run the code of the page and return its names."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
    return names


def main() -> None:
    """Draw what the page draws."""
    mpl.use("Agg")
    from matplotlib import pyplot

    run_page()
    IMAGE.parent.mkdir(exist_ok=True)
    pyplot.gcf().savefig(IMAGE, dpi=DPI)


if __name__ == "__main__":
    main()
