"""Write the page that states how all studies decide their claims.

python -m experiments.standard
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from experiments.brain import claims as brain
from experiments.common import verdicts
from experiments.common.files import write_whole
from experiments.common.verdicts import Claim, Criterion
from experiments.patch_gaussian import claims as patch_gaussian
from experiments.vae import claims as vae

PAGE = Path("experiments") / "standard.md"
STUDIES: Mapping[str, ModuleType] = {
    "Variational autoencoders": vae,
    "Patch-Gaussian augmentation": patch_gaussian,
    "Visual cortex": brain,
}
KNOWN = "What was known when the rules were written\n------------------------------------------\n"
NEXT = "\nShared definitions\n"
INTRODUCTION = """# How claims are decided

Every statement of the paper that a study tests is a *claim* with one or more *criteria*: statistics
with thresholds. Claims and criteria are data in the code of the study, and the pages print them.
This page is made from them by `python -m experiments.standard`.

"""
TOY = """The figures of the toy networks have no sampling error: their claims are checked by exact
numbers, on [their own page](toy.md).
"""


def docstring_section(module: Any) -> str:
    """Return what a study says about what was known when its rules were written."""
    words: str = module.__doc__
    return words.partition(KNOWN)[2].partition(NEXT)[0].replace("``", "`").strip()


def rules_text() -> str:
    """Return the rules that all studies share, from the module that decides."""
    words: str = verdicts.__doc__ or ""
    return words.partition("\n\n")[2].replace("``", "`").strip()


def threshold_words(criterion: Criterion) -> str:
    """Return the thresholds of a criterion.

    >>> threshold_words(Criterion("gain", "gain", 0.0, 0.02, largest_p=0.01, null="labels"))
    'above 0; too small below 0.02; p at most 0.01'
    """
    words = f"above {criterion.above:.3g}"
    if criterion.refuted_below != criterion.above:
        words += f"; too small below {criterion.refuted_below:.3g}"
    if criterion.largest_p is not None:
        words += f"; p at most {criterion.largest_p:g}"
    return words


def claim_rows(claim: Claim) -> list[str]:
    """Return rows of the table: criteria with the same thresholds share one."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in claim.criteria:
        groups.setdefault((threshold_words(one), one.reason), []).append(one.name)
    words = f"**{claim.name}.** {claim.sentence}"
    rows = []
    for (thresholds, reason), names in groups.items():
        listed = "; ".join(names)
        rows.append(f"| {words} | {listed} | {thresholds} | {reason} | {claim.level:.2%} |")
        words = ""
    return rows


def page_text() -> str:
    """Return the page, in Markdown."""
    parts = [INTRODUCTION, f"## Rules\n\n{rules_text()}\n\n{TOY}\n"]
    for title, module in STUDIES.items():
        rows = [row for claim in module.CLAIMS for row in claim_rows(claim)]
        table = "\n".join(
            [
                "| claim | criteria | it must be | why this threshold | level of each interval |",
                "|---|---|---|---|---|",
                *rows,
            ]
        )
        parts.append(f"## {title}\n\n{docstring_section(module)}\n\n{table}\n\n")
    return "".join(parts).rstrip() + "\n"


def main(
    docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
) -> None:
    """Write the page."""
    with write_whole(docs / PAGE) as handle:
        handle.write(page_text().encode())
    typer.echo(f"wrote {docs / PAGE}", err=True)


if __name__ == "__main__":
    typer.run(main)
