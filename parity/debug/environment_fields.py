"""A field of the steps that differs by itself, explained by its own series; who ends an episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from parity.compare import compare_arrays
from parity.debug.environment_series import Relation, relation
from parity.debug.environment_trials import SIDES, Cause, cause_of
from parity.debug.stepping import split
from parity.tolerance import default_tolerance, relation_bound

if TYPE_CHECKING:
    from parity.debug.environments import Bench

FEWEST = 4
"""Steps that a relation must hold on; any two numbers are a multiple of each other."""


def by_fields(bench: Bench) -> list[Cause]:
    """A cause for each field that differs by itself, as far as the episodes run together."""
    torch, tf = (bench.rollouts[side].trace for side in SIDES)
    found: list[Cause] = []
    fields: dict[str, None] = {}
    for entry in bench.report.failing:
        if not entry.name.startswith("space/"):
            fields.setdefault(split(entry.name)[1].removeprefix("reset/"))
    ends = _ends(bench) if {"terminated", "truncated"} & set(fields) else None
    if ends is not None:
        found.append(ends)
    for field in fields:
        if field in ("terminated", "truncated"):
            continue
        horizon = _horizon(bench, field)
        names = [n for n in torch.names if split(n)[1] == field and split(n)[0] <= horizon]
        pairs = [(torch[n], tf[n]) for n in names if n in tf]
        if len(pairs) < min(FEWEST, len(bench.actions)) or any(
            a.shape != pairs[0][0].shape for a, _ in pairs
        ):
            continue
        left, right = (np.stack([p[i] for p in pairs]) for i in (0, 1))
        fitting = _explained(bench, field, names, left, right)
        if fitting is None:
            continue
        same = left.shape == right.shape
        gap = np.abs(left.astype(np.float64) - right.astype(np.float64)).max() if same else None
        after = fitting.after if same else None
        before = None if gap is None else float(gap)
        found.append(cause_of(fitting.cause, fitting.text, before=before, after=after))
    return found


def _horizon(bench: Bench, field: str) -> int:
    """The last step up to which the sides do the same, this field left aside."""
    torch, tf = (bench.rollouts[side].trace for side in SIDES)
    last = -1
    ended: set[int] = set()
    for name, array in torch.items():
        step, kind = split(name)
        plain = kind.startswith("observation") and kind != field
        flags = kind in ("terminated", "truncated")
        if name not in tf:
            return last
        if plain and not field.startswith("observation") and array.shape == tf[name].shape:
            d = compare_arrays(
                array, tf[name], tolerance=default_tolerance(str(array.dtype)), check_dtype=False
            )
            if not d.agrees and not field.startswith("info"):
                return last
        if flags and bool(array) != bool(tf[name]):
            ended ^= {step}
        if kind == "truncated" and step in ended:
            return step
        last = max(last, step)
    return last


def _explained(
    bench: Bench, field: str, names: Sequence[str], left: np.ndarray, right: np.ndarray
) -> Relation | None:
    bound = relation_bound(left.dtype, right.dtype)
    if left.shape == right.shape and left.dtype != right.dtype and np.array_equal(left, right):
        text = f"the {field} is {left.dtype} in torch, {right.dtype} in tf"
        return Relation("dtype", text, 0.0)
    if left.shape == right.shape:
        steps = [split(n)[0] for n in names]
        apart = [t for t, a, b in zip(steps, left, right, strict=True) if not np.array_equal(a, b)]
        ends = set(bench.rollouts["torch"].ends) & set(bench.rollouts["tf"].ends)
        if apart and set(apart) <= ends and len(steps) > len(apart):
            return _only_at_ends(bench, field)
    ended = {t + 1 for rollout in bench.rollouts.values() for t in rollout.ends}
    begins = {row for row, name in enumerate(names) if split(name)[0] in ended}
    return relation(field, left, right, bound, begins)


def _only_at_ends(bench: Bench, field: str) -> Relation:
    if field.startswith("observation"):
        text = (
            "the observation differs at the ends of episodes only: one side returns the first "
            "observation of the next episode there"
        )
        return Relation("autoreset", text, 0.0)
    return Relation("terminal-step", f"the {field} differs in the last step of episodes only", 0.0)


def _ends(bench: Bench) -> Cause | None:
    """What the two flags of an episode's end say."""
    torch, tf = (bench.rollouts[side].trace for side in SIDES)
    for t in range(min(len(bench.actions), _horizon(bench, "terminated") + 1)):
        names = [f"step/{t}/{flag}" for flag in ("terminated", "truncated")]
        if any(n not in torch or n not in tf for n in names):
            return None
        left, right = ([bool(trace[n]) for n in names] for trace in (torch, tf))
        if left == right:
            continue
        if any(left) and any(right):
            return _flags(t, left, right)
        return _limit(bench, t, "torch" if any(left) else "tf")
    return None


def _flags(t: int, left: Sequence[bool], right: Sequence[bool]) -> Cause:
    says = ("terminated", "truncated")
    both = [
        " and ".join(n for n, on in zip(says, flags, strict=True) if on) for flags in (left, right)
    ]
    text = f"the episode that ends in step {t} is {both[0]} in torch, {both[1]} in tf"
    fix = "report a time limit as truncated and bootstrap there; terminated is an end of the task"
    return cause_of("truncation-as-termination", text, before=1.0, after=0.0, fix=fix)


def _limit(bench: Bench, t: int, early: str) -> Cause | None:
    """One side's episodes are longer; a limit where the lengths of all are one number."""
    late = "tf" if early == "torch" else "torch"
    start = max([e for e in bench.rollouts[early].ends if e < t], default=-1)
    length = t - start
    following = next((e for e in bench.rollouts[late].ends if e > t), None)
    flag = "truncated" if bool(bench.rollouts[early].trace[f"step/{t}/truncated"]) else "terminated"
    theirs = "does not within this check" if following is None else (
        f"ends after {following - start} steps"
    )  # fmt: skip
    text = f"an episode of {early} is {flag} after {length} steps, {late}'s {theirs}"
    if following is not None and following - t == 1:
        return cause_of("off-by-one", f"{text}: one step apart")
    return cause_of("time-limit" if flag == "truncated" else "end-condition", text)
