"""Contender: the update of TD3 in JAX, one jitted function whose buffers are donated.

Written as one would for speed alone: parameters, slots and targets are one tree that the step
takes and gives back, and XLA writes the new one over the old.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from impls.td3.config import TD3Config, initial_state
from scripts.bench_cases import BATCHES, Case, draws, transitions
from scripts.bench_ours import Clock, Contender, imported

B1, B2, EPSILON = 0.9, 0.999, 1e-8
Tree = Any


class Jax(Contender):
    """TD3 alone: the other algorithms have no peer here."""

    can = ("update",)

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.jax = imported("jax")

    def prepare(self, case: Case) -> dict[str, Any]:
        if case.algorithm != "td3":
            return {"absent": "TD3 only"}
        if self.jax is None:
            return {"absent": "not installed"}
        self.case, jax = case, self.jax
        self.config, loop = case.configs()
        self.step_of = make_step(self.config)
        self.state, self.step = jax.device_put(first_state(self.config)), 0
        batches = [transitions(self.config, loop.batch_size, i) for i in range(BATCHES)]
        self.inputs = [jax.device_put((b, draws(case, self.config, b)["noise"])) for b in batches]
        losses: list[float] = []

        def updates(start: int) -> None:
            for i in range(start, start + case.period):
                losses.append(float(self._one(i)))

        seconds = self.clock(lambda: updates(0))
        updates(case.period)
        return {"first_call": seconds, "losses": losses, "traces": self._traces()}

    def run(self, what: str, count: int) -> float:
        def all_() -> None:
            for i in range(count):
                self._one(i)
            self.jax.block_until_ready(self.state)

        return self.clock(all_)

    def retraces(self) -> dict[str, int]:
        batch, noise = self.inputs[0]
        ragged = ({name: value[:-13] for name, value in batch.items()}, noise[:-13])
        counts = {}
        for name, inputs in (("ragged", ragged), ("again", ragged), ("back", self.inputs[0])):
            before = self._traces()
            for _ in range(self.case.period):
                self._one(0, inputs)
            counts[name] = self._traces() - before
        before = self._traces()
        self.state["rate"] = self.jax.numpy.float32(1e-4)
        for _ in range(self.case.period):
            self._one(0)
        return {**counts, "learning_rate": self._traces() - before}

    def _one(self, i: int, inputs: Any = None) -> Any:
        self.step += 1
        delayed = self.step % self.config.policy_delay == 0
        batch, noise = inputs or self.inputs[i % BATCHES]
        self.state, loss = self.step_of(self.state, batch, noise, delayed=delayed)
        return loss

    def _traces(self) -> int:
        return int(self.step_of._cache_size())


def first_state(config: TD3Config) -> Tree:
    """The learner's own first state, as a tree of float32 arrays."""
    flat = initial_state(config, np.random.default_rng(0))

    def layers(prefix: str) -> list[tuple[np.ndarray, np.ndarray]]:
        count = len(config.hidden_sizes) + 1
        names = [f"{prefix}/l{i}" for i in range(1, count + 1)]
        return [
            (flat[f"{n}/kernel"].astype(np.float32), flat[f"{n}/bias"].astype(np.float32))
            for n in names
        ]

    def zeros(tree: Tree) -> Tree:
        return [[tuple(np.zeros_like(x) for x in layer) for layer in net] for net in tree]

    critic = [layers("param/critic/q1"), layers("param/critic/q2")]
    actor = [layers("param/actor")]
    groups = {"critic": critic, "actor": actor}
    return {
        "param": groups,
        "target": {g: [[tuple(map(np.copy, x)) for x in n] for n in v] for g, v in groups.items()},
        "m": {group: zeros(value) for group, value in groups.items()},
        "v": {group: zeros(value) for group, value in groups.items()},
        "count": {group: np.float32(0) for group in groups},
        "rate": np.float32(config.critic_learning_rate),
    }


def make_step(config: TD3Config) -> Any:
    """``step(state, batch, noise, delayed=)``: the next state and the critics' loss."""
    import jax
    import jax.numpy as jnp

    high = jnp.asarray(config.actor.bounds, jnp.float32)
    sigma = jnp.asarray(config.smoothing["sigma"], jnp.float32)
    clip = jnp.asarray(config.smoothing["noise_clip"], jnp.float32)

    def network(layers: Tree, x: Any) -> Any:
        for kernel, bias in layers[:-1]:
            x = jax.nn.relu(x @ kernel + bias)
        return x @ layers[-1][0] + layers[-1][1]

    def policy(layers: Tree, observation: Any) -> Any:
        return high * jnp.tanh(network(layers, observation))

    def value(layers: Tree, observation: Any, action: Any) -> Any:
        return network(layers, jnp.concatenate([observation, action], 1))[:, 0]

    def adam(state: Tree, group: str, gradients: Tree) -> Tree:
        t = state["count"][group] + 1
        size = state["rate"] / (1 - B1**t)
        root = jnp.sqrt(1 - B2**t)
        m = jax.tree.map(lambda m, g: m + (1 - B1) * (g - m), state["m"][group], gradients)
        v = jax.tree.map(lambda v, g: B2 * v + (1 - B2) * g * g, state["v"][group], gradients)
        new = jax.tree.map(
            lambda p, m, v: p - size * m / (jnp.sqrt(v) / root + EPSILON),
            state["param"][group], m, v,
        )  # fmt: skip
        made = {"param": new, "m": m, "v": v, "count": t}
        return {**state, **{k: {**state[k], group: x} for k, x in made.items()}}

    @partial(jax.jit, static_argnames="delayed", donate_argnums=0)
    def step(state: Tree, batch: Tree, noise: Any, *, delayed: bool) -> Any:
        observation, following = batch["observation"], batch["next_observation"]
        target = state["target"]
        smooth = jnp.clip(sigma * noise, -clip, clip)
        action = jnp.clip(policy(target["actor"][0], following) + smooth, -high, high)
        smaller = jnp.minimum(*(value(q, following, action) for q in target["critic"]))
        discount = config.gamma * (1.0 - batch["terminated"])
        y = batch["reward"] + discount * smaller

        def critic_loss(critics: Tree) -> Any:
            errors = [value(q, observation, batch["action"]) - y for q in critics]
            return sum(jnp.mean(e * e) for e in errors)

        loss, gradients = jax.value_and_grad(critic_loss)(state["param"]["critic"])
        state = adam(state, "critic", gradients)
        if not delayed:
            return state, loss

        def actor_loss(actor: Tree) -> Any:
            q1 = state["param"]["critic"][0]
            return -jnp.mean(value(q1, observation, policy(actor[0], observation)))

        state = adam(state, "actor", jax.grad(actor_loss)(state["param"]["actor"]))
        moved = jax.tree.map(lambda t, p: t + config.tau * (p - t), state["target"], state["param"])
        return {**state, "target": moved}, loss

    return step
