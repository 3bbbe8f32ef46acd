"""The corpus is honest: every fixed pair agrees, every buggy pair does not.

Nothing of the harness is used here; what it makes of the cases is scored by ``make corpus``.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.corpus import loading, running
from tests.corpus.loading import Case

CASES = loading.read_all()
FAULTY = [case for case in CASES if not case.control]
HIDDEN = [case for case in CASES if case.hidden]

AGREE, AGREE_CONSTANTS, AGREE_FLOAT32 = 1e-9, 1e-7, 1e-5
"""Relative to the array's largest value: in float64, in float64 with constants that the framework
keeps in float32, and where a case computes in float32 whatever it is given."""
APART = 1e-6
"""The subtlest faults are a wrong epsilon and the 1e-6 that one framework adds to a norm."""
TIMES = 10
LEAST_CAUSES = 80


def allowed(case: Case) -> float:
    if not case.float64:
        return AGREE_FLOAT32
    return AGREE_CONSTANTS if case.float32_constants else AGREE


@pytest.mark.parametrize("case", CASES, ids=[f"{c.kind}/{c.id}" for c in CASES])
def test_fixed_pair_agrees(case: Case) -> None:
    apart, where = running.difference(case, loading.load(case), "tf_fixed")
    assert apart <= allowed(case), f"{where} is {apart:.2e} apart"


@pytest.mark.parametrize("case", FAULTY, ids=[f"{c.kind}/{c.id}" for c in FAULTY])
def test_buggy_pair_differs(case: Case) -> None:
    apart, _ = running.difference(case, loading.load(case), "tf_buggy")
    assert apart > max(APART, TIMES * allowed(case)), f"only {apart:.2e} apart"


@pytest.mark.parametrize("case", HIDDEN, ids=[f"{c.kind}/{c.id}" for c in HIDDEN])
def test_hidden_fault_is_hidden(case: Case) -> None:
    code = loading.load(case)
    given = SimpleNamespace(**{**vars(code), "revealing": code.inputs})
    apart, where = running.difference(case, given, "tf_buggy")
    assert apart <= APART, f"{where} is {apart:.2e} apart"


def test_cases_describe_themselves() -> None:
    for case in CASES:
        assert case.kind in loading.KINDS and case.subject in loading.SUBJECTS, case.id
        assert (case.kind, case.id) == (case.path.parent.name, case.path.stem)
        assert len(case.causes) == len(case.places), case.id
        assert set(case.options) <= {"training", "weights", "map", "steps"}, case.id
        for text in (case.title, case.symptom, case.why, case.fix):
            assert "\n" not in text and not text.endswith("."), case.id
        code = loading.load(case)
        assert hasattr(code, "tf_buggy") != case.control, case.id
        assert hasattr(code, "revealing") == case.hidden, case.id


def test_there_are_enough_of_them() -> None:
    assert len({case.id for case in CASES}) == len(CASES)
    assert len([case for case in FAULTY if case.kind != "stacked"]) >= LEAST_CAUSES
    assert {case.kind for case in CASES} == set(loading.KINDS)
