"""Compare the pages of the documentation with saved results, and the results with the code.

    python -m benchmarks.evidence             # lists results that are older than the code
    python -m benchmarks.evidence --run NAME  # measures one again; "older" means all older ones
    python -m benchmarks.evidence --write     # writes tables and pictures from what is saved
    python -m benchmarks.evidence --check     # fails if a page shows other numbers than are saved

An interrupted --run continues when it is repeated: the earlier result stays in build/evidence until
the new one is complete.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.markers import markdown, replaced
from benchmarks.opening_pages import OPENINGS
from benchmarks.stamps import (
    RESULTS,
    ROOT,
    SUBJECTS,
    Stamp,
    builds,
    commit,
    load,
    same_build,
    stamp,
)

DOCS = ROOT / "docs"
ASIDE = ROOT / "build" / "evidence"
MARK = "<!-- builds -->"


@dataclass(frozen=True)
class Evidence:
    """A saved result: what it measures, the commands that measure it, and who shows it."""

    result: str
    commands: tuple[str, ...]
    pages: tuple[str, ...]
    subjects: tuple[str, ...] = ("search",)
    needs: tuple[str, ...] = ()  # environment variables

    def __post_init__(self) -> None:
        if unknown := set(self.subjects) - set(SUBJECTS):
            raise ValueError(f"Unknown subjects: {sorted(unknown)}.")

    @property
    def path(self) -> Path:
        return RESULTS / f"{self.result}.json"


SPEED, SCALE, NEIGHBORS = "evidence/benchmarks.md", "evidence/scale.md", "evidence/neighbors.md"
EVIDENCE = (
    Evidence("solver", ("solver",), (SPEED,), needs=("NETREP_PATH",)),
    Evidence("optimum", ("optimum --seed 7 --pairs 12 --large 2",), (SPEED,)),
    Evidence("planted_final", ("planted --set final",), (SPEED,)),
    Evidence("known_optima", ("known_optima --share 0.2",), (SPEED,)),
    Evidence("wide", ("wide --seed 2",), (SPEED,)),
    Evidence("resources", ("resources",), (SPEED,)),
    Evidence("doubt", ("doubt --pairs 30 --seed 11",), (SPEED,)),
    Evidence("energy", ("energy",), ()),
    Evidence("families", ("families",), ("evidence/families.md",)),
    Evidence("process", ("process",), ("evidence/processes.md",), needs=("NETREP_PATH",)),
    Evidence("netrep", ("netrep",), ("evidence/netrep.md",), needs=("NETREP_PATH",)),
    Evidence("repair", ("repair --osqp",), ("evidence/repair.md",), ("matrices",)),
    Evidence("scale", ("scale",), (SCALE,), ("search", "matrices")),
    Evidence("price", ("price",), (SCALE,)),
    Evidence("cohorts", ("cohorts",), (SCALE,), ("search", "matrices")),
    Evidence("cohort_pairs", ("cohorts pairs --resume",), (SCALE,), ("search", "matrices")),
    Evidence("report", ("report", "report one"), (SCALE,), ("report",)),
    Evidence("neighbors", ("neighbors",), (NEIGHBORS,), ("search", "analysis")),
    Evidence(
        "neighbors_scale",
        ("neighbors_scale build/evidence/neighbors_scale",),
        (NEIGHBORS,),
        ("search", "analysis"),
    ),
    Evidence(
        "neighbors_members", ("neighbors_scale --compare",), (NEIGHBORS,), ("search", "analysis")
    ),
    Evidence(
        "inference",
        ("inference", "inference_speed calibrated"),
        ("evidence/inference.md", "evidence/how.md", "inference.md"),
        ("search", "inference"),
    ),
    Evidence("floors", ("floors",), ("evidence/inference.md",), ("search", "inference")),
    Evidence("heavy_tails", ("heavy_tails",), ("evidence/inference.md",), ("search", "inference")),
    Evidence("confounds", ("confounds",), ("confounds.md",), ("search", "matrices", "inference")),
    Evidence("calibrated", ("calibrated",), ("evidence/baselines.md",), ("baselines",)),
    Evidence(
        "fuzz_cases",
        ("tests.fuzz --cases 200000 --seed 12 --tally build/fuzz.json --save",),
        ("trust.md",),
        ("search", "matrices", "analysis", "inference", "baselines"),
    ),
    Evidence(
        "fuzz_planted",
        ("tests.fuzz.planted --cases 20000 --seed 2026 --rows build/planted.jsonl --save",),
        ("trust.md",),
    ),
    Evidence(
        "two_writers",
        ("tests.stateful --shared 2000 --seed 8000 --tally build/two-writers.json --save",),
        ("trust.md",),
        ("search", "matrices", "files"),
    ),
    Evidence("nwb", ("nwb",), (), ("files",)),
    Evidence("models_final", ("models",), ("evidence/models.md",), ("search", "inference")),
    Evidence("layers", ("layers",), (), ("search", "matrices")),
    Evidence(
        "macaque_models",
        ("macaque_models",),
        ("evidence/macaque-models.md",),
        ("search", "inference"),
        needs=("REPSHAPE_DATA",),
    ),
)


def _scale() -> dict[str, str]:
    from benchmarks import cohort_pairs, cohorts, price, scale_tables

    made = scale_tables.tables() | {
        "price": price.table(load("price")["rows"]),
        "cohort pairs": cohort_pairs.table(load("cohort_pairs")["rows"]),
        "cohorts": cohorts.table(load("cohorts")["rows"]),
    }
    return joined(made)


def _inference() -> dict[str, str]:
    from benchmarks import floors, heavy_tails, inference_speed, inference_tables

    results = load("inference")
    more = {
        "speed": inference_speed.speed_table(results),
        "floors": floors.table(load("floors")),
        "heavy tails": heavy_tails.table(load("heavy_tails")),
    }
    return inference_tables.tables(results) | more


def _confounds() -> dict[str, str]:
    from benchmarks import confounds

    return {"confounds": confounds.tables(load("confounds"))}


def _macaque_models() -> dict[str, str]:
    from benchmarks import macaque_models

    return joined(macaque_models.tables(load("macaque_models")))


def _models() -> dict[str, str]:
    from benchmarks import models

    return joined(models.tables(load("models_final")))


def _neighbors() -> dict[str, str]:
    from benchmarks import neighbors

    return joined(neighbors.tables())


def _speed() -> dict[str, str]:
    from benchmarks import tables

    return tables.tables()


def _baselines() -> dict[str, str]:
    from benchmarks import calibrated

    return calibrated.tables(load("calibrated"))


def _repair() -> dict[str, str]:
    from benchmarks import repair

    return repair.tables(load("repair"))


def _netrep() -> dict[str, str]:
    from benchmarks import netrep

    return joined(netrep.tables(load("netrep")))


def _processes() -> dict[str, str]:
    from benchmarks import process

    return joined(process.tables(load("process")))


def _trust() -> dict[str, str]:
    from benchmarks import hostile

    return joined(hostile.tables())


def joined(tables: dict[str, list[str]]) -> dict[str, str]:
    """Return tables as text."""
    return {name: "\n".join(lines) for name, lines in tables.items()}


# Tables between markers of pages, made from what is saved.
TABLES: dict[str, Callable[[], dict[str, str]]] = {
    "confounds.md": _confounds,
    "trust.md": _trust,
    "inference.md": _inference,
    SPEED: _speed,
    "evidence/baselines.md": _baselines,
    "evidence/repair.md": _repair,
    "evidence/families.md": lambda: joined(load("families")),
    "evidence/inference.md": _inference,
    "evidence/macaque-models.md": _macaque_models,
    "evidence/models.md": _models,
    "evidence/how.md": _inference,
    NEIGHBORS: _neighbors,
    "evidence/netrep.md": _netrep,
    "evidence/processes.md": _processes,
    SCALE: _scale,
}


def expected(page: str) -> str:
    """Return a page with the tables of the saved results."""
    text = (DOCS / page).read_text(encoding="utf-8")
    made = TABLES[page]() if page in TABLES else {}
    if page in OPENINGS:
        made = made | {"opening": OPENINGS[page].text()}
    for name, table in made.items():
        if f"<!-- {name} -->" in text:
            text = replaced(text, name, table)
    return text


def write(page: str) -> None:
    """Write the tables and the picture of a page from what is saved."""
    (DOCS / page).write_text(expected(page), encoding="utf-8")
    if page in OPENINGS and not OPENINGS[page].is_drawn():
        OPENINGS[page].write_picture()


def pages() -> list[str]:
    """Return the pages that show saved results."""
    return sorted({page for one in EVIDENCE for page in one.pages})


def faults(page: str) -> list[str]:
    """Return why a page cannot be trusted, in sentences."""
    shown = (DOCS / page).read_text(encoding="utf-8")
    found = []
    if MARK not in shown:
        found.append(f"{page} does not name its builds: add {MARK}.")
    if shown != expected(page):
        found.append(f"{page} shows other numbers than benchmarks/results.")
    if page in OPENINGS and not OPENINGS[page].is_drawn():
        found.append(f"The picture of {page} shows other numbers than benchmarks/results.")
    return found


def state(one: Evidence) -> str:
    """Return how old a result is."""
    if (ASIDE / one.path.name).exists():
        return "unfinished"
    if not one.path.exists():
        return "not measured"
    found, now = builds(one.path, one.subjects), stamp()
    if found == [None]:
        return "before stamps"
    if all(same_build(build, now, one.subjects) for build in found):
        return "current"
    return "older than the code" if len(found) == 1 else f"{len(found)} builds, not all current"


def described(build: Stamp | None, subjects: tuple[str, ...]) -> str:
    """Return a build in words."""
    if build is None:
        return "a build from before stamps"
    hashes = [f"{name} {build['sources'][name]}" for name in subjects]
    known = [f"commit {build['commit']}", *hashes] if build.get("commit") else hashes
    machine = f"{build['processor']}, {build['cores']} cores, load {build['load']:g}"
    return f"repshape {build['version']} ({', '.join(known)}) on {build['date']}; {machine}"


def commands(one: Evidence) -> str:
    """Return the commands of a result, in Markdown."""
    return "<br>".join(f"`python -m {with_package(command)}`" for command in one.commands)


def with_package(command: str) -> str:
    """Return a command with the package of its module: that of benchmarks if none is named.

    >>> with_package("solver"), with_package("tests.fuzz --seed 1")
    ('benchmarks.solver', 'tests.fuzz --seed 1')
    """
    return command if command.startswith("tests.") else f"benchmarks.{command}"


def saved(one: Evidence) -> str:
    """Return the file of a result and the commit that saved it, in Markdown."""
    found = commit(str(one.path.relative_to(ROOT))) if one.path.is_relative_to(ROOT) else ""
    return f"`{one.path.name}`" + (f", saved in commit {found}" if found else "")


def note(page: str) -> str:
    """Return what a page says about the builds behind its numbers, in Markdown."""
    shown = [one for one in EVIDENCE if page in one.pages and one.path.exists()]
    every = [(one, build) for one in shown for build in builds(one.path, one.subjects)]
    text = ""
    if any(build is None for _, build in every):
        text += "Results from before stamps do not say which build measured them. "
    if mixed([build for _, build in every], {s for one in shown for s in one.subjects}):
        text += "**This page mixes numbers from several builds.** "
    rows = [
        [saved(one), commands(one), described(build, one.subjects), state(one)]
        for one, build in every
    ]
    head = ["result", "command", "measured with", "now"]
    lines = ["## Builds behind these numbers", "", text.strip(), "", *markdown(head, rows)]
    return "\n".join(lines)


def mixed(found: list[Stamp | None], subjects: set[str]) -> bool:
    """Return whether stamps are from several builds of the code that they measured."""
    return any(not same_build(found[0], other, tuple(subjects)) for other in found[1:])


def run(one: Evidence) -> None:
    """Measure a result again, and keep the earlier one until the new one is complete."""
    if missing := [name for name in one.needs if name not in os.environ]:
        raise SystemExit(f"{one.result} needs {', '.join(missing)}.")
    if not one.commands:
        raise SystemExit(f"{one.result} has no command of its own.")
    kept = ASIDE / one.path.name
    if one.path.exists() and not kept.exists():
        ASIDE.mkdir(parents=True, exist_ok=True)
        one.path.rename(kept)
    for command in one.commands:
        module = with_package(command)
        print(f"python -m {module}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", *module.split()], check=True, cwd=ROOT)
    kept.unlink(missing_ok=True)


def run_older() -> None:
    """Measure all results that are older than the code; one that fails does not stop the others."""
    left = []
    for one in EVIDENCE:
        if state(one) == "current":
            continue
        try:
            run(one)
        except subprocess.CalledProcessError as error:
            left.append(f"{one.result} failed with exit code {error.returncode}.")
        except SystemExit as reason:  # without its data, or without a command
            left.append(str(reason))
    if left:
        raise SystemExit("\n".join(["Not measured:", *left]))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [one.result for one in EVIDENCE]
    parser.add_argument("--run", choices=[*names, "older"])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.run == "older":
        run_older()
    elif options.run:
        run(next(one for one in EVIDENCE if one.result == options.run))
    elif options.write:
        for page in pages():
            write(page)
    elif options.check:
        found = [fault for page in pages() for fault in faults(page)]
        sys.exit("\n".join(found) if found else 0)
    else:
        for one in EVIDENCE:
            print(f"{one.result:18} {state(one):26} {', '.join(one.pages)}")


if __name__ == "__main__":
    main()
