"""The report for every reader: keyboard, screen reader, phone, paper, few and many networks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_support import Browser, rows, says
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import repshape as rs


class TestReach:
    """Keyboard, screen reader, phone."""

    def test_the_keyboard_reaches_everything(self, opened: Browser) -> None:
        wanted = opened.run(
            "return [...document.querySelectorAll("
            "'a[href], button, input, select, summary, canvas[tabindex]')]"
            ".filter((one) => one.offsetParent && !one.disabled"
            " && !(one.type === 'radio' && !one.checked)).length"
        )
        reached: set[Any] = set()
        body = opened.find("body")
        opened.run("document.activeElement.blur()")
        for _ in range(wanted + 25):
            ActionChains(opened.driver, duration=0).send_keys(Keys.TAB).perform()
            active = opened.driver.switch_to.active_element
            if active == body:
                break
            tag = active.tag_name
            if tag in ("a", "button", "input", "select", "summary", "canvas"):
                reached.add(active.id)
        assert len(reached) == wanted

    def test_focus_is_visible(self, opened: Browser) -> None:
        opened.run("document.activeElement.blur()")
        ActionChains(opened.driver, duration=0).send_keys(Keys.TAB).perform()
        active = opened.driver.switch_to.active_element
        assert active.text == "Skip to the figures"
        assert active.value_of_css_property("outline-style") == "solid"

    def test_arrows_walk_over_the_map_and_are_said(self, opened: Browser) -> None:
        canvas = opened.find("#heat")
        canvas.send_keys(Keys.ARROW_RIGHT)
        first = opened.until("return document.getElementById('live').textContent")
        floor = r"\(noise floor [\d.]+\)"
        assert re.fullmatch(rf"net \d\d and net \d\d: distance [\d.]+ {floor}", first)
        canvas.send_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
        opened.until("return document.getElementById('live').textContent !== arguments[0]", first)
        canvas.send_keys(Keys.ENTER)
        says(opened, "Selected: ")
        assert opened.find("#pair-picture").is_displayed()

    def test_arrows_walk_over_the_plane(self, opened: Browser) -> None:
        canvas = opened.find("#plane")
        said = set()
        for key in (Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_UP, Keys.ARROW_LEFT, Keys.ARROW_DOWN):
            opened.run("document.getElementById('live').textContent = ''")
            canvas.send_keys(key)
            said.add(opened.until("return document.getElementById('live').textContent"))
        assert len(said) >= 3

    def test_choosing_a_row_keeps_the_focus(self, opened: Browser) -> None:
        for table in ("#networks", "#pairs"):
            button = opened.all(f"{table} tbody button")[3]
            name = button.text
            button.send_keys(Keys.ENTER)
            says(opened, "Selected: ")
            active = opened.driver.switch_to.active_element
            assert active.text == name
            assert active.get_attribute("aria-pressed") == "true"

    def test_every_control_has_a_name(self, opened: Browser) -> None:
        unnamed = [
            one.get_attribute("outerHTML")
            for one in opened.all("button, input, select, canvas, table")
            if one.is_displayed() and not one.accessible_name
        ]
        assert unnamed == []

    @pytest.mark.parametrize("width", [360, 1280])
    def test_it_fits_the_screen(self, browser: Browser, page: Path, width: int) -> None:
        browser.resize(width, 800)
        browser.open(page)
        browser.run("document.querySelector('#pairs tbody tr').click()")
        browser.frame()
        assert browser.run("return document.documentElement.scrollWidth") <= width
        for canvas in ("#heat", "#plane", "#pair-picture"):
            box = browser.find(canvas).rect
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["width"] > 250

    def test_paper_is_white(self, opened: Browser) -> None:
        opened.media(scheme="dark")
        printed = opened.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})
        assert len(printed["data"]) > 10_000
        assert opened.errors() == []


def compare(browser: Browser, first: str, second: str, words: str) -> None:
    """Choose two networks by name, and check what the page says about the pair."""
    Select(browser.find("#first")).select_by_value(first)
    Select(browser.find("#second")).select_by_value(second)
    browser.frame()
    assert words in browser.text("#pair-words")
    assert browser.errors() == []


class TestIncomplete:
    def test_missing_pairs_are_said(self, browser: Browser, tmp_path: Path) -> None:
        values = np.abs(np.subtract.outer(range(5), range(5))).astype(float)
        values[0, 4] = values[4, 0] = np.nan
        D = rs.DistanceMatrix(values, missing=True)
        browser.open(rs.write_report(D, tmp_path / "part.html").path)
        assert "1 of 10 pairs is not computed yet" in browser.find(".checks").text
        browser.find("#pairs-search").send_keys("0 4")
        browser.until(
            "return document.querySelector('#pairs tbody').textContent.includes('not computed')"
        )
        compare(browser, "0", "4", "0 and 4: not computed yet")


class TestCoinciding:
    def test_rounding_is_shown_as_zero(self, browser: Browser, tmp_path: Path) -> None:
        """A gap of 40 % between two numbers that are both rounding errors would be misleading."""
        values = np.abs(np.subtract.outer([0.0, 1e-16, 1.0, 2.0], [0.0, 1e-16, 1.0, 2.0]))
        bounds = 0.6 * values
        D = rs.DistanceMatrix(values, lower_bounds=bounds)
        browser.open(rs.write_report(D, tmp_path / "near.html").path)
        first, second = (row[2:5] for row in rows(browser, "#pairs")[:2])
        assert first == ["≈ 0", "≈ 0", "–"]
        assert second == ["1.0000", "0.60000", "40 %"]
        compare(browser, "0", "1", "0 and 1: distance ≈ 0")


class TestMany:
    def test_many_networks_are_simplified(self, browser: Browser, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        points = rng.normal(size=(520, 3))
        D = rs.DistanceMatrix(np.linalg.norm(points[:, None] - points[None], axis=-1))
        browser.open(rs.write_report(D, tmp_path / "many.html").path)
        assert "10 nearest neighbours of each network" in browser.find("aside").text
        Select(browser.find("#first")).select_by_value("0")
        Select(browser.find("#second")).select_by_value(str(int(D.values[0].argmax())))
        says(browser, "distance about")
        nearest = int(np.argsort(D.values[0])[1])
        Select(browser.find("#second")).select_by_value(str(nearest))
        says(browser, f"distance {D.values[0, nearest]:.4f}"[:12])
        assert browser.errors() == []
