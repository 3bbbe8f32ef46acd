"""Which activation a layer applies, and with which parameters, in one vocabulary."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from parity.backends.base import LayerCall
from parity.debug import kinds

ATTRIBUTES = {("leaky_relu", "slope"): "negative_slope", ("elu", "slope"): "alpha"}


def config_names(layer: Any) -> set[str]:
    try:
        return set(layer.get_config())
    except Exception:  # a layer without a config has no names
        return set()


def of_torch(call: LayerCall, layer: Any) -> dict[str, Any]:
    """The activation that a torch layer is, and its numbers."""
    name = kinds.describe(call.kind, layer)[1]
    found: dict[str, Any] = {"name": name}
    if name == "leaky_relu":
        found["slope"] = float(layer.negative_slope)
    elif name in ("elu", "celu"):
        found["slope"] = float(layer.alpha)
    elif name == "gelu":
        found["approximate"] = layer.approximate == "tanh"
    elif name == "softplus":
        found["beta"] = float(layer.beta)
    elif name in ("softmax", "log_softmax"):
        axis = layer.dim if layer.dim is not None else 1
        found["axis"] = _positive(axis, np.ndim(call.output))
    return found


def of_tf(call: LayerCall, layer: Any) -> dict[str, Any]:
    """Keras's defaults where the layer only names its function."""
    name = kinds.describe(call.kind, layer, fused=call.fused)[1]
    named = call.fused or call.kind == "Activation"
    found: dict[str, Any] = {"name": name}
    if name == "leaky_relu":
        own = getattr(layer, "negative_slope", getattr(layer, "alpha", 0.3))
        found["slope"] = 0.2 if named else float(own)
    elif name == "elu":
        found["slope"] = 1.0 if named else float(layer.alpha)
    elif name == "gelu":
        found["approximate"] = False if named else bool(getattr(layer, "approximate", False))
    elif name == "softplus":
        found["beta"] = 1.0
    elif name in ("softmax", "log_softmax"):
        axis = getattr(layer, "axis", -1) if not named else -1
        found["axis"] = _positive(axis if isinstance(axis, int) else axis[0], np.ndim(call.output))
    elif name == "relu" and not named:
        slope, top = getattr(layer, "negative_slope", 0.0), getattr(layer, "max_value", None)
        if slope:
            found = {"name": "leaky_relu", "slope": float(np.asarray(slope))}
        elif top is not None and math.isclose(float(top), 6.0):
            found["name"] = "relu6"
    return found


def _positive(axis: int, ndim: int) -> int:
    return axis % ndim
