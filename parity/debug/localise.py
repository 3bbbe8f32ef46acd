"""Where two modules part: every layer on its own, and the code between the layers on its own.

Two kinds of local error. A layer's: it is fed with what its partner was fed with. That of the code
in between: the tf model runs once more, and each paired layer hands on its partner's output instead
of its own, so that whatever still differs at the next layer's input was made on the way there. A
fault is found so whatever faults lie before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity import progress, spill
from parity.compare import Difference, compare_arrays
from parity.debug import axes, modules, values
from parity.debug.forced import Forced, forced_run
from parity.debug.matching import SIDES, Match, Matching
from parity.debug.modules import Pair
from parity.report import Report
from parity.tolerance import default_tolerance, float32_inside_bound

LAYER, BETWEEN, OUTPUT = "layer", "between", "output"
GRADIENT, PARAMETER = "gradient", "parameter"


@dataclass(frozen=True)
class Fault:
    """A place where the sides part, whatever came before.

    Attributes:
        kind: ``layer``, ``between`` (code before a layer), ``output`` (code behind the last),
            ``gradient`` (a layer's backward pass alone) or ``parameter`` (one of the model's own).
        place: ``act``, ``out/input`` or ``output``.
        match: the layer; for ``between`` the one whose input differs.
        before: the match that ran before it; None at the beginning.
        error: largest absolute difference; infinite where shapes differ.
        torch, tf: the arrays that differ, in torch's order of axes.
        inputs: for ``between``: all inputs of the layer, torch's and the tf side's.
        float32: the size of one float32 rounding in a float64 run: a constant or a cast.
    """

    kind: str
    place: str
    match: Match | None
    before: Match | None
    error: float
    torch: Any = None
    tf: Any = None
    float32: bool = False
    inputs: tuple[tuple[np.ndarray, np.ndarray], ...] = ()


@dataclass(frozen=True)
class Row:
    """One line of the table of layers: propagated error freely, local error alone."""

    match: Match
    propagated: float
    local: float | None
    between: float | None


@dataclass
class Places:
    """All that was found out about where."""

    rows: list[Row]
    faults: list[Fault]

    @property
    def real(self) -> list[Fault]:
        """Without those that only round to float32 inside."""
        return [fault for fault in self.faults if not fault.float32]


def localise(pair: Pair, matching: Matching, report: Report) -> Places:
    """Local errors of all layers, and of the code between them."""
    with progress.work(len(matching.matches), "places"):
        return _localised(pair, matching, report)


def _localised(pair: Pair, matching: Matching, report: Report) -> Places:
    forced = forced_run(pair, matching)
    unforced = {m.tf[-1].path for m in matching.matches if not _forcible(m)}
    rows, faults = [], []
    before: Match | None = None
    for match in matching.matches:
        spill.forget()
        progress.step(f"layer {match.path} alone")
        progress.did("places")
        gap = _between(pair, match, forced)
        if before is not None and before.tf[-1].path in unforced:
            gap = None  # what came before could not be put right: this says nothing
        own, arrays = _own(pair, match)
        if gap is not None and not gap.agrees:
            both, made = _through(pair, match, forced)
            told = not gap.structural and any(
                e.name.startswith(f"grad/{match.path}/") for e in report.failing
            )
            if both is not None and both.agrees and not told:
                own = both  # the code before the layer does what torch's layer does itself
            elif gap.structural and both is not None:
                own, arrays = both, made
            else:
                given = _between_arrays(match, forced)
                place = f"{match.path}/input"
                fault = _fault(BETWEEN, place, match, before, gap, *given, pair.dtype)
                faults.append(replace(fault, inputs=_all_inputs(match, forced)))
        if own is not None and not own.agrees:
            faults.append(_fault(LAYER, match.path, match, before, own, *arrays, pair.dtype))
        rows.append(
            Row(
                match,
                _propagated(report, match),
                None if own is None else _size(own),
                None if gap is None else _size(gap),
            )
        )
        before = match
    if before is None or before.tf[-1].path not in unforced:
        faults += _behind(pair, matching, forced, before)
    if not any(not fault.float32 for fault in faults):
        faults += [f for m in reversed(matching.matches) if (f := _backward(pair, m)) is not None]
    return Places(rows, faults)


def _forcible(match: Match) -> bool:
    """Whether torch's output can stand in for the tf layer's: not where the shapes differ."""
    main = match.outputs()[0]
    if main.torch is None or main.tf is None:
        return False
    return bool(axes.to_tf(np.asarray(main.torch), match.order).shape == np.shape(main.tf))


def _backward(pair: Pair, match: Match) -> Fault | None:
    """The error of a layer's backward pass alone."""
    spill.forget()
    torch, tf = match.torch[-1], match.tf[-1]
    alone = len(match.torch) == len(match.tf) == 1
    single = isinstance(torch.output, np.ndarray) and isinstance(tf.output, np.ndarray)
    if not (alone and single and torch.replay_gradients and tf.replay_gradients):
        return None
    given = torch.output_gradient
    if not isinstance(given, np.ndarray):
        return None
    try:
        with modules.unmoved([torch.layer, tf.layer]):
            if modules.is_recorded(pair.modules["tf"]):
                weight = _moved(given, tf.output_gradient, match.order).astype(torch.output.dtype)
                left = torch.replay_gradients(tf_inputs(match), weight)
                right = tf.replay_gradients(tf.inputs, tf.output_gradient)
            else:
                left = torch.replay_gradients(torch.inputs, given)
                moved = axes.to_tf(given, match.order).astype(tf.output.dtype)
                right = tf.replay_gradients(modules.torch_inputs(match), moved)
    except Exception:  # a layer that refuses is no evidence
        return None
    pairs = [
        (a, b if b is None else axes.to_torch(b, match.input_order))
        for a, b in zip(left.inputs, right.inputs, strict=False)
    ]
    if not match.input_order.startswith(axes.FLAT):  # whose kernel has its rows elsewhere
        pairs += [(a, right.parameters.get(name)) for name, a in left.parameters.items()]
    for a, b in pairs:
        if a is None or b is None or a.shape != np.shape(b):
            continue
        d = _compare(match.path, a, b, pair.dtype)
        if not d.agrees:
            return _fault(GRADIENT, f"grad/{match.path}", match, None, d, a, b, pair.dtype)
    return None


