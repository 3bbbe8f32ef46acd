"""Settings of paired layers, translated to one convention and compared.

Data can hide a wrong epsilon behind a large variance; the settings cannot. They are listed even
where all numbers agree. What a side computes is not judged here: that is for the data to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity.backends.base import LayerCall
from parity.debug import axes, config_activations, kinds
from parity.debug.matching import Match
from parity.debug.spatial import Padding, crop_of, padding_of


@dataclass(frozen=True)
class Setting:
    """One setting in which two paired layers differ.

    Attributes:
        name: in the common convention (``epsilon``).
        torch, tf: the two values there.
        cause: id of the cause that it would be, if the data show it.
        edit: attributes of the Keras layer that would make it torch's; None where one attribute
            cannot do it.
        fix: the same as code for the user.
        training: it only acts in training mode.
    """

    layer: str
    tf_layer: str
    name: str
    torch: Any
    tf: Any
    cause: str
    edit: Mapping[str, Any] | None = None
    fix: str = ""
    training: bool = False


@dataclass(frozen=True)
class _Pair:
    """What the tables below read from: both layers and their recorded calls."""

    match: Match
    torch: Any
    tf: Any
    call: LayerCall
    tf_call: LayerCall
    found: list[Setting] = field(default_factory=list)

    def add(
        self,
        name: str,
        torch: Any,
        tf: Any,
        cause: str,
        edit: Mapping[str, Any] | None = None,
        *,
        fix: str = "",
        training: bool = False,
    ) -> None:
        """Note a setting if the two values differ."""
        if torch is None and tf is None or _equal(torch, tf):
            return
        made = fix or (code(self.tf, edit) if edit else "")
        self.found.append(
            Setting(
                self.match.path, self.match.tf_path, name, torch, tf, cause, edit, made, training
            )
        )


def differences(matches: Sequence[Match]) -> list[Setting]:
    """All settings in which paired layers differ, in execution order; each layer once."""
    found: list[Setting] = []
    seen: set[tuple[int, int]] = set()
    for match in matches:
        pair = _pair(match)
        if pair is None or (id(pair.torch), id(pair.tf)) in seen:
            continue
        seen.add((id(pair.torch), id(pair.tf)))
        try:
            _compare(pair)
        except Exception:  # a setting of a form that this table does not know says nothing
            continue
        found += pair.found
    return found


def _pair(match: Match) -> _Pair | None:
    left = [c for c in match.torch if c.path in match.path.split("+")]
    right = [c for c in match.tf if c.path in match.tf_path.split("+")]
    if len(left) != 1 or len(right) != 1 or left[0].layer is None or right[0].layer is None:
        return None
    return _Pair(match, left[0].layer, right[0].layer, left[0], right[0])


def code(layer: Any, edit: Mapping[str, Any]) -> str:
    """``keras.layers.LayerNormalization(epsilon=1e-05)``."""
    arguments = ", ".join(f"{k}={_written(v)}" for k, v in edit.items())
    return f"keras.layers.{type(layer).__name__}({arguments})"


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        try:
            # a constant kept in float32 is the same constant
            return bool(np.float32(a) == np.float32(b))
        except (TypeError, ValueError):
            return False
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def _compare(pair: _Pair) -> None:
    kind, other = pair.call.kind, pair.tf_call.kind
    _precision(pair)
    if pair.tf_call.fused or other == "Activation":
        return _activation(pair)
    if kind == other:
        for table, kinds_ in _TABLES:
            if kind.startswith(kinds_):
                table(pair)
        return None
    family = kinds.describe(kind, pair.torch)[0], kinds.describe(other, pair.tf)[0]
    if family[0] == family[1]:
        for name, table in _FAMILIES:
            if family[0] == name:
                table(pair)
    return None


def _precision(pair: _Pair) -> None:
    """Mixed precision: a layer computes in half of what its weights hold."""
    have = str(getattr(pair.tf, "compute_dtype", None) or "")
    parameters = [p for p in getattr(pair.torch, "parameters", list)() if p.is_floating_point()]
    if parameters and have and not pair.tf_call.fused:
        wanted = str(parameters[0].dtype).removeprefix("torch.")
        pair.add("dtype of the computation", wanted, have, "low-precision", {"dtype": wanted})


def _norm(pair: _Pair) -> None:
    torch, tf, kind = pair.torch, pair.tf, pair.call.kind
    eps = getattr(torch, "eps", None)
    if eps is None and kind == "rms_norm":
        eps = float(np.finfo(pair.call.inputs[0].dtype).eps)
    pair.add("epsilon", eps, tf.epsilon, "norm-epsilon", {"epsilon": eps})
    if kind == "batch_norm":
        momentum = None if torch.momentum is None else 1 - torch.momentum
        pair.add(
            "momentum of the old average", _rounded(momentum), tf.momentum, "norm-momentum",
            None if momentum is None else {"momentum": _rounded(momentum)}, training=True,
        )  # fmt: skip
    if kind in ("batch_norm", "group_norm"):
        ndim = pair.tf_call.inputs[0].ndim
        wanted = _last(-1 if pair.match.input_order == axes.CHANNELS_LAST or ndim == 2 else 1, ndim)
        if kind == "batch_norm" or ndim > 2:
            axis = tf.axis if isinstance(tf.axis, int) else tf.axis[0]
            pair.add("axis", wanted, _last(axis, ndim), "norm-axis", {"axis": wanted})
    if kind == "group_norm":
        given = pair.tf_call.inputs[0]
        groups = getattr(torch, "num_groups", pair.call.inputs[0].shape[1])
        have = tf.groups if tf.groups != -1 else given.shape[tf.axis]
        pair.add("groups", groups, have, "norm-groups", {"groups": groups})
    if kind == "layer_norm" and pair.match.input_order == axes.SAME:
        ndim = pair.tf_call.inputs[0].ndim
        wanted_axes = [
            ndim - len(torch.normalized_shape) + i for i in range(len(torch.normalized_shape))
        ]
        axis = [tf.axis] if isinstance(tf.axis, int) else list(tf.axis)
        have_axes = sorted(_last(a, ndim) for a in axis)
        edit = {"axis": wanted_axes if len(wanted_axes) > 1 else wanted_axes[0]}
        pair.add("axes", wanted_axes, have_axes, "norm-axis", edit)


def _rounded(value: float | None) -> float | None:
    """1 - 0.1 is meant to be 0.9."""
    return None if value is None else round(value, 12)


def _last(axis: int, ndim: int) -> int:
    return axis % ndim


def _convolution(pair: _Pair) -> None:
    torch, tf = pair.torch, pair.tf
    rank = len(torch.kernel_size)
    pair.add("strides", _tuple(torch.stride, rank), _tuple(tf.strides, rank), "stride",
             {"strides": _tuple(torch.stride, rank)})  # fmt: skip
    pair.add("dilation", _tuple(torch.dilation, rank), _tuple(tf.dilation_rate, rank), "dilation",
             {"dilation_rate": _tuple(torch.dilation, rank)})  # fmt: skip
    pair.add("bias", torch.bias is not None, bool(tf.use_bias), "bias",
             {"use_bias": torch.bias is not None})  # fmt: skip
    if pair.call.kind.endswith("_transpose"):
        pair.add("rows and columns cut off (start, end)", *crop_of(pair.match), "output-padding")
        return
    groups = getattr(tf, "groups", 1)
    if "Depthwise" in type(tf).__name__:
        groups = torch.in_channels
    pair.add("groups", torch.groups, groups, "groups", {"groups": torch.groups})
    _padding(pair)
    if torch.padding_mode != "zeros":
        pair.add("padding mode", torch.padding_mode, "zeros", "padding-mode")


def _padding(pair: _Pair) -> None:
    left, right = _known_padding(pair)
    if left is None or right is None or left == right:
        return
    totals = [[sum(p) for p in side] for side in (left, right)]
    cause = "padding-asymmetry" if totals[0] == totals[1] else "padding"
    fix = f'keras.layers.ZeroPadding{len(left)}D({_padded(left)}), then padding="valid"'
    pair.add("padding (start, end)", left, right, cause, fix=fix)


def _known_padding(pair: _Pair) -> tuple[Padding | None, Padding | None]:
    """Padding of both; unknown where the user's code pads before a layer."""
    first = [pair.match.inputs()[0].torch, pair.match.inputs()[0].tf]
    if not axes.candidates(np.shape(first[0]), np.shape(first[1])):
        return None, None
    return padding_of(pair.match)


