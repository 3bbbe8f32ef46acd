"""Networks with a policy and a value: one trunk under both heads, or a trunk for each.

Hidden layers are called ``trunk/l1``, ``trunk/l2``, ... (where they are separate,
``policy_trunk/l1``, ..., ``value_trunk/l1``, ...), the heads ``policy_logits`` or ``policy_mean``,
and ``value``. Kernels are ``[in, out]`` wherever values cross an interface; parameters are read and
written with :mod:`impls.networks`.
"""

from __future__ import annotations

from typing import Any

from impls.actor_critic_network.cases import CHECKS
from impls.actor_critic_network.config import (
    ActorCriticConfig,
    initial_parameters,
    parameter_shapes,
)
from impls.actor_critic_network.faults import ERRORS, MUTANTS
from parity.component import Component

__all__ = [
    "COMPONENT",
    "ActorCriticConfig",
    "initial_parameters",
    "make_actor_critic",
    "parameter_shapes",
]


def make_actor_critic(config: ActorCriticConfig, *, dtype: str, device: str = "cpu") -> Any:
    """Actor-critic network.

        h_0 = observation;  h_i = activation(h_{i-1} @ kernel_i + bias_i)     each trunk
        logits (or mean) = h @ kernel + bias        of the policy's trunk
        value = (h @ kernel + bias)[:, 0]           of the value's trunk, or the same one

    The gradient of a shared trunk is the sum of what comes from both heads. ``log_std`` is a
    parameter [act] that does not depend on the observation.

    Source: Mnih et al. 2016 (A3C), section 4 (shared layers); Schulman et al. 2017 (PPO), section
    6.1 (tanh, a free standard deviation, nothing shared).

    Args:
        config: sizes and kind.
        dtype: ``float32`` or ``float64``: of the weights, the inputs and every value between.
        device: ``cpu``, ``cuda`` or ``cuda:N``.

    Returns:
        A network called as ``network(observation)``: observation [B, observation_size] -> a
        dictionary with ``logits`` [B, actions], or ``mean`` [B, act] and ``log_std`` [act]; and
        with a value head ``value`` [B], units of return. ``network.state_value(observation)`` is
        the value alone. It starts with ``initial_parameters(config, default_rng(0))``, so that it
        is the same in every framework before any weight has been moved.

    Raises:
        DtypeError: ``dtype`` is another one; on a call, inputs of another dtype (never cast).
        ShapeError: on a call, inputs that are not [B, observation_size]. Both work while tracing.
        ConfigError: there is no such device. The reference has none and takes any.
    """
    ...


COMPONENT = Component(
    name="actor_critic_network",
    contract=(make_actor_critic,),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
