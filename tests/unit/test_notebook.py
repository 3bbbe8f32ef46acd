"""What a notebook shows for a report and for a trace."""

from __future__ import annotations

import re

import numpy as np

from parity import compare
from parity.trace import Trace

HOSTILE = "a<script>alert('x')</script>&\"b"


def test_a_report_shows_its_verdict_first_difference_and_entries() -> None:
    report = compare(torch={"loss": np.ones(3)}, tf={"loss": np.array([1.0, 1.0, 2.0])})
    text = report._repr_html_()
    assert "DIVERGE" in text
    assert "first difference: loss at [2]" in text
    assert "1/3" in text


def test_names_are_escaped_and_nothing_is_fetched() -> None:
    pages = [
        compare(torch={HOSTILE: np.ones(3)}, tf={HOSTILE: np.zeros(3)})._repr_html_(),
        Trace({HOSTILE: np.ones(3)}, side=HOSTILE)._repr_html_(),
    ]
    for text in pages:
        assert "<script" not in text
        assert "&lt;script&gt;" in text
        assert not re.search(r"https?:|src=|href=", text)


def test_a_trace_is_a_table_of_its_entries() -> None:
    text = Trace({"q": np.array([[1.0, 3.5]]), "n": np.int64(4)}, side="torch")._repr_html_()
    assert "(1, 2)" in text
    assert "3.5" in text
    assert "int64" in text


def test_a_long_trace_stays_small() -> None:
    text = Trace({f"layer{i}": np.full(3, float(i + 1)) for i in range(500)})._repr_html_()
    assert "and 480 more" in text
    assert len(text) < 20_000
