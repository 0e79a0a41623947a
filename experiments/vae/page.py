"""Write the documentation page of the study from its stored results.

python -m experiments.vae.page [--results DIR] [--docs docs]
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.common.pages import (
    claims_table,
    count_verdicts,
    criteria_table,
    differences_text,
    figure_texts,
    pilot_versions_text,
    seeds_text,
    table_text,
    versions_text,
    write_page,
)
from experiments.common.results import TINY, is_shown, read_results, read_round, read_shown
from experiments.common.rounds import CONFIRMATION
from experiments.common.sections import claims_of, sections_text
from experiments.common.summary import Round
from experiments.vae.analysis import MATRICES
from experiments.vae.captions import captions_of
from experiments.vae.claims import CLAIMS
from experiments.vae.cohorts import SPRITES
from experiments.vae.cost import COST
from experiments.vae.data import ORIGINAL
from experiments.vae.decide import groups_of_claim
from experiments.vae.draw import FIGURES
from experiments.vae.page_text import (
    ARCHITECTURE,
    BOTH_ROUNDS,
    COST_TEXT,
    DATASETS,
    DIFFERENCES,
    ENERGIES,
    FRESH_RATIOS,
    INTRODUCTION,
    JOB,
    NO_OTHERS,
    NO_SCORES,
    NOT_YET,
    PAIRED,
    PAIRED_RATIOS,
    PART_OF_CONFIRMATION,
    PARTIAL,
    PILOT_ONLY,
    PREDICTIONS,
    PROTOCOLS,
    RATIO_TABLE,
    RATIOS,
    READING,
    RUNNING,
    SAMPLES,
    SECTIONS,
    TIMES,
    TRAINING,
    counts_words,
    group_label,
    group_words,
    matrix_words,
)
from experiments.vae.scores import NAMES
from experiments.vae.settings import CHOSEN, UNTRAINED
from experiments.vae.supplements import OTHERS

PAGE = Path("experiments") / "vae.md"
IMAGES = Path("images") / "vae"
RESULTS_FOLDER = Path(__file__).with_name("results")
# Numbers of samples and sizes of scores are compared in the pilot, and their settings.
COMPARISONS = ("sweep", "full_scores")
COMPARED = ("sweep_seeds", "sweep_images", "sweep_trials")
ARCHITECTURES = "paper"  # folder of the untrained networks at the paper's scale


Results = Mapping[str, Any]


def page_text(
    results: Results,
    cost: Mapping[str, Any],
    confirmation: Results | None = None,
    architecture: Results | None = None,
) -> str:
    """Return the page, in Markdown; the results of the tiny scale are not shown.

    ``confirmation`` are the results of fresh seeds, and ``architecture`` those of untrained
    networks at the paper's scale, as far as they are stored.
    """
    tiny = results["scale"] == TINY
    later = confirmation is not None and is_shown(confirmation, results)
    shown = with_comparisons(confirmation if confirmation and later else results, results)
    rounds = claims_of(results, confirmation, groups_of_claim)
    parts = [INTRODUCTION, NOT_YET if tiny else measured_text(shown, rounds)]
    parts.append(READING.format(rounds=rounds_text(results, confirmation)))
    if tiny:
        parts += ["## Claims\n", criteria_table(CLAIMS)]
    else:
        numbers = shown["numbers"]
        more = {
            RATIOS: ratios_text(shown, None if later else confirmation, architecture),
            PREDICTIONS: protocols_text(numbers),
            ENERGIES: sweep_text(numbers.get("sweep", {})),
        }
        figures = figure_texts(FIGURES, shown, captions_of(shown), IMAGES)
        parts += sections_text(SECTIONS, rounds, figures, more)
        fresh = confirmation["claims"] if confirmation else ()
        parts += ["## All numbers\n", claims_table(results["claims"], fresh)]
        parts.append(training_text(numbers.get("training", [])))
        parts.append(full_scores_text(numbers.get("full_scores", {})))
    words = network_words(shown)
    own = {name: (a, b.format(**words)) for name, (a, b) in DIFFERENCES.items()}
    parts += [differences_text(own, CHOSEN), cost_text(cost)]
    parts.append(RUNNING.format(times="" if tiny else times_text(shown), original=ORIGINAL))
    return "\n".join(part for part in parts if part)


def with_comparisons(shown: Results, pilot: Results) -> Results:
    """Return results with the comparisons of settings, which the pilot alone has."""
    numbers = {name: pilot["numbers"].get(name, {}) for name in COMPARISONS}
    sizes = {name: pilot["measure"][name] for name in COMPARED}
    return {
        **shown,
        "numbers": {**shown["numbers"], **numbers},
        "measure": {**shown["measure"], **sizes},
    }


def network_words(results: Results) -> dict[str, Any]:
    """Return how many networks of each kind there are, for the table of differences."""
    networks = results["networks"]
    counts = {name: one["measured"] for name, one in networks.items()}
    untrained = {n: one for n, one in networks.items() if UNTRAINED in n and one["measured"]}
    found = {
        dataset: sum(n for name, n in counts.items() if name.startswith(f"{dataset}-trained"))
        for dataset in ("mnist", "cifar10")
    }
    return {
        **found,
        "sprites": counts.get(SPRITES.name, 0),
        "seeds": networks.get(SPRITES.name, {}).get("seeds", 0),
        "untrained": max((one["measured"] for one in untrained.values()), default=0),
        "ways": len({name.rpartition("-")[2] for name in untrained}),
        "paired": PAIRED if results["measure"].get("untrained_pairs") else "",
    }


def rounds_text(results: Results, confirmation: Results | None) -> str:
    """Say what of the confirmation has been measured."""
    if confirmation is None:
        return PILOT_ONLY
    some = seeds_text(confirmation["networks"], group_words)
    if is_shown(confirmation, results):
        words = BOTH_ROUNDS.format(pilot=pilot_versions_text(results))
        return "\n\n".join(part for part in (words, some) if part)
    counts = {group: one["measured"] for group, one in confirmation["networks"].items()}
    words = PART_OF_CONFIRMATION.format(groups=counts_words(counts))
    return "\n\n".join(part for part in (words, some) if part)


def measured_text(results: Results, rounds: Sequence[Round]) -> str:
    """Say what was measured, and how many claims hold: of the last round that has each."""
    claims = rounds[-1].after(rounds[0]).claims.values()
    networks = results["networks"]
    measured = sum(one["measured"] for one in networks.values())
    untrained = sum(one["measured"] for name, one in networks.items() if UNTRAINED in name)
    others = f" and {untrained} untrained" if untrained else ""
    planned = sum(one["planned"] for one in networks.values())
    failed = sum(one["failed"] for one in networks.values())
    groups = [f"{one['failed']} {group_words(n)}" for n, one in networks.items() if one["failed"]]
    which = f": {' and '.join(groups)}" if groups else ""
    lines = [
        f"{measured - untrained} trained{others} networks are compared here; "
        f"{failed or 'none'} failed to train{which}. {versions_text(results)} "
        f"{count_verdicts(claims)}",
        "",
    ]
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


def times_text(results: Results) -> str:
    """Say how long the study took."""
    networks = results["networks"].values()
    return TIMES.format(
        training=sum(one["seconds"] for one in networks) / 3600,
        scoring=sum(one["score_seconds"] for one in networks) / 3600,
        hours=sum(results["seconds"].values()) / 3600,
    )


def ratios_text(
    results: Results, confirmation: Results | None, architecture: Results | None
) -> str:
    """Return the ratios of raw and of centred networks: those that are shown, then all others."""
    paired = PAIRED_RATIOS if results["measure"].get("untrained_pairs") else ""
    table = ratio_table(results["numbers"]["distances"])
    text = RATIO_TABLE.format(paired=paired, table=table)
    if confirmation is not None:
        table = ratio_table(confirmation["numbers"]["distances"])
        versions = versions_text(confirmation)
        text += f"\n{FRESH_RATIOS.format(table=table, versions=versions, paired=PAIRED_RATIOS)}"
    if architecture is not None:
        table = ratio_table(architecture["numbers"]["distances"])
        text += f"\n{ARCHITECTURE.format(table=table)}"
    return text


def ratio_table(distances: Mapping[str, Any]) -> str:
    """Return a row for each group of networks."""
    rows = [
        [
            group_label(group),
            *(f"{row[name]:.3g}" for name in ("alpha-0", "alpha-2", "centred-alpha-2")),
            *(interval_words(row[name]) for name in ("log_ratio", "centred_log_ratio")),
            f"{row['units']} {row['unit']}",
        ]
        for group, row in distances.items()
    ]
    headings = ["networks", "d_0", "d_2", "d_2, centred", "log2(d_2 / d_0)", "centred", "units"]
    return table_text(headings, rows)


def interval_words(found: Mapping[str, float | None]) -> str:
    """Return an estimate with its interval.

    >>> interval_words({"estimate": 0.5, "lower": 0.25, "upper": 0.751})
    '0.50 [0.25, 0.75]'
    """
    if found["lower"] is None:
        return "-" if found["estimate"] is None else f"{found['estimate']:.2f}"
    return f"{found['estimate']:.2f} [{found['lower']:.2f}, {found['upper']:.2f}]"


def protocols_text(numbers: Mapping[str, Any]) -> str:
    """Return predictions by the paper's protocol beside ours; empty if they are not stored."""
    theirs, ours = numbers.get("random_test_sets"), numbers.get("neighbors")
    if not theirs or not ours:
        return ""
    targets = [name for name in theirs if name not in NAMES]
    rows = []
    for target in targets:
        found = [theirs[target][name] for name in MATRICES]
        cells = [f"{one['estimate']:.2f} ± {one['spread']:.2f}" for one in found]
        rows.append([target, "the paper's", *cells])
        rows.append(["", "ours", *(f"{ours[target][name]['estimate']:.2f}" for name in MATRICES)])
    for words, table in (("the paper's", theirs), ("ours", ours)):
        means = [_mean_score(table, name) for name in MATRICES]
        first = "mean R^2 of scores A to O" if words == "the paper's" else ""
        rows.append([first, words, *means])
    headings = ["target", "protocol", *map(matrix_words, MATRICES)]
    return PROTOCOLS.format(table=table_text(headings, rows))


