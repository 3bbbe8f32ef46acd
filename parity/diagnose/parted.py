"""Where the two computations part, read from both recordings: the value that torch has in the place
of tf's, and what torch does there that the tf side does not.

That the value removes the difference proves the place. What it is called follows from the
operation that made it and from what went in: torch's value is tf's plus a term, tf's behind a
function, another function of the same operands.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from parity.debug.intermediates import Value, settled
from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.suspects import calls, floating, suspects_first
from parity.diagnose.terms import runs_for
from parity.tolerance import explained_bound

Reading = tuple[str, dict[str, Any]]
_SILENT = ("Fill", "ReadVariableOp", "Cast", "Shape", "Identity")
_MOST = 60
_DEPTH = 4
_MOST_IN_GROUP = 4
_ADDING, _TAKING = ("add", "add_"), ("sub", "sub_", "rsub")
_TIMES, _OVER = ("mul", "mul_"), ("div", "div_")
_CLIPS = ("clamp", "clamp_", "clamp_min", "clamp_max", "hardtanh", "minimum", "maximum")
_MASKS = ("where", "masked_fill", "masked_fill_")
_THROUGH = frozenset(
    "view reshape _unsafe_view expand unsqueeze squeeze t transpose permute clone _to_copy alias "
    "slice select contiguous lift_fresh".split()
)
_PROBABILITIES = ("_softmax", "_log_softmax", "sigmoid", "log_sigmoid_forward")
_UNARY = frozenset(
    "exp log log1p expm1 tanh relu relu_ softplus square pow sqrt rsqrt abs sign sgn reciprocal "
    "floor ceil round trunc sin cos erf elu gelu silu mish cumsum cumprod logcumsumexp flip roll "
    "sort tril triu leaky_relu hardsigmoid hardswish".split()
)
#: Operations of the two frameworks that do the same.
_SAME = {
    "AddV2": _ADDING, "Sub": _TAKING, "Mul": _TIMES, "RealDiv": _OVER,
    "MatMul": ("mm", "addmm", "bmm", "matmul"), "BatchMatMulV2": ("bmm", "mm", "matmul"),
    "Mean": ("mean",), "Sum": ("sum",), "Max": ("max", "amax"), "Min": ("min", "amin"),
    "Maximum": ("maximum", "clamp_min", "clamp"), "Minimum": ("minimum", "clamp_max", "clamp"),
    "SelectV2": _MASKS, "Softmax": ("_softmax",), "LogSoftmax": ("_log_softmax",),
    "Pow": ("pow",), "Square": ("pow", "square", "mul"), "ConcatV2": ("cat",), "Pack": ("stack",),
    "GatherV2": ("gather", "index_select", "index", "embedding"), "Exp": ("exp",), "Log": ("log",),
    "StridedSlice": ("slice", "select", "index"), "Cumsum": ("cumsum",), "Abs": ("abs",),
    "SquaredDifference": ("mse_loss",), "ReverseV2": ("flip",), "Roll": ("roll",),
}  # fmt: skip


def named(bench: Bench) -> Iterator[Hypothesis]:
    """Something that torch does to a value which the tf side has too, and leaves as it is."""
    tries = 0
    for site, node, reading in _continued(bench):
        for run in _results(bench, node, bench.sites[site]):
            tries += 1
            if tries > _MOST:
                return
            yield _in_place(site, run, *reading, 1.3)


def _continued(bench: Bench) -> Iterator[tuple[Site, Value, Reading]]:
    """Values of torch's own that are made from one of tf's: ``(place of that, value, reading)``."""
    sites = _sites_of(bench)
    for node in bench.theirs:
        if node.partner is not None or node.backward or not node.makers:
            continue
        for index, maker in enumerate(node.makers):
            source = _plain(bench, maker)
            if source is None or source.partner is None or source.op == "input":
                continue
            rest = [bench.theirs[m] for i, m in enumerate(node.makers) if i != index and m >= 0]
            reading = _done(node, rest)
            for site in sites.get(bench.ours[source.partner].partner, ()) if reading else ():
                assert reading is not None
                yield site, node, reading


def _plain(bench: Bench, index: int) -> Value | None:
    """The value behind views and reshapes."""
    for _ in range(_DEPTH):
        if index < 0:
            return None
        value = bench.theirs[index]
        if value.partner is not None or value.op not in _THROUGH or len(value.makers) != 1:
            return value
        index = value.makers[0]
    return None


def _sites_of(bench: Bench) -> dict[int | None, list[Site]]:
    """Places of the tf side by the value of torch's that theirs equals."""
    found: dict[int | None, list[Site]] = {}
    for site, values in bench.sites.items():
        if site.op not in _SILENT and values[0].array.dtype.kind == "f" and calls(bench, site):
            found.setdefault(values[0].partner, []).append(site)
    found.pop(None, None)
    return found


