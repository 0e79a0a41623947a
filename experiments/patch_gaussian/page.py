"""Write the documentation page of the study from its stored results.

python -m experiments.patch_gaussian.page [--results DIR] [--docs docs]
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from experiments.common.pages import (
    claims_table,
    count_verdicts,
    criteria_table,
    criterion_words,
    differences_text,
    figure_texts,
    pilot_versions_text,
    seeds_text,
    table_text,
    versions_text,
    write_page,
)
from experiments.common.results import TINY, is_shown, read_results, read_round, read_shown
from experiments.common.rounds import CONFIRMATION, PILOT
from experiments.common.sections import claims_of, sections_text
from experiments.common.verdicts import Verdict
from experiments.patch_gaussian.claims import CLAIMS, LOW_TAUS
from experiments.patch_gaussian.cost import COST
from experiments.patch_gaussian.draw import FIGURES
from experiments.patch_gaussian.page_text import (
    BOTH_ROUNDS,
    CAPTIONS,
    COST_TEXT,
    DIFFERENCES,
    INTRODUCTION,
    JOB,
    MANIPULATION,
    NEAREST,
    NETREP_TEXT,
    NO_EFFECT,
    NOT_YET,
    PARTIAL,
    PILOT_ONLY,
    READING,
    REFERENCE_TEXT,
    RUNNING,
    SAME,
    SECTIONS,
    WIDE_TEXT,
    WORKS,
)
from experiments.patch_gaussian.search import N_PAIRS
from experiments.patch_gaussian.settings import CHOSEN, MEASURE_SCALES, TAUS
from experiments.patch_gaussian.wide import read_wide

PAGE = Path("experiments") / "patch-gaussian.md"
IMAGES = Path("images") / "patch-gaussian"
RESULTS_FOLDER = Path(__file__).with_name("results")


def page_text(
    results: Mapping[str, Any],
    cost: Mapping[str, Any],
    wide: Mapping[str, Any],
    confirmation: Mapping[str, Any] | None = None,
) -> str:
    """Return the page, in Markdown; the results of the tiny scale are not shown.

    ``confirmation`` are the results of fresh seeds, if they are stored.
    """
    tiny = results["scale"] == TINY
    shown = confirmation if confirmation and is_shown(confirmation, results) else results
    numbers = shown["numbers"]
    reading = READING.format(rounds=rounds_text(results, confirmation))
    parts = [INTRODUCTION]
    if tiny:
        parts += [NOT_YET, reading, "## Claims\n", criteria_table(CLAIMS)]
    else:
        verdict = numbers["manipulation"]["verdict"]
        if verdict != Verdict.HOLDS:
            parts.append(NO_EFFECT.format(verdict=verdict))
        later = confirmation["claims"] if confirmation else ()
        parts += [measured_text(shown), reading]
        accuracy = accuracy_text(numbers["accuracy"])
        more = {
            WORKS: f"{manipulation_text(numbers['manipulation'])}\n{accuracy}",
            SAME: nearest_text(numbers.get("nearest", {})),
        }
        figures = figure_texts(FIGURES, shown, CAPTIONS, IMAGES)
        parts += sections_text(SECTIONS, claims_of(results, confirmation), figures, more)
        parts += ["## All numbers\n", claims_table(results["claims"], later)]
        parts += [wide_text(wide), reference_text(shown)]
    size = shown["measure"]
    words = size | network_words(shown["networks"], shown["settings"])
    own = {k: (a, b.format(**words)) for k, (a, b) in DIFFERENCES.items()}
    parts += [differences_text(own, CHOSEN), cost_text(cost), RUNNING]
    return "\n".join(part for part in parts if part)


def network_words(networks: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, int]:
    """Return how many networks there are, and of what."""
    return {
        "networks": networks["measured"],
        "seeds": networks["seeds"],
        "n_widths": len(settings["widths"]),
        "n_sigmas": len(settings["sigmas"]),
    }


def rounds_text(results: Mapping[str, Any], confirmation: Mapping[str, Any] | None) -> str:
    """Say which rounds have been measured, and whether seeds of the confirmation are left out."""
    if confirmation is None:
        return PILOT_ONLY
    networks = confirmation["networks"]
    words = BOTH_ROUNDS.format(
        seeds=networks["seeds"],
        pilot=pilot_versions_text(results),
        shown=CONFIRMATION if is_shown(confirmation, results) else PILOT,
    )
    return "\n\n".join(part for part in (words, seeds_text({"": networks})) if part)


def measured_text(results: Mapping[str, Any]) -> str:
    """Say what was measured, and how many claims hold."""
    networks = results["networks"]
    core_hours = networks["training_core_seconds"] / 3600
    lines = [
        f"{networks['measured']} networks are compared here; {networks['failed'] or 'none'} failed "
        f"to train. Training took {core_hours:.1f} core hours and measuring "
        f"{sum(results['seconds'].values()) / 3600:.1f} hours. {versions_text(results)} "
        f"{count_verdicts(results['claims'])}",
        "",
    ]
    missing = networks["planned"] - networks["measured"]
    if missing:
        lines += [PARTIAL.format(missing=missing), ""]
    return "\n".join(lines)


def nearest_text(found: Mapping[str, Any]) -> str:
    """Say what the nearest network shares; empty if that is not stored, or not at low taus."""
    if not any(float(tau) <= max(LOW_TAUS) for tau in found):
        return ""
    low = [row for tau, one in found.items() if float(tau) <= max(LOW_TAUS) for row in one.values()]
    alphas = list(next(iter(found.values())))
    rows = [
        [tau, *(f"{one[a]['cell']:.0%} / {one[a]['seed']:.0%}" for a in alphas)]
        for tau, one in found.items()
    ]
    ranges = {}
    for name in ("cell", "seed"):
        values = [row[name] for row in low]
        ranges[name] = f"{min(values):.0%} to {max(values):.0%}"
    first = next(iter(found.values()))[alphas[0]]
    chance = f"{first['cell, chance']:.0%} / {first['seed, chance']:.0%}"
    table = table_text(["tau", *(f"alpha = {a}" for a in alphas)], rows)
    return NEAREST.format(tau=max(LOW_TAUS), table=table, chance=chance, **ranges)


def manipulation_table(found: Mapping[str, Any]) -> str:
    """Return the criteria of the manipulation check."""
    rows = [
        [
            row["name"],
            ", ".join(number(value) for value in row["folds"].values()),
            criterion_words({**row, "p_value": None, "verdict": Verdict.HOLDS}).split(": ", 1)[1],
            number(row["above"]),
            row["verdict"],
        ]
        for row in found["criteria"]
    ]
    return table_text(["criterion", "by seed", "mean", "must exceed", "verdict"], rows)


def manipulation_text(found: Mapping[str, Any]) -> str:
    """Return the manipulation check."""
    notes = [f"- *{row['name']}*: {row['note']}" for row in found["criteria"] if row["note"]]
    gains = found["gain by noise"]
    return MANIPULATION.format(
        table=manipulation_table(found),
        notes="\n".join(notes),
        first="holds" if found["clean loss within 0.05"] else "does not hold",
        gains=table_text(list(gains), [[number(np.mean(one)) for one in gains.values()]]),
    )


def accuracy_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the accuracy of each cell."""
    columns = [name for name in rows[0] if name.startswith("accuracy-")]
    headings = ["cell", "networks", "failed", *(one.removeprefix("accuracy-") for one in columns)]
    body = [
        [row["cell"], str(row["networks"]), str(row["failed"]), *(number(row[c]) for c in columns)]
        for row in rows
    ]
    words = "Accuracy by cell (mean over seeds), clean and at each tau:"
    return "\n".join([words, "", table_text(headings, body), ""])


