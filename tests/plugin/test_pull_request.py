"""What a pull request shows: Markdown, annotations, and pytest's own JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.plugin.conftest import AGREEING, DIFFERING

RAISING = """
def test_raises(parity):
    raise RuntimeError("100% wrong,\\nat: 3")
"""
COMMAND = re.compile(r"^::error (?P<properties>[^\n]*?)::(?P<message>[^\n]*)$", re.MULTILINE)


def commands(text: str) -> list[tuple[dict[str, str], str]]:
    """What a runner reads from a log: properties and message, unescaped."""

    def plain(value: str) -> str:
        for code, sign in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            value = value.replace(code, sign)
        return value

    found = []
    for match in COMMAND.finditer(text):
        pairs = (part.partition("=") for part in match["properties"].split(","))
        found.append(({k: plain(v) for k, _, v in pairs}, plain(match["message"])))
    return found


def failures(path: Path) -> Iterator[ElementTree.Element]:
    return ElementTree.parse(path).getroot().iter("failure")


@pytest.mark.parametrize("arguments", [(), ("-n2",)], ids=["one process", "two processes"])
def test_markdown_is_appended(pytester: pytest.Pytester, arguments: tuple[str, ...]) -> None:
    pytester.makepyfile(test_good=AGREEING, test_bad=DIFFERING, test_ugly=RAISING)
    summary = pytester.path / "summary.md"
    summary.write_text("before\n")
    result = pytester.runpytest_subprocess("--parity-markdown=summary.md", *arguments)
    assert result.ret == 1
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("before\n### Parity: 2 failed; 2 checks: 1 agree, 1 diverge")
    opened = re.findall(r"<details><summary>(.*)</summary>\n\n(`+)text\n(\w+)", text)
    assert [(name, first) for name, _, first in opened] == [
        ("✖ test_bad.py::test_critic", "DIVERGE"),
        ("✖ test_ugly.py::test_raises: raised", "RuntimeError"),
        ("All 2 checks", "component"),
    ]
    assert text.count("<details>") == text.count("</details>") == 3


def test_a_green_run_has_a_summary_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(AGREEING)
    assert pytester.runpytest("--parity-markdown=out/summary.md").ret == 0
    text = (pytester.path / "out" / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("### Parity: 1 check: 1 agree")


def test_an_unwritable_summary_fails_the_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(AGREEING)
    pytester.path.joinpath("file").write_text("no folder")
    result = pytester.runpytest("--parity-markdown=file/summary.md")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*--parity-markdown: cannot write*"])


@pytest.mark.parametrize("arguments", [(), ("-n2",)], ids=["one process", "two processes"])
def test_annotations_stand_on_the_users_line(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(pytester.path))
    pytester.makepyfile(**{"sub/test_bad": DIFFERING, "test_ugly": RAISING})
    text = pytester.runpytest_subprocess(*arguments).stdout.str()
    (bad, message), (ugly, other) = commands(text)
    assert bad == {"file": "sub/test_bad.py", "line": "3", "title": "parity: diverge"}
    lines = message.splitlines()
    assert lines[0].startswith("DIVERGE  bad/critic")
    assert lines[1].startswith("first difference: q at [")
    assert lines[2].strip().startswith("torch ")
    assert ugly == {"title": "parity: raised before a verdict"}
    assert other == "test_ugly.py::test_raises: RuntimeError: 100% wrong,"


def test_no_annotations_elsewhere(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(DIFFERING)
    assert "::error" not in pytester.runpytest().stdout.str()


def test_no_more_annotations_than_are_shown(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    body = DIFFERING.replace("(parity)", "(parity, n)").replace(
        "def test", "import pytest\n@pytest.mark.parametrize('n', range(13))\ndef test"
    )
    pytester.makepyfile(body)
    found = commands(pytester.runpytest().stdout.str())
    assert len(found) == 10
    assert found[-1][1] == "4 more checks failed; see the log"


@pytest.mark.parametrize("how", ["raised", "failed"])
def test_junit_says_what_is_wrong_in_three_lines(pytester: pytest.Pytester, how: str) -> None:
    call = {
        "raised": "parity.compare(torch={'q': q}, tf={'q': q + 1})",
        "failed": "parity.check(parity_of.compare(torch={'q': q}, tf={'q': q + 1}))",
    }[how]
    pytester.makepyfile(
        test_it=f"""
        import numpy as np
        import parity as parity_of

        def test_it(parity, request):
            request.node.user_properties.append(("mine", "kept"))
            q = np.linspace(0, 1, 7)
            {call}
        """
    )
    pytester.runpytest("--junit-xml=junit.xml", "--parity-html=page.html")
    (failure,) = failures(pytester.path / "junit.xml")
    message = failure.attrib["message"].splitlines()
    assert len(message) == 3
    assert message[0].startswith("DIVERGE")
    assert message[1].startswith("first difference: q")
    assert "torch" in message[2]
    assert "verdict diverge" in str(failure.text)
    properties = ElementTree.parse(pytester.path / "junit.xml").getroot().iter("property")
    found = [(p.attrib["name"], p.attrib["value"]) for p in properties]
    assert found[0] == ("mine", "kept")
    assert len(found) == 2
    assert found[1][0] == "parity"
    assert "diverge, max abs 1" in found[1][1]


def test_junit_of_other_tests_is_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it():\n    assert 1 == 2, 'one\\ntwo\\nthree\\nfour'")
    pytester.runpytest("--junit-xml=junit.xml")
    (failure,) = failures(pytester.path / "junit.xml")
    assert "four" in failure.attrib["message"]
