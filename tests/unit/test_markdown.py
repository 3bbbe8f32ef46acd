"""Reports as Markdown: what is in it cannot leave its place, and the size has a limit."""

from __future__ import annotations

import numpy as np

from parity.api import compare
from parity.markdown import LIMIT, REPORT, report_markdown, suite_markdown
from parity.results import Results
from tests.support.pages import hostile, network
from tests.support.results import row


def results(count: int) -> Results:
    return Results({f"t{i}": [row(f"check-{i}", verdict="diverge")] for i in range(count)})


def test_a_report_says_the_verdict_and_opens() -> None:
    text = report_markdown(network(3))
    assert text.startswith("### Parity: DIVERGE <code>comparison</code>\n")
    assert "<summary>first difference: forward/body.1/output; cause: norm-epsilon</summary>" in text
    assert "\n```text\nDIVERGE  comparison\n" in text
    assert "verdict diverge" in text


def test_an_agreeing_report_is_one_too() -> None:
    q = np.linspace(0, 1, 7)
    assert "AGREE" in report_markdown(compare(torch=q, tf=q.copy()))


def test_names_do_no_harm() -> None:
    text = report_markdown(hostile())
    outside = text.split("```text")[0] + text.split("```\n")[-1]
    assert "<script" not in outside
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_fence_in_a_text_does_not_end_it() -> None:
    failed = [{"id": "</summary><b>", "text": "a\n```\n</details>\n````\nb"}]
    text = suite_markdown(Results(), failed)
    assert "`````text\na\n```\n</details>\n````\nb\n`````\n" in text
    assert "<summary>✖ &lt;/summary&gt;&lt;b&gt;</summary>" in text


def test_what_does_not_fit_is_counted() -> None:
    failed = [{"id": f"check-{i}", "text": "ü" * 20_000} for i in range(60)]
    text = suite_markdown(results(60), failed)
    size = len(text.encode())
    assert LIMIT * 0.9 < size <= LIMIT < 1 << 20
    shown = text.count("<summary>✖ ")
    assert f"\n{60 - shown} more did not fit here" in text
    assert "All 60 checks" in text, "small parts still find room"


def test_a_long_report_is_cut_with_a_count() -> None:
    text = suite_markdown(Results(), [{"id": "a", "text": "line\n" * 50_000}])
    assert len(text.encode()) < REPORT + 1000
    kept = text.count("\nline")
    assert f"\n... {50_000 - kept} lines cut\n" in text
