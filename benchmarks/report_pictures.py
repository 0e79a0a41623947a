"""Screenshots of the pages of the demo, taken in headless Chromium, for the documentation.

make demo && python -m benchmarks.report_pictures demo-output/report.html docs/images/report
python -m benchmarks.report_pictures demo-output/vaes.html docs/images/report
python -m benchmarks.report_pictures models.html docs/images/report

The last page is that of docs/models.md, ``rs.write_report(found, "models.html", title=...)``.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.report import browser, opening

# Of each page: name, width and height of the screenshot, and colour scheme.
PICTURES = {
    "report": (
        ("desktop-light", 1440, 900, "light"),
        ("desktop-dark", 1440, 900, "dark"),
        ("phone", 390, 844, "light"),
    ),
    "vaes": (("vaes", 1440, 900, "light"),),
    "models": (("models", 1200, 860, "light"),),
}
PAIR = """
for (const [id, value] of [['first', '3'], ['second', '93']]) {
  const list = document.getElementById(id);
  list.value = value;
  list.dispatchEvent(new Event('change'));
}
"""
DRAWN = """
requestAnimationFrame(() => requestAnimationFrame(arguments[0]));
"""


def shoot(driver: Any, page: Path, width: int, height: int, scheme: str) -> bytes:
    calm = [("prefers-reduced-motion", "reduce"), ("prefers-color-scheme", scheme)]
    features = [{"name": name, "value": value} for name, value in calm]
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    opening(driver, page)
    driver.execute_async_script((PAIR if page.stem == "report" else "") + DRAWN)
    return base64.b64decode(driver.execute_cdp_cmd("Page.captureScreenshot", {})["data"])


def main() -> None:
    page, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        driver = browser(profile)
        try:
            for name, *how in PICTURES[page.stem]:
                (out / f"{name}.png").write_bytes(shoot(driver, page, *how))
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
