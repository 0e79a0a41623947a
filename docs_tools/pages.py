"""Hooks of MkDocs for single pages: the help of every command, and sources that lie open."""

from __future__ import annotations

from typing import Any

import typer
from typer.main import get_command

COMMANDS = "<!-- commands -->"
WIDTH = 90
# On the page of plain NumPy the source is what the reader comes for.
OPEN_SOURCES = "reference/plain-numpy.md"
CLOSED, OPEN = '<details class="mkdocstrings-source">', '<details class="mkdocstrings-source" open>'


def command_help() -> str:
    """Return the help of every command as Markdown, a section each."""
    from repshape.cli import app

    group: Any = get_command(app)
    sections = []
    with typer.Context(group, info_name="repshape") as parent:
        for name, command in sorted(group.commands.items()):
            with typer.Context(
                command,
                info_name=name,
                parent=parent,
                terminal_width=WIDTH,
                max_content_width=WIDTH,
            ) as inner:
                sections.append(f"## {name}\n\n```text\n{command.get_help(inner)}\n```\n")
    return "\n".join(sections)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the help of the commands where it is asked for; MkDocs calls this before Markdown."""
    return markdown.replace(COMMANDS, command_help()) if COMMANDS in markdown else markdown


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Open the sources; MkDocs calls this after Markdown."""
    return html.replace(CLOSED, OPEN) if page.file.src_uri == OPEN_SOURCES else html
