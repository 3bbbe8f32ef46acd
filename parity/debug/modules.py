"""Two modules, face to face: pair their layers, move the weights, compare every layer twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity import weights
from parity.backends import get_backend
from parity.backends.base import LayerCall, ModuleRecord, Slot
from parity.checks import Cotangents, seeded
from parity.debug import axes
from parity.debug.pairing import Pairing, Step, pair
from parity.trace import Trace, flatten, join

SIDES = ("torch", "tf")


@dataclass
class Pair:
    """Two modules in one precision, with what was recorded of them."""

    modules: Mapping[str, Any]
    inputs: Mapping[str, list[np.ndarray]]
    dtype: str
    training: bool = False
    records: dict[str, ModuleRecord] = field(default_factory=dict)

    def record(self, seed: int = 0) -> Pair:
        """One forward and backward pass of each side."""
        for side in SIDES:
            self.records[side] = get_backend(side).record_module(
                self.modules[side],
                [_typed(a, self.dtype) for a in self.inputs[side]],
                cotangents=cotangents(seed),
                dtype=self.dtype,
                training=self.training,
            )
        return self

    def layers(self, side: str) -> dict[str, Any]:
        """Path -> layer object."""
        module = self.modules[side]
        if side == "torch":
            return {n.replace(".", "/") or type(m).__name__: m for n, m in module.named_modules()}
        from parity.backends.keras_tree import walk

        return {path or type(layer).__name__: layer for path, layer in walk(module)}


@dataclass(frozen=True)
class Match:
    """One paired layer call.

    Attributes:
        torch, tf: the recorded calls.
        order: how the tf output's axes are ordered; ``input_order`` likewise for its inputs.
    """

    torch: LayerCall
    tf: LayerCall
    order: str
    input_order: str


def cotangents(seed: int) -> Cotangents:
    """Output weights of the backward pass, by position of the output, the same on both sides."""

    def cotangent(path: str, shape: tuple[int, ...]) -> np.ndarray:
        rng = seeded("cotangent", str(seed))
        values = rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
        return np.asarray(values).astype(np.float32).astype(np.float64)

    return cotangent


def steps(calls: Iterable[LayerCall], slots: Iterable[Slot]) -> list[Step]:
    """The calls as the pairing sees them."""
    shapes: dict[str, dict[str, tuple[int, ...]]] = {}
    for slot in slots:
        owner, _, name = slot.path.rpartition("/")
        shapes.setdefault(owner, {})[name] = slot.shape
    found = []
    for call in calls:
        bare = call.path.split("#")[0]
        single = isinstance(call.output, np.ndarray)
        output = tuple(sorted(call.output.shape[1:])) if single else None
        found.append(Step(call.path, call.kind, output, shapes.get(bare)))
    return found


def match_layers(
    record: Mapping[str, ModuleRecord],
    slots: Mapping[str, Sequence[Slot]],
    layers: Mapping[str, Mapping[str, Any]],
    names: Mapping[str, str] | None = None,
) -> tuple[list[Match], Pairing]:
    """Pair the two executions and settle in which order of axes each pair is compared."""
    calls = {side: record[side].calls for side in SIDES}
    found = pair(
        steps(calls["torch"], slots["torch"]), steps(calls["tf"], slots["tf"]), names=names
    )
    matches, carried = [], axes.SAME
    for i, j in found.pairs:
        left, right = calls["torch"][i], calls["tf"][j]
        said = axes.order_of(
            layers["torch"].get(left.path.split("#")[0]), layers["tf"].get(right.path.split("#")[0])
        )
        order = _order(left.output, right.output, said, carried)
        before = _order(_first(left.inputs), _first(right.inputs), said, carried)
        matches.append(Match(left, right, order, before))
        carried = order
    return matches, found


def weight_names(
    matches: Sequence[Match], slots: Mapping[str, Sequence[Slot]]
) -> dict[str, str]:
    """Torch slot path -> tf slot path, following the paired layers; the rest keep their names."""
    owners = {m.torch.path.split("#")[0]: m.tf.path.split("#")[0] for m in matches}
    known = {slot.path for slot in slots["tf"]}
    names = {}
    for slot in slots["torch"]:
        owner, _, name = slot.path.rpartition("/")
        if owner in owners and (target := join(owners[owner], name)) in known:
            names[slot.path] = target
    return names


def traces(pair_: Pair, matches: Sequence[Match], names: Mapping[str, str]) -> dict[str, Trace]:
    """Both sides' traces, under the torch side's names and in torch's order of axes.

    Entries: ``forward/<layer>/input``, ``forward/<layer>/output``, ``local/<layer>/output``,
    ``output/<i>``, then ``grad_output/<layer>``, ``grad/<layer>/<parameter>``, ``grad_input/<i>``,
    and in training mode ``state/<layer>/<name>``.
    """
    out = {side: Trace(side=side) for side in SIDES}
    for match in matches:
        _forward(out, match)
    left, right = (list(flatten(pair_.records[side].output)) for side in SIDES)
    for index in range(max(len(left), len(right))):
        sides = [values[index][1] if index < len(values) else None for values in (left, right)]
        _add(out, f"output/{index}", *sides, matches[-1].order if matches else axes.SAME)
    for match in reversed(matches):
        _add_nested(
            out,
            f"grad_output/{match.torch.path}",
            match.torch.output_gradient,
            match.tf.output_gradient,
            match.order,
        )
    _gradients(out, pair_, names)
    return out


def _forward(out: Mapping[str, Trace], match: Match) -> None:
    path = match.torch.path
    if len(match.torch.inputs) == len(match.tf.inputs):
        for index, (a, b) in enumerate(zip(match.torch.inputs, match.tf.inputs, strict=True)):
            suffix = f"/{index}" if len(match.torch.inputs) > 1 else ""
            _add(out, f"forward/{path}/input{suffix}", a, b, match.input_order)
    _add_nested(out, f"forward/{path}/output", match.torch.output, match.tf.output, match.order)
    local = replayed(match)
    if local is not None:
        _add_nested(out, f"local/{path}/output", match.torch.output, local, match.order)


def replayed(match: Match) -> Any:
    """What the tf layer makes of the torch layer's recorded inputs; None if it refuses them."""
    if match.tf.replay is None or len(match.torch.inputs) != len(match.tf.inputs):
        return None
    inputs = []
    for given, own in zip(match.torch.inputs, match.tf.inputs, strict=True):
        moved = axes.to_tf(given, match.input_order)
        if moved.shape != own.shape:
            return None
        inputs.append(moved.astype(own.dtype))
    try:
        return match.tf.replay(inputs)
    except Exception:  # the forward entries show that the shapes or dtypes do not fit
        return None


