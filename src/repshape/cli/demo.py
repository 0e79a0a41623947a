"""The command that shows what repshape does: demo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from repshape.cli.options import Printing, option
from repshape.cli.shared import check_output_folder


@dataclass(frozen=True, kw_only=True)
class DemoOptions(Printing):
    """Options of the command demo."""

    out: Annotated[Path, option("DIRECTORY", "Where to write the page, figure and data.")] = Path(
        "demo-output"
    )


def demo(given: DemoOptions) -> None:
    """Compare 99 toy networks and 24 trained ones, end to end.

    The command computes the distances between the toy networks, checks the findings of Figure 2 C-E
    of Duong et al. (2023), and writes a page, a figure and the data. Then it compares 24 trained
    autoencoders, and writes a page about all of them from distances computed beforehand.
    """
    import repshape.demo

    check_output_folder(given.out, inputs=[])
    result = repshape.demo.run_demo(progress=given.progress)
    files = repshape.demo.save_demo(result, given.out, progress=given.progress)
    data = result.summary()
    lines = [result.words()]
    if repshape.demo.vaes_available():
        trained = repshape.demo.run_vae_demo(progress=given.progress)
        files.append(repshape.demo.save_vae_demo(trained, given.out, progress=given.progress))
        data["vaes"] = trained.summary()
        lines.append(trained.words())
    pages = [file.resolve().as_uri() for file in files if file.suffix == ".html"]
    lines += [
        f"Wrote {len(files)} files to {given.out}.",
        f"Open in a browser: {' and '.join(pages)}",
    ]
    given.tell(lines, data | {"files": [str(file) for file in files]})
