"""The tools that build the site."""

from __future__ import annotations

import sys

import pytest

from docs.blocks import ROOT

sys.path.insert(0, str(ROOT))  # the tools are no part of the package

pytest.importorskip("latex2mathml")
pytest.importorskip("griffe")

from docs_tools.docstrings import to_markdown
from docs_tools.example_page import ELSEWHERE, all_examples, example_of, pages, without_example
from docs_tools.folding import folded
from docs_tools.mathml import replace_formulas, to_mathml


def test_block_formula() -> None:
    page = replace_formulas('<div class="arithmatex">\\[a &lt; b\\]</div>')
    assert page.startswith('<div class="math-display"')
    assert "&#x0003C;" in page or "&lt;" in page


def test_unknown_command_ends_the_build() -> None:
    with pytest.raises(ValueError, match="cannot be shown: nonsense"):
        to_mathml(r"x + \nonsense")


@pytest.mark.parametrize("tex", [r"\mathrm{tr} S", r"\arg\min_T f", r"\min_{T \in G} f(T)"])
def test_names_are_not_set_letter_by_letter(tex: str) -> None:
    markup = to_mathml(tex, block=True)
    assert ">tr<" in markup or "min<" in markup
    assert "\\" not in markup


def test_math_directive_keeps_its_indentation() -> None:
    text = "Sum.\n\n    .. math:: a +\n              b\n\n    More."
    assert "    $$\n    a + b\n    $$\n" in to_markdown(text)
    assert to_markdown(text).endswith("    More.")


def test_simple_table() -> None:
    text = "\n".join(["==== =====", "a    b", "==== =====", "one  two", "==== ====="])
    assert to_markdown(text) == "| a | b |\n|---|---|\n| one | two |"


def test_names_that_share_an_entry_get_one_each() -> None:
    """Otherwise the default of the first would be shown beside all of them."""
    entries = "a, b : int\n    Sizes,\n    both.\nc, d\n"
    text = f"Do.\n\nParameters\n----------\n{entries}\nNotes\n-----\ne, f"
    assert to_markdown(text).split("Parameters")[1] == (
        "\n----------\na : int\n    Sizes,\n    both.\nb : int\n    Sizes,\n    both.\n"
        "c\n\nd\n\nNotes\n-----\ne, f"
    )


def test_choices_are_spelled_out() -> None:
    """Otherwise the first would be shown as the default."""
    text = 'Do.\n\nParameters\n----------\na : {"x", "y", "z"} or None\n    Kind.'
    assert 'a : "x", "y" or "z" or None\n    Kind.' in to_markdown(text)


def test_only_names_of_the_reference_are_links() -> None:
    entries = frozenset({"repshape.pairwise"})
    assert to_markdown("`pairwise` and ``pairwise`` and `other`", "repshape.a", entries) == (
        "[`pairwise`][repshape.pairwise] and ``pairwise`` and `other`"
    )


@pytest.mark.parametrize(
    ("path", "name", "entry"),
    [
        ("repshape.inference.distances.ratio", "distance", "repshape.inference.distance"),
        ("repshape.inference.distances.ratio", "pairwise", "repshape.pairwise"),
        ("repshape.metrics.base.Alignment", "Transform", "repshape.groups.Transform"),
        ("repshape.metrics.base.Alignment", "distance", None),
    ],
)
def test_short_names_link_to_the_nearest_entry(path: str, name: str, entry: str | None) -> None:
    known = {"repshape.inference.distance", "repshape.pairwise", "repshape.groups.Transform"}
    shown = to_markdown(f"see `{name}`", path, frozenset(known))
    assert shown == (f"see [`{name}`][{entry}]" if entry else f"see `{name}`")


def test_every_public_function_has_an_example() -> None:
    assert without_example() == []
    names = [name for found in pages().values() for name in found]
    assert len(names) > 100
    assert set(ELSEWHERE) <= set(names)
    for name, page in ELSEWHERE.items():
        assert f"rs.{name.removeprefix('repshape.')}(" in (ROOT / "docs" / page).read_text()


def test_examples_show_code_and_what_it_prints() -> None:
    found = example_of("repshape.analysis.distortion")
    assert found.startswith("```pycon\n>>> D = ")
    assert found.endswith("array([1. , 1.5, 2. ])\n```")
    assert example_of("repshape.analysis.Distortion") == ""  # a result: its function has one
    assert "### [`rs.analysis.distortion`]" in all_examples()


def test_long_tables_are_folded_under_their_heading() -> None:
    long, short = ("| n |\n|---|\n" + "| 1 |\n" * rows for rows in (5, 4))
    page = folded(f"# Page\n\n## Speed\n\n{short}\nand\n\n{long}\n{long}\nend\n")
    assert short in page
    assert page.count('??? note "Table: speed') == 2
    assert '"Table: speed, 2 (5 rows)"\n\n    | n |\n    |---|\n' in page
    assert page.endswith("\nend\n")
