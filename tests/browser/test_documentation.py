"""The documentation as a reader of a copy on a disk sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_support import Browser
from selenium.webdriver.common.keys import Keys

from docs.building import shared_site

LOCAL = ("file:", "data:", "blob:", "about:", "chrome:")
PAGES = (
    "index.html",
    "which-metric.html",
    "maths.html",
    "netrep.html",
    "gallery.html",
    "evidence/benchmarks.html",
    "reference/metrics.html",
)


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


def test_the_slider_of_alpha_is_operated_by_keys(browser: Browser, site: Path) -> None:
    """Opposite correlations are one shape without means, and all toy networks without noise."""
    show(browser, site / "which-metric.html")
    slider = browser.find("#alpha-input")
    assert slider.is_displayed()
    assert browser.text("[data-pair='0']") == "1.67"
    slider.send_keys(Keys.HOME)
    assert [browser.text(f"[data-pair='{k}']") for k in (0, 1)] == ["0.00", "1.41"]
    assert slider.get_attribute("aria-valuetext") == "alpha 0.0, covariances alone"
    slider.send_keys(Keys.END)
    assert [browser.text(f"[data-pair='{k}']") for k in (0, 1)] == ["0.00", "0.00"]
    slider.send_keys(Keys.ARROW_LEFT)
    assert browser.text(".alpha-slider output") == "1.8: means and covariances"


def test_phones_get_a_narrow_decision_tree(browser: Browser, site: Path) -> None:
    show(browser, site / "which-metric.html", 390)
    script = "return document.querySelector('picture img').currentSrc"
    assert browser.run(script).endswith("which-metric-narrow.svg")


def test_what_scrolls_is_reached_by_keys_and_the_search_has_a_name(
    browser: Browser, site: Path
) -> None:
    show(browser, site / "evidence" / "benchmarks.html", 390)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    browser.until("return document.querySelectorAll('.md-typeset__scrollwrap').length > 5")
    unreachable = """
      return [...document.querySelectorAll('.md-typeset__scrollwrap, pre > code')]
        .filter((one) => one.scrollWidth > one.clientWidth && one.tabIndex !== 0).length
    """
    browser.until(f"return (() => {{ {unreachable} }})() === 0")
    assert browser.find(".md-search").get_attribute("aria-label") == "Search"


def test_links_in_text_are_underlined(browser: Browser, site: Path) -> None:
    show(browser, site / "index.html")
    script = """
      return [...document.querySelectorAll('.md-typeset p a:not(.headerlink)')]
        .filter((one) => !one.closest('.doors'))
        .map((one) => getComputedStyle(one).textDecorationLine)
    """
    assert set(browser.run(script)) == {"underline"}


def test_search_finds_without_a_server(browser: Browser, site: Path) -> None:
    show(browser, site / "howto" / "vae.html")
    field = browser.find(".md-search__input")
    field.click()
    field.send_keys("triangle")
    browser.until("return document.querySelector('.md-search-result__item') !== null")
    links = browser.all("a.md-search-result__link")
    assert any("analysis.html" in str(link.get_attribute("href")) for link in links)
