"""The pictures of the tutorials: ``python -m docs_tools.tutorials`` runs the pages and keeps them.

The code of a page saves its figure in the current folder, under the name of the page.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
IMAGES = DOCS / "images" / "tutorials"
PAGES = ("recordings", "vaes", "layers")
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def run(name: str) -> dict[str, Any]:
    """Run the code of a tutorial in the current folder and return its names."""
    names: dict[str, Any] = {}
    for block in CODE.findall((DOCS / "tutorials" / f"{name}.md").read_text(encoding="utf-8")):
        exec(block, names)
    return names


def main(names: list[str]) -> None:
    """Run tutorials, all by default, and keep what they draw."""
    os.environ["MPLBACKEND"] = "Agg"
    for name in names or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            run(name)
            (IMAGES / f"{name}.png").write_bytes(Path(f"{name}.png").read_bytes())
            os.chdir(DOCS)


if __name__ == "__main__":
    main(sys.argv[1:])
