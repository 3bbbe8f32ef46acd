"""What learners from rollouts (``a2c``, ``ppo``, ...) have in common, without a framework.

They have one network, a policy that mostly has a value head too, one optimizer and no target
network. A batch is time-major, ``[T, B, ...]``: T steps of B environments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from impls.actor_critic_network.config import ActorCriticConfig, initial_parameters
from impls.errors import ConfigError, DtypeError, ShapeError
from impls.learner.config import (
    Layout,
    Layouts,
    fresh_state,
    require_at_least_zero,
    require_max_norm,
    require_share,
)
from impls.networks.config import ActorConfig
from impls.optimizers.config import AdamConfig, RMSpropConfig

GROUP = "actor_critic"
"""The one network; its parameters are ``param/actor_critic/trunk/l1/kernel``, ..."""

GROUPS = (GROUP,)
OPTIMIZERS = ("adam", "rmsprop")

Given = Mapping[str, Mapping[str, tuple[Sequence[int | None], str]]]


@dataclass(frozen=True)
class OnPolicyConfig:
    """Constants that all learners from rollouts have; their own come on top.

    Raises:
        ConfigError: a value is out of its range; the message names the field.
    """

    observation_size: int
    """Features of one observation."""
    action_size: int
    """Number of actions; of a continuous policy, dimensions of one action."""
    max_action: tuple[float, ...] | float = 1.0
    """Continuous: largest magnitude of an action, in the environment's unit: one for all, or per
    dimension. The mean is not scaled by it; what is drawn beyond it is clipped for the environment
    alone."""
    continuous: bool = False
    """A diagonal Gaussian with a free ``log_std`` in place of a categorical policy."""
    hidden_sizes: tuple[int, ...] = (128, 128)
    """Units of each hidden layer, tanh after each."""
    shared: bool = True
    """One trunk for policy and value, or one for each."""
    log_std: float = 0.0
    """Continuous: what every entry of ``log_std`` starts with."""
    gamma: float = 0.99
    """Discount per step, in [0, 1]."""
    learning_rate: float = 7e-4
    """Step size of the optimizer, at least 0."""
    optimizer: str = "adam"
    """``adam`` or ``rmsprop`` (decay 0.99, not centered, no momentum)."""
    optimizer_epsilon: float = 1e-5
    """Added to the optimizer's root, at least 0."""
    entropy_coefficient: float = 0.01
    """Weight of the entropy bonus, at least 0."""
    max_gradient_norm: float | None = 0.5
    """Bound on the norm of all gradients together; None does not clip."""
    check_finite: bool = True
    """Refuse NaN and infinity in batch and draws; one look at the values per update."""

    def __post_init__(self) -> None:
        _ = self.network, self.bounds  # their own checks: sizes, bounds
        require_at_least_zero(
            learning_rate=self.learning_rate,
            optimizer_epsilon=self.optimizer_epsilon,
            entropy_coefficient=self.entropy_coefficient,
        )
        require_share(gamma=self.gamma)
        require_max_norm(self.max_gradient_norm)
        if self.optimizer not in OPTIMIZERS:
            raise ConfigError(
                f"optimizer={self.optimizer!r} is unknown; known: {', '.join(OPTIMIZERS)}"
            )

    @property
    def network(self) -> ActorCriticConfig:
        """Policy and value."""
        return ActorCriticConfig(
            self.observation_size,
            self.action_size,
            self.hidden_sizes,
            shared=self.shared,
            continuous=self.continuous,
            log_std=self.log_std,
        )

    @property
    def bounds(self) -> tuple[float, ...]:
        """``max_action`` with one entry per action dimension."""
        return ActorConfig(self.observation_size, self.action_size, (), self.max_action).bounds

    @property
    def optimizer_config(self) -> AdamConfig | RMSpropConfig:
        """The optimizer's constants."""
        kind = AdamConfig if self.optimizer == "adam" else RMSpropConfig
        return kind(self.learning_rate, epsilon=self.optimizer_epsilon)


def initial_state(config: OnPolicyConfig, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The state of a learner before its first update.

    Returns:
        Canonical name -> float64 array (values that float32 can hold) or integer:
        ``slot/actor_critic/step``, ``slot/actor_critic/m/trunk/l1/kernel``, ... (RMSprop: ``v``
        alone), ``param/actor_critic/trunk/l1/kernel``, ...; ``learning_rate/actor_critic``;
        ``step``, the updates made.
    """
    return fresh_state(
        {GROUP: initial_parameters(config.network, rng)},
        {GROUP: config.learning_rate},
        targets=(),
        slots=("m", "v") if config.optimizer == "adam" else ("v",),
    )


def rollout_layout(config: OnPolicyConfig, dtype: str, **more: str) -> Layout:
    """The fields of a rollout; ``more`` are further [T, B] fields: name -> dtype."""
    of_action = ((config.action_size,), dtype) if config.continuous else ((), "int64")
    layout: dict[str, tuple[tuple[int, ...], str]] = {
        "observation": ((config.observation_size,), dtype),
        "action": of_action,
        "reward": ((), dtype),
        "next_observation": ((config.observation_size,), dtype),
        "terminated": ((), "bool"),
        "truncated": ((), "bool"),
    }
    return layout | {name: ((), kind) for name, kind in more.items()}


def require_rollout(given: Given, layouts: Layouts) -> None:
    """Refuse arrays whose names, shapes ``[T, B, *row]`` or dtypes are not those of the layouts.

    Draws have a shape of their own, not one per step: their owner checks it.

    Raises:
        ShapeError: a field is missing or unknown, a shape is wrong, T or B differs or is 0.
        DtypeError: a dtype is wrong; nothing is cast.
    """
    sizes: dict[str, tuple[int | None, ...]] = {}
    for what, layout in layouts.items():
        missing, unknown = set(layout) - set(given[what]), set(given[what]) - set(layout)
        if missing or unknown:
            raise ShapeError(
                f"{what}: missing {sorted(missing) or 'none'}, unknown {sorted(unknown) or 'none'}"
            )
        for name, (row, dtype) in layout.items():
            shape, found = given[what][name]
            if what == "batch" and (len(shape) != len(row) + 2 or tuple(shape[2:]) != row):
                wanted = ", ".join(["T", "B", *map(str, row)])
                raise ShapeError(f"{what}[{name!r}] has shape {list(shape)}, expected [{wanted}]")
            if found != dtype:
                raise DtypeError(f"{what}[{name!r}] is {found}, expected {dtype}")
            if what == "batch":
                sizes[name] = tuple(shape[:2])
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name} {list(size)}" for name, size in sizes.items())
        raise ShapeError(f"expected one number of steps T and of environments B, got {shown}")
    if any(0 in size for size in sizes.values()):
        raise ShapeError(f"the rollout has [T, B] of {list(next(iter(sizes.values())))}: no step")
