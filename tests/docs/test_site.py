"""The site builds strictly, shows formulas without scripts, and loads nothing from the web."""

from __future__ import annotations

import html
import inspect
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from docs.blocks import DOCS
from docs.test_reference import lookup
from repshape._version import package_version

LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
REMOTE = re.compile(r"(?:https?:)?//", re.IGNORECASE)


class Page(HTMLParser):
    """What a page loads by itself, and how many formulas it has."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.formulas = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values: dict[str, Any] = dict(attrs)
        self.formulas += tag == "math"
        if tag == "link" and values.get("rel") in ("canonical", "next", "prev"):
            return  # names another page; nothing is loaded
        if tag in LOADS and LOADS[tag] in values:
            self.loaded.append(str(values[LOADS[tag]]))


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def test_every_page_is_built(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(DOCS)).with_suffix(".html").exists()


def test_evidence_names_its_builds(site: Path) -> None:
    for name in ("benchmarks", "scale", "inference"):
        text = (site / "evidence" / f"{name}.html").read_text(encoding="utf-8")
        assert "Builds behind these numbers" in text
        assert f"<code>{'solver' if name == 'benchmarks' else name}.json</code>" in text


def test_nothing_is_loaded_from_afar(site: Path) -> None:
    seen = 0
    for path in site.rglob("*.html"):
        for url in read(path).loaded:
            seen += 1
            assert not REMOTE.match(url), f"{path.name} loads {url}"
            if path.name != "404.html":
                assert (path.parent / url.split("?")[0].split("#")[0]).exists(), url
    assert seen > 50


def test_styles_load_nothing_from_afar(site: Path) -> None:
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        urls = re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", text)
        assert not [one for pair in urls for one in pair if REMOTE.match(one)]


def test_formulas_are_mathml(site: Path) -> None:
    assert read(site / "maths.html").formulas > 40
    for path in site.rglob("*.html"):
        assert "arithmatex" not in path.read_text(encoding="utf-8"), path.name


def test_docstrings_hold_no_other_markup(site: Path) -> None:
    """Leftover reStructuredText would be shown to the reader."""
    for path in (site / "reference").glob("*.html"):
        text = re.sub(r"<pre.*?</pre>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.findall(r":math:|\.\. math::|={4,} ={4,}|\[\d\]_", text), path.name


def test_the_function_pairwise_is_shown_and_not_its_package(site: Path) -> None:
    text = (site / "reference" / "matrices.html").read_text(encoding="utf-8")
    entry = text.split('<h2 id="repshape.pairwise"')[1].split("<h2 id=")[0]
    words = html.unescape(re.sub(r"<[^>]+>", "", entry))
    parameters = inspect.signature(lookup("repshape.pairwise")).parameters  # type: ignore[arg-type]
    assert re.search(r"pairwise\(\s*" + next(iter(parameters)), words)


def shown_defaults(site: Path) -> Iterator[tuple[str, str, str]]:
    """Yield name, parameter and default of every entry of the reference."""
    heading = re.compile(r'<h2 id="(repshape[\w.]+)" class="doc doc-heading">')
    item = re.compile(
        r"<b><code>(\w+)</code></b>\s*\((?:(?!</li>).)*?default:\s*<code>(.*?)</code>", re.DOTALL
    )
    for path in (site / "reference").glob("*.html"):
        parts = heading.split(path.read_text(encoding="utf-8"))
        for name, entry in zip(parts[1::2], parts[2::2], strict=True):
            own = entry.split('<div class="doc doc-children">')[0]  # not of the methods
            for parameter, value in item.findall(own):
                yield name, parameter, html.unescape(re.sub(r"<[^>]+>", "", value)).strip()


def test_defaults_are_those_of_the_code(site: Path) -> None:
    checked = 0
    for name, parameter, shown in shown_defaults(site):
        item: Any = lookup(name)
        default = inspect.signature(item).parameters[parameter].default
        known = dict(vars(sys.modules[item.__module__]))  # constants are shown by name
        same = shown == repr(default) or eval(shown, known) == default
        assert same, f"{name}({parameter}={default!r}) is shown with {shown}."
        checked += 1
    assert checked > 150


def test_search_finds_without_a_server(site: Path) -> None:
    assert (site / "search" / "search_index.js").read_text().startswith("var __index")


def test_every_command_has_a_section(site: Path) -> None:
    from typer.main import get_command

    from repshape.cli import app

    group: Any = get_command(app)
    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for name in group.commands:
        assert f'<h2 id="{name}">' in text


def test_pages_name_the_version(site: Path) -> None:
    """A local copy has one version, so that it asks no server for others."""
    page = (site / "index.html").read_text(encoding="utf-8")
    assert f"repshape {package_version()}, MIT licence" in page
    assert "mike" not in page
