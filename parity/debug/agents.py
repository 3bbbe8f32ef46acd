"""The agent door: two agents in one environment, on forced observations and free.

Forced: both agents see the same observations, and the environment takes torch's actions, so each
step is judged alone. Free: each agent lives in an environment of its own. The networks found inside
the agents are checked layer by layer, on the observations that were met.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.debug import acting, agent_causes, stepping
from parity.debug.acting import Agent
from parity.debug.rounding import rounding_tolerances
from parity.debug.subjects import Subject, call_factory
from parity.errors import InvalidInput, ParityError
from parity.report import Problem, Report, build_report
from parity.tolerance import CHAOS_ONSET
from parity.trace import Trace
from parity.verdict import Verdict

SIDES = ("torch", "tf")
STEPS = 64
"""Steps where the user names no number: enough for a few episodes' beginnings, and quick."""


@dataclass
class World:
    """The environment, and how a fresh one is had."""

    subject: Subject

    def fresh(self) -> Any:
        if self.subject.factory is not None:
            return call_factory(self.subject.factory, self.subject.label)
        return copy.deepcopy(self.subject.value)


def environment_of(given: Any) -> Subject:
    """An environment from an object, a factory, ``file.py:name`` or gymnasium's id.

    Raises:
        InvalidInput: it is none.
    """
    from parity.debug.subjects import load, resolve

    label = given if isinstance(given, str) else "environment"
    if isinstance(given, str) and ":" not in given:
        given = _registered(given)
    elif isinstance(given, str):
        given = load(given)
    subject = resolve(given, label)
    if subject.kind != "environment":
        raise InvalidInput(
            f"{label}: a {subject.kind}, not an environment; it should have reset and step"
        )
    return subject


def _registered(name: str) -> Any:
    try:
        import gymnasium
    except ImportError:
        raise InvalidInput(f"{name}: gymnasium is not installed; give file.py:name") from None
    try:
        gymnasium.spec(name)
    except Exception as error:
        text = str(error).splitlines()[0]
        raise InvalidInput(f"environment {name!r}: {text}") from None
    return lambda: gymnasium.make(name)


def check_agents(
    subjects: Mapping[str, Subject],
    environment: Any,
    *,
    steps: int | None,
    transfer: str,
    seed: int,
) -> Report:
    """Compare two agents in an environment.

    Entries: ``forced/step/<t>/action``, then ``free/step/<t>/observation``, ``action``, ``reward``,
    ``terminated``, ``truncated``. Networks that differ are problems of the report, with their
    causes.

    Raises:
        InvalidInput: an agent cannot act on the observations, or the environment refuses actions.
    """
    count = STEPS if steps is None else steps
    if count < 1:
        raise InvalidInput(f"steps={count}: a rollout has at least one step")
    world = World(environment_of(environment))
    agents = {side: acting.agent(subjects[side], side) for side in SIDES}
    leads = "tf" if agents["tf"].recorded and not agents["torch"].recorded else "torch"
    seen = observations(world, agents[leads], count, seed)
    networks = _networks(agents, seen, transfer, seed)
    driven = drive(world, agents[leads], count, seed)
    forced = {
        side: _forced(world, driven, agents[side], driven.answers if side == leads else None)
        for side in SIDES
    }
    free = {side: play(world, agents[side], count, seed) for side in SIDES}
    return _judged(subjects, agents, networks, forced, driven.met, free)


@dataclass
class Driven:
    """Where an agent's own actions led.

    Attributes:
        met: the observations, one for each step.
        answers: what it answered to them.
        begins: the steps, but the first, at which an episode begins.
    """

    met: list[Any]
    answers: list[list[Any]]
    begins: set[int]


def observations(world: World, agent: Agent, count: int, seed: int) -> list[np.ndarray]:
    """Observations for the networks; the agent's own actions lead to them."""
    if agent.recorded is not None:
        return list(agent.recorded.seen)
    environment, found = world.fresh(), []
    observation, _ = stepping.reset(environment, seed, world.subject.label)
    agent.begin()
    for t in range(min(count, 16)):
        found.append(np.asarray(observation))
        action = acting.fitting(agent.act(observation)[0], environment)
        observation, _, terminated, truncated, _ = stepping.step(
            environment, action, world.subject.label
        )
        if terminated or truncated:
            observation, _ = stepping.reset(environment, seed + t + 1, world.subject.label)
    return found


def drive(world: World, agent: Agent, count: int, seed: int) -> Driven:
    """Let an agent act in a fresh environment."""
    if agent.recorded is not None:
        return agent.recorded.driven
    environment, label = world.fresh(), world.subject.label
    observation, _ = stepping.reset(environment, seed, label)
    driven = Driven([], [], set())
    agent.begin()
    for t in range(count):
        if t in driven.begins:
            agent.begin()
        driven.met.append(observation)
        driven.answers.append(agent.act(copy.deepcopy(observation)))
        action = acting.fitting(driven.answers[-1][0], environment)
        observation, _, terminated, truncated, _ = stepping.step(environment, action, label)
        if terminated or truncated:
            driven.begins.add(t + 1)
            observation, _ = stepping.reset(environment, seed + len(driven.begins), label)
    return driven


def follow(agent: Agent, driven: Driven) -> list[list[Any]]:
    """What an agent answers to observations that another one led to.

    Raises:
        InvalidInput: it was recorded with other observations.
    """
    if agent.recorded is not None:
        return agent.recorded.answers_to(driven, agent.label)
    found = []
    agent.begin()
    for t, observation in enumerate(driven.met):
        if t in driven.begins:
            agent.begin()
        found.append(agent.act(copy.deepcopy(observation)))
    return found


