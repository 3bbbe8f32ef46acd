"""Why two agents act differently: their networks, noise, changed actions or observations."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from parity.debug import agent_observations
from parity.debug.acting import Agent
from parity.diagnose.causes import CAUSES
from parity.report import Report
from parity.tolerance import ACTION_RELATION
from parity.trace import flatten

SIDES = ("torch", "tf")


def causes(
    agents: Mapping[str, Agent],
    networks: Mapping[str, Report | str],
    report: Report,
    met: Sequence[Any],
) -> tuple[Mapping[str, Any], ...]:
    """The causes that fit, those of the networks first."""
    found: list[Mapping[str, Any]] = []
    for name, inner in networks.items():
        if isinstance(inner, Report) and not inner.passed:
            found += [{**c, "text": f"{name}: {c.get('text', '')}"} for c in inner.causes]
    first = report.first_divergence
    if first is None:
        return tuple(found)
    for side in SIDES:
        if draws(agents[side], met[0]):
            text = f"the {side} agent answers one observation with two actions"
            return (_cause("agent-noise", text), *found)
    related = _action_relation(report, agents, met)
    if found or related:
        return (*found, *related)
    return tuple(_observation_relation(agents, met))


def _observation_relation(
    agents: Mapping[str, Agent], met: Sequence[Any]
) -> Iterator[dict[str, Any]]:
    """What one agent does to its observations and the other does not."""
    found = agent_observations.difference(agents, met)
    if found is None:
        return
    doer, text, before, after = found
    other = "tf" if doer == "torch" else "torch"
    moved = "transpose" in text or "backwards" in text
    cause = "missing-operation" if doer == "torch" else "extra-operation"
    said = f"{doer} acts on {text}, {other} on the observation as it is"
    made = _cause("observation-layout" if moved else cause, said, before=before, after=after)
    yield {**made, "fix": f"do the same on the {other} side before the network: {text}"}


def draws(agent: Agent, observation: Any) -> bool:
    """Whether it answers one observation with two actions."""
    if agent.recorded is not None:
        return agent.recorded.draws
    answers = []
    for _ in range(2):
        agent.begin()
        made = agent.act(copy.deepcopy(observation))
        answers.append([np.asarray(leaf) for _, leaf in flatten(list(made))])
    return any(not np.array_equal(a, b) for a, b in zip(*answers, strict=False))


def _again(agent: Agent, met: Sequence[Any]) -> list[list[Any]]:
    if agent.recorded is not None:
        return agent.recorded.driven.answers
    return [agent.act(copy.deepcopy(observation)) for observation in met]


def _cause(name: str, text: str, **numbers: float) -> dict[str, Any]:
    info = CAUSES[name]
    return {"cause": name, "text": text, **numbers, "fix": info.fix, "docs": info.link}


def _action_relation(
    report: Report, agents: Mapping[str, Agent], met: Sequence[Any]
) -> list[Mapping[str, Any]]:
    """How tf's actions follow from torch's on the same observations."""
    from parity.debug.environment_series import relation

    rows = {side: [np.asarray(a[0]) for a in _again(agents[side], met)] for side in SIDES}
    if len({a.shape for series in rows.values() for a in series}) != 1:
        return []
    left, right = (np.stack(rows[side]) for side in SIDES)
    found = relation("action", left, right, ACTION_RELATION)
    if found is None:
        return list(_squashed(left, right))
    known = found.cause if found.cause in CAUSES else "relation"
    gap = float(np.abs(left.astype(np.float64) - right).max())
    return [_cause(known, found.text, before=gap, after=found.after)]


_SQUASHING: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tanh": np.tanh,
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "exp": np.exp,
    "softmax": lambda x: (
        np.exp(x - x.max(-1, keepdims=True))
        / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)
    ),
}


def _squashed(left: np.ndarray, right: np.ndarray) -> Iterator[dict[str, Any]]:
    """A function that one side applies to its action and the other does not."""
    a, b = (np.asarray(x, np.float64) for x in (left, right))
    for name, function in _SQUASHING.items():
        for doer, done, raw in (("torch", a, b), ("tf", b, a)):
            if raw.ndim < 1 or done.shape != raw.shape:
                continue
            with np.errstate(all="ignore"):
                after = float(np.abs(function(raw) - done).max())
            if after <= ACTION_RELATION * max(1.0, float(np.abs(done).max())):
                other = "tf" if doer == "torch" else "torch"
                cause = "missing-operation" if doer == "torch" else "extra-operation"
                text = f"{doer}'s action is the {name} of {other}'s, which leaves it out"
                yield _cause(cause, text, before=float(np.abs(a - b).max()), after=after)
                return
