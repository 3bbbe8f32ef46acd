"""The checks that every learner from rollouts has: each link, lockstep, and composed updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from impls.learner.check_cases import Case, slower
from impls.learner.on_policy import GROUP, OnPolicyConfig, initial_state
from impls.learner.rollout_cases import Examples, away_from_start
from parity.checks.learner import Link
from parity.checks.training import LinkCheck, LockstepCheck, UpdateSequenceCheck
from parity.component import DTYPES, Check
from parity.tolerance import Tolerance

TRACES = 1
"""Graphs of a compiled learner; of PPO, the links of a minibatch."""


CHANGES = {2: slower(GROUP)}
"""The learning rate changes while a compiled update is in use."""


def case(
    name: str,
    config: OnPolicyConfig,
    examples: Examples,
    needs: tuple[str, ...] = (),
    dtypes: tuple[str, ...] = DTYPES,
) -> Case:
    """A configuration with its data, and a starting state that no mistake hides in."""
    state = away_from_start(initial_state, config)
    return Case(name, config, examples, state, needs, dtypes=dtypes)


def rollout_checks(
    cases: Sequence[Case],
    links: Callable[[Any], tuple[Link, ...]],
    *,
    composed: Sequence[tuple[Case, tuple[str, ...]]],
    updates: int,
    tolerances: Mapping[str, Mapping[str, Tolerance]],
) -> tuple[Check, ...]:
    """Every link of every case, then lockstep of every case, then the composed updates.

    Args:
        links: configuration -> the update as a chain.
        composed: cases that run freely, each with its modes.
        updates: of a composed check.
        tolerances: of the composed checks.
    """
    chain = (
        LinkCheck(
            name=link.name,
            links=links(case.config),
            at=(0, 2),
            dtypes=case.dtypes,
            **case.common(),
        )
        for case in cases
        for link in links(case.config)
    )
    lockstep = (
        LockstepCheck(
            name="update", traces=TRACES, changes=CHANGES, dtypes=case.dtypes, **case.common()
        )
        for case in cases
    )
    free = (
        UpdateSequenceCheck(
            name="update",
            traces=TRACES,
            updates=updates,
            dtypes=("float64",),
            modes=modes,
            changes=CHANGES,
            tolerances=tolerances,
            **case.common(),
        )
        for case, modes in composed
    )
    return (*chain, *lockstep, *free)
