"""What both kinds of training loop have in common."""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from impls.training.registry import Algorithm, LoopConfig
from impls.training.sides import Side
from impls.training.worlds import Draws, World
from parity.random import Stream

Update = Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]]
RECENT = 20
"""Episodes whose mean the log shows."""


class Loop:
    """Environments, a learner, and everything that training has to remember.

    Attributes:
        step: environment steps made, over all environments.
        updates: updates made.
        episodes: episodes finished.
        recent: scores of the last episodes.
        on_update: called in place of the side's update, where someone wants to look at it.
    """

    def __init__(
        self, side: Side, chosen: Algorithm, config: Any, loop: LoopConfig, env_id: str, seed: int
    ) -> None:
        self.side, self.chosen, self.config, self.loop = side, chosen, config, loop
        self.stream = Stream(seed)
        key = self.stream.split("environment")
        self.worlds = [World(env_id, key, i) for i in range(loop.environments)]
        self.env = self.worlds[0].env
        self.step = self.updates = self.episodes = 0
        self.recent: deque[float] = deque(maxlen=RECENT)
        self.on_update: Update = side.update
        initial = importlib.import_module(f"impls.{chosen.name}.config").initial_state
        # the only generator of NumPy's own: initial states take one; its seed is of the stream
        seed_of_weights = self.stream.split("weights").environment_seed()
        side.learner.load_state(initial(config, np.random.default_rng(seed_of_weights)))
        self._rates = {
            name.removeprefix("learning_rate/"): float(value)
            for name, value in side.learner.state().items()
            if name.startswith("learning_rate/")
        }

    def advance(self) -> Mapping[str, Any]:
        """Go on by the smallest amount; what the last update returned, or nothing."""
        raise NotImplementedError

    def state(self) -> dict[str, np.ndarray]:
        """Everything, by name."""
        counts = np.array([self.step, self.updates, self.episodes], np.int64)
        state = {"loop/counts": counts, "loop/recent": np.array(self.recent, np.float64)}
        state |= {f"learner/{n}": v for n, v in self.side.learner.state().items()}
        for i, world in enumerate(self.worlds):
            state |= {f"world/{i}/{n}": v for n, v in world.state().items()}
        return state

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.step, self.updates, self.episodes = (int(n) for n in state["loop/counts"])
        self.recent = deque(state["loop/recent"].tolist(), maxlen=RECENT)
        self.side.learner.load_state(below("learner/", state))
        for i, world in enumerate(self.worlds):
            world.load_state(below(f"world/{i}/", state))

    def close(self) -> None:
        for world in self.worlds:
            world.close()

    def act_draws(self, environments: int) -> dict[str, Draws]:
        """Rows of what ``act`` takes, by the count of its calls."""
        key = self.stream.split("exploration")
        if not self.env.discrete:
            shape = (environments, self.env.action_size)
            return {"noise": Draws(key.split("noise"), shape, "normal")}
        drawn = {"uniform": Draws(key.split("uniform"), (environments,), "uniform")}
        if self.chosen.name == "dqn":
            drawn["random_action"] = Draws(
                key.split("random-action"), (environments,), "integers", self.env.action_size
            )
        return drawn

    def take(self, index: int, action: Any) -> tuple[np.ndarray, float, np.ndarray, bool, bool]:
        """Step one environment and keep the books; the reward is the environment's own."""
        world = self.worlds[index]
        result = world.step(action)
        if result[3] or result[4]:
            self.episodes += 1
            self.recent.append(world.finished)
        return result

    def learn(self, batch: Mapping[str, Any], draws: Mapping[str, Any]) -> Mapping[str, Any]:
        """One update, with the learning rates that belong to this step."""
        if self.loop.learning_rate_end != 1.0:
            done = min(self.step / self.loop.steps, 1.0)
            share = 1.0 + (self.loop.learning_rate_end - 1.0) * done
            for group, rate in self._rates.items():
                self.side.learner.set_learning_rate(group, rate * share)
        self.updates += 1
        return self.on_update(batch, draws)


def below(prefix: str, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The entries under a prefix, without it."""
    return {n[len(prefix) :]: v for n, v in state.items() if n.startswith(prefix)}
