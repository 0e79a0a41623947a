"""Pictures that the code of pages draws: ``python -m docs_tools.page_pictures [PAGE ...]``.

A page is run from top to bottom in an empty folder. Where it shows a picture of `FOLDERS`, the
figure that its code has drawn last is saved under that name. PAGE is relative to docs/, for example
howto/vae.md.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs_tools.facts import fill

DOCS = Path(__file__).parents[1] / "docs"
FOLDERS = ("howto", "tutorials")  # of docs/images; other folders have scripts of their own
DPI = 160
STEP = re.compile(
    r"^```(?P<language>python|sh)\n(?P<code>.*?)^```|"
    rf"^!\[[^\]]+\]\((?:\.\./)*images/(?P<picture>(?:{'|'.join(FOLDERS)})/[\w-]+\.png)\)",
    re.MULTILINE | re.DOTALL,
)


def drawing_pages() -> list[str]:
    """Return the pages whose code draws a picture."""
    paths = sorted(DOCS.rglob("*.md"))
    return [str(path.relative_to(DOCS)) for path in paths if [*pictures_of(path)]]


def pictures_of(page: Path) -> Iterator[str]:
    """Yield the pictures that the code of a page draws, relative to docs/images."""
    for step in STEP.finditer(page.read_text(encoding="utf-8")):
        if step["picture"]:
            yield step["picture"]


def draw(page: Path, images: Path) -> dict[str, Any]:
    """Run a page in the current folder, save its pictures, and return the names that it defines."""
    from matplotlib import pyplot

    names: dict[str, Any] = {"__name__": "__main__"}
    for step in STEP.finditer(fill(page.read_text(encoding="utf-8"))):
        if step["language"] == "python":
            exec(compile(step["code"], str(page), "exec"), names)
        elif step["language"] == "sh":
            run_commands(step["code"])
        else:
            figure = pyplot.figure(pyplot.get_fignums()[-1])
            (images / step["picture"]).parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(images / step["picture"], dpi=DPI, metadata={"Software": None})
    pyplot.close("all")
    return names


def run_commands(code: str) -> None:
    """Run the commands of repshape; others, such as pip and queues, are left out."""
    import shlex

    from repshape.cli import run

    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["repshape"] and "tcp://" not in line:
            run([word.replace("$SLURM_ARRAY_TASK_ID", "1") for word in words[1:]])


def main(pages: list[str]) -> None:
    """Draw the pictures of pages, of all by default."""
    import matplotlib as mpl

    mpl.use("Agg")
    warnings.simplefilter("ignore")
    for page in pages or drawing_pages():
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            draw(DOCS / page, DOCS / "images")
            os.chdir(DOCS)


if __name__ == "__main__":
    main(sys.argv[1:])
