"""Debian's Chromium, driven as a user would drive it, for tests of the live page."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

DRIVER = shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(DRIVER is None, reason="needs chromium-driver; `make test` installs it")
_WORDS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--window-size=1400,900"),
)
TIMEOUT_S = 40.0


class Page:
    """The live page in a browser."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver: Any = driver

    def open(self, url: str) -> None:
        """Opens the page, and returns when a fabric is drawn."""
        self.driver.get(url)
        self.wait(
            lambda: self.run("return Boolean(document.getElementById('graph')._cyreg?.cy.nodes().length)")
        )

    def run(self, script: str, *values: Any) -> Any:
        """Returns the value of a script; `cy` is the drawing."""
        return self.driver.execute_script(
            f"const cy = document.getElementById('graph')._cyreg?.cy; {script}", *values
        )

    def text(self, name: str) -> str:
        """Returns the text of the part of the page with an id."""
        return str(self.run("return document.getElementById(arguments[0]).textContent", name))

    def wait(self, holds: Callable[[], Any], timeout_s: float = TIMEOUT_S) -> Any:
        """Returns what a function returns, once that holds."""
        deadline = time.monotonic() + timeout_s
        while not (found := holds()):
            assert time.monotonic() < deadline, self.text("message") or self.text("entries")
            time.sleep(0.1)  # each look costs three processes some time
        return found

    def click_drawn(self, name: str) -> None:
        """Clicks a link or a switch of the drawing, where it is on the screen."""
        at = self.run(
            "const found = cy.getElementById(arguments[0]), box = cy.container().getBoundingClientRect();"
            "const at = found.isEdge() ? found.renderedMidpoint() : found.renderedPosition();"
            "return [box.left + at.x, box.top + at.y]",
            name,
        )
        chain: Any = ActionChains(self.driver)
        chain.w3c_actions.pointer_action.move_to_location(*map(round, at))
        chain.w3c_actions.pointer_action.click()
        chain.perform()

    def press(self, text: str, within: str = "actions") -> None:
        """Clicks a button with a text."""
        place = self.driver.find_element(By.ID, within)
        self.wait(lambda: [one for one in place.find_elements(By.TAG_NAME, "button") if one.text == text])
        [button] = [one for one in place.find_elements(By.TAG_NAME, "button") if one.text == text]
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
        button.click()

    def find(self, name: str) -> None:
        """Types a name into the field that finds parts, as one does without a mouse."""
        field = self.driver.find_element(By.ID, "search-text")
        field.clear()
        field.send_keys(f"{name}\n")

    def dead(self) -> set[str]:
        """Returns the names of the links that are drawn as dead."""
        return set(self.run("return cy.edges('.dead').map((one) => one.data('name'))"))

    def errors(self) -> list[str]:
        """Returns the errors in the browser's console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]


@contextlib.contextmanager
def browser() -> Iterator[Page]:
    """Gives a browser without a page."""
    options = webdriver.ChromeOptions()
    with tempfile.TemporaryDirectory() as profile:
        for word in (*_WORDS, f"--user-data-dir={profile}"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options, webdriver.ChromeService(executable_path=str(Path(str(DRIVER)))))
        try:
            yield Page(driver)
        finally:
            driver.quit()