def _gradients(out: Mapping[str, Trace], pair_: Pair, names: Mapping[str, str]) -> None:
    torch, tf = (pair_.records[side] for side in SIDES)
    for path, gradient in reversed(torch.parameter_gradients.items()):
        other = tf.parameter_gradients.get(names.get(path, path))
        if gradient is None and other is None:
            continue
        _add(out, f"grad/{path}", gradient, other, axes.SAME)
    for index, (a, b) in enumerate(
        zip(torch.input_gradients.values(), tf.input_gradients.values(), strict=False)
    ):
        if a is not None or b is not None:
            order = axes.choose(np.shape(a), np.shape(b), said=None, carried=axes.CHANNELS_LAST)
            _add(out, f"grad_input/{index}", a, b, order)
    if pair_.training:
        states = [{s.path: s for s in weights.slots(pair_.modules[side])} for side in SIDES]
        for path, slot in states[0].items():
            partner = states[1].get(names.get(path, path))
            if not slot.trainable and partner is not None:
                _add(out, f"state/{path}", slot.get(), partner.get(), axes.SAME)


def _add_nested(out: Mapping[str, Trace], name: str, left: Any, right: Any, order: str) -> None:
    if left is None and right is None:
        return
    a, b = (_leaves(value) for value in (left, right))
    for index in range(max(len(a), len(b))):
        label = name if len(a) == len(b) == 1 else f"{name}/{index}"
        _add(
            out,
            label,
            a[index] if index < len(a) else None,
            b[index] if index < len(b) else None,
            order,
        )


def _leaves(value: Any) -> list[np.ndarray]:
    if value is None:
        return []
    return [value] if isinstance(value, np.ndarray) else [leaf for _, leaf in flatten(value)]


def _add(out: Mapping[str, Trace], name: str, left: Any, right: Any, order: str) -> None:
    if left is not None:
        out["torch"].add(name, left)
    if right is not None:
        moved = axes.to_torch(np.asarray(right), order)
        fits = left is None or moved.shape == np.shape(left)
        # gradients of absent partners and odd shapes are shown as they are
        out["tf"].add(name, moved if fits else right)


def _order(left: Any, right: Any, said: str | None, carried: str) -> str:
    if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
        return said or axes.SAME
    return axes.choose(left.shape, right.shape, said=said, carried=carried)


def _first(values: Sequence[np.ndarray]) -> np.ndarray | None:
    return values[0] if values else None


def _typed(array: np.ndarray, dtype: str) -> np.ndarray:
    return array.astype(np.float32).astype(dtype) if array.dtype.kind == "f" else array
