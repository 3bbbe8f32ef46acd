"""Two modules, face to face: record both, and compare every layer freely and on its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity import progress, weights
from parity.backends import get_backend
from parity.backends.base import LayerCall, ModuleRecord
from parity.checks import Cotangents, seeded
from parity.debug import axes, transfer, values
from parity.debug.matching import SIDES as SIDES
from parity.debug.matching import Match, Matching, match_layers
from parity.debug.transfer import Plan
from parity.late import Late, LateTrace
from parity.trace import Trace, flatten


@dataclass
class Pair:
    """Two modules in one precision, with what was recorded of them.

    Attributes:
        without: side -> paths of parameters whose gradients are not compared.
        late: paths of the tf side's parameters whose gradients are made when they are compared.
        memory: bytes of torch's float64 gradients that are not put into a file.
    """

    modules: Mapping[str, Any]
    inputs: Mapping[str, list[np.ndarray]]
    dtype: str
    training: bool = False
    records: dict[str, ModuleRecord] = field(default_factory=dict)
    without: Mapping[str, Collection[str]] = field(default_factory=dict)
    late: Collection[str] = ()
    memory: int = 0

    def record(
        self,
        seed: int = 0,
        *,
        last_order: str = axes.SAME,
        orders: Mapping[str, str] | None = None,
        backward: bool = True,
    ) -> Pair:
        """One forward and backward pass of each side that has none yet, from equal gradients.

        Args:
            last_order: how the tf side's outputs are ordered where their shape leaves a choice.
            orders: the same for single outputs, by their path on the side that runs second.
        """
        for side in SIDES:
            if side in self.records:
                continue
            weigh = cotangents(seed)
            if side == "tf":
                weigh = weights_in_tf_order(weigh, self.records["torch"], last_order, orders or {})
            elif is_recorded(self.modules["tf"]):
                weigh = weights_in_torch_order(
                    weigh, self.modules["tf"].record, last_order, orders or {}
                )
            with without_dropout(self.modules[side], side, self.training):
                self.records[side] = record_pass(
                    self.modules[side],
                    side,
                    [typed(a, self.dtype) for a in self.inputs[side]],
                    cotangents=weigh,
                    dtype=self.dtype,
                    training=self.training,
                    backward=backward,
                    **self.options(side),
                )
        return self

    def options(self, side: str) -> dict[str, Any]:
        """What the pass of one side is told beyond the usual."""
        left_out = self.without.get(side, ())
        told: dict[str, Any] = {"without": left_out} if left_out else {}
        if side == "torch" and self.memory:
            told["memory"] = self.memory
        if side == "tf" and self.late:
            told["late"] = self.late
        return told

    def match(self, names: Mapping[str, str] | None = None) -> Matching:
        """Pair the recorded layers."""
        shapes = {side: transfer.layer_shapes(self.records[side].calls) for side in SIDES}
        return match_layers(self.records, shapes, self.inputs, names)


def cotangents(seed: int) -> Cotangents:
    """Output weights of the backward pass, the same on both sides."""

    def cotangent(path: str, shape: tuple[int, ...]) -> np.ndarray:
        rng = seeded("cotangent", str(seed))
        values = rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
        return np.asarray(values).astype(np.float32).astype(np.float64)

    return cotangent


def weights_in_tf_order(
    weigh: Cotangents, record: ModuleRecord, last_order: str, orders: Mapping[str, str]
) -> Cotangents:
    """torch's output weights in the tf side's order of axes.

    Args:
        weigh: torch's weights, by path and shape of an output.
        record: torch's pass.
        last_order: the order of outputs of which nothing else is known.
        orders: the order of each output that was told by its values.
    """

    def moved(theirs: tuple[int, ...], shape: tuple[int, ...], path: str, carried: str) -> Any:
        order = axes.choose(theirs, shape, said=None, carried=carried)
        return axes.to_tf(weigh(path, theirs), order)

    return _reordered(weigh, record, last_order, orders, moved)


def weights_in_torch_order(
    weigh: Cotangents, record: ModuleRecord, last_order: str, orders: Mapping[str, str]
) -> Cotangents:
    """The output weights of a tf side that was recorded alone, in torch's order of axes."""

    def moved(theirs: tuple[int, ...], shape: tuple[int, ...], path: str, carried: str) -> Any:
        order = axes.choose(shape, theirs, said=None, carried=carried)
        return axes.to_torch(weigh(path, theirs), order)

    return _reordered(weigh, record, last_order, orders, moved)


def _reordered(
    weigh: Cotangents,
    record: ModuleRecord,
    last_order: str,
    orders: Mapping[str, str],
    moved: Callable[[tuple[int, ...], tuple[int, ...], str, str], Any],
) -> Cotangents:
    """The weights of the recorded side, moved to the other one where the shapes allow it."""
    recorded = {path: np.shape(a) for path, a in flatten(record.output)}
    shapes: Iterator[tuple[int, ...]] = iter(list(recorded.values()))

    def cotangent(path: str, shape: tuple[int, ...]) -> np.ndarray:
        following = next(shapes, shape)
        theirs = recorded.get(path, following) if len(recorded) > 1 else following
        found: np.ndarray = moved(theirs, shape, path, orders.get(path, last_order))
        return found if found.shape == shape else weigh(path, shape)

    return cotangent


