"""Bugs planted in the recurrent policy, and misuses that it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from impls.recurrent_policy.cases import CONFIG, sequences
from impls.recurrent_policy.config import RecurrentPolicyConfig
from parity.component import ErrorCase, Mutant, Side

CHECK = "function.recurrent_policy"
RESET = (
    "        hidden = tf.where(begins, tf.zeros_like(hidden), hidden)\n"
    "        cell = tf.where(begins, tf.zeros_like(cell), cell)\n"
)


def _mutant(
    name: str, find: str, replace: str, because: str, side: str = "tf", case: str = "episodes"
) -> Mutant:
    return Mutant(
        id=name,
        find=find,
        replace=replace,
        caught_by=CHECK,
        because=because,
        sibling=side,
        case=case,
    )


MUTANTS = (
    _mutant("no-reset", RESET, "", "an episode remembers the one before it"),
    _mutant(
        "cell-not-reset",
        "        cell = torch.where(begins, torch.zeros_like(cell), cell)\n",
        "",
        "half of the state survives the end of an episode",
        "torch",
    ),
    _mutant(
        "reset-one-step-late",
        "        begins = start[t][:, tf.newaxis]\n",
        "        begins = start[max(t - 1, 0)][:, tf.newaxis] & (t > 0)\n",
        "the flag of the step before: the first observation meets the old state",
    ),
    _mutant(
        "reset-of-all-rows",
        "begins = start[t].unsqueeze(-1)",
        "begins = start[t].any().expand(hidden.shape[0], 1)",
        "one environment's end resets every environment",
        "torch",
    ),
    _mutant(
        "gates-of-tensorflow-1",
        "i, f, g, o = tf.split(gates, 4, axis=-1)",
        "i, g, f, o = tf.split(gates, 4, axis=-1)",
        "forget gate and candidate change places",
    ),
    _mutant(
        "gates-of-onnx",
        "weights = (kernel.T, recurrent_kernel.T, bias, torch.zeros_like(bias))",
        "i, f, g, o = torch.chunk(kernel, 4, dim=-1)\n"
        "    kernel = torch.cat([i, o, f, g], dim=-1)\n"
        "    weights = (kernel.T, recurrent_kernel.T, bias, torch.zeros_like(bias))",
        "one kernel is in another order than the other",
        "torch",
    ),
    _mutant(
        "forget-bias",
        "tf.sigmoid(f) * cell",
        "tf.sigmoid(f + 1.0) * cell",
        "the forget gate's bias of 1 is added on every call, as in TensorFlow 1",
    ),
    _mutant(
        "bias-twice",
        "weights = (kernel.T, recurrent_kernel.T, bias, torch.zeros_like(bias))",
        "weights = (kernel.T, recurrent_kernel.T, bias, bias)",
        "the one bias is copied into both of torch's",
        "torch",
    ),
    _mutant(
        "state-not-carried",
        "hidden = tf.where(begins, tf.zeros_like(hidden), hidden)",
        "hidden = tf.zeros_like(hidden)",
        "every step begins with no hidden state",
        case="one-episode",
    ),
    _mutant(
        "given-state-ignored",
        "    features = []\n    for t in range(observation.shape[0]):\n        begins = start[t].u",
        "    features = []\n    hidden, cell = torch.zeros_like(hidden), torch.zeros_like(cell)\n"
        "    for t in range(observation.shape[0]):\n        begins = start[t].u",
        "each rollout begins with zeros though an episode goes on",
        "torch",
        case="one-episode",
    ),
    _mutant(
        "gradient-truncated",
        "hidden = tf.where(begins, tf.zeros_like(hidden), hidden)",
        "hidden = tf.stop_gradient(tf.where(begins, tf.zeros_like(hidden), hidden))",
        "right values, and no gradient from one step to the step before",
    ),
    _mutant(
        "cell-gradient-truncated",
        "torch.lstm_cell(observation[t], (hidden, cell), *weights)",
        "torch.lstm_cell(observation[t], (hidden, cell.detach()), *weights)",
        "the path that LSTMs are made for carries no gradient",
        "torch",
        case="one-episode",
    ),
    _mutant(
        "features-are-the-cell",
        "        features.append(hidden)\n",
        "        features.append(cell)\n",
        "the heads read the cell in place of the output",
    ),
    _mutant(
        "cell-not-squashed",
        "hidden = tf.sigmoid(o) * tf.tanh(cell)",
        "hidden = tf.sigmoid(o) * cell",
        "the output is not bounded",
    ),
    _mutant(
        "reference-gradient-across-episodes",
        "goes_on = ~inputs",
        "goes_on = True | inputs",
        "the gradient of one episode flows into the one before",
        "reference",
    ),
    Mutant(
        id="gates-turned-backwards",
        find="torch.cat([gates[place] for place in places], dim=-1)",
        replace="torch.cat([gates[places.index(k)] for k in range(4)], dim=-1)",
        caught_by="function.canonical_gates",
        because="the inverse permutation, the same for a mere exchange of two",
        sibling="torch",
        case="onnx",
    ),
    Mutant(
        id="gates-interleaved",
        find="gates = tf.split(values, 4, axis=-1)",
        replace="gates = [values[..., k::4] for k in range(4)]",
        caught_by="function.canonical_gates",
        because="taken for a layout in which the gates of each unit stand together",
    ),
)


def _called(**changes: Any) -> Callable[[Side], Any]:
    """The function on inputs of which some are changed."""

    def call(side: Side) -> Any:
        arrays = {**sequences(CONFIG, 7, 4, 0.3)(np.random.default_rng(0)), **changes}
        given = {
            name: side.backend.tensor(array, dtype=side.dtype, device=side.device)
            for name, array in arrays.items()
        }
        return side.impl.recurrent_policy(**given)

    return call


def _gates(order: str, *shape: int) -> Callable[[Side], Any]:
    return lambda side: side.impl.canonical_gates(
        side.backend.tensor(np.zeros(shape), dtype=side.dtype), order=order
    )


ERRORS = tuple(
    ErrorCase(case, call, error, match)
    for case, call, error, match in (
        ("no-units", lambda side: RecurrentPolicyConfig(3, 2, 0), ConfigError, "units=0"),
        (
            "one-step-without-time",
            _called(observation=np.zeros((4, 3))),
            ShapeError,
            r"observation has shape \(4, 3\), must be \[T, B, obs\]",
        ),
        ("no-steps", _called(observation=np.zeros((0, 4, 3))), ShapeError, r"\(0, 4, 3\)"),
        (
            "batch-major-flags",
            _called(start=np.zeros((4, 7), bool)),
            ShapeError,
            r"start has shape \(4, 7\), must be \(7, 4\)",
        ),
        ("flags-as-numbers", _called(start=np.zeros((7, 4))), DtypeError, "start is float"),
        (
            "state-of-one-row",
            _called(hidden=np.zeros((1, 5))),
            ShapeError,
            r"hidden has shape \(1, 5\), must be \(4, 5\)",
        ),
        (
            "kernel-of-torch",
            _called(kernel=np.zeros((20, 3))),
            ShapeError,
            r"kernel has shape \(20, 3\), must be \(3, 20\)",
        ),
        (
            "recurrent-kernel-of-torch",
            _called(recurrent_kernel=np.zeros((20, 5))),
            ShapeError,
            r"recurrent_kernel has shape \(20, 5\), must be \[units, 4 \* units\]",
        ),
        ("value-vector", _called(value_kernel=np.zeros(5)), ShapeError, "value_kernel has shape"),
        ("gate-twice", _gates("iffo", 3, 8), ConfigError, "order='iffo'"),
        ("gate-of-keras", _gates("ifco", 3, 8), ConfigError, "order='ifco'"),
        ("not-four-gates", _gates("ifgo", 3, 6), ShapeError, r"values has shape \(3, 6\)"),
    )
)
