"""The module check: every layer forward and backward, propagated and on its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from parity import weights
from parity.backends.base import Slot
from parity.checks import cast, cotangents_for, rng_for, seeded
from parity.checks.layers import (
    Recorded,
    backward_entries,
    drop_lone_activations,
    forward_entries,
    local_gradients,
    order_problems,
    reached,
)
from parity.component import Check, Recording, Side
from parity.errors import InvalidInput
from parity.report import Problem
from parity.trace import Trace

if TYPE_CHECKING:
    from parity.recording.sides import StoredSide


@dataclass(frozen=True, kw_only=True)
class ModuleCheck(Check):
    """Build the contract's module on every side, give all the same weights, compare every layer.

    Entries, in execution order: ``forward/<layer>/input``, ``forward/<layer>/output``,
    ``local/<layer>/output`` (the layer fed with the first side's recorded input, so that its own
    error is told from what it was handed), ``output/<path>``; then backwards
    ``grad_output/<layer>``, ``local_grad/<layer>/input`` and ``local_grad/<layer>/<parameter>``
    (the layer's backward pass on the first side's input and output gradient),
    ``grad/<layer>/<parameter>``, and ``grad_input/<index>``. A layer's second call is
    ``<layer>#2``. Where a gradient flows on one side only, the other's is zero.

    An activation fused into a layer is an entry of its own only where every side has one of that
    path; elsewhere the next layer's input shows it. Layers that one side lacks are unmatched
    entries; the same layers in another order are a problem ``order``.

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
        return self._compared(self._recorded(sides))

    def record_against(self, sides: Mapping[str, Side], stored: StoredSide) -> Recording:
        """As :meth:`record`; the stored side comes first: its layers' inputs feed the others'."""
        inputs = [cast(array, stored.dtype) for array in self.inputs(rng_for(self))]
        return self._compared({stored.side: stored.recorded(inputs), **self._recorded(sides)})

    def _recorded(self, sides: Mapping[str, Side]) -> dict[str, Recorded]:
        modules = {
            name: getattr(side.impl, self.name)(self.config, dtype=side.dtype, device=side.device)
            for name, side in sides.items()
        }
        share_weights(modules, self.label, self.case)
        inputs = list(self.inputs(rng_for(self)))
        return {
            name: self._side(side, modules[name], [cast(array, side.dtype) for array in inputs])
            for name, side in sides.items()
        }

    def _compared(self, recorded: dict[str, Recorded]) -> Recording:
        passes = {
            name: (replace(own.record, calls=list(own.record.calls)), own.module)
            for name, own in recorded.items()
        }
        drop_lone_activations([own.record for own in recorded.values()])
        recording = record_traces(recorded)
        recording.modules = passes
        return recording

    def _side(self, side: Side, module: Any, inputs: list[np.ndarray]) -> Recorded:
        record = side.backend.record_module(
            module,
            inputs,
            cotangents=cotangents_for(self),
            dtype=side.dtype,
            device=side.device,
            training=self.training,
        )
        slots = {slot.path: slot for slot in weights.slots(module)}
        return Recorded(side, module, record, slots, inputs)


def record_traces(recorded: Mapping[str, Recorded]) -> Recording:
    """Write what was recorded of each side; the first side's inputs feed the local entries."""
    recording = Recording({name: Trace(side=name) for name in recorded})
    first = next(iter(recorded.values()))
    leading = {call.path: call for call in first.record.calls}
    local = {name: local_gradients(own, leading) for name, own in recorded.items()}
    records = {name: own.record for name, own in recorded.items()}
    wanted = reached(list(records.values()))
    everywhere = all(found is not None for found in local.values())
    for name, own in recorded.items():
        trace = recording.traces[name]
        for item in forward_entries(own, leading):
            if isinstance(item, Problem):
                recording.problems.append(item)
            else:
                trace.add(*item)
        found, problems = local[name] or ({}, [])
        recording.problems += problems
        for entry, value in backward_entries(own, found if everywhere else {}, wanted):
            trace.add(entry, value)
    recording.problems += order_problems(records)
    return recording


def share_weights(modules: Mapping[str, Any], *scope: str) -> None:
    """Seeded values in the first module, moved from there to the others."""
    (_, first), *others = modules.items()
    weights.load(first, seeded_weights(weights.slots(first), *scope))
    for _, module in others:
        weights.copy(first, module)


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
