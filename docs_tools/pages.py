"""MkDocs hooks: insert what is generated, fold tables, unfold sources, name the version."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import typer
from benchmarks.evidence import MARK as BUILDS
from benchmarks.evidence import note
from docs_tools import alpha_slider
from docs_tools.example_page import all_examples
from docs_tools.facts import fill
from docs_tools.features import MARK, table
from docs_tools.folding import folded
from docs_tools.reference import with_metrics
from typer.main import get_command

from repshape._version import package_version

COMMANDS = "<!-- commands -->"
EXAMPLES = "<!-- examples -->"
WIDTH = 90
# Pages whose long tables are closed at first, and those among them that are tables above all.
FOLDED = ("evidence/", "experiments/")
TABLES = ("evidence/index.md", "experiments/standard.md", "experiments/verdicts.md")
# Readers come to the page of formulas for the source code, so it is unfolded there.
OPEN_SOURCES = "reference/formulas.md"
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


def on_config(config: Any) -> Any:
    """Name the version on every page, and let readers choose one where several are kept."""
    config.copyright = f"repshape {package_version()}, {config.copyright}"
    if "MIKE_DOCS_VERSION" in os.environ:  # a local copy has one version, and makes no requests
        config.extra["version"] = {"provider": "mike", "default": "latest"}
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Insert what is generated. MkDocs calls this before converting Markdown."""
    made = {
        COMMANDS: command_help,
        EXAMPLES: all_examples,
        MARK: table,
        alpha_slider.MARK: alpha_slider.stored,
        BUILDS: partial(note, page.file.src_uri),
    }
    for mark, make in made.items():
        if mark in markdown:
            markdown = markdown.replace(mark, make())
    if page.file.src_uri.startswith(FOLDED) and page.file.src_uri not in TABLES:
        markdown = folded(markdown)
    return with_metrics(fill(markdown))


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Unfold the source code. MkDocs calls this after converting Markdown."""
    return html.replace(CLOSED, OPEN) if page.file.src_uri == OPEN_SOURCES else html
