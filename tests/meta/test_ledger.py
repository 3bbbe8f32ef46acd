"""Accepted rounding names checks that exist; whether they still round, their own tests say."""

from __future__ import annotations

import pytest

from impls import COMPONENTS, load_component
from parity.suite import suite_cases
from tests.support.ledger import LEDGER, read_ledger

pytestmark = pytest.mark.meta


def test_every_listed_check_exists() -> None:
    cases = suite_cases({f"impls.{name}": load_component(name) for name in COMPONENTS})
    assert set(read_ledger(LEDGER)) <= {case.id for case in cases}


def test_only_float32_may_round() -> None:
    assert all("-float32-" in name for name in read_ledger(LEDGER))
