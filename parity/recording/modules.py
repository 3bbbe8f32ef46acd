"""A recorded forward and backward pass of a module: written to a trace, and read as a stand-in.

The stand-in takes the module's place in ``parity check`` and in the checks of components. It
answers with what was recorded, and refuses anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity import weights
from parity.backends.base import LayerCall, LayerGradients, ModuleRecord, Slot
from parity.debug.modules import unmoved
from parity.debug.transfer import keyed
from parity.errors import InvalidInput
from parity.recording.layers import (
    RecordedElsewhere,
    facts_of,
    layer_from,
    put_tensors,
    tensors_from,
)
from parity.recording.trees import Sink, below, get, put
from parity.trace import Trace, join


def put_weights(sink: Sink, module: Any, record: ModuleRecord, dtype: str) -> dict[str, Any]:
    """Write every tensor of a module in canonical layout, with the kind of layer that holds it.

    Entries: ``weights/<path>``; in float64 ``weights64/<path>``. Called before the recorded pass
    moves running statistics, or with these put back.
    """
    scope = "weights" if dtype == "float32" else "weights64"
    slots = weights.slots(module)
    entries = {key: _slot(sink, scope, slot) for key, slot in keyed(slots).items()}
    handles: dict[int, int] = {}
    for key in entries:
        for handle in key[0]:
            handles.setdefault(handle, len(handles))
    layers = {
        name: _layer(sink, scope, name, layer, entries, handles)
        for name, layer in _layers(record).items()
    }
    return {
        "slots": [{**entry, "natives": _numbers(k, handles)} for k, entry in entries.items()],
        "layers": layers,
    }


def _layers(record: ModuleRecord) -> dict[str, Any]:
    """The layers that were called, by path; layers that share one (unregistered) are numbered."""
    found: dict[str, Any] = {}
    for call in record.calls:
        if call.layer is None or any(call.layer is layer for layer in found.values()):
            continue
        name = bare = call.path.split("#")[0]
        while name in found:
            name = f"{bare}@{len(found)}"
        found[name] = call.layer
    return found


def _slot(sink: Sink, scope: str, slot: Slot) -> dict[str, Any]:
    entry = join(scope, slot.path)
    sink.add(entry, slot.get())
    return {"path": slot.path, "kind": slot.kind, "trainable": slot.trainable, "entry": entry,
            "shape": list(slot.shape)}  # fmt: skip


def _layer(
    sink: Sink,
    scope: str,
    path: str,
    layer: Any,
    entries: Mapping[Any, Mapping[str, Any]],
    handles: dict[int, int],
) -> dict[str, Any]:
    """One layer's settings and slots; a slot that the module has as well is written once."""
    own = []
    try:
        held = keyed(weights.slots(layer))
    except Exception:  # an activation function, a layer of another library
        held = {}
    for key, slot in held.items():
        for handle in key[0]:
            handles.setdefault(handle, len(handles))
        known = entries.get(key)
        entry = known["entry"] if known is not None else join("layer_" + scope, path, slot.path)
        if known is None:
            sink.add(entry, slot.get())
        own.append({"path": slot.path, "kind": slot.kind, "trainable": slot.trainable,
                    "entry": entry, "shape": list(slot.shape),
                    "natives": _numbers(key, handles)})  # fmt: skip
    natives = put_tensors(sink, join("native", path), layer) if scope == "weights" else {}
    return {"facts": facts_of(layer), "slots": own, "natives": natives}


def _numbers(key: Any, handles: Mapping[int, int]) -> list[int]:
    return [handles[handle] for handle in key[0]]


def put_record(sink: Sink, record: ModuleRecord, dtype: str) -> dict[str, Any]:
    """Write a recorded pass, in execution order; returns its structure as JSON.

    Entries below the dtype: ``forward/<layer>/input`` and ``/output``, ``output/<path>``, then
    ``grad_output/<layer>``, ``layer_grad/<layer>/...`` (its backward pass alone, which the other
    side's layer is compared with), ``grad/<parameter>``, ``grad_input/<index>``, ``state/<name>``.
    """
    owners = {id(layer): name for name, layer in _layers(record).items()}
    calls = [_call(sink, dtype, call, owners) for call in record.calls]
    meta: dict[str, Any] = {"output": put(sink, join(dtype, "output"), record.output)}
    for call, facts in zip(reversed(record.calls), reversed(calls), strict=True):
        name = join(dtype, "grad_output", call.path)
        facts["gradient"] = put(sink, name, call.output_gradient)
        facts["alone"] = _alone(sink, dtype, call)
    meta["calls"] = calls
    meta["gradients"] = {
        path: put(sink, join(dtype, "grad", path), gradient)
        for path, gradient in reversed(list(record.parameter_gradients.items()))
    }
    meta["gradient_order"] = list(record.parameter_gradients)
    meta["input_gradients"] = {
        name: put(sink, join(dtype, "grad_input", name), gradient)
        for name, gradient in record.input_gradients.items()
    }
    return meta


