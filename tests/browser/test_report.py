"""The report in a real browser: it loads nothing, and everything on it works."""

from __future__ import annotations

import csv
import io
import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from browser_support import Browser, picked, rows, says
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import repshape as rs

HOSTILE = (
    "<script>window.hurt = 1</script>",
    "</script><script>window.hurt = 2</script>",
    "\"'><img src=x onerror=window.hurt=3>",
    "\u202etxet desrever\u2066",
    "x" * 10_000,
    "javascript:window.hurt=4",
    "{{ 7 * 7 }}${7 * 7}",
    '=1+1,"quoted"\nline',
)


class TestLoading:
    def test_no_error_and_no_request(self, opened: Browser, page: Path) -> None:
        opened.find("#pairs tbody tr").click()
        opened.frame()
        asked = opened.requests()
        assert asked[0] == page.as_uri()
        assert [url for url in asked[1:] if not url.startswith(("data:", "blob:"))] == []
        assert opened.errors() == []

    def test_a_request_would_be_seen_and_refused(self, opened: Browser) -> None:
        """The two checks above could fail: the policy stops even a script of ours."""
        opened.requests()
        opened.run(
            "const i = new Image(); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i)"
        )
        opened.until("return document.images.length === 1")
        opened.frame()
        assert any("Content Security Policy" in one for one in opened.errors())

    def test_it_says_what_was_measured(self, opened: Browser) -> None:
        opened.run("document.querySelectorAll('.badge').forEach((one) => (one.open = true))")
        shown = [part for part in opened.all(".matrix-part") if part.is_displayed()]
        assert len(shown) == 4  # the headline, what was measured, what was checked, and predictions
        assert "no triangle inequality is violated" in shown[0].text
        assert "Gaussian shape distance at α = 0" in shown[1].text
        assert "ignores rotations and reflections of the neurons" in shown[1].text
        assert "seed 0" in shown[1].text
        assert "triangle inequalities is violated" in shown[2].text


class TestSelection:
    def test_a_point_highlights_its_row_and_its_lines(self, opened: Browser) -> None:
        before = opened.pixels("#heat"), opened.pixels("#plane")
        canvas = opened.find("#plane")
        canvas.send_keys(Keys.HOME, Keys.ENTER)
        says(opened, "Selected: net 00")
        assert picked(opened, "#networks") == ["net 00"]
        assert opened.text("#chosen").startswith("net 00")
        assert opened.pixels("#heat") != before[0]
        assert opened.pixels("#plane") != before[1]
        canvas.send_keys(Keys.ESCAPE)
        says(opened, "Nothing is selected")
        assert picked(opened, "#networks") == []

    def test_a_click_on_a_point_selects_what_the_tip_names(self, opened: Browser) -> None:
        canvas = opened.find("#plane")
        opened.run("arguments[0].scrollIntoView({block: 'center'})", canvas)
        box = canvas.rect
        label = ""
        for x, y in ((dx, dy) for dx in range(-200, 201, 25) for dy in range(-200, 161, 25)):
            ActionChains(opened.driver, duration=0).move_to_element_with_offset(
                canvas, x, y
            ).perform()
            if opened.find("#tip").is_displayed():
                label = opened.text("#tip div")
                break
        assert label, box
        ActionChains(opened.driver, duration=0).click().perform()
        opened.until("return document.querySelectorAll('#networks tr.picked').length === 1")
        assert picked(opened, "#networks") == [label]

    def test_hovering_the_map_marks_both_networks_in_the_plane(self, opened: Browser) -> None:
        before = opened.pixels("#plane")
        canvas = opened.find("#heat")
        opened.run("arguments[0].scrollIntoView({block: 'center'})", canvas)
        ActionChains(opened.driver, duration=0).move_to_element_with_offset(
            canvas, 60, -80
        ).perform()
        opened.until("return !document.getElementById('tip').hidden")
        lines = opened.find("#tip").text.split("\n")
        assert len(lines) == 3
        assert lines[2].startswith("distance ")
        assert opened.pixels("#plane") != before

    def test_a_square_of_the_map_compares_its_pair(self, opened: Browser) -> None:
        canvas = opened.find("#heat")
        opened.run("arguments[0].scrollIntoView({block: 'center'})", canvas)
        ActionChains(opened.driver, duration=0).move_to_element_with_offset(
            canvas, 60, -80
        ).click().perform()
        says(opened, "Selected: net")
        assert len(picked(opened, "#networks")) == 2
        assert opened.find("#pair-picture").is_displayed()

    def test_a_row_of_pairs_is_drawn_before_and_after(self, opened: Browser) -> None:
        first = opened.find("#pairs tbody tr")
        names = [cell.text for cell in first.find_elements("css selector", "th, td")[:3]]
        first.click()
        says(opened, f"Selected: {names[0]} and {names[1]}: distance")
        numbers = dict(
            opened.run(
                "return [...document.querySelectorAll('#pair-numbers tr')]"
                ".map((row) => [...row.cells].map((cell) => cell.textContent))"
            )
        )
        assert numbers["Distance"] == names[2]
        # With two neurons all alignments are searched, so that a bound says nothing more.
        assert not {"Proven lower bound of the minimum", "Gap between distance and bound"} & set(
            numbers
        )
        assert {"Solver", "Trials of a condition"} <= set(numbers)
        assert opened.find("#pair-picture").is_displayed()
        assert re.search(r"each ellipse .* standard deviation", opened.text("#pair-note"))
        shown = opened.pixels("#pair-picture")
        opened.all("#pairs tbody tr")[5].click()
        assert opened.pixels("#pair-picture") != shown

    def test_ellipses_can_be_smaller(self, opened: Browser) -> None:
        opened.find("#pairs tbody tr").click()
        seen = set()
        for size, words in (("1", "one standard"), ("0.25", "a quarter of a standard"), ("0", "")):
            Select(opened.find("#ellipses")).select_by_value(size)
            seen.add(opened.pixels("#pair-picture"))
            assert ("ellipse" in opened.text("#pair-note")) == bool(words)
            assert words in opened.text("#pair-note")
        assert len(seen) == 3

    def test_two_lists_choose_a_pair(self, opened: Browser) -> None:
        Select(opened.find("#first")).select_by_visible_text("net 03")
        Select(opened.find("#second")).select_by_visible_text("net 20")
        says(opened, "Selected: net 03 and net 20")
        assert picked(opened, "#networks") == ["net 03"]  # net 20 is on the next page