def wide_text(found: Mapping[str, Any]) -> str:
    """Return the comparison of widths; empty if it was not made."""
    if not found:
        return ""
    answers = {True: "yes", False: "**no**", None: "-"}
    rows = [
        [
            r["name"],
            number(r["small"]),
            number(r["wide"]),
            number(r["threshold"]),
            answers[r["same"]],
        ]
        for r in found["conclusions"]
    ]
    headings = ["", "width 16", "width 32", "threshold", "same side"]
    cells = found["cells"]
    alphas = list(next(iter(cells.values())))
    return WIDE_TEXT.format(
        count=len(found["networks"]),
        table=table_text(headings, rows),
        verdict=found["manipulation"]["verdict"],
        manipulation=manipulation_table(found["manipulation"]),
        cells=table_text(
            ["tau", *(name.replace("-", " = ") for name in alphas)],
            [[tau, *(number(row[name]) for name in alphas)] for tau, row in cells.items()],
        ),
    )


def reference_text(results: Mapping[str, Any]) -> str:
    """Return how long the matrices took, and the comparison with the reference code."""
    count, size = results["networks"]["measured"], results["measure"]
    seconds = sum(v for name, v in results["seconds"].items() if "/tau-" in name)
    found = results["numbers"]["reference"]
    netrep = ""
    if found:
        rows = [
            [
                " and ".join(row["pair"]),
                f"{row['alpha']:g}",
                f"{row['netrep_seconds']:.3g}",
                f"{row['seconds']:.3g}",
                f"{row['netrep_seconds'] / max(row['seconds'], 1e-3):.3g}",
                f"{row['netrep_distance']:.5g}",
                f"{row['distance']:.5g}",
            ]
            for row in found["rows"]
        ]
        headings = ["pair", "alpha", "netrep, s", "repshape, s", "ratio"]
        headings += ["distance, netrep", "distance, repshape"]
        netrep = NETREP_TEXT.format(tau=found["tau"], table=table_text(headings, rows))
    rows = [
        [name.replace("/", ", ").replace("-", " = "), *map(percent, row.values())]
        for name, row in results["numbers"]["search"].items()
    ]
    return REFERENCE_TEXT.format(
        n_pairs=N_PAIRS,
        search=table_text(["", "mean", "largest", "between pairs"], rows),
        hours=seconds / 3600,
        pairs=count * (count - 1) // 2,
        images=size["n_images"],
        passes=size["n_passes"],
        centred=", raw and centred" if size.get("centred", True) else "",
        netrep=netrep,
    )


