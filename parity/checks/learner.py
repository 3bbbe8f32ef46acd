"""What the training checks know of a learner, and how they hand values to one.

A learner keeps parameters, optimizer slots and target values, and changes them by updates. The
checks see it through :class:`Learner` alone: what is learned, and how, is the pair's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from parity.backends import to_numpy
from parity.component import Side
from parity.errors import InvalidInput

State = dict[str, np.ndarray]
Example = tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]
"""A batch and the random draws of one update; no name stands in both."""


class Learner(Protocol):
    """What a builder returns on every side.

    Besides these it has one method per :class:`Link`, called with the link's inputs in order.
    Values shaped like parameters cross as mappings ``name -> tensor`` in the framework's own
    layout; ``to_canonical`` and ``from_canonical`` turn them.

    Attributes:
        traces: graphs that compiling has made so far; 0 in an eager learner.
    """

    traces: int

    def state(self) -> State:
        """Copies of everything that an update reads or changes, in canonical layout."""

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from :meth:`state` of any side, in place: compiled code follows."""

    def update(self, batch: Mapping[str, Any], draws: Mapping[str, Any]) -> Mapping[str, Any]:
        """One whole update, compiled where the learner is; returns losses and the like."""

    def to_canonical(self, values: Mapping[str, Any]) -> State:
        """Copies of tensors shaped like parameters."""

    def from_canonical(self, values: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """New tensors shaped like parameters."""


@dataclass(frozen=True)
class Link:
    """One step within an update: a method of the learner.

    Attributes:
        name: of the method.
        inputs: its arguments, in order: names of batch fields, draws, outputs of earlier links.
        outputs: names of what it returns, in order; several come as a tuple.
        writes: globs of the state entries that it changes; it must change no other.
        constants: inputs through which no gradient of the (scalar) output may flow.
    """

    name: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()


_LEARNERS: WeakKeyDictionary[ModuleType, dict[Any, Learner]] = WeakKeyDictionary()


def learner_of(side: Side, builder: str, config: Any, **options: Any) -> Learner:
    """The side's learner; one per module, configuration and variant, because compiling is slow.

    ``options`` are further arguments of the builder.

    Callers load a whole state first, so what was done with it before leaves no mark but compiled
    code, and that must not depend on the past.
    """
    known = _LEARNERS.setdefault(side.impl, {})
    key = (builder, config, side.dtype, side.device, side.variant, *sorted(options.items()))
    if key not in known:
        make: Callable[..., Learner] = getattr(side.impl, builder)
        run = {"dtype": side.dtype, "device": side.device, "variant": side.variant}
        known[key] = make(config, **options, **run)
    return known[key]


def run_dtype(sides: Mapping[str, Side]) -> str:
    """The dtype of the sides under test; the reference's own is always float64."""
    return next((s.dtype for s in sides.values() if not s.is_reference), "float64")


def rounded(values: Mapping[str, Any], dtype: str) -> dict[str, Any]:
    """Floating values as ``dtype`` can hold them, in float64; mappings are entered."""
    return {
        name: rounded(value, dtype) if isinstance(value, Mapping) else _round(value, dtype)
        for name, value in values.items()
    }


def _round(value: Any, dtype: str) -> np.ndarray:
    array = to_numpy(value)
    if array.dtype.kind != "f":
        return np.array(array)
    return np.array(array.astype(dtype).astype(np.float64))


def tensors(side: Side, learner: Learner, values: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays as tensors of the side, in its dtype; mappings are taken as shaped like parameters."""
    return {
        name: learner.from_canonical(value)
        if isinstance(value, Mapping)
        else side.backend.tensor(value, dtype=side.dtype, device=side.device)
        for name, value in values.items()
    }


def call_link(learner: Learner, link: Link, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Call the link's method; its outputs by name, as arrays."""
    returned = getattr(learner, link.name)(*(inputs[name] for name in link.inputs))
    values: Sequence[Any] = returned if isinstance(returned, tuple) else (returned,)
    if not link.outputs:
        values = () if returned is None else values
    if len(values) != len(link.outputs):
        raise InvalidInput(
            f"{link.name} returned {len(values)} values, declared {len(link.outputs)}: "
            f"{', '.join(link.outputs) or 'none'}"
        )
    return {
        name: _canonical(learner, value) if isinstance(value, Mapping) else to_numpy(value)
        for name, value in zip(link.outputs, values, strict=True)
    }


def _canonical(learner: Learner, values: Mapping[str, Any]) -> State:
    """Without the gradients that are None: the entry is missing then, which is a difference."""
    return learner.to_canonical({n: value for n, value in values.items() if value is not None})
