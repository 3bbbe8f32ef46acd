"""A browser to look with."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from parity.requirements import required


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium without a network; its console and its requests are recorded."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        reason = "Debian's chromium and chromium-driver are not installed"
        if "chromium" in required():
            pytest.fail(f"PARITY_REQUIRE: {reason}", pytrace=False)
        pytest.skip(reason)
    pytest.importorskip("selenium")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        "window-size=1200,1400",
    ):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    yield opened
    opened.quit()


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Callable[[str], Any]:
    """Open a page from disk."""

    def go(page: str) -> Any:
        path = tmp_path / "report.html"
        path.write_text(page, encoding="utf-8")
        for kind in ("browser", "performance"):
            browser.get_log(kind)  # forget what other pages did
        browser.get(path.as_uri())
        return browser

    return go
