"""Paired layers: which calls do the same work, and in which order of axes each works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity.backends.base import LayerCall, ModuleRecord
from parity.debug import axes, kinds, values
from parity.debug.pairing import Pairing, Step, pair

SIDES = ("torch", "tf")


@dataclass(frozen=True)
class Match:
    """Calls that do the same work: mostly one of each side.

    Several where one framework has one layer for what the other does with two (a separable
    convolution, an LSTM of two layers, padding on its own).

    Attributes:
        torch, tf: the calls of each side, in execution order.
        order: how the tf output's axes are ordered; ``input_order`` likewise for its inputs.
        parts: (torch part, tf part) paths, where calls were paired part by part.
        orders: those that the inputs may have too; empty where the layer says its own.
    """

    torch: tuple[LayerCall, ...]
    tf: tuple[LayerCall, ...]
    order: str = axes.SAME
    input_order: str = axes.SAME
    parts: tuple[tuple[str, str], ...] = ()
    orders: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Name of the pair: the torch path of the layer that does the work."""
        return "+".join(call.path for call in _main(self.torch))

    @property
    def tf_path(self) -> str:
        return "+".join(call.path for call in _main(self.tf))

    @property
    def kind(self) -> str:
        return _main(self.torch)[-1].kind

    @property
    def weighted(self) -> bool:
        return any(call.kind in _WEIGHTED for call in (*self.torch, *self.tf))

    @property
    def library(self) -> bool:
        """The tf layer is one of the framework's, other than a wrapped function."""
        from parity.layouts import library_class

        return library_class("tf", self.tf[-1].layer) not in (None, "Lambda")

    @property
    def where(self) -> dict[str, str]:
        """The users' lines that call the layers, where known."""
        lines = {"torch": self.torch[-1].where, "tf": self.tf[-1].where}
        return {side: line for side, line in lines.items() if line}

    def outputs(self) -> list[values.Value]:
        return values.outputs(self.torch[-1], self.tf[-1])

    def gradients(self) -> list[values.Value]:
        return values.gradients(self.torch[-1], self.tf[-1])

    def inputs(self) -> list[values.Value]:
        return values.inputs(self.torch[0], self.tf[0])


_WEIGHTED = frozenset(
    "dense embedding batch_norm layer_norm group_norm rms_norm prelu attention "
    "lstm gru rnn lstm_cell gru_cell rnn_cell separable_conv1d separable_conv2d".split()
    + [f"conv{n}d{t}" for n in (1, 2, 3) for t in ("", "_transpose")]
)
"""Kinds that do work, as against padding and cropping that stand beside them."""


def _main(calls: Sequence[LayerCall]) -> list[LayerCall]:
    """Without the padding and cropping that stand beside the layer that does the work."""
    work = [c for c in calls if c.kind in _WEIGHTED]
    if work:
        return work
    family = [(c, kinds.describe(c.kind, c.layer, fused=c.fused)[0]) for c in calls]
    beside = (kinds.PAD, kinds.CROP, kinds.CODE, kinds.SHAPE)
    work = [c for c, f in family if f not in beside]
    return work or list(calls[-1:])


@dataclass
class Matching:
    """All matches in execution order, and the calls without partner."""

    matches: list[Match]
    pairing: Pairing
    only: dict[str, list[LayerCall]] = field(default_factory=dict)
    order: str = axes.SAME
    """How the model's inputs are ordered."""
    doubtful: bool = False
    """The shape of an output fits several of the orders that it may have."""

    @property
    def last_order(self) -> str:
        return self.matches[-1].order if self.matches else self.order

    @property
    def last_orders(self) -> tuple[str, ...]:
        """In which orders the outputs may be: the last layer's, or the inputs' again."""
        return self.last_order, self.order, axes.SAME

    def output_order(self, torch: Any, tf: Any) -> str:
        """How one of the models' outputs is ordered on the tf side."""
        if torch is None or tf is None:
            return self.last_order
        order = axes.choose(np.shape(torch), np.shape(tf), said=None, carried=self.last_order)
        return axes.settle(torch, tf, self.last_orders, order)


