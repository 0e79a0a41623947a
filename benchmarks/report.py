"""Time to write a report, to open it, and to respond to actions, in headless Chromium.

    python -m benchmarks.report            # 100, 300, 500 and 2000 networks; saves the results
    python -m benchmarks.report 300        # other sizes; prints the results only
    python -m benchmarks.report one        # one matrix of 1000 networks; saves the results

Each page has four matrices, three columns of metadata, and the default number of drawn pairs. The
page of 1000 networks has one matrix, of networks with 12 neurons and full covariances. The page
itself measures the time to open, from the start of the navigation until everything is drawn.
The time to respond is from a click until the second frame after it.

Needs chromium and chromedriver.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

import repshape as rs

RESULTS = Path(__file__).parent / "results" / "report.json"
SIZES = (100, 300, 500, 2000)
MANY, NEURONS, CONDITIONS = 1000, 12, 20
MATRICES = 4
REPEATS = 5
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars")
ACTIONS = {
    "switch_ms": "document.querySelectorAll('[name=matrix]')[k % 4].click()",
    "select_ms": "document.querySelectorAll('#networks tbody tr')[k % 9].click()",
    "sort_ms": "document.querySelectorAll('#pairs thead button')[k % 3].click()",
    "search_ms": "const s = document.getElementById('pairs-search'); s.value = String(10 + k);"
    " s.dispatchEvent(new Event('input'))",
    "colour_ms": "const c = document.getElementById('colour'); c.value = String(k % 3);"
    " c.dispatchEvent(new Event('change'))",
}

Make = Callable[[int], tuple[rs.Cohort, list[rs.DistanceMatrix]]]
ONLY_ONE = "return document.querySelectorAll('[name=matrix]').length === 1"


def cohort_and_matrices(size: int) -> tuple[rs.Cohort, list[rs.DistanceMatrix]]:
    """Return networks of three neurons, and four matrices of distances."""
    rng = np.random.default_rng(size)
    places = rng.normal(size=(size, 6))
    frame = pd.DataFrame(
        {
            "depth": places[:, 0],
            "area": [f"area {k % 6}" for k in range(size)],
            "layer": rng.integers(1, 7, size),
        }
    )
    cohort = rs.Cohort()
    for k in range(size):
        cohort.add(f"network {k}", rng.normal(size=(20, 3)) + places[k, :3])
    gaps = np.linalg.norm(places[:, None] - places[None], axis=-1)
    names = list(cohort.labels)
    shapes = [rs.DistanceMatrix(gaps**p, names, frame) for p in (0.25, 0.5, 0.75)]
    procrustes = rs.pairwise(cohort, rs.ProcrustesShapeMetric(), metadata=frame)
    return cohort, [procrustes, *shapes]


def one_matrix(size: int) -> tuple[rs.Cohort, list[rs.DistanceMatrix]]:
    """Return networks of twelve neurons with noise, and the distances of their means."""
    rng = np.random.default_rng(size)
    cohort = rs.Cohort()
    for k in range(size):
        means = rng.normal(size=(CONDITIONS, NEURONS)) * (1.0 + k % 3)
        roots = rng.normal(size=(CONDITIONS, NEURONS, NEURONS)) / NEURONS
        noise = roots @ roots.transpose(0, 2, 1)
        row = {"area": f"area {k % 6}", "layer": int(rng.integers(1, 7)), "gain": 1.0 + k % 3}
        cohort.add(f"network {k}", (means, noise), **row)
    return cohort, [rs.pairwise(cohort, rs.GaussianShapeMetric(2.0), polish=False)]


def browser(folder: str) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, "--window-size=1280,900", f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.binary_location = "/usr/bin/chromium"
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def opening(driver: webdriver.Chrome, page: Path) -> float:
    """Open a page and return the time until it is drawn, in milliseconds."""
    driver.get("about:blank")
    driver.get(page.as_uri())
    WebDriverWait(driver, 120).until(
        lambda d: d.execute_script("return document.documentElement.dataset.ready === 'true'")
    )
    return float(driver.execute_script("return performance.getEntriesByName('open')[0].duration"))


def answers(driver: webdriver.Chrome) -> dict[str, float]:
    """Return the median response time of each kind of action, in milliseconds."""
    found = {}
    for name, action in ACTIONS.items():
        if name == "switch_ms" and driver.execute_script(ONLY_ONE):
            continue
        script = (
            "const [k, done] = arguments, t = performance.now();"
            f"{action};"
            "requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - t)))"
        )
        times = [driver.execute_async_script(script, k + 1) for k in range(2 * REPEATS)]
        found[name] = round(statistics.median(times), 1)
    return found


def measure(size: int, make: Make) -> dict[str, Any]:
    cohort, matrices = make(size)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        report = rs.write_report(matrices, Path(folder, "report.html"), cohort=[cohort])
        made = time.perf_counter() - started
        driver = browser(str(Path(folder, "profile")))
        try:
            opened = [opening(driver, report.path) for _ in range(REPEATS)]
            answered = answers(driver)
        finally:
            driver.quit()
    return {
        "networks": size,
        "pairs": size * (size - 1) // 2,
        "make_s": round(made, 1),
        "MB": round(report.n_bytes / 1e6, 2),
        "open_ms": round(statistics.median(opened)),
        "open_worst_ms": round(max(opened)),
        **answered,
    }


def main() -> None:
    kept = json.loads(RESULTS.read_text())
    if sys.argv[1:] == ["one"]:
        kept["one_matrix"] = measure(MANY, one_matrix)
        print(json.dumps(kept["one_matrix"]))
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
        return
    sizes = [int(one) for one in sys.argv[1:]] or list(SIZES)
    rows = []
    for size in sizes:
        rows.append(measure(size, cohort_and_matrices))
        print(json.dumps(rows[-1]), flush=True)
    if len(sys.argv) == 1:
        kept |= {"matrices": MATRICES, "rows": rows}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