def is_recorded(module: Any) -> bool:
    """Whether a module stands for one that was recorded elsewhere."""
    return hasattr(module, "parity_slots") and hasattr(module, "record_module")


def record_pass(module: Any, side: str, inputs: Sequence[np.ndarray], **options: Any) -> Any:
    """A forward and backward pass; a recorded module answers with its own."""
    if is_recorded(module):
        return module.record_module(inputs, **options)
    progress.step(f"{side} module, pass in {options['dtype']}")
    return get_backend(side).record_module(module, inputs, **options)


@contextmanager
def without_dropout(module: Any, side: str, training: bool) -> Iterator[None]:
    """Dropout draws other masks on each side: in training mode it is left out of both."""
    if not training or is_recorded(module):
        yield
        return
    rates: list[tuple[Any, str, Any]] = []
    if side == "torch":
        for layer in module.modules():
            name = "p" if hasattr(layer, "p") and "Drop" in type(layer).__name__ else "dropout"
            rates.append((layer, name, getattr(layer, name, None)))
    else:
        from parity.backends.keras_tree import walk

        for _, layer in walk(module):
            for name in ("rate", "dropout", "recurrent_dropout", "stddev"):
                rates.append((layer, name, getattr(layer, name, None)))
    found = [(x, n, v) for x, n, v in rates if isinstance(v, (int, float)) and v > 0]
    for layer, name, _ in found:
        object.__setattr__(layer, name, 0.0)
    try:
        yield
    finally:
        for layer, name, value in found:
            object.__setattr__(layer, name, value)


def traces(pair: Pair, matching: Matching, plan: Plan) -> dict[str, Trace]:
    """Both sides' traces, under the torch side's names and in torch's order of axes.

    Entries: ``forward/<layer>/input``, ``forward/<layer>/output``, ``output/<i>``, then
    ``grad_output/<layer>``, ``grad/<layer>/<parameter>``, ``grad_input/<i>``, and in training mode
    ``state/<layer>/<name>``.
    """
    out = {side: LateTrace(side=side) for side in SIDES}
    for match in matching.matches:
        for value in match.inputs():
            add(out, _entry("forward", match, "input", value.name), value, match.input_order)
        for value in match.outputs():
            add(out, _entry("forward", match, "output", value.name), value, match.order)
    for name, left, right in model_outputs(pair):
        _add(out, f"output/{name}", left, right, matching.output_order(left, right))
    if gradients_mean_something(pair):
        for match in reversed(matching.matches):
            for value in match.gradients():
                a, b = _filled(value.torch, value.tf)
                if a is not None:
                    order = value.order(match.order)
                    _add(out, _entry("grad_output", match, "", value.name), a, b, order)
        _gradients(out, pair, matching, plan)
    for moved in plan.moved if pair.training else ():
        if not moved.torch.trainable and f"state/{moved.name}" not in out["torch"]:
            _add(out, f"state/{moved.name}", moved.torch.get(), moved.tf.get(), axes.SAME)
    return {**out}


def gradients_mean_something(pair: Pair) -> bool:
    """Not where an output is NaN or infinite on both sides: the frameworks then pick at random."""
    return all(
        np.isfinite(a).all()
        for side in SIDES
        for _, a in flatten(pair.records[side].output)
        if np.asarray(a).dtype.kind == "f"
    )


def output_orders(pair: Pair, matching: Matching) -> dict[str, str]:
    """How each output of the tf side is ordered, by its path on the side that runs second."""
    side = "torch" if is_recorded(pair.modules["tf"]) else "tf"
    paths = [path for path, _ in flatten(pair.records[side].output)]
    found = {name: matching.output_order(left, right) for name, left, right in model_outputs(pair)}
    if set(paths) == set(found):
        return found
    return dict(zip(paths, found.values(), strict=False))


def _entry(head: str, match: Match, what: str, name: str) -> str:
    return "/".join(part for part in (head, match.path, what, name) if part)


def model_outputs(pair: Pair) -> list[tuple[str, Any, Any]]:
    """The models' outputs: by name where both return the same names, else by position."""
    left, right = (dict(flatten(pair.records[side].output)) for side in SIDES)
    if set(left) == set(right) and len(left) > 1:
        return [(name, left[name], right[name]) for name in left]
    a, b = list(left.values()), list(right.values())
    return [
        (str(i), a[i] if i < len(a) else None, b[i] if i < len(b) else None)
        for i in range(max(len(a), len(b)))
    ]


def _filled(left: Any, right: Any) -> tuple[Any, Any]:
    """A gradient that did not arrive is zero."""
    if left is None and right is not None:
        return None if np.any(right) else np.zeros_like(right), right
    if right is None and left is not None:
        return left, None if np.any(left) else np.zeros_like(left)
    return left, right


