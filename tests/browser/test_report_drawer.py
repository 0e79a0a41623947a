"""The drawer of pairs, the address of a view, the lasso, the legend and the search."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser_support import Browser, picked, rows, says
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

import repshape as rs


def is_in_view(browser: Browser, selector: str) -> bool:
    """Whether the top of an element and some of its height are on the screen."""
    return bool(
        browser.run(
            "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
            "return box.top >= 0 && box.top + Math.min(box.height, 150) <= innerHeight",
            selector,
        )
    )


def drag(browser: Browser, corners: list[tuple[int, int]]) -> None:
    """Draw a polygon on the embedding, by offsets from its middle."""
    canvas = browser.find("#plane")
    browser.run("arguments[0].scrollIntoView({block: 'center'})", canvas)
    chain = ActionChains(browser.driver, duration=20)
    chain.move_to_element_with_offset(canvas, *corners[0]).click_and_hold()
    for corner in corners[1:]:
        chain.move_to_element_with_offset(canvas, *corner)
    chain.release().perform()


class TestDrawer:
    def test_a_telling_pair_is_shown_at_first(self, opened: Browser, page: Path) -> None:
        """Networks of different areas, and no such pair is nearer."""
        assert opened.text("#pair-why") == "Nearest pair of different groups by 'area'"
        names = re.findall(r"net \d\d", opened.text("#pair-words"))
        areas = [int(name[-2:]) % 3 for name in names]
        assert areas[0] != areas[1]
        distances = opened.run(
            "return [...document.querySelectorAll('#pairs tbody tr')]"
            ".map((row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent))"
        )
        across = [row for row in distances if (int(row[0][-2:]) - int(row[1][-2:])) % 3]
        assert across[0][:2] == names

    @pytest.mark.parametrize(("width", "height"), [(1366, 768), (1440, 900)])
    def test_it_stays_in_view(self, opened: Browser, width: int, height: int) -> None:
        opened.resize(width, height)
        opened.frame()
        assert is_in_view(opened, "#pair-picture")
        assert is_in_view(opened, "#plane")
        assert is_in_view(opened, "#heat")
        opened.find("#networks-title").location_once_scrolled_into_view  # noqa: B018
        opened.frame()
        assert is_in_view(opened, "#pair-title")
        assert is_in_view(opened, "#pair-picture")

    def test_one_network_is_shown_with_its_nearest_neighbour(self, opened: Browser) -> None:
        opened.find("#plane").send_keys(Keys.HOME, Keys.ENTER)
        says(opened, "Selected: net 00")
        opened.frame()
        row = next(row for row in rows(opened, "#networks") if row[0] == "net 00")
        near = next(cell for cell in row[1:] if cell.startswith("net "))
        assert opened.text("#pair-words").startswith(f"net 00 and {near}: distance")

    def test_the_slider_turns_one_network_into_register(self, opened: Browser) -> None:
        after = opened.pixels("#pair-picture")
        slide = opened.find("#slide")
        assert slide.get_attribute("value") == "100"
        slide.send_keys(Keys.HOME)
        before = opened.pixels("#pair-picture")
        assert before != after
        slide.send_keys(*[Keys.ARROW_RIGHT] * 30)
        assert opened.pixels("#pair-picture") not in (before, after)
        slide.send_keys(Keys.END)
        assert opened.pixels("#pair-picture") == after

    def test_on_a_phone_it_is_a_sheet_that_opens(self, browser: Browser, page: Path) -> None:
        browser.resize(390, 844)
        browser.open(page)
        assert browser.find("#pair-words").is_displayed()
        assert browser.run(
            "const { scrollHeight, clientHeight } = document.getElementById('pair-words');"
            "return scrollHeight <= clientHeight + 1"
        )  # the distance at its end is not cut
        assert not browser.find("#pair-picture").is_displayed()
        toggle = browser.find("#drawer-toggle")
        toggle.click()
        assert toggle.get_attribute("aria-expanded") == "true"
        assert browser.find("#pair-picture").is_displayed()
        toggle.click()
        assert not browser.find("#pair-picture").is_displayed()


class TestAddress:
    def test_back_undoes_a_choice_and_stays_on_the_page(self, opened: Browser, page: Path) -> None:
        first = opened.text("#pair-words")
        opened.run("document.querySelectorAll('#pairs tbody tr')[4].click()")
        opened.frame()
        second = opened.text("#pair-words")
        assert second != first
        opened.run("document.querySelectorAll('[name=matrix]')[1].click()")
        opened.frame()
        opened.driver.back()
        opened.until("return document.querySelector('[name=matrix]').checked")
        opened.frame()
        assert opened.text("#pair-words") == second
        opened.driver.back()
        opened.until(
            "return document.getElementById('pair-words').textContent === arguments[0]", first
        )
        assert opened.driver.current_url.startswith(page.as_uri())

    def test_a_link_opens_the_same_view(self, opened: Browser) -> None:
        opened.run("document.querySelectorAll('[name=matrix]')[2].click()")
        opened.run("document.querySelectorAll('#pairs tbody tr')[7].click()")
        opened.frame()
        words, link = opened.text("#pair-words"), opened.driver.current_url
        opened.driver.get("about:blank")
        opened.driver.get(link)
        opened.until("return document.documentElement.dataset.ready === 'true'")
        opened.frame()
        assert opened.text("#pair-words") == words
        assert opened.run("return document.querySelector('[name=matrix]:checked').value") == "2"

    @pytest.mark.parametrize("hash_", ["m=99&c=-7&s=1.999.x&h=5", "m=&s=..", "nowhere", "m=1&o=7"])
    def test_a_wrong_link_does_no_harm(self, browser: Browser, page: Path, hash_: str) -> None:
        browser.open(page)
        browser.driver.get("about:blank")
        browser.driver.get(f"{page.as_uri()}#{hash_}")
        browser.until("return document.documentElement.dataset.ready === 'true'")
        assert browser.errors() == []
        assert browser.find("#pair-picture").is_displayed()


class TestMarking:
    def test_a_lasso_selects_what_is_inside(self, opened: Browser) -> None:
        drag(opened, [(-200, -150), (150, -150), (150, 150), (-200, 150), (-200, -145)])
        says(opened, "networks selected.")
        count = int(re.match(r"\d+", opened.text("#live")).group())  # type: ignore[union-attr]
        assert count >= 12
        drag(opened, [(-3, -3), (9, -3), (9, 9), (-3, 9), (-3, -2)])
        says(opened, "network")
        assert len(opened.run("return location.hash.match(/s=([^&]*)/)[1]").split(".")) < count

    def test_the_legend_hides_groups(self, opened: Browser) -> None:
        before = opened.pixels("#plane"), opened.pixels("#heat")
        buttons = opened.all("#legend button")
        assert [one.text for one in buttons] == ["AL", "LM", "V1"]
        buttons[1].click()
        opened.frame()
        assert opened.all("#legend button")[1].get_attribute("aria-pressed") == "false"
        assert opened.pixels("#plane") != before[0]
        assert opened.pixels("#heat") != before[1]
        assert {row[1] for row in rows(opened, "#networks")} == {"AL", "V1"}
        opened.all("#legend button")[1].click()
        assert (opened.pixels("#plane"), opened.pixels("#heat")) == before

    def test_the_search_marks_points_and_rows(self, opened: Browser) -> None:
        before = opened.pixels("#plane"), opened.pixels("#heat")
        opened.find("#find").send_keys("net 07")
        says(opened, "1 network found.")
        assert [row[0] for row in rows(opened, "#networks")] == ["net 07"]
        assert opened.pixels("#plane") != before[0]
        assert opened.pixels("#heat") != before[1]
        assert opened.find("#networks-search").get_attribute("value") == "net 07"
        assert picked(opened, "#networks") == []

    def test_names_appear_on_zoom(self, opened: Browser) -> None:
        before = opened.pixels("#plane")
        opened.find("#zoom-in").click()
        zoomed = opened.pixels("#plane")
        assert zoomed != before
        opened.find("#plane").send_keys("0")
        opened.run("document.activeElement.blur()")
        assert opened.pixels("#plane") == before


def test_print_takes_two_pages(opened: Browser, page: Path, tmp_path: Path) -> None:
    printed = opened.driver.execute_cdp_cmd(
        "Page.printToPDF", {"printBackground": True, "preferCSSPageSize": False}
    )
    content = base64.b64decode(printed["data"])
    pages = re.findall(rb"/Type\s*/Page[^s]", content)
    assert 1 <= len(pages) <= 2
    assert io.BytesIO(content).read(5) == b"%PDF-"


def test_names_end_in_what_distinguishes_them(browser: Browser, tmp_path: Path) -> None:
    """Long names that share their beginning differ on a phone."""
    labels = [f"dsprites-trained-with-objective-beta-{k}-{k + 3}" for k in range(6)]
    points = np.arange(6.0) ** 1.3
    D = rs.DistanceMatrix(np.abs(np.subtract.outer(points, points)), labels)
    browser.resize(390, 844)
    browser.open(rs.write_report(D, tmp_path / "names.html").path)
    browser.run("document.querySelector('[data-save=heat-svg]').click()")
    (saved,) = browser.until_saved("heat-*.svg")[:1]
    text = saved.read_text(encoding="utf-8")
    assert all(f"…{k}-{k + 3}<" in text for k in range(6))
    names = [row[0] for row in rows(browser, "#networks")]
    assert [one[-3:] for one in names] == [f"{k}-{k + 3}" for k in range(6)]
    assert max(map(len, names)) <= 15
    assert browser.run(
        "return [...document.querySelectorAll('#networks .pickone')]"
        ".every((one) => one.scrollWidth <= one.clientWidth)"
    )


def test_what_is_not_known_has_no_column_and_no_card(browser: Browser, tmp_path: Path) -> None:
    """Distances alone: nothing of the search, and nothing to predict."""
    points = np.arange(6.0) ** 1.3
    D = rs.DistanceMatrix(np.abs(np.subtract.outer(points, points)))
    browser.open(rs.write_report(D, tmp_path / "bare.html").path)
    heads = [one.text for one in browser.all("#pairs thead button")]
    assert heads == ["First", "Second", "Distance"]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not browser.find("#knn-title").is_displayed()
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


class TestPrint:
    """The finding is on the first page, and nothing is empty or cut."""

    @pytest.fixture
    def printed(self, browser: Browser, page: Path) -> Iterator[Browser]:
        browser.resize(725, 1030)
        browser.open(page)
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        browser.run("window.dispatchEvent(new Event('beforeprint'))")
        browser.frame()
        yield browser
        browser.run("window.dispatchEvent(new Event('afterprint'))")
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    def test_the_pair_is_on_the_first_page(self, printed: Browser) -> None:
        bottoms = printed.run(
            "return ['#plane', '#heat', '#pair-picture', '#pair-numbers'].map((one) => "
            "document.querySelector(one).getBoundingClientRect()).map((box) => "
            "[box.height, box.bottom + scrollY])"
        )
        assert all(height > 60 for height, _ in bottoms)
        assert max(bottom for _, bottom in bottoms) < 1030

    def test_no_number_or_verdict_is_cut(self, printed: Browser) -> None:
        cut = printed.run(
            "return [...document.querySelectorAll('.num, .verdict, .numbers td')]"
            ".filter((one) => one.offsetParent && one.scrollWidth > one.clientWidth + 1)"
            ".map((one) => one.textContent)"
        )
        assert cut == []
        lines = printed.run(
            "return [...document.querySelectorAll('.verdict')].filter((one) => one.offsetParent)"
            ".map((one) => one.getClientRects().length)"
        )
        assert set(lines) == {1}


def test_the_cursor_does_not_stay_when_the_matrix_changes(opened: Browser) -> None:
    """Neither its square nor what it pointed at is drawn over another matrix."""
    switch = "document.querySelectorAll('[name=matrix]')[arguments[0]].click()"
    opened.run(switch, 1)
    clean = opened.pixels("#heat")
    opened.run(switch, 0)
    opened.find("#heat").send_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    marked = opened.pixels("#heat")
    opened.run(switch, 1)
    assert opened.pixels("#heat") == clean != marked


def test_scores_of_predictions_are_not_cut_on_a_phone(browser: Browser, page: Path) -> None:
    """A good score is at the right end of its picture."""
    browser.resize(390, 844)
    browser.open(page)
    room = browser.run(
        "return [...document.querySelectorAll('.dots')].filter((one) => one.clientWidth)"
        ".map((one) => one.parentElement.getBoundingClientRect().right"
        " - one.getBoundingClientRect().right)"
    )
    assert room
    assert min(room) >= 0


def test_rows_of_predictions_are_those_of_the_matrix(opened: Browser) -> None:
    """Each column once, whatever the number of matrices."""
    shown = [table for table in opened.all(".knn") if table.is_displayed()]
    assert len(shown) == 1
    names = [row.text for row in shown[0].find_elements("css selector", "tbody th")]
    assert sorted(names) == ["area", "depth"]
    opened.run("document.querySelectorAll('[name=matrix]')[1].click()")
    assert [table.is_displayed() for table in opened.all(".knn")] == [False, True, False]
