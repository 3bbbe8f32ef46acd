"""The recurrent policy in NumPy, with the backward pass through time written out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.recurrent_policy.config import gate_places, require_gates, require_sequence

Array = np.ndarray


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
    steps = _steps(observation, start, hidden, cell, kernel, recurrent_kernel, bias)
    made = np.stack([step["h"] for step in steps])
    return {
        "logits": made @ policy_kernel + policy_bias,
        "value": (made @ value_kernel + value_bias)[:, :, 0],
        "hidden": steps[-1]["h"],
        "cell": steps[-1]["c"],
    }


def recurrent_policy_vjp(*, cotangents: Mapping[str, Array], **inputs: Array) -> dict[str, Array]:
    """Backwards through the heads, then from the last step to the first.

    With ``h = s(o) tanh(c)`` and ``c = s(f) c' + s(i) tanh(g)``, s the logistic function with
    slope ``s (1 - s)``; nothing flows into a state that was set to zero.
    """
    names = ("observation", "start", "hidden", "cell", "kernel", "recurrent_kernel", "bias")
    steps = _steps(*(inputs[name] for name in names))
    found = {name: np.zeros_like(a) for name, a in inputs.items() if name != "start"}
    dh, dc = cotangents["hidden"], cotangents["cell"]
    for t in reversed(range(len(steps))):
        now, dh = steps[t], dh + _heads(steps[t]["h"], t, cotangents, inputs, found)
        i, f, g, o = now["i"], now["f"], now["g"], now["o"]
        squashed = np.tanh(now["c"])
        dc = dc + dh * o * (1.0 - squashed**2)
        dz = np.concatenate(
            [
                dc * g * i * (1.0 - i),
                dc * now["c_before"] * f * (1.0 - f),
                dc * i * (1.0 - g**2),
                dh * squashed * o * (1.0 - o),
            ],
            axis=1,
        )
        found["kernel"] += inputs["observation"][t].T @ dz
        found["recurrent_kernel"] += now["h_before"].T @ dz
        found["bias"] += dz.sum(axis=0)
        found["observation"][t] = dz @ inputs["kernel"].T
        goes_on = ~inputs["start"][t][:, None]
        dh, dc = dz @ inputs["recurrent_kernel"].T * goes_on, dc * f * goes_on
    found["hidden"], found["cell"] = dh, dc
    return found


def canonical_gates(values: Any, *, order: str) -> Any:
    require_gates(values)
    units = values.shape[-1] // 4
    blocks = [values[..., place * units : (place + 1) * units] for place in gate_places(order)]
    return np.concatenate(blocks, axis=-1)


def _steps(
    observation: Array, start: Array, h: Array, c: Array, kernel: Array, recurrent: Array, b: Array
) -> list[dict[str, Array]]:
    """All gates and states of every step."""
    made, units = [], h.shape[1]
    for x, begins in zip(observation, start, strict=True):
        h, c = h * ~begins[:, None], c * ~begins[:, None]
        z = x @ kernel + h @ recurrent + b
        i, f, g, o = (z[:, k * units : (k + 1) * units] for k in range(4))
        step = {"h_before": h, "c_before": c, "i": _logistic(i), "f": _logistic(f)}
        step |= {"g": np.tanh(g), "o": _logistic(o)}
        c = step["c"] = step["f"] * c + step["i"] * step["g"]
        h = step["h"] = step["o"] * np.tanh(c)
        made.append(step)
    return made


def _heads(
    h: Array, t: int, cotangents: Mapping[str, Array], inputs: Mapping[str, Array], found: Any
) -> Array:
    """Adds what one step's outputs give to the heads; returns the gradient of the features."""
    of_logits, of_value = cotangents["logits"][t], cotangents["value"][t][:, None]
    found["policy_kernel"] += h.T @ of_logits
    found["policy_bias"] += of_logits.sum(axis=0)
    found["value_kernel"] += h.T @ of_value
    found["value_bias"] += of_value.sum(axis=0)
    policy = of_logits @ inputs["policy_kernel"].T
    return np.asarray(policy + of_value @ inputs["value_kernel"].T)


def _logistic(x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))
