"""Recorded agents: the networks inside, what it answered to observations, and a run of its own.

In the file: ``seen/<i>``, the observations that its networks were run on, and each network below
``network/<name>``; ``forced/<t>/observation`` and ``answer``, along its own actions or, recorded
with ``like``, along its partner's; ``free/step/<t>/...``, its own run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from parity.debug import acting, agent_causes, agents
from parity.debug.agents import STEPS, Driven, World
from parity.debug.subjects import Subject
from parity.errors import InvalidInput, ParityError
from parity.recording.layers import RecordedElsewhere
from parity.recording.modules import RecordedModule, module_of
from parity.recording.trees import Book, Scoped, as_action, as_kept, get, put
from parity.recording.whole_modules import record_whole_module
from parity.trace import Trace


def record_agent(subject: Subject, book: Book, options: Mapping[str, Any], partner: Any) -> None:
    """Let the agent act, and write what it did.

    Args:
        options: of the recording, and ``environment``.
        partner: a recording of the other side's agent: the weights and observations are taken.

    Raises:
        InvalidInput: the agent cannot act on the observations, or the environment refuses actions.
    """
    side, given = str(subject.side), options["environment"]
    count, seed = options["steps"] or STEPS, int(options["seed"])
    world = World(agents.environment_of(given))
    agent = acting.agent(subject, side)
    theirs: RecordedAgent | None = None if partner is None else partner.subject.value
    seen = agents.observations(world, agent, count, seed) if theirs is None else theirs.seen
    for index, observation in enumerate(seen):
        book.add(f"seen/{index}", observation)
    book.meta["agent"] = {
        "environment": given if isinstance(given, str) else None,
        "network": bool(agent.options.get("network")),
        "seen": len(seen),
        "networks": _networks(book, agent, partner, np.stack(seen).astype(np.float32), options),
    }
    driven = _driven(world, agent, count, seed, theirs)
    book.meta["agent"] |= {
        "met": [put(book, f"forced/{t}/observation", as_kept(o)) for t, o in enumerate(driven.met)],
        "answers": [put(book, f"forced/{t}/answer", a) for t, a in enumerate(driven.answers)],
        "begins": sorted(driven.begins),
        "draws": agent_causes.draws(agent, driven.met[0]),
    }
    for name, array in agents.play(world, agent, count, seed).items():
        book.add(name, array)


def _driven(
    world: World, agent: acting.Agent, count: int, seed: int, theirs: RecordedAgent | None
) -> Driven:
    if theirs is None:
        return agents.drive(world, agent, count, seed)
    led = theirs.driven
    return Driven(led.met, agents.follow(agent, led), led.begins)


def _networks(
    book: Book, agent: acting.Agent, partner: Any, batch: np.ndarray, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Record each network; one that cannot be is kept as the sentence that says why."""
    partners: dict[str, Any] = {}
    if partner is not None:
        other = acting.agent(partner.subject, str(partner.subject.side))
        pairs = acting.paired_networks({agent.side: agent, other.side: other})
        own = acting.networks_of(agent)
        for pair in pairs.values():
            name = next(n for n, module in own.items() if module is pair[agent.side])
            if isinstance(pair[other.side], RecordedModule):
                partners[name] = _Partner(Subject(name, other.side, "module", pair[other.side]))
    found: dict[str, Any] = {}
    for name, module in acting.networks_of(agent).items():
        part = Scoped(book, f"network/{name}")
        inner = Subject(f"{agent.label}.{name}", agent.side, "module", module)
        try:
            record_whole_module(
                inner, {"observation": batch}, part,
                {"training": False, "seed": options["seed"]}, partners.get(name),
            )  # fmt: skip
        except ParityError as error:
            part.meta = {"refused": str(error)}
        found[name] = part.meta
    return found


class _Partner:
    """As much of a recording as recording a module like it needs."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject


class RecordedAgent:
    """An agent that was recorded elsewhere: it answers what it met, and nothing else.

    Attributes:
        side, network: of which framework; whether it is a network and nothing else.
        environment: what the user called its environment; None for an object.
        seen: the observations that its networks were run on.
        networks: name -> the recorded network, or why there is none.
        driven: observations and answers.
        free: its run in an environment of its own.
        draws: it answered one observation with two actions.
    """

    def __init__(self, trace: Trace) -> None:
        facts = trace.meta["agent"]
        self.side, self.network = trace.side, bool(facts["network"])
        self.environment: str | None = facts["environment"]
        self.seen = [trace[f"seen/{index}"] for index in range(facts["seen"])]
        self.networks = {
            str(name): _network(trace, str(name), meta) for name, meta in facts["networks"].items()
        }
        met = [as_action(get(trace, tree)) for tree in facts["met"]]
        answers = [list(get(trace, tree)) for tree in facts["answers"]]
        self.driven = Driven(met, answers, {int(t) for t in facts["begins"]})
        self.draws = bool(facts["draws"])
        kept = {f"free/{name}": array for name, array in trace.under("free").items()}
        self.free = Trace(kept, side=trace.side)

    def answers_to(self, driven: Driven, label: str) -> list[list[Any]]:
        """Its answers, if these are the observations that it met.

        Raises:
            InvalidInput: it was recorded with others.
        """
        own = self.driven
        if own is not driven and (own.begins != driven.begins or not _same(own.met, driven.met)):
            raise InvalidInput(
                f"{label} was recorded with other observations: record it with --like and the "
                "other side's recording"
            )
        return own.answers


def _network(trace: Trace, name: str, meta: Mapping[str, Any]) -> RecordedModule | str:
    if "refused" in meta:
        return str(meta["refused"])
    part = Trace(trace.under(f"network/{name}"), side=trace.side, meta=meta)
    return module_of(part, trace.side, training=False)


def _same(one: list[Any], other: list[Any]) -> bool:
    left, right = Trace.from_nested(one), Trace.from_nested(other)
    return left.names == right.names and all(np.array_equal(left[n], right[n]) for n in left)


def refuse(*_: Any, **__: Any) -> NoReturn:
    """Stands where an agent's method would be."""
    raise RecordedElsewhere("this agent was recorded elsewhere and cannot act")


def agreed_agents(recordings: Mapping[str, Any], environment: Any, options: dict[str, Any]) -> Any:
    """The environment of a check with recorded agents; steps and seed are set to theirs.

    Raises:
        InvalidInput: a recording is of no agent, of other steps, or says no environment.
    """
    for recording in recordings.values():
        if not isinstance(recording.subject.value, RecordedAgent):
            raise InvalidInput(
                f"{recording.label} was recorded as a {recording.subject.kind}, without an "
                "environment: record it again with --env"
            )
        if options["steps"] not in (None, recording.steps):
            raise InvalidInput(
                f"{recording.label} was recorded with other steps; leave --steps out"
            )
        options |= {"steps": recording.steps, "seed": recording.seed}
        if environment is None:
            environment = recording.subject.value.environment
    return environment