def _results(bench: Bench, node: Value, held: list[Value]) -> Iterator[list[Value]]:
    """What a node made, for each turn of a loop, and what a factor or sign makes of that."""
    for _ in range(_DEPTH):
        run = [v for v in bench.theirs if v.site == node.site and not v.backward]
        run = [v for v in run if v.array.size == held[0].array.size]
        if len(run) != len(held):
            run = [node] if len(held) == 1 and node.array.size == held[0].array.size else []
        if run:
            yield run
        index = next(i for i, v in enumerate(bench.theirs) if v is node)
        users = [v for v in bench.theirs if index in v.makers and not v.backward]
        if len(users) != 1 or users[0].partner is not None or len(users[0].makers) != 1:
            return
        if users[0].op not in (*_TIMES, *_OVER, "neg", *_THROUGH):
            return
        node = users[0]


def others(bench: Bench) -> Iterator[Hypothesis]:
    """The same, where torch does another operation there, or the same with another operand."""
    for site, run in _pairs(bench):
        reading = _exchange(bench, bench.sites[site][0], run[0])
        if reading is not None:
            yield _in_place(site, run, *reading, 1.45)


def together(bench: Bench) -> Iterator[Hypothesis]:
    """One thing that torch does at several places of a kind, and the tf side at none of them."""
    groups: dict[tuple[str, str], list[tuple[Site, Value, Reading]]] = {}
    for site, node, reading in _continued(bench):
        group = groups.setdefault((site.op, reading[0]), [])
        if all(site != s and node is not n for s, n, _ in group):
            group.append((site, node, reading))
    for group in groups.values():
        if not 2 <= len(group) <= _MOST_IN_GROUP:
            continue
        edits: list[Any] = []
        for site, node, reading in group:
            run = next(_results(bench, node, bench.sites[site]), None)
            if run is not None:
                edits += _in_place(site, run, *reading, 0).change.edits
        if len(edits) == len(group):
            site, node, (cause, facts) = group[0]
            facts = {"torch_line": f"{node.place}: {node.source}", **facts}
            yield Hypothesis(cause, Change(tuple(edits)), facts, site, 1.35, bound=True)


def _pairs(bench: Bench) -> Iterator[tuple[Site, list[Value]]]:
    """Places of the tf side with values of torch's that could stand there; the frontier first."""
    found: list[tuple[int, int, int, Site, list[Value]]] = []
    frontier = {id(v) for v in bench.theirs if _parts(bench.theirs, v)}
    for rank, site in enumerate(suspects_first(bench)):
        if not floating(bench, site) or site.op in _SILENT or not calls(bench, site):
            continue
        if all(v.partner is not None for v in bench.sites[site]):
            continue
        first = _parts(bench.ours, bench.sites[site][0])
        for run in runs_for(bench, bench.sites[site]):
            key = (not first) + (id(run[0]) not in frontier)
            found.append((key, rank, len(found), site, run))
    found.sort(key=lambda f: f[:3])
    yield from ((site, run) for *_, site, run in islice(found, _MOST))


