"""From recorded layer calls to trace entries, forwards and backwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.backends.base import LayerCall, LayerGradients, ModuleRecord, Slot
from parity.component import Side
from parity.report import Problem
from parity.trace import flatten, join

Entries = Iterator[tuple[str, Any]]


@dataclass
class Recorded:
    """One side: its module, what was recorded of it, and its parameters."""

    side: Side
    module: Any
    record: ModuleRecord
    slots: Mapping[str, Slot]
    inputs: Sequence[np.ndarray]


def drop_lone_activations(records: Sequence[ModuleRecord]) -> None:
    """Leave out fused activations that some side applies as plain code: the next input shows it."""
    common = set.intersection(*({call.path for call in record.calls} for record in records))
    for record in records:
        record.calls = [c for c in record.calls if not c.fused or c.path in common]


def order_problems(records: Mapping[str, ModuleRecord]) -> list[Problem]:
    """A finding where the sides run the same layers in another order."""
    orders = {side: [call.path for call in record.calls] for side, record in records.items()}
    if len({tuple(sorted(order)) for order in orders.values()}) != 1:
        return []  # some are unmatched: the comparison says which
    if len({tuple(order) for order in orders.values()}) == 1:
        return []
    return [Problem("order", "forward", {side: ", ".join(o) for side, o in orders.items()})]


def forward_entries(own: Recorded, leading: Mapping[str, LayerCall]) -> Iterator[Any]:
    """Each layer's input and output, and its output on the first side's input.

    Yields ``(name, array)``; a :class:`Problem` where a layer refuses that input.
    """
    for call in own.record.calls:
        inputs = call.inputs[0] if len(call.inputs) == 1 else call.inputs
        yield from _named(f"forward/{call.path}/input", inputs)
        yield from _named(f"forward/{call.path}/output", call.output)
        lead = leading.get(call.path)
        if lead is None:
            continue  # an unmatched layer: its forward entries say so
        name = f"local/{call.path}/output"
        if lead is call:
            yield from _named(name, call.output)
            continue
        try:
            output = own.side.backend.layer_output(
                own.module, call, _typed(lead.inputs, call.inputs), device=own.side.device
            )
        except Exception as error:  # the layer refuses the other side's input: that is a finding
            yield _refused(name, own.side, error)
        else:
            yield from _named(name, output)
    yield from _named("output", own.record.output, leaf="output/value")


def local_gradients(
    own: Recorded, leading: Mapping[str, LayerCall]
) -> tuple[dict[str, LayerGradients], list[Problem]] | None:
    """Each layer's backward pass on the first side's input and output gradient.

    None where this side's module cannot say: then no side's are compared.
    """
    found: dict[str, LayerGradients] = {}
    problems = []
    for call in own.record.calls:
        lead = leading.get(call.path)
        if lead is None or lead.output_gradient is None:
            continue
        try:
            gradients = own.side.backend.layer_gradients(
                own.module, call, _typed(lead.inputs, call.inputs), lead.output_gradient
            )
        except Exception as error:  # as above
            problems.append(_refused(f"local_grad/{call.path}", own.side, error))
            continue
        if gradients is None:
            return None
        found[call.path] = gradients
    return found, problems


def reached(records: Sequence[ModuleRecord]) -> set[str]:
    """Names of the layer outputs that a gradient reaches on some side.

    None reaches what hangs on frozen weights and integers alone, or is not used further.
    """
    return {
        name
        for record in records
        for call in record.calls
        for name, _ in _named(f"grad_output/{call.path}", call.output_gradient)
    }


def backward_entries(
    own: Recorded, local: Mapping[str, LayerGradients], wanted: set[str]
) -> Entries:
    """Gradients from the output back to the inputs; zeros where none flowed.

    Args:
        wanted: the layer outputs that a gradient :func:`reached`; the others have no entry.
    """
    left = dict(own.record.parameter_gradients)
    first_use = {_bare(call.path): call.path for call in reversed(own.record.calls)}
    for call in reversed(own.record.calls):
        for name, gradient in _filled(call):
            if name in wanted:
                yield name, gradient
        if call.path in local:
            yield from _local_entries(call, local[call.path], own.slots)
        bare = _bare(call.path)
        if first_use[bare] == call.path:  # the last to come backwards: its gradients are complete
            for path in [p for p in left if p.startswith(f"{bare}/")]:
                yield f"grad/{path}", _or_zeros(left.pop(path), own.slots[path].get())
    for path, gradient in left.items():
        yield f"grad/{path}", _or_zeros(gradient, own.slots[path].get())
    for index, gradient in own.record.input_gradients.items():
        yield f"grad_input/{index}", _or_zeros(gradient, own.inputs[int(index)])


def _local_entries(call: LayerCall, found: LayerGradients, slots: Mapping[str, Slot]) -> Entries:
    floats = [(g, x) for g, x in zip(found.inputs, call.inputs, strict=True) if x.dtype.kind == "f"]
    for index, (gradient, value) in enumerate(floats):
        name = f"local_grad/{call.path}/input"
        yield name if len(floats) == 1 else f"{name}/{index}", _or_zeros(gradient, value)
    for parameter, gradient in found.parameters.items():
        slot = slots.get(join(_bare(call.path), parameter)) or slots.get(parameter)
        if slot is not None:
            yield f"local_grad/{call.path}/{parameter}", _or_zeros(gradient, slot.get())


def _filled(call: LayerCall) -> Entries:
    """The gradients of the floating leaves of an output; zeros for those that none reached."""
    name = f"grad_output/{call.path}"
    known = dict(_named(name, call.output_gradient))
    for path, leaf in _named(name, call.output):
        if np.asarray(leaf).dtype.kind == "f":
            yield path, known.get(path, np.zeros_like(leaf))


def _named(name: str, value: Any, leaf: str | None = None) -> Entries:
    """One array under its name (or ``leaf``), or several below it."""
    if isinstance(value, np.ndarray):
        yield leaf or name, value
    else:
        yield from ((join(name, path), array) for path, array in flatten(value))


def _typed(arrays: Sequence[np.ndarray], own: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The other side's inputs in this side's dtypes (the reference computes in float64)."""
    return [
        array.astype(like.dtype) if array.dtype.kind == "f" else array
        for array, like in zip(arrays, own, strict=True)
    ]


def _refused(name: str, side: Side, error: Exception) -> Problem:
    details = {"side": side.name, "error": f"{type(error).__name__}: {error}"}
    return Problem("layer-error", name, details)


def _bare(path: str) -> str:
    return path.split("#")[0]


def _or_zeros(gradient: np.ndarray | None, like: np.ndarray) -> np.ndarray:
    return np.zeros_like(like) if gradient is None else gradient
