"""The documentation as a reader of a copy on a disk sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_support import Browser

from docs.building import shared_site

LOCAL = ("file:", "data:", "blob:", "about:", "chrome:")
PAGES = ("index.html", "maths.html", "netrep.html", "gallery.html", "reference/metrics.html")


@pytest.fixture(scope="module")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_site(tmp_path_factory)


def show(browser: Browser, path: Path, width: int = 1280) -> None:
    browser.resize(width, 900)
    browser.logs("performance")
    browser.logs("browser")
    browser.driver.get(path.as_uri())


@pytest.mark.parametrize("name", PAGES)
def test_page_asks_nobody_and_logs_nothing(browser: Browser, site: Path, name: str) -> None:
    show(browser, site / name)
    assert [url for url in browser.requests() if not url.startswith(LOCAL)] == []
    assert browser.errors() == []


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_page_is_no_wider_than_its_window(
    browser: Browser, site: Path, name: str, width: int
) -> None:
    """Wide tables and formulas scroll by themselves."""
    show(browser, site / name, width)
    overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.run(overflow) <= 0


def test_formulas_have_a_size(browser: Browser, site: Path) -> None:
    show(browser, site / "maths.html")
    sizes = browser.run(
        "return [...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().height)"
    )
    assert len(sizes) > 40
    assert min(sizes) > 5


def test_search_finds_without_a_server(browser: Browser, site: Path) -> None:
    show(browser, site / "howto" / "vae.html")
    field = browser.find(".md-search__input")
    field.click()
    field.send_keys("triangle")
    browser.until("return document.querySelector('.md-search-result__item') !== null")
    links = browser.all("a.md-search-result__link")
    assert any("analysis.html" in str(link.get_attribute("href")) for link in links)