def state_of(module: Any) -> dict[str, np.ndarray]:
    """The running statistics and the like, as they are now."""
    return {s.path: np.array(s.get()) for s in weights.slots(module) if not s.trainable}


def _call(sink: Sink, dtype: str, call: LayerCall, owners: Mapping[int, str]) -> dict[str, Any]:
    scope = join(dtype, "forward", call.path)
    inputs = [
        put(sink, below(join(scope, "input"), len(call.inputs), i), array)
        for i, array in enumerate(call.inputs)
    ]
    output = put(sink, join(scope, "output"), call.output)
    return {"path": call.path, "kind": call.kind, "inputs": inputs, "output": output,
            "fused": call.fused, "names": list(call.names), "where": call.where,
            "layer": owners.get(id(call.layer))}  # fmt: skip


def _alone(sink: Sink, dtype: str, call: LayerCall) -> dict[str, Any] | None:
    """The layer's backward pass on its own recorded input and gradient."""
    if call.replay_gradients is None or call.output_gradient is None:
        return None
    try:
        with unmoved([call.layer]):
            found = call.replay_gradients(call.inputs, call.output_gradient)
    except Exception:  # a layer that cannot run again on its own
        return None
    scope = join(dtype, "layer_grad", call.path)
    return {
        "inputs": [put(sink, join(scope, "input", str(i)), g) for i, g in enumerate(found.inputs)],
        "parameters": {n: put(sink, join(scope, n), g) for n, g in found.parameters.items()},
    }


@dataclass(frozen=True)
class Handle:
    """Stands for one tensor of the recorded framework: it tells slots apart."""

    number: int
    dtype: str


@dataclass
class RecordedModule:
    """A module that was recorded elsewhere, in one precision.

    Attributes:
        side: ``torch`` or ``tf``.
        record: the recorded pass; its layers are stand-ins.
        values: entry -> current value, which running statistics change.
        after: entry -> value behind the pass.
        order: names of the inputs in the order in which the module took them.
        wide: the same module in float64; None where there is no such run, for the ``reason``.
    """

    side: str
    dtype: str
    record: ModuleRecord
    slots: list[Slot]
    values: dict[str, np.ndarray] = field(repr=False)
    after: dict[str, np.ndarray] = field(repr=False)
    order: tuple[str, ...] = ()
    training: bool = False
    wide: RecordedModule | None = None
    reason: str = ""

    def parity_slots(self) -> list[Slot]:
        """What ``parity.weights.slots`` answers for this module."""
        return self.slots

    def train(self, mode: bool = True) -> RecordedModule:
        """Recorded in the one mode; asking for another is refused where the pass is asked for."""
        return self

    def record_module(
        self,
        inputs: Sequence[np.ndarray],
        *,
        training: bool = False,
        backward: bool = True,
        **_: Any,
    ) -> ModuleRecord:
        """The recorded pass.

        Args:
            backward: False where only the layers are asked for, in whatever mode.

        Raises:
            InvalidInput: it was recorded in another mode.
        """
        if not backward:
            return self.record
        if training != self.training:
            modes = {True: "training", False: "evaluation"}
            raise InvalidInput(
                f"the recording was made in {modes[self.training]} mode, this check runs in "
                f"{modes[training]} mode: give or leave out --train, or record again"
            )
        self.values.update(self.after)
        return self.record


def module_from(
    trace: Trace,
    meta: Mapping[str, Any],
    side: str,
    dtype: str,
    *,
    training: bool = False,
    natives: Mapping[str, Any] | None = None,
) -> RecordedModule:
    """Read one precision of a module.

    Args:
        natives: layer -> its framework's own tensors, which are written once, in float32.

    Raises:
        InvalidInput: the metadata do not fit the entries.
    """
    try:
        held, run = meta["weights"], meta["run"]
        values: dict[str, np.ndarray] = {}
        handles: dict[int, Handle] = {}

        def slots(facts: Sequence[Mapping[str, Any]]) -> list[Slot]:
            return [_slot_from(trace, f, values, handles) for f in facts]

        own = slots(held["slots"])
        layers = {
            path: _layer_from(
                trace, {**f, "natives": f["natives"] or (natives or {}).get(path, {})}, slots, dtype
            )
            for path, f in held["layers"].items()
        }
        record = _record_from(trace, run, layers)
        entries = {slot["path"]: slot["entry"] for slot in held["slots"]}
        after = {entries[path]: get(trace, value) for path, value in meta.get("state", {}).items()}
        return RecordedModule(side, dtype, record, own, values, after, training=training)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"this recording of a module is not complete ({error!r})") from None