def _through(
    pair: Pair, match: Match, forced: Forced | None
) -> tuple[Difference | None, tuple[Any, Any]]:
    """The error of the layer together with the code before it."""
    output = None if forced is None else forced.outputs.get(match.tf[-1].path)
    if output is None:
        return None, (None, None)
    return _against(match, output, pair.dtype)


def _fault(
    kind: str,
    place: str,
    match: Match | None,
    before: Match | None,
    d: Difference,
    left: Any,
    right: Any,
    dtype: str,
) -> Fault:
    small = dtype == "float64" and _float32_sized(left, right)
    return Fault(kind, place, match, before, _size(d), left, right, small)


def _float32_sized(left: Any, right: Any) -> bool:
    """Whether a float64 difference is no larger than one rounding to float32 makes it."""
    a, b = np.asarray(left), np.asarray(right)
    if a.shape != b.shape or a.dtype.kind != "f" or not a.size:
        return False
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not finite.any():
        return False
    scale = float(np.abs(a[finite]).max())
    return float(np.abs(a[finite] - b[finite]).max()) <= float32_inside_bound(scale)


def _size(d: Difference) -> float:
    return float("inf") if d.structural and d.problem != "non-finite" else float(d.max_abs)


def _compare(name: str, left: Any, right: Any, dtype: str) -> Difference:
    a, b = np.asarray(left), np.asarray(right)
    kind = dtype if a.dtype.kind == "f" else str(a.dtype)
    return compare_arrays(
        a, b, name=name, sides=("torch", "tf"), tolerance=default_tolerance(kind), check_dtype=False
    )


def _own(pair: Pair, match: Match) -> tuple[Difference | None, tuple[Any, Any]]:
    """The layer's own error, fed with its partner's input."""
    if modules.is_recorded(pair.modules["tf"]):
        return _own_of_torch(pair, match)
    made = modules.local(pair, match)
    return (None, (None, None)) if made is None else _against(match, made, pair.dtype)


def _own_of_torch(pair: Pair, match: Match) -> tuple[Difference | None, tuple[Any, Any]]:
    """The same where the tf side cannot run: torch's layer is fed with tf's recorded input."""
    worst: Difference | None = None
    arrays: tuple[Any, Any] = (None, None)
    for left, right in torch_on_recorded(match) or ():
        d = _compare(match.path, left, right, pair.dtype)
        if worst is None or (worst.agrees and not d.agrees):
            worst, arrays = d, (left, right)
    return worst, arrays


def torch_on_recorded(match: Match) -> list[tuple[Any, Any]] | None:
    """What torch's layers make of tf's recorded inputs, beside tf's outputs; None: they refuse."""
    made = modules.replay(match.torch, tf_inputs(match))
    if made is None:
        return None
    call = replace(match.torch[-1], output=made)
    return [
        (value.torch, _moved(value.torch, value.tf, value.order(match.order)))
        for value in values.outputs(call, match.tf[-1])
        if value.torch is not None and value.tf is not None
    ]


def tf_inputs(match: Match) -> list[np.ndarray]:
    """What torch's layer is to be fed with: tf's recorded inputs, in torch's order of axes."""
    own = match.torch[0].inputs
    given = [np.array(a) for a in own]
    for value in match.inputs():
        place = next((i for i, a in enumerate(own) if a is value.torch), None)
        if place is None or value.tf is None:
            continue
        moved = axes.to_torch(np.asarray(value.tf), value.order(match.input_order))
        if moved.shape == given[place].shape:
            given[place] = moved.astype(given[place].dtype)
    return given


