"""Training DQN from n-step transitions, from prioritized replay, or from both."""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from impls.errors import ConfigError
from impls.n_step_replay.config import NStepReplayConfig
from impls.prioritized_replay.config import PrioritizedReplayConfig
from impls.replay_buffer.config import ReplayBufferConfig
from impls.training.loops import Loop, below
from impls.training.off_policy import OffPolicyLoop, slots
from impls.training.sides import Arrays, Side
from parity.backends import to_numpy
from parity.component import SIBLINGS


class Replay:
    """A buffer of one framework, with what a loop asks of it.

    Attributes:
        held: the buffer's configuration.
        stored: transitions that can be sampled.
    """

    component = ""

    def __init__(self, side: Side, config: Any) -> None:
        self.side, self.held, self.stored = side, config, 0
        self.impl = importlib.import_module(f"impls.{self.component}.{SIBLINGS[side.name]}")
        kind = getattr(self.impl, "".join(part.title() for part in self.component.split("_")))
        self.buffer = kind(config, dtype=side.learner.dtype)
        self._sample = graph_of(side, self.buffer.sample)

    def add(self, rows: Arrays) -> None:
        """One step of all environments."""
        raise NotImplementedError

    def sample(self, drawn: np.ndarray, share: float) -> dict[str, Any]:
        """A batch.

        Args:
            drawn: uniform numbers of [0, 1), one per row.
            share: of the training that is over.
        """
        raise NotImplementedError

    def learned(self, made: Mapping[str, Any]) -> None:
        """What the update on the last batch has returned."""

    def state(self) -> dict[str, np.ndarray]:
        """Everything; of what has a row per slot, the filled ones."""
        whole = {name: to_numpy(value) for name, value in self.buffer.state().items()}
        return {n: v[: self.stored] if self._per_slot(n, v) else v for n, v in whole.items()}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.stored, whole = int(state["size"]), {}
        for name, value in self.buffer.state().items():
            there = to_numpy(value)
            whole[name] = state[name]
            if self._per_slot(name, there):
                whole[name] = np.zeros(there.shape, there.dtype)
                whole[name][: self.stored] = state[name]
        self.buffer.load_state(whole)

    def _per_slot(self, name: str, value: np.ndarray) -> bool:
        return value.ndim > 0 and not name.startswith("window/")


class NStep(Replay):
    """Sums of n rewards, sampled uniformly."""

    component = "n_step_replay"

    def __init__(self, side: Side, config: NStepReplayConfig) -> None:
        super().__init__(side, config)
        self._seen = 0
        self._add = graph_of(side, self.buffer.add)

    def add(self, rows: Arrays) -> None:
        self._add(self.side.tensors(rows))
        self._seen += 1
        whole = max(self._seen - self.held.steps + 1, 0) * self.held.environments
        self.stored = min(whole, self.held.capacity)

    def sample(self, drawn: np.ndarray, share: float) -> dict[str, Any]:
        indices = slots(drawn, self.stored)
        made: dict[str, Any] = self._sample(self.side.tensors({"indices": indices})["indices"])
        return made

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        super().load_state(state)
        self._seen = int(state["seen"])


class Prioritized(Replay):
    """Sampled in proportion to the last TD error; rows have a ``weight``.

    With ``n`` above 1 the transitions are n-step ones: the last n steps wait in a window.
    """

    component = "prioritized_replay"

    def __init__(
        self, side: Side, config: PrioritizedReplayConfig, n: int, gamma: float, beta: float
    ) -> None:
        super().__init__(side, config)
        self.n, self.gamma, self.beta = n, gamma, beta
        self.window: deque[Arrays] = deque(maxlen=n)
        self._add = graph_of(side, self.buffer.add_batch)
        self._draw, self._weights = (graph_of(side, f) for f in (self.buffer.draw, self._weighted))
        self._update = graph_of(side, self.buffer.update_priorities)
        self._indices: Any = None
        steps = importlib.import_module(f"impls.n_step_replay.{SIBLINGS[side.name]}")
        self._sum: Callable[..., Any] = steps.n_step_transitions

    def add(self, rows: Arrays) -> None:
        self.window.append(rows)
        if len(self.window) < self.n:
            return
        tensors = self.side.tensors(rows)
        if self.n > 1:
            names = ("reward", "next_observation", "terminated", "truncated")
            stacked = {name: np.stack([step[name] for step in self.window]) for name in names}
            first = {name: self.window[0][name] for name in ("observation", "action")}
            made = self._sum(**self.side.tensors(stacked), gamma=self.gamma)
            tensors = {**self.side.tensors(first), **made}
        self._add(tensors)
        self.stored = min(self.stored + len(rows["reward"]), self.held.capacity)

    def sample(self, drawn: np.ndarray, share: float) -> dict[str, Any]:
        beta = np.array(self.beta + (1.0 - self.beta) * share)
        given = self.side.tensors({"uniforms": drawn, "beta": beta})
        self._indices = self._draw(given["uniforms"])
        weight = self._weights(self._indices, given["beta"])
        return {**self._sample(self._indices), "weight": weight}

    def learned(self, made: Mapping[str, Any]) -> None:
        self._update(self._indices, made["td_error"])

    def state(self) -> dict[str, np.ndarray]:
        waiting = {f"waiting/{i}/{n}": v for i, rows in enumerate(self.window)
                   for n, v in rows.items()}  # fmt: skip
        return {**super().state(), **waiting}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        super().load_state(state)
        self.window.clear()
        while rows := below(f"waiting/{len(self.window)}/", state):
            self.window.append(rows)

    def _weighted(self, indices: Any, beta: Any) -> Any:
        return self.buffer.weights(indices, beta)


class ReplayLoop(OffPolicyLoop):
    """As its parent, with one of these buffers.

    They are sampled before the update, in graphs of their own. A prioritized one is written to
    after it, in the slots that were drawn, so that these have to be there outside of its graph; and
    the rows of both are stored in every step, so that none wait to be stored with the update.
    """

    buffer: Replay

    def make_buffer(self, config: ReplayBufferConfig) -> Replay:
        n, gamma, loop = self.config.n_step, self.config.gamma, self.loop
        first = max(loop.learning_starts, loop.batch_size)
        if n * self.count > first:
            raise ConfigError(
                f"n_step={n} of {self.count} environments: more steps than the {first} before the "
                "first update"
            )
        sizes = (config.capacity, config.observation_shape, config.action_shape)
        if not loop.prioritized:
            whole = NStepReplayConfig(*sizes, config.action_dtype, n, self.count, gamma)
            return NStep(self.side, whole)
        prioritized = PrioritizedReplayConfig(
            *sizes, config.action_dtype, alpha=loop.priority_alpha, with_steps=n > 1
        )
        return Prioritized(self.side, prioritized, n, gamma, loop.priority_beta)

    def _update(self) -> Mapping[str, Any]:
        drawn = self._indices[self.updates]
        batch = self.buffer.sample(drawn, min(self.step / self.loop.steps, 1.0))
        made = self.learn(batch, {})
        self.buffer.learned(made)
        return made

    def state(self) -> dict[str, np.ndarray]:
        held = {f"buffer/{name}": value for name, value in self.buffer.state().items()}
        return {**Loop.state(self), **held}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        Loop.load_state(self, state)
        self.buffer.load_state(below("buffer/", state))


def graph_of(side: Side, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as the side runs what it calls in every step."""
    if side.name != "tf" or not side.compiled:  # type: ignore[attr-defined]
        return function
    from impls.learner.graphs_tf import Graphs

    return Graphs(function)
