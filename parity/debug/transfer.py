"""Weights of paired layers: which tensor goes where, and what stands in the way.

Tensors are paired within paired layers, by canonical name; what no layer call owns (a model's own
parameters) by path, or by name and shape where that leaves no choice. What cannot be paired is a
structural difference between the two networks and is listed, never forced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from parity import weights
from parity.backends.base import LayerCall, Slot
from parity.debug import axes
from parity.debug.matching import SIDES, Match, Matching
from parity.errors import TransferError
from parity.layouts import UNLISTED
from parity.report import Problem


@dataclass(frozen=True)
class Moved:
    """One canonical tensor of both sides.

    Attributes:
        name: torch's path of it (``l1/kernel``); ``tf_name`` the tf side's.
        torch, tf: the slots.
        match: the paired layers that hold it; None for a model's own parameters.
        keys: of both slots, as :func:`keyed` makes them.
        rows: where each row of the tf kernel stands in torch's, behind a channels-last flattening.
    """

    name: str
    tf_name: str
    torch: Slot
    tf: Slot
    match: Match | None = None
    keys: tuple[Any, Any] = (None, None)
    rows: np.ndarray | None = None


@dataclass
class Plan:
    """All tensors that are paired, and the structural findings.

    Attributes:
        constants: (path, side) of buffers of the user's own that the other side does not hold: an
            array of its code may take their place.
    """

    moved: list[Moved] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    constants: list[tuple[str, str]] = field(default_factory=list)
    known: dict[int, list[Slot]] = field(default_factory=dict, repr=False)

    def slots(self, layer: Any) -> list[Slot]:
        """The slots of one layer, asked for once."""
        if id(layer) not in self.known:
            self.known[id(layer)] = _slots(layer)
        return self.known[id(layer)]


def layer_shapes(calls: Sequence[LayerCall]) -> dict[int, dict[str, tuple[int, ...]]]:
    """Id of each called layer -> canonical shapes of its tensors."""
    found: dict[int, dict[str, tuple[int, ...]]] = {}
    for call in calls:
        if call.layer is not None and id(call.layer) not in found:
            found[id(call.layer)] = {s.path: tuple(s.shape) for s in _slots(call.layer)}
    return found


def _slots(layer: Any) -> list[Slot]:
    try:
        return weights.slots(layer)
    except Exception:  # an activation function, a layer of another library
        return []


def plan(matching: Matching, modules: Mapping[str, Any]) -> Plan:
    """Pair the tensors of two modules whose layers are paired.

    Raises:
        TransferError: a layer is of a kind whose layout is not known.
    """
    made = Plan()
    seen: dict[str, set[int]] = {side: set() for side in SIDES}
    for match in matching.matches:
        _plan_match(made, match, seen)
    for side in SIDES:
        for call in matching.only[side]:
            if not call.fused:
                _orphan(made, side, call, seen[side])
    _plan_own(made, modules, seen)
    return made


def _plan_match(made: Plan, match: Match, seen: Mapping[str, set[int]]) -> None:
    found = [_parts_of(made, match, side) for side in SIDES]
    for (owner, left), (other, right) in _opposite(match, *found):
        for name in dict.fromkeys([*left, *right]):
            a, b = left.get(name), right.get(name)
            for side, slot in zip(SIDES, (a, b), strict=True):
                if slot is not None:
                    _refuse_unlisted(slot, match.path)
                    seen[side].update(map(id, slot.natives))
            if a is None or b is None:
                made.problems.append(_one_sided(match, owner, other, name, a, b))
            elif _squeezed(a.shape) != _squeezed(b.shape) and not _spread(a, b):
                made.problems.append(_other_shape(match, owner, other, name, a, b))
            else:
                keys = (_key_in(made, match.torch, a), _key_in(made, match.tf, b))
                made.moved.append(Moved(f"{owner}/{name}", f"{other}/{name}", a, b, match, keys))


def _key_in(made: Plan, calls: Sequence[LayerCall], slot: Slot) -> Any:
    """The key of a slot of one of these layers."""
    for call in calls:
        for key, found in keyed(made.slots(call.layer)).items():
            if found is slot:
                return key
    return None


def _parts_of(made: Plan, match: Match, side: str) -> dict[str, dict[str, Slot]]:
    """Part (or layer) path -> its slots by name."""
    found: dict[str, dict[str, Slot]] = {}
    named = [pair[SIDES.index(side)] for pair in match.parts]
    for call in getattr(match, side):
        bare = call.path.split("#")[0]
        if call.fused:
            continue
        for slot in made.slots(call.layer):
            part, _, rest = slot.path.partition("/")
            if f"{call.path}/{part}" in named:
                found.setdefault(f"{call.path}/{part}", {})[rest] = slot
            else:
                found.setdefault(bare, {})[slot.path] = slot
    return found


Part = tuple[str, dict[str, Slot]]


def _opposite(
    match: Match, left: Mapping[str, dict[str, Slot]], right: Mapping[str, dict[str, Slot]]
) -> list[tuple[Part, Part]]:
    pairs: list[tuple[Part, Part]] = []
    for a, b in match.parts:
        one = a if a in left else a.split("#")[0]
        two = b if b in right else b.split("#")[0]
        if one in left or two in right:
            pairs.append(((one, left.get(one, {})), (two, right.get(two, {}))))
    return pairs


def _refuse_unlisted(slot: Slot, path: str) -> None:
    if slot.kind.startswith(UNLISTED):
        raise TransferError(
            f"{path}/{slot.path} ({slot.kind}): the layout of this kind of layer is not known, so "
            "its weights cannot be moved; copy them yourself and check with --weights keep"
        )


def _one_sided(
    match: Match, owner: str, other: str, name: str, a: Slot | None, b: Slot | None
) -> Problem:
    has, lacks = ("torch", "tf") if b is None else ("tf", "torch")
    slot = a if a is not None else b
    assert slot is not None
    return Problem(
        "weight-missing",
        f"{owner}/{name}",
        {
            "has": has, "lacks": lacks, "shape": list(slot.shape), "layer": match.path,
            "tf": other, "kind": match.kind, "name": name,
        },
    )  # fmt: skip


def _other_shape(match: Match, owner: str, other: str, name: str, a: Slot, b: Slot) -> Problem:
    return Problem(
        "weight-shape",
        f"{owner}/{name}",
        {
            "torch": list(a.shape),
            "tf": list(b.shape),
            "tf_name": f"{other}/{name}",
            "layer": match.path,
            "kind": match.kind,
        },
    )


def _orphan(made: Plan, side: str, call: LayerCall, seen: set[int]) -> None:
    shapes = {s.path: list(s.shape) for s in made.slots(call.layer)}
    new = [s for s in made.slots(call.layer) if not set(map(id, s.natives)) <= seen]
    if not new:
        return
    seen.update(id(n) for s in new for n in s.natives)
    if _is_own(call.layer) and all(_is_constant(slot) for slot in new):
        made.constants += [(f"{call.path}/{slot.path}", side) for slot in new]
        return
    made.problems.append(
        Problem("layer-missing", call.path, {"has": side, "kind": call.kind, "weights": shapes})
    )


def _plan_own(made: Plan, modules: Mapping[str, Any], seen: Mapping[str, set[int]]) -> None:
    """Parameters that no layer call owns."""
    left, right = (
        {
            s.path: s
            for s in weights.slots(modules[side])
            if not set(map(id, s.natives)) & seen[side]
        }
        for side in SIDES
    )
    for path, slot in left.items():
        other = path if path in right else _only_choice(path, slot, left, right)
        if other is None:
            _lone(made, path, slot, "torch")
        elif _squeezed(slot.shape) != _squeezed(right[other].shape):
            made.problems.append(
                Problem(
                    "weight-shape",
                    path,
                    {"torch": list(slot.shape), "tf": list(right[other].shape), "tf_name": other},
                )
            )
            del right[other]
        else:
            partner = right.pop(other)
            keys = tuple((tuple(map(id, s.natives)), 0) for s in (slot, partner))
            made.moved.append(Moved(path, other, slot, partner, None, (keys[0], keys[1])))
    for path, slot in right.items():
        _lone(made, path, slot, "tf")


def _lone(made: Plan, path: str, slot: Slot, side: str) -> None:
    """A parameter of one side only is a finding; a buffer may stand for a number in the code."""
    if _is_constant(slot):
        made.constants.append((path, side))
        return
    details = {"has": side, "shape": list(slot.shape)}
    made.problems.append(Problem("parameter-missing", path, details))


def _is_own(layer: Any) -> bool:
    """Whether the user wrote the layer: what the frameworks' own layers hold is no constant."""
    return type(layer).__module__.partition(".")[0] not in ("torch", "keras", "tf_keras")


