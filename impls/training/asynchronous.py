"""Training A3C: workers that pull, roll out and push, in an order that is drawn and written down.

Threads push in an order that no one can repeat. Here each event's worker is drawn from the run's
stream: one that holds nothing pulls; one that has pulled rolls out with what it holds, and pushes.
In between others have pushed, as with threads, but a run can be repeated and resumed bit for bit,
and both frameworks see one order. ``impls.a3c.workers`` runs the same learner in real threads and
processes, records their order, and repeats it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from impls.a3c.config import PULL, PUSH
from impls.training.loops import Loop
from impls.training.replays import graph_of
from impls.training.sides import Arrays, Side
from impls.training.worlds import Draws
from parity.backends import to_numpy

FIELDS = ("observation", "action", "reward", "next_observation", "terminated", "truncated")


class AsyncLoop(Loop):
    """One event at a time; worker w has environment w."""

    def __init__(self, side: Side, chosen: Any, config: Any, loop: Any, *rest: Any) -> None:
        super().__init__(side, chosen, config, replace(loop, environments=config.workers), *rest)
        self.order: list[tuple[int, int]] = []
        self.taken = [0] * config.workers  # steps of each worker
        self.holds = [False] * config.workers  # has pulled, and not pushed since
        self._workers = Draws(self.stream.split("interleaving"), (), "integers", config.workers)
        self._draws = self.act_draws(config.workers)
        self._act = [_acting(side, worker) for worker in side.learner.workers]

    def advance(self) -> Mapping[str, Any]:
        """One event; what a push returned, or nothing."""
        worker = int(self._workers[len(self.order)])
        event = PUSH if self.holds[worker] else PULL
        self.holds[worker] = event == PULL
        self.order.append((worker, event))
        if event == PULL:
            self.side.learner.pull(worker)
            return {}
        batch = self._rollout(worker)
        draws = {"worker": np.array(worker, np.int64), "event": np.array(event, np.int64)}
        return self.learn(self.side.tensors(batch), self.side.tensors(draws))

    def _rollout(self, worker: int) -> dict[str, np.ndarray]:
        """Steps of one worker's environment with what it holds: [T, 1, ...] each."""
        steps = [self._step(worker) for _ in range(self.loop.rollout)]
        batch = {name: np.stack([step[name] for step in steps])[:, None] for name in FIELDS}
        batch["reward"] = batch["reward"] * np.float32(self.loop.reward_scale)
        return batch

    def _step(self, worker: int) -> dict[str, np.ndarray]:
        seen = self.worlds[worker].observation[None].astype(np.float32)
        row, own = self.taken[worker], slice(worker, worker + 1)
        made = self._act[worker](seen, {n: rows[row][own] for n, rows in self._draws.items()})
        self.taken[worker] += 1
        shown = made.get("clipped_action", made["action"])[0]
        before, reward, after, terminated, truncated = self.take(worker, shown)
        self.step += 1
        return {
            "observation": before.astype(np.float32),
            "action": made["action"][0],
            "reward": np.array(reward, np.float32),
            "next_observation": after.astype(np.float32),
            "terminated": np.array(terminated),
            "truncated": np.array(truncated),
        }

    def state(self) -> dict[str, np.ndarray]:
        order = np.array(self.order, np.int64).reshape(-1, 2)
        taken = np.array(self.taken, np.int64)
        return {**super().state(), "loop/order": order, "loop/taken": taken}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        super().load_state(state)
        self.order = [(int(worker), int(event)) for worker, event in state["loop/order"]]
        self.taken = [int(n) for n in state["loop/taken"]]
        self.holds = [False] * len(self.taken)
        for worker, event in self.order:
            self.holds[worker] = event == PULL


def _acting(side: Side, worker: Any) -> Callable[[np.ndarray, Arrays], dict[str, np.ndarray]]:
    """What a worker does with the parameters that it holds."""
    run = graph_of(side, worker.act)

    def act(observation: np.ndarray, draws: Arrays) -> dict[str, np.ndarray]:
        made = run(side.tensors({"seen": observation})["seen"], side.tensors(draws))
        return {name: to_numpy(value) for name, value in made.items()}

    return act
