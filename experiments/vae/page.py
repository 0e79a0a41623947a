"""Write the documentation page of the study from its stored results.

python -m experiments.vae.page [--results DIR] [--docs docs]
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.common.verdicts import Verdict
from experiments.vae.claims import CLAIMS
from experiments.vae.cost import COST
from experiments.vae.draw import FIGURES, draw_one, drawable
from experiments.vae.page_text import (
    CAPTIONS,
    COST_TEXT,
    DIFFERENCES,
    INTRODUCTION,
    NOT_YET,
    PARTIAL,
    READING,
)
from experiments.vae.results import read_results
from experiments.vae.scores import NAMES
from experiments.vae.settings import CHOSEN
from repshape.io.writing import open_output

PAGE = Path("experiments") / "vae.md"
IMAGES = Path("images") / "vae"
RESULTS_FOLDER = Path(__file__).with_name("results")
TINY = "tiny"


def page_text(results: Mapping[str, Any], cost: Mapping[str, Any]) -> str:
    """Return the page, in Markdown; the results of the tiny scale are not shown."""
    tiny = results["scale"] == TINY
    parts = [INTRODUCTION, NOT_YET if tiny else measured_text(results), READING]
    parts.append("## Claims\n")
    parts.append(criteria_table() if tiny else claims_table(results["claims"]))
    if not tiny:
        parts.append(training_text(results["numbers"].get("training", [])))
        parts += figure_texts(results)
        parts.append(full_scores_text(results["numbers"].get("full_scores", {})))
    parts.append(differences_text())
    parts.append(cost_text(cost))
    return "\n".join(parts)


def measured_text(results: Mapping[str, Any]) -> str:
    """Say what was measured, and how many claims hold."""
    networks = results["networks"]
    measured = sum(one["measured"] for one in networks.values())
    planned = sum(one["planned"] for one in networks.values())
    failed = sum(one["failed"] for one in networks.values())
    verdicts = [claim["verdict"] for claim in results["claims"]]
    counts = ", ".join(f"{verdicts.count(one.value)} {_plural(one)}" for one in Verdict)
    hours = sum(results["seconds"].values()) / 3600
    lines = [
        f"{measured} networks are compared here, of which {failed} failed to train. Measuring took "
        f"{hours:.1f} hours. **Of {len(verdicts)} claims, {counts}.**",
        "",
    ]
    if measured < planned:
        lines += [PARTIAL.format(missing=planned - measured), ""]
    return "\n".join(lines)


def _plural(verdict: Verdict) -> str:
    words = {Verdict.HOLDS: "hold", Verdict.FAILS: "do not hold", Verdict.OPEN: "cannot be told"}
    return words[verdict]


def claims_table(claims: Iterable[Mapping[str, Any]]) -> str:
    """Return the claims with numbers and verdicts."""
    lines = ["| claim | numbers | verdict |", "|---|---|---|"]
    for claim in claims:
        numbers = "<br>".join(map(criterion_words, claim["criteria"]))
        verdict = claim["verdict"]
        verdict = verdict if verdict == Verdict.HOLDS else f"**{verdict}**"
        note = f"<br>*{claim['note']}*" if claim["note"] else ""
        lines.append(f"| {claim_words(claim)} | {numbers} | {verdict}{note} |")
    return "\n".join([*lines, ""])


def criteria_table() -> str:
    """Return the claims with what will decide them."""
    lines = ["| claim | it holds if all of these are above, and does not hold if one is below |"]
    lines.append("|---|---|")
    for claim in CLAIMS:
        first = claim.criteria[0]
        others = len(claim.criteria) - 1
        more = f"<br>*and {others} more of this kind*" if others else ""
        words = f"{first.statistic}: {first.above:g} and {first.refuted_below:g}"
        if first.largest_p is not None:
            words += f", and p at most {first.largest_p:g}"
        known = {"name": claim.name, "sentence": claim.sentence, "source": claim.source}
        lines.append(f"| {claim_words(known)} | {words}{more} |")
    return "\n".join([*lines, ""])


def claim_words(claim: Mapping[str, Any]) -> str:
    """Return name, sentence and source of a claim."""
    return f"**{claim['name']}.** {claim['sentence']} *({claim['source']})*"


def criterion_words(criterion: Mapping[str, Any]) -> str:
    """Return a criterion in words.

    >>> numbers = {"estimate": 0.512, "lower": 0.4, "upper": 0.6, "p_value": 0.001}
    >>> criterion_words({"name": "alpha = 1", "above": 0.0, "verdict": "holds"} | numbers)
    'alpha = 1: 0.512 [0.4, 0.6], p = 0.001'
    """
    if criterion["estimate"] is None:
        return f"{criterion['name']}: not measured"
    words = f"{criterion['name']}: {criterion['estimate']:.3g}"
    if criterion["lower"] is not None:
        words += f" [{criterion['lower']:.3g}, {criterion['upper']:.3g}]"
    if criterion["p_value"] is not None:
        words += f", p = {criterion['p_value']:.3g}"
    verdict = criterion["verdict"]
    return words if verdict == Verdict.HOLDS else f"{words}: {verdict}"


def training_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the table of how training went."""
    lines = [
        "## Training",
        "",
        "Means over seeds, on held-out images. *Explained* is the share of the gap between the "
        "mean image's loss and the lowest possible loss.",
        "",
        "| objective and strength | networks | failed | explained | reconstruction | KL | active |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        names = ("explained", "reconstruction", "kl", "active_latents")
        cells = [f"{row[name]:.3g}" if row[name] is not None else "-" for name in names]
        known = [str(row[name]) for name in ("cell", "networks", "failed")]
        lines.append(f"| {' | '.join([*known, *cells])} |")
    return "\n".join([*lines, ""])


def figure_texts(results: Mapping[str, Any]) -> list[str]:
    """Return a section for each figure that the results allow."""
    return [
        f"## {FIGURES[name].title}\n\n![{FIGURES[name].title}](../{IMAGES.as_posix()}/{name}.png)"
        "\n\n"
        f"{CAPTIONS[name]}\n"
        for name in drawable(results)
    ]


def full_scores_text(found: Mapping[str, Any]) -> str:
    """Return how scores at the paper's sizes differ; empty if none were computed."""
    if not found:
        return ""
    lines = [
        "## Scores at the paper's sizes",
        "",
        f"{found['networks']} networks were scored a second time with the paper's numbers of "
        "images and exact trees (`python -m experiments.vae score --full 12`).",
        "",
        "| score | mean, paper's sizes | mean difference of ours | mean absolute difference |",
        "|---|---|---|---|",
    ]
    for letter, words in NAMES.items():
        row = found[letter]
        names = ("mean", "mean_difference", "mean_absolute_difference")
        cells = [f"{row[one]:.3g}" if row[one] is not None else "-" for one in names]
        lines.append(f"| {letter}: {words} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def differences_text() -> str:
    """Return what differs from the paper, and what was chosen where it is silent."""
    lines = ["## What differs from the paper", "", "| | the paper | here |", "|---|---|---|"]
    lines += [f"| {name} | {theirs} | {ours} |" for name, (theirs, ours) in DIFFERENCES.items()]
    lines += ["", "Where the papers are silent, or both scales differ:", "", "| | chosen here |"]
    lines += ["|---|---|", *(f"| {name} | {words} |" for name, words in CHOSEN.items()), ""]
    return "\n".join(lines)


def cost_text(cost: Mapping[str, Any]) -> str:
    """Return how long the paper's networks would take."""
    rows = [
        f"| {name.replace('-', ' = ') if name != 'energy' else name} | {seconds:.3g} | "
        f"{cost['core_hours'][name]:.0f} |"
        for name, seconds in cost["seconds_per_pair"].items()
    ]
    table = "\n".join(["| matrix | seconds a pair | core hours |", "|---|---|---|", *rows])
    total = sum(cost["core_hours"].values())
    return COST_TEXT.format(
        table=table,
        images=cost["images"],
        trials=cost["trials"],
        pairs=f"{cost['pairs']:,}".replace(",", " "),
        total=f"{total:.0f}",
        days=f"{total / 100:.0f}",
    )


def write_page(results_folder: Path, docs: Path) -> list[Path]:
    """Write the page and, unless the results are of the tiny scale, its figures."""
    results, arrays = read_results(results_folder)
    cost = json.loads((results_folder / COST).read_text(encoding="utf-8"))
    with open_output(docs / PAGE) as handle:
        handle.write(page_text(results, cost).encode())
    if results["scale"] == TINY:
        return [docs / PAGE]
    (docs / IMAGES).mkdir(parents=True, exist_ok=True)
    for name in drawable(results):
        draw_one(name, results, arrays, docs / IMAGES, ("png",))
    return [docs / PAGE, *(docs / IMAGES / f"{name}.png" for name in drawable(results))]


def main(
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = RESULTS_FOLDER,
    docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
) -> None:
    """Write the page of the study and draw its figures."""
    for file in write_page(results, docs):
        typer.echo(f"wrote {file}", err=True)


if __name__ == "__main__":
    typer.run(main)
