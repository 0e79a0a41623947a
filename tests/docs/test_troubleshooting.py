"""Every error and warning of the package has a paragraph, and tabs stay short."""

from __future__ import annotations

import re
from typing import Any

import yaml

from docs.blocks import DOCS, ROOT

CLASS = re.compile(r"^class (\w+(?:Warning|Error))\(", re.MULTILINE)
PAGE = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
MOST_ENTRIES = 7


def test_every_error_and_warning_has_a_paragraph() -> None:
    public = set[str]()
    for path in (ROOT / "src" / "repshape").rglob("*.py"):
        found = CLASS.findall(path.read_text(encoding="utf-8"))
        # Errors elsewhere never leave the package, or are caught by the name of their base.
        public |= {name for name in found if path.name == "errors.py" or "Warning" in name}
    assert {"InputError", "SearchWarning", "EqualTrialsWarning"} <= public
    headings = re.findall(r"^### (\w+)\n\n(\S)", PAGE, re.MULTILINE)
    assert public == {name for name, _ in headings}


class Loader(yaml.SafeLoader):
    """Reads settings of MkDocs, some of which name Python functions."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def test_tabs_have_few_entries() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    settings: Any = yaml.load(text, Loader)
    tabs = {name: entries for tab in settings["nav"] for name, entries in tab.items()}
    assert list(tabs) == ["Start", "Tutorials", "Guide", "Gallery", "Reference", "Evidence"]
    assert max(len(entries) for entries in tabs.values()) <= MOST_ENTRIES
