"""The README: one screen, with what a newcomer needs. Its code is run by test_code_blocks."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from typing import Any

import pytest

from docs.blocks import ROOT, find_blocks, pages

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 60


def test_two_commands() -> None:
    commands = "\n".join(block.code for block in find_blocks(README) if block.language == "sh")
    assert re.findall(r"^make (\w+)", commands, re.MULTILINE) == ["demo", "test"]


def test_ten_lines_of_code() -> None:
    (block,) = [block for block in find_blocks(README) if block.language == "python"]
    assert len([line for line in block.code.splitlines() if line.strip()]) <= 12


def test_its_interval_contains_the_truth_that_it_names() -> None:
    """Both networks have the same means; in six directions, noise of 0.1 and of 1.0."""
    (block,) = [block for block in find_blocks(README) if block.language == "python"]
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(block.code, {})
    low, high = re.findall(r"\[([\d.]+), ([\d.]+)\] \(90 %", printed.getvalue())[0]
    truth = 0.9 * 6**0.5
    assert float(low) < truth < float(high)
    assert f"the truth is {truth:.2f}" in block.code


@pytest.mark.nightly
def test_its_interval_covers_the_truth_for_other_seeds() -> None:
    """At least 85 of 100 runs of the same lines; a binomial at 90 % is below that in 4 %."""
    (block,) = [block for block in find_blocks(README) if block.language == "python"]
    setup = block.code.split("D = ")[0]
    (call,) = re.findall(r"print\((rs\.inference\.distance\(.*\))\)", block.code)
    assert setup.count("default_rng(0)") == 1
    covered = 0
    for seed in range(100):
        names: dict[str, Any] = {}
        exec(setup.replace("default_rng(0)", f"default_rng([{seed}, 51])"), names)
        low, high = eval(call, names).interval
        covered += low < 0.9 * 6**0.5 < high
    assert covered >= 85


def test_it_has_a_picture() -> None:
    pictures = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", README)
    assert pictures
    assert all((ROOT / path).exists() for _, path in pictures)


def test_anchors_of_links_exist() -> None:
    """MkDocs checks links between pages of the site, but not those of the README."""
    for path, anchor in re.findall(r"\]\(([^)#:\s]+)#([^)\s]+)\)", README):
        headings = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
        slugs = [re.sub(r"[^\w\- ]", "", one).strip().lower().replace(" ", "-") for one in headings]
        assert anchor in slugs


def test_pages_say_nothing_of_machines() -> None:
    for page in pages():
        assert not re.search(r"(?<![\w.])/(?:tmp|work|home)/", page.read_text(encoding="utf-8")), (
            page
        )
