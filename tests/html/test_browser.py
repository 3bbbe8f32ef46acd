"""The page in a real browser: from disk, without a network, by mouse and by keyboard."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from parity.html.page import render_page, report_page, report_view_with_plot, run_view
from parity.html.plots import log_plot
from parity.html.view import suite_rows
from tests.support.pages import HOSTILE, hostile, long, network
from tests.support.results import row

pytest.importorskip("selenium")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

Visit = Callable[[str], Any]


def suite() -> str:
    """A run of a few checks, one of which failed; its name is an attack."""
    rows = [row(), row(HOSTILE[0], verdict="diverge", max_abs=1.0, headroom=1e6)]
    return render_page("parity: 1 of 2 checks failed", [report_view_with_plot(hostile())], {},
                       checks=suite_rows(rows), totals=[("checks", "2")], passed=False)  # fmt: skip


def training() -> str:
    """Two trainings, as ``lockstep`` shows them."""
    points = [(i, 1e-8 * 3.0**i, f"update {i}", None) for i in range(20)]
    legend = [("propagated32", HOSTILE[0], "circle")]
    svg = log_plot([(*legend[0], points)], 20, xlabel="update", ylabel="error", bound=1e-6)
    table = {"title": "Links", "columns": [("link", False), ("error", True)],
             "rows": [(4, [HOSTILE[1], 0.1]), (0, ["target", 0.0])]}  # fmt: skip
    run = run_view("diverge", HOSTILE[2], meaning="a bug", first=HOSTILE[3], facts=[("seed", "1")],
                   curves=[{"title": "Error", "svg": svg, "legend": legend}],
                   tables=[table], reproduce=HOSTILE[5])  # fmt: skip
    return render_page("parity: diverge", [], {}, run=run)


PAGES = {
    "network": lambda: report_page(network(5)),
    "hostile": lambda: report_page(hostile()),
    "suite": suite,
    "training": training,
}


def shown(browser: Any) -> list[str]:
    """Names in the table of entries, in the order on the screen."""
    return browser.execute_script(
        "return [...document.querySelectorAll('.entries tbody a')].map(a => a.textContent)"
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
    browser = visit(PAGES[name]())
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
    browser.find_element(By.CSS_SELECTOR, ".layers a[data-open='9']").click()
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


def tree(browser: Any) -> list[str]:
    """The rows of the tree that are to be seen: torch's name, then the tf side's."""
    return browser.execute_script(
        "return [...document.querySelectorAll('.layers tbody tr')].filter(r => !r.hidden)"
        ".map(r => r.cells[0].innerText.trim() + '|' + r.cells[2].innerText.trim())"
    )


def test_two_trees_stand_side_by_side_and_fold_by_mouse(visit: Visit) -> None:
    browser = visit(report_page(network(4)))
    assert tree(browser) == ["body|body", "0|dense_0", "1|dense_1", "2|dense_2", "3|dense_3"]
    tops = [
        [cell.location["y"] for cell in row.find_elements(By.CSS_SELECTOR, ".path")]
        for row in browser.find_elements(By.CSS_SELECTOR, ".layers tbody tr")
    ]
    assert all(left == right for left, right in tops), "partners stand at one height"
    browser.find_element(By.CSS_SELECTOR, ".layers tr[aria-expanded] td").click()
    assert tree(browser) == ["body|body"]
    browser.find_element(By.CSS_SELECTOR, "[data-tree=apart]").click()
    assert len(tree(browser)) == 5
    assert browser.switch_to.active_element.text.split()[0] == "1"


def test_the_tree_works_by_keyboard(visit: Visit) -> None:
    browser = visit(report_page(network(4)))
    browser.execute_script("document.querySelector('.layers tbody tr').focus()")

    def press(*keys: str) -> Any:
        for key in keys:
            browser.switch_to.active_element.send_keys(key)
        return browser.switch_to.active_element

    group = press(Keys.ARROW_LEFT)
    assert group.get_attribute("aria-expanded") == "false"
    assert tree(browser) == ["body|body"]
    leaf = press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert (leaf.get_attribute("aria-level"), leaf.get_attribute("aria-posinset")) == ("2", "2")
    assert press(Keys.END).text.startswith("3")
    assert press(Keys.ARROW_LEFT).get_attribute("aria-expanded") == "true"
    panel = press(Keys.ARROW_DOWN, Keys.ENTER)
    assert panel.get_attribute("id") == "detail-0"
    assert panel.find_element(By.TAG_NAME, "h2").text == "forward/body.0/output"


def test_what_was_tried_stands_on_the_page_and_with_its_layer(visit: Visit) -> None:
    browser = visit(report_page(network(4)))
    rows = browser.find_elements(By.CSS_SELECTOR, ".tried tbody tr")
    assert [row.text.split()[0] for row in rows] == ["norm-epsilon", "training-mode"]
    assert "8.9e-16 ✓ yes" in rows[0].text
    panel = browser.find_element(By.CSS_SELECTOR, ".detail")
    assert "Tried here" in panel.text
    assert "port.py:11: x = self.norm(x)" in panel.text


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
    browser = visit(PAGES[name]())
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    found = axe.run(browser)["violations"]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in serious] == []


def test_ten_thousand_entries_render_and_scroll(visit: Visit) -> None:
    page = report_page(long(10_000))
    browser = visit(page)
    timing = "return performance.getEntriesByType('navigation')[0].loadEventEnd"
    # 0.3 to 0.5 s on two shared cores; drawing every row at once takes 2.5 s of a free one
    assert browser.execute_script(timing) < 2000
    assert browser.execute_script("return document.querySelectorAll('*').length") < 10_000
    box = browser.find_element(By.CSS_SELECTOR, ".scroll[aria-label=Entries]")
    end = "arguments[0].scrollTop = arguments[0].scrollHeight; return arguments[0].innerText"
    WebDriverWait(browser, 20).until(lambda b: "\n9999\t" in b.execute_script(end, box))
    assert browser.find_elements(By.CSS_SELECTOR, ".entries tbody tr")[-1].is_displayed()


def test_a_long_table_is_sorted_filtered_and_walked_as_a_whole(visit: Visit) -> None:
    browser = visit(report_page(long(1_000)))
    count = browser.find_element(By.CSS_SELECTOR, ".count")
    assert count.text == "1000 of 1000 shown"
    order = browser.find_element(By.CSS_SELECTOR, "button[data-key=order]")
    order.click()
    assert shown(browser)[0] == "step/999/value"
    order.click()
    link = browser.find_elements(By.CSS_SELECTOR, ".entries tbody a")[99]
    browser.execute_script("arguments[0].focus()", link)
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert browser.switch_to.active_element.text == "step/100/value", "drawn when it is needed"
    browser.find_element(By.CSS_SELECTOR, ".filter").send_keys("/77")
    assert len(shown(browser)) == 11
    browser.execute_script("document.querySelector('.filter').value = ''")
    browser.find_element(By.CSS_SELECTOR, ".state option[value=differ]").click()
    assert count.text == "500 of 1000 shown"
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert len(shown(browser)) == 500, "paper shows every row"


def test_a_run_of_the_suite_is_one_page(visit: Visit) -> None:
    browser = visit(suite())
    assert "FAILED" in browser.find_element(By.TAG_NAME, "h1").text
    checks, failed = browser.find_elements(By.CSS_SELECTOR, ".report")
    assert "2 of 2 shown" in checks.text
    assert HOSTILE[0] in checks.text
    button = checks.find_element(By.CSS_SELECTOR, "button[data-key=headroom]")
    button.click()
    button.click()
    assert HOSTILE[0] in checks.find_element(By.CSS_SELECTOR, "tbody tr").text
    assert failed.find_element(By.CSS_SELECTOR, ".detail").is_displayed()


def test_a_point_says_what_it_is_under_the_pointer(visit: Visit) -> None:
    browser = visit(training())
    point = browser.find_elements(By.CSS_SELECTOR, ".plot circle")[3]
    ActionChains(browser).move_to_element(point).perform()
    assert browser.find_element(By.CSS_SELECTOR, ".readout").text.startswith("update 3: 2.7e-07")