def _is_constant(slot: Slot) -> bool:
    return not slot.trainable and all(map(_never_trained, slot.natives))


def _never_trained(native: Any) -> bool:
    """Whether a tensor is none of those that an optimizer is given, frozen or not."""
    if type(native).__module__.startswith("torch"):
        return type(native).__name__ != "Parameter"
    return not getattr(native, "trainable", True)


def _only_choice(
    path: str, slot: Slot, left: Mapping[str, Slot], right: Mapping[str, Slot]
) -> str | None:
    """The other side's parameter of the same last name, or the only one of that shape."""
    last = path.rpartition("/")[2]
    fitting = [n for n, s in right.items() if s.shape == slot.shape and n not in left]
    named = [n for n in fitting if n.rpartition("/")[2] == last]
    rivals = [n for n, s in left.items() if s.shape == slot.shape and n not in right]
    if len(named) == 1:
        return named[0]
    return fitting[0] if len(fitting) == len(rivals) == 1 else None


def _squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    """A dense layer is a convolution of width one: leading ones say nothing."""
    start = 0
    while start < len(shape) - 1 and shape[start] == 1:
        start += 1
    return tuple(shape[start:])


def _spread(a: Slot, b: Slot) -> bool:
    """torch's one slope for all channels, against one slope for each in Keras."""
    return a.kind == b.kind == "prelu" and a.shape == (1,)