def _parts(values: list[Value], value: Value) -> bool:
    """Whether a value has no counterpart although all that it was made from has."""
    return (value.partner is None and not value.backward and value.op != "input"
            and all(settled(values, m) for m in value.makers))  # fmt: skip


def _in_place(
    site: Site, run: list[Value], cause: str, facts: dict[str, Any], rank: float
) -> Hypothesis:
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    def change(call: Any) -> Any:
        value = call.run()
        array = run[min(call.occurrence, len(run) - 1)].array
        return tf.cast(tf.reshape(tf.constant(array), tf.shape(value)), value.dtype)

    facts = {"torch_line": f"{run[0].place}: {run[0].source}", **facts}
    return Hypothesis(cause, Change((edits.at(site, change),)), facts, site, rank, bound=True)


def _done(node: Value, rest: list[Value]) -> Reading | None:
    """The name of an operation on tf's value and, where there is one, another of torch's."""
    op, numbers = node.op, getattr(node.call, "numbers", [])
    other = rest[-1] if rest else None
    said = _text(other) if other is not None else f"{numbers[-1]:.6g}" if numbers else ""
    if op in _ADDING or op in _TAKING:
        return ("missing-term", {"term": said, "sign": "+" if op in _ADDING else "-"})
    if op in _TIMES or op in _OVER:
        if other is not None and other.array.size > 1 and set(np.unique(other.array)) <= {0, 1}:
            return "mask-missing", {"mask": f"`{said}`", "form": "mask"}
        said = said if op in _TIMES else f"1 / ({said})"
        # a number is solved for elsewhere, and read with its meaning
        return ("missing-factor", {"factor_of": said}) if other is not None else None
    if op in _CLIPS and other is not None and other.array.size > 1:
        return "missing-operation", {"operation": node.source or op}
    if op in _CLIPS:
        return "clip-missing", {"operation": node.source or op}
    if op in _MASKS:
        return "mask-missing", {"mask": "a mask", "form": "mask", "other": f"`{node.source}`"}
    if op == "neg":
        return "sign", {}
    if op in _PROBABILITIES:
        return "logits-probabilities", {"operation": op.strip("_").removesuffix("_forward")}
    if op in _UNARY:
        return "missing-operation", {"operation": op.rstrip("_")}
    return None


def _exchange(bench: Bench, ours: Value, theirs: Value) -> Reading | None:
    """Torch's operation in the place of tf's, on operands of which some are the same."""
    from parity.backends import tf_edits as edits

    node = theirs
    while node.op in _THROUGH and len([m for m in node.makers if m >= 0]) == 1:
        node = bench.theirs[max(node.makers)]
    wanted = [bench.theirs[m] for m in node.makers if m >= 0]
    wanted = [o for o in wanted if o.array.size]
    arrays = [a for x in _flat(ours.call.inputs) if (a := edits.array(x)) is not None]
    held = [a for a in arrays if a.dtype.kind == "f"]
    shared = [o for o in wanted if any(_alike(bench, a, o.array) for a in held)]
    line = node.source or node.op
    if node.op in _SAME.get(ours.op, ()):
        strange = [o for o in wanted if not any(o is s for s in shared)]
        if shared and strange:
            return "other-operand", {"wanted": f"`{_text(strange[0])}`", "torch_op": line}
        return None
    if wanted and len(shared) == len(wanted):
        cause = "other-function" if len(shared) == 1 else "other-operation"
        return cause, {"was": ours.op, "wanted": f"`{line}`"}
    return None


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def _text(value: Value) -> str:
    return value.source or value.op


def _alike(bench: Bench, a: np.ndarray, b: np.ndarray) -> bool:
    if a.size != b.size or a.size == 0 or b.dtype.kind not in "fiub":
        return False
    x, y = a.reshape(-1).astype(np.float64), b.reshape(-1).astype(np.float64)
    finite = np.abs(x[np.isfinite(x)])
    bound = explained_bound(bench.bound_dtype, float(finite.max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        return bool(np.all((np.abs(x - y) <= bound) | (x == y)))
