"""The floor under an update: its matrix products alone, with nothing around them.

No update that multiplies these matrices can be faster than the products themselves. They are
derived from the algorithm's networks and batch: a forward pass multiplies once per layer; a
backward pass multiplies once per layer for the kernel's gradient, and once more for the gradient of
the layer's input where something in front of it learns. What no update needs is left out, although
the frameworks compute it: the gradient of an observation, and of networks that do not learn.

Every product is ``torch.mm`` into memory that is there already, in the order of the update, on the
weights and activations of networks that the real update would use, so that the caches see the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from scripts.bench_cases import Case

Room = dict[tuple[str, int], torch.Tensor]
"""Memory by use and layer. Networks that are not needed at the same time share one, as they do
where a framework frees and allocates: with memory of its own for each, large batches would leave
the caches, and what is meant as a floor would lie above it."""


class Net:
    """A perceptron's products: weights ``[in, out]``, activations and gradients preallocated."""

    def __init__(self, sizes: list[int], rows: int, device: str, room: Room) -> None:
        generator = torch.Generator().manual_seed(sum(sizes))

        def matrix(height: int, width: int) -> torch.Tensor:
            # entries of this size neither grow from layer to layer nor sink into denormals
            drawn = torch.randn(height, width, generator=generator) / max(width, 1) ** 0.5
            return drawn.to(device)

        def shared(use: str) -> list[torch.Tensor]:
            return [room.setdefault((use, i), matrix(rows, n)) for i, n in enumerate(sizes)]

        pairs = list(zip(sizes[:-1], sizes[1:], strict=True))
        self.weights = [matrix(i, o) for i, o in pairs]
        self.outputs, self.gradients = shared("output"), shared("gradient")
        self.weight_gradients = [torch.empty(i, o, device=device) for i, o in pairs]
        self.flops = 0

    def forward(self) -> None:
        for i, weight in enumerate(self.weights):
            self._product(self.outputs[i], weight, self.outputs[i + 1])

    def backward(self, *, weights: bool = True, inputs: int = 0) -> None:
        """Gradients of the kernels, and of the last ``inputs`` columns of the network's input."""
        for i in reversed(range(len(self.weights))):
            above = self.gradients[i + 1]
            if weights:
                self._product(self.outputs[i].T, above, self.weight_gradients[i])
            if i:
                self._product(above, self.weights[i].T, self.gradients[i])
            elif inputs:
                kernel = self.weights[0][-inputs:].T
                self._product(above, kernel, self.gradients[0][:, -inputs:])

    def _product(self, left: torch.Tensor, right: torch.Tensor, out: torch.Tensor) -> None:
        torch.mm(left, right, out=out)
        self.flops += 2 * left.shape[0] * left.shape[1] * right.shape[1]


def make_floor(case: Case, device: str = "cpu") -> tuple[Callable[[], None], list[Net]]:
    """One period of updates as products, and the networks that count them."""
    config, loop = case.configs()
    maker = {
        "td3": _td3,
        "ddpg": _ddpg,
        "sac": _sac,
        "dqn": _dqn,
    }.get(case.algorithm, _on_policy)
    return maker(case, config, loop, device)


Floor = tuple[Callable[[], None], list[Net]]


def _td3(case: Case, c: Any, loop: Any, device: str) -> Floor:
    rows, obs, act = loop.batch_size, c.observation_size, c.action_size
    room: Room = {}
    actor, actor_target = (Net([obs, *c.hidden_sizes, act], rows, device, room) for _ in range(2))
    room = {}
    q1, q2, q1_target, q2_target = (
        Net([obs + act, *c.hidden_sizes, 1], rows, device, room) for _ in range(4)
    )

    def period() -> None:
        for step in range(1, case.period + 1):
            for net in (actor_target, q1_target, q2_target):
                net.forward()
            for net in (q1, q2):
                net.forward()
                net.backward()
            if step % c.policy_delay == 0:
                actor.forward()
                q1.forward()
                q1.backward(weights=False, inputs=act)
                actor.backward()

    return period, [actor, actor_target, q1, q2, q1_target, q2_target]


def _ddpg(case: Case, c: Any, loop: Any, device: str) -> Floor:
    rows, obs, act = loop.batch_size, c.observation_size, c.action_size
    room: Room = {}
    actor, actor_target = (Net([obs, *c.hidden_sizes, act], rows, device, room) for _ in range(2))
    room = {}
    q, q_target = (Net([obs + act, *c.hidden_sizes, 1], rows, device, room) for _ in range(2))

    def period() -> None:
        for net in (actor_target, q_target, q):
            net.forward()
        q.backward()
        actor.forward()
        q.forward()
        q.backward(weights=False, inputs=act)
        actor.backward()

    return period, [actor, actor_target, q, q_target]


def _sac(case: Case, c: Any, loop: Any, device: str) -> Floor:
    rows, obs, act = loop.batch_size, c.observation_size, c.action_size
    actor = Net([obs, *c.hidden_sizes, 2 * act], rows, device, {})
    sizes = [obs + act, *c.hidden_sizes, 1]
    rooms: tuple[Room, Room] = {}, {}  # the smaller of two values needs both before its gradient
    q1, q2, q1_target, q2_target = (Net(sizes, rows, device, rooms[i % 2]) for i in range(4))

    def period() -> None:
        for net in (actor, q1_target, q2_target):
            net.forward()
        for net in (q1, q2):
            net.forward()
            net.backward()
        for net in (actor, q1, q2):
            net.forward()
        for net in (q1, q2):
            net.backward(weights=False, inputs=act)
        actor.backward()

    return period, [actor, q1, q2, q1_target, q2_target]


def _dqn(case: Case, c: Any, loop: Any, device: str) -> Floor:
    sizes = [c.observation_size, *c.hidden_sizes, c.action_size]
    room: Room = {}
    q, target = (Net(sizes, loop.batch_size, device, room) for _ in range(2))

    def period() -> None:
        target.forward()
        if c.double:
            q.forward()
        q.forward()
        q.backward()

    return period, [q, target]


def _on_policy(case: Case, c: Any, loop: Any, device: str) -> Floor:
    """Values of all observations and of those after them, then the steps on the policy's rows."""
    network, of_ppo = c.network, case.algorithm == "ppo"
    rows = (500 if case.algorithm == "reinforce" else loop.rollout) * loop.environments
    parts = c.minibatches if of_ppo else 1
    steps = c.epochs * parts if of_ppo else 1
    separate = network.value and not network.shared
    outputs = [c.action_size, 1] if separate else [c.action_size + (1 if network.value else 0)]
    learning = [
        Net([c.observation_size, *c.hidden_sizes, n], rows // parts, device, {}) for n in outputs
    ]
    # values before the first step: of what follows, and for PPO of the observations as well
    before = [Net([c.observation_size, *c.hidden_sizes, 1], rows, device, {})] * bool(network.value)

    def period() -> None:
        for net in before * (2 if of_ppo else 1):
            net.forward()
        for _ in range(steps):
            for net in learning:
                net.forward()
            for net in learning:
                net.backward()

    return period, [*learning, *before]