class TestControls:
    def test_colour_by_changes_plane_and_map(self, opened: Browser) -> None:
        seen = {(opened.pixels("#plane"), opened.pixels("#heat"))}
        for name in ("depth", "nothing"):
            Select(opened.find("#colour")).select_by_visible_text(name)
            seen.add((opened.pixels("#plane"), opened.pixels("#heat")))
        assert len(seen) == 3

    def test_order_changes_the_map_alone(self, opened: Browser) -> None:
        plane, heat = opened.pixels("#plane"), opened.pixels("#heat")
        Select(opened.find("#order")).select_by_visible_text("area")
        assert opened.pixels("#plane") == plane
        assert opened.pixels("#heat") != heat

    def test_the_switch_shows_another_matrix(self, opened: Browser) -> None:
        before = opened.pixels("#plane"), rows(opened, "#pairs")
        opened.run("document.querySelectorAll('[name=matrix]')[2].click()")
        says(opened, "Energy, q = 1")
        assert opened.pixels("#plane") != before[0]
        assert rows(opened, "#pairs") != before[1]
        shown = [part.text for part in opened.all(".matrix-part") if part.is_displayed()]
        assert shown[0].startswith("Energy, q = 1")

    def test_points_walk_unless_the_reader_wants_calm(self, browser: Browser, page: Path) -> None:
        """Between two matrices there are pictures of neither; reduced motion has none."""
        count = """
            const done = arguments[1], seen = new Set(), canvas = document.getElementById('plane');
            document.querySelectorAll('[name=matrix]')[arguments[0]].click();
            const started = performance.now();
            const look = () => {
              seen.add(canvas.toDataURL());
              if (performance.now() - started > 900) done(seen.size);
              else requestAnimationFrame(look);
            };
            requestAnimationFrame(look);
        """
        browser.open(page, calm=False)
        walk = browser.driver.execute_async_script
        # A busy machine may draw no picture in between: five attempts.
        assert any(walk(count, k) > 3 for k in (1, 0, 1, 0, 1))
        browser.open(page, calm=True)
        assert walk(count, 1) <= 2

    def test_the_theme_can_be_chosen(self, opened: Browser) -> None:
        back = "return getComputedStyle(document.body).backgroundColor"
        light = opened.run(back)
        button = opened.find("#theme")
        button.click()
        button.click()
        assert button.text == "Theme: dark"
        assert opened.run(back) != light
        button.click()
        opened.media(scheme="dark")
        assert opened.run(back) != light


class TestTables:
    def test_sorting_goes_both_ways(self, opened: Browser) -> None:
        header = opened.all("#pairs thead th")[2]
        assert header.get_attribute("aria-sort") == "ascending"
        smallest = [float(row[2]) for row in rows(opened, "#pairs")]
        assert smallest == sorted(smallest)
        header.find_element("css selector", "button").click()
        assert header.get_attribute("aria-sort") == "descending"
        largest = [float(row[2]) for row in rows(opened, "#pairs")]
        assert largest == sorted(largest, reverse=True)
        assert largest[-1] > smallest[-1]

    def test_search_finds_pairs_of_two_names(self, opened: Browser) -> None:
        opened.find("#pairs-search").send_keys("03 20")
        opened.until("return document.querySelector('#pairs-pager').textContent.includes('1 row,')")
        ((first, second, *_),) = rows(opened, "#pairs")
        assert (first, second) == ("net 03", "net 20")
        opened.find("#pairs-search").send_keys("zz")
        opened.until("return document.querySelector('#pairs-pager').textContent.includes('0 rows')")
        assert rows(opened, "#pairs") == [["No matching pairs."]]

    def test_search_finds_networks_by_metadata(self, opened: Browser) -> None:
        opened.find("#networks-search").send_keys("LM")
        opened.until(
            "return document.querySelector('#networks-pager').textContent.includes('8 rows')"
        )
        assert {row[1] for row in rows(opened, "#networks")} == {"LM"}

    def test_pages_turn(self, opened: Browser) -> None:
        first = rows(opened, "#pairs")
        back, turn = opened.all("#pairs-pager button")
        assert not back.is_enabled()
        turn.click()
        assert "page 2 of 14" in opened.text("#pairs-pager")
        assert not {tuple(row) for row in first} & {tuple(row) for row in rows(opened, "#pairs")}

    def test_pairs_of_selected_networks_alone(self, opened: Browser) -> None:
        opened.find("#networks tbody tr[data-row='4']").click()
        opened.find("#pairs-selected").click()
        opened.until(
            "return document.querySelector('#pairs-pager').textContent.includes('23 rows')"
        )
        assert all("net 04" in row[:2] for row in rows(opened, "#pairs"))


