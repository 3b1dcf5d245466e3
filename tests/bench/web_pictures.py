"""Pictures of the live page for the documentation: a link that was cut under traffic, and a path.

sudo env PYTHONPATH=.:tests .venv/bin/python tests/bench/web_pictures.py docs/figures
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from support.fixtures.browser import Page, browser

import polarlab

_LINK = "s1-s28"


def main(folder: Path) -> None:
    """Writes the pictures into a folder."""
    with (
        polarlab.Fabric("polarfly", q=5, link_rate="1Mbit", routing="ugal-pf", web="0") as fabric,
        browser() as page,
    ):
        fabric.start_traffic("tornado", 0.4)
        page.open(str(fabric.url))
        page.run("document.getElementById('labels').click()")
        time.sleep(8)
        page.find(_LINK)
        page.press("cut")
        page.wait(lambda: "repaired by" in page.text("incident-facts"))
        page.wait(lambda: "is in place" in page.text("entries"))
        time.sleep(4)
        page.driver.save_screenshot(str(folder / "web-cut.png"))
        _show_a_path(page, folder)


def _show_a_path(page: Page, folder: Path) -> None:
    page.run(
        "for (const [name, value] of [['source', 's1'], ['destination', 's5'], ['without', '']])"
        "  document.getElementById(`path-${name}`).value = value;"
        "document.getElementById('paths').open = true; document.getElementById('traffic').open = false;"
        "document.getElementById('theme').click()"
    )
    page.find("s3")
    page.press("show", within="path-form")
    page.wait(lambda: "cross product" in page.text("path-result"))
    time.sleep(2)
    page.run("document.getElementById('paths').scrollIntoView()")
    page.driver.save_screenshot(str(folder / "web-path.png"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
