"""A recurrent policy with a value: an LSTM over ``[T, B, obs]`` that begins anew with each episode.

The four gates stand side by side along the last axis, input, forget, candidate, output: ``ifgo``.
That is the order of ``torch.nn.LSTM`` and of ``keras.layers.LSTM``, whose candidate is called c;
TensorFlow 1's ``BasicLSTMCell`` has ``igfo`` (its j is g), ONNX ``iofg``. torch has two biases
that are added, ``bias_ih`` and ``bias_hh``: one bias here, their sum; its kernels are transposed.
Keras starts the forget gate's bias at 1 (``unit_forget_bias``) and holds that 1 in the bias itself;
``BasicLSTMCell`` adds it on every call and does not hold it.
"""

from __future__ import annotations

from typing import Any

from impls.recurrent_policy.cases import CHECKS
from impls.recurrent_policy.config import (
    RecurrentPolicyConfig,
    gate_places,
    initial_parameters,
    parameter_shapes,
    require_gates,
    require_sequence,
)
from impls.recurrent_policy.faults import ERRORS, MUTANTS
from parity.component import Component

__all__ = [
    "COMPONENT",
    "RecurrentPolicyConfig",
    "canonical_gates",
    "gate_places",
    "initial_parameters",
    "parameter_shapes",
    "recurrent_policy",
    "require_gates",
    "require_sequence",
]


def recurrent_policy(
    observation: Any,
    start: Any,
    hidden: Any,
    cell: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any,
    policy_kernel: Any,
    policy_bias: Any,
    value_kernel: Any,
    value_bias: Any,
) -> dict[str, Any]:
    """Logits and values of a sequence, and the state behind it.

    For each step t, first ``h = c = 0`` in the rows where start_t; then

        i, f, g, o = observation_t @ kernel + h @ recurrent_kernel + bias
        c <- sigmoid(f) c + sigmoid(i) tanh(g)
        h <- sigmoid(o) tanh(c)
        logits_t = h @ policy_kernel + policy_bias;  value_t = h @ value_kernel + value_bias

    Source: Hochreiter & Schmidhuber 1997; Gers et al. 2000 (forget gate, no peepholes); Mnih et al.
    2016, section 5.1 (A3C with LSTM).

    Args:
        observation: [T, B, obs], floating; T must be known while tracing.
        start: [T, B], bool: an episode begins with this observation, so nothing that came before
            may be remembered: ``terminated | truncated`` of the step before.
        hidden, cell: [B, units], the state before the first step; where start_0 it is not used.
        kernel: [obs, 4 units]. recurrent_kernel: [units, 4 units]. bias: [4 units].
        policy_kernel: [units, actions]. policy_bias: [actions].
        value_kernel: [units, 1]. value_bias: [1].

    Returns:
        ``logits`` [T, B, actions], ``value`` [T, B]; ``hidden`` and ``cell`` [B, units] behind the
        last step, for the next sequence. Gradients flow through all steps to the given state, and
        none across the start of an episode.

    Raises:
        ShapeError, DtypeError: what is given does not fit each other; flags that are no bool.
    """
    ...


def canonical_gates(values: Any, *, order: str) -> Any:
    """The gates of a kernel or bias in the order ``ifgo``.

    Args:
        values: [..., 4 units].
        order: the letters i, f, g, o as the gates stand in ``values``.

    Returns:
        [..., 4 units].

    Raises:
        ConfigError: the order does not name each gate once.
        ShapeError: the last axis is not a multiple of four.
    """
    ...


COMPONENT = Component(
    name="recurrent_policy",
    contract=(recurrent_policy, canonical_gates),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
