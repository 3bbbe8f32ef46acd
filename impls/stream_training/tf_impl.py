"""Training from a stream in TensorFlow: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from impls.environments import collect_transitions
from impls.exploration import tf_impl as exploration
from impls.learner.config import require_state
from impls.replay_buffer import tf_impl as replay_buffer
from impls.replay_buffer.config import FIELDS
from impls.stream_training.config import (
    PURPOSES,
    StreamTrainingConfig,
    initial_state,
    require_batch,
    require_dense,
    require_ended,
    require_filled,
    require_observation,
    split_state,
)
from impls.td3 import tf_impl as td3
from parity.random import Stream
from parity.random.tf_random import TFStream

Tensors = dict[str, tf.Tensor]


class StreamTrainer:
    def __init__(
        self,
        config: StreamTrainingConfig,
        *,
        seed: int,
        dtype: str,
        device: str = "cpu",
        variant: str = "eager",
    ) -> None:
        self.config, self.dtype, self.device = config, dtype, device
        self._root = Stream(seed)
        self._streams = {name: self._root.split(name).tf() for name in PURPOSES}
        self._learner = td3.make_learner(config.td3, dtype=dtype, device=device, variant=variant)
        self._buffer = replay_buffer.ReplayBuffer(config.buffer, dtype=dtype, device=device)
        # counters are variables: a Python number would be frozen into the graph
        self._updates = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._acts = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._ou = tf.Variable(tf.zeros(config.action_shape, dtype), trainable=False)
        self._slots = tf.Variable(tf.zeros(config.batch_size, tf.int64), trainable=False)
        self._collections = 0
        self._critic_step = self._learner.compiled(self._critic_part)
        self._actor_step = self._learner.compiled(self._actor_part)
        self.reset()

    @property
    def traces(self) -> int:
        return self._learner.traces

    def reset(self) -> None:
        self.load_state(initial_state(self.config, self._root.split("weights")))
        self.collect()

    def collect(self) -> None:
        c = self.config
        for i in range(c.environments):
            stream = self._root.split("environment").fold_in(i).fold_in(self._collections)
            rows = collect_transitions(
                c.env_id,
                c.rows,
                stream.environment_seed(),
                max_episode_steps=c.max_episode_steps,
            )
            rows["reward"] = rows["reward"] * np.float32(c.reward_scale)
            floats = {n: a.astype(self.dtype) for n, a in rows.items() if a.dtype.kind == "f"}
            self._buffer.add_batch(rows | floats)
        self._collections += 1

    def update(self) -> Tensors:
        made: Tensors = self._critic_step()
        self._learner.step += 1
        if self._learner.step % self.config.td3.policy_delay == 0:
            made |= self._actor_step()
        return made

    def act(self, observation: tf.Tensor) -> tf.Tensor:
        require_observation(self.config, observation.shape, observation.dtype.name, self.dtype)
        return self._explored(observation)

    def end_episodes(self, ended: tf.Tensor) -> None:
        require_ended(self.config, ended.shape, ended.dtype.name)
        self._ou.assign(tf.where(ended[:, tf.newaxis], tf.zeros_like(self._ou), self._ou))

    def _critic_part(self) -> Tensors:
        self._updates.assign_add(1)
        indices = self._indices()
        self._slots.assign(indices)
        batch = self._buffer.sample(indices)
        noise = self._noise("smoothing", self._updates, tuple(batch["action"].shape))
        learner, made = self._learner, {"indices": indices, "noise": noise}
        s, a, r, s_next, terminated, truncated = (batch[name] for name in FIELDS)
        next_action = learner.target_action(s_next, noise)
        made["target"] = learner.target(r, s_next, next_action, terminated, truncated)
        made["critic_loss"], gradients = learner.critic_gradients(s, a, made["target"])
        if self.config.td3.max_gradient_norm is not None:
            gradients, made["critic_norm"] = learner.clip_critic(gradients)
        learner.apply_critic(gradients)
        return made

    def _actor_part(self) -> Tensors:
        observation = self._buffer.sample(self._slots)["observation"]
        made: Tensors = {}
        made["actor_loss"], gradients = self._learner.actor_gradients(observation)
        if self.config.td3.max_gradient_norm is not None:
            gradients, made["actor_norm"] = self._learner.clip_actor(gradients)
        self._learner.apply_actor(gradients)
        self._learner.update_targets()
        return made

    def _explored(self, observation: tf.Tensor) -> tf.Tensor:
        c = self.config
        self._acts.assign_add(1)
        noise = self._noise("exploration", self._acts, c.action_shape)
        bounds = c.td3.actor.bounds
        low = tuple(-bound for bound in bounds)
        action = self._learner.networks["actor"](observation)
        if c.exploration == "gaussian":
            return exploration.gaussian_action(action, noise, sigma=c.scale, low=low, high=bounds)
        x_t = exploration.ou_step(
            tf.identity(self._ou), noise, theta=c.theta, sigma=c.scale, mu=0.0, dt=c.dt
        )
        self._ou.assign(x_t)
        return exploration.gaussian_action(action, x_t, sigma=1.0, low=low, high=bounds)

    def _indices(self) -> tf.Tensor:
        c, stream = self.config, self._streams["replay"].fold_in(self._updates)
        return _replay_indices(stream, self._buffer.size, c.batch_size, c.capacity, c.replace)

    def _noise(self, purpose: str, step: tf.Tensor, shape: tuple[int, ...]) -> tf.Tensor:
        drawn = self._streams[purpose].fold_in(step).normal(shape, dtype=self.config.draw_dtype)
        return tf.cast(drawn, self.dtype)

    def state(self) -> dict[str, np.ndarray]:
        state = self._learner.state() | {"step": self._updates.numpy()}
        state |= {f"buffer/{n}": t.numpy() for n, t in self._buffer.state().items()}
        own = {"acts": self._acts, "ou": self._ou}
        state |= {f"trainer/{n}": np.array(v.numpy()) for n, v in own.items()}
        return {**state, "trainer/collections": np.array(self._collections, np.int64)}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        require_state(state, self.state())
        learner, buffer, own = split_state(state)
        self._learner.load_state(learner)
        floats = {n: a.astype(self.dtype) for n, a in buffer.items() if a.dtype.kind == "f"}
        self._buffer.load_state(buffer | floats)
        self._updates.assign(int(state["step"]))
        self._acts.assign(int(own["acts"]))
        self._ou.assign(own["ou"].astype(self.dtype))
        self._collections = int(own["collections"])

    def set_learning_rate(self, group: str, value: float) -> None:
        self._learner.set_learning_rate(group, value)


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
    if tf.executing_eagerly():
        require_filled(count, int(size), replace)
    return _replay_indices(_stream(seed, "replay").fold_in(step), size, count, capacity, replace)


def minibatches(step: Any, *, seed: int, rows: int, size: int) -> Any:
    require_batch(rows, size)
    order = _stream(seed, "minibatches").fold_in(step).permutation(rows)
    return tf.reshape(order[: rows // size * size], (-1, size))


def epsilon_greedy_action(q: Any, step: Any, *, seed: int, epsilon: float) -> Any:
    stream = _stream(seed, "epsilon-greedy").fold_in(step)
    uniform = stream.split("uniform").uniform(q.shape[:1])
    random_action = stream.split("action").integers(q.shape[:1], 0, q.shape[-1])
    return exploration.epsilon_greedy(q, uniform, random_action, epsilon=epsilon)


def sample_action(logits: Any, step: Any, *, seed: int) -> Any:
    return _stream(seed, "policy").fold_in(step).categorical(logits)


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
    require_dense({name: tuple(tensor.shape) for name, tensor in given.items()})
    hidden = tf.nn.relu(x @ kernel1 + bias1)
    stream = _stream(seed, "dropout").fold_in(step)
    mask = stream.dropout_mask(rate, hidden.shape, dtype=x.dtype.name)
    return (hidden * mask) @ kernel2 + bias2


def _replay_indices(stream: TFStream, size: Any, count: int, capacity: int, replace: bool) -> Any:
    if replace:
        return stream.integers(count, 0, size)
    keys = stream.uniform(capacity, dtype="float64")
    return replay_buffer.indices_without_replacement(keys, count, size)


def _stream(seed: int, purpose: str) -> TFStream:
    return Stream(seed).split(purpose).tf()