def module_of(trace: Trace, side: str, *, training: bool) -> RecordedModule:
    """The module that :func:`parity.recording.whole_modules.record_whole_module` wrote.

    Raises:
        KeyError, TypeError: the metadata lack a part of it.
    """
    layers = trace.meta["runs"]["float32"]["weights"]["layers"]
    natives = {path: facts["natives"] for path, facts in layers.items()}
    runs = {
        dtype: module_from(trace, run, side, dtype, training=training, natives=natives)
        for dtype, run in trace.meta["runs"].items()
    }
    narrow = runs["float32"]
    narrow.order = tuple(trace.meta["order"])
    narrow.wide, narrow.reason = runs.get("float64"), str(trace.meta.get("no_float64", ""))
    return narrow


def _slot_from(
    trace: Trace,
    facts: Mapping[str, Any],
    values: dict[str, np.ndarray],
    handles: dict[int, Handle],
) -> Slot:
    entry, path = str(facts["entry"]), str(facts["path"])
    value = values.setdefault(entry, np.array(trace[entry]))
    natives = tuple(
        handles.setdefault(number, Handle(number, str(value.dtype))) for number in facts["natives"]
    )
    trainable = bool(facts["trainable"])

    def put_back(array: np.ndarray) -> None:
        if trainable:
            raise RecordedElsewhere(f"{path} was recorded elsewhere and cannot be written")
        values[entry] = np.array(array)

    return Slot(path, str(facts["kind"]), tuple(facts["shape"]), trainable,
                lambda: np.array(values[entry]), put_back, natives)  # fmt: skip


def _layer_from(
    trace: Trace,
    facts: Mapping[str, Any],
    slots: Callable[[Sequence[Mapping[str, Any]]], list[Slot]],
    dtype: str,
) -> Any:
    layer = layer_from(facts["facts"], tensors_from(trace, facts["natives"], dtype))
    own = slots(facts["slots"])
    layer._parity_slots = lambda: own
    return layer


def _record_from(trace: Trace, meta: Mapping[str, Any], layers: Mapping[str, Any]) -> ModuleRecord:
    calls = [_call_from(trace, facts, layers) for facts in meta["calls"]]
    gradients = {path: get(trace, value) for path, value in meta["gradients"].items()}
    return ModuleRecord(
        get(trace, meta["output"]),
        calls,
        {name: get(trace, value) for name, value in meta["input_gradients"].items()},
        {path: gradients[path] for path in meta["gradient_order"]},
    )


def _call_from(trace: Trace, facts: Mapping[str, Any], layers: Mapping[str, Any]) -> LayerCall:
    path = str(facts["path"])
    inputs = [get(trace, value) for value in facts["inputs"]]
    output, gradient = get(trace, facts["output"]), get(trace, facts["gradient"])
    call = LayerCall(path, str(facts["kind"]), inputs, output, gradient, bool(facts["fused"]),
                     None if facts["layer"] is None else layers[facts["layer"]],
                     tuple(facts["names"]), str(facts["where"]))  # fmt: skip
    call.replay = _only_as_recorded(path, inputs, lambda: output)
    if facts["alone"] is not None:
        alone = LayerGradients(
            [get(trace, value) for value in facts["alone"]["inputs"]],
            {name: get(trace, value) for name, value in facts["alone"]["parameters"].items()},
        )
        again = _only_as_recorded(path, inputs, lambda: alone)
        call.replay_gradients = lambda given, weight: again(given)
    return call


def _only_as_recorded(
    path: str, inputs: Sequence[np.ndarray], answer: Callable[[], Any]
) -> Callable[[Sequence[np.ndarray]], Any]:
    """Answers for the inputs that were recorded, and for no others."""

    def replay(given: Sequence[np.ndarray]) -> Any:
        same = len(given) == len(inputs) and all(
            np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            for a, b in zip(inputs, given, strict=True)
        )
        if not same:
            raise RecordedElsewhere(f"{path} was recorded elsewhere and cannot run on other inputs")
        return answer()

    return replay
