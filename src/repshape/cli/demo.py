"""The command that shows what repshape does: demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from repshape.cli.shared import AsJson, Quiet, check_output_folder, option, tell


def demo(
    out: Annotated[Path, option("DIRECTORY", "Where to write the page, figure and data.")] = Path(
        "demo-output"
    ),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare 99 toy networks and 24 trained ones, end to end.

    The command computes the distances between the toy networks, checks the findings of Figure 2 C-E
    of Duong et al. (2023), and writes a page, a figure and the data. Then it compares 24 trained
    autoencoders, and writes a page about all of them from distances computed beforehand.
    """
    import repshape.demo

    check_output_folder(out, inputs=[])
    progress = False if quiet else None
    result = repshape.demo.run_demo(progress=progress)
    files = repshape.demo.save_demo(result, out, progress=progress)
    data = result.summary()
    lines = [result.words()]
    if repshape.demo.vaes_available():
        trained = repshape.demo.run_vae_demo(progress=progress)
        files.append(repshape.demo.save_vae_demo(trained, out, progress=progress))
        data["vaes"] = trained.summary()
        lines.append(trained.words())
    pages = [file.resolve().as_uri() for file in files if file.suffix == ".html"]
    lines += [
        f"Wrote {len(files)} files to {out}.",
        f"Open in a browser: {' and '.join(pages)}",
    ]
    data["files"] = [str(file) for file in files]
    tell(lines, data, as_json=as_json, quiet=quiet)