def cost_text(cost: Mapping[str, Any]) -> str:
    """Return how long the paper's networks would take; empty if it was not measured."""
    if not cost:
        return ""
    measured = list(next(iter(cost["seconds_per_pair"].values())))
    rows = [
        [
            name.replace("-", " = "),
            *(f"{row[count]:.3g}" for count in measured),
            f"{cost['paper_seconds_per_pair'][name]:.3g}",
            f"{cost['core_hours'][name]:.0f}",
        ]
        for name, row in cost["seconds_per_pair"].items()
    ]
    headings = ["", *(f"s, {count} images" for count in measured)]
    headings += [f"s, {cost['paper_images']} images (expected)", "core hours"]
    total = sum(cost["core_hours"].values())
    return COST_TEXT.format(
        job=job_text(cost.get("job", {})),
        pairs=f"{cost['pairs']:,}".replace(",", " "),
        passes=cost["passes"],
        table=table_text(headings, rows),
        total=f"{total:.0f}",
        days=f"{total / 2400:.1f}",
    )


def job_text(job: Mapping[str, Any]) -> str:
    """Return the price of training and collecting; empty if it was not measured."""
    if not job:
        return ""
    size = MEASURE_SCALES["paper"]
    return JOB.format(
        networks=job["networks"],
        training=job["training_core_hours"],
        step=job["seconds_per_step"],
        steps=job["steps"],
        collection=job["collection_core_hours"],
        passes=f"{size.n_images * size.n_passes * len(TAUS) / 1e6:g} million",
        covariances=job["covariances_gigabytes"],
    )


def percent(value: float) -> str:
    """Return a share in percent, with two digits.

    >>> percent(0.00334)
    '0.33 %'
    """
    return f"{100 * value:.2g} %"


def number(value: float | None) -> str:
    """Return a number with three digits, or a dash."""
    return "-" if value is None else f"{value:.3g}"


def stored_page(results_folder: Path) -> str:
    """Return the page of the results in a folder."""
    path = results_folder / COST
    cost = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    later = read_round(results_folder, CONFIRMATION)
    first = read_results(results_folder)[0]
    return page_text(first, cost, read_wide(results_folder), later[0] if later else None)


def write_study_page(results_folder: Path, docs: Path) -> list[Path]:
    """Write the page and, unless the results are of the tiny scale, its figures."""
    results, arrays = read_shown(results_folder)
    text = stored_page(results_folder)
    return write_page(docs / PAGE, text, FIGURES, results, arrays, docs / IMAGES)


def main(
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = RESULTS_FOLDER,
    docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
) -> None:
    """Write the page of the study and draw its figures."""
    for file in write_study_page(results, docs):
        typer.echo(f"wrote {file}", err=True)


if __name__ == "__main__":
    typer.run(main)
