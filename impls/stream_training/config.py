"""Constants of training from a stream, the state that a seed gives, and what is refused alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, EmptyBufferError, ShapeError
from impls.learner.config import fresh_state, require_at_least_zero
from impls.networks.config import parameter_shapes, require_matrix
from impls.replay_buffer.config import ReplayBufferConfig
from impls.td3.config import TD3Config
from parity.random import Stream
from parity.random.initializers import (
    fan_in_uniform,
    glorot_uniform,
    kaiming_uniform,
    orthogonal,
)

KERNELS: Mapping[str, Callable[..., np.ndarray]] = {
    "kaiming_uniform": kaiming_uniform,
    "glorot_uniform": glorot_uniform,
    "orthogonal": orthogonal,
}
EXPLORATIONS = ("gaussian", "ou")
PURPOSES = ("replay", "smoothing", "exploration")
"""Streams that are drawn from in compiled steps, each by its name below the seed's own stream."""
OWN = ("buffer/", "trainer/")
"""State entries that belong to the trainer; the others are the learner's."""


@dataclass(frozen=True)
class StreamTrainingConfig:
    """What a trainer does besides TD3's own update.

    Raises:
        ConfigError: a value is out of its range; the message names the field.
    """

    td3: TD3Config
    """Networks and constants of the update; its sizes are those of the environment."""
    env_id: str
    """Environment that the transitions come from (gymnasium)."""
    environments: int = 2
    """Copies of the environment, each with a seed of its own, at least 1."""
    rows: int = 20
    """Transitions per environment that one collection adds to the buffer, at least 1."""
    capacity: int = 100
    """Transitions that the buffer holds, at least one collection."""
    batch_size: int = 13
    """Rows of a batch (TD3's code: 256), at most one collection."""
    replace: bool = True
    """Whether a batch may hold a transition twice."""
    exploration: str = "gaussian"
    """``gaussian`` (TD3) or ``ou``, an Ornstein-Uhlenbeck process (DDPG)."""
    sigma: float = 0.1
    """Scale of the exploration noise, as a share of max_action (TD3: 0.1; DDPG: 0.2)."""
    theta: float = 0.15
    """Rate at which the process returns to 0, per unit of time (DDPG: 0.15)."""
    dt: float = 1.0
    """Time between two actions of the process, above 0."""
    initializer: str = "kaiming_uniform"
    """Of kernels: ``kaiming_uniform`` (biases fan-in uniform, as in torch), ``glorot_uniform`` or
    ``orthogonal`` (biases 0, as in Keras)."""
    draw_dtype: str = "float32"
    """Dtype in which noise is drawn, whatever that of the networks: a float64 run then sees the
    same numbers as a float32 run."""
    max_episode_steps: int | None = None
    """Time limit of the environment; its registered one if None."""
    reward_scale: float = 1.0
    """Factor on the rewards."""

    def __post_init__(self) -> None:
        for name in ("environments", "rows", "batch_size"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)!r}: must be at least 1")
        for name, most in (("capacity", None), ("batch_size", self.collected)):
            value = getattr(self, name)
            if most is None and value < self.collected:
                raise ConfigError(f"{name}={value!r}: must hold one collection, {self.collected}")
            if most is not None and value > most:
                raise ConfigError(f"{name}={value!r}: at most one collection, {most}")
        require_known(exploration=(self.exploration, EXPLORATIONS))
        require_known(initializer=(self.initializer, tuple(KERNELS)))
        require_known(draw_dtype=(self.draw_dtype, ("float32", "float64")))
        require_at_least_zero(sigma=self.sigma, theta=self.theta)
        if not self.dt > 0.0:
            raise ConfigError(f"dt={self.dt!r}: must be above 0")

    @property
    def collected(self) -> int:
        """Transitions that one collection adds."""
        return self.environments * self.rows

    @property
    def buffer(self) -> ReplayBufferConfig:
        """Sizes of the replay buffer."""
        c = self.td3
        return ReplayBufferConfig(self.capacity, (c.observation_size,), (c.action_size,))

    @property
    def action_shape(self) -> tuple[int, int]:
        """Shape of the actions of all environments."""
        return self.environments, self.td3.action_size

    @property
    def scale(self) -> tuple[float, ...]:
        """``sigma`` in the actions' unit, per dimension."""
        return tuple(self.sigma * bound for bound in self.td3.actor.bounds)


