"""The baseline of this repository's own gate, which ``make gate`` judges a run by."""

from __future__ import annotations

from pathlib import Path

from impls import COMPONENTS, load_component
from parity.gate import gate
from parity.results import read_results
from parity.suite import suite_cases

BASELINE = Path(__file__).parents[1] / "parity" / "baseline.json"
"""As in the Makefile."""
HINT = "make parity && make baseline, and look at the diff that it prints"


def test_it_holds_every_check_of_the_suite() -> None:
    """A check that it lacks could get worse, or disappear, unseen."""
    known = {row["id"] for row in read_results(BASELINE)["checks"]}
    cases = suite_cases({f"impls.{name}": load_component(name) for name in COMPONENTS})
    lacking = [case.id for case in cases if case.id not in known]
    assert not lacking, f"not in {BASELINE.name}: {', '.join(lacking[:9])}; {HINT}"


def test_it_is_of_a_run_that_passed() -> None:
    document = read_results(BASELINE)
    result = gate(document, document)
    assert result.passed, result.findings[:3]
    assert all(row["values_compared"] for row in document["checks"])
    assert document["environment"]["torch"] and document["environment"]["tensorflow"]
