"""Write the page that states how all studies decide their claims, and the table of all verdicts.

python -m experiments.standard
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from experiments.brain import claims as brain
from experiments.brain.decide import NOT_APPLICABLE
from experiments.brain.settings import Source
from experiments.common import verdicts
from experiments.common.files import write_whole
from experiments.common.pages import table_text
from experiments.common.results import RESULTS
from experiments.common.rounds import CONFIRMATION
from experiments.common.summary import GroupsOf, Round, counts, study_rows
from experiments.common.verdicts import Claim, Criterion
from experiments.patch_gaussian import claims as patch_gaussian
from experiments.vae import claims as vae
from experiments.vae.decide import groups_of_claim

PAGE = Path("experiments") / "standard.md"
VERDICTS = Path("experiments") / "verdicts.md"
STUDIES: Mapping[str, ModuleType] = {
    "Variational autoencoders": vae,
    "Patch-Gaussian augmentation": patch_gaussian,
    "Visual cortex": brain,
}
KNOWN = "What was known when the rules were written\n------------------------------------------\n"
NEXT = "\nShared definitions\n"
INTRODUCTION = """# How claims are decided

Every statement of the paper that a study tests is a *claim* with one or more *criteria*: statistics
with thresholds. Claims and criteria are data in the code of each study, and the pages print them.
`python -m experiments.standard` writes this page from them.

"""
VERDICTS_TEXT = """# All claims and their verdicts

The table has one row for each claim of the paper that the studies test. The claims of the two
network studies were worded with the results of the first round, the **pilot**, at hand. The
**confirmation** has networks with fresh seeds, and its verdict is the one that counts ([how claims
are decided](standard.md)). The study of visual cortex has one round for each of two cohorts: one is
simulated, so that the truth is known; the other has recordings of only four macaques. Nothing here
is about the paper's own networks and mice.

*What decided it* is about the last round that was measured. Brackets are intervals. A claim is
refuted by an interval entirely below the threshold, or below the smallest effect that matters.
*Units needed* is how many seeds, pairs, animals or draws would decide an inconclusive claim if
estimate and spread stayed the same. Where only a permutation test is open, we assume that the
effect, in standard deviations of chance, grows with the square root of their number. "Not known"
means that more units would not help, or that the number or its interval is not known. If a
confirmation has fewer seeds than planned, their number is given beside the verdict.

`python -m experiments.standard` writes this page from stored results.

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


def stored_rounds(
    docs: Path, results: Path | None = None
) -> dict[str, tuple[tuple[Claim, ...], list[Round]]]:
    """Return the claims of every study and cohort, with the rounds that are stored.

    Results of the network studies are read from ``results``, by default where the studies are.
    """
    root = Path(__file__).parent
    found: dict[str, tuple[tuple[Claim, ...], list[Round]]] = {}
    for title, module, name, groups in (
        ("Variational autoencoders", vae, "vae", groups_of_claim),
        ("Patch-Gaussian", patch_gaussian, "patch_gaussian", None),
    ):
        folder = (results or root) / name / "results"
        paths = folder / RESULTS, folder / CONFIRMATION / RESULTS
        found[title] = module.CLAIMS, [_stored(path, groups) for path in paths]
    for source, words in ((Source.SIMULATED, "simulated"), (Source.MACAQUE, "macaque")):
        claims = [c for c in brain.CLAIMS if c.name not in NOT_APPLICABLE.get(source, ())]
        stored = _stored(docs / "images" / f"brain-{source}" / RESULTS)
        found[f"Visual cortex, {words}"] = tuple(claims), [stored, Round({})]
    return found


def _stored(path: Path, groups: GroupsOf | None = None) -> Round:
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return Round.of(found, groups)


def verdicts_text(docs: Path, results: Path | None = None) -> str:
    """Return the page of all verdicts, in Markdown; ``results`` as in `stored_rounds`."""
    stored = stored_rounds(docs, results)
    rows = [
        row
        for title, (claims, rounds) in stored.items()
        for row in study_rows(title, [claim.name for claim in claims], rounds)
    ]
    last = {title: rounds[1].after(rounds[0]) for title, (_, rounds) in stored.items()}
    headings = ["study", "claim", "pilot", "confirmation", "what decided it", "units needed"]
    kinds = ["study", "claims", "hold", "do not hold", "inconclusive", "share inconclusive"]
    summary = f"In the last round that was measured:\n\n{table_text(kinds, counts(last))}"
    every = table_text(headings, rows)
    return f"{VERDICTS_TEXT}## In numbers\n\n{summary}\n\n## All claims\n\n{every}\n"


def write_pages(docs: Path, stored: Path | None = None) -> list[Path]:
    """Write both pages; return their files.

    Results of visual cortex are read from the documentation in ``stored``, by default the same.
    """
    contents = {docs / PAGE: page_text(), docs / VERDICTS: verdicts_text(stored or docs)}
    for path, text in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_whole(path) as handle:
            handle.write(text.encode())
    return list(contents)


def main(
    docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
) -> None:
    """Write both pages."""
    for path in write_pages(docs):
        typer.echo(f"wrote {path}", err=True)


if __name__ == "__main__":
    typer.run(main)