def _gradients(out: Mapping[str, LateTrace], pair: Pair, matching: Matching, plan: Plan) -> None:
    torch, tf = (pair.records[side] for side in SIDES)
    gradients = [_by_handle(pair, side) for side in SIDES]
    for moved in reversed(plan.moved):
        if not moved.torch.trainable or not moved.tf.trainable:
            continue
        if moved.name in pair.without.get("torch", ()):
            continue
        a = gradients[0].get(moved.keys[0])
        b = gradients[1].get(moved.keys[1])
        if a is None and b is None:
            continue
        if isinstance(b, Late):
            if a is not None and a.shape == b.shape and moved.rows is None:
                _add_later(out, f"grad/{moved.name}", a, b)
                continue
            b = b.make()
        if b is not None and a is not None and b.size == a.size:
            b = b.reshape(a.shape)
            if moved.rows is not None:
                b = b[np.argsort(moved.rows)]
        elif a is not None and b is not None and a.shape == (1,):
            continue  # one slope against many: no gradient corresponds
        a, b = _filled(a, b)
        if f"grad/{moved.name}" not in out["torch"]:
            _add(out, f"grad/{moved.name}", a, b, axes.SAME)
    for index, (a, b) in enumerate(
        zip(torch.input_gradients.values(), tf.input_gradients.values(), strict=False)
    ):
        a, b = _filled(a, b)
        if a is not None or b is not None:
            order = axes.choose(np.shape(a), np.shape(b), said=None, carried=matching.order)
            _add(out, f"grad_input/{index}", a, b, order)


def _by_handle(pair: Pair, side: str) -> dict[Any, Any]:
    """The recorded gradients by the tensors that they belong to."""
    found = pair.records[side].parameter_gradients
    slots = transfer.keyed(weights.slots(pair.modules[side]))
    return {key: found[slot.path] for key, slot in slots.items() if slot.path in found}


def add(out: Mapping[str, Trace], name: str, value: Any, order: str) -> None:
    """One value of both sides, in torch's order of axes."""
    _add(out, name, value.torch, value.tf, value.order(order))


def _add(out: Mapping[str, Trace], name: str, left: Any, right: Any, order: str) -> None:
    if left is not None and name not in out["torch"]:
        out["torch"].add(name, left, copy=False)
    if right is not None and name not in out["tf"]:
        moved = axes.to_torch(np.asarray(right), order)
        fits = left is None or moved.shape == np.shape(left)
        # arrays of odd shapes are shown as they are
        out["tf"].add(name, moved if fits else right, copy=False)


def _add_later(out: Mapping[str, LateTrace], name: str, left: np.ndarray, right: Late) -> None:
    if name not in out["torch"]:
        out["torch"].add(name, left, copy=False)
        out["tf"].later(name, right)


def typed(array: np.ndarray, dtype: str) -> np.ndarray:
    """Floats of this dtype that hold float32 values: both precisions see the same numbers."""
    return array.astype(np.float32).astype(dtype) if array.dtype.kind == "f" else array


def replay(calls: Sequence[LayerCall], first: Sequence[np.ndarray]) -> Any:
    """Call one layer after the other, the first on these inputs; None if one refuses.

    Moving statistics and the like are put back.
    """
    given, output = list(first), None
    try:
        with unmoved([c.layer for c in calls]):
            for number, call in enumerate(calls):
                if call.replay is None:
                    return None
                if number:
                    given = [np.asarray(_main_leaf(output)), *call.inputs[1:]]
                output = call.replay(given)
    except Exception:  # the forward entries show that shapes or dtypes do not fit
        return None
    return output


def _main_leaf(output: Any) -> Any:
    return values.flat(output)[0]


@contextmanager
def unmoved(layers: Sequence[Any]) -> Iterator[None]:
    """Non-trainable tensors of the layers are put back afterwards."""
    kept: list[tuple[Callable[[np.ndarray], None], np.ndarray]] = []
    for layer in layers:
        kept += [(s.set, s.get()) for s in transfer._slots(layer) if not s.trainable]
    try:
        yield
    finally:
        for put, value in kept:
            put(value)


def torch_inputs(match: Match) -> list[np.ndarray]:
    """What the tf layer is to be fed with: torch's recorded inputs, in tf's order of axes."""
    given = [np.array(a) for a in match.tf[0].inputs]
    for value in match.inputs():
        if value.index is None or value.torch is None:
            continue
        moved = axes.to_tf(np.asarray(value.torch), value.order(match.input_order))
        if value.index == 0 and values.reads_backwards(match.tf[0]):
            moved = np.ascontiguousarray(moved[:, ::-1])
        given[value.index] = moved.astype(given[value.index].dtype)
    return given


def local(pair: Pair, match: Match) -> Any:
    """What the tf layers make of the torch layers' recorded inputs; None if they refuse them."""
    return replay(match.tf, torch_inputs(match))