def _padded(padding: Padding) -> str:
    if all(p == padding[0] and p[0] == p[1] for p in padding):
        return str(padding[0][0])
    return str(tuple(padding)) if len(padding) > 1 else str(padding[0])


def _dense(pair: _Pair) -> None:
    pair.add("bias", pair.torch.bias is not None, bool(getattr(pair.tf, "use_bias", True)), "bias",
             {"use_bias": pair.torch.bias is not None})  # fmt: skip


def _pool(pair: _Pair) -> None:
    torch, tf = pair.torch, pair.tf
    names = [kinds.describe(c.kind, c.layer)[1] for c in (pair.call, pair.tf_call)]
    pair.add("kind", names[0], names[1], "pooling-kind")
    if not hasattr(torch, "kernel_size") or not hasattr(tf, "pool_size"):
        return
    rank = len(_tuple(tf.pool_size, pair.tf_call.inputs[0].ndim - 2))
    for name, a, b, edit in (
        ("window", torch.kernel_size, tf.pool_size, "pool_size"),
        ("strides", torch.stride or torch.kernel_size, tf.strides, "strides"),
    ):
        pair.add(name, _tuple(a, rank), _tuple(b, rank), f"pooling-{name}", {edit: _tuple(a, rank)})
    left, right = _known_padding(pair)
    if left is None or right is None:
        return
    pair.add("padding (start, end)", left, right, "padding")
    if "avg" in names[0] and any(sum(p) for p in left):
        counts = bool(getattr(torch, "count_include_pad", True))
        pair.add("padding counted in the average", counts, len(pair.match.tf) > 1, "pooling-count")


