"""The checks of every learner from replayed batches: each link, lockstep, composed updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from impls.learner.check_cases import Case
from parity.checks.learner import Link
from parity.checks.training import LinkCheck, LockstepCheck, UpdateSequenceCheck
from parity.component import Check
from parity.tolerance import Tolerance

Changes = Mapping[int, Callable[[Any], None]]

COMPOSED = {
    "float64": {
        "*": Tolerance(1e-10, "up to 20 updates, each continuing from its own side's results")
    }
}


def replay_checks(
    cases: Sequence[Case],
    links: Callable[[Any], tuple[Link, ...]],
    *,
    changes: Changes,
    modes: tuple[str, ...] = ("eager", "compiled", "xla"),
    traces: int = 1,
) -> tuple[Check, ...]:
    """Every link of every case, then each case's composed updates and lockstep.

    Args:
        cases: the first is small, and the one that is compiled as well: compiling takes most of
            the suite's time. In float32 only XLA compiles it.
        links: configuration -> the update as a chain.
        changes: number of an update -> what is changed before it.
        modes: of the composed updates of the first case.
        traces: graphs of a compiled learner.
    """
    first = cases[0]
    checks: list[Check] = [
        LinkCheck(name=link.name, links=links(case.config), **case.common())
        for case in cases
        for link in links(case.config)
    ]
    for case in cases:
        shared = {"name": "update", "traces": traces, "changes": changes}
        shared |= {"expect_zero": case.expect_zero, **case.common()}
        checks.append(
            UpdateSequenceCheck(
                dtypes=("float64",),
                modes=modes if case is first else ("eager",),
                updates=case.updates,
                tolerances=COMPOSED,
                **shared,
            )
        )
        checks.append(LockstepCheck(**shared))
        if case is first:
            shared["case"] = f"{case.name}-xla"
            compiled = LockstepCheck(dtypes=("float32",), modes=("xla",), **shared)
    return (*checks, compiled)
