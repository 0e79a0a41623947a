"""Write the documentation pages, and draw their figures, from the distances that are kept.

python -m experiments.brain.page [--source macaque] [--docs docs]
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console

from experiments.brain.__main__ import criterion_words
from experiments.brain.claims import CLASSES
from experiments.brain.figures import draw_all
from experiments.brain.keep import kept_file, open_kept
from experiments.brain.page_text import (
    CAPTIONS,
    CHOICES,
    INTRODUCTIONS,
    MAIN,
    SECTIONS,
    STIMULUS,
    TITLES,
    TRUTH,
)
from experiments.brain.page_truth import truth_text
from experiments.brain.results import RESULTS, read_results
from experiments.brain.settings import PAPER, Source
from experiments.common.command import reported
from experiments.common.files import write_whole
from experiments.common.pages import (
    STANDARD,
    count_verdicts,
    figure_text,
    table_text,
    versions_text,
)
from experiments.common.rounds import CONFIRMATION
from experiments.common.sections import Section, sections_text
from experiments.common.summary import Round

SHOWN = ("simulated", "macaque")  # sources that have a page
VAES = Path(__file__).parents[1] / "vae" / "results"
# What is kept of the results: the rows of the multiverse and the counts of trials are left out.
LEFT_OUT = ("sessions",)


def page_file(source: str) -> Path:
    """Return the page of a source, relative to the documentation."""
    return Path("experiments") / f"brain-{source}.md"


def image_folder(source: str) -> Path:
    """Return the folder of its figures and results."""
    return Path("images") / f"brain-{source}"


def kept(results: Mapping[str, Any], coverage: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the part of the results that goes into the documentation."""
    out = {key: value for key, value in results.items() if key not in LEFT_OUT}
    rows = [row for row in results["multiverse"].get("rows", ()) if "difference" in row]
    columns = ("components", "log R, artificial", "log R, natural", "difference")
    out["multiverse"] = {
        "shares": results["multiverse"].get("shares", {}),
        "corrected": [{name: row[name] for name in columns} for row in rows],
    }
    out["n_sessions"] = len(results["sessions"])
    out["coverage"] = coverage
    return out


def page_text(results: Mapping[str, Any], figures: Sequence[str]) -> str:
    """Return the page, in Markdown, from the kept part of the results."""
    source = results["settings"]["source"]
    parts = [
        f"# {TITLES[source]}\n",
        INTRODUCTIONS[source].format(
            **results["settings"],
            minutes=_minutes(results["time"]),
            n_sessions=results["n_sessions"],
            scale=_scale(results["settings"]),
            starts=_starts(results["settings"]["resampling_starts"]),
        ),
        f"{versions_text(results)} {count_verdicts(results['claims'])}\n",
        _reading(results.get("restated", "")),
    ]
    images = image_folder(source)
    shown = {name: figure_text(*CAPTIONS[name], images, name) for name in figures}
    parts += sections_text(_sections(results), [Round.of(results)], shown, _more(results))
    parts += [_claims(results["claims"]), _chosen(results["chosen"])]
    return "\n".join(part for part in parts if part)


def _sections(results: Mapping[str, Any]) -> list[Section]:
    """Return the sections; what is true is known of a simulated cohort only."""
    return [one for one in SECTIONS if one.title != TRUTH or "truth" in results]


