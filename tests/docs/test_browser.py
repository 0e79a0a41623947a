"""The site as a reader of a copy on a disk sees it, in a real browser."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver")

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="Chromium is not installed")
ARGUMENTS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update"
)
LOCAL = ("file:", "data:", "blob:", "about:", "chrome:")
PAGES = ("index.html", "maths.html", "netrep.html", "reference/metrics.html")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ARGUMENTS.split():
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


def opened(browser: Any, path: Path, width: int) -> Any:
    browser.set_window_size(width, 900)
    browser.get(path.as_uri())
    return browser


def requests(browser: Any) -> list[str]:
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        str(event["params"]["request"]["url"])
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]


@pytest.mark.parametrize("name", PAGES)
def test_page_asks_nobody_and_logs_nothing(browser: Any, site: Path, name: str) -> None:
    opened(browser, site / name, 1280)
    assert [url for url in requests(browser) if not url.startswith(LOCAL)] == []
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []


@pytest.mark.parametrize("width", [500, 1280])  # 500 is the narrowest window of Chromium
@pytest.mark.parametrize("name", PAGES)
def test_page_is_no_wider_than_its_window(browser: Any, site: Path, name: str, width: int) -> None:
    """Wide tables and formulas scroll by themselves."""
    opened(browser, site / name, width)
    overflow = "return document.documentElement.scrollWidth - window.innerWidth"
    assert browser.execute_script(overflow) <= 0


def test_formulas_have_a_size(browser: Any, site: Path) -> None:
    opened(browser, site / "maths.html", 1280)
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().height)"
    )
    assert len(sizes) > 40
    assert min(sizes) > 5


def test_search_finds_without_a_server(browser: Any, site: Path) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    opened(browser, site / "howto" / "vae.html", 1280)
    field = browser.find_element("css selector", ".md-search__input")
    field.click()
    field.send_keys("triangle")
    WebDriverWait(browser, 20).until(
        lambda b: b.find_elements("css selector", ".md-search-result__item")
    )
    links = browser.find_elements("css selector", "a.md-search-result__link")
    assert any("analysis.html" in str(link.get_attribute("href")) for link in links)