def steps(
    calls: Sequence[LayerCall], slots: Mapping[int, Mapping[str, tuple[int, ...]]]
) -> list[Step]:
    """The calls as the pairing sees them; layers made of several are taken apart.

    Args:
        slots: id of a layer -> canonical shapes of its tensors by name within the layer.
    """
    found = []
    for index, call in enumerate(calls):
        shapes = {} if call.fused else slots.get(id(call.layer), {})
        single = isinstance(call.output, np.ndarray)
        output = tuple(sorted(call.output.shape[1:])) if single else None
        parts = _parts(call.kind, shapes)
        if parts:
            found += [
                Step(f"{call.path}/{part}", kind, None, own, call=index)
                for part, kind, own in parts
            ]
            continue
        kind, name = call.kind, ""
        if not shapes:
            kind, name = kinds.describe(call.kind, call.layer, fused=call.fused)
        found.append(Step(call.path, kind, output, shapes, name, index))
    return found


def _parts(
    kind: str, shapes: Mapping[str, tuple[int, ...]]
) -> list[tuple[str, str, dict[str, tuple[int, ...]]]]:
    """``(prefix, kind, shapes)`` of layers that the other framework may have as several."""
    separable = kind.startswith("separable")
    deep = kind in values.RECURRENT and any(name.startswith("l0/") for name in shapes)
    if not separable and not deep:
        return []
    groups: dict[str, dict[str, tuple[int, ...]]] = {}
    for name, shape in shapes.items():
        part, _, rest = name.partition("/")
        groups.setdefault(part, {})[rest] = shape
    own = kind.removeprefix("separable_") if separable else kind
    return [(part, own, group) for part, group in groups.items()]


def match_layers(
    record: Mapping[str, ModuleRecord],
    slots: Mapping[str, Mapping[int, Mapping[str, tuple[int, ...]]]],
    given: Mapping[str, Sequence[np.ndarray]],
    names: Mapping[str, str] | None = None,
) -> Matching:
    """Pair the two executions and settle in which order of axes each pair is compared."""
    calls = {side: record[side].calls for side in SIDES}
    taken = {side: steps(calls[side], slots[side]) for side in SIDES}
    found = pair(taken["torch"], taken["tf"], names=names)
    groups = _groups(found, taken, calls)
    carried = input_order(given)
    matching = Matching([], found, order=carried)
    orders = [axes.SAME, carried]
    for left, right, _ in groups:
        said = axes.order_of(calls["torch"][left[-1]].layer, calls["tf"][right[-1]].layer)
        orders += [said] if said is not None else []
    used: dict[str, set[int]] = {side: set() for side in SIDES}
    for left, right, _ in groups:
        used["torch"].update(left)
        used["tf"].update(right)
    for left, right, parts in groups:
        left, right = _absorbed(left, right, calls, used)
        match = Match(
            tuple(calls["torch"][i] for i in left),
            tuple(calls["tf"][j] for j in right),
            parts=parts,
        )
        match = _ordered(match, carried, orders)
        carried = match.order
        matching.matches.append(match)
    matching.only = {
        side: [c for i, c in enumerate(calls[side]) if i not in used[side]] for side in SIDES
    }
    matching.doubtful = _doubtful(matching, record)
    return matching


def _doubtful(matching: Matching, record: Mapping[str, ModuleRecord]) -> bool:
    """Outputs are paired by position here: a doubt too many only costs a pass."""
    from parity.trace import flatten

    made = [[np.shape(a) for _, a in flatten(record[side].output)] for side in SIDES]
    return any(
        len(a) >= 3 and len(axes.several(a, b, matching.last_orders)) > 1
        for a, b in zip(*made, strict=False)
    )


def _groups(
    found: Pairing, taken: Mapping[str, Sequence[Step]], calls: Mapping[str, Sequence[LayerCall]]
) -> list[tuple[list[int], list[int], tuple[tuple[str, str], ...]]]:
    """Calls that are paired through their parts belong together."""
    groups: list[tuple[list[int], list[int], list[tuple[str, str]]]] = []
    homes: dict[str, dict[int, int]] = {side: {} for side in SIDES}
    for i, j in found.pairs:
        a, b = taken["torch"][i], taken["tf"][j]
        known = [homes["torch"].get(a.call), homes["tf"].get(b.call)]
        home = min((n for n in known if n is not None), default=len(groups))
        if home == len(groups):
            groups.append(([], [], []))
        left, right, parts = groups[home]
        for side, members, call in (("torch", left, a.call), ("tf", right, b.call)):
            homes[side][call] = home
            if call not in members:
                members.append(call)
        parts.append((a.path, b.path))
    return [(sorted(a), sorted(b), tuple(parts)) for a, b, parts in groups]


