"""Reports: what leads, what is summed up, and their JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parity.errors import InvalidInput
from parity.report import Problem, Report, build_report, judge
from parity.tolerance import Tolerance
from parity.trace import Trace
from parity.verdict import Verdict

SUBJECT = {
    "component": "td3",
    "check": "chain.target",
    "case": "one row",
    "dtype": "float32",
    "mode": "eager",
    "device": "cpu",
}


def report(torch: dict[str, Any], tf: dict[str, Any], **arguments: Any) -> Report:
    reference = arguments.pop("reference", None)
    sides = {"torch": torch, "tf": tf, "reference": reference}
    traces = {k: Trace(v, side=k) for k, v in sides.items() if v is not None}
    return build_report(traces, **arguments)


class TestBuilding:
    def test_two_sides_at_least(self) -> None:
        with pytest.raises(InvalidInput, match="needs two sides, got torch"):
            build_report({"torch": Trace({"a": 1.0})})

    def test_every_pair_of_sides(self) -> None:
        r = report({"a": 1.0}, {"a": 1.0}, reference={"a": 1.0})
        pairs = [d.sides for d in r.entries[0].differences]
        assert pairs == [("torch", "tf"), ("torch", "reference"), ("tf", "reference")]
        assert r.entries[0].pair("reference", "tf") is r.entries[0].differences[2]
        assert r.values_compared == 1

    def test_the_dtype_of_the_run_decides_the_tolerance(self) -> None:
        # float64 metadata in a float32 run is held to the run's precision
        r = report({"a": 1.0}, {"a": 1.0 + 1e-8}, dtype="float32")
        assert r.passed
        assert not report({"a": 1.0}, {"a": 1.0 + 1e-8}).passed

    def test_the_first_glob_wins_and_integers_stay_exact(self) -> None:
        table = {"grad/*": Tolerance(0.1, "x"), "*": Tolerance(0.5, "y")}
        r = report(
            {"grad/a": 1.0, "b": 1.0, "n": 1},
            {"grad/a": 1.2, "b": 1.2, "n": 2},
            tolerances=table,
        )
        assert [e.name for e in r.failing] == ["grad/a", "n"]

    def test_the_reference_sets_the_scale(self) -> None:
        sides = ({"a": 10.0}, {"a": 10.005})
        loose = {"*": Tolerance(1e-3, "x")}
        assert report(*sides, tolerances=loose).passed
        assert not report(*sides, reference={"a": 0.5}, tolerances=loose).passed


class TestLeading:
    def test_the_first_difference_between_the_frameworks(self) -> None:
        same = {"a": 1.0, "b": 1.0, "c": 1.0}
        r = report(same, {**same, "b": 1.1, "c": 9.0}, reference={**same, "a": 2.0})
        assert r.first_divergence is not None
        assert r.first_divergence.name == "b"

    def test_where_they_agree_the_first_off_the_reference(self) -> None:
        same = {"a": 1.0, "b": 1.0}
        r = report(same, dict(same), reference={"a": 1.0, "b": 2.0})
        assert r.verdict is Verdict.DIVERGE
        assert r.first_divergence is not None
        assert r.first_divergence.name == "b"

    def test_structure_leads_the_worst(self) -> None:
        r = report({"a": np.ones(3), "b": 1.0}, {"a": np.ones(2), "b": 9.0})
        assert r.worst is not None
        assert r.worst.name == "a"

    def test_nothing_differs(self) -> None:
        r = report({"a": 1.0}, {"a": 1.0})
        assert (r.first_divergence, r.failing, r.verdict) == (None, (), Verdict.AGREE)

    def test_findings_fail_whatever_the_numbers(self) -> None:
        r = report({"a": 1.0}, {"a": 1.0}, problems=[Problem("broadcast", "a")])
        assert r.verdict is Verdict.DIVERGE


class TestEvidence:
    over = ({"a": 1.0}, {"a": 1.0 + 1e-5})

    def test_agreeing_evidence_means_rounding(self) -> None:
        r = judge(report(*self.over, dtype="float32"), report({"a": 1.0}, {"a": 1.0}))
        assert (r.verdict, r.passed) == (Verdict.ROUNDING, True)

    def test_differing_evidence_means_a_real_difference(self) -> None:
        r = judge(report(*self.over, dtype="float32"), report(*self.over, dtype="float64"))
        assert r.verdict is Verdict.DIVERGE

    def test_vacuous_evidence_excuses_nothing(self) -> None:
        r = judge(report(*self.over, dtype="float32"), report({"a": 0.0}, {"a": 0.0}))
        assert r.verdict is Verdict.DIVERGE

    def test_evidence_may_uncover_what_float32_hides(self) -> None:
        hidden = report({"a": 1.0}, {"a": 1.0 + 1e-8}, dtype="float32")
        r = judge(hidden, report({"a": 1.0}, {"a": 1.0 + 1e-8}, dtype="float64"))
        assert r.verdict is Verdict.LATENT

    def test_evidence_excuses_no_structure(self) -> None:
        r = judge(report({"a": 1.0}, {"b": 1.0}), report({"a": 1.0}, {"a": 1.0}))
        assert r.verdict is Verdict.DIVERGE


class TestSummary:
    def test_the_row(self) -> None:
        r = report({"a": 1.0, "b": 0.5}, {"a": 1.0, "b": 0.75}, subject=SUBJECT, dtype="float32")
        row = r.summary()
        assert row["id"] == "td3/chain.target[one row]-float32-eager"
        assert {k: row[k] for k in SUBJECT} == SUBJECT
        assert (row["verdict"], row["first_divergence"]) == ("diverge", "b")
        assert (row["max_abs"], row["values_compared"]) == (0.25, 2)
        assert row["allowed"] == 1e-6
        assert row["headroom"] == pytest.approx(0.25 / 1e-6)
        assert row["problem"] == "values"

    def test_a_subject_may_be_partial(self) -> None:
        assert report({"a": 1.0}, {"a": 1.0}).identifier == "comparison"
        named = report({"a": 1.0}, {"a": 1.0}, subject={"check": "loss"})
        assert named.identifier == "loss"

    def test_infinite_headroom_is_a_string(self) -> None:
        assert report({"a": 1}, {"a": 2}).summary()["headroom"] == "inf"


FLOATS = hnp.arrays("float64", st.integers(0, 3), elements=st.floats(width=64))
SIDES = st.dictionaries(st.text(min_size=1, max_size=3), FLOATS, max_size=4)


def strict(text: str) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


@given(SIDES, SIDES)
def test_json_is_valid_whatever_was_compared(torch: dict[str, Any], tf: dict[str, Any]) -> None:
    r = report(torch, tf, subject=SUBJECT)
    document = strict(r.to_json())
    assert document["schema"] == 1
    assert document["verdict"] == str(r.verdict)
    assert document["values_compared"] == r.values_compared
    assert [e["name"] for e in document["entries"]] == [e.name for e in r.entries]
    assert strict(json.dumps(r.summary(), default=str))["id"] == r.identifier


@given(SIDES, SIDES)
def test_rendering_never_fails(torch: dict[str, Any], tf: dict[str, Any]) -> None:
    r = report(torch, tf, subject=SUBJECT)
    text = str(r)
    assert str(r.verdict) in text
    assert str(r.values_compared) in text


@given(SIDES)
def test_one_side_against_its_copy_never_differs(values: dict[str, Any]) -> None:
    r = report(values, {name: array.copy() for name, array in values.items()})
    assert r.verdict in (Verdict.AGREE, Verdict.INVALID)
    if any(array.any() for array in values.values()):
        assert r.failing == ()
