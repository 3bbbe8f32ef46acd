"""Hypotheses about when things happen: a value read before or after its update, and a hand-written
optimizer that follows torch's rule but for one of its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import combinations, permutations
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose import known_numbers, optimizers
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Direct, Hypothesis
from parity.diagnose.simulate import Rule, simulate
from parity.tolerance import explained_bound

_MOST_RUNS = 12
"""Pairs of runs of variables that are tried for one another."""


def updates(bench: Bench) -> Iterator[Hypothesis]:
    """An operand that is one update older or newer than torch's."""
    yield from variables(bench)
    made = {id(o): (c.site, c.occurrence) for c in bench.calls for o in c.outputs
            if not c.backward}  # fmt: skip
    sequences: dict[Site, dict[int, Any]] = {}
    for call in bench.calls:
        if not call.backward and call.outputs:
            sequences.setdefault(call.site, {})[call.occurrence] = call.outputs[0]
    by_site: dict[Site, list[Any]] = {}
    for call in bench.calls:
        if not call.backward:
            by_site.setdefault(call.site, []).append(call)
    for site, own in by_site.items():
        if len(own) < 2 or site.op in ("Identity", "ReadVariableOp"):
            continue
        for index in range(min(len(own[1].inputs), 3)):
            source = made.get(id(own[1].inputs[index]))
            if source is None or len(sequences[source[0]]) < len(own) - 1:
                continue
            offset = source[1] - own[1].occurrence
            for step, what in ((1, "after"), (-1, "before")):
                held = sequences[source[0]]
                facts = {"when": what, "source": source[0].source}
                change = _operand(site, index, held, offset + step)
                yield Hypothesis("update-order", change, facts, site, 1.2, bound=True)


