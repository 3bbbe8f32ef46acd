"""A learner in PyTorch, as the training loops use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from impls.exploration import torch_impl as exploration_
from impls.learner.graphs_torch import Source
from impls.replay_buffer import torch_impl as replay_buffer
from impls.replay_buffer.config import ReplayBufferConfig
from impls.training.sides import Arrays, Buffer


class TorchSide:
    name = "torch"

    def __init__(self, learner: Any, dtype: str, exploration: float) -> None:
        self.learner, self.dtype, self.exploration = learner, dtype, exploration
        self._float = getattr(torch, dtype)

    def tensors(self, arrays: Arrays) -> dict[str, Tensor]:
        return {name: self._tensor(array) for name, array in arrays.items()}

    def act(self, observation: np.ndarray, draws: Arrays) -> dict[str, np.ndarray]:
        given, drawn = self._tensor(observation), self.tensors(draws)
        if not hasattr(self.learner, "act"):
            return {"action": self._noisy(given, drawn["noise"]).numpy()}
        made = self.learner.act(given, drawn)
        return {name: value.numpy() for name, value in made.items()}

    def greedy(self, observation: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            given = self._tensor(observation)
            if hasattr(self.learner, "greedy"):
                found: np.ndarray = self.learner.greedy(given).numpy()
                return found
            action: np.ndarray = self.learner.networks["actor"](given).numpy()
            return action

    def update(self, batch: Mapping[str, Tensor], draws: Mapping[str, Tensor]) -> Mapping[str, Any]:
        made: Mapping[str, Any] = self.learner.update(batch, draws)
        return made

    def buffer(self, config: ReplayBufferConfig) -> Buffer:
        return _Buffer(config, self.dtype, self.tensors, self.learner.variant != "eager")

    def _noisy(self, observation: Tensor, noise: Tensor) -> Tensor:
        """A deterministic policy's action with Gaussian noise, within bounds."""
        bounds = torch.tensor(self.learner.config.actor.bounds, dtype=self._float)
        with torch.no_grad():
            action: Tensor = self.learner.networks["actor"](observation)
            return exploration_.gaussian_action(
                action, noise, sigma=self.exploration * bounds, low=-bounds, high=bounds
            )

    def _tensor(self, array: np.ndarray) -> Tensor:
        if array.dtype.kind == "f":
            return torch.as_tensor(array, dtype=self._float)
        return torch.as_tensor(array if array.dtype.kind == "b" else array.astype(np.int64))


class _Buffer(Buffer):
    """The replay buffer.

    Args:
        tensors: turns arrays into tensors.
        whole: the update is a graph, and what it is to learn from can be gathered in it.
    """

    def __init__(
        self, config: ReplayBufferConfig, dtype: str, tensors: Callable[..., Any], whole: bool
    ) -> None:
        super().__init__()
        self._tensors, self._whole = tensors, whole
        self._sources: dict[int, Source] = {}
        self._buffer = replay_buffer.ReplayBuffer(config, dtype=dtype)
        self._layout = config.layout(dtype)

    def later(self, indices: np.ndarray) -> dict[str, Any]:
        if not self._whole:
            return self.sample(indices)
        rows = self._taken()
        if rows is not None:
            self._add(rows)
        slots = torch.from_numpy(indices)
        self._buffer.require_filled(slots)
        return dict(self._source(len(indices))(slots))

    def _source(self, count: int) -> Source:
        """What samples so many rows."""
        source = self._sources.get(count)
        if source is None:
            layout = {
                name: ((count, *shape), getattr(torch, kind))
                for name, (shape, kind) in self._layout.items()
            }
            source = self._sources[count] = Source(self._buffer.sample, layout)
        return source

    def _add(self, rows: Arrays) -> None:
        self._buffer.add_batch(self._tensors(rows))

    def _sample(self, rows: Arrays | None, indices: np.ndarray) -> dict[str, Tensor]:
        if rows is not None:
            self._add(rows)
        return self._buffer.sample(torch.from_numpy(indices))

    def _state(self) -> dict[str, Any]:
        return self._buffer.state()

    def _load_state(self, state: Mapping[str, Any]) -> None:
        self._buffer.load_state(state)


def make(
    impl: ModuleType,
    config: Any,
    *,
    dtype: str,
    compiled: bool,
    threads: int,
    exploration: float,
) -> TorchSide:
    torch.set_num_threads(threads)
    variant = "compile" if compiled else "eager"
    return TorchSide(impl.make_learner(config, dtype=dtype, variant=variant), dtype, exploration)
