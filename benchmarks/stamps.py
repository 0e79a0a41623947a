"""Save results with a stamp of the build and the machine that measured them.

A stamp holds the commit, a hash of each subject's sources, the version, the processor and the load.
Stamps are kept in benchmarks/results/stamps/, in one file per result, for each part of the result
(each entry of its outermost dict). A part that several builds measured has several stamps. Results
from before there were stamps have none.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import platform
import re
import subprocess
import tokenize
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import repshape as rs

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
PACKAGE = "src/repshape"
# What computes numbers, by subject, with paths relative to the package. The search contains all
# that leads from responses to distances of pairs.
SUBJECTS: dict[str, tuple[str, ...]] = {
    "search": (
        "../../cpp",
        "_arrays.py",
        "_doubt.py",
        "_native.py",
        "coordinates",
        "groups.py",
        "metrics",
        "moments.py",
        "preprocess.py",
        "responses",
        "solvers",
    ),
    "matrices": ("_parallel.py", "engine", "matrix", "store"),
    "analysis": ("analysis",),
    "inference": ("inference",),
    "baselines": ("baselines",),
    "report": ("report",),
    "files": ("io",),
}
NOT_MEASURED = ("cpp/tests/",)
WHOLE = ""  # the one part of a result that is not a dict
DIGITS = 12  # of hashes
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

Stamp = dict[str, Any]
# Of each part, the stamps of the builds that measured it; None stands for "before stamps".
Stamps = dict[str, list[Stamp | None]]


def without_comments(text: str, suffix: str) -> str:
    """Return source code without comments, docstrings and empty lines, which change no number.

    Nor do line breaks in C++, apart from those of the preprocessor.
    """
    if suffix == ".py":
        text = _plain_python(text)
    elif suffix in (".cpp", ".h"):
        text = _unbroken(COMMENT.sub("", text))
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _unbroken(text: str) -> str:
    """Return C++ without the line breaks that a formatter chooses."""
    parts = re.split(r"^(#(?:.*\\\n)*.*)$", text, flags=re.MULTILINE)
    return "\n".join(part if part.startswith("#") else " ".join(part.split()) for part in parts)


def _plain_python(text: str) -> str:
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for row in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[row - 1] = ""
    return "\n".join(lines)


@cache
def sources() -> dict[str, str]:
    """Return a hash of the code of each subject, as it was when first asked for."""
    loaded_commit()  # of the same moment: files may change while a long run measures
    return {subject: _hash_of(paths) for subject, paths in SUBJECTS.items()}


@cache
def loaded_commit() -> str:
    """Return the commit of the code whose hashes `sources` returns."""
    return commit()


def _hash_of(paths: tuple[str, ...]) -> str:
    state = hashlib.sha256()
    for path in paths:
        place = (ROOT / PACKAGE / path).resolve(strict=True)
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        for file in files:
            name = file.relative_to(ROOT).as_posix()
            if file.suffix not in (".py", ".cpp", ".h") or name.startswith(NOT_MEASURED):
                continue
            code = without_comments(file.read_text(encoding="utf-8"), file.suffix)
            state.update(f"{name}\n{code}\n".encode())
    return state.hexdigest()[:DIGITS]


def processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def load(name: str) -> Any:
    """Return a saved result."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def commit(*path: str) -> str:
    """Return the commit of the working copy, or the last one that changed a path; "" if unknown.

    A + follows if tracked files differ from the commit.
    """
    found = _git("log", "-1", "--format=%h", "--", *path)
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", *path)
    return f"{found}+" if found and changed else found


def _git(*arguments: str) -> str:
    try:
        found = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""  # the sources are not a repository
    return found.stdout.strip()


def stamp() -> Stamp:
    """Return the stamp of what is measured now."""
    return {
        "version": rs.__version__,
        "commit": loaded_commit(),
        "sources": sources(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }


def same_build(one: Stamp | None, other: Stamp | None, subjects: tuple[str, ...]) -> bool:
    """Return whether two stamps are from the same code of these subjects."""
    if one is None or other is None:
        return one is other
    return all(one["sources"].get(s) == other["sources"].get(s) for s in subjects)


def write(path: Path, content: Any, *, continues: bool = False) -> None:
    """Save a result as JSON with its stamps; or one that continues what is saved already."""
    kept = json.loads(path.read_text(encoding="utf-8")) if continues and path.exists() else None
    replace_text(path, json.dumps(content, indent=1) + "\n")
    record(path, content, kept=kept)


def replace_text(path: Path, text: str) -> None:
    """Write a file at once: whoever is interrupted meanwhile keeps what was saved before."""
    path.parent.mkdir(exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def record(path: Path, content: Any, *, kept: Any = None) -> None:
    """Stamp the parts of a saved result that were measured now.

    A part that is equal in ``kept`` keeps its stamps. A part that has some of its entries from
    ``kept`` has the earlier stamps and the present one.
    """
    before, parts, known = read(path), _parts(content), _parts(kept)
    found: Stamps = {}
    for name, value in parts.items():
        earlier = before.get(name, [None]) if name in known else []
        if name in known and value == known[name]:
            found[name] = earlier
        elif name in known and _shares(value, known[name]):
            found[name] = _once([*earlier, stamp()])
        else:
            found[name] = [stamp()]
    replace_text(_place(path), json.dumps(found, indent=1) + "\n")


def read(path: Path) -> Stamps:
    """Return the stamps of each part of a result, as far as there are any."""
    place = _place(path)
    return json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}


def builds(path: Path, subjects: tuple[str, ...]) -> list[Stamp | None]:
    """Return one stamp of each build that measured a result, in the order of its parts."""
    content = json.loads(path.read_text(encoding="utf-8"))
    kept = read(path)
    found: list[Stamp | None] = []
    for name in _parts(content):
        for one in kept.get(name, [None]):
            if not any(same_build(one, other, subjects) for other in found):
                found.append(one)
    return found


def _place(path: Path) -> Path:
    return path.parent / "stamps" / f"{path.stem}.json"


def _parts(content: Any) -> dict[str, Any]:
    if content is None:
        return {}
    return content if isinstance(content, dict) else {WHOLE: content}


def _shares(value: Any, other: Any) -> bool:
    """Return whether two parts have an entry in common."""
    if isinstance(value, dict) and isinstance(other, dict):
        return any(key in other and other[key] == one for key, one in value.items())
    if isinstance(value, list) and isinstance(other, list):
        return any(one in other for one in value)
    return False


def _once(found: list[Stamp | None]) -> list[Stamp | None]:
    """Return stamps without those whose code another one shares, of which the last one stays."""
    every = tuple(SUBJECTS)
    return [
        one
        for k, one in enumerate(found)
        if not any(same_build(one, other, every) for other in found[k + 1 :])
    ]
