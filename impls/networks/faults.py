"""Bugs planted in the networks, and misuses that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ImplError, ShapeError
from impls.networks.config import ActorConfig, CriticConfig, MLPConfig
from parity.component import ErrorCase, Mutant, Side

MUTANTS = (
    Mutant(
        id="last-hidden-layer-linear",
        find="x = self.activation(getattr(self, name)(x))",
        replace="x = getattr(self, name)(x)\n"
        "            x = x if name == self.layer_names[-2] else self.activation(x)",
        caught_by="module.make_mlp",
        because="the activation after the second layer was lost",
    ),
    Mutant(
        id="relu-capped-at-6",
        find='"relu": tf.nn.relu,',
        replace='"relu": tf.nn.relu6,',
        caught_by="module.make_mlp",
        because="the mobile networks' relu, the same function up to 6",
        case="order-100",
    ),
    Mutant(
        id="leaky-relu",
        find='"relu": torch.relu,',
        replace='"relu": nn.functional.leaky_relu,',
        caught_by="module.make_twin_critic",
        because="negative values leak through with torch's default slope of 0.01",
        sibling="torch",
    ),
    Mutant(
        id="output-activated",
        find="        return getattr(self, self.layers[-1])(x)",
        replace="        return self.activation(getattr(self, self.layers[-1])(x))",
        caught_by="module.make_twin_critic",
        because="the last layer is activated like the hidden ones: no value below zero",
        sibling="torch",
    ),
    Mutant(
        id="scaled-before-tanh",
        find="return self.max_action * tf.tanh(self.through(observation))",
        replace="return tf.tanh(self.max_action * self.through(observation))",
        caught_by="module.make_actor",
        because="the bound stands inside the squashing: actions stay within one",
        case="bound-2",
    ),
    Mutant(
        id="bound-forgotten",
        find="return self.max_action * torch.tanh(self.through(observation))",
        replace="return torch.tanh(self.through(observation))",
        caught_by="module.make_actor",
        because="actions in [-1, 1], the same where the bound is 1",
        sibling="torch",
        case="bound-2",
    ),
    Mutant(
        id="bound-of-first-dimension",
        find="self.max_action = tf.constant(config.bounds, dtype=dtype)",
        replace="self.max_action = tf.constant(config.bounds[0], dtype=dtype)",
        caught_by="module.make_actor",
        because="action_space.high[0] for every dimension, as in most published actors",
        case="bound-per-dimension",
    ),
    Mutant(
        id="bound-in-float32",
        find="self.max_action = tf.constant(config.bounds, dtype=dtype)",
        replace="self.max_action = tf.cast(tf.constant(config.bounds), dtype)",
        caught_by="module.make_actor",
        because="the bound is made in float32 and cast: 0.4 is off by 6e-9",
        case="bound-per-dimension",
    ),
    Mutant(
        id="bound-clips",
        find="return self.max_action * tf.tanh(self.through(observation))",
        replace="return tf.clip_by_value("
        "self.through(observation), -self.max_action, self.max_action)",
        caught_by="module.make_actor",
        because="a linear output clipped to the bound: no gradient beyond it",
    ),
    Mutant(
        id="action-first",
        find="x = tf.concat([observation, action], axis=-1)",
        replace="x = tf.concat([action, observation], axis=-1)",
        caught_by="module.make_twin_critic",
        because="the two inputs of the critic are joined the other way round",
    ),
    Mutant(
        id="one-network-twice",
        find="        return self.q1(observation, action), self.q2(observation, action)",
        replace="        return self.q1(observation, action), self.q1(observation, action)",
        caught_by="module.make_twin_critic",
        because="the second value comes from the first network: no twin at all",
    ),
    Mutant(
        id="twins-swapped",
        find="        return self.q1(observation, action), self.q2(observation, action)",
        replace="        return self.q2(observation, action), self.q1(observation, action)",
        caught_by="module.make_twin_critic",
        because="the second network answers first",
        sibling="torch",
    ),
    Mutant(
        id="default-float32-layers",
        find='kernel_initializer="zeros", dtype=dtype, name=f"l{i}"',
        replace='kernel_initializer="zeros", name=f"l{i}"',
        caught_by="module.make_mlp",
        because="Keras's own default dtype: a float64 model of layers that cast to float32",
    ),
    Mutant(
        id="value-column",
        find="return tf.squeeze(self.through(x), axis=-1)",
        replace="return self.through(x)",
        caught_by="module.make_twin_critic",
        because="values of shape (B, 1), which broadcast against targets of shape (B,)",
    ),
    Mutant(
        id="action-detached",
        find="self.through(torch.cat([observation, action], dim=-1))",
        replace="self.through(torch.cat([observation, action.detach()], dim=-1))",
        caught_by="module.make_twin_critic",
        because="no gradient reaches the actor through the critic",
        sibling="torch",
    ),
    Mutant(
        id="transposed-kernel",
        find='return x @ self.parameters[f"{path}/kernel"] +',
        replace='return x @ self.parameters[f"{path}/kernel"].T +',
        caught_by="module.make_mlp",
        because="a kernel in the other framework's layout: only a square one fits",
        sibling="reference",
        case="square",
    ),
    Mutant(
        id="slope-without-square",
        find="d_output = d_action * self.max_action * (1.0 - squashed**2)",
        replace="d_output = d_action * self.max_action * (1.0 - squashed)",
        caught_by="module.make_actor",
        because="the derivative of tanh written from memory",
        sibling="reference",
    ),
)

_MLP = MLPConfig(3, (11,), 2)
_ACTOR = ActorConfig(3, 2, (11,))
_CRITIC = CriticConfig(3, 2, (11,))


def _network(side: Side, name: str, config: Any) -> Any:
    return getattr(side.impl, name)(config, dtype=side.dtype)


def _called(side: Side, name: str, config: Any, *shapes: tuple[int, ...], **dtypes: str) -> Any:
    """Build a network and call it with arrays of ones."""
    dtype = dtypes.get("dtype", side.dtype)
    inputs = [side.backend.tensor(np.ones(shape), dtype=dtype) for shape in shapes]
    return _network(side, name, config)(*inputs)


def _other(side: Side) -> str:
    return "float64" if side.dtype == "float32" else "float32"


def _loaded(side: Side, edit: Callable[[dict[str, np.ndarray]], Any]) -> None:
    """Load the parameters that a network already has, after an edit."""
    network = _network(side, "make_mlp", _MLP)
    values = side.impl.canonical(side.impl.network_parameters(network))
    edit(values)
    side.impl.load_parameters(network, values)


def _case(id: str, call: Callable[[Side], Any], error: type[ImplError], match: str) -> ErrorCase:
    return ErrorCase(id=id, call=call, error=error, match=match)


ERRORS = (
    _case(
        "one-observation-without-batch",
        lambda side: _called(side, "make_actor", _ACTOR, (3,)),
        ShapeError,
        r"observation has shape \(3,\), expected \[B, 3\]",
    ),
    _case(
        "observation-size",
        lambda side: _called(side, "make_actor", _ACTOR, (5, 4)),
        ShapeError,
        r"observation has shape \(5, 4\), expected \[B, 3\]",
    ),
    _case(
        "time-and-batch",
        lambda side: _called(side, "make_mlp", _MLP, (7, 5, 3)),
        ShapeError,
        r"inputs has shape \(7, 5, 3\), expected \[B, 3\]",
    ),
    _case(
        "action-size",
        lambda side: _called(side, "make_twin_critic", _CRITIC, (5, 3), (5, 1)),
        ShapeError,
        r"action has shape \(5, 1\), expected \[B, 2\]",
    ),
    _case(
        "arguments-swapped",
        lambda side: _called(side, "make_twin_critic", _CRITIC, (5, 2), (5, 3)),
        ShapeError,
        r"observation has shape \(5, 2\), expected \[B, 3\]",
    ),
    _case(
        "batches-differ",
        lambda side: _called(side, "make_twin_critic", _CRITIC, (5, 3), (1, 2)),
        ShapeError,
        "observation has 5 rows and action has 1",
    ),
    _case(
        "other-dtype",
        lambda side: _called(side, "make_actor", _ACTOR, (5, 3), dtype=_other(side)),
        DtypeError,
        r"observation is float(32|64), expected the network's float(32|64)",
    ),
    _case(
        "network-dtype",
        lambda side: side.impl.make_mlp(_MLP, dtype="float16"),
        DtypeError,
        "dtype='float16'",
    ),
    _case(
        "kernel-transposed",
        lambda side: _loaded(side, lambda v: v.update({"l1/kernel": v["l1/kernel"].T})),
        ShapeError,
        r"l1/kernel has shape \(11, 3\), expected \(3, 11\)",
    ),
    _case(
        "parameter-missing",
        lambda side: _loaded(side, lambda v: v.pop("l2/bias")),
        ConfigError,
        r"missing \['l2/bias'\], unknown none",
    ),
    _case(
        "parameter-unknown",
        lambda side: _loaded(side, lambda v: v.update({"l3/bias": v["l2/bias"]})),
        ConfigError,
        r"missing none, unknown \['l3/bias'\]",
    ),
    _case(
        "size-zero",
        lambda side: _network(side, "make_mlp", MLPConfig(3, (11, 0), 2)),
        ConfigError,
        r"hidden_sizes\[1\]=0",
    ),
    _case(
        "unknown-activation",
        lambda side: _network(side, "make_mlp", MLPConfig(3, (11,), 2, "gelu")),
        ConfigError,
        "activation='gelu'",
    ),
    _case(
        "bounds-of-other-size",
        lambda side: _network(side, "make_actor", ActorConfig(3, 2, (11,), (1.0, 2.0, 3.0))),
        ConfigError,
        "max_action=.* has 3 entries",
    ),
    _case(
        "bound-infinite",
        lambda side: _network(side, "make_actor", ActorConfig(3, 2, (11,), float("inf"))),
        ConfigError,
        "max_action=inf: every bound is finite",
    ),
)