def later_values(bench: Bench) -> Iterator[Hypothesis]:
    """An operand as it is after the update that the code makes of it further down."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    forward = [c for c in bench.calls if not c.backward]
    updated = any(c.op.startswith(("Assign", "Resource")) for c in forward)
    returned = [a for name, a in bench.tf.items() if not name.startswith("grad/")]
    for place, call in enumerate(forward):
        for index, operand in enumerate(call.inputs[:3]):
            shape = getattr(operand, "shape", None)
            if shape is None or call.op in ("Identity", "ReadVariableOp"):
                continue
            for later in forward[place + 1 : place + 80]:
                if later.output is None or not any(x is operand for x in later.inputs):
                    continue
                if getattr(later.output, "shape", None) != shape or later.op == "Identity":
                    continue

                def value(c: Any, s: Site = later.site, n: int = later.occurrence) -> Any:
                    return tf.convert_to_tensor(c.session.first[s, n])

                change = edits.at(call.site, edits.operand(index, value))
                facts: dict[str, Any] = {"when": "after", "source": later.site.source}
                cause = "update-order"
                if not updated and not _is_one_of(later.output, returned):
                    # nothing has a before and after: it is another value
                    cause, facts = "other-operand", {"wanted": f"`{later.site.source}`"}
                yield Hypothesis(cause, Change((change,), rehearsed=True), facts, call.site, 1.1)


def _is_one_of(value: Any, arrays: Sequence[np.ndarray]) -> bool:
    """Whether code without variables returns this value: it is the new one of something."""
    from parity.backends import tf_edits as edits

    array = edits.array(value)
    return array is not None and any(
        a.shape == array.shape and np.array_equal(a, array, equal_nan=a.dtype.kind == "f")
        for a in arrays
    )


def _operand(site: Site, index: int, held: Mapping[int, Any], offset: int) -> Change:
    from parity.backends import tf_edits as edits

    def value(call: Any) -> Any:
        return held.get(call.occurrence + offset, call.inputs[index])

    return Change((edits.at(site, edits.operand(index, value)),))


def variables(bench: Bench) -> Iterator[Hypothesis]:
    """Reads of a variable that give what is assigned to it next."""
    from parity.backends import tf_edits as edits

    history: list[tuple[str, int, Any]] = []  # (what, handle, call or new value)
    for call in bench.calls:
        if call.backward or not call.inputs:
            continue
        if call.op == "ReadVariableOp":
            history.append(("read", id(call.inputs[0]), call))
        elif call.op.startswith("Assign") and len(call.inputs) > 1:
            history.append(("write", id(call.inputs[0]), call))
    following: dict[Site, dict[int, Any]] = {}
    for place, (what, handle, call) in enumerate(history):
        if what != "read":
            continue
        later = next((c for w, h, c in history[place:] if w == "write" and h == handle), None)
        new = None if later is None else _assigned(later, call)
        if new is not None:
            following.setdefault(call.site, {})[call.occurrence] = new
    for site, new_values in following.items():

        def value(call: Any, new: Mapping[int, Any] = new_values) -> Any:
            return new.get(call.occurrence, call.run())

        facts = {"when": "after", "source": site.source}
        change = Change((edits.at(site, value),))
        yield Hypothesis("update-order", change, facts, site, 1.1, bound=True)


def left_behind(bench: Bench) -> Iterator[Hypothesis]:
    """Variables that keep their first values, where torch copied those of others into them: they
    were made after the copy, at the first call of their layer."""
    from parity.backends import tf_edits as edits

    written: dict[int, int] = {}
    reads: dict[int, list[Any]] = {}
    for call in bench.calls:
        if call.backward or not call.inputs:
            continue
        if call.op.startswith("Assign"):
            written[id(call.inputs[0])] = written.get(id(call.inputs[0]), 0) + 1
        elif call.op == "ReadVariableOp":
            reads.setdefault(id(call.inputs[0]), []).append(call)
    last = {handle: edits.array(calls[-1].output) for handle, calls in reads.items()}
    held = {handle: array for handle, array in last.items() if array is not None}
    order = [handle for handle in written if handle in held]
    for own, others in _alike(order, held):
        if any(written[handle] > 1 for handle in own):
            continue
        changes = []
        for mine, other in zip(own, others, strict=True):
            for call in reads[mine]:
                changes.append(_read_as(call, held[other]))
        site = reads[own[0]][-1].site
        facts = {"read": site.source}
        yield Hypothesis("state-not-updated", Change(tuple(changes)), facts, site, 0.9, bound=True)


def _alike(order: Sequence[int], held: Mapping[int, Any]) -> Iterator[tuple[Any, Any]]:
    """Two runs of variables of the same shapes and other values, the longest first."""
    tried = 0
    for length in range(len(order) // 2, 0, -1):
        runs = [order[i : i + length] for i in range(len(order) - length + 1)]
        for own, others in permutations(runs, 2):
            if set(own) & set(others):
                continue
            pairs = [(held[a], held[b]) for a, b in zip(own, others, strict=True)]
            if any(a.shape != b.shape or a.dtype != b.dtype for a, b in pairs):
                continue
            if all(np.array_equal(a, b) for a, b in pairs):
                continue
            yield own, others
            tried += 1
            if tried >= _MOST_RUNS:
                return


def _read_as(read: Any, array: np.ndarray) -> Any:
    from parity.backends import tf_edits as edits

    return edits.at(
        read.site, lambda call: edits.tensor(array), lambda turn: turn == read.occurrence
    )


def _assigned(write: Any, read: Any) -> Any:
    """The value that a variable has after an assignment, from its value before."""
    held = read.output
    if write.op == "AssignVariableOp":
        return write.inputs[1]
    try:
        return held + write.inputs[1] if "Add" in write.op else held - write.inputs[1]
    except Exception:
        return None


def handwritten(bench: Bench) -> list[Direct]:
    """The tf side's parameters follow torch's optimizer with one or two settings changed."""
    if not bench.torch_steps or optimizers.trainings(bench.keras_steps, "tf"):
        return []
    found = []
    for training in optimizers.trainings(bench.torch_steps, "torch"):
        entries = _entries(bench, training)
        if not entries:
            continue
        wanted = {place: bench.tf[name] for place, name in entries.items() if name in bench.tf}
        constants = known_numbers.tf_constants(bench)
        numbers = [float(c.value) for c in constants if not isinstance(c.value, bool)]
        changed = variant(training, wanted, numbers, bench.bound_dtype)
        if changed is not None:
            settings, error = changed
            for name, (old, new) in settings.items():
                facts = {"setting": name, "torch": old, "tf": new,
                         "torch_kind": training.kind,
                         "tf_kind": "the hand-written update"}  # fmt: skip
                found.append(Direct(optimizers.CAUSES[name], facts, error, 0.4))
    return found


def _entries(bench: Bench, training: Any) -> dict[tuple[int, int], str]:
    """Which entries are parameters after a step: (step, parameter) -> entry."""
    found: dict[Any, Any] = {}
    for step, arrays in enumerate(training.after):
        for number, array in enumerate(arrays):
            for name in bench.torch:
                held = bench.torch[name]
                if (
                    name not in found.values()
                    and held.shape == array.shape
                    and np.array_equal(held.astype(np.float64), array.astype(np.float64))
                ):
                    found[(step, number)] = name
                    break
    return found


def variant(
    training: Any,
    wanted: Mapping[tuple[int, int], np.ndarray],
    numbers: Sequence[float],
    dtype: str,
) -> tuple[dict[str, tuple[Any, Any]], float] | None:
    """One or two settings of torch's optimizer that, changed, give the other side's parameters.

    Args:
        wanted: (step, parameter) -> the other side's values.
        numbers: of the other side's code or settings, as candidates.

    Returns:
        setting -> (torch's value, the changed one), and the error that is left.
    """
    options = list(_options(training.rules[0][0], numbers))
    for size in (1, 2):
        for chosen in combinations(options, size):
            names = [name for name, _ in chosen]
            if len(set(names)) < len(names):
                continue
            rules = [[replace(rule, **dict(chosen)) for rule in row] for row in training.rules]
            try:
                with np.errstate(all="ignore"):
                    made = simulate(rules, training.start, training.gradients)
            except ZeroDivisionError:  # a decay rate of one
                continue
            error = _error(made, wanted, dtype)
            if error is not None:
                first = training.rules[0][0]
                return {n: (getattr(first, n), v) for n, v in chosen}, error
    return None


def _options(rule: Rule, numbers: Sequence[float]) -> Iterator[tuple[str, Any]]:
    """One setting changed: switches turned, forms exchanged, numbers of the other side's code."""
    numbers = list(dict.fromkeys([*numbers, *(1 - n for n in numbers if 0 < n < 1), 0.0]))[:20]
    switches: dict[str, Sequence[Any]] = {
        "bias_correction": (False,) if rule.kind == "adam" else (),
        "epsilon_form": [
            f
            for f in ("corrected", "raw", "inside", "outside")
            if f != rule.epsilon_form and rule.epsilon
        ],
        "momentum_form": ("stored",) if rule.momentum else (),
        "nesterov": (not rule.nesterov,) if rule.momentum else (),
        "amsgrad": (not rule.amsgrad,) if rule.kind == "adam" else (),
        "centered": (not rule.centered,) if rule.kind == "rmsprop" else (),
        "decay_form": ("decoupled" if rule.decay_form == "coupled" else "coupled",),
        "maximize": (True,),
        "kind": [k for k in ("sgd", "adam", "rmsprop", "adagrad") if k != rule.kind],
    }
    for name, settings in switches.items():
        yield from ((name, value) for value in settings)
    for spec in fields(Rule):
        if spec.name in ("learning_rate", "epsilon", "beta1", "beta2", "momentum", "dampening",
                         "rho", "weight_decay", "start"):  # fmt: skip
            old = getattr(rule, spec.name)
            yield from ((spec.name, n) for n in [*numbers, old / 2, old * 2] if n != old)


def _error(
    made: list[list[np.ndarray]], wanted: Mapping[tuple[int, int], np.ndarray], dtype: str
) -> float | None:
    worst = 0.0
    for (step, number), array in wanted.items():
        have = made[step][number]
        if have.shape != array.shape or not np.isfinite(have).all():
            return None
        gap = float(np.max(np.abs(have - array)))
        if gap > explained_bound(dtype, float(np.max(np.abs(array)))):
            return None
        worst = max(worst, gap)
    return worst
