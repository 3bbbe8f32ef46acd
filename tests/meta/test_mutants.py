"""Failure is proved: every planted bug turns red the check that its spec names."""

from __future__ import annotations

import pytest

from impls import COMPONENTS, load_component
from parity.component import Check, Component, Mutant
from parity.report import Report
from parity.requirements import missing
from parity.runner import planted, run_check
from parity.suite import FRAMEWORKS
from parity.verdict import Verdict

pytestmark = pytest.mark.meta

SPECS = {name: load_component(name) for name in COMPONENTS}
MUTANTS = [(spec, mutant) for spec in SPECS.values() for mutant in spec.mutants]
LEAST_PER_COMPONENT, LEAST = 4, 60
CAUGHT = (Verdict.DIVERGE, Verdict.LATENT)


def checks_named_by(component: Component, mutant: Mutant) -> list[Check]:
    """The checks that may catch it: those with the label and, where one is given, the case."""
    return [
        check
        for check in component.checks
        if check.label == mutant.caught_by
        and mutant.case in (None, check.case)
        and mutant.dtype in check.dtypes
        and mutant.mode in check.modes
    ]


@pytest.mark.parametrize(
    ("component", "mutant"), MUTANTS, ids=[f"{spec.name}-{m.id}" for spec, m in MUTANTS]
)
def test_planted_bug_is_caught(component: Component, mutant: Mutant) -> None:
    checks = checks_named_by(component, mutant)
    assert checks, f"no check {mutant.caught_by}[{mutant.case or 'any'}] to catch {mutant.id}"
    needs = {*FRAMEWORKS, *(name for check in checks for name in check.needs)}
    if absent := missing(needs):
        pytest.skip(f"not installed: {', '.join(absent)}")
    seen: list[Report] = []
    with planted(f"impls.{component.name}", mutant) as siblings:
        for check in checks:
            report = run_check(component, check, siblings, dtype=mutant.dtype, mode=mutant.mode)
            if report.verdict in CAUGHT:
                return
            seen.append(report)
    verdicts = ", ".join(f"{report.identifier}: {report.verdict}" for report in seen)
    pytest.fail(
        f"{mutant.id} ({mutant.because}) was not caught\n"
        f"- {mutant.find}\n+ {mutant.replace}\n{verdicts}\n{seen[-1]}",
        pytrace=False,
    )


@pytest.mark.parametrize("component", SPECS.values(), ids=list(SPECS))
def test_every_component_plants_bugs(component: Component) -> None:
    ids = [mutant.id for mutant in component.mutants]
    assert len(ids) >= LEAST_PER_COMPONENT
    assert len(set(ids)) == len(ids), "mutant ids repeat"
    assert all(mutant.because.strip() for mutant in component.mutants)


def test_the_suite_plants_enough_bugs() -> None:
    assert len(MUTANTS) >= LEAST


@pytest.mark.parametrize("component", SPECS.values(), ids=list(SPECS))
def test_every_kind_of_check_has_caught_a_bug(component: Component) -> None:
    """A check that no planted bug turns red may be unable to fail."""
    labels = {check.label for check in component.checks}
    assert labels - {mutant.caught_by for mutant in component.mutants} == set()
