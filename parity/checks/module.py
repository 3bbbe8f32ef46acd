"""The module check: every layer forward and backward, propagated and on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from parity import weights
from parity.backends.base import LayerCall, ModuleRecord, Slot
from parity.checks import cast, cotangents_for, rng_for, seeded
from parity.component import Check, Recording, Side
from parity.errors import InvalidInput
from parity.report import Problem
from parity.trace import Trace, flatten, join


@dataclass(frozen=True, kw_only=True)
class ModuleCheck(Check):
    """Build the contract's module on every side, give all the same weights, compare every layer.

    Entries, in execution order: ``forward/<layer>/input``, ``forward/<layer>/output``,
    ``local/<layer>/output`` (the layer fed with the first side's recorded input, so that its own
    error is told from what it was handed), ``output/<path>``; then backwards
    ``grad_output/<layer>`` and ``grad/<layer>/<parameter>``, and ``grad_input/<index>``. A layer's
    second call is ``<layer>#2``.

    An activation fused into a layer is an entry of its own only where every side has one of that
    path; elsewhere the next layer's input shows it.

    Attributes:
        config: what the builder ``<name>(config, *, dtype, device)`` takes.
        inputs: rng -> the module's positional inputs.
        training: run in training mode.
    """

    kind: ClassVar[str] = "module"
    config: Any
    inputs: Callable[[np.random.Generator], Sequence[np.ndarray]]
    training: bool = False

    def __post_init__(self) -> None:
        if self.modes != ("eager",):
            raise InvalidInput(f"{self.label}: layers can be recorded in mode eager only")

    def record(self, sides: Mapping[str, Side]) -> Recording:
        inputs = list(self.inputs(rng_for(self)))
        modules = {
            name: getattr(side.impl, self.name)(self.config, dtype=side.dtype, device=side.device)
            for name, side in sides.items()
        }
        self._share_weights(modules)
        records = {
            name: side.backend.record_module(
                modules[name],
                [cast(array, side.dtype) for array in inputs],
                cotangents=cotangents_for(self),
                dtype=side.dtype,
                device=side.device,
                training=self.training,
            )
            for name, side in sides.items()
        }
        return self._write(sides, modules, records, inputs)

    def _share_weights(self, modules: Mapping[str, Any]) -> None:
        """Seeded values in the first side, moved from there to the others."""
        (_, first), *others = modules.items()
        weights.load(first, seeded_weights(weights.slots(first), self.label, self.case))
        for _, module in others:
            weights.copy(first, module)

    def _write(
        self,
        sides: Mapping[str, Side],
        modules: Mapping[str, Any],
        records: Mapping[str, ModuleRecord],
        inputs: Sequence[np.ndarray],
    ) -> Recording:
        recording = Recording({name: Trace(side=name) for name in sides})
        drop_lone_activations(records)
        leader = next(iter(records.values()))
        leading = {call.path: call for call in leader.calls}
        for name, record in records.items():
            trace = recording.traces[name]
            for call in record.calls:
                _write_forward(trace, call)
                problem = self._write_local(trace, sides[name], modules[name], call, leading)
                recording.problems += [problem] if problem else []
            trace.extend(record.output, scope="output")
            shapes = {slot.path: slot for slot in weights.slots(modules[name])}
            for entry, value in backward_entries(record, shapes):
                trace.add(entry, value)
            for index, gradient in record.input_gradients.items():
                zeros = np.zeros(np.shape(inputs[int(index)]), sides[name].dtype)
                trace.add(f"grad_input/{index}", zeros if gradient is None else gradient)
        recording.problems += order_problems(records)
        return recording

    def _write_local(
        self,
        trace: Trace,
        side: Side,
        module: Any,
        call: LayerCall,
        leading: Mapping[str, LayerCall],
    ) -> Problem | None:
        """Feed the layer with the first side's recorded input."""
        lead = leading.get(call.path)
        if lead is None:
            return None  # an unmatched layer: its forward entries say so
        try:
            if call is lead:
                output = call.output
            elif call.replay is not None:
                output = call.replay([_like(a, b) for a, b in zip(lead.inputs, call.inputs, strict=True)])
            else:
                output = side.backend.call_layer(module, call.path, lead.inputs, device=side.device)
        except Exception as error:  # the layer refuses the other side's input: that is a finding
            details = {"side": side.name, "error": f"{type(error).__name__}: {error}"}
            return Problem("layer-error", f"local/{call.path}/output", details)
        trace.extend(_named(f"local/{call.path}/output", output))
        return None


