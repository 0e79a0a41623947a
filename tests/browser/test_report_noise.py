"""What a report says about noise, trials and conditions, in a real browser."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from browser_support import Browser, rows
from matplotlib import image
from selenium.webdriver.support.ui import Select

import repshape as rs

CONDITIONS = ("cat", "dog", "owl", "zebra")
METRICS = {"means": rs.GaussianShapeMetric(2.0), "mostly noise": rs.GaussianShapeMetric(0.3)}


@pytest.fixture(scope="module")
def cohort() -> rs.Cohort:
    """Nine networks with named conditions, the last of which responds a hundred times as much."""
    rng = np.random.default_rng(0)
    found = rs.Cohort()
    for k in range(9):
        means = 9 * np.eye(4, 3)[:, None] + rng.normal(size=(4, 1, 3))
        parts = [
            (100.0 if k == 8 else 1.0) * (mean + rng.normal(size=(7 + (k == 1), 3)))
            for mean in means
        ]
        found.add(f"net {k}", rs.Trials(parts, conditions=CONDITIONS))
    return found


@pytest.fixture(scope="module")
def matrices(cohort: rs.Cohort) -> dict[str, rs.DistanceMatrix]:
    return rs.pairwise_many(cohort, METRICS)


@pytest.fixture(scope="module")
def noisy(
    cohort: rs.Cohort,
    matrices: dict[str, rs.DistanceMatrix],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    path = tmp_path_factory.mktemp("noise") / "noise.html"
    return rs.write_report(matrices, path, cohort=cohort, max_intervals=1).path


@pytest.fixture
def shown(browser: Browser, noisy: Path) -> Browser:
    browser.resize(1280, 900)
    browser.open(noisy)
    return browser


def sentences(browser: Browser) -> list[str]:
    """Open the three badges of the matrix that is shown, and return what they say."""
    for badge in browser.all(".badge:not([open]) summary"):
        if badge.is_displayed():
            badge.click()
    return [one.text for one in browser.all(".badge p") if one.is_displayed()]


def compare(browser: Browser, i: int, j: int) -> dict[str, str]:
    """Choose a pair and return the numbers beside its picture."""
    for name, k in (("first", i), ("second", j)):
        Select(browser.find(f"#{name}")).select_by_value(str(k))
    browser.frame()
    return dict(rows(browser, "#pair .numbers"))


def test_it_opens_on_the_first_matrix_with_three_sentences(shown: Browser) -> None:
    assert shown.run("return document.querySelector('[name=matrix]:checked').value") == "0"
    first = sentences(shown)
    assert len(first) == 3
    assert "The noise floor is " in first[1]
    assert shown.find("#short-title").rect["y"] < shown.find("#heat").rect["y"]
    shown.all("[name=matrix]")[1].click()
    assert len(sentences(shown)) == 3
    assert sentences(shown) != first


def test_the_parts_add_up_for_the_alpha_shown(shown: Browser) -> None:
    shown.all("[name=matrix]")[1].click()
    numbers = compare(shown, 0, 1)
    whole, means, covariances = (
        float(numbers[key].split()[0])
        for key in ("Squared distance", "\u2003of which means", "\u2003of which covariances")
    )
    assert whole == pytest.approx(float(numbers["Distance"]) ** 2, rel=1e-3)
    assert means + covariances == pytest.approx(whole, rel=1e-3)


def test_a_search_shows_its_proven_lower_bound(shown: Browser) -> None:
    """Three neurons are searched from several starts at alpha = 0.3."""
    shown.all("[name=matrix]")[1].click()
    numbers = compare(shown, 0, 1)
    bound = numbers["Proven lower bound of the minimum"]
    assert re.fullmatch(r"[\d.]+ \(not a confidence limit\)", bound)
    assert float(bound.split()[0]) <= float(numbers["Distance"])
    assert "Gap between distance and bound" in numbers


def test_noise_is_shown_beside_the_distance(
    shown: Browser, cohort: rs.Cohort, matrices: dict[str, rs.DistanceMatrix]
) -> None:
    D = matrices["means"]
    numbers = compare(shown, 0, 1)
    floor = rs.inference.floor(cohort[0], METRICS["means"], y=cohort[1], n_splits=5).estimate
    written, share = re.fullmatch(
        r"([\d.]+) \((\d+) % of the distance\)", numbers["Noise floor"]
    ).groups()  # type: ignore[union-attr]
    assert float(written) == pytest.approx(floor, rel=1e-3)
    assert float(share) == pytest.approx(100 * floor / D.values[0, 1], abs=0.6)
    assert numbers["Trials of a condition"] == "7 | 8"
    assert numbers["Neurons"] == "3 | 3"


@pytest.mark.filterwarnings("ignore::repshape.errors.FewTrialsWarning")
def test_the_nearest_pair_has_an_interval(
    shown: Browser, cohort: rs.Cohort, matrices: dict[str, rs.DistanceMatrix]
) -> None:
    values = matrices["means"].values + 1e9 * np.eye(9)
    i, j = (int(k) for k in np.unravel_index(values.argmin(), values.shape))
    found = rs.inference.distance(cohort[i], cohort[j], METRICS["means"])
    words = compare(shown, i, j)["Corrected for noise"].replace("\u2212", "-")
    estimate, level, low, high = re.fullmatch(
        r"([-\d.]+) \((\d+) % interval ([-\d.]+) to ([-\d.]+)\)", words
    ).groups()  # type: ignore[union-attr]
    assert level == "90"
    assert [float(one) for one in (estimate, low, high)] == pytest.approx(
        [found.estimate, *found.interval], rel=2e-3
    )
    assert "Corrected for noise" not in compare(shown, 0, 8)


@pytest.mark.filterwarnings("ignore::repshape.errors.FewTrialsWarning")
def test_a_corrected_distance_has_no_floor_beside_it(
    browser: Browser, cohort: rs.Cohort, tmp_path: Path
) -> None:
    """The floor is that of the distance before the correction, and so are the parts."""
    three = cohort[["net 0", "net 1", "net 2"]]
    found = rs.inference.matrix(three, METRICS["means"], n_splits=2)
    browser.open(rs.write_report(found.matrix, tmp_path / "a.html", cohort=three).path)
    numbers = compare(browser, 0, 1)
    assert float(numbers["Before the correction"]) == pytest.approx(
        found.plug_in.values[0, 1], rel=1e-3
    )
    assert numbers["Noise floor"].endswith("of the distance before the correction)")
    assert "90 % interval, corrected for noise" in numbers
    squared = float(numbers["Squared distance before the correction"])
    assert squared == pytest.approx(found.plug_in.values[0, 1] ** 2, rel=1e-3)
    assert "noise floor" not in browser.text("#pair-words")
    assert browser.errors() == []


def test_conditions_are_named(shown: Browser) -> None:
    assert rows(shown, "#conditions") == [[name, "7", "7", "8"] for name in CONDITIONS]
    compare(shown, 0, 1)
    shown.run("document.querySelector('[data-save=pair-svg]').click()")
    drawn = ElementTree.fromstring(shown.saved("pair-means.svg"))
    texts = [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert set(CONDITIONS) <= set(texts)


def test_one_far_network_leaves_colours_for_the_others(shown: Browser) -> None:
    shown.run("document.querySelector('[data-save=heat-svg]').click()")
    saved = shown.saved("heat-means.svg").decode()
    assert "≥ " in saved
    png = re.search(r'href="data:image/png;base64,([^"]+)"', saved)
    assert png is not None
    pixels = image.imread(io.BytesIO(base64.b64decode(png[1])), format="png")
    assert pixels.shape[:2] == (9, 9)
    colours = {tuple(one) for one in pixels.reshape(81, -1).tolist()}
    assert (
        len(colours) > 20
    )  # of 28 pairs of the others; one scale for all would leave two or three
    assert shown.errors() == []


def test_tables_show_trials_floors_and_agreement(shown: Browser) -> None:
    def heads(table: str) -> list[str]:
        return shown.run(
            "return [...document.querySelectorAll(`${arguments[0]} thead button`)]"
            ".map((one) => one.textContent)",
            table,
        )

    expected = ["Network", "Neurons", "Trials of a condition", "Trials per dimension", "Norm"]
    assert heads("#networks")[:5] == expected
    assert rows(shown, "#networks")[1][1:4] == ["3", "8", "2.7"]
    assert "Starts that agree" not in heads("#pairs")
    shown.all("[name=matrix]")[1].click()
    assert {"Noise floor", "Corrected for noise", "Starts that agree"} <= set(heads("#pairs"))
    assert "Proven lower bound of the minimum" in heads("#pairs")
    assert shown.errors() == []
