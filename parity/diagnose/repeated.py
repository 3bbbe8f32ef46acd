"""One mistake that was made at several operations, so that no single edit undoes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.known_numbers import solve
from parity.diagnose.mask_values import binary_values, masked
from parity.diagnose.missing_operations import missing
from parity.diagnose.numbers import same
from parity.diagnose.operation_settings import REDUCTIONS
from parity.diagnose.operations import OTHERS, run_as
from parity.diagnose.suspects import calls, floating, known, suspects_first
from parity.tolerance import SAME_NUMBER

_MOST_SITES = 7
_MOST_TERMS = 12
#: Constants of the normal density: 0.5 log(2 pi) and log(2 pi), per dimension.
_DENSITY = (0.5 * float(np.log(2 * np.pi)), 0.5 * (1 + float(np.log(2 * np.pi))))
_MOST_IN_GROUP = 6


def _groups(bench: Bench) -> dict[str, list[Site]]:
    """Sites of one kind of operation, where there are several."""
    found: dict[str, list[Site]] = {}
    for site in bench.sites:
        if calls(bench, site) and site.op not in ("Identity", "Fill", "ReadVariableOp"):
            found.setdefault(site.op, []).append(site)
    return {op: sites for op, sites in found.items() if 2 <= len(sites) <= _MOST_IN_GROUP}


def flags(bench: Bench) -> Iterator[Hypothesis]:
    """An input of zeros and ones, given for its opposite."""
    for name, given in bench.inputs["tf"].items():
        array = np.asarray(given)
        if array.size < 2 or set(np.unique(array).tolist()) != {0, 1}:
            continue

        def opposite(inputs: Any, name: str = name) -> Any:
            return {n: _opposite(a) if n == name else a for n, a in inputs.items()}

        facts = {"mask": name, "form": "inverse"}
        yield Hypothesis("mask-other", Change(inputs=(opposite,)), facts, None, 0.9)


def _opposite(array: Any) -> np.ndarray:
    held = np.asarray(array)
    return ~held if held.dtype == bool else (1 - held).astype(held.dtype)


def axes(bench: Bench) -> Iterator[Hypothesis]:
    """All reductions over one axis (a mean and a variance) moved to another."""
    from parity.backends import tf_edits as edits

    groups: dict[tuple[int, tuple[int, ...]], list[Site]] = {}
    for site in bench.sites:
        value = next(iter(calls(bench, site)), None)
        if value is None or site.op not in REDUCTIONS or len(value.call.inputs) < 2:
            continue
        given, over = edits.array(value.call.inputs[0]), np.asarray(value.call.inputs[1])
        if given is not None and over.dtype.kind in "iu" and given.ndim > 1:
            was = tuple(sorted(int(a) % given.ndim for a in over.reshape(-1)))
            groups.setdefault((given.ndim, was), []).append(site)
    for (rank, was), sites in groups.items():
        if not 2 <= len(sites) <= _MOST_IN_GROUP:
            continue
        for size in range(1, rank + 1):
            for wanted in combinations(range(rank), size):
                if wanted != was:
                    over = np.asarray(wanted, np.int32)
                    changes = tuple(edits.at(s, edits.operand(1, _given(over))) for s in sites)
                    facts = {"was": was, "wanted": wanted}
                    yield Hypothesis("reduction-axis", Change(changes), facts, sites[0], 0.95)


def _given(value: Any) -> Callable[[Any], Any]:
    return lambda call: value


def operations(bench: Bench) -> Iterator[Hypothesis]:
    """Every operation of a kind replaced by its relative: all means by sums."""
    from parity.backends import tf_edits as edits

    for op, sites in _groups(bench).items():
        for other, cause in OTHERS.get(op, ()):
            changes = tuple(edits.at(s, run_as(other)) for s in sites)
            facts = {"was": op, "wanted": other, "sites": len(sites)}
            yield Hypothesis(cause, Change(changes), facts, sites[0], 1.1)
        if op in ("Split", "SplitV", "Unpack"):
            yield from _parts(bench, sites)


def _parts(bench: Bench, sites: list[Site]) -> Iterator[Hypothesis]:
    """The parts of all splits in another order: the gates of a cell."""
    from parity.backends import tf_edits as edits

    counts = {len(calls(bench, s)[0].call.outputs) for s in sites}
    if len(counts) != 1 or not 2 <= (count := counts.pop()) <= 4:
        return
    for order in list(permutations(range(count)))[1:]:

        def change(call: Any, order: tuple[int, ...] = order) -> Any:
            parts = call.run()
            return [parts[i] for i in order]

        facts = {"was": tuple(range(count)), "wanted": order}
        changes = tuple(edits.at(s, change) for s in sites)
        yield Hypothesis("split-order", Change(changes), facts, sites[0], 0.8)


def wraps(bench: Bench) -> Iterator[Hypothesis]:
    """A function that torch applies behind every operation of a kind."""
    from parity.backends import tf_edits as edits

    for op, sites in _groups(bench).items():
        if not all(floating(bench, s) for s in sites):
            continue
        for name, function in edits.UNARY.items():
            for chosen in (sites, *(combinations(sites, 2) if len(sites) > 2 else ())):
                if all(known(bench, function, bench.sites[s][0].array) for s in chosen):
                    changes = tuple(edits.at(s, edits.after(function)) for s in chosen)
                    facts = {"operation": name, "was": op}
                    yield Hypothesis(missing(name), Change(changes), facts, chosen[0], 1.3)


def masks(bench: Bench) -> Iterator[Hypothesis]:
    """Two values that torch multiplies by one mask: what follows, and the trace of it."""
    from parity.backends import tf_edits as edits

    factors = [s for s in suspects_first(bench) if s.op == "Mul" and floating(bench, s)]
    pairs = list(combinations(factors[:_MOST_SITES], 2))
    for label, shape, source in binary_values(bench):
        if label not in bench.inputs["tf"] and "[t]" not in label:
            continue
        for pair in pairs:
            held = [calls(bench, s)[0].array.shape for s in pair if calls(bench, s)]
            if len(held) < 2 or any(len(shape) > len(h) for h in held):
                continue
            for name, function in (("inverse", lambda m: 1 - m), ("mask", lambda m: m)):
                changes = tuple(edits.at(s, masked(source, function)) for s in pair)
                facts = {"mask": label, "form": name, "second": pair[1].source}
                yield Hypothesis("mask-missing", Change(changes), facts, pair[0], 1.25)


def indices(bench: Bench) -> Iterator[Hypothesis]:
    """One element early or late: v[t] for v[t + 1]."""
    from parity.backends import tf_edits as edits

    for site in suspects_first(bench):
        value = next(iter(calls(bench, site)), None)
        if value is None or site.op != "StridedSlice" or not floating(bench, site):
            continue
        given = edits.array(value.call.inputs[0])
        if given is None or given.shape[1:] != value.array.shape or len(given) < 2:
            continue
        for step in (1, -1):
            facts = {"form": f"1 step {'later' if step > 0 else 'earlier'}", "axis": 0}
            change = Change((edits.at(site, _moved(step)),))
            yield Hypothesis("off-by-one", change, facts, site, 1.0)


def _moved(step: int) -> Callable[[Any], Any]:
    from parity.backends import tf_edits as edits

    def change(call: Any) -> Any:
        rows = edits.tensor(call.inputs[0])
        start = int(np.asarray(call.inputs[1]).reshape(-1)[0]) % len(rows)
        return rows[min(max(start + step, 0), len(rows) - 1)]

    return change


def complements(bench: Bench) -> Iterator[Hypothesis]:
    """A gate or share taken for what is left of one: z for 1 - z."""
    from parity.backends import tf_edits as edits

    for site in suspects_first(bench):
        if not floating(bench, site) or site.op in ("Fill", "ReadVariableOp", "Identity"):
            continue
        arrays = [v.array for v in bench.sites[site]]
        if any(a.size < 2 or a.min() < 0.0 or a.max() > 1.0 for a in arrays):
            continue
        change = Change((edits.at(site, edits.after(lambda x: 1 - x)),))
        facts = {"taken": site.source}
        yield Hypothesis("complement", change, facts, site, 1.0)


def constant_terms(bench: Bench) -> Iterator[Hypothesis]:
    """A number that torch adds: the 1 of (norm - 1)^2, a constant of a density."""
    from parity.diagnose.known_numbers import close, torch_numbers

    numbers = [v for _, v in torch_numbers(bench) if v != 0.0]
    readable = [1.0, 0.5, 2.0, *numbers, *_DENSITY, *(n * d for n in range(1, 9) for d in _DENSITY)]
    for site in suspects_first(bench)[:_MOST_TERMS]:
        if not floating(bench, site) or site.op in ("Fill", "ReadVariableOp", "Identity"):
            continue

        def change(number: float, site: Site = site) -> Change:
            return Change((_added(site, number),))

        found = solve(bench, change, 0.0)
        if found is None or abs(found) < SAME_NUMBER:
            continue
        if any(same(abs(found), abs(n), close(bench)) for n in readable):
            facts = {"form": "plus", "other": f"{found:.8g}", "coefficient": 1.0,
                     "torch_line": _torch_line(bench)}  # fmt: skip
            yield Hypothesis("missing-term", change(found), facts, site, 1.2)


def _torch_line(bench: Bench) -> str:
    theirs = bench.torch_suspect
    return f"{theirs.place}: {theirs.source}" if theirs is not None else "the line is not known"


def _added(site: Site, number: float) -> Any:
    from parity.backends import tf_edits as edits

    return edits.at(site, edits.after(lambda x: x + edits.constant_like(number, x)))


def straight_through(bench: Bench) -> Iterator[Hypothesis]:
    """A step without gradient that torch passes the gradient of an earlier value through."""
    from parity.backends import tf_edits as edits

    order = list(bench.sites)
    for site in order:
        if site.op not in ("OneHot", "Round", "Rint", "Floor", "Sign", "Cast", "SelectV2"):
            continue
        held = bench.sites[site][0].array
        if held.dtype.kind != "f":
            continue
        for source in reversed(order[: order.index(site)]):
            earlier = bench.sites[source][0].array
            if earlier.shape != held.shape or earlier.dtype != held.dtype:
                continue
            facts = {"operation": site.op}
            through = Change((edits.at(site, _through(source)),))
            yield Hypothesis("straight-through", through, facts, site, 0.8)


def _through(source: Site) -> Callable[[Any], Any]:
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    earlier = edits.latest(source)
    return lambda call: call.run() + earlier(call) - tf.stop_gradient(earlier(call))
