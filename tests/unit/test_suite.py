"""From specs to a list of checks, to rows, to a summary; and the ledger of accepted rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from parity.component import Check, Component, Recording, Side
from parity.errors import InvalidInput
from parity.report import Report, build_report, judge
from parity.results import Results, plain, read_results
from parity.suite import suite_cases
from parity.summary import WIDTH, summary_lines
from parity.trace import Trace
from tests.support.ledger import BEGIN, END, LEDGER, Accepted, complaint, read_ledger


@dataclass(frozen=True, kw_only=True)
class FakeCheck(Check):
    kind: ClassVar[str] = "fake"

    def record(self, sides: Mapping[str, Side]) -> Recording:
        return Recording({name: Trace({"a": 1.0}) for name in sides})


def component(*checks: Check, name: str = "toy") -> Component:
    return Component(name, contract=(), checks=checks)


class TestCases:
    def test_dtypes_times_modes(self) -> None:
        check = FakeCheck(name="f", case="one row", modes=("eager", "xla"), needs=("gym",))
        cases = suite_cases({"impls.toy": component(check)})
        assert [case.id for case in cases] == [
            "toy/fake.f[one row]-float32-eager",
            "toy/fake.f[one row]-float64-eager",
            "toy/fake.f[one row]-float32-xla",
            "toy/fake.f[one row]-float64-xla",
        ]
        assert cases[0].needs == ("torch", "tf", "gym")
        assert cases[0].package == "impls.toy"

    def test_cases_are_told_apart(self) -> None:
        twice = component(FakeCheck(name="f", case="a"), FakeCheck(name="f", case="a"))
        with pytest.raises(InvalidInput, match=r"distinct case names: toy/fake\.f\[a\]"):
            suite_cases({"toy": twice})

    @pytest.mark.parametrize("field", ["modes", "dtypes"])
    def test_a_check_that_would_never_run(self, field: str) -> None:
        check = FakeCheck(name="f", case="a", **{field: ()})
        with pytest.raises(InvalidInput, match=r"toy: fake\.f\[a\] declares no dtype or no mode"):
            suite_cases({"toy": component(check)})

    def test_a_component_without_checks(self) -> None:
        with pytest.raises(InvalidInput, match="'toy' has no checks"):
            suite_cases({"toy": component()})


def row(**changes: Any) -> dict[str, Any]:
    base = {
        **dict.fromkeys(("case", "dtype", "mode", "device", "first_divergence")),
        "id": "toy/f[a]",
        "component": "toy",
        "check": "f",
        "verdict": "agree",
        "max_abs": 1e-7,
        "max_rel": 1e-7,
        "max_ulp": 1,
        "allowed": 1e-6,
        "headroom": 0.1,
        "values_compared": 13,
        "causes": [],
        "problems": [],
        "problem": None,
    }
    return {**base, **changes}


def lines(*rows: dict[str, Any]) -> list[str]:
    results = Results(rows={str(i): [r] for i, r in enumerate(rows)})
    return [line.text for line in summary_lines(results)]


class TestSummary:
    def test_the_worst_check_leads_its_line(self) -> None:
        text = lines(row(), row(id="b", headroom=0.5), row(id="c", headroom=0.2))[1]
        assert text.split() == ["toy", "f", "5.0e-07", "1.0e-06", "50%", "agree", "39"]

    @pytest.mark.parametrize("worst", ["rounding", "chaos", "latent", "diverge", "invalid"])
    def test_a_worse_verdict_beats_a_larger_share(self, worst: str) -> None:
        text = lines(row(headroom=0.9), row(id="b", verdict=worst, headroom=0.1))[1]
        assert worst in text

    @pytest.mark.parametrize("headroom", [0, 0.999, 9.99, 123.4, 1e9, "inf"])
    @pytest.mark.parametrize("values", [0, 999_999, 10**6, 10**9, 10**11])
    def test_every_line_fits(self, headroom: float | str, values: int) -> None:
        long = row(
            component="c" * 40,
            check="some.check_" + "é" * 40,
            headroom=headroom,
            values_compared=values,
            verdict="rounding",
            max_abs=1e300,
        )
        for text in lines(long):
            assert len(text) <= WIDTH
            assert text.isascii()

    def test_lists_are_capped_and_say_so(self) -> None:
        results = Results(errors={f"test_{i}": "why" for i in range(9)})
        text = [line.text for line in summary_lines(results)]
        assert text[:2] == ["0 checks: none ran; 0 values compared", "RAISED before a verdict: 9"]
        assert text[-1] == "  ... and 4 more"

    def test_repeated_ids_are_named(self) -> None:
        assert "SAME ID for several checks: 1" in lines(row(), row())

    def test_skips_are_counted_by_reason(self) -> None:
        skipped = {"a": "gym is not installed", "b": "tf is not", "c": "gym is not installed"}
        text = [line.text for line in summary_lines(Results(skipped=skipped))]
        assert text[1] == "SKIPPED 3 checks: gym is not installed (2); tf is not (1)"


class TestReading:
    def test_what_was_saved(self, tmp_path: Path) -> None:
        results = Results(rows={"a": [row()]}, errors={"b": "why"})
        results.save(tmp_path / "r.json")
        document = read_results(tmp_path / "r.json")
        assert document["checks"] == [row()]
        assert document["errors"] == [{"id": "b", "message": "why"}]

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("", "not JSON"),
            ("[]", "schema 1"),
            ('{"schema": 2}', "schema 1"),
            ('{"schema": 1, "checks": []}', "lacks environment, errors, skipped, totals"),
        ],
    )
    def test_other_files(self, tmp_path: Path, text: str, why: str) -> None:
        (tmp_path / "r.json").write_text(text)
        with pytest.raises(InvalidInput, match=why):
            read_results(tmp_path / "r.json")

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="No such file"):
            read_results(tmp_path / "none.json")


def test_plain_makes_json_of_anything() -> None:
    value = {1: np.float32(0.5), "a": (np.int64(3), np.inf, {None}), "b": np.arange(2), "c": Path()}
    assert plain(value) == {"1": 0.5, "a": [3, "inf", [None]], "b": [0, 1], "c": "."}


def rounding(error: float, evidence: float = 0.0) -> Report:
    subject = {"component": "toy", "check": "f", "case": "a", "dtype": "float32", "mode": "eager"}

    def run(gap: float, dtype: str) -> Report:
        sides = {"torch": Trace({"a": 1.0}), "tf": Trace({"a": 1.0 + gap})}
        return build_report(sides, dtype=dtype, subject=subject)

    return judge(run(error, "float32"), run(evidence, "float64") if error > 1e-6 else None)


ID = "toy/f[a]-float32-eager"


class TestLedger:
    def test_unlisted_rounding(self) -> None:
        report = rounding(5e-6)
        assert report.passed
        why = complaint(report, {})
        assert why is not None
        assert f"| `{ID}` | 5.0e-06 |" in why

    @pytest.mark.parametrize(("error", "fits"), [(5e-6, True), (2.1e-5, False)])
    def test_the_listed_bound(self, error: float, fits: bool) -> None:
        accepted = {ID: Accepted(ID, 2e-5, "why")}
        assert (complaint(rounding(error), accepted) is None) is fits

    @pytest.mark.parametrize(("error", "fits"), [(1e-8, False), (4e-7, False), (8e-7, True)])
    def test_a_row_that_is_not_needed(self, error: float, fits: bool) -> None:
        accepted = {ID: Accepted(ID, 2e-5, "why")}
        assert (complaint(rounding(error), accepted) is None) is fits

    def test_agreement_needs_no_row(self) -> None:
        assert complaint(rounding(1e-8), {}) is None

    def test_reading(self, tmp_path: Path) -> None:
        path = tmp_path / "tolerances.md"
        table = f"| check | most | why |\n| --- | --- | --- |\n| `{ID}` | 2e-5 | sums cancel |\n"
        path.write_text(f"text\n{BEGIN}\n{table}{END}\n| `other` | 1 | outside |\n")
        assert read_ledger(path) == {ID: Accepted(ID, 2e-5, "sums cancel")}

    @pytest.mark.parametrize(
        "row", ["| toy | 2e-5 | why |", "| `toy` | big | why |", "| `toy` | 2e-5 | |", "| `toy` |"]
    )
    def test_a_row_that_cannot_be_read(self, tmp_path: Path, row: str) -> None:
        path = tmp_path / "tolerances.md"
        path.write_text(f"{BEGIN}\n| a | b | c |\n| --- | --- | --- |\n{row}\n{END}")
        with pytest.raises(ValueError, match="not a row"):
            read_ledger(path)

    def test_missing_markers(self, tmp_path: Path) -> None:
        path = tmp_path / "tolerances.md"
        path.write_text("no table here")
        with pytest.raises(ValueError, match="needs"):
            read_ledger(path)

    def test_the_real_one_can_be_read(self) -> None:
        assert all(entry.because for entry in read_ledger(LEDGER).values())
