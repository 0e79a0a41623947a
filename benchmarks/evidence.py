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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.evidence_tables import NEIGHBORS, SCALE, SPEED, TABLES
from benchmarks.markers import markdown, replaced
from benchmarks.opening_pages import OPENINGS
from benchmarks.stamps import (
    RESULTS,
    ROOT,
    SUBJECTS,
    Stamp,
    builds,
    commit,
    same_build,
    stamp,
)

DOCS = ROOT / "docs"
ASIDE = ROOT / "build" / "evidence"
MARK = "<!-- builds -->"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Evidence:
    """A saved result: what it measures, the commands that measure it, and who shows it.

    One with times (``timed``) is measured while nothing else runs, the others one on each core.
    """

    result: str
    commands: tuple[str, ...]
    pages: tuple[str, ...]
    subjects: tuple[str, ...] = ("search",)
    needs: tuple[str, ...] = ()  # environment variables
    timed: bool = True

    def __post_init__(self) -> None:
        if unknown := set(self.subjects) - set(SUBJECTS):
            raise ValueError(f"Unknown subjects: {sorted(unknown)}.")

    @property
    def path(self) -> Path:
        return RESULTS / f"{self.result}.json"


EVIDENCE = (
    Evidence("solver", ("solver",), (SPEED,), needs=("NETREP_PATH",)),
    Evidence("optimum", ("optimum --seed 7 --pairs 12 --large 2",), (SPEED,)),
    Evidence("planted_final", ("planted --set final",), (SPEED,), timed=False),
    Evidence("known_optima", ("known_optima --share 0.2",), (SPEED,), timed=False),
    Evidence("wide", ("wide --seed 2",), (SPEED,)),
    Evidence("resources", ("resources",), (SPEED,)),
    Evidence("doubt", ("doubt --pairs 30 --seed 11",), (SPEED,), timed=False),
    Evidence("energy", ("energy",), ()),
    Evidence("families", ("families",), ("evidence/families.md",), timed=False),
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
        "neighbors_members",
        ("neighbors_scale --compare",),
        (NEIGHBORS,),
        ("search", "analysis"),
        timed=False,
    ),
    Evidence(
        "inference",
        ("inference", "inference_speed calibrated"),
        ("evidence/inference.md", "evidence/how.md", "inference.md"),
        ("search", "inference"),
    ),
    Evidence(
        "floors", ("floors",), ("evidence/inference.md",), ("search", "inference"), timed=False
    ),
    Evidence(
        "heavy_tails",
        ("heavy_tails",),
        ("evidence/inference.md",),
        ("search", "inference"),
        timed=False,
    ),
    Evidence(
        "confounds",
        ("confounds",),
        ("confounds.md",),
        ("search", "matrices", "inference"),
        timed=False,
    ),
    Evidence(
        "calibrated", ("calibrated",), ("evidence/baselines.md",), ("baselines",), timed=False
    ),
    Evidence(
        "fuzz_cases",
        ("tests.fuzz --cases 200000 --seed 12 --tally build/fuzz.json --save",),
        ("trust.md",),
        ("search", "matrices", "analysis", "inference", "baselines"),
        timed=False,
    ),
    Evidence(
        "fuzz_planted",
        ("tests.fuzz.planted --cases 20000 --seed 2027 --rows build/planted.jsonl --save",),
        ("trust.md",),
        timed=False,
    ),
    Evidence(
        "two_writers",
        ("tests.stateful --shared 2000 --seed 8000 --tally build/two-writers.json --save",),
        ("trust.md",),
        ("search", "matrices", "files"),
        timed=False,
    ),
    Evidence("nwb", ("nwb",), (), ("files",)),
    Evidence(
        "models_final", ("models",), ("evidence/models.md",), ("search", "inference"), timed=False
    ),
    Evidence("layers", ("layers",), (), ("search", "matrices")),
    Evidence(
        "macaque_models",
        ("macaque_models",),
        ("evidence/macaque-models.md",),
        ("search", "inference"),
        needs=("REPSHAPE_DATA",),
        timed=False,
    ),
)


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


def write_all() -> None:
    """Write the tables and pictures of all pages."""
    for page in pages():
        write(page)


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
        environment = os.environ | ({} if one.timed else dict.fromkeys(THREADS, "1"))
        subprocess.run(
            [sys.executable, "-m", *module.split()], check=True, cwd=ROOT, env=environment
        )
    kept.unlink(missing_ok=True)


def run_older() -> None:
    """Measure all results that are older than the code; one that fails does not stop the others."""
    older = [one for one in EVIDENCE if state(one) != "current"]
    left = [failure(one) for one in older if one.timed]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        left += pool.map(failure, [one for one in older if not one.timed])
    if found := [words for words in left if words]:
        raise SystemExit("\n".join(["Not measured:", *found]))


def failure(one: Evidence) -> str:
    """Measure a result again; return why that failed, or nothing."""
    try:
        run(one)
    except subprocess.CalledProcessError as error:
        return f"{one.result} failed with exit code {error.returncode}."
    except SystemExit as reason:  # without its data, or without a command
        return str(reason)
    return ""


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [one.result for one in EVIDENCE]
    parser.add_argument("--run", choices=[*names, "older"])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.run == "older":
        try:
            run_older()
        finally:  # results that were saved at the same time may have written the same page
            write_all()
    elif options.run:
        run(next(one for one in EVIDENCE if one.result == options.run))
    elif options.write:
        write_all()
    elif options.check:
        found = [fault for page in pages() for fault in faults(page)]
        sys.exit("\n".join(found) if found else 0)
    else:
        for one in EVIDENCE:
            print(f"{one.result:18} {state(one):26} {', '.join(one.pages)}")


if __name__ == "__main__":
    main()
