"""A headless browser with the actions that the tests need."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

SECONDS = 30


@dataclass
class Browser:
    """A driver with the actions that the tests need."""

    driver: webdriver.Chrome
    downloads: Path

    def open(self, page: Path, *, calm: bool = True) -> None:
        """Open a page and wait until it is ready."""
        self.media(reduced="reduce" if calm else "no-preference")
        self.logs("performance")
        self.logs("browser")
        self.driver.get(page.as_uri())
        self.until("return document.documentElement.dataset.ready === 'true'")

    def media(self, *, reduced: str = "reduce", scheme: str = "light") -> None:
        """Emulate the preferences of a reader."""
        features = [("prefers-reduced-motion", reduced), ("prefers-color-scheme", scheme)]
        listed = [{"name": name, "value": value} for name, value in features]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": listed})

    def resize(self, width: int, height: int) -> None:
        """Emulate a screen of the given size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page; the page's own policy does not bind it."""
        return self.driver.execute_script(script, *arguments)  # type: ignore[no-untyped-call]

    def until(self, script: str, *arguments: Any) -> Any:
        """Wait until a script returns something true."""
        return WebDriverWait(self.driver, SECONDS, 0.02).until(
            lambda _: self.run(script, *arguments)
        )

    def find(self, selector: str) -> Any:
        """Return an element."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[Any]:
        """Return all elements."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        """Return the text of an element, whether it is visible or not."""
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def pixels(self, canvas: str) -> str:
        """Return the content of a canvas as text, for comparison."""
        self.frame()
        return str(self.run("return document.querySelector(arguments[0]).toDataURL()", canvas))

    def frame(self) -> None:
        """Let two frames pass, so that what was scheduled is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
        )

    def logs(self, kind: str) -> list[dict[str, Any]]:
        """Return what was logged since the last call."""
        return list(self.driver.get_log(kind))

    def errors(self) -> list[str]:
        """Return the errors and warnings of the page since it was opened."""
        return [one["message"] for one in self.logs("browser")]

    def requests(self) -> list[str]:
        """Return the addresses of all requests since the page was opened."""
        messages = [json.loads(one["message"])["message"] for one in self.logs("performance")]
        sent = [one for one in messages if one["method"] == "Network.requestWillBeSent"]
        return [str(one["params"]["request"]["url"]) for one in sent]

    def saved(self, name: str) -> bytes:
        """Wait for a download and return its bytes."""
        target = self.downloads / name
        WebDriverWait(self.driver, SECONDS, 0.02).until(
            lambda _: target.exists() and target.stat().st_size > 0
        )
        return target.read_bytes()

    def until_saved(self, pattern: str) -> list[Path]:
        """Wait for downloads of such a name."""
        found: list[Path] = WebDriverWait(self.driver, SECONDS, 0.02).until(
            lambda _: [one for one in self.downloads.glob(pattern) if one.stat().st_size]
        )
        return found


def says(browser: Browser, words: str) -> None:
    browser.until(
        "return document.getElementById('live').textContent.includes(arguments[0])", words
    )


def rows(browser: Browser, table: str) -> list[list[str]]:
    return browser.run(
        "return [...document.querySelectorAll(`${arguments[0]} tbody tr`)]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))",
        table,
    )


def picked(browser: Browser, table: str) -> list[str]:
    return browser.run(
        "return [...document.querySelectorAll(`${arguments[0]} tr.picked`)]"
        ".map((row) => row.cells[0].textContent)",
        table,
    )
