"""What a loop needs of a framework: arrays to tensors and back, acting, updating, the buffer."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from impls.errors import ConfigError
from impls.replay_buffer.config import ReplayBufferConfig
from impls.training.registry import Algorithm
from parity.quiet import import_tensorflow

Arrays = Mapping[str, np.ndarray]
FRAMEWORKS = ("torch", "tf")


class Buffer:
    """A framework's replay buffer; rows that come one by one are stored together when it is read.

    A call into a framework takes longer than storing a row. The buffer is read before each update,
    so that rows wait for a few steps at most, but for those before the first one.
    """

    def __init__(self) -> None:
        self._waiting: list[Arrays] = []

    def add(self, rows: Arrays) -> None:
        """Rows behind the newest one, [N, ...] per field; they may not be written to later."""
        self._waiting.append(rows)

    def sample(self, indices: np.ndarray) -> dict[str, Any]:
        """Tensors of the rows in these slots, int64 [B]."""
        return self._sample(self._taken(), indices)

    def later(self, indices: np.ndarray) -> dict[str, Any]:
        """The same for the next update of this side's learner alone.

        Where that is a graph, the rows that wait are stored, and the batch is gathered, inside of
        it: one call into the framework in place of two.
        """
        return self.sample(indices)

    def state(self) -> dict[str, Any]:
        """A copy of everything."""
        rows = self._taken()
        if rows is not None:
            self._add(rows)
        return self._state()

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``state`` returned."""
        self._waiting = []
        self._load_state(state)

    def _taken(self) -> Arrays | None:
        """The rows that wait, which do so no longer."""
        waiting, self._waiting = self._waiting, []
        return _together(waiting) if waiting else None

    def _add(self, rows: Arrays) -> None:
        raise NotImplementedError

    def _sample(self, rows: Arrays | None, indices: np.ndarray) -> dict[str, Any]:
        """Store rows, if there are any, then sample."""
        raise NotImplementedError

    def _state(self) -> dict[str, Any]:
        raise NotImplementedError

    def _load_state(self, state: Mapping[str, Any]) -> None:
        raise NotImplementedError


def _together(parts: list[Arrays]) -> Arrays:
    """Rows of several additions as those of one."""
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


class Side(Protocol):
    """One learner of one framework."""

    name: str
    learner: Any

    def tensors(self, arrays: Arrays) -> dict[str, Any]:
        """Floats in the learner's dtype; whole numbers as int64; bool as it is."""

    def act(self, observation: np.ndarray, draws: Arrays) -> dict[str, np.ndarray]:
        """What the policy does while learning, [B, ...] each."""

    def greedy(self, observation: np.ndarray) -> np.ndarray:
        """What it does when it is evaluated."""

    def update(self, batch: Mapping[str, Any], draws: Mapping[str, Any]) -> Mapping[str, Any]:
        """One update from tensors."""

    def buffer(self, config: ReplayBufferConfig) -> Buffer:
        """A replay buffer of the framework."""


def make_side(
    framework: str,
    chosen: Algorithm,
    config: Any,
    *,
    dtype: str,
    compiled: bool = False,
    threads: int = 1,
    exploration: float = 0.1,
    impl: ModuleType | None = None,
) -> Side:
    """A learner in its framework, which is imported here and not before.

    Args:
        compiled: torch.compile, or tf.function.
        exploration: share of the largest action, for deterministic policies.
        impl: the sibling module to use; that of the algorithm if None.

    Raises:
        ConfigError: the framework is unknown or not installed.
    """
    if framework not in FRAMEWORKS:
        raise ConfigError(f"framework={framework!r}: known are {', '.join(FRAMEWORKS)}")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if framework == "tf":
        # read when TensorFlow starts; one that runs already keeps the number that it has
        # graphs: operations side by side, of one thread each, as twin critics are (-31 % for TD3)
        within, beside = (1, threads) if compiled else (threads, 1)
        os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(within))
        os.environ.setdefault("TF_NUM_INTEROP_THREADS", str(beside))
        import_tensorflow()
    try:
        module = importlib.import_module(f"impls.training.{framework}_side")
        impl = impl or importlib.import_module(f"impls.{chosen.name}.{framework}_impl")
    except ModuleNotFoundError as error:
        if str(error.name).startswith("impls"):
            raise ConfigError(f"algorithm {chosen.name!r} has no {framework} side") from None
        raise ConfigError(f"{error.name} is not installed: pip install {error.name}") from None
    side: Side = module.make(
        impl, config, dtype=dtype, compiled=compiled, threads=threads, exploration=exploration
    )
    return side
