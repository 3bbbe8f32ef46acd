"""``parity gate``: exit codes, the files it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from parity.cli import main
from tests.support.results import row, write

PASSED, FAILED, MISUSE = 0, 1, 2
A, B = "returns/function.a[x]-float32-eager", "returns/function.b[x]-float32-eager"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["gate", *(str(a) for a in arguments)])


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    return write(tmp_path / "baseline.json", row(A), row(B))


def test_a_run_as_good_as_its_baseline(tmp_path: Path, baseline: Path) -> None:
    result = run(baseline, write(tmp_path / "r.json", row(A), row(B)))
    assert (result.exit_code, result.output) == (PASSED, "gate passed: 2 checks\n")


@pytest.mark.parametrize(
    ("rows", "kind", "named"),
    [
        ([row(A, needed=9e-7, headroom=0.9), row(B)], "GREW", A),
        ([row(B)], "DISAPPEARED", A),
        ([row(A), row(B, values_compared=0)], "VALUES", B),
        ([row(A), row(B, verdict="diverge")], "FAILED", B),
    ],
)
def test_a_worse_run_fails_and_is_named(
    tmp_path: Path, baseline: Path, rows: list[object], kind: str, named: str
) -> None:
    result = run(baseline, write(tmp_path / "r.json", *rows))
    assert result.exit_code == FAILED
    assert f"{kind}: {named}" in result.output


def test_every_form(tmp_path: Path, baseline: Path) -> None:
    report = write(tmp_path / "r.json", row(B))
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    result = run(
        baseline, report, "--json", "--junit", tmp_path / "new" / "g.xml", "--markdown", summary
    )
    assert result.exit_code == FAILED
    assert json.loads(result.output)["findings"][0]["kind"] == "disappeared"
    root = ElementTree.parse(tmp_path / "new" / "g.xml").getroot()
    assert root.attrib["failures"] == "1"
    assert summary.read_text().startswith("before\n### Parity: gate failed")
    assert A in summary.read_text()


def test_the_page(tmp_path: Path, baseline: Path) -> None:
    page = tmp_path / "gate.html"
    report = write(tmp_path / "r.json", row(B), row("<b>new</b>"))
    assert run(baseline, report, "--html", page).exit_code == FAILED
    text = page.read_text(encoding="utf-8")
    assert "gate failed (3 checks): 1 disappeared" in text
    assert A in text
    assert "&lt;b&gt;new" in text
    assert "<b>new" not in text


def test_the_page_of_a_report_without_checks(tmp_path: Path, baseline: Path) -> None:
    assert run(baseline, write(tmp_path / "r.json"), "--html", tmp_path / "g.html").exit_code == 1
    page = (tmp_path / "g.html").read_text(encoding="utf-8")
    assert "gate failed" in page[page.index("<h1>") : page.index("</h1>")]


def test_update_writes_and_prints_the_diff(tmp_path: Path, baseline: Path) -> None:
    report = write(tmp_path / "r.json", row(A, needed=9e-7), row("c"))
    assert run(baseline, report).exit_code == FAILED
    result = run(baseline, report, "--update")
    assert result.exit_code == PASSED
    for part in (f"~ {A}", "2.0e-07", "9.0e-07", f"- {B}", "+ c", "written:"):
        assert part in result.output
    assert run(baseline, report).exit_code == PASSED


def test_update_makes_the_first_one(tmp_path: Path) -> None:
    report = write(tmp_path / "r.json", row(A))
    result = run(tmp_path / "new" / "baseline.json", report, "--update")
    assert result.exit_code == PASSED, result.output
    assert run(tmp_path / "new" / "baseline.json", report).exit_code == PASSED


def test_update_refuses_a_run_that_failed(tmp_path: Path, baseline: Path) -> None:
    before = baseline.read_bytes()
    result = run(baseline, write(tmp_path / "r.json", row(A, verdict="diverge")), "--update")
    assert result.exit_code == MISUSE
    assert A in result.output
    assert baseline.read_bytes() == before


def test_the_ledger(tmp_path: Path, baseline: Path) -> None:
    entry = {"id": A, "bound": 1e-5, "reason": "known", "link": "x", "expires": "2999-01-01"}
    ledger = tmp_path / "accepted.json"
    ledger.write_text(json.dumps([entry]))
    worse = write(tmp_path / "r.json", row(A, verdict="latent", needed=2e-6), row(B))
    assert run(baseline, worse).exit_code == FAILED
    assert run(baseline, worse, "--accepted", ledger).exit_code == PASSED
    unused = run(baseline, baseline, "--accepted", ledger)
    assert unused.exit_code == FAILED
    assert f"UNUSED: {A}" in unused.output


def test_misuse(tmp_path: Path, baseline: Path) -> None:
    empty = write(tmp_path / "empty.json")
    other = tmp_path / "other.json"
    other.write_text("{}")
    cases = [
        ((tmp_path / "none.json", baseline), "none.json"),
        ((baseline, other), "other.json"),
        ((empty, baseline), "no checks"),
        ((baseline, empty, "--update"), "no checks"),
        ((baseline, baseline, "--update", "--json"), "no other output"),
        ((baseline, baseline, "--accepted", other), "is a list"),
        ((baseline, baseline, "--markdown", tmp_path / "no" / "m.md"), "cannot write"),
    ]
    for arguments, says in cases:
        result = run(*arguments)
        assert result.exit_code == MISUSE, arguments
        assert says in result.output
