"""Write the documentation page of the study from its stored results.

python -m experiments.vae.page [--results DIR] [--docs docs]
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.common.pages import (
    claims_table,
    count_verdicts,
    criteria_table,
    differences_text,
    figure_texts,
    write_page,
)
from experiments.common.results import TINY, read_results
from experiments.vae.claims import CLAIMS
from experiments.vae.cost import COST
from experiments.vae.draw import FIGURES
from experiments.vae.page_text import (
    CAPTIONS,
    COST_TEXT,
    DIFFERENCES,
    INTRODUCTION,
    NO_OTHERS,
    NO_SCORES,
    NOT_YET,
    PARTIAL,
    READING,
    TAKEN,
)
from experiments.vae.scores import NAMES
from experiments.vae.settings import CHOSEN
from experiments.vae.supplements import OTHERS

PAGE = Path("experiments") / "vae.md"
IMAGES = Path("images") / "vae"
RESULTS_FOLDER = Path(__file__).with_name("results")


def page_text(results: Mapping[str, Any], cost: Mapping[str, Any]) -> str:
    """Return the page, in Markdown; the results of the tiny scale are not shown."""
    tiny = results["scale"] == TINY
    parts = [INTRODUCTION, NOT_YET if tiny else measured_text(results), READING]
    parts.append("## Claims\n")
    parts.append(criteria_table(CLAIMS) if tiny else claims_table(results["claims"]))
    if not tiny:
        parts.append(training_text(results["numbers"].get("training", [])))
        parts += figure_texts(FIGURES, results, CAPTIONS, IMAGES)
        parts.append(sweep_text(results["numbers"].get("sweep", {})))
        parts.append(full_scores_text(results["numbers"].get("full_scores", {})))
    parts.append(differences_text(DIFFERENCES, CHOSEN))
    parts.append(cost_text(cost))
    return "\n".join(parts)


def measured_text(results: Mapping[str, Any]) -> str:
    """Say what was measured, and how many claims hold."""
    networks = results["networks"]
    measured = sum(one["measured"] for one in networks.values())
    planned = sum(one["planned"] for one in networks.values())
    failed = sum(one["failed"] for one in networks.values())
    groups = [f"{one['failed']} of {name}" for name, one in networks.items() if one["failed"]]
    which = f" ({', '.join(groups)})" if groups else ""
    training = sum(one["seconds"] for one in networks.values()) / 3600
    scoring = sum(one["score_seconds"] for one in networks.values()) / 3600
    hours = sum(results["seconds"].values()) / 3600
    lines = [
        f"{measured} networks are compared here, of which {failed} failed to train{which}. "
        f"Training took {training:.1f} hours of a core, scoring {scoring:.1f} (without encoding "
        f"the images), and measuring and deciding {hours:.1f} hours by the clock, on one or two "
        "cores that other jobs shared. "
        f"{count_verdicts(results['claims'])}",
        "",
    ]
    if results.get("taken"):
        taken: dict[str, list[str]] = {}
        for group, matrix in (name.split("/") for name in results["taken"]):
            taken.setdefault(group, []).append(matrix)
        groups = [f"{group} ({', '.join(matrices)})" for group, matrices in taken.items()]
        lines += [TAKEN.format(groups=", ".join(groups)), ""]
    if measured < planned:
        lines += [PARTIAL.format(missing=planned - measured), ""]
    compared = results["numbers"].get("other_distances", {})
    missing = [
        words for name, words in OTHERS.items() if not any(one.startswith(name) for one in compared)
    ]
    if missing:
        lines += [NO_OTHERS.format(datasets=" and ".join(missing)), ""]
    if not any(one["scored"] for one in networks.values()):
        lines += [NO_SCORES, ""]
    return "\n".join(lines)


def training_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the table of how training went."""
    lines = [
        "## Training",
        "",
        "Means over seeds, on held-out images. *Explained* is the share of the gap between the "
        "mean image's loss and the lowest possible loss. Looked at by eye (seed 6), "
        "reconstructions have the position and size of a sprite and mostly the orientation of an "
        "ellipse; squares and hearts come out round. On MNIST (seed 0), digits can be read up to "
        "beta = 4 and most of them at 8; at 16 all look like the mean image. On CIFAR-10 (seed 0), "
        "reconstructions show where an image is light and dark, hardly any colour, and less the "
        "higher beta is.",
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


def sweep_text(found: Mapping[str, Any]) -> str:
    """Return the table of what numbers of samples change; empty if none were compared."""
    if not found:
        return ""
    names = {
        "relative difference to most": "mean difference to most samples, relative",
        "rank correlation with most": "rank correlation with most samples",
        "negative": "negative distances",
        "objective and every strength": "accuracy, objective and strength",
        "mean of A to O": "mean R^2 of scores A to O",
    }
    lines = [f"| distances | {' | '.join(names.values())} |", f"|{'---|' * (len(names) + 1)}"]
    for matrix, row in found.items():
        cells = [f"{row[one]:.3g}" if row.get(one) is not None else "-" for one in names]
        lines.append(f"| {matrix_words(matrix)} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def matrix_words(name: str) -> str:
    """Return the name of a matrix as it is printed.

    >>> matrix_words("alpha-0.5"), matrix_words("energy"), matrix_words("energy-16")
    ('alpha = 0.5', 'energy', 'energy, 16 samples')
    """
    kind, _, number = name.partition("-")
    if not number:
        return kind
    return f"{kind} = {number}" if kind == "alpha" else f"{kind}, {number} samples"


def full_scores_text(found: Mapping[str, Any]) -> str:
    """Return how scores at the paper's sizes differ; empty if none were computed."""
    if not found:
        return ""
    lines = [
        "## Scores at the paper's sizes",
        "",
        f"{found['networks']} networks were scored a second time with all positions, the paper's "
        "numbers of images and exact trees (`python -m experiments.vae score --full 12`), which "
        f"took {found['minutes']:.0f} minutes in all, one network after the other, instead of "
        f"{found['own_minutes']:.1f}.",
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


def cost_text(cost: Mapping[str, Any]) -> str:
    """Return how long the paper's networks would take."""
    rows = [
        f"| {matrix_words(name)} | {seconds:.3g} | {cost['core_hours'][name]:.0f} |"
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


def write_vae_page(results_folder: Path, docs: Path) -> list[Path]:
    """Write the page and, unless the results are of the tiny scale, its figures."""
    results, arrays = read_results(results_folder)
    cost = json.loads((results_folder / COST).read_text(encoding="utf-8"))
    text = page_text(results, cost)
    return write_page(docs / PAGE, text, FIGURES, results, arrays, docs / IMAGES)


def main(
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = RESULTS_FOLDER,
    docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
) -> None:
    """Write the page of the study and draw its figures."""
    for file in write_vae_page(results, docs):
        typer.echo(f"wrote {file}", err=True)


if __name__ == "__main__":
    typer.run(main)
