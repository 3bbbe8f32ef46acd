"""The regression gate: what it fails for, what it lets pass, and what the ledger excuses."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from parity import gate_output
from parity.accepted import Accepted, read_accepted
from parity.errors import InvalidInput
from parity.gate import Finding, GateResult, gate, new_baseline
from parity.results import read_results
from parity.tolerance import ERROR_GROWTH, noise_floor
from tests.support.results import ENVIRONMENT, document, row

TODAY = date(2026, 7, 1)
EPS = {name: float(np.finfo(name).eps) for name in ("float32", "float64")}
A, B = "returns/function.a[x]-float32-eager", "returns/function.b[x]-float32-eager"
ELSEWHERE = {**ENVIRONMENT, "cpu": "another avx512f"}


def judged(before: Any, after: Any, **ledger: Accepted) -> GateResult:
    accepted = {entry.id: entry for entry in ledger.values()}
    return gate(before, after, accepted=accepted, today=TODAY)


def kinds(result: GateResult) -> list[tuple[str, str]]:
    return [(finding.kind, finding.id) for finding in result.findings]


def accept(name: str = A, bound: float = 1e-5, expires: str = "2026-07-01") -> Accepted:
    return Accepted(
        name, bound, "a known one", "https://example.org/1", date.fromisoformat(expires)
    )


def test_the_same_run_passes() -> None:
    result = judged(document(row(A), row(B)), document(row(B), row(A)))
    assert result.passed
    assert result.notes == ()
    assert set(result.ids) == {A, B}


class TestFailures:
    @pytest.mark.parametrize("verdict", ["diverge", "latent", "invalid"])
    def test_a_check_that_fails(self, verdict: str) -> None:
        after = document(row(A, verdict=verdict), row(B))
        assert kinds(judged(document(row(A), row(B)), after)) == [("failed", A)]

    @pytest.mark.parametrize("verdict", ["rounding", "chaos"])
    def test_another_passing_verdict_is_a_note(self, verdict: str) -> None:
        result = judged(document(row(A)), document(row(A, verdict=verdict)))
        assert result.passed
        assert [note.kind for note in result.notes] == ["verdict"]

    def test_a_check_that_failed_before_fails_again(self) -> None:
        bad = document(row(A, verdict="diverge"))
        assert kinds(judged(bad, bad)) == [("failed", A)]

    def test_a_new_check_is_a_note_and_a_new_failure_none(self) -> None:
        result = judged(document(row(A)), document(row(A), row(B)))
        assert result.passed and [n.kind for n in result.notes] == ["new"]
        bad = judged(document(row(A)), document(row(A), row(B, verdict="diverge")))
        assert kinds(bad) == [("failed", B)]

    def test_a_deleted_check(self) -> None:
        result = judged(document(row(A), row(B)), document(row(A)))
        assert kinds(result) == [("disappeared", B)]
        assert "not in the report; the baseline compared 91 values" in text(result)

    def test_a_skipped_check_says_why(self) -> None:
        skipped = [{"id": f"tests/parity/test_parity.py::test_parity[{B}]", "reason": "no gym"}]
        result = judged(document(row(A), row(B)), document(row(A), skipped=skipped))
        assert kinds(result) == [("disappeared", B)]
        assert "skipped: no gym" in text(result)

    def test_a_check_that_raised(self) -> None:
        node = f"tests/parity/test_parity.py::test_parity[{B}]"
        errors = [{"id": node, "message": "RuntimeError: no kernel"}]
        result = judged(document(row(A), row(B)), document(row(A), errors=errors))
        assert kinds(result) == [("raised", node)]
        assert "RuntimeError: no kernel" in text(result)

    @pytest.mark.parametrize("left", [90, 0])
    def test_values_that_disappeared(self, left: int) -> None:
        result = judged(document(row(A)), document(row(A, values_compared=left)))
        assert kinds(result) == [("values", A)]
        assert f"{91 - left} of 91 compared values disappeared" in text(result)

    def test_more_values_are_welcome(self) -> None:
        assert judged(document(row(A)), document(row(A, values_compared=92))).passed

    def test_more_graphs(self) -> None:
        before, after = (
            row(A, compiles={"torch": 2, "tf": 2}),
            row(A, compiles={"torch": 2, "tf": 5}),
        )
        result = judged(document(before), document(after))
        assert kinds(result) == [("recompiled", A)]
        assert "tf 2 -> 5 graphs" in text(result)
        assert judged(document(after), document(before)).passed

    def test_rows_without_counts(self) -> None:
        old = {k: v for k, v in row(A).items() if k not in ("compiles", "needed")}
        assert judged(document(old), document(row(A, compiles={"tf": 3}))).passed
        assert judged(document(row(A, compiles={"tf": 3})), document(old)).passed

    def test_an_empty_report(self) -> None:
        assert ("nothing", "") in kinds(judged(document(row(A)), document()))

    def test_an_empty_baseline_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match="no checks"):
            judged(document(), document(row(A)))

    def test_repeated_ids_are_refused(self) -> None:
        with pytest.raises(InvalidInput, match=r"the report has several .*function\.a"):
            judged(document(row(A)), document(row(A), row(A)))


class TestGrowth:
    @pytest.mark.parametrize(
        ("before", "after", "grown"),
        [
            (8e-8, 8e-7, True),  # tenfold, and still under the tolerance
            (2e-7, 8.1e-7, True),
            (2e-7, 7.9e-7, False),
            (8e-7, 1e-7, False),
            (0.0, 2 * EPS["float32"], False),  # 4 times half a rounding, the floor
            (0.0, 2.1 * EPS["float32"], True),
        ],
    )
    def test_on_one_platform(self, before: float, after: float, grown: bool) -> None:
        result = judged(document(row(A, needed=before)), document(row(A, needed=after)))
        assert [f.kind for f in result.findings] == ["grew"] * grown

    @pytest.mark.parametrize(
        ("before", "after", "grown"),
        [
            (8e-8, 8e-7, False),
            (0.0, 8.1 * EPS["float32"], True),
            (2.4e-7, 9.9e-7, True),
        ],
    )
    def test_on_another_platform(self, before: float, after: float, grown: bool) -> None:
        new = document(row(A, needed=after), environment=ELSEWHERE)
        result = judged(document(row(A, needed=before)), new)
        assert [f.kind for f in result.findings] == ["grew"] * grown
        assert "cpu one avx2 -> another avx512f" in text(result)

    def test_float64_has_its_own_floor(self) -> None:
        name = "returns/function.a[x]-float64-eager"
        before = document(row(name, needed=1e-15))
        assert kinds(judged(before, document(row(name, needed=1e-14)))) == [("grew", name)]

    def test_unimportant_facts_are_no_other_platform(self) -> None:
        new = document(row(A), environment={**ENVIRONMENT, "python": "3.13", "gym": "0.26"})
        assert judged(document(row(A)), new).notes == ()

    def test_old_reports_fall_back_on_the_largest_error(self) -> None:
        old = {k: v for k, v in row(A, max_abs=1e-7).items() if k != "needed"}
        assert kinds(judged(document(old), document(row(A, needed=9e-7)))) == [("grew", A)]

    def test_the_floor_depends_on_dtype_and_platform(self) -> None:
        for dtype, eps in EPS.items():
            assert noise_floor(dtype, same_platform=True) == eps / 2
            assert noise_floor(dtype, same_platform=False) == eps * 2
        assert ERROR_GROWTH * noise_floor("float32", same_platform=False) < 1e-6


class TestLedger:
    bad = row(A, verdict="diverge", needed=3e-6, problem="values", first_divergence="output/q")

    def test_an_accepted_difference_is_a_note(self) -> None:
        result = judged(document(row(A)), document(self.bad), one=accept())
        assert result.passed
        assert [note.kind for note in result.notes] == ["accepted"]
        assert "a known one (https://example.org/1)" in text(result)

    def test_over_its_bound(self) -> None:
        result = judged(document(row(A)), document(self.bad), one=accept(bound=2e-6))
        assert kinds(result) == [("exceeded", A)]

    def test_growth_can_be_accepted(self) -> None:
        grown = document(row(A, needed=9e-7))
        assert not judged(document(row(A)), grown).passed
        assert judged(document(row(A)), grown, one=accept()).passed

    def test_an_expired_entry_fails_with_the_difference(self) -> None:
        result = judged(document(row(A)), document(self.bad), one=accept(expires="2026-06-30"))
        assert kinds(result) == [("failed", A), ("expired", A)]

    def test_an_expired_entry_fails_alone_too(self) -> None:
        result = judged(document(row(A)), document(row(A)), one=accept(expires="2026-06-30"))
        assert kinds(result) == [("expired", A)]

    @pytest.mark.parametrize("name", [A, "no/such.check"])
    def test_an_entry_that_nothing_needs(self, name: str) -> None:
        assert kinds(judged(document(row(A)), document(row(A)), one=accept(name))) == [
            ("unused", name)
        ]

    @pytest.mark.parametrize(
        "fields",
        [
            {"problem": "shape"},
            {"problem": "non-finite"},
            {"problems": [{"kind": "unmatched", "name": "grad/l1"}]},
            {"verdict": "invalid", "problem": None},
        ],
    )
    def test_what_no_entry_excuses(self, fields: dict[str, Any]) -> None:
        after = document({**self.bad, **fields})
        assert kinds(judged(document(row(A)), after, one=accept())) == [
            ("failed", A),
            ("unused", A),
        ]

    def test_disappearance_is_not_excused(self) -> None:
        result = judged(document(row(A), row(B)), document(row(B)), one=accept())
        assert kinds(result) == [("disappeared", A), ("unused", A)]

    def test_reading(self, tmp_path: Path) -> None:
        path = tmp_path / "accepted.json"
        path.write_text(json.dumps([ENTRY]))
        assert read_accepted(path) == {A: accept()}

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"bound": "big"}, "bound='big'"),
            ({"bound": 0}, "above 0"),
            ({"bound": True}, "bound=True"),
            ({"bound": float("inf")}, "bound=inf"),
            ({"expires": "soon"}, "YYYY-MM-DD"),
            ({"expires": 3}, "YYYY-MM-DD"),
            ({"reason": " "}, "reason must"),
            ({"link": None}, "link must"),
            ({"more": 1}, "exactly the fields id, bound, reason, link, expires"),
        ],
    )
    def test_unreadable_entries(self, tmp_path: Path, change: dict[str, Any], says: str) -> None:
        path = tmp_path / "accepted.json"
        path.write_text(json.dumps([ENTRY, {**ENTRY, "id": B, **change}]))
        with pytest.raises(InvalidInput, match="entry 1") as error:
            read_accepted(path)
        assert says in str(error.value)

    @pytest.mark.parametrize(
        ("content", "says"),
        [("{", "not JSON"), ("{}", "is a list"), ("[1]", "exactly the fields"), (None, "No such")],
    )
    def test_unreadable_files(self, tmp_path: Path, content: str | None, says: str) -> None:
        path = tmp_path / "accepted.json"
        if content is not None:
            path.write_text(content)
        with pytest.raises(InvalidInput, match=says):
            read_accepted(path)

    def test_entries_that_repeat(self, tmp_path: Path) -> None:
        path = tmp_path / "accepted.json"
        path.write_text(json.dumps([ENTRY, ENTRY]))
        with pytest.raises(InvalidInput, match="listed twice"):
            read_accepted(path)


ENTRY = {
    "id": A,
    "bound": 1e-5,
    "reason": "a known one",
    "link": "https://example.org/1",
    "expires": "2026-07-01",
}


class TestBaseline:
    def test_it_is_a_smaller_result_with_a_line_per_check(self, tmp_path: Path) -> None:
        whole = document(row(A), row(B, compiles={"tf": 2}), skipped=[{"id": "x", "reason": "y"}])
        content = gate_output.baseline_text(new_baseline(whole))
        assert sum(line.startswith('  {"id"') for line in content.splitlines()) == 2
        path = tmp_path / "baseline.json"
        path.write_text(content)
        kept = read_results(path)
        assert "causes" not in kept["checks"][0]
        assert gate(kept, whole).passed
        assert gate(kept, whole).notes == ()

    @pytest.mark.parametrize(
        ("report", "says"),
        [
            (document(), "no checks"),
            (document(row(A), row(B, verdict="latent")), "function.b.* failed"),
            (document(row(A), errors=[{"id": "t", "message": "m"}]), "t failed"),
        ],
    )
    def test_none_of_a_run_that_failed(self, report: dict[str, Any], says: str) -> None:
        with pytest.raises(InvalidInput, match=says):
            new_baseline(report)

    def test_an_accepted_failure_may_stand_in_it(self) -> None:
        report = document(TestLedger.bad)
        kept = new_baseline(report, accepted={A: accept()}, today=TODAY)
        assert judged(kept, report, one=accept()).passed

    def test_the_diff(self) -> None:
        before = document(row(A), row(B), row("gone"))
        after = document(row(A), row(B, needed=4e-7), row("come"))
        lines = [line.text for line in gate_output.baseline_diff(before, after)]
        assert [line[0] for line in lines if line[0] in "+-~"] == ["+", "-", "~"]
        assert lines[-1] == "3 checks in the new baseline, 1 of them unchanged"
        assert any("error 4.0e-07" in line for line in lines)


def text(result: GateResult) -> str:
    return " ".join(" ".join(line.text.split()) for line in gate_output.terminal(result))


EVERY = (
    judged(
        document(row(A), row(B), row("gone"), row("less"), row("more", compiles={"tf": 1})),
        document(
            row(A, needed=9e-7),
            row(B, verdict="diverge", problem="shape", first_divergence="output/<a|b>"),
            row("less", values_compared=1),
            row("more", compiles={"tf": 2}),
            row("new" * 60),
            errors=[{"id": "t::x", "message": "Bad\x00 | `news` <here>"}],
            environment=ELSEWHERE,
        ),
        one=accept("none"),
        two=accept("old", expires="2020-01-01"),
    ),
    judged(document(row(A)), document(row(A))),
    judged(document(row(A)), document()),
)


class TestForms:
    @pytest.mark.parametrize("result", EVERY)
    def test_terminal_fits_80_columns(self, result: GateResult) -> None:
        lines = gate_output.terminal(result)
        assert max(len(line.text) for line in lines) <= 80
        assert ("gate passed" if result.passed else "gate failed (") in text(result)
        for finding in result.findings:
            assert finding.kind.upper() in text(result)

    @pytest.mark.parametrize("result", EVERY)
    def test_junit(self, result: GateResult) -> None:
        root = ElementTree.fromstring(gate_output.junit(result))
        cases, failures = root.findall(".//testcase"), root.findall(".//failure")
        assert int(root.attrib["tests"]) == len(cases) >= len(result.ids)
        assert int(root.attrib["failures"]) == len(failures)
        assert len(failures) == len({f.id for f in result.findings})
        assert (not failures) is result.passed

    @pytest.mark.parametrize("result", EVERY)
    def test_markdown_names_every_finding_once(self, result: GateResult) -> None:
        content = gate_output.markdown(result)
        table = [line for line in content.splitlines() if line.startswith("| ")]
        assert len(table) == (len(result.findings) + 1 if result.findings else 0)
        assert "<here>" not in content and "<a|b>" not in content

    @pytest.mark.parametrize("result", EVERY)
    def test_json(self, result: GateResult) -> None:
        content = json.loads(gate_output.as_json(result))
        assert content["passed"] is result.passed
        assert [f["id"] for f in content["findings"]] == [f.id for f in result.findings]
        assert all(f["message"] for f in content["findings"] + content["notes"])

    def test_many_notes_are_counted(self) -> None:
        fresh = [row(f"new-{i}") for i in range(9)]
        result = judged(document(row(A)), document(row(A), *fresh))
        assert "new: 4 more" in text(result)

    def test_a_kind_without_wording_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="no wording"):
            gate_output.explain(Finding("odd", A))
