"""Write the documentation page of the toy experiment from the results of a run.

python -m experiments.toy.page DIR [--docs docs]
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.common.pages import versions_text
from experiments.toy.run import RESULTS, all_claims, read_results
from repshape.demo.findings import Check, number_words
from repshape.io.writing import open_output

PAGE = Path("experiments") / "toy.md"
IMAGES = Path("images") / "toy"

INTRODUCTION = """# The toy results

This page reproduces the figures of Duong et al. (2023) that need neither recordings nor trained
networks: Figure 1, Figure 2, and Supplementary Figures 1 to 4. It uses only the public interface of
`repshape`. Each statement of the paper about a figure is a claim, and the numbers beside it decide
whether it holds here.

How to read the verdicts: no threshold was changed after a run, but not all were chosen blindly.
Earlier results for the toy networks (recovery of the grid; violations, repair and correlation of
the energy distance) were known when their thresholds were chosen. Where the paper is qualitative
("minor"), the threshold is ours. The last table lists what was changed after results were known.

```sh
python -m experiments.toy all --scale paper --out toy-output
```

makes all figures in about {minutes} of processor time. The step `measure` stores the results, and
`figures` draws the figures from them; `all` does both. `--only fig2` selects one figure, and
`--scale small` uses a smaller grid. `python -m experiments.toy.page toy-output` wrote this page
from such a run (seed {seed}): {networks} toy networks, {conditions} conditions, and {trials} trials
per condition where trials are drawn. {versions} **{held} of {count} claims hold.**
"""


def check_words(check: Mapping[str, Any]) -> str:
    """Return a stored check as text."""
    return str(Check(check["name"], check["value"], check["relation"], check["bound"]))


def page_text(results: Mapping[str, Any]) -> str:
    """Return the page, in Markdown."""
    claims, settings = all_claims(results), results["settings"]
    parts = [
        INTRODUCTION.format(
            minutes=duration(sum(results["seconds"].values())),
            seed=settings["seed"],
            networks=settings["n_correlations"] * settings["n_scales"],
            conditions=settings["n_conditions"],
            trials=settings["n_trials"],
            versions=versions_text(results),
            held=sum(claim["holds"] for claim in claims),
            count=len(claims),
        )
    ]
    parts += [figure_text(name, figure) for name, figure in results["figures"].items()]
    parts.append(chosen_text(results["chosen"]))
    return "\n".join(parts)


def figure_text(name: str, figure: Mapping[str, Any]) -> str:
    """Return the section of one figure."""
    lines = [
        f"## {figure['title']}",
        "",
        f"![{figure['title']}](../{IMAGES.as_posix()}/{name}.png)",
        "",
        figure["caption"],
        "",
        "| claim | numbers | verdict |",
        "|---|---|---|",
    ]
    for claim in figure["claims"]:
        numbers = "<br>".join(map(check_words, claim["checks"]))
        if claim["context"]:
            context = "; ".join(
                f"{key} {number_words(value)}" for key, value in claim["context"].items()
            )
            numbers += f"<br>*{context}*"
        verdict = "holds" if claim["holds"] else "**does not hold**"
        lines.append(f"| **{claim['name']}.** {claim['sentence']} | {numbers} | {verdict} |")
    if figure["note"]:
        lines += ["", figure["note"]]
    return "\n".join([*lines, ""])


def chosen_text(chosen: Mapping[str, str]) -> str:
    """Return the table of choices that the paper does not state."""
    lines = ["## What the paper does not state", "", "| | chosen here |", "|---|---|"]
    lines += [f"| {name} | {words} |" for name, words in chosen.items()]
    return "\n".join([*lines, ""])


def duration(seconds: float) -> str:
    """Return a duration, rounded to ten seconds or to minutes.

    >>> duration(34.0), duration(130.0)
    ('30 s', '2 minutes')
    """
    if seconds < 95:
        return f"{max(10, round(seconds / 10) * 10)} s"
    return f"{round(seconds / 60)} minutes"


def write_page(run: Path, docs: Path) -> list[Path]:
    """Write the page and copy its figures from the folder of a run; return the files."""
    results = read_results(run)
    files = [docs / PAGE]
    contents = [page_text(results).encode()]
    for name in results["figures"]:
        files.append(docs / IMAGES / f"{name}.png")
        contents.append((run / f"{name}.png").read_bytes())
    files.append(docs / IMAGES / RESULTS)
    contents.append((run / RESULTS).read_bytes())
    for file, content in zip(files, contents, strict=True):
        file.parent.mkdir(parents=True, exist_ok=True)
        with open_output(file) as handle:
            handle.write(content)
    return files


def main(
    run: Annotated[Path, typer.Argument(help="Folder of a run of python -m experiments.toy.")],
    docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
) -> None:
    """Write the page of the toy experiment and copy its figures."""
    for file in write_page(run, docs):
        typer.echo(f"wrote {file}", err=True)


if __name__ == "__main__":
    typer.run(main)