def _networks(
    agents: Mapping[str, Agent], seen: Sequence[np.ndarray], transfer: str, seed: int
) -> dict[str, Report | str]:
    """The check of each network that both agents hold; a sentence where there is none."""
    from parity.debug.module_check import check_modules

    batch = np.stack(seen).astype(np.float32)
    found: dict[str, Report | str] = {}
    for name, pair in acting.paired_networks(agents).items():
        subjects = {
            side: Subject(f"{agents[side].label}.{name}", side, "module", pair[side])
            for side in SIDES
        }
        said = next((value for value in pair.values() if isinstance(value, str)), None)
        if said is not None:  # why a recording holds none
            found[name] = said
            continue
        inputs = {"observation": batch}
        try:
            found[name] = check_modules(
                subjects,
                dict.fromkeys(SIDES, inputs),
                training=False,
                transfer=transfer,
                names=None,
                seed=seed,
            )
        except ParityError as error:
            found[name] = str(error)
    return found


def _forced(
    world: World, driven: Driven, agent: Agent, answers: Sequence[Sequence[Any]] | None
) -> Trace:
    """An agent's actions on the observations, as they are compared."""
    environment, trace = world.fresh(), Trace(side=agent.side)
    for t, answer in enumerate(follow(agent, driven) if answers is None else answers):
        for i, value in enumerate(answer):
            name = "action" if i == 0 else f"extra/{i}"
            trace.add(f"forced/step/{t}/{name}", acting.plain(value, environment, i))
    return trace


def play(world: World, agent: Agent, count: int, seed: int) -> Trace:
    """An agent in an environment of its own."""
    if agent.recorded is not None:
        return agent.recorded.free
    trace = Trace(side=agent.side)
    environment, label, episode = world.fresh(), world.subject.label, 0
    observation, _ = stepping.reset(environment, seed, label)
    agent.begin()
    for t in range(count):
        scope = f"free/step/{t}"
        for name, array in stepping.leaves(observation, label).items():
            trace.add("/".join(p for p in (scope, "observation", name) if p), array)
        answer = agent.act(observation)
        trace.add(f"{scope}/action", acting.plain(answer[0], environment, 0))
        action = acting.fitting(answer[0], environment)
        observation, reward, terminated, truncated, _ = stepping.step(environment, action, label)
        trace.add(f"{scope}/reward", np.float64(np.asarray(reward).reshape(())))
        trace.add(f"{scope}/terminated", terminated)
        trace.add(f"{scope}/truncated", truncated)
        if terminated or truncated:
            episode += 1
            observation, _ = stepping.reset(environment, seed + episode, label)
            agent.begin()
    return trace


def _judged(
    subjects: Mapping[str, Subject],
    agents: Mapping[str, Agent],
    networks: Mapping[str, Report | str],
    forced: dict[str, Trace],
    met: Sequence[Any],
    free: Mapping[str, Trace],
) -> Report:
    subject: dict[str, Any] = {
        "check": "agent",
        "torch": subjects["torch"].label,
        "tf": subjects["tf"].label,
        "networks": {n: r if isinstance(r, str) else str(r.verdict) for n, r in networks.items()},
    }
    # no float64 twin of an agent: its actions are judged by what float32 can hold
    judged: dict[str, Any] = {
        "tolerances": rounding_tolerances(forced["torch"]),
        "expect_zero": ("*",),
    }
    alone = build_report(forced, **judged, subject=subject)
    problems = _network_problems(
        {n: r for n, r in networks.items() if not (alone.passed and _elsewhere(r))}
    )
    if problems:
        alone = build_report(forced, **judged, problems=problems, subject=subject)
    if not alone.passed:
        return _placed(alone.with_(causes=agent_causes.causes(agents, networks, alone, met)))
    return _placed(_with_free(alone, forced, free))


def _with_free(alone: Report, forced: Mapping[str, Trace], free: Mapping[str, Trace]) -> Report:
    """Both parts in one report; behind a parting of rounding size the free one is chaos."""
    joined = {
        side: Trace({**dict(forced[side].items()), **dict(free[side].items())}, side=side)
        for side in SIDES
    }
    tolerances = rounding_tolerances(joined["torch"])
    report = build_report(joined, tolerances=tolerances, expect_zero=("*",), subject=alone.subject)
    first = report.first_divergence
    if first is None:
        return report
    if not first.worst.structural and first.name.endswith(("observation", "action", "reward")):
        if first.worst.needed <= CHAOS_ONSET and "int" not in str(first.worst.dtypes[0]):
            return report.with_(verdict=Verdict.CHAOS)
    return report


def _elsewhere(network: Report | str) -> bool:
    """Networks that differ in their last activation only, which the other agent's code applies:
    no fault where the actions agree."""
    if isinstance(network, str) or not network.causes:
        return False
    return all(
        c.get("place") == "output" and c.get("cause") in ("activation-extra", "activation-missing")
        for c in network.causes
    )


def _network_problems(networks: Mapping[str, Report | str]) -> list[Problem]:
    return [
        Problem(
            "network",
            name,
            {"verdict": str(r.verdict), "place": r.subject.get("place") or "its parameters"},
        )
        for name, r in networks.items()
        if isinstance(r, Report) and not r.passed and r.verdict is not Verdict.LATENT
    ]


def _placed(report: Report) -> Report:
    first = report.first_divergence
    place = first.name if first is not None else None
    problems = [p for p in report.problems if p.kind == "network"]
    if problems:
        place = f"{problems[0].name}/{problems[0].details['place']}"
    return replace(report, subject={**report.subject, "place": place})
