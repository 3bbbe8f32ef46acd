"""Recorded environments: what one answered to a list of actions, from a seed.

In the file: ``actions/<t>``; the rollout, ``reset/...`` and ``step/<t>/...``, as
:mod:`parity.debug.stepping` names it; ``space/...``, what the spaces declare; ``start/<k>/...``,
the first observations from the seeds that follow; ``setting/<i>/...``, the numbers that wrapper
``i`` holds (the last is the bare environment). The stand-in answers the recorded actions only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from parity.debug import environment_settings as setup
from parity.debug import stepping
from parity.debug.environments import Side, chosen_actions, unsteady_entries
from parity.debug.stepping import Rollout
from parity.debug.subjects import Subject
from parity.errors import InvalidInput
from parity.recording.layers import RecordedElsewhere
from parity.recording.trees import Book, as_action, as_kept, get, put
from parity.trace import Trace

STARTS = 3
"""Seeds whose first observation is kept: they tell whether the seed is used at all."""
BOUNDS = ("low", "high", "n", "nvec", "start", "shape")


def record_environment(
    subject: Subject,
    inputs: Mapping[str, np.ndarray] | None,
    book: Book,
    options: Mapping[str, Any],
    partner: Any,
) -> None:
    """Step the environment and write what it answered.

    Args:
        inputs: the actions, one row for each step; drawn from its own space where None.
        partner: a recording of the other side, whose actions are taken.

    Raises:
        InvalidInput: it cannot be reset or stepped, or no actions can be drawn.
    """
    side = Side(subject.label, subject, subject.value)
    seed, remade = int(options["seed"]), side.again()
    if partner is not None:
        actions: list[Any] = list(partner.subject.value.actions)
    else:
        actions = chosen_actions({str(subject.side): side}, inputs, options["steps"], seed)
    book.meta["actions"] = [put(book, f"actions/{t}", as_kept(a)) for t, a in enumerate(actions)]
    book.meta["layers"] = [_layer(book, i, e) for i, e in enumerate(stepping.chain(side.first))]
    for name, array in stepping.spaces(side.first):
        book.add(f"space/{name}", array)
    environment = side.fresh() if remade else side.first
    rollout = stepping.run(environment, actions, seed=seed, label=side.label)
    for name, array in rollout.trace.items():
        book.add(name, array)
    book.meta["rollout"] = {
        "entries": list(rollout.trace), "ends": rollout.ends, "stopped": rollout.stopped
    }  # fmt: skip
    book.meta["remade"] = remade
    book.meta["unsteady"] = unsteady_entries(side, actions, rollout, seed) if remade else []
    book.meta["seeding"] = side.seeding(seed) if remade else {}
    book.meta["starts"] = list(_starts(book, side, actions, seed)) if remade else []


def _starts(book: Book, side: Side, actions: Sequence[Any], seed: int) -> Iterator[list[str]]:
    """The first observation from each of some seeds."""
    for k in range(STARTS):
        rollout = stepping.run(side.fresh(), actions[:1], seed=seed + k, label=side.label)
        names = [name for name in rollout.trace if name.startswith("reset/observation")]
        for name in names:
            book.add(f"start/{k}/{name}", rollout.trace[name])
        yield names


def _layer(book: Book, index: int, owner: Any) -> dict[str, Any]:
    """A wrapper, or the bare environment: its class, its numbers, its spaces' bounds."""
    held: dict[str, str] = {}
    for name, value in setup.numbers(owner):
        held[name] = entry = f"setting/{index}/{name}"
        book.add(entry, np.asarray(value))
    spaces: dict[str, dict[str, Any]] = {}
    for which in ("observation_space", "action_space"):
        space = getattr(owner, which, None)
        facts: dict[str, Any] = {"kind": type(space).__name__}
        for name in BOUNDS:
            with suppress(Exception):  # an object of the user's own may answer with anything
                array = np.asarray(getattr(space, name))
                if array.dtype.kind in "biuf":
                    facts[name] = entry = f"setting/{index}/{which}/{name}"
                    book.add(entry, array)
        if space is not None:
            spaces[which] = {**facts, "dtype": str(getattr(space, "dtype", ""))}
    limit = getattr(getattr(owner, "spec", None), "max_episode_steps", None)
    limit = limit if isinstance(limit, int) else None
    return {"class": type(owner).__name__, "numbers": held, "spaces": spaces, "limit": limit}