def seeded_weights(slots: Sequence[Slot], *scope: str) -> dict[str, np.ndarray]:
    """Values for every slot, by name: fan-in scaled kernels, small biases, positive variances."""
    return {slot.path: _seeded_values(slot, seeded(*scope, slot.path)) for slot in slots}


def _seeded_values(slot: Slot, rng: np.random.Generator) -> np.ndarray:
    current = slot.get()
    if current.dtype.kind != "f":
        return current
    if not slot.trainable:  # running statistics: a variance must be positive
        values = rng.uniform(0.5, 1.5, slot.shape)
    elif len(slot.shape) < 2:
        values = rng.uniform(-0.5, 0.5, slot.shape)
    else:
        values = rng.normal(size=slot.shape) / np.sqrt(np.prod(slot.shape[:-1]))
    return cast(values, str(current.dtype))


def drop_lone_activations(records: Mapping[str, ModuleRecord]) -> None:
    """Leave out fused activations that some side applies as plain code or as a layer."""
    paths = [{call.path for call in record.calls} for record in records.values()]
    common = set.intersection(*paths) if paths else set()
    for record in records.values():
        record.calls = [c for c in record.calls if not c.fused or c.path in common]


def backward_entries(
    record: ModuleRecord, slots: Mapping[str, Slot]
) -> Iterator[tuple[str, np.ndarray]]:
    """Gradients from the output back to the first layer; zeros where none flowed."""
    left = dict(record.parameter_gradients)
    first_use = {call.path.split("#")[0]: call.path for call in reversed(record.calls)}
    for call in reversed(record.calls):
        gradient = call.output_gradient
        if gradient is None:
            gradient = [np.zeros_like(a) for _, a in flatten(call.output)]
            gradient = gradient[0] if isinstance(call.output, np.ndarray) else gradient
        yield from _named(f"grad_output/{call.path}", gradient).items()
        bare = call.path.split("#")[0]
        if first_use[bare] == call.path:
            for path in [p for p in left if p.startswith(f"{bare}/")]:
                yield f"grad/{path}", _or_zeros(left.pop(path), slots[path])
    for path, gradient in left.items():
        yield f"grad/{path}", _or_zeros(gradient, slots[path])


def order_problems(records: Mapping[str, ModuleRecord]) -> list[Problem]:
    """A finding where the sides run the same layers in another order."""
    orders = {side: [call.path for call in record.calls] for side, record in records.items()}
    if len({tuple(sorted(order)) for order in orders.values()}) != 1:
        return []  # some are unmatched: the comparison says which
    if len({tuple(order) for order in orders.values()}) == 1:
        return []
    details = {"present": list(orders), "missing": [], "suggestion": None, "order": orders}
    return [Problem("unmatched", "forward", details)]


def _write_forward(trace: Trace, call: LayerCall) -> None:
    inputs = call.inputs[0] if len(call.inputs) == 1 else call.inputs
    trace.extend(_named(f"forward/{call.path}/input", inputs))
    trace.extend(_named(f"forward/{call.path}/output", call.output))


def _named(name: str, value: Any) -> dict[str, Any]:
    """One array under its name, or several below it."""
    if isinstance(value, np.ndarray):
        return {name: value}
    return {join(name, path): leaf for path, leaf in flatten(value)}


def _like(array: np.ndarray, own: np.ndarray) -> np.ndarray:
    return array.astype(own.dtype) if array.dtype.kind == "f" else array


def _or_zeros(gradient: np.ndarray | None, slot: Slot) -> np.ndarray:
    return np.zeros_like(slot.get()) if gradient is None else gradient
