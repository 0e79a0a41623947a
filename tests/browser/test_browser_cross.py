"""The page about two sets of networks in a browser: keyboard, names, phone, theme and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from browser_support import Browser, says
from selenium.webdriver.common.keys import Keys

import repshape as rs


@pytest.fixture(scope="module")
def cross_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    population, other = rng.normal(size=(2, 8, 2))
    brains = {f"mouse {k}": population[:, None] + rng.normal(size=(8, 16, 2)) for k in range(3)}
    found = rs.inference.models(
        brains,
        {"right": population, "wrong": other},
        rs.GaussianShapeMetric(2.0),
        n_chance=9,
        progress=False,
    )
    return rs.write_report(found, tmp_path_factory.mktemp("cross") / "models.html").path


def test_arrows_walk_over_the_map_and_are_said(browser: Browser, cross_page: Path) -> None:
    browser.resize(1280, 900)
    browser.open(cross_page)
    canvas = browser.find("#cross")
    canvas.send_keys(Keys.ARROW_RIGHT)
    says(browser, "mouse 0 and wrong: distance ")
    canvas.send_keys(Keys.ARROW_DOWN, Keys.HOME, Keys.ENTER)
    says(browser, "Kept: mouse 1 and right: distance ")
    assert browser.text("#cross-words").endswith("the nearest of the row")
    canvas.send_keys(Keys.ESCAPE)
    says(browser, "No pair is kept.")
    assert browser.text("#cross-words") == ""
    assert browser.errors() == []
    assert browser.requests() == [cross_page.as_uri()]


def test_every_control_has_a_name(browser: Browser, cross_page: Path) -> None:
    browser.resize(1280, 900)
    browser.open(cross_page)
    shown = [one for one in browser.all("button, canvas, table") if one.is_displayed()]
    assert len(shown) >= 10
    assert [one.get_attribute("outerHTML") for one in shown if not one.accessible_name] == []


@pytest.mark.parametrize("width", [390, 1400])
def test_it_fits_the_screen(browser: Browser, cross_page: Path, width: int) -> None:
    browser.resize(width, 900)
    browser.open(cross_page)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    for canvas in ("#cross", "#models"):
        box = browser.find(canvas).rect
        assert box["x"] + box["width"] <= width
        assert box["width"] > 250


def test_files_and_theme(browser: Browser, cross_page: Path) -> None:
    browser.resize(1280, 900)
    browser.open(cross_page)
    before = browser.pixels("#models")
    for _ in range(2):  # auto, light, dark
        browser.find("#theme").click()
    assert browser.pixels("#models") != before
    for what in ("cross", "models"):
        for kind in ("csv", "svg", "png"):
            browser.find(f"[data-save={what}-{kind}]").click()
            assert browser.until_saved(f"{what}-Gaussian*.{kind}")
    (table,) = browser.until_saved("cross-Gaussian*.csv")
    assert table.read_text().splitlines()[0] == ",right,wrong"
    assert browser.errors() == []
