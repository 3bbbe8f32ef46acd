"""What a layer without weights does, in one vocabulary for both frameworks.

A family is what can stand for one another in a port (any activation, any pooling); a name is the
very function (``relu``), empty where the class does not tell.
"""

from __future__ import annotations

import re
from typing import Any

ACTIVATION, POOL, PAD, CROP, DROPOUT = "activation", "pool", "pad", "crop", "dropout"
SHAPE, RESIZE, MERGE, CODE = "shape", "resize", "merge", "code"

_ACTIVATIONS = {
    "ReLU": "relu", "ReLU6": "relu6", "LeakyReLU": "leaky_relu", "PReLU": "prelu", "ELU": "elu",
    "CELU": "celu", "SELU": "selu", "GELU": "gelu", "SiLU": "silu", "Mish": "mish",
    "Sigmoid": "sigmoid", "Hardsigmoid": "hard_sigmoid", "Hardswish": "hard_silu",
    "Hardtanh": "hard_tanh", "Tanh": "tanh", "Tanhshrink": "tanh_shrink", "Softplus": "softplus",
    "Softsign": "softsign", "Softmax": "softmax", "LogSoftmax": "log_softmax",
    "Softmax2d": "softmax", "Softmin": "softmin", "LogSigmoid": "log_sigmoid",
    "Hardshrink": "hard_shrink", "Softshrink": "soft_shrink", "Threshold": "threshold",
    "RReLU": "rrelu", "GLU": "glu", "Activation": "",
}  # fmt: skip
_SAME = {"swish": "silu", "hard_swish": "hard_silu", "linear": "identity"}
_PATTERNS = (
    (r"(Adaptive|Global|Fractional)?(Max|Avg|Average|LP)Pool(ing)?\dd?D?$", POOL),
    (r"(Zero|Constant|Reflection|Replication|Circular)Pad(ding)?\dd?D?$", PAD),
    (r"Cropping\dD$|CenterCrop$", CROP),
    (r"(Alpha|FeatureAlpha|Spatial|Gaussian)?Dropout(\dd?D?)?$|GaussianNoise$", DROPOUT),
    (r"Flatten$|Unflatten$|Reshape$|Permute$|RepeatVector$", SHAPE),
    (r"Up[sS]ampl(e|ing).*$|Resizing$|PixelShuffle$|PixelUnshuffle$", RESIZE),
    (r"Add$|Concatenate$|Multiply$|Subtract$|Average$|Maximum$|Minimum$|Dot$", MERGE),
)


def describe(kind: str, layer: Any, *, fused: bool = False) -> tuple[str, str]:
    """``(family, name)`` of a layer without weights."""
    if fused or kind == "Activation":
        return ACTIVATION, activation_name(getattr(layer, "activation", None))
    classes = [cls.__name__ for cls in type(layer).__mro__] if layer is not None else [kind]
    for name in classes:
        if name in _ACTIVATIONS:
            return ACTIVATION, _ACTIVATIONS[name]
        for pattern, family in _PATTERNS:
            if re.match(pattern, name):
                return family, _plain_name(name)
    return CODE, "identity" if kind == "Identity" else ""


def activation_name(function: Any) -> str:
    """``relu`` of a Keras activation; empty for the user's own functions."""
    name = str(getattr(function, "__name__", ""))
    module = str(getattr(function, "__module__", ""))
    if not module.startswith(("keras", "tf_keras", "tensorflow")) or name.startswith("<"):
        return ""
    return _SAME.get(name, name)


def is_norm(kind: str) -> bool:
    return kind.endswith("_norm")


def _plain_name(name: str) -> str:
    """``MaxPooling2D`` and ``MaxPool2d`` are one."""
    bare = re.sub(r"\dd?D?$", "", name).replace("Pooling", "Pool").replace("Average", "Avg")
    return bare.replace("Padding", "Pad").replace("Global", "Adaptive").lower()
