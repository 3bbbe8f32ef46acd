"""The recurrent policy in TensorFlow, with the cell written out: see ``spec.py``."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from impls.recurrent_policy.config import gate_places, require_gates, require_sequence


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
    values = {
        "hidden": hidden,
        "cell": cell,
        "kernel": kernel,
        "recurrent_kernel": recurrent_kernel,
        "bias": bias,
        "policy_kernel": policy_kernel,
        "policy_bias": policy_bias,
        "value_kernel": value_kernel,
        "value_bias": value_bias,
    }
    require_sequence(observation, start, values)
    features = []
    for t in range(observation.shape[0]):
        begins = start[t][:, tf.newaxis]
        hidden = tf.where(begins, tf.zeros_like(hidden), hidden)
        cell = tf.where(begins, tf.zeros_like(cell), cell)
        gates = observation[t] @ kernel + hidden @ recurrent_kernel + bias
        i, f, g, o = tf.split(gates, 4, axis=-1)
        cell = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(g)
        hidden = tf.sigmoid(o) * tf.tanh(cell)
        features.append(hidden)
    made = tf.stack(features)
    logits = tf.tensordot(made, policy_kernel, 1) + policy_bias
    value = tf.squeeze(tf.tensordot(made, value_kernel, 1) + value_bias, axis=-1)
    return {"logits": logits, "value": value, "hidden": hidden, "cell": cell}


def canonical_gates(values: Any, *, order: str) -> Any:
    require_gates(values)
    places = gate_places(order)
    gates = tf.split(values, 4, axis=-1)
    return tf.concat([gates[place] for place in places], axis=-1)
