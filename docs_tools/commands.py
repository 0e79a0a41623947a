"""A hook of MkDocs: `<!-- commands -->` becomes the help of every command."""

from __future__ import annotations

from typing import Any

import typer
from typer.main import get_command

MARK = "<!-- commands -->"
WIDTH = 90


def command_help() -> str:
    """Return the help of every command as Markdown, a section each."""
    from repshape.cli import app

    group: Any = get_command(app)
    with typer.Context(group, info_name="repshape", max_content_width=WIDTH) as parent:
        sections = []
        for name, command in sorted(group.commands.items()):
            with typer.Context(
                command,
                info_name=name,
                parent=parent,
                max_content_width=WIDTH,
                terminal_width=WIDTH,
            ) as inner:
                sections.append(f"## {name}\n\n```text\n{command.get_help(inner)}\n```\n")
    return "\n".join(sections)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the mark; MkDocs calls this before Markdown."""
    return markdown.replace(MARK, command_help()) if MARK in markdown else markdown