def _more(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the tables of the sections, by title."""
    found = {
        MAIN: _classes(results["classes"]),
        STIMULUS: f"{_finding(results)}\n{_tests(results['tests'])}",
        CHOICES: _multiverse(results["multiverse"]),
    }
    if "truth" in results:
        found[TRUTH] = truth_text(results)
    return found


def _finding(results: Mapping[str, Any]) -> str:
    """Return claim (c) in a sentence: in how many pairs, and over animals and sessions."""
    main = results["settings"]["n_components"]
    found = [r for r in results["multiverse"]["corrected"] if r["components"] == main]
    if not found:
        return ""
    gap = found[0]["difference"]
    part = f"{gap['pairs with a smaller ratio for natural stimuli']} of {gap['pairs']}"
    verdict = next(c["verdict"] for c in results["claims"] if c["name"] == "Section 3.2 (c)")
    return (
        f"Among the sessions of the multiverse, with {main} components and corrected distances, "
        "d_0 / d_2 is smaller for natural than for artificial stimuli in "
        f"{part} pairs. The difference in log R between the classes is "
        f"{_interval(gap['over animals'])} with an interval over animals, and "
        f"{_interval(gap['over sessions'])} with one over sessions (both 90 %). Verdict on claim "
        f"(c) of section 3.2: {verdict}.\n"
    )


def _starts(count: int) -> str:
    return "one random start" if count == 1 else f"{count} random starts"


def _minutes(found: Mapping[str, float]) -> str:
    cpu, wall = (found[name] / 60 for name in ("cpu_seconds", "seconds"))
    return (
        f"{cpu:.0f} minutes of processor time, and {wall:.0f} minutes of wall time on two cores "
        "that were shared with other jobs"
    )


def _scale(settings: Mapping[str, Any]) -> str:
    return "paper" if settings["n_animals"] == PAPER.n_animals else "small"


def _table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    return table_text(headings, rows) + "\n"


def _classes(found: Mapping[str, Any]) -> str:
    """Return the table of the classes: sizes, protocol, and distances by three estimates."""
    headings = ["class", "sessions (animals)", "conditions", "explained", "overlap", "gamma"]
    headings += ["distance", "plug-in", "floor", "corrected", "above 0", "log R [90 %]"]
    rows = []
    for key, one in found.items():
        for alpha, numbers in one["corrected"].items():
            first = alpha == "0"
            sizes = [f"{one['sessions']} ({one['animals']})", one["conditions"]]
            shares = [f"{one[name]:.2f}" for name in ("explained", "overlap", "gamma")]
            cells = [key, *sizes, *shares]
            cells = cells if first else [""] * len(cells)
            cells += [f"d_{alpha}", f"{numbers['plug_in']:.2f}", f"{numbers['floor']:.2f}"]
            cells += [f"{numbers['estimate']:.2f}", f"{numbers['above 0']} of {numbers['pairs']}"]
            rows.append([*cells, _interval(one["log_ratio"]) if first else ""])
    words = (
        "Distances are medians over pairs, in spikes. *Plug-in* is without shrinkage, and *floor* "
        "is what noise alone would give; *above 0* counts pairs whose interval is above 0. "
        "*Explained* is the share of variance that the components keep. *Overlap* is how well two "
        "halves of the trials agree on the components (1 is identical), for the session where they "
        "agree least.\n"
    )
    return f"{_table(headings, rows)}\n{words}"


def _interval(one: Mapping[str, Any], digits: int = 2) -> str:
    if one["value"] is None:
        return "not known"
    if one["low"] is None:
        return f"{one['value']:.{digits}f}"
    return f"{one['value']:.{digits}f} [{one['low']:.{digits}f}, {one['high']:.{digits}f}]"


def _reading(restated: str) -> str:
    """Say how to read the verdicts."""
    standard = STANDARD.format(
        units="animals (draws for Supplementary Figure 6), and n is their number"
    )
    words = (
        f"{standard}\n\n"
        "Where a claim says that something is small, the number is minus that quantity. *From "
        "below* and *from above* are the two sides of an equivalence test."
    )
    return f"{words}\n\n{restated}\n" if restated else f"{words}\n"


def _claims(claims: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for claim in claims:
        numbers = []
        for row in claim["criteria"]:
            words = criterion_words(dict(row))
            for other in ("plug-in", "over populations"):
                if other in row:
                    words += f"; *{other} {_interval(row[other])}*"
            numbers.append(words)
        verdict = claim["verdict"]
        bold = verdict if verdict == "holds" else f"**{verdict}**"
        rows.append([f"**{claim['name']}.** {claim['sentence']}", "<br>".join(numbers), bold])
    return f"## All numbers\n\n{_table(['claim', 'numbers', 'verdict'], rows)}"


def _tests(found: Sequence[Mapping[str, Any]]) -> str:
    if not found:
        return ""
    rows = []
    for one in found:
        low, high = one["interval"]
        cells = [one["comparison"], one["distances"], f"{one['below 0']} of {one['pairs']}"]
        cells += [f"{one['estimate']:+.3f} [{low:+.2f}, {high:+.2f}]", f"{one['p_value']:.3g}"]
        rows.append([*cells, f"{one['smallest_p_value']:.2g}", one["animals"]])
    headings = ["log ratio of", "distances", "pairs below 0", "mean over pairs [90 %]", "p"]
    words = (
        "Sign-flip tests of `rs.inference.paired`, with animals as the units. They use means of "
        "logarithms over pairs, not log R. Comparisons are left out if a corrected squared "
        "distance is not positive. With few animals, even the smallest possible p-value is large."
    )
    table = _table([*headings, "smallest possible p", "animals"], rows)
    return f"{words}\n\n{table}"


def _multiverse(found: Mapping[str, Any]) -> str:
    """Return the tables of all choices: of all claims, and of claim (c) by components."""
    rows = [
        [claim, *(f"{held} of {total}" for held, total in kinds.values())]
        for claim, kinds in found["shares"].items()
    ]
    words = "Number of combinations of choices whose estimate is on the side that a claim states:"
    table = _table(["claim", "plug-in", "corrected"], rows)
    return f"{words}\n\n{table}\n{_by_components(found['corrected'])}"


def _by_components(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of claim (c) with corrected distances, by the number of components."""
    rows = []
    for row in found:
        ratios = [_interval(row[f"log R, {role}"]) for role in CLASSES]
        gap = row["difference"]
        numbers = [_interval(gap[f"over {unit}"]) for unit in ("animals", "sessions")]
        part = f"{gap['pairs with a smaller ratio for natural stimuli']} of {gap['pairs']}"
        units = f"{gap['over sessions']['n_units']} ({gap['over animals']['n_units']})"
        rows.append([row["components"], units, *ratios, *numbers, part])
    headings = ["components", "sessions (animals)", "log R, artificial", "log R, natural"]
    headings += ["difference, over animals", "difference, over sessions", "smaller for natural"]
    return (
        "Claim (c) with corrected distances, by the number of components. Only sessions with at "
        "least as many units are used. Intervals (90 %) leave out one animal, or one session. The "
        "last column counts the pairs whose ratio is smaller for natural stimuli, without pairs "
        f"whose corrected squared distance is not positive.\n\n{_table(headings, rows)}"
    )


def _chosen(chosen: Mapping[str, str]) -> str:
    rows = [[name, words] for name, words in chosen.items()]
    return f"## What the paper does not state\n\n{_table(['', 'chosen here'], rows)}"


def write_page(run: Path, docs: Path, coverage: Mapping[str, Any] | None = None) -> list[Path]:
    """Write the page and copy its figures from the folder of a run; return the files."""
    stored = kept(read_results(run), coverage)
    source = stored["settings"]["source"]
    figures = [name for name in CAPTIONS if (run / f"{name}.png").exists()]
    contents = {docs / page_file(source): page_text(stored, figures).encode()}
    folder = docs / image_folder(source)
    contents[folder / RESULTS] = (json.dumps(stored, indent=1) + "\n").encode()
    contents |= {folder / f"{name}.png": (run / f"{name}.png").read_bytes() for name in figures}
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_whole(path) as handle:
            handle.write(content)
    return list(contents)


def redraw(path: Path, docs: Path) -> list[Path]:
    """Decide the claims, draw all figures and write the page from a file of kept distances."""
    with TemporaryDirectory() as folder:
        study = open_kept(path, Path(folder))
        list(draw_all(study, beside_of(study.source, docs), 1))
        coverage = study.stored["coverage"] if study.stored else None
        return write_page(study.out, docs, coverage)


def beside_of(source: str, docs: Path) -> list[Path]:
    """Return the results that a page shows beside its own: of the other source, and of VAEs.

    Ratios of VAEs are those of the confirmation, as far as it was measured.
    """
    others = [docs / image_folder(one) / RESULTS for one in SHOWN if one != source]
    vaes = [VAES / CONFIRMATION / RESULTS, VAES / RESULTS]
    return [path for path in (*others, *vaes) if path.exists()]


def main(
    source: Annotated[list[Source] | None, typer.Option(help="Only this source.")] = None,
    docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
) -> None:
    """Write the pages of the sources whose distances are kept, and draw their figures."""
    with reported(Console(stderr=True)):
        for one in source or [Source(name) for name in SHOWN]:
            for file in redraw(kept_file(one), docs):
                typer.echo(f"wrote {file}", err=True)


if __name__ == "__main__":
    typer.run(main)
