"""The page of a report as text: what stands on it, and what must not."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from parity.api import compare
from parity.details import collecting, detail
from parity.html.page import inert_json, report_page
from parity.html.view import LEVELS, level
from tests.support.pages import HOSTILE, hostile, long, network

MEGABYTE = 1 << 20


class Tags(HTMLParser):
    """The elements of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def data(page: str) -> dict[str, Any]:
    """What the script of a page draws from."""
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def test_first_screen_has_verdict_place_and_cause() -> None:
    page = report_page(network(3))
    head = re.sub(r"<[^>]+>", " ", page.split("</header>")[0].split("<main")[1])
    for text in ("DIVERGE", "forward/body.1/output", "norm-epsilon", "epsilon=1e-05", "0.0074",
                 "parity check a.py:x b.py:y"):  # fmt: skip
        assert text in head


def test_nothing_is_fetched() -> None:
    page = report_page(network(3))
    for tag, attributes in Tags(page).found:
        for name in ("src", "href"):
            value = attributes.get(name) or ""
            assert value.startswith(("#", "data:")) or not value, (tag, value)
    assert "@import" not in page
    assert "url(" not in page


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_shown_and_not_run(name: str) -> None:
    page = report_page(hostile())
    names = [cells[1] for *_, cells in data(page)["tables"]["0"]]
    assert len(names) == 2 * len(HOSTILE)
    scripts = [a for tag, a in Tags(page).found if tag == "script"]
    assert len(scripts) == 2, "the data and the script of the page itself"
    assert not [a for tag, a in Tags(page).found if tag == "img"]
    assert not [k for _, a in Tags(page).found for k in a if k.startswith("on")]
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", page)
    shown = name.split("<")[0][:50].strip()
    assert not shown.isalnum() or shown in page


def test_a_name_as_long_as_a_book_is_cut() -> None:
    assert len(report_page(hostile())) < 200_000


def test_200_layers_take_less_than_two_megabytes() -> None:
    report = network(200)
    assert len(report.entries) == 800
    page = report_page(report)
    assert len(page.encode()) < 2 * MEGABYTE
    assert len(data(page)["tables"]["0"]) == 800


def test_every_entry_of_a_long_trace_stands_in_the_table() -> None:
    assert len(data(report_page(long(3_000)))["tables"]["0"]) == 3_000


def test_json_cannot_close_its_element() -> None:
    text = inert_json({"</script>": ["<!--", "&"]})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"</script>": ["<!--", "&"]}


def test_infinity_and_nan_are_shown() -> None:
    torch = {"a": np.array([1.0, np.nan, np.inf]), "b": np.full(3, 2.0)}
    tf = {"a": np.array([1.0, 2.0, np.inf]), "b": np.full(3, 2.0)}
    with collecting():
        page = report_page(compare(torch=torch, tf=tf))
    worst = data(page)["details"][0]["0"]["worst"]
    assert worst[0]["index"] == [1]
    assert worst[0]["values"] == ["nan", 2.0]


def test_arrays_of_other_shapes_have_no_histogram_and_a_structure() -> None:
    with collecting():
        page = report_page(compare(torch={"a": np.ones((3, 5))}, tf={"a": np.ones((5, 3))}))
    assert data(page)["tables"]["0"][0][2] == "shape: (3, 5) | (5, 3)"


def test_without_asking_no_details_are_taken() -> None:
    report = compare(torch={"a": np.ones(3)}, tf={"a": np.ones(3) * 2})
    assert report.entries[0].detail is None
    report_page(report)


def test_histograms_count_every_finite_value() -> None:
    a = np.random.default_rng(0).normal(size=(13, 7))
    found = detail({"torch": a, "tf": a + 0.5}, ("torch", "tf"))
    assert found is not None
    assert sum(found["counts"]["torch"]) == sum(found["counts"]["tf"]) == 91
    assert sum(found["difference"]["counts"]) == 91
    assert len(found["worst"]) == 8
    assert found["worst"][0]["gap"] == pytest.approx(0.5)


def test_large_arrays_are_sampled_but_the_worst_place_is_found() -> None:
    a = np.zeros(1_000_000, np.float32)
    b = a.copy()
    b[777_777] = 3.0
    found = detail({"torch": a, "tf": b}, ("torch", "tf"))
    assert found is not None
    assert found["sampled"] < found["size"] == 1_000_000
    assert [row["index"] for row in found["worst"]] == [[777_777]]


@pytest.mark.parametrize("values", [(0.0, 0.0), (1e308, -1e308), (5e-324, 0.0), (7.0, 7.0)])
def test_edges_of_odd_ranges(values: tuple[float, float]) -> None:
    found = detail({"torch": np.array(values), "tf": np.array(values)}, ("torch", "tf"))
    assert found is not None
    assert sum(found["counts"]["torch"]) == 2
    assert np.isfinite(found["edges"]).all()


def test_levels_follow_the_share_of_the_tolerance() -> None:
    assert [level(x) for x in (0.0, 0.5, 2.0, 50.0, 1e6)] == [0, 1, 2, 3, 4]
    assert level(0.0, structural=True) == level(float("inf")) == len(LEVELS) - 1
