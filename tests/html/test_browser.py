"""The page in a real browser: from disk, without a network, by mouse and by keyboard."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from parity.html.page import report_page
from tests.support.pages import hostile, long, network

pytest.importorskip("selenium")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

Visit = Callable[[str], Any]
PAGES = {"network": lambda: network(5), "hostile": hostile}


def shown(browser: Any) -> list[str]:
    """Names in the table of entries, in the order on the screen."""
    return browser.execute_script(
        "return [...document.querySelectorAll('.entries tbody tr')].filter(r => !r.hidden)"
        ".map(r => r.querySelector('a').textContent)"
    )


def complaints(browser: Any) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser")]


def requests(browser: Any) -> list[str]:
    """Addresses asked for since the page was opened."""
    events = [json.loads(e["message"])["message"] for e in browser.get_log("performance")]
    sent = [e for e in events if e["method"] == "Network.requestWillBeSent"]
    return [e["params"]["request"]["url"] for e in sent]


@pytest.mark.parametrize("name", PAGES)
def test_opens_from_disk_without_a_request_or_a_complaint(visit: Visit, name: str) -> None:
    browser = visit(report_page(PAGES[name]()))
    assert complaints(browser) == []
    asked = requests(browser)
    assert asked, "the page itself is a request: the log is on"
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert browser.title.startswith("parity: ")


def test_sorts_by_a_column_and_back(visit: Visit) -> None:
    browser = visit(report_page(network(4)))
    button = browser.find_element(By.CSS_SELECTOR, "button[data-key=headroom]")
    button.click()
    assert shown(browser)[-1] == "forward/body.1/output"
    button.click()
    assert shown(browser)[0] == "forward/body.1/output"
    assert button.find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"
    browser.find_element(By.CSS_SELECTOR, "button[data-key=order]").click()
    assert shown(browser)[0] == "forward/body.0/input"


def test_filters_by_name_and_by_state(visit: Visit) -> None:
    browser = visit(report_page(network(4)))
    browser.find_element(By.CSS_SELECTOR, ".filter").send_keys("BIAS")
    assert shown(browser) == [f"grad/body.{i}/bias" for i in range(4)]
    assert browser.find_element(By.CSS_SELECTOR, ".count").text == "4 of 16 shown"
    browser.find_element(By.CSS_SELECTOR, ".filter").clear()
    browser.find_element(By.CSS_SELECTOR, ".state option[value=differ]").click()
    browser.find_element(By.CSS_SELECTOR, ".filter").send_keys("b")
    assert shown(browser) == ["forward/body.1/output"]


def test_the_first_difference_is_open_and_others_open_on_demand(visit: Visit) -> None:
    browser = visit(report_page(network(4)))
    panel = browser.find_element(By.CSS_SELECTOR, ".detail")
    assert panel.find_element(By.TAG_NAME, "h2").text == "forward/body.1/output"
    assert len(panel.find_elements(By.TAG_NAME, "svg")) == 3
    browser.find_element(By.CSS_SELECTOR, ".layers tbody tr:nth-child(3) a").click()
    assert panel.find_element(By.TAG_NAME, "h2").text == "forward/body.2/output"
    assert "same on both sides" in panel.text


def test_a_point_of_the_plot_opens_its_layer(visit: Visit) -> None:
    browser = visit(report_page(network(4)))
    browser.execute_script(
        "document.querySelector('.plot circle[data-open]')"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    panel = browser.find_element(By.CSS_SELECTOR, ".detail")
    assert panel.find_element(By.TAG_NAME, "h2").text == "forward/body.0/output"


def test_works_by_keyboard_alone(visit: Visit) -> None:
    browser = visit(report_page(network(4)))
    links = browser.find_elements(By.CSS_SELECTOR, ".entries tbody a")
    browser.execute_script("arguments[0].focus()", links[0])
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert browser.switch_to.active_element.text == "forward/body.0/output"
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    panel = browser.find_element(By.CSS_SELECTOR, ".detail")
    assert panel.find_element(By.TAG_NAME, "h2").text == "forward/body.0/output"
    assert browser.switch_to.active_element == panel


def test_hostile_names_run_nothing(visit: Visit) -> None:
    browser = visit(report_page(hostile()))
    for link in browser.find_elements(By.CSS_SELECTOR, ".entries tbody a")[:6]:
        link.click()
    assert browser.title.startswith("parity: ")
    assert complaints(browser) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_accessible(visit: Visit, name: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_core_python.selenium").Axe()
    browser = visit(report_page(PAGES[name]()))
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    found = axe.run(browser)["violations"]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in serious] == []


def test_ten_thousand_entries_render_and_scroll(visit: Visit) -> None:
    page = report_page(long(10_000))
    started = time.perf_counter()
    browser = visit(page)
    box = browser.find_element(By.CSS_SELECTOR, ".scroll[aria-label=Entries]")
    browser.execute_script("arguments[0].scrollTop = arguments[0].scrollHeight", box)
    last = browser.find_elements(By.CSS_SELECTOR, ".entries tbody tr")[-1]
    assert last.is_displayed()
    assert last.text.startswith("9999")
    # a page that lays out every row at once takes ten times as long
    assert time.perf_counter() - started < 20
