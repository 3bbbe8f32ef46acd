"""The goldens: none is missing or unused, and they see what all sides got wrong alike."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from impls import COMPONENTS, load_component
from parity.checks import cast_inputs
from parity.component import SIBLINGS, Check, Component, Mutant
from parity.golden import (
    compare_reference,
    compare_with_golden,
    golden_checks,
    golden_file,
    load_golden,
    manifest_complaints,
    record_runs,
)
from parity.requirements import missing
from parity.runner import load_siblings, planted, run_check
from parity.suite import FRAMEWORKS
from parity.verdict import Verdict

pytestmark = pytest.mark.meta

FIXTURES = Path(__file__).parents[2] / "fixtures"
MOST_BYTES = 8_000_000
"""Goldens are cloned with the repository: small, or chosen better."""

# An offset leaves every gradient as it was, so the hand-written ones of the reference fit too.
FIND, REPLACE = "return r_t + discount_t * v_t", "return r_t + 0.01 + discount_t * v_t"


def test_no_file_is_missing_unused_or_unlisted() -> None:
    wanted = {
        golden_file(spec.name, check.label, check.case)
        for spec in map(load_component, COMPONENTS)
        for check in golden_checks(spec)
    }
    complaints = manifest_complaints(FIXTURES, wanted)
    assert not complaints, (
        f"{complaints[:9]}: python scripts/write_fixtures.py shows and writes what changes"
    )


def test_they_are_small() -> None:
    assert sum(path.stat().st_size for path in FIXTURES.rglob("*.safetensors")) < MOST_BYTES


@pytest.mark.skipif(bool(missing(FRAMEWORKS)), reason="needs torch and tensorflow")
def test_a_bug_in_all_sides_alike_shows() -> None:
    """The suite is blind to it: every side, the reference included, computes the same."""
    spec = load_component("returns")
    check = next(c for c in golden_checks(spec) if c.name == "td_target")
    golden = load_golden(FIXTURES / golden_file(spec.name, check.label, check.case))
    with ExitStack() as plants:
        siblings = {
            side: plants.enter_context(planted("impls.returns", plant(check, side)))[side]
            for side in SIBLINGS
        }
        for dtype in check.dtypes:
            assert run_check(spec, check, siblings, dtype=dtype).verdict is Verdict.AGREE
        runs = record_runs(check, siblings)
    for dtype in check.dtypes:
        report = compare_with_golden(golden, runs, check, dtype)
        assert report.verdict is Verdict.DIVERGE
        assert "torch and tf are off the float64 reference" in str(report)
    reference = compare_reference(golden, runs, check)
    assert reference is not None and reference.verdict is Verdict.DIVERGE


@pytest.mark.skipif(bool(missing(FRAMEWORKS)), reason="needs torch and tensorflow")
def test_a_changed_input_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the harness itself, in what it feeds to all sides."""
    spec = load_component("losses")
    check = golden_checks(spec)[0]
    assert golden_agrees(spec, check)
    monkeypatch.setattr("parity.checks.function.cast_inputs", _scaled)
    assert not golden_agrees(spec, check)


def golden_agrees(spec: Component, check: Check) -> bool:
    golden = load_golden(FIXTURES / golden_file(spec.name, check.label, check.case))
    runs = record_runs(check, load_siblings(f"impls.{spec.name}"), dtypes=("float64",))
    return compare_with_golden(golden, runs, check, "float64").passed


def _scaled(inputs: dict[str, object], dtype: str) -> dict[str, object]:
    return {name: array * 1.001 for name, array in cast_inputs(inputs, dtype).items()}


def plant(check: Check, side: str) -> Mutant:
    return Mutant(
        id=f"alike-{side}",
        find=FIND,
        replace=REPLACE,
        caught_by=check.label,
        because="a reward offset of an experiment was left in",
        sibling=side,
    )
