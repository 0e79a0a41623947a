"""An extension of griffe: what our docstrings write as reStructuredText, for Markdown.

Formulas (``.. math::`` and ``:math:``), simple tables, references, names that share an entry, and
names in single backticks, which become links where the name is public.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

DIRECTIVE = re.compile(r"^(?P<pad> *)\.\. math:: *(?P<rest>(?:.*\n?)(?:(?P=pad) +\S.*\n?)*)", re.M)
ROLE = re.compile(r":math:`([^`]*)`")
RULE = re.compile(r"^ *=+(?: +=+)+ *$")
ENTRY = re.compile(r"(?P<names>\w+(?:, \w+)*)(?P<kind> :.*)?")
CHOICES = re.compile(r"\{([^{}]*)\}")
FOOTNOTE = re.compile(r"^( *)\.\. \[(\d+)\] ", re.M)
NAME = re.compile(r"(?<![`\w\[])`((?:repshape\.)?[A-Za-z][\w.]*)`(?![`_\]])")


def _table(lines: list[str]) -> list[str]:
    """Return a simple table, with its rules, as a table of Markdown."""
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
    """Write every parameter so that griffe invents no default.

    Of ``a, b : int`` it would show the default and the annotation of a beside both, so each name
    gets an entry of its own. Of ``{"a", "b"}`` it would show "a" as the default, so choices are
    spelled out.
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


def to_markdown(text: str, public: frozenset[str] = frozenset()) -> str:
    r"""Return a docstring as Markdown.

    >>> to_markdown("so :math:`x^2`, see `pairwise`", frozenset({"repshape.pairwise"}))
    'so $x^2$, see [`pairwise`][repshape.pairwise]'
    """

    def link(found: re.Match[str]) -> str:
        name = found[1]
        full = name if name.startswith("repshape.") else f"repshape.{name}"
        return f"[`{name}`][{full}]" if full in public else found[0]

    text = DIRECTIVE.sub(_display, _entries(text))
    text = ROLE.sub(r"$\1$", text)
    text = FOOTNOTE.sub(r"\1\n\1[\2] ", text)
    text = re.sub(r" \[(\d+)\]_", r" [\1]", text)
    return NAME.sub(link, _tables(text))


class Docstrings(griffe.Extension):
    """Rewrites every docstring of the package before it is parsed."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Rewrite the docstrings once the whole package is known."""
        public = frozenset(f"repshape.{name}" for name in _exports(pkg))
        self._walk(pkg, public)

    def _walk(self, item: griffe.Object, public: frozenset[str]) -> None:
        if item.docstring is not None:
            item.docstring.value = to_markdown(item.docstring.value, public)
        for member in item.members.values():
            if not member.is_alias and isinstance(member, griffe.Object):
                self._walk(member, public)


def _exports(pkg: griffe.Module) -> list[str]:
    names = [str(getattr(name, "name", name)) for name in pkg.exports or ()]
    for name in list(names):
        member = pkg.members.get(name)
        if member is not None and member.is_module:
            names += [f"{name}.{inner}" for inner in getattr(member, "exports", None) or ()]
    return names
