"""An example of every public function, from docstrings, which are run as tests."""

from __future__ import annotations

import re
from doctest import DocTestParser, Example
from importlib import import_module
from inspect import getdoc, isfunction
from itertools import groupby

from docs_tools.docstrings import REFERENCE, reference_entries, to_markdown
from docs_tools.reference import entries_of

LEFT_OUT = ("errors.md", "commands.md", "formulas.md")  # pages without functions
# Examples that need a file are on a page of the guide, which is run as a test too.
ELSEWHERE = {
    "repshape.io.import_nwb": "howto/nwb.md",
    "repshape.io.open_nwb": "howto/nwb.md",
    "repshape.io.read_allen": "howto/nwb.md",
}
TITLE = re.compile(r"^# (.+)$", re.M)
PAGE = re.compile(r"^\| \[.+\]\((.+\.md)\)", re.M)


def lookup(name: str) -> object:
    """Return what the full name of an entry stands for."""
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def example_of(name: str) -> str:
    """Return the example of a docstring as Markdown: code with its output, and text in between."""
    doc = getdoc(lookup(name)) or ""
    parts = DocTestParser().parse(doc)
    places = [k for k, part in enumerate(parts) if isinstance(part, Example)]
    if not places:
        return ""
    blocks = []
    kept = [p for p in parts[places[0] : places[-1] + 1] if isinstance(p, Example) or p.strip()]
    for is_code, members in groupby(kept, lambda part: isinstance(part, Example)):
        found = list(members)
        if is_code:
            lines = [_session(one) for one in found if isinstance(one, Example)]
            blocks.append("```pycon\n" + "".join(lines) + "```")
        else:
            text = " ".join(str(one).strip() for one in found)
            blocks.append(to_markdown(text, name, reference_entries()))
    return "\n\n".join(blocks)


def _session(example: Example) -> str:
    first, *others = example.source.splitlines()
    return "\n".join([f">>> {first}", *(f"... {line}".rstrip() for line in others), example.want])


def summary_of(name: str) -> str:
    """Return the first paragraph of a docstring, on one line."""
    first = (getdoc(lookup(name)) or "").split("\n\n")[0]
    return to_markdown(" ".join(first.split()), name, reference_entries())


def pages() -> dict[str, tuple[str, ...]]:
    """Return the title of each page of the reference, in order, and the names that it describes."""
    found = {}
    for name in PAGE.findall((REFERENCE / "index.md").read_text(encoding="utf-8")):
        text = (REFERENCE / name).read_text(encoding="utf-8")
        title = TITLE.search(text)
        if name not in LEFT_OUT and title is not None:
            found[title[1]] = tuple(entries_of(REFERENCE / name))
    return found


def all_examples() -> str:
    """Return all examples, with a section for every page of the reference."""
    sections = []
    for title, names in pages().items():
        sections += [f"## {title}", *filter(None, map(_entry, names))]
    return "\n\n".join(sections)


def _entry(name: str) -> str:
    example = example_of(name)
    if name in ELSEWHERE:
        example = f"It needs a file, which [this page]({ELSEWHERE[name]}) writes first."
    if not example:
        return ""
    short = name.replace("repshape.", "rs.", 1)
    return f"### [`{short}`][{name}]\n\n{summary_of(name)}\n\n{example}"


def without_example() -> list[str]:
    """Return the public functions that have no example."""
    names = [name for found in pages().values() for name in found]
    functions = [name for name in names if isfunction(lookup(name)) and name not in ELSEWHERE]
    return [name for name in functions if not example_of(name)]