def _recurrent(pair: _Pair) -> None:
    from parity.layouts.recurrent import cells_of

    torch, tf = pair.torch, pair.tf
    cells = cells_of(tf) or [tf]
    inner = getattr(tf, "forward_layer", tf)
    two = bool(getattr(torch, "bidirectional", False))
    pair.add("bidirectional", two, hasattr(tf, "forward_layer"), "bidirectional")
    pair.add(
        "bias", bool(torch.bias), bool(cells[0].use_bias), "bias", {"use_bias": bool(torch.bias)}
    )
    kind = pair.call.kind.removesuffix("_cell")
    main = getattr(torch, "nonlinearity", "tanh") if kind == "rnn" else "tanh"
    have = kinds.activation_name(cells[0].activation) or "own function"
    pair.add("activation", main, have, "activation-variant", {"activation": main})
    if kind != "rnn":
        gates = kinds.activation_name(cells[0].recurrent_activation) or "own function"
        edit = {"recurrent_activation": "sigmoid"}
        pair.add("activation of the gates", "sigmoid", gates, "activation-variant", edit)
    if kind == "gru":
        after = bool(cells[0].reset_after)
        pair.add("reset_after", True, after, "reset-after", {"reset_after": True})
    rate = float(getattr(torch, "dropout", 0.0))
    pair.add(
        "dropout", rate, float(getattr(inner, "dropout", 0.0) or 0.0), "dropout", training=True
    )