def _mean_score(table: Mapping[str, Any], matrix: str) -> str:
    found = [table[letter][matrix]["estimate"] for letter in NAMES]
    return "-" if None in found else f"{sum(found) / len(found):.2f}"


def training_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the table of how training went."""
    lines = [
        "## Training",
        "",
        TRAINING,
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
        "relative difference to most": "relative difference from most samples, mean",
        "rank correlation with most": "rank correlation with most samples",
        "negative": "negative distances",
        "objective and every strength": "accuracy, objective and strength",
        "mean of A to O": "mean R^2 of scores A to O",
    }
    lines = [SAMPLES, f"| distances | {' | '.join(names.values())} |"]
    lines.append(f"|{'---|' * (len(names) + 1)}")
    for matrix, row in found.items():
        cells = [f"{row[one]:.3g}" if row.get(one) is not None else "-" for one in names]
        lines.append(f"| {matrix_words(matrix)} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def full_scores_text(found: Mapping[str, Any]) -> str:
    """Return how scores at the paper's sizes differ; empty if none were computed."""
    if not found:
        return ""
    lines = [
        "## Scores at the paper's sizes",
        "",
        f"We scored {found['networks']} networks of the pilot a second time, with all positions, "
        "the paper's numbers of images and exact trees (`python -m experiments.vae score --full "
        f"12`). One network after the other, this took {found['minutes']:.0f} minutes in all "
        f"instead of {found['own_minutes']:.1f}.",
        "",
        "| score | mean, paper's sizes | mean difference, ours | mean absolute difference |",
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
    return COST_TEXT.format(
        job=job_text(cost.get("job", {})),
        images=cost["images"],
        trials=cost["trials"],
        pairs=f"{cost['pairs']:,}".replace(",", " "),
        energy_seconds=cost["seconds_per_pair"]["energy"],
        energy_hours=cost["core_hours"]["energy"],
    )


def job_text(job: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the price of training and encoding all networks; empty if it was not measured."""
    if not job:
        return ""
    rows = [
        [
            DATASETS.get(name, name),
            one["networks"],
            f"{one['seconds_per_step']:.3g}",
            one["training_core_hours"],
            f"{one['collection_core_hours']:g}",
            one["latents_megabytes"],
        ]
        for name, one in job.items()
    ]
    headings = ["data set", "networks", "s per step", "training, core hours"]
    headings += ["encoding, core hours", "latents, MB"]
    return JOB.format(table=table_text(headings, rows))


def stored_page(results_folder: Path) -> str:
    """Return the page of the results in a folder, with the other rounds that are there."""
    cost = json.loads((results_folder / COST).read_text(encoding="utf-8"))
    others = [read_round(results_folder, name) for name in (CONFIRMATION, ARCHITECTURES)]
    return page_text(
        read_results(results_folder)[0], cost, *(one[0] if one else None for one in others)
    )


def write_vae_page(results_folder: Path, docs: Path) -> list[Path]:
    """Write the page and, unless the results are of the tiny scale, its figures."""
    shown, arrays = read_shown(results_folder)
    text = stored_page(results_folder)
    results = with_comparisons(shown, read_results(results_folder)[0])
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
