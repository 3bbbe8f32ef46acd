"""The update check itself: what it records, what makes it void, what it refuses."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from parity.backends.steps import Step
from parity.checks.update import UpdateCheck, _retraces
from parity.component import Component
from parity.errors import InvalidInput
from parity.runner import run_check
from parity.verdict import Verdict

COMPONENT = Component(name="toy", contract=(), checks=())
SIZES = {"kernel": (3, 2), "count": ()}


def inputs(count=2):
    def make(rng):
        def variables(step):
            return {"kernel": rng.normal(size=(3, 2)), "count": np.asarray(step)}

        return variables(0), [variables(step) for step in range(1, count + 1)]

    return make


def check(**fields):
    return UpdateCheck(**{"name": "update", "case": "toy", "inputs": inputs(), **fields})


def copy(target, source, share=1.0):
    """Works on torch tensors and arrays alike."""
    with torch.no_grad():
        for name, variable in target.items():
            variable[...] = (1 - share) * variable + share * source[name]


def nothing(target, source, share=1.0):
    pass


def run(subject, torch_update=copy, reference_update=copy, dtype="float64"):
    siblings = {
        "torch": SimpleNamespace(update=torch_update),
        "reference": SimpleNamespace(update=reference_update),
    }
    return run_check(COMPONENT, subject, siblings, dtype=dtype)


def test_every_update_and_both_sets_of_variables_are_compared():
    report = run(check())
    assert report.verdict is Verdict.AGREE
    names = [entry.name for entry in report.entries]
    assert names == [
        *(f"update/{k}/{who}/{n}" for k in (0, 1) for who in ("target", "source") for n in SIZES),
        "later/target/kernel",
        "later/target/count",
    ]


def test_an_update_that_does_nothing_anywhere_proves_nothing():
    report = run(check(), nothing, nothing)
    assert report.verdict is Verdict.INVALID
    assert {p.name for p in report.problems} == {"change/kernel", "change/count"}
    quiet = check(expect_zero=("change/*",))
    assert run(quiet, nothing, nothing).verdict is Verdict.AGREE


def test_a_side_that_does_nothing_differs():
    report = run(check(), nothing)
    assert report.verdict is Verdict.DIVERGE
    assert report.first_divergence.name == "update/0/target/kernel"


def test_a_target_that_shares_its_memory_is_seen_at_the_end():
    def share_memory(target, source):
        for name, variable in target.items():
            variable.data = source[name].data

    report = run(check(), share_memory)
    assert report.verdict is Verdict.DIVERGE
    assert report.first_divergence.name == "later/target/kernel"


def test_a_written_source_is_seen():
    def swapped(target, source):
        copy(source, target)

    assert "update/0/source/kernel" in {e.name for e in run(check(), swapped).failing}


def test_scalars_arrive_as_tensors_one_per_update():
    seen = []

    def noting(target, source, share):
        seen.append(share)
        copy(target, source, share)

    report = run(check(scalars={"share": (0.25, 1.0)}), noting, dtype="float32")
    assert report.verdict is Verdict.AGREE
    assert [(float(s), s.dtype, s.shape) for s in seen] == [
        (0.25, torch.float32, ()),
        (1.0, torch.float32, ()),
    ]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"inputs": inputs(0)}, "no updates"),
        ({"inputs": lambda rng: ({}, [{}])}, "no variables"),
        ({"scalars": {"share": (1.0,)}}, "share"),
    ],
)
def test_cases_that_cannot_be_run(fields, wrong):
    with pytest.raises(InvalidInput, match=wrong):
        run(check(**fields))


@pytest.mark.parametrize(("variant", "traces", "found"), [("function", 1, 0), ("function", 3, 1)])
def test_a_step_traced_again_is_a_problem(variant, traces, found):
    step = Step(lambda: None, lambda: traces)
    subject = SimpleNamespace(side=SimpleNamespace(variant=variant), function=step)
    problems = _retraces({"tf": subject})
    assert [(p.kind, p.name, p.details["traces"]) for p in problems] == [
        ("retrace", "tf", traces)
    ] * found