def _attention(pair: _Pair) -> None:
    torch, tf = pair.torch, pair.tf
    heads = getattr(tf, "num_heads", getattr(tf, "_num_heads", None))
    size = torch.head_dim
    pair.add("heads", torch.num_heads, heads, "head-layout",
             {"num_heads": torch.num_heads, "key_dim": size})  # fmt: skip
    pair.add("bias", torch.in_proj_bias is not None, bool(getattr(tf, "_use_bias", True)), "bias")
    rate = float(getattr(tf, "_dropout", 0.0) or 0.0)
    pair.add(
        "dropout", float(torch.dropout), rate, "dropout", {"dropout": torch.dropout}, training=True
    )


def _embedding(pair: _Pair) -> None:
    if pair.torch.padding_idx is not None:
        pair.add("row that gets no gradient", pair.torch.padding_idx, "none", "embedding-padding",
                 training=True)  # fmt: skip


def _dropout(pair: _Pair) -> None:
    pair.add("rate", float(getattr(pair.torch, "p", 0.0)), float(getattr(pair.tf, "rate", 0.0)),
             "dropout", {"rate": float(getattr(pair.torch, "p", 0.0))}, training=True)  # fmt: skip


def _activation(pair: _Pair) -> None:
    left = config_activations.of_torch(pair.call, pair.torch)
    right = config_activations.of_tf(pair.tf_call, pair.tf)
    if not left.get("name") or not right.get("name"):
        return
    if left["name"] != right["name"]:
        edit = {"activation": left["name"]} if "activation" in vars(pair.tf) else None
        pair.add("function", left["name"], right["name"], "activation-variant", edit)
        return
    for name in left:
        if name == "name" or name not in right:
            continue
        cause = "activation-variant" if name == "approximate" else "activation-slope"
        cause = "softmax-axis" if name == "axis" else cause
        attribute = config_activations.ATTRIBUTES.get((left["name"], name), name)
        edit = (
            {attribute: left[name]}
            if attribute in config_activations.config_names(pair.tf)
            else None
        )
        pair.add(name, left[name], right[name], cause, edit)


def _resize(pair: _Pair) -> None:
    mode = {"nearest": "nearest", "bilinear": "bilinear", "linear": "bilinear"}
    left = getattr(pair.torch, "mode", "nearest")
    right = getattr(pair.tf, "interpolation", "nearest")
    pair.add("interpolation", mode.get(left, left), right, "resize-convention",
             {"interpolation": mode.get(left, left)})  # fmt: skip
    if getattr(pair.torch, "align_corners", False):
        pair.add("corners aligned", True, False, "resize-convention")


def _tuple(value: Any, rank: int) -> tuple[int, ...]:
    return (int(value),) * rank if isinstance(value, int) else tuple(int(v) for v in value)


_Table = Callable[[_Pair], None]
_TABLES: tuple[tuple[_Table, tuple[str, ...]], ...] = (
    (_norm, ("batch_norm", "layer_norm", "group_norm", "rms_norm")),
    (_convolution, ("conv1d", "conv2d", "conv3d")),
    (_dense, ("dense",)),
    (_recurrent, ("lstm", "gru", "rnn")),
    (_attention, ("attention",)),
    (_embedding, ("embedding",)),
    (_dropout, ("Dropout",)),
    (_activation, ("ReLU", "LeakyReLU", "ELU", "Softmax")),
)
_FAMILIES: tuple[tuple[str, _Table], ...] = (
    (kinds.ACTIVATION, _activation),
    (kinds.POOL, _pool),
    (kinds.DROPOUT, _dropout),
    (kinds.RESIZE, _resize),
)


def as_data(settings: Sequence[Setting]) -> list[dict[str, Any]]:
    """The settings for a report."""
    return list(_rows(settings))


def _rows(settings: Sequence[Setting]) -> Iterator[dict[str, Any]]:
    for s in settings:
        yield {
            "layer": s.layer, "tf_layer": s.tf_layer, "name": s.name, "torch": s.torch, "tf": s.tf,
            "cause": s.cause, "fix": s.fix, "training": s.training,
        }  # fmt: skip