class RecordedEnvironment:
    """An environment that was recorded elsewhere: its settings can be read, it cannot be stepped.

    Attributes:
        actions: the recorded ones.
        rollout: what it answered to them.
        unsteady: entries that were others in a second run.
        seeding: what its resets do with their seed (``parity.debug.environment_seeding``).
    """

    def __init__(self, trace: Trace) -> None:
        meta = trace.meta
        self.trace, self.remade = trace, bool(meta["remade"])
        self.unsteady = [str(name) for name in meta["unsteady"]]
        self.actions = [as_action(get(trace, action)) for action in meta["actions"]]
        facts = meta["rollout"]
        entries = {name: trace[name] for name in facts["entries"]}
        ends = [int(t) for t in facts["ends"]]
        kept = Trace(entries, side=trace.side)
        self.rollout = Rollout(kept, ends, str(facts["stopped"]))
        self.seeding = {str(n): bool(is_so) for n, is_so in meta.get("seeding", {}).items()}
        self.starts = [[str(name) for name in names] for names in meta["starts"]]
        self.top = _stand_in(trace, meta["layers"])

    def spaces(self) -> Iterator[tuple[str, np.ndarray]]:
        """What the spaces declare."""
        yield from self.trace.under("space").items()

    def start(self, k: int) -> Rollout:
        """The first observation from the seed ``k`` behind the recorded one."""
        entries = {name: self.trace[f"start/{k}/{name}"] for name in self.starts[k]}
        return Rollout(Trace(entries, side=self.trace.side))


class RecordedSide(Side):
    """A recorded environment as a side of the check."""

    def __init__(self, label: str, subject: Subject, seed: int) -> None:
        self.recorded: RecordedEnvironment = subject.value
        super().__init__(label, subject, self.recorded.top)
        self.seed = seed

    def fresh(self) -> Any:
        return self.recorded.top

    def spare(self) -> Any:
        raise RecordedElsewhere(f"{self.label} was recorded elsewhere and cannot be changed")

    def again(self) -> bool:
        return self.recorded.remade

    def spaces(self) -> Iterator[tuple[str, np.ndarray]]:
        return self.recorded.spaces()

    def run(self, environment: Any, actions: Sequence[Any], seed: int, name: str = "") -> Rollout:
        """The recorded answers.

        Raises:
            RecordedElsewhere: to other actions, from another seed, or of a changed environment.
        """
        own = self.recorded.actions
        if environment is self.recorded.top:
            if seed == self.seed and _same(actions, own):
                return self.recorded.rollout
            known = len(self.recorded.starts)
            if 0 <= seed - self.seed < known and _same(actions, own[:1]):
                return self.recorded.start(seed - self.seed)
        raise RecordedElsewhere(f"{self.label} was recorded elsewhere and cannot be stepped anew")

    def seeding(self, seed: int) -> dict[str, bool]:
        return self.recorded.seeding if seed == self.seed else {}

    def unsteady(self, actions: Sequence[Any], rollout: Rollout, seed: int) -> list[str]:
        return self.recorded.unsteady


def agreed_actions(sides: Mapping[str, Side]) -> list[Any] | None:
    """The recorded actions; None where no side is a recording.

    Raises:
        InvalidInput: two recordings were given different ones.
    """
    recorded = [side for side in sides.values() if isinstance(side, RecordedSide)]
    if not recorded:
        return None
    first, *others = recorded
    for other in others:
        if not _same(first.recorded.actions, other.recorded.actions):
            raise InvalidInput(
                f"{first.label} and {other.label} were recorded with different actions; record "
                f"the second with --like {first.label}"
            )
    return first.recorded.actions


def _same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    if one is other:
        return True
    left, right = (Trace.from_nested(list(actions)) for actions in (one, other))
    return left.names == right.names and all(np.array_equal(left[n], right[n]) for n in left)


class _Space:
    """What is asked of a space: its kind (the class's name), sizes and bounds."""


def _stand_in(trace: Trace, layers: Sequence[Mapping[str, Any]]) -> Any:
    inner = None
    for facts in reversed(layers):
        made = type(str(facts["class"]), (_Elsewhere,), {})()
        held = {name: _plain(trace[entry]) for name, entry in facts["numbers"].items()}
        vars(made).update(held)
        for which, space in facts["spaces"].items():
            vars(made)[which] = _space(trace, space)
        if facts["limit"] is not None:
            vars(made)["spec"] = type("Spec", (), {"max_episode_steps": facts["limit"]})()
        if inner is not None:
            vars(made)["env"] = inner
        inner = made
    return inner


def _space(trace: Trace, facts: Mapping[str, Any]) -> Any:
    made = type(str(facts["kind"]), (_Space,), {})()
    for name in BOUNDS:
        if name in facts:
            value = _plain(trace[facts[name]])
            vars(made)[name] = tuple(np.ravel(value).tolist()) if name == "shape" else value
    if facts["dtype"]:
        with suppress(TypeError):
            vars(made)["dtype"] = np.dtype(facts["dtype"])
    return made


def _plain(array: np.ndarray) -> Any:
    return array.item() if array.ndim == 0 else array


class _Elsewhere:
    """An environment of this class was recorded."""

    def reset(self, seed: int | None = None) -> Any:
        raise RecordedElsewhere("this environment was recorded elsewhere and cannot be reset")

    def step(self, action: Any) -> Any:
        raise RecordedElsewhere("this environment was recorded elsewhere and cannot be stepped")