def _absorbed(
    left: list[int],
    right: list[int],
    calls: Mapping[str, Sequence[LayerCall]],
    used: Mapping[str, set[int]],
) -> tuple[list[int], list[int]]:
    """Take in neighbours that only pad or crop, where the other side's layer does it itself."""
    ours = {"torch": list(left), "tf": list(right)}
    for _ in range(4):
        first = [calls[side][ours[side][0]] for side in SIDES]
        if not _shapes_fit(_first(first[0].inputs), _first(first[1].inputs)):
            if _take(ours, calls, used, before=True):
                continue
        last = [calls[side][ours[side][-1]] for side in SIDES]
        outs = values.outputs(last[0], last[1])
        if outs and not _shapes_fit(outs[0].torch, outs[0].tf):
            if _take(ours, calls, used, before=False):
                continue
        break
    return ours["torch"], ours["tf"]


def _take(
    ours: dict[str, list[int]],
    calls: Mapping[str, Sequence[LayerCall]],
    used: Mapping[str, set[int]],
    *,
    before: bool,
) -> bool:
    for side in ("tf", "torch"):
        index = ours[side][0] - 1 if before else ours[side][-1] + 1
        if not 0 <= index < len(calls[side]) or index in used[side]:
            continue
        call = calls[side][index]
        inner, outer = (index, index + 1) if before else (index - 1, index)
        if (
            call.kind in _WEIGHTED
            or call.fused
            or not _feeds(calls[side][inner], calls[side][outer])
        ):
            continue
        if before:
            ours[side].insert(0, index)
        else:
            ours[side].append(index)
        used[side].add(index)
        return True
    return False


def _feeds(a: LayerCall, b: LayerCall) -> bool:
    """Whether the output of one call is the input of the other."""
    return (
        isinstance(a.output, np.ndarray)
        and bool(b.inputs)
        and a.output.shape == b.inputs[0].shape
        and np.array_equal(a.output, b.inputs[0], equal_nan=a.output.dtype.kind == "f")
    )


def _shapes_fit(a: Any, b: Any) -> bool:
    return a is None or b is None or bool(axes.candidates(np.shape(a), np.shape(b)))


def _ordered(match: Match, carried: str, orders: Sequence[str]) -> Match:
    """The match with the orders in which its arrays are.

    Args:
        carried: the order of the match before it.
        orders: all orders in which layers of the models work.
    """
    said = axes.order_of(match.torch[-1].layer, match.tf[-1].layer)
    given, made = match.inputs(), match.outputs()
    before = _order(given[0].torch, given[0].tf, said, carried, orders) if given else carried
    onward = axes.SAME if before.startswith(axes.FLAT) and match.weighted else before
    after = _order(made[0].torch, made[0].tf, said, onward, orders) if made else onward
    open_ = tuple(orders) if said is None else ()
    return Match(match.torch, match.tf, after, before, match.parts, open_)


def _order(left: Any, right: Any, said: str | None, carried: str, orders: Sequence[str]) -> str:
    if left is None or right is None:
        return said or carried
    order = axes.choose(np.shape(left), np.shape(right), said=said, carried=carried)
    return (
        order if said is not None or np.ndim(right) < 3 else axes.settle(left, right, orders, order)
    )


def _first(arrays: Sequence[np.ndarray]) -> np.ndarray | None:
    return arrays[0] if arrays else None


def input_order(given: Mapping[str, Sequence[np.ndarray]]) -> str:
    """In which order of axes the tf side was given its inputs."""
    for a, b in zip(given["torch"], given["tf"], strict=False):
        if a.ndim >= 3 and a.shape != b.shape or (a.ndim >= 3 and not np.array_equal(a, b)):
            for order in (axes.CHANNELS_LAST, axes.TIME_SECOND):
                moved = axes.to_tf(a, order)
                if moved.shape == b.shape and np.array_equal(moved, b):
                    return order
    return axes.SAME