def initial_state(config: StreamTrainingConfig, stream: Stream) -> dict[str, np.ndarray]:
    """The state of a trainer before its first collection: networks drawn, everything else empty.

    The parameter ``critic/q1/l1/kernel`` is drawn from ``stream.split("critic/q1/l1/kernel")``, so
    that no weight depends on the order in which a framework creates its layers.

    Returns:
        Entries of ``td3.initial_state``, ``buffer/<field>``, ``buffer/size``, ``buffer/cursor``,
        ``trainer/acts``, ``trainer/collections`` and ``trainer/ou``; floats are float64 values that
        float32 can hold.
    """
    c = config.td3
    parameters = {
        "critic": _weights(config, stream, "critic", parameter_shapes(c.critic)),
        "actor": _weights(config, stream, "actor", parameter_shapes(c.actor)),
    }
    rates = {"critic": c.critic_learning_rate, "actor": c.actor_learning_rate}
    state = fresh_state(parameters, rates)
    for name, (shape, dtype) in config.buffer.layout("float64").items():
        state[f"buffer/{name}"] = np.zeros((config.capacity, *shape), dtype)
    for name in ("buffer/size", "buffer/cursor", "trainer/acts", "trainer/collections"):
        state[name] = np.array(0, np.int64)
    state["trainer/ou"] = np.zeros(config.action_shape)
    return state


def _weights(
    config: StreamTrainingConfig, stream: Stream, group: str, shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, np.ndarray]:
    values: dict[str, np.ndarray] = {}
    for name, shape in shapes.items():
        own = stream.split(f"{group}/{name}")
        if name.endswith("kernel"):
            values[name] = KERNELS[config.initializer](own, shape)
        elif config.initializer == "kaiming_uniform":
            fan_in = shapes[name.replace("bias", "kernel")][0]
            values[name] = fan_in_uniform(own, shape, fan_in)
        else:
            values[name] = np.zeros(shape)
    return {name: np.asarray(value, np.float64) for name, value in values.items()}


def split_state(
    state: Mapping[str, np.ndarray],
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Entries of the learner, of the buffer and of the trainer itself."""
    parts: list[dict[str, np.ndarray]] = []
    for prefix in OWN:
        parts.append({n[len(prefix) :]: v for n, v in state.items() if n.startswith(prefix)})
    return {n: v for n, v in state.items() if not n.startswith(OWN)}, parts[0], parts[1]


def require_known(**fields: tuple[str, tuple[str, ...]]) -> None:
    """Refuse a name that is not in the list beside it."""
    for name, (value, known) in fields.items():
        if value not in known:
            raise ConfigError(f"{name}={value!r} is unknown; known: {', '.join(known)}")


def require_batch(rows: int, size: int) -> None:
    """Refuse minibatches that are empty or larger than the data."""
    if not 1 <= size <= rows:
        raise ConfigError(f"size={size!r}: must be in [1, rows], rows={rows}")


def require_filled(count: int, size: Any, replace: bool) -> None:
    """Refuse to draw from nothing, or more than there is; ``size`` is a Python integer here."""
    if size == 0:
        raise EmptyBufferError("size=0: there is nothing to sample from")
    if not replace and count > size:
        raise EmptyBufferError(f"count={count}: the buffer holds only {size} transitions")


def require_dense(shapes: Mapping[str, tuple[int | None, ...]]) -> None:
    """Refuse weights that do not fit ``x [B, in]``, ``[in, hidden]``, ``[hidden]``, ..."""
    for name, rank in {"x": 2, "kernel1": 2, "bias1": 1, "kernel2": 2, "bias2": 1}.items():
        if len(shapes[name]) != rank:
            raise ShapeError(f"{name} has shape {shapes[name]}, must have {rank} axes")
    pairs = (
        ("kernel1", 0, "x", 1),
        ("bias1", 0, "kernel1", 1),
        ("kernel2", 0, "kernel1", 1),
        ("bias2", 0, "kernel2", 1),
    )
    for name, axis, other, other_axis in pairs:
        found, wanted = shapes[name][axis], shapes[other][other_axis]
        if None not in (found, wanted) and found != wanted:
            raise ShapeError(f"{name} has shape {shapes[name]}, {other} {shapes[other]}: must fit")


def require_observation(
    config: StreamTrainingConfig, shape: Sequence[int], dtype: str, network_dtype: str
) -> None:
    """Refuse observations that are not one row per environment."""
    size = config.td3.observation_size
    require_matrix("observation", shape, dtype, size=size, network_dtype=network_dtype)
    if shape[0] != config.environments:
        raise ShapeError(
            f"observation has {shape[0]} rows, expected one for each of the "
            f"{config.environments} environments"
        )


def require_ended(config: StreamTrainingConfig, shape: Sequence[int], dtype: str) -> None:
    """Refuse flags that are not one bool per environment."""
    if tuple(shape) != (config.environments,):
        raise ShapeError(f"ended has shape {tuple(shape)}, must be ({config.environments},)")
    if dtype != "bool":
        raise DtypeError(f"ended is {dtype}, must be bool")
