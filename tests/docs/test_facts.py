"""Facts are stated once, follow from saved results, and features name the tests that prove them."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from docs.blocks import DOCS, ROOT

sys.path.insert(0, str(ROOT))  # the tools are no part of the package

from docs_tools import features
from docs_tools.facts import DERIVED, NAME, README, TEMPLATE, derive, fill, read_facts

FACTS = read_facts()
WRITTEN = [TEMPLATE, *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_is_what_its_source_gives(name: str) -> None:
    assert FACTS[name].text == derive(name)


def test_every_fact_is_derived() -> None:
    assert set(DERIVED) == set(FACTS)


def typed(page: str) -> list[str]:
    """Return the facts that a page states outside of a placeholder."""
    text = NAME.sub("", page)
    return [name for name, fact in FACTS.items() if re.search(fact.pattern, text)]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_no_page_types_a_fact(page: Path) -> None:
    assert typed(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", FACTS)
def test_the_pattern_of_a_fact_finds_it(name: str) -> None:
    """Typed where pages state it, its text would be noticed."""
    found = [page.read_text(encoding="utf-8") for page in WRITTEN]
    users = [page for page in found if f"{{{{ {name} }}}}" in page]
    assert users, f"No page uses {name}."
    assert any(name in typed(page.replace(f"{{{{ {name} }}}}", FACTS[name].text)) for page in users)


def test_the_readme_is_its_template() -> None:
    assert README.read_text(encoding="utf-8") == fill(TEMPLATE.read_text(encoding="utf-8")), (
        "Run python -m docs_tools.facts."
    )


def test_unknown_facts_end_the_build() -> None:
    with pytest.raises(KeyError, match="nonsense"):
        fill("{{ nonsense }}")


def test_contributors_read_the_same_requirements() -> None:
    needed = FACTS["requirements"].text.split(" and ")[0]
    assert f"You need {needed}" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"version: {FACTS['version'].text}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize("row", features.rows(), ids=lambda row: row["feature"])
def test_a_feature_names_a_test_that_exists(row: dict[str, str]) -> None:
    if row["repshape"].startswith("no"):
        assert "test" not in row
        return
    path, _, name = row["test"].partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name in [one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
