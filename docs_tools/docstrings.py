"""An extension of griffe that turns our docstrings from reStructuredText into Markdown.

It handles formulas (``.. math::`` and ``:math:``), simple tables, references, parameters that share
an entry, and names in single backticks, which become links if the reference has an entry for them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
from docs_tools.reference import entries_of

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"

DIRECTIVE = re.compile(r"^(?P<pad> *)\.\. math:: *(?P<rest>(?:.*\n?)(?:(?P=pad) +\S.*\n?)*)", re.M)
ROLE = re.compile(r":math:`([^`]*)`")
RULE = re.compile(r"^ *=+(?: +=+)+ *$")
ENTRY = re.compile(r"(?P<names>\w+(?:, \w+)*)(?P<kind> :.*)?")
CHOICES = re.compile(r"\{([^{}]*)\}")
FOOTNOTE = re.compile(r"^( *)\.\. \[(\d+)\] ", re.M)
NAME = re.compile(r"(?<![`\w\[])`((?:repshape\.)?[A-Za-z][\w.]*)`(?![`_\]])")


def _table(lines: list[str]) -> list[str]:
    """Return the lines of a simple reStructuredText table as a Markdown table."""
    pad = len(lines[0]) - len(lines[0].lstrip())
    spans = [(one.start(), one.end()) for one in re.finditer("=+", lines[0])]
    rows = []
    for line in lines:
        if not RULE.match(line):
            ends = [start for start, _ in spans[1:]] + [len(line)]
            cells = [line[a:b].strip() for (a, _), b in zip(spans, ends, strict=True)]
            rows.append(" " * pad + "| " + " | ".join(cells) + " |")
    return [rows[0], " " * pad + "|---" * len(spans) + "|", *rows[1:]]


def _tables(text: str) -> str:
    lines, out = text.split("\n"), list[str]()
    while lines:
        rules = [k for k, line in enumerate(lines) if RULE.match(line)]
        if len(rules) < 3:
            return "\n".join(out + lines)
        first, last = rules[0], rules[2]
        out += [*lines[:first], *_table(lines[first : last + 1])]
        lines = lines[last + 1 :]
    return "\n".join(out)


def _spelled(choices: re.Match[str]) -> str:
    """Return ``{"a", "b", "c"}`` as ``"a", "b" or "c"``."""
    *others, last = choices[1].split(", ")
    return f"{', '.join(others)} or {last}" if others else last


def _entries(text: str) -> str:
    """Rewrite parameters so that griffe shows the right defaults.

    For ``a, b : int`` it would show the default and the annotation of a for both, so each name gets
    an entry of its own. For ``{"a", "b"}`` it would show "a" as the default, so choices are spelled
    out.
    """
    lines, out = text.split("\n"), list[str]()
    listing = False
    while lines:
        line = lines.pop(0)
        if lines and re.fullmatch("-{3,}", lines[0]):
            listing = line in ("Parameters", "Attributes")
            out += [line, lines.pop(0)]
            continue
        found = ENTRY.fullmatch(line) if listing else None
        if found is None:
            out.append(line)
            continue
        body = []
        while lines and (not lines[0] or lines[0].startswith(" ")):
            body.append(lines.pop(0))
        kind = CHOICES.sub(_spelled, found["kind"] or "")
        for name in found["names"].split(", "):
            out += [name + kind, *body]
    return "\n".join(out)


def _display(found: re.Match[str]) -> str:
    pad = found["pad"]
    formula = " ".join(textwrap.dedent(found["rest"]).split())
    return f"\n{pad}$$\n{pad}{formula}\n{pad}$$\n"


def _candidates(name: str, path: str, entries: frozenset[str]) -> Iterator[str]:
    """Yield the full names that a short name in the docstring of `path` may stand for."""
    yield name
    parts = path.split(".")
    for depth in range(len(parts) - 1, 0, -1):
        yield ".".join([*parts[:depth], name])
    if name[0].isupper():  # a class, wherever it lives
        same = [entry for entry in entries if entry.endswith(f".{name}")]
        yield from same if len(same) == 1 else ()


def to_markdown(text: str, path: str = "repshape", entries: frozenset[str] = frozenset()) -> str:
    r"""Return the docstring of the object at `path` as Markdown.

    >>> to_markdown("so :math:`x^2`, see `cross`", "repshape.run.f", frozenset({"repshape.cross"}))
    'so $x^2$, see [`cross`][repshape.cross]'
    """

    def link(found: re.Match[str]) -> str:
        for full in _candidates(found[1], path, entries):
            if full in entries:
                return f"[`{found[1]}`][{full}]"
        return found[0]

    text = DIRECTIVE.sub(_display, _entries(text))
    text = ROLE.sub(r"$\1$", text)
    text = FOOTNOTE.sub(r"\1\n\1[\2] ", text)
    text = re.sub(r" \[(\d+)\]_", r" [\1]", text)
    return NAME.sub(link, _tables(text))


def reference_entries(folder: Path = REFERENCE) -> frozenset[str]:
    """Return every name that has an entry in the reference."""
    return frozenset(name for page in folder.glob("*.md") for name in entries_of(page))


class Docstrings(griffe.Extension):
    """Rewrites every docstring of the package before it is parsed."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Rewrite the docstrings once the whole package is known."""
        self._walk(pkg, reference_entries())

    def _walk(self, item: griffe.Object, entries: frozenset[str]) -> None:
        if item.docstring is not None:
            item.docstring.value = to_markdown(item.docstring.value, item.path, entries)
        for member in item.members.values():
            if not member.is_alias and isinstance(member, griffe.Object):
                self._walk(member, entries)
