"""A headless browser, and pages for it to open.

Tests are skipped where there is no Chrome or Chromium, unless REPSHAPE_BROWSER says that there must
be one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser_support import SECONDS, Browser
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

import repshape as rs

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # a sandbox cannot be had as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


# Chrome on the machines of GitHub, where the driver is Chrome's; Chromium elsewhere.
PROGRAMS = (
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "chromium",
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    driver = shutil.which("chromedriver")
    if (program is None or driver is None) and not os.environ.get("REPSHAPE_BROWSER"):
        pytest.skip("needs Chrome or Chromium, and chromedriver")
    downloads = tmp_path_factory.mktemp("downloads")
    options = webdriver.ChromeOptions()
    options.binary_location = program or "chromium"
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    several = "profile.default_content_setting_values.automatic_downloads"  # without asking
    options.add_experimental_option(
        "prefs", {"download.default_directory": str(downloads), several: 1}
    )
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver or "chromedriver"))
    chrome.set_script_timeout(SECONDS)
    try:
        found = Browser(chrome, downloads)
        found.resize(1280, 900)
        yield found
    finally:
        chrome.quit()


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a small cohort by three metrics, all of it drawn."""
    rng = np.random.default_rng(0)
    cohort = rs.Cohort()
    for k in range(24):
        means = np.random.default_rng(k % 3).normal(size=(5, 1, 2))
        trials = means + (0.5 + 0.02 * k) * rng.normal(size=(5, 8, 2))
        cohort.add(f"net {k:02d}", trials, area=["V1", "LM", "AL"][k % 3], depth=10.5 * k)
    metrics = {f"a{a:g}": rs.GaussianShapeMetric(a) for a in (0.0, 1.0)}
    found = rs.pairwise_many(cohort, metrics)
    energy = rs.EnergyShapeMetric(estimator="v", n_starts=1)
    matrices = [*found.values(), rs.pairwise(cohort, energy, polish=False)]
    path = tmp_path_factory.mktemp("report") / "report.html"
    return rs.write_report(matrices, path, cohort=cohort, max_intervals=2).path


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    browser.resize(1280, 900)
    browser.open(page)
    return browser