def keyed(slots: Sequence[Slot]) -> dict[Any, Slot]:
    """Slots by the tensors that they are made of, which tell them whatever path leads there.

    Slots that share their tensors (packed query, key and value) are told apart by their order.
    """
    found: dict[Any, Slot] = {}
    for slot in slots:
        handles, number = tuple(map(id, slot.natives)), 0
        while (handles, number) in found:
            number += 1
        found[handles, number] = slot
    return found


def settle_flattening(matching: Matching, made: Plan) -> None:
    """Where a kernel's rows were moved for a channels-last flattening, read that as flattened so.

    Only for weights that the user has copied: then a permuted kernel and a permuted activation
    belong together, and neither is a fault.
    """
    image: Sequence[int] | None = None
    since: list[int] = []
    for index, match in enumerate(matching.matches):
        outputs = match.outputs()
        shape = np.shape(outputs[0].torch) if outputs and outputs[0].torch is not None else ()
        if len(shape) >= 3:
            image, since = (shape[1:] if match.order == axes.CHANNELS_LAST else None), []
            continue
        since.append(index)
        if image is None or match.kind != "dense":
            continue
        order = axes.flat(image)
        kernels = [m for m in made.moved if m.match is match and m.name.endswith("kernel")]
        for moved in kernels:
            a, b = moved.torch.look(), moved.tf.look()
            rows = np.argsort(axes.rows(order))
            if a.shape != b.shape or len(rows) != len(a) or np.array_equal(a, b):
                continue
            if np.array_equal(a[rows].astype(b.dtype), b):
                made.moved[made.moved.index(moved)] = replace(moved, rows=rows)
                _reorder(matching, since, order)
        image = None


def _reorder(matching: Matching, indices: Sequence[int], order: str) -> None:
    for index in indices:
        match = matching.matches[index]
        last = index == indices[-1]
        flattens = index == indices[0] and np.ndim(match.inputs()[0].torch) > 2
        matching.matches[index] = replace(
            match,
            input_order=match.input_order if flattens else order,
            order=match.order if last else order,
        )


def copy(made: Plan, *, source: str = "torch") -> None:
    """Give the tf side torch's values; or torch those of a recorded tf side.

    Raises:
        TransferError: one value for all channels is to hold many.
    """
    for moved in made.moved:
        giving, taking = (moved.torch, moved.tf) if source == "torch" else (moved.tf, moved.torch)
        values = giving.look()
        if values.size > int(np.prod(taking.shape)):
            raise TransferError(
                f"{moved.name}: {values.size} values of {source} do not fit one for all channels"
            )
        taking.set(fitted(values, taking))


def fitted(values: np.ndarray, slot: Slot) -> np.ndarray:
    """The values in the slot's own shape and dtype; without a copy where they are so already."""
    shape = tuple(slot.shape)
    array = values if values.size == int(np.prod(shape)) else np.broadcast_to(values, shape)
    return np.asarray(array.reshape(shape)).astype(_dtype(slot), copy=False)


def _dtype(slot: Slot) -> Any:
    """NumPy's dtype of a slot, without reading it."""
    dtype = getattr(slot.natives[0], "dtype", None) if slot.natives else None
    named = getattr(dtype, "name", str(dtype).removeprefix("torch."))
    try:
        return np.dtype(named)
    except TypeError:  # bfloat16 and the like
        return slot.look().dtype
