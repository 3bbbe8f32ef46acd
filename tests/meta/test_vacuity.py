"""What proves nothing must not pass: each way in which a comparison can be empty."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

import parity
from parity.backends import get_backend
from parity.component import Check, Component, Recording, Side
from parity.errors import InvalidInput, MissingFramework
from parity.report import Problem, Report, build_report
from parity.runner import run_check
from parity.trace import Trace
from parity.verdict import Verdict

pytestmark = pytest.mark.meta

VALUES = np.linspace(-1.0, 1.0, 13)
NAN = np.where(VALUES > 0.5, np.nan, VALUES)


@dataclass(frozen=True, kw_only=True)
class Recorded(Check):
    """A check that records what it is given, on every side."""

    kind: ClassVar[str] = "recorded"
    traces: Callable[[str], dict[str, Any]]
    problems: tuple[Problem, ...] = ()

    def record(self, sides: Mapping[str, Side]) -> Recording:
        traces = {name: Trace(self.traces(name), side=name) for name in sides}
        return Recording(traces, [*self.problems])


def run(traces: Callable[[str], dict[str, Any]], **fields: Any) -> Report:
    """Judge what a check records, the way the suite does."""
    check = Recorded(name="subject", case="case", traces=traces, **fields)
    siblings = {side: ModuleType(side) for side in ("torch", "tf", "reference")}
    component = Component("toy", contract=(), checks=(check,))
    return run_check(component, check, siblings, dtype="float64")


def test_an_ordinary_check_passes() -> None:
    """Without this, everything below could fail for another reason."""
    assert run(lambda _: {"q": VALUES, "step": np.arange(3)}).verdict is Verdict.AGREE


class TestNothingCompared:
    def test_no_entries(self) -> None:
        assert run(lambda _: {}).verdict is Verdict.INVALID
        assert parity.compare(torch={}, tf={}).verdict is Verdict.INVALID

    def test_only_empty_arrays(self) -> None:
        assert run(lambda _: {"q": VALUES[:0]}).verdict is Verdict.INVALID

    def test_one_empty_array_among_others(self) -> None:
        assert run(lambda _: {"q": VALUES, "batch": VALUES[:0]}).verdict is Verdict.INVALID

    @pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64", "bool"])
    def test_all_zeros(self, dtype: str) -> None:
        assert run(lambda _: {"q": np.zeros(13, dtype)}).verdict is Verdict.INVALID

    def test_one_dead_activation_among_others(self) -> None:
        dead = {"l1": VALUES, "relu": np.zeros(13)}
        assert run(lambda _: dead).verdict is Verdict.INVALID
        assert run(lambda _: dead, expect_zero=("relu",)).verdict is Verdict.AGREE

    def test_zeros_may_be_integers_among_others(self) -> None:
        mask = np.zeros(13, bool)
        assert run(lambda _: {"q": VALUES, "terminated": mask}).verdict is Verdict.AGREE

    def test_zero_on_purpose_on_one_side_only_differs(self) -> None:
        values = {"torch": np.zeros(13), "tf": VALUES, "reference": np.zeros(13)}
        report = run(lambda side: {"no_grad": values[side]}, expect_zero=("*",))
        assert report.verdict is Verdict.DIVERGE


class TestOneObject:
    def test_one_container(self) -> None:
        both = {"q": VALUES}
        assert parity.compare(torch=both, tf=both).verdict is Verdict.INVALID

    def test_one_array_in_two_containers(self) -> None:
        report = parity.compare(torch={"q": VALUES}, tf={"q": VALUES})
        assert report.verdict is Verdict.INVALID
        assert "agrees with itself" in str(report)

    def test_one_trace(self) -> None:
        trace = Trace({"q": VALUES})
        assert build_report({"torch": trace, "tf": trace}).verdict is Verdict.INVALID
        assert parity.compare(torch=trace, tf=trace).verdict is Verdict.INVALID

    def test_a_shared_input_beside_other_values_is_ordinary(self) -> None:
        report = parity.compare(
            torch={"batch": VALUES, "q": VALUES + 1}, tf={"batch": VALUES, "q": VALUES + 1}
        )
        assert report.verdict is Verdict.AGREE

    def test_equal_numbers_are_not_one_object(self) -> None:
        assert parity.compare(torch=1.5, tf=1.5).verdict is Verdict.AGREE


class TestNonFinite:
    @pytest.mark.parametrize("side", ["torch", "tf", "reference"])
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_on_one_side_only(self, side: str, bad: float) -> None:
        values = np.where(VALUES > 0.5, bad, VALUES)
        report = run(lambda name: {"q": values if name == side else VALUES})
        assert report.verdict is Verdict.DIVERGE
        assert report.worst is not None
        assert report.worst.problem == "non-finite"

    def test_at_the_same_places_agrees(self) -> None:
        assert run(lambda _: {"q": NAN}).verdict is Verdict.AGREE

    def test_at_the_same_places_hides_no_other_difference(self) -> None:
        report = run(lambda side: {"q": NAN + (side == "tf") * 1e-3})
        assert report.verdict is Verdict.DIVERGE

    def test_no_precision_excuses_it(self) -> None:
        check = Recorded(
            name="subject",
            case="case",
            traces=lambda side: {"q": NAN if side == "tf" else VALUES},
        )
        siblings = {side: ModuleType(side) for side in ("torch", "tf")}
        component = Component("toy", contract=(), checks=(check,))
        report = run_check(component, check, siblings, dtype="float32")
        assert (report.verdict, report.evidence) == (Verdict.DIVERGE, None)


class TestUnmatched:
    @pytest.mark.parametrize("side", ["torch", "tf", "reference"])
    def test_an_entry_that_one_side_lacks(self, side: str) -> None:
        report = run(lambda name: {"l1": VALUES, **({} if name == side else {"l2": VALUES})})
        assert report.verdict is Verdict.DIVERGE
        assert [p.kind for p in report.problems] == ["unmatched"]

    def test_other_names_on_the_other_side(self) -> None:
        report = run(lambda side: {f"{side}/l1": VALUES})
        assert report.verdict is Verdict.DIVERGE
        assert report.values_compared == 0

    def test_shapes_that_would_broadcast(self) -> None:
        report = run(lambda side: {"q": VALUES[:, None] if side == "tf" else VALUES})
        assert report.verdict is Verdict.DIVERGE

    def test_a_dtype_is_not_promoted_away(self) -> None:
        report = run(lambda side: {"q": VALUES.astype("float32" if side == "tf" else "float64")})
        assert report.verdict is Verdict.DIVERGE

    @pytest.mark.parametrize("kind", ["broadcast", "gradient", "retrace", "unmatched"])
    def test_a_finding_of_the_recorder(self, kind: str) -> None:
        details = {"present": ["torch"], "missing": ["tf"], "suggestion": None}
        problem = Problem(kind, "q", details)
        assert run(lambda _: {"q": VALUES}, problems=(problem,)).verdict is Verdict.DIVERGE


class TestMissing:
    def test_a_side_that_is_not_there(self) -> None:
        check = Recorded(name="subject", case="case", traces=lambda _: {"q": VALUES})
        component = Component("toy", contract=(), checks=(check,))
        with pytest.raises(InvalidInput, match="needs two sides"):
            run_check(component, check, {"torch": ModuleType("torch")}, dtype="float64")
        with pytest.raises(InvalidInput, match="needs two sides"):
            parity.compare(torch=VALUES, tf=None)

    @pytest.mark.parametrize(("side", "module"), [("torch", "torch"), ("tf", "tensorflow")])
    def test_a_framework_that_is_not_installed(
        self, monkeypatch: pytest.MonkeyPatch, side: str, module: str
    ) -> None:
        for name in [n for n in sys.modules if n.startswith("parity.backends.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingFramework, match=module):
            get_backend(side)

    def test_an_unknown_mode(self) -> None:
        check = Recorded(name="subject", case="case", traces=lambda _: {"q": VALUES})
        component = Component("toy", contract=(), checks=(check,))
        with pytest.raises(InvalidInput, match="unknown mode 'compield'"):
            run_check(component, check, {}, dtype="float64", mode="compield")


def test_rounding_needs_float64_evidence() -> None:
    """Over tolerance in float32 alone is no excuse: only an agreeing float64 run is."""

    def traces(error64: float) -> Callable[[str], dict[str, Any]]:
        def of(side: str) -> dict[str, Any]:
            wide = calls.count(side) > 0
            calls.append(side)
            error = 0.0 if side != "tf" else error64 if wide else 1e-4
            return {"q": (VALUES + error).astype("float64" if wide else "float32")}

        calls: list[str] = []
        return of

    for error64, verdict in [(0.0, Verdict.ROUNDING), (1e-4, Verdict.DIVERGE)]:
        check = Recorded(name="subject", case="case", traces=traces(error64))
        siblings = {side: ModuleType(side) for side in ("torch", "tf")}
        component = Component("toy", contract=(), checks=(check,))
        assert run_check(component, check, siblings, dtype="float32").verdict is verdict
