"""Finds the code blocks of a page and runs them. CONTRIBUTING.md states the conventions."""

from __future__ import annotations

import doctest
import re
import shlex
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from docs_tools.notebooks import FENCE, ROOT

DOCS = ROOT / "docs"
OUTPUT = 'title="Output"'
SHOWN_ONLY = ("text", "bibtex", "csv")  # nothing can run them
VARIABLES = {"$SLURM_ARRAY_TASK_ID": "1"}


def pages() -> list[Path]:
    """Return every page that a reader may copy code from."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the rest of its first line, its code and where it starts."""

    language: str
    info: str
    code: str
    line: int
    follows: int | None  # index of the block right before it, with nothing between

    @property
    def is_output(self) -> bool:
        return self.language == "text" and OUTPUT in self.info


def find_blocks(text: str) -> list[Block]:
    """Return the blocks of a page in order."""
    found: list[Block] = []
    end = 0
    for k, fence in enumerate(FENCE.finditer(text)):
        indent, language, info, code = fence.groups()
        between = text[end : fence.start()].strip()
        plain = re.sub(rf"^{indent}", "", code, flags=re.MULTILINE)
        line = text.count("\n", 0, fence.start()) + 1
        found.append(
            Block(language, info.strip(), plain, line, k - 1 if k and not between else None)
        )
        end = fence.end()
    return found


def run_page(path: Path) -> list[str]:
    """Run the blocks of a page in order, in the current folder; return what each printed."""
    text = path.read_text(encoding="utf-8")
    blocks = find_blocks(text)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed: list[str] = []
    for block in blocks:
        where = f"{path.name}, line {block.line}"
        if block.is_output:
            assert block.follows is not None, (
                f"{where}: output must follow the code that prints it."
            )
            check_output(block.code, printed[block.follows], where)
        printed.append(_run(block, path, namespace, where))
    return printed


def _run(block: Block, path: Path, namespace: dict[str, Any], where: str) -> str:
    if block.language == "python":
        return _run_python(block, path, namespace)
    if block.language == "sh":
        return "".join(run_command(line, where) for line in commands(block.code))
    if block.language == "toml":
        tomllib.loads(block.code)
    elif block.language == "cpp":
        for line in block.code.splitlines():
            quoted = line.split("//")[0].strip()
            assert quoted in _native_code(), f"{where}: {quoted!r} is not in cpp/."
    else:
        assert block.language in SHOWN_ONLY, f"{where}: {block.language!r} blocks are not checked."
    return ""


@cache
def _native_code() -> str:
    files = [one for one in (ROOT / "cpp").rglob("*") if one.suffix in (".h", ".cpp")]
    return "\n".join(one.read_text(encoding="utf-8") for one in files)


def _run_python(block: Block, path: Path, namespace: dict[str, Any]) -> str:
    out = StringIO()
    code = "\n" * block.line + block.code  # so that a traceback names the line of the page
    with redirect_stdout(out):
        exec(compile(code, str(path), "exec"), namespace)
    return out.getvalue()


def check_output(expected: str, got: str, where: str) -> None:
    """Raise unless the text is what was printed; ``...`` stands for anything."""
    same = doctest.OutputChecker().check_output(
        expected, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert same, f"{where}: the page shows\n{expected}\nbut the code prints\n{got}"


def commands(code: str) -> Iterator[str]:
    """Yield the commands of a block: a line each, a backslash continues one."""
    for line in code.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()


def run_command(line: str, where: str) -> str:
    """Run a command of ours; check one of others against what this repository has."""
    for name, value in VARIABLES.items():
        line = line.replace(name, value)
    words = shlex.split(line, comments=True)
    program, arguments = words[0], words[1:]
    if program == "repshape":
        return _run_repshape(arguments, where)
    if "--wrap" in arguments:  # what a queue is asked to run
        return run_command(arguments[arguments.index("--wrap") + 1], where)
    if not any(known(program, arguments) for known in KNOWN):
        raise AssertionError(f"{where}: no check knows the command {line!r}.")
    return ""


def _run_repshape(arguments: list[str], where: str) -> str:
    """Run the command line; where it names another machine, only parse."""
    from typer.main import get_command

    from repshape.cli import app, run

    if any("tcp://" in one for one in arguments):
        group: Any = get_command(app)
        group.commands[arguments[0]].make_context(arguments[0], arguments[1:])
        return ""
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        code = run(arguments)
    assert code == 0, f"{where}: repshape {' '.join(arguments)} ended with {code}: {out.getvalue()}"
    return out.getvalue()


def _is_make(program: str, arguments: list[str]) -> bool:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = [one for one in arguments if "=" not in one]
    return program == "make" and all(
        re.search(rf"^{re.escape(one)}:", makefile, re.MULTILINE) for one in targets
    )


def _is_install(program: str, arguments: list[str]) -> bool:
    if program != "pip" or arguments[:1] != ["install"]:
        return False
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    for one in arguments[1:]:
        found = re.fullmatch(r"(?:\.|repshape)(?:\[([\w,]+)\])?", one)
        if found is None or not set(filter(None, (found[1] or "").split(","))) <= extras:
            return False
    return True


def _is_module(program: str, arguments: list[str]) -> bool:
    if program != "python" or not arguments:
        return False
    if arguments[0] == "-m":
        path = ROOT / arguments[1].replace(".", "/")
        return path.with_suffix(".py").exists() or (path / "__main__.py").exists()
    return (ROOT / arguments[0]).is_file()


def _is_queue(program: str, arguments: list[str]) -> bool:
    return program in ("sbatch", "job=$(sbatch", "dask", ".ci/run")


KNOWN = (_is_make, _is_install, _is_module, _is_queue)
