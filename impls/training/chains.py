"""One side's walk through the links of an update, and the other's with the same inputs forced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from impls.training.sides import Side
from parity.backends import to_numpy
from parity.checks.learner import Link

Arrays = dict[str, np.ndarray]
Key = tuple[str, int]
"""A value by its name and the link that returned it; -1: a field of the batch, or a draw."""


@dataclass
class Walk:
    """What one side made of every link."""

    before: Arrays
    """Its state at the start."""
    values: dict[Key, Any]
    """What went into the links: an array, or a mapping of arrays shaped like parameters."""
    made: list[Arrays] = field(default_factory=list)
    """By link: what it returned, and the entries of the state that it writes, afterwards."""
    rest: Arrays = field(default_factory=dict)
    """Entries of the state that no link writes, at the end."""


class Chain:
    """The links, where their inputs come from, and which entries of the state they write."""

    def __init__(self, links: tuple[Link, ...], state: Mapping[str, np.ndarray]) -> None:
        self.links = links
        self.inputs: list[tuple[Key, ...]] = []
        returned: dict[str, int] = {}
        for i, link in enumerate(links):
            self.inputs.append(tuple((name, returned.get(name, -1)) for name in link.inputs))
            returned |= dict.fromkeys(link.outputs, i)
        self.written = [
            tuple(n for n in state if any(fnmatchcase(n, glob) for glob in link.writes))
            for link in links
        ]
        touched = {name for names in self.written for name in names}
        self.rest = tuple(name for name in state if name not in touched)

    def state_at(self, walk: Walk, at: int) -> Arrays:
        """The state that a link began with."""
        state = dict(walk.before)
        for made, names in zip(walk.made[:at], self.written[:at], strict=True):
            state |= {name: made[name] for name in names}
        return state

    @property
    def used(self) -> dict[Key, None]:
        """Every input of every link, once."""
        return dict.fromkeys(key for keys in self.inputs for key in keys)


class Walker:
    """Goes through the links one call at a time; those of TensorFlow as graphs."""

    def __init__(self, side: Side, chain: Chain) -> None:
        self.side, self.chain = side, chain
        self.methods = [_method(side, link.name) for link in chain.links]

    def drive(self, given: Mapping[str, np.ndarray]) -> Walk:
        """From this side's own state, each link on what the links before it have returned."""
        walk = Walk(self.side.learner.state(), {(name, -1): v for name, v in given.items()})
        self._go(walk, None)
        return walk

    def follow(self, led: Walk) -> Walk:
        """Each link on the inputs and from the state that the other side had there."""
        walk = Walk(led.before, led.values)
        self.side.learner.load_state(led.before)
        self._go(walk, led)
        return walk

    def call(self, at: int, values: Mapping[Key, Any]) -> tuple[dict[str, Any], Arrays]:
        """One link: what it returned, and the state entries that it writes, afterwards."""
        link, learner = self.chain.links[at], self.side.learner
        arguments = [tensors_of(self.side, values[key]) for key in self.chain.inputs[at]]
        returned = named(link, self.methods[at](*arguments))
        made = {name: arrays_of(learner, part) for name, part in returned.items()}
        state = learner.state() if self.chain.written[at] else {}
        return made, {name: state[name] for name in self.chain.written[at]}

    def _go(self, walk: Walk, led: Walk | None) -> None:
        learner, chain = self.side.learner, self.chain
        for i in range(len(chain.links)):
            made, wrote = self.call(i, walk.values)
            walk.made.append({**flat(made), **wrote})
            if led is None:
                walk.values |= {(name, i): value for name, value in made.items()}
            elif wrote:
                learner.load_state({**learner.state(), **{n: led.made[i][n] for n in wrote}})
        if chain.rest:
            state = learner.state()
            walk.rest = {name: state[name] for name in chain.rest}


def follower_of(side: Side, chain: Chain) -> Any:
    """What walks behind; TensorFlow in one graph, because calling it costs more than it does."""
    if side.name == "torch":
        return Walker(side, chain)
    from impls.training.tf_chains import GraphWalker

    return GraphWalker(side, chain)


def named(link: Link, returned: Any) -> dict[str, Any]:
    """What a link has returned, by the names of its outputs."""
    parts = returned if isinstance(returned, tuple) else (returned,)
    return dict(zip(link.outputs, parts, strict=False))


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings opened: ``gradients/l1/kernel``; what is None in them is left out."""
    entries: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            entries |= {f"{name}/{key}": v for key, v in value.items() if v is not None}
        else:
            entries[name] = value
    return entries


def tensors_of(side: Side, value: Any) -> Any:
    if isinstance(value, Mapping):
        return side.learner.from_canonical(value)
    return side.tensors({"value": value})["value"]


def arrays_of(learner: Any, value: Any) -> Any:
    if isinstance(value, Mapping):
        return learner.to_canonical({n: v for n, v in value.items() if v is not None})
    return to_numpy(value)


def _method(side: Side, name: str) -> Callable[..., Any]:
    method: Callable[..., Any] = getattr(side.learner, name)
    if side.name == "torch":
        return method
    import tensorflow as tf

    traced: Callable[..., Any] = tf.function(method, autograph=False)
    return traced
