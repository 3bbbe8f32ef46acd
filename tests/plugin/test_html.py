"""``--parity-html``: a page of the run, also where tests run in several processes."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.plugin.conftest import AGREEING, DIFFERING


@pytest.mark.parametrize("arguments", [(), ("-n2",)], ids=["one process", "two processes"])
def test_what_failed_stands_in_full(pytester: pytest.Pytester, arguments: tuple[str, ...]) -> None:
    pytester.makepyfile(test_good=AGREEING, test_bad=DIFFERING)
    result = pytester.runpytest_subprocess("--parity-html=page.html", *arguments)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["written: *page.html"])
    page = Path(pytester.path / "page.html").read_text(encoding="utf-8")
    assert "1 of 2 checks failed" in page
    assert len(re.findall('<article class="report"', page)) == 1
    assert "First difference" in page
    assert "gap_counts" in page


def test_a_green_run_is_a_page_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(AGREEING)
    assert pytester.runpytest("--parity-html=page.html").ret == 0
    assert "1 checks passed" in (pytester.path / "page.html").read_text(encoding="utf-8")


def test_a_directory_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(AGREEING)
    pytester.mkdir("page")
    result = pytester.runpytest("--parity-html=page")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--parity-html: page is a directory*"])


def test_an_unwritable_path_fails_the_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(AGREEING)
    pytester.path.joinpath("file").write_text("no folder")
    result = pytester.runpytest("--parity-html=file/page.html")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*--parity-html: cannot write*"])


def test_the_fixture_checks_a_pair(pytester: pytest.Pytester) -> None:
    # not importorskip: pytester takes imports back, and torch cannot be imported twice
    if not (find_spec("torch") and find_spec("tensorflow")):
        pytest.skip("needs both frameworks")
    pytester.makepyfile(
        """
        import numpy as np
        import torch
        import tensorflow as tf

        def torch_loss(q, y):
            return torch.mean((q - y) ** 2)

        def tf_loss(q, y):
            return tf.reduce_mean((q - y) ** 2)

        def tf_half(q, y):
            return tf.reduce_mean((q - y) ** 2) / 2

        X = {"q": np.linspace(0, 1, 13, dtype=np.float32), "y": np.ones(13, np.float32)}

        def test_right(parity):
            parity.check(torch=torch_loss, tf=tf_loss, inputs=X)

        def test_wrong(parity):
            parity.check(torch=torch_loss, tf=tf_half, inputs=X)
        """
    )
    result = pytester.runpytest_subprocess("-m", "parity")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*DIVERGE*", "*cause: *"])
