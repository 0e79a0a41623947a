"""Every public name has one entry in the reference, and every entry is a public name."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from types import ModuleType

import pytest
from docs_tools.reference import entries_of

import repshape
from docs.blocks import DOCS

INTERNAL = {"formulas.md"}  # formulas are shown, but are not public
# Public classes of modules that the root does not expose. All else there is for internal use.
ELSEWHERE = {
    "groups": ["BlockOrthogonal", "Group", "SignedPermutations", "Transform"],
    "matrix": ["ErrorBars", "Repaired", "TriangleViolations"],
    "metrics": ["Prepared", "ShapeMetric"],
    "moments": ["CovarianceEstimator", "OneTrialWarning"],
    "preprocess": ["FittedPreprocess"],
    "report": ["Report"],
}


def public_names() -> list[str]:
    """Return the full name of everything public, once: what the root has, then its modules."""
    items = {name: getattr(repshape, name) for name in repshape.__all__}
    modules = {name: one for name, one in items.items() if isinstance(one, ModuleType)}
    at_root = [name for name in items if name not in modules]
    names = [f"repshape.{name}" for name in at_root]
    for name, module in modules.items():
        own = [inner for inner in module.__all__ if items.get(inner) is not getattr(module, inner)]
        names += [f"repshape.{name}.{inner}" for inner in own]
    for name, classes in ELSEWHERE.items():
        names += [f"repshape.{name}.{inner}" for inner in classes]
    return names


def entries() -> Counter[str]:
    found: Counter[str] = Counter()
    for page in DOCS.rglob("*.md"):
        if page.name not in INTERNAL:
            found.update(entries_of(page))
    return found


def lookup(name: str) -> object:
    """Return what a name of the root, or of one of its modules, stands for."""
    head, _, last = name.rpartition(".")
    return getattr(repshape if head == "repshape" else import_module(head), last)


def test_names_are_many() -> None:
    assert len(public_names()) > 60


@pytest.mark.parametrize("name", public_names())
def test_name_has_one_entry(name: str) -> None:
    assert entries()[name] == 1


def test_entries_are_public() -> None:
    assert set(entries()) == set(public_names())


def test_names_of_modules_that_the_root_has_too_are_the_same_objects() -> None:
    """So that the entry at the root describes them."""
    for module in (repshape.analysis, import_module("repshape.matrix")):
        for name in set(module.__all__) & set(repshape.__all__):
            assert getattr(module, name) is getattr(repshape, name)


@pytest.mark.parametrize("name", public_names())
def test_name_says_what_it_is(name: str) -> None:
    """The reference shows docstrings, so there must be one; examples are run by pytest."""
    item = lookup(name)
    assert isinstance(item, str) or item.__doc__


def test_every_page_of_the_reference_is_listed() -> None:
    index = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\((\w[\w-]*\.md)\)", index))
    assert linked == {page.name for page in (DOCS / "reference").glob("*.md")} - {"index.md"}