class TestDownloads:
    @pytest.mark.parametrize("what", ["heat", "plane", "pair", "curve"])
    def test_pictures(self, opened: Browser, what: str) -> None:
        opened.find("#pairs tbody tr").click()
        opened.frame()  # the pair is drawn in the next one
        for kind in ("png", "svg"):
            opened.run(f"document.querySelector('[data-save={what}-{kind}]').click()")
        png = opened.saved(f"{what}-Gaussian-α-0.png")
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = struct.unpack(">II", png[16:24])
        assert min(width, height) > 600
        svg = ElementTree.fromstring(opened.saved(f"{what}-Gaussian-α-0.svg"))
        assert svg.tag.endswith("svg")
        assert len(list(svg.iter())) > 20
        for kind in ("png", "svg"):
            (opened.downloads / f"{what}-Gaussian-α-0.{kind}").unlink()

    def test_tables_hold_every_digit(self, opened: Browser, page: Path) -> None:
        for what in ("heat", "pairs", "plane", "networks"):
            opened.run(f"document.querySelector('[data-save={what}-csv]').click()")
        square = opened.downloads / "heat-Gaussian-α-0.csv"
        opened.saved(square.name)
        D = rs.DistanceMatrix.load(square)
        assert len(D) == 24
        pairs = pd.read_csv(io.BytesIO(opened.saved("pairs-Gaussian-α-0.csv")))
        assert len(pairs) == 276
        assert sorted(pairs["distance"]) == sorted(D.condensed())
        assert (pairs["lower_bound"] <= pairs["distance"]).all()
        plane = pd.read_csv(io.BytesIO(opened.saved("plane-Gaussian-α-0.csv")), index_col=0)
        assert plane.columns.tolist() == ["x0", "x1", "area", "depth"]
        assert np.isfinite(plane[["x0", "x1"]].to_numpy()).all()
        networks = list(
            csv.DictReader(io.StringIO(opened.saved("networks-Gaussian-α-0.csv").decode()))
        )
        nearest = [D.values[k][np.arange(24) != k].min() for k in range(24)]
        assert [float(row["distance"]) for row in networks] == nearest


class TestHostileText:
    @pytest.fixture
    def hostile(self, browser: Browser, tmp_path: Path) -> Browser:
        count = len(HOSTILE)
        values = np.abs(np.subtract.outer(range(count), range(count))).astype(float)
        frame = pd.DataFrame(dict.fromkeys(HOSTILE, HOSTILE))
        D = rs.DistanceMatrix(
            values,
            HOSTILE,
            frame,
            description={"metric": HOSTILE[0], "parameters": {"a": HOSTILE[1]}},
        )
        found = rs.write_report({HOSTILE[2]: D}, tmp_path / "hostile.html", title=HOSTILE[0])
        browser.open(found.path)
        return browser

    def test_it_does_nothing(self, hostile: Browser) -> None:
        hostile.find("#pairs tbody tr").click()
        for value in range(len(HOSTILE)):
            Select(hostile.find("#colour")).select_by_value(str(value))
            Select(hostile.find("#order")).select_by_value(str(value))
            hostile.frame()
        hostile.find("#plane").send_keys(Keys.HOME, Keys.ENTER, Keys.ARROW_RIGHT)
        hostile.run("document.querySelector('[data-save=plane-svg]').click()")
        saved = next(iter(hostile.until_saved("plane-*.svg")))
        assert "<script" not in saved.read_text(encoding="utf-8")
        ElementTree.parse(saved)
        assert hostile.run("return window.hurt ?? null") is None
        assert hostile.run("return document.images.length") == 0
        assert hostile.run("return document.scripts.length") == 2
        assert hostile.errors() == []
        assert hostile.requests()[1:] == [
            u for u in hostile.requests()[1:] if u.startswith("data:")
        ]

    def test_it_is_shown_as_it_is(self, hostile: Browser) -> None:
        names = [row[0] for row in rows(hostile, "#networks")]
        assert names[0] == HOSTILE[0]
        assert names[3].startswith("□txet")  # what turns the direction is a box
        assert len(names[4]) <= 60
        assert hostile.run("return document.documentElement.scrollWidth <= innerWidth")
