"""Both frameworks and the reference against the golden traces in ``fixtures/``.

The suite compares the sides with each other; a change that hits all of them alike shows only here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from impls import COMPONENTS, load_component
from parity.component import Check, Component
from parity.golden import (
    compare_reference,
    compare_with_golden,
    golden_checks,
    golden_file,
    load_golden,
    record_runs,
)
from parity.recorder import ParityRecorder
from parity.runner import load_siblings
from parity.suite import FRAMEWORKS

pytestmark = pytest.mark.parity

FIXTURES = Path(__file__).parents[2] / "fixtures"
CASES = [(spec, check) for spec in map(load_component, COMPONENTS) for check in golden_checks(spec)]


@pytest.mark.parametrize(
    ("component", "check"), CASES, ids=[f"{s.name}/{c.label}[{c.case}]" for s, c in CASES]
)
def test_golden(component: Component, check: Check, parity: ParityRecorder) -> None:
    parity.require("safetensors", *FRAMEWORKS, *check.needs)
    path = FIXTURES / golden_file(component.name, check.label, check.case)
    if not path.exists():
        parity.fail(f"no golden {path.name}: python scripts/write_fixtures.py writes it")
    golden = load_golden(path)
    # the parity test of this check follows and looks at the same run
    runs = record_runs(check, load_siblings(f"impls.{component.name}"), keep=True)
    reports = [compare_with_golden(golden, runs, check, dtype) for dtype in check.dtypes]
    if (reference := compare_reference(golden, runs, check)) is not None:
        reports.append(reference)
    for report in reports:
        parity.check(report)
