"""MkDocs hooks for single pages: insert the help of every command, and unfold source code."""

from __future__ import annotations

from typing import Any

import typer
from typer.main import get_command

COMMANDS = "<!-- commands -->"
WIDTH = 90
# Readers come to the page of plain NumPy for the source code, so it is unfolded there.
OPEN_SOURCES = "reference/plain-numpy.md"
CLOSED, OPEN = '<details class="mkdocstrings-source">', '<details class="mkdocstrings-source" open>'


def command_help() -> str:
    """Return the help of every command as Markdown, with one section per command."""
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
    """Insert the help of the commands. MkDocs calls this before converting Markdown."""
    return markdown.replace(COMMANDS, command_help()) if COMMANDS in markdown else markdown


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Unfold the source code. MkDocs calls this after converting Markdown."""
    return html.replace(CLOSED, OPEN) if page.file.src_uri == OPEN_SOURCES else html