def _against(match: Match, made: Any, dtype: str) -> tuple[Difference | None, tuple[Any, Any]]:
    """An output of the tf layer against torch's recorded one."""
    call = replace(match.tf[-1], output=made)
    worst: Difference | None = None
    arrays: tuple[Any, Any] = (None, None)
    for value in values.outputs(match.torch[-1], call):
        if value.torch is None or value.tf is None:
            continue
        moved = _moved(value.torch, value.tf, value.order(match.order))
        d = _compare(match.path, value.torch, moved, dtype)
        if worst is None or (worst.agrees and not d.agrees):
            worst, arrays = d, (value.torch, moved)
    return worst, arrays


def _moved(left: Any, right: Any, order: str) -> np.ndarray:
    moved = axes.to_torch(np.asarray(right), order)
    return moved if moved.shape == np.shape(left) else np.asarray(right)


def _between_arrays(match: Match, forced: Forced | None) -> tuple[Any, Any]:
    given = None if forced is None else forced.inputs.get(match.tf[0].path)
    if given is None:
        return None, None
    call = replace(match.tf[0], inputs=given)
    worst: tuple[Any, Any] = (None, None)
    for value in values.inputs(match.torch[0], call):
        moved = _moved(value.torch, value.tf, value.order(match.input_order))
        if worst[0] is None or np.shape(moved) != np.shape(value.torch):
            worst = value.torch, moved
        elif not np.array_equal(moved, value.torch):
            return value.torch, moved
    return worst


def _all_inputs(match: Match, forced: Forced | None) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    given = None if forced is None else forced.inputs.get(match.tf[0].path)
    if given is None:
        return ()
    found = values.inputs(match.torch[0], replace(match.tf[0], inputs=given))
    return tuple(
        (np.asarray(v.torch), _moved(v.torch, v.tf, v.order(match.input_order)))
        for v in found
        if v.torch is not None and v.tf is not None
    )


def _between(pair: Pair, match: Match, forced: Forced | None) -> Difference | None:
    """The error that the code before a layer makes by itself."""
    given = None if forced is None else forced.inputs.get(match.tf[0].path)
    if given is None:
        return None
    call = replace(match.tf[0], inputs=given)
    worst: Difference | None = None
    for value in values.inputs(match.torch[0], call):
        order = value.order(match.input_order)
        if match.orders and np.ndim(value.tf) >= 3 and value.torch is not None:
            # a fault further up hid the order in the free run; here nothing differs yet
            order = axes.settle(value.torch, value.tf, match.orders, order)
        moved = _moved(value.torch, value.tf, order)
        d = _compare(match.path, value.torch, moved, pair.dtype)
        if worst is None or (worst.agrees and not d.agrees):
            worst = d
    return worst


def _behind(
    pair: Pair, matching: Matching, forced: Forced | None, before: Match | None
) -> list[Fault]:
    """Errors of the code behind the last layer."""
    if forced is None:
        return []
    from parity.trace import flatten

    left = [a for _, a in flatten(pair.records["torch"].output)]
    right = [np.asarray(a) for _, a in flatten(forced.output)]
    found: list[Fault] = []
    for a, b in zip(left, right, strict=False):
        moved = _moved(a, b, matching.output_order(a, b))
        d = _compare("output", a, moved, pair.dtype)
        if not d.agrees and not found:
            found.append(_fault(OUTPUT, "output", None, before, d, a, moved, pair.dtype))
    return found


def _propagated(report: Report, match: Match) -> float:
    found = [
        float("inf") if e.worst.structural else e.worst.max_abs
        for e in report.entries
        if e.name.startswith(f"forward/{match.path}/output")
    ]
    return max(found, default=0.0)


def gradient_place(report: Report, matching: Matching) -> str | None:
    """The layer at which the gradients part first, going backwards; None if they do not."""
    for entry in report.failing:
        if entry.name.startswith(("grad", "state")):
            return entry.name
    return None


def table(places: Places, faults: Sequence[Fault]) -> list[Mapping[str, Any]]:
    """The rows as plain data for the report."""
    at = {id(f.match): f for f in faults if f.kind == LAYER and f.match is not None}
    before = {id(f.match): f for f in faults if f.kind == BETWEEN and f.match is not None}
    rows: list[Mapping[str, Any]] = []
    for row in places.rows:
        fault = at.get(id(row.match)) or before.get(id(row.match))
        verdict = "agree"
        if fault is not None:
            verdict = (
                "float32" if fault.float32 else ("differs" if id(row.match) in at else "input")
            )
        rows.append(
            {
                "torch": row.match.path,
                "tf": row.match.tf_path,
                "kind": row.match.kind,
                "propagated": row.propagated,
                "local": row.local,
                "between": row.between,
                "verdict": verdict,
                "order": row.match.order,
                **({"where": row.match.where} if row.match.where else {}),
            }
        )
    return rows


__all__ = ["SIDES", "Fault", "Places", "Row", "gradient_place", "localise", "table"]
