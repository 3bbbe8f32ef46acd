"""Bugs planted in actor-critic networks, and misuses that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.actor_critic_network.config import ActorCriticConfig
from impls.errors import ConfigError, DtypeError, ShapeError
from parity.component import ErrorCase, Mutant, Side

CHECK = "module.make_actor_critic"

MUTANTS = (
    Mutant(
        id="value-head-on-detached-features",
        find='made["value"] = tf.squeeze(self.value(features), axis=-1)',
        replace='made["value"] = tf.squeeze(self.value(tf.stop_gradient(features)), axis=-1)',
        caught_by=CHECK,
        because="the gradient of the value stops at the trunk: right values",
        case="shared",
    ),
    Mutant(
        id="policy-head-on-detached-features",
        find="policy = getattr(self, config.policy_head)(features)",
        replace="policy = getattr(self, config.policy_head)(features.detach())",
        caught_by=CHECK,
        because="the trunk learns from the value alone",
        sibling="torch",
        case="shared",
    ),
    Mutant(
        id="one-trunk-for-both",
        find="features = getattr(self, config.trunks[-1])(observation)",
        replace="features = getattr(self, config.trunks[0])(observation)",
        caught_by=CHECK,
        because="the value reads the policy's trunk though it has its own",
        case="separate",
    ),
    Mutant(
        id="trunks-swapped",
        find="features = getattr(self, config.trunks[0])(observation)",
        replace="features = getattr(self, config.trunks[-1])(observation)",
        caught_by=CHECK,
        because="the policy reads the value's trunk",
        sibling="torch",
        case="separate",
    ),
    Mutant(
        id="relu-for-tanh",
        find="self.activation = ACTIVATIONS[config.activation]",
        replace='self.activation = ACTIVATIONS["relu"]',
        caught_by=CHECK,
        because="the usual activation in place of tanh",
        case="shared",
    ),
    Mutant(
        id="last-features-linear",
        find="x = self.activation(getattr(self, name)(x))",
        replace="x = getattr(self, name)(x)\n"
        "            x = x if name == self.layers[-1] else self.activation(x)",
        caught_by=CHECK,
        because="no activation between the trunk and the heads",
        sibling="torch",
        case="shared",
    ),
    Mutant(
        id="value-column",
        find='made["value"] = self.value(features).squeeze(-1)',
        replace='made["value"] = self.value(features)',
        caught_by=CHECK,
        because="values of shape (B, 1), which broadcast against returns of shape (B,)",
        sibling="torch",
    ),
    Mutant(
        id="log-std-squashed",
        find='"log_std": tf.convert_to_tensor(self.log_std)}',
        replace='"log_std": tf.tanh(self.log_std)}',
        caught_by=CHECK,
        because="the deviation is kept in bounds on one side only",
        case="gaussian",
    ),
    Mutant(
        id="log-std-not-trained",
        find='"log_std": tf.convert_to_tensor(self.log_std)}',
        replace='"log_std": tf.stop_gradient(self.log_std)}',
        caught_by=CHECK,
        because="a deviation that never changes",
        case="gaussian-separate",
    ),
    Mutant(
        id="std-for-log-std",
        find='{"mean": policy, "log_std": self.log_std}',
        replace='{"mean": policy, "log_std": torch.exp(self.log_std)}',
        caught_by=CHECK,
        because="the standard deviation where its log is asked for",
        sibling="torch",
        case="gaussian",
    ),
    Mutant(
        id="logits-normalised",
        find='made = {"logits": policy}',
        replace='made = {"logits": tf.nn.softmax(policy)}',
        caught_by=CHECK,
        because="probabilities where logits are asked for: softmax twice",
        case="policy-alone",
    ),
    Mutant(
        id="mean-squashed",
        find='{"mean": policy, "log_std": self.log_std}',
        replace='{"mean": torch.tanh(policy), "log_std": self.log_std}',
        caught_by=CHECK,
        because="the mean is bounded, as a deterministic actor's action is",
        sibling="torch",
        case="gaussian",
    ),
    Mutant(
        id="default-float32-layers",
        find='kernel_initializer="zeros", dtype=dtype, name=name',
        replace='kernel_initializer="zeros", name=name',
        caught_by=CHECK,
        because="Keras's own default dtype: a float64 model of layers that cast to float32",
    ),
    Mutant(
        id="reference-slope-without-square",
        find="gradient = gradient * (1.0 - np.tanh(z) ** 2)",
        replace="gradient = gradient * (1.0 - np.tanh(z))",
        caught_by=CHECK,
        because="the derivative of tanh written from memory",
        sibling="reference",
    ),
    Mutant(
        id="reference-one-head-in-the-trunk",
        find="of_features = of_features + other",
        replace="of_features = of_features + 0.0 * other",
        caught_by=CHECK,
        because="the reference forgets that both heads train the trunk",
        sibling="reference",
        case="square",
    ),
)

CONFIG = ActorCriticConfig(3, 2, (11, 7))


def _called(side: Side, shape: tuple[int, ...], dtype: str | None = None) -> Any:
    network = side.impl.make_actor_critic(CONFIG, dtype=side.dtype)
    return network(side.backend.tensor(np.ones(shape), dtype=dtype or side.dtype))


def _config(**fields: Any) -> Callable[[Side], Any]:
    return lambda side: side.impl.make_actor_critic(
        ActorCriticConfig(**{"observation_size": 3, "action_size": 2, **fields}), dtype=side.dtype
    )


def _other(side: Side) -> str:
    return "float64" if side.dtype == "float32" else "float32"


ERRORS = (
    ErrorCase(
        "one-observation-without-batch",
        lambda side: _called(side, (3,)),
        ShapeError,
        r"observation has shape \(3,\), expected \[B, 3\]",
    ),
    ErrorCase(
        "time-and-batch",
        lambda side: _called(side, (7, 5, 3)),
        ShapeError,
        r"observation has shape \(7, 5, 3\), expected \[B, 3\]",
    ),
    ErrorCase(
        "observation-size",
        lambda side: _called(side, (5, 4)),
        ShapeError,
        r"observation has shape \(5, 4\), expected \[B, 3\]",
    ),
    ErrorCase(
        "other-dtype",
        lambda side: _called(side, (5, 3), _other(side)),
        DtypeError,
        r"observation is float(32|64), expected the network's float(32|64)",
    ),
    ErrorCase(
        "network-dtype",
        lambda side: side.impl.make_actor_critic(CONFIG, dtype="float16"),
        DtypeError,
        "dtype='float16'",
    ),
    ErrorCase("no-actions", _config(action_size=0), ConfigError, "action_size=0"),
    ErrorCase(
        "no-units", _config(hidden_sizes=(11, 0)), ConfigError, r"hidden_sizes\[1\]=0: a size"
    ),
    ErrorCase("no-layer", _config(hidden_sizes=()), ConfigError, r"hidden_sizes=\(\): a trunk"),
    ErrorCase("unknown-activation", _config(activation="gelu"), ConfigError, "activation='gelu'"),
    ErrorCase("infinite-log-std", _config(log_std=float("-inf")), ConfigError, "log_std=-inf"),
)
