"""Training from a stream in NumPy, float64, one transition at a time: see ``spec.py``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.arguments import require_range
from impls.environments import collect_transitions
from impls.errors import ShapeError
from impls.learner.config import require_state
from impls.replay_buffer.config import FIELDS
from impls.stream_training.config import (
    OWN,
    StreamTrainingConfig,
    initial_state,
    require_batch,
    require_dense,
    require_ended,
    require_filled,
    require_observation,
    split_state,
)
from impls.td3 import numpy_ref as td3
from parity.random import Stream

Array = np.ndarray
Arrays = dict[str, Array]


class StreamTrainer:
    """Transitions are stored row by row: number k of all collected lies in slot k % capacity."""

    traces = 0

    def __init__(
        self,
        config: StreamTrainingConfig,
        *,
        seed: int,
        dtype: str,
        device: str = "cpu",
        variant: str = "eager",
    ) -> None:
        self.config, self.dtype = config, dtype
        self.stream = Stream(seed)
        self.learner = td3.make_learner(config.td3, dtype=dtype, device=device, variant=variant)
        self.values: Arrays = {}
        self.reset()

    def reset(self) -> None:
        state = initial_state(self.config, self.stream.split("weights"))
        self.learner.load_state(split_state(state)[0])
        self.values = {name: value for name, value in state.items() if name.startswith(OWN)}
        self.collect()

    def collect(self) -> None:
        c, v = self.config, self.values
        for i in range(c.environments):
            key = self.stream.split("environment").fold_in(i)
            seed = key.fold_in(int(v["trainer/collections"])).environment_seed()
            table = collect_transitions(
                c.env_id, c.rows, seed, max_episode_steps=c.max_episode_steps
            )
            for k in range(c.rows):
                self._store({name: column[k] for name, column in table.items()})
        v["trainer/collections"] += 1

    def _store(self, row: Mapping[str, Any]) -> None:
        c, v = self.config, self.values
        for name in FIELDS:
            value, shape = row[name], v[f"buffer/{name}"].shape[1:]
            if np.shape(value) != shape:
                raise ShapeError(f"{name} has shape {np.shape(value)}, must be {shape}")
            scaled = np.float32(value) * np.float32(c.reward_scale) if name == "reward" else value
            v[f"buffer/{name}"][int(v["buffer/cursor"])] = scaled
        v["buffer/cursor"][...] = (int(v["buffer/cursor"]) + 1) % c.capacity
        v["buffer/size"][...] = min(int(v["buffer/size"]) + 1, c.capacity)

    def update(self) -> Arrays:
        c, t = self.config, int(self.learner.state()["step"]) + 1
        indices = _replay_indices(
            self.stream.split("replay").fold_in(t),
            int(self.values["buffer/size"]),
            c.batch_size,
            c.capacity,
            c.replace,
        )
        key = self.stream.split("smoothing").fold_in(t)
        shape = (c.batch_size, c.td3.action_size)
        noise = np.float64(key.normal(shape, dtype=c.draw_dtype))
        batch = {
            name: np.array([self.values[f"buffer/{name}"][slot] for slot in indices])
            for name in FIELDS
        }
        made = self.learner.update(batch, {"noise": noise})
        return {"indices": indices, "noise": noise, **made}

    def act(self, observation: Array) -> Array:
        c, v = self.config, self.values
        require_observation(c, observation.shape, str(observation.dtype), self.dtype)
        v["trainer/acts"] += 1
        key = self.stream.split("exploration").fold_in(int(v["trainer/acts"]))
        bounds = np.array(c.td3.actor.bounds)
        noise = np.float64(key.normal(c.action_shape, dtype=c.draw_dtype))
        shift = c.sigma * bounds * noise
        if c.exploration == "ou":
            x = v["trainer/ou"]
            shift = x - c.theta * c.dt * x + math.sqrt(c.dt) * shift
            x[...] = shift
        action = bounds * np.tanh(self.learner.mlp("param/actor", observation)[-1])
        return np.asarray(np.clip(action + shift, -bounds, bounds))

    def end_episodes(self, ended: Array) -> None:
        require_ended(self.config, ended.shape, str(ended.dtype))
        self.values["trainer/ou"][ended] = 0.0

    def state(self) -> Arrays:
        return {**self.learner.state(), **{n: v.copy() for n, v in self.values.items()}}

    def load_state(self, state: Mapping[str, Array]) -> None:
        require_state(state, self.state())
        self.learner.load_state(split_state(state)[0])
        for name, value in self.values.items():
            value[...] = state[name]

    def set_learning_rate(self, group: str, value: float) -> None:
        self.learner.set_learning_rate(group, value)


def make_trainer(
    config: StreamTrainingConfig,
    *,
    seed: int,
    dtype: str,
    device: str = "cpu",
    variant: str = "eager",
) -> StreamTrainer:
    return StreamTrainer(config, seed=seed, dtype=dtype, device=device, variant=variant)


def replay_indices(
    step: Any, size: Any, *, seed: int, count: int, capacity: int, replace: bool
) -> Any:
    require_filled(count, int(size), replace)
    stream = Stream(seed).split("replay").fold_in(int(step))
    return _replay_indices(stream, int(size), count, capacity, replace)


def minibatches(step: Any, *, seed: int, rows: int, size: int) -> Any:
    require_batch(rows, size)
    order = Stream(seed).split("minibatches").fold_in(int(step)).permutation(rows)
    starts = range(0, rows - size + 1, size)
    return np.array([order[start : start + size] for start in starts])


def epsilon_greedy_action(q: Any, step: Any, *, seed: int, epsilon: float) -> Any:
    if q.ndim != 2:
        raise ShapeError(f"q has shape {q.shape}, must be [B, A], [B], [B]")
    require_range(0.0, 1.0, epsilon=epsilon)
    stream = Stream(seed).split("epsilon-greedy").fold_in(int(step))
    rows, actions = q.shape
    uniform = stream.split("uniform").uniform(rows)
    random_action = stream.split("action").integers(rows, 0, actions)
    chosen = [
        r if u < epsilon else int(np.argmax(row))
        for u, r, row in zip(uniform, random_action, q, strict=True)
    ]
    return np.array(chosen, np.int64)


def sample_action(logits: Any, step: Any, *, seed: int) -> Any:
    return Stream(seed).split("policy").fold_in(int(step)).categorical(logits)


def dropout_network(
    x: Any,
    kernel1: Any,
    bias1: Any,
    kernel2: Any,
    bias2: Any,
    step: Any,
    *,
    seed: int,
    rate: float,
) -> Any:
    given = {"x": x, "kernel1": kernel1, "bias1": bias1, "kernel2": kernel2, "bias2": bias2}
    require_dense({name: array.shape for name, array in given.items()})
    dropped, _ = _hidden(x, kernel1, bias1, step, seed, rate)
    return dropped @ kernel2 + bias2


def dropout_network_vjp(
    *,
    cotangents: Mapping[str, Array],
    x: Array,
    kernel1: Array,
    bias1: Array,
    kernel2: Array,
    bias2: Array,
    step: Array,
    seed: int,
    rate: float,
) -> Arrays:
    """``dh = dy W2^T * mask * (z > 0)``, then as for a dense layer."""
    dy = cotangents["value"]
    dropped, slope = _hidden(x, kernel1, bias1, step, seed, rate)
    dz = dy @ kernel2.T * slope
    return {
        "x": dz @ kernel1.T,
        "kernel1": x.T @ dz,
        "bias1": dz.sum(axis=0),
        "kernel2": dropped.T @ dy,
        "bias2": dy.sum(axis=0),
    }


def _hidden(
    x: Array, kernel: Array, bias: Array, step: Any, seed: int, rate: float
) -> tuple[Array, Array]:
    """The hidden layer after dropout, and its slope by what goes into the rectifier."""
    z = x @ kernel + bias
    key = Stream(seed).split("dropout").fold_in(int(step))
    slope = key.dropout_mask(rate, z.shape, dtype="float64") * (z > 0.0)
    return z * slope, slope


def _replay_indices(stream: Stream, size: int, count: int, capacity: int, replace: bool) -> Array:
    if replace:
        return np.asarray(stream.integers(count, 0, size))
    keys = stream.uniform(capacity, dtype="float64")
    filled = sorted(range(size), key=lambda slot: (keys[slot], slot))
    return np.array(filled[:count], np.int64)
