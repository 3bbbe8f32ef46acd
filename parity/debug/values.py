"""What two paired layers took and gave, tensor by tensor, whatever form each framework gives it.

torch's LSTM returns ``(output, (h, c))`` where Keras's returns the sequence or its last step;
attention takes query, key, value here and query, value, key there. Here these become pairs of
arrays with one name each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.backends.base import LayerCall
from parity.debug import axes

RECURRENT = ("lstm", "gru", "rnn")


@dataclass(frozen=True)
class Value:
    """One tensor of both sides, each in its own order of axes.

    Attributes:
        name: empty for the main one.
        torch, tf: the arrays; None where a side has none.
        index: which tensor of the tf call it is; None where it is made of several.
        state: a state [B, H]: both sides keep the batch first, in whatever order the layer works.
    """

    name: str
    torch: Any
    tf: Any
    index: int | None
    state: bool = False

    def order(self, order: str) -> str:
        """The tensor's order of axes in a layer that works in this one."""
        return axes.SAME if self.state else order


def flat(tree: Any) -> list[Any]:
    """The leaves of nested outputs, in order; None counts as one."""
    if isinstance(tree, Mapping):
        return [leaf for value in tree.values() for leaf in flat(value)]
    if isinstance(tree, (list, tuple)):
        return [leaf for value in tree for leaf in flat(value)]
    return [tree]


def outputs(torch: LayerCall, tf: LayerCall) -> list[Value]:
    """What the two calls returned."""
    return _paired(torch, tf, flat(torch.output), flat(tf.output))


def gradients(torch: LayerCall, tf: LayerCall) -> list[Value]:
    """Gradients of what the two calls returned; None where no gradient arrived."""
    left, right = flat(torch.output_gradient), flat(tf.output_gradient)
    if len(left) == 1 and left[0] is None:
        left = [None] * len(flat(torch.output))
    if len(right) == 1 and right[0] is None:
        right = [None] * len(flat(tf.output))
    special = torch.kind in RECURRENT or torch.kind == "attention"
    found = _paired(torch, tf, left, right)
    # a user may take torch's last step where Keras returns it: other tensors, other gradients
    return [v for v in found if not special or (v.torch is not None and v.tf is not None)]


def _paired(
    torch: LayerCall, tf: LayerCall, left: Sequence[Any], right: Sequence[Any]
) -> list[Value]:
    if (
        torch.kind in RECURRENT
        and tf.kind in RECURRENT
        and not isinstance(torch.output, np.ndarray)
    ):
        return _recurrent(torch, tf, left, right)
    if torch.kind == tf.kind == "attention":
        return _attention(left, right)
    if len(left) == len(right) == 1:
        return [Value("", _cropped(left[0], right[0], tf), right[0], 0)]
    count = max(len(left), len(right))
    return [
        Value(
            str(i),
            left[i] if i < len(left) else None,
            right[i] if i < len(right) else None,
            i if i < len(right) else None,
        )
        for i in range(count)
    ]


def _cropped(left: Any, right: Any, tf: LayerCall) -> Any:
    """A causal convolution of Keras is torch's, padded on both ends, without its tail."""
    if getattr(tf.layer, "padding", None) != "causal" or np.ndim(left) != 3 or right is None:
        return left
    return left[..., : np.shape(right)[1]]


def _recurrent(
    torch: LayerCall, tf: LayerCall, left: Sequence[Any], right: Sequence[Any]
) -> list[Value]:
    layer, other = torch.layer, tf.layer
    directions = 2 if layer.bidirectional else 1
    sequence, states = left[0], left[1:]  # states: h or h, c, each [layers * directions, B, H]
    last = getattr(other, "forward_layer", other)
    whole = sequence if last.return_sequences else _final(states, directions)
    main = _merged(whole, other, directions)
    found = [Value("", main, right[0], 0, state=not last.return_sequences)]
    names = ("h", "c")[: len(states)]
    index = 1
    for direction in range(directions):
        for position, name in enumerate(names):
            if index >= len(right) or states[position] is None:
                break
            state = states[position]
            place = state.shape[0] - directions + direction
            label = name if directions == 1 else f"{name}/{('forward', 'backward')[direction]}"
            found.append(Value(label, state[place], right[index], index, state=True))
            index += 1
    return found


def _merged(array: Any, layer: Any, directions: int) -> Any:
    """torch puts both directions side by side; Keras may be told to add them or the like."""
    mode = getattr(layer, "merge_mode", "concat")
    if array is None or directions == 1 or mode not in ("sum", "ave", "mul"):
        return array
    there, back = np.split(array, 2, axis=-1)
    return there * back if mode == "mul" else (there + back) / (2 if mode == "ave" else 1)


def _final(states: Sequence[Any], directions: int) -> Any:
    """The last step of the last layer; both directions side by side."""
    if not states or states[0] is None:
        return None
    return np.concatenate(list(states[0][-directions:]), axis=-1)


def _attention(left: Sequence[Any], right: Sequence[Any]) -> list[Value]:
    found = [Value("", left[0], right[0], 0)]
    if len(left) > 1 and len(right) > 1 and left[1] is not None and right[1] is not None:
        scores = right[1]
        if np.ndim(scores) == np.ndim(left[1]) + 1:
            scores = np.mean(scores, axis=1)  # torch averages over the heads
        found.append(Value("weights", left[1], scores, None))
    return found


def inputs(torch: LayerCall, tf: LayerCall) -> list[Value]:
    """What the two calls were given, as far as each has a counterpart."""
    if torch.kind == tf.kind == "attention" and torch.names and tf.names:
        return _attention_inputs(torch, tf)
    if torch.kind in RECURRENT and tf.kind in RECURRENT:
        sequence = tf.inputs[0]
        if reads_backwards(tf):
            sequence = sequence[:, ::-1]
        return [Value("", torch.inputs[0], sequence, 0), *_initial_states(torch, tf)]
    if len(torch.inputs) == len(tf.inputs) == 1:
        return [Value("", torch.inputs[0], tf.inputs[0], 0)]
    count = min(len(torch.inputs), len(tf.inputs))
    return [Value(str(i), torch.inputs[i], tf.inputs[i], i) for i in range(count)]


def reads_backwards(call: LayerCall) -> bool:
    """Keras's layer turns its input around itself."""
    return bool(getattr(call.layer, "go_backwards", False)) and call.kind in RECURRENT


def _attention_inputs(torch: LayerCall, tf: LayerCall) -> list[Value]:
    given = dict(zip(torch.names, torch.inputs, strict=False))
    own = {name: i for i, name in enumerate(tf.names)}
    found = []
    for name in ("query", "key", "value"):
        index = own.get(name, own.get("value") if name == "key" else None)
        if name in given and index is not None:
            found.append(Value(name, given[name], tf.inputs[index], index))
    return found


def _initial_states(torch: LayerCall, tf: LayerCall) -> list[Value]:
    """States that both sides were given; torch keeps them in [layers * directions, B, H]."""
    given, own = torch.inputs[1:], tf.inputs[1:]
    if not given or len(own) != sum(len(state) for state in given):
        return []
    rows = [state[i] for i in range(len(given[0])) for state in given]
    return [
        Value(f"state/{i}", a, b, i + 1, state=True)
        for i, (a, b) in enumerate(zip(rows, own, strict=True))
    ]
