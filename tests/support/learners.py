"""Small learners of every side, on arrays, for the tests of the algorithms."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from parity.backends import get_backend, to_numpy
from parity.component import SIBLINGS

SIDES = ("torch", "tf", "reference")
CONFIGS = {"ddpg": "DDPGConfig", "td3": "TD3Config"}
SIZES = {"observation_size": 3, "action_size": 2, "hidden_sizes": (11, 7)}


def make_config(algorithm: str, **fields: Any) -> Any:
    """A configuration of small networks."""
    config = getattr(import_module(f"impls.{algorithm}.config"), CONFIGS[algorithm])
    return config(**{**SIZES, **fields})


class Arrays:
    """A learner of one side whose methods take and return arrays."""

    def __init__(self, algorithm: str, side: str, config: Any, **options: Any) -> None:
        impl = import_module(f"impls.{algorithm}.{SIBLINGS[side]}")
        self.dtype = options.setdefault("dtype", "float64")
        self.backend, self.learner = get_backend(side), impl.make_learner(config, **options)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.learner, name)
        return lambda *arguments: self._arrays(method(*map(self._tensors, arguments)))

    def state(self) -> dict[str, np.ndarray]:
        state: dict[str, np.ndarray] = self.learner.state()
        return state

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.learner.load_state(state)

    def set_learning_rate(self, group: str, value: float) -> None:
        self.learner.set_learning_rate(group, value)

    def update(self, batch: Mapping[str, Any], draws: Mapping[str, Any]) -> Any:
        given = ({n: self._tensors(a) for n, a in arrays.items()} for arrays in (batch, draws))
        return {name: to_numpy(value) for name, value in self.learner.update(*given).items()}

    def _tensors(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return self.learner.from_canonical(value)
        return self.backend.tensor(np.asarray(value), dtype=self.dtype)

    def _arrays(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return self.learner.to_canonical(value)
        if isinstance(value, tuple):
            return tuple(map(self._arrays, value))
        return None if value is None else to_numpy(value)


def example(
    algorithm: str, rows: int = 13, seed: int = 0
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """A batch with all four kinds of ends, and its draws."""
    from impls.learner.cases import synthetic_batches

    make = synthetic_batches(3, 2, rows=rows, noise=algorithm == "td3")
    [(batch, draws)] = make(np.random.default_rng(seed), 1)
    return dict(batch), dict(draws)


def apart_state(algorithm: str, config: Any, seed: int = 1) -> dict[str, np.ndarray]:
    """A state whose target networks are not the online ones."""
    from impls.learner.cases import apart

    initial_state = import_module(f"impls.{algorithm}.config").initial_state
    return dict(apart(initial_state, config)(np.random.default_rng(seed)))
