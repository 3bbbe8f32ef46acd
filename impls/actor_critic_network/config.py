"""Sizes of an actor-critic network, its parameters by name, and the values it starts with."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impls.errors import ConfigError
from impls.networks.config import ACTIVATIONS

HIDDEN_GAIN, POLICY_GAIN, VALUE_GAIN = math.sqrt(2.0), 0.01, 1.0
"""Gains of the orthogonal kernels; the policy head's makes the first policy nearly uniform."""


@dataclass(frozen=True)
class ActorCriticConfig:
    """Sizes and kind of an actor-critic network.

    Raises:
        ConfigError: a size is below 1, there is no hidden layer, the activation is unknown, or
            log_std is not finite.
    """

    observation_size: int
    """Features of one observation."""
    action_size: int
    """Number of actions; of a continuous policy, dimensions of one action."""
    hidden_sizes: tuple[int, ...] = (128, 128)
    """Units of each hidden layer; of both trunks where they are separate."""
    shared: bool = True
    """One trunk under both heads; else one for the policy and one for the value."""
    continuous: bool = False
    """A Gaussian's mean and a free ``log_std`` in place of logits."""
    activation: str = "tanh"
    """After each hidden layer: ``tanh`` or ``relu``."""
    value: bool = True
    """With a value head; without, the network is a policy alone."""
    log_std: float = 0.0
    """What every entry of ``log_std`` starts with; log of the action's unit."""

    def __post_init__(self) -> None:
        sizes = {f"hidden_sizes[{i}]": n for i, n in enumerate(self.hidden_sizes)}
        sizes |= {"observation_size": self.observation_size, "action_size": self.action_size}
        for name, size in sizes.items():
            if size < 1:
                raise ConfigError(f"{name}={size}: a size is at least 1")
        if not self.hidden_sizes:
            raise ConfigError("hidden_sizes=(): a trunk has at least one layer")
        if self.activation not in ACTIVATIONS:
            raise ConfigError(
                f"activation={self.activation!r} is unknown; known: {', '.join(ACTIVATIONS)}"
            )
        if not math.isfinite(self.log_std):
            raise ConfigError(f"log_std={self.log_std!r}: must be finite")

    @property
    def trunks(self) -> tuple[str, ...]:
        """Names of the trunks; the first is the policy's, the last the value's."""
        return ("policy_trunk", "value_trunk") if self.value and not self.shared else ("trunk",)

    @property
    def policy_head(self) -> str:
        """Name of the layer that makes the logits or the mean."""
        return "policy_mean" if self.continuous else "policy_logits"

    @property
    def heads(self) -> dict[str, int]:
        """Name of each head -> its units."""
        return {self.policy_head: self.action_size} | ({"value": 1} if self.value else {})


def parameter_shapes(config: ActorCriticConfig) -> dict[str, tuple[int, ...]]:
    """Canonical name -> shape (kernels ``[in, out]``): ``log_std``, the trunks, the heads."""
    shapes: dict[str, tuple[int, ...]] = {}
    if config.continuous:
        shapes["log_std"] = (config.action_size,)
    for trunk in config.trunks:
        fan_in = config.observation_size
        for i, units in enumerate(config.hidden_sizes, start=1):
            shapes[f"{trunk}/l{i}/kernel"] = (fan_in, units)
            shapes[f"{trunk}/l{i}/bias"] = (units,)
            fan_in = units
    for head, units in config.heads.items():
        shapes[f"{head}/kernel"] = (config.hidden_sizes[-1], units)
        shapes[f"{head}/bias"] = (units,)
    return shapes


def initial_parameters(
    config: ActorCriticConfig, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Orthogonal kernels and zero biases, drawn once and used by every framework.

    Gain sqrt(2) in the trunks, 0.01 in the policy head, 1 in the value head.

    Source: Saxe et al. 2014; the gains are those of Engstrom et al. 2020, "Implementation matters
    in deep policy gradients", section 3.

    Args:
        config: of :func:`~impls.actor_critic_network.spec.make_actor_critic`.
        rng: the draws; kernel by kernel, in the order of :func:`parameter_shapes`.

    Returns:
        Canonical name -> float64 array of values that float32 can hold, so that networks of either
        precision start from the same numbers.
    """
    gains = {config.policy_head: POLICY_GAIN, "value": VALUE_GAIN}
    values: dict[str, np.ndarray] = {}
    for name, shape in parameter_shapes(config).items():
        if name == "log_std":
            values[name] = np.full(shape, config.log_std)
        elif name.endswith("bias"):
            values[name] = np.zeros(shape)
        else:
            values[name] = gains.get(name.split("/")[0], HIDDEN_GAIN) * _orthogonal(shape, rng)
        values[name] = values[name].astype(np.float32).astype(np.float64)
    return values


def _orthogonal(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """A matrix with orthonormal rows or columns, whichever are fewer."""
    rows, columns = shape
    drawn = rng.normal(size=(max(shape), min(shape)))
    q, r = np.linalg.qr(drawn)
    q = q * np.sign(np.diag(r))  # else the decomposition's sign convention decides
    return np.asarray(q if rows >= columns else q.T)
