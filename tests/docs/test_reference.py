"""Every public name has one entry in the reference, and every entry is a public name."""

from __future__ import annotations

import re
from collections import Counter
from types import ModuleType

import pytest

import repshape
from docs.blocks import DOCS

ENTRY = re.compile(r"^::: (\S+)", re.MULTILINE)
INTERNAL = {"plain-numpy.md"}  # the slow twins are shown, but are not public


def public_names() -> list[str]:
    items = {name: getattr(repshape, name) for name in repshape.__all__}
    names = [f"repshape.{name}" for name, one in items.items() if not isinstance(one, ModuleType)]
    modules = {name: one for name, one in items.items() if isinstance(one, ModuleType)}
    for name, module in modules.items():
        names += [f"repshape.{name}.{inner}" for inner in module.__all__]
    return names


def entries() -> Counter[str]:
    found: Counter[str] = Counter()
    for page in DOCS.rglob("*.md"):
        if page.name not in INTERNAL:
            found.update(ENTRY.findall(page.read_text(encoding="utf-8")))
    return found


def test_names_are_many() -> None:
    assert len(public_names()) > 60


@pytest.mark.parametrize("name", public_names())
def test_name_has_one_entry(name: str) -> None:
    assert entries()[name] == 1


def test_entries_are_public() -> None:
    assert set(entries()) <= set(public_names())


@pytest.mark.parametrize("name", public_names())
def test_name_says_what_it_is(name: str) -> None:
    """The reference shows docstrings, so there must be one; examples are run by pytest."""
    item: object = repshape
    for part in name.split(".")[1:]:
        item = getattr(item, part)
    assert isinstance(item, str) or item.__doc__
