"""Relations between what the two sides returned: entries exchanged, repeated, or two conventions
applied to one value; and what one array is to the other where nothing better is found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np

from parity.diagnose.bench import Bench
from parity.diagnose.families import FAMILIES
from parity.diagnose.hypotheses import Change, Direct, Hypothesis
from parity.diagnose.known_numbers import close, tf_constants, torch_numbers
from parity.diagnose.numbers import factor_meaning
from parity.diagnose.operand_constants import scalar_operands
from parity.tolerance import SAME_ARRAY, explained_bound, float32_rounding_bound
from parity.trace import Trace

_MOST_SOURCES = 60
_INNER_SOURCES = 24
_MOST_CALLS = 500
_FEWEST_ROWS = 4


def entries(bench: Bench) -> Iterator[Hypothesis]:
    """Outputs that have changed places, or are one step late in a sequence."""
    first = bench.first
    if first is None:
        return
    for other in bench.torch:
        if other == first or not _same(bench, bench.torch[first], _get(bench.tf, other)):
            continue
        if _same(bench, bench.torch[other], _get(bench.tf, first)):
            change = Change(outputs=(_exchange(first, other),))
            facts = {"first": _short(first), "second": _short(other)}
            yield Hypothesis("entries-exchanged", change, facts, None, 0.4)
    yield from _late(bench)


def _exchange(a: str, b: str) -> Any:
    def swap(trace: Trace) -> Trace:
        names = {a: b, b: a}
        return Trace({n: trace[names.get(n, n)] for n in trace}, side=trace.side, meta=trace.meta)

    return swap


def _late(bench: Bench) -> Iterator[Hypothesis]:
    """Entries numbered by step: those of tf are torch's of another step."""
    numbered: dict[str, dict[int, str]] = {}
    for name in bench.torch:
        match = re.match(r"^(.*?)(\d+)$", name)
        if match:
            numbered.setdefault(match[1], {})[int(match[2])] = name
    for stem, steps in numbered.items():
        for shift in (1, -1):
            pairs = [(n, steps[k + shift]) for k, n in steps.items() if k + shift in steps]
            if len(pairs) >= 2 and all(
                _same(bench, bench.torch[late], _get(bench.tf, name)) for name, late in pairs
            ):
                facts = {"entries": _short(stem), "shift": shift}
                change = Change(outputs=(_keep_agreeing(bench, stem),))
                yield Hypothesis("update-order", change, facts, None, 0.5)


def _keep_agreeing(bench: Bench, stem: str) -> Any:
    """The shifted entries are what was compared above; the others are compared as they are."""

    def alter(trace: Trace) -> Trace:
        values = {n: bench.torch[n] if n.startswith(stem) and n in bench.torch else trace[n]
                  for n in trace}  # fmt: skip
        return Trace(values, side=trace.side, meta=trace.meta)

    return alter


def conventions(bench: Bench, *, weak: bool = False) -> Iterator[Direct]:
    """Two members of one family applied to one value; of the families that say little only on
    request."""
    name = bench.first
    if name is None or name not in bench.tf:
        return
    facts = _facts(bench)
    targets = [t for t in _targets(bench, name, weak) if t[1].shape == t[2].shape and t[1].size > 1]
    targets = [t for t in targets if np.ptp(t[2]) > 0 or weak is False and np.ptp(t[1]) > 0]
    for number, (label, source) in enumerate(_sources(bench)):
        if bench.expired or (weak and number >= _INNER_SOURCES):
            return
        near = targets if number < _INNER_SOURCES else targets[:1]
        for family in FAMILIES:
            if (family.cause in _WEAK) == weak:
                yield from _explained(bench, family, label, source, near, facts)


def _targets(
    bench: Bench, name: str, weak: bool
) -> Iterator[tuple[str, np.ndarray, np.ndarray, str]]:
    """The entry that differs, and the first intermediates without a counterpart on each side."""
    yield _short(name), bench.torch[name], bench.tf[name], ""
    if weak:
        return
    theirs = [v for v in bench.theirs if v.partner is None and _plain(v)][:5]
    ours = [v for v in bench.ours if v.partner is None and _plain(v)][:5]
    for a in theirs:
        for b in ours:
            if a.array.shape == b.array.shape:
                yield a.source or a.op, a.array, b.array, b.place
            elif b.array.size == 1:  # one number for all
                whole = np.full(a.array.shape, b.array.reshape(-1)[0])
                yield a.source or a.op, a.array, whole, b.place


def _plain(value: Any) -> bool:
    return (value.op not in ("input", "Cast", "ReadVariableOp", "detach") and not value.backward
            and value.array.dtype.kind == "f" and 0 < value.array.size <= 4096)  # fmt: skip


def _explained(
    bench: Bench,
    family: Any,
    label: str,
    source: np.ndarray,
    targets: list[tuple[str, np.ndarray, np.ndarray, str]],
    facts: dict[str, Any],
) -> Iterator[Direct]:
    """Targets that the two sides make from this source by two members of the family."""
    made = list(_made(family, source, facts))
    for name, wanted, held, place in targets:
        if np.ptp(held) == 0 and family.cause != "total-return":
            continue  # anything makes a constant
        left = [(t, v) for t, v in made if _same(bench, wanted, v)]
        right = [(t, v) for t, v in made if _same(bench, held, v)] if left else []
        pairs = [(a, b) for a in left for b in right if a[0] != b[0]]
        pairs = [p for p in pairs[:4] if _goes_on(bench, name, family, p, facts)]
        if not pairs:
            continue
        (torch, value), (tf, _) = pairs[0]
        yield Direct(
            _pair_cause(family.cause, torch, tf),
            {"source": label, "torch": torch, "tf": tf, "entry": name},
            float(np.max(np.abs(value - wanted))),
            # bounds that were put together from numbers of the code are tried last
            (0.8 if "[" in torch + tf and family.cause == "clipped-value" else 0.5)
            + 0.1 * FAMILIES.index(family) / len(FAMILIES),
            place,
        )


def _made(
    family: Any, source: np.ndarray, facts: dict[str, Any]
) -> Iterator[tuple[str, np.ndarray]]:
    """What every member of a family makes of an array."""
    with np.errstate(all="ignore"):
        for text, function in family.members(source, facts):
            try:
                yield text, np.asarray(function(source))
            except (ValueError, IndexError, TypeError, FloatingPointError):
                continue


def _goes_on(bench: Bench, name: str, family: Any, pair: Any, facts: dict[str, Any]) -> bool:
    """Where entries are numbered by step, the next one must have the same explanation."""
    match = re.match(r"^(.*?)(\d+)$", name)
    if match is None:
        return True
    following = f"output/{match[1]}{int(match[2]) + 1}"
    if following not in bench.before.failing or following not in bench.tf:
        return True
    for _, source in _sources(bench):
        made = list(_made(family, source, facts))
        if any(t == pair[0][0] and _same(bench, bench.torch[following], v) for t, v in made) and (
            any(t == pair[1][0] and _same(bench, bench.tf[following], v) for t, v in made)
        ):
            return True
    return False


def _pair_cause(cause: str, torch: str, tf: str) -> str:
    """The cause of two members of one family, where it is narrower than the family's."""
    if cause == "action-scale" and "divided by" in torch + tf:
        return "constant-factor"
    if cause == "clipped-value" and "[" in torch + tf:
        if "mapped to" in torch + tf:
            return "other-function"
        clipped = [text.startswith("clipped to") for text in (torch, tf)]
        return "constant" if all(clipped) else "clip-missing" if clipped[0] else "clip-extra"
    if cause == "total-return":
        if "forwards" in torch + tf:
            return "reversed-axis"
        if torch.split(" with")[0].split(",")[0] == tf.split(" with")[0].split(",")[0]:
            return "discount"
        if "next step" in torch + tf:
            return "off-by-one"
        if "flattened" in torch + tf:
            return "flattened-axes"
    return cause


_WEAK = ("other-function", "element-order", "percentile", "reduction-axis", "normalisation",
         "norm-kind")  # fmt: skip


def _facts(bench: Bench) -> dict[str, Any]:
    """Numbers that the families take: bounds of the inputs, discounts and epsilons of the code."""
    numbers = [v for _, v in torch_numbers(bench)]
    for constant in tf_constants(bench):
        if not isinstance(constant.value, bool):
            numbers.append(float(constant.value))
    numbers += [value for _, _, value in scalar_operands(bench)]
    numbers += list(_bounds(bench))
    inputs = [np.asarray(a, dtype=np.float64) for a in bench.inputs["tf"].values()]
    inputs += _constants(bench)
    bounds = [
        (low, high) for low in inputs for high in inputs
        if low is not high and low.shape == high.shape and low.size <= 64 and np.all(low < high)
    ]  # fmt: skip
    whole = [n for n in numbers if 0 < n <= 1000]
    return {
        "input_bounds": bounds,
        "ranges": _ranges(numbers),
        "bounds": bounds + [(-n, n) for n in dict.fromkeys(whole)][:8],
        "discounts": list(dict.fromkeys(n for n in numbers if 0.0 < n < 1.0))[:8],
        "epsilons": list(dict.fromkeys(n for n in numbers if 0.0 < n < 0.01))[:4],
    }


def _bounds(bench: Bench) -> Iterator[float]:
    """Bounds of the tf side's clips, which may be whole numbers."""
    from parity.backends import tf_edits as edits

    for site, values in bench.sites.items():
        call = values[0].call if site.op in ("Minimum", "Maximum") else None
        for operand in call.inputs if call is not None else ():
            array = edits.array(operand)
            if array is not None and array.ndim == 0 and np.isfinite(array):
                yield float(array)


def _ranges(numbers: list[float]) -> list[tuple[float, float]]:
    """Pairs of numbers of the code that may bound a value: a logarithm of a deviation."""
    few = list(dict.fromkeys(n for n in numbers if abs(n) <= 100 and float(n * 2).is_integer()))
    return [(low, high) for low in few[:8] for high in few[:8] if low < 0.0 < high][:12]


def _constants(bench: Bench) -> list[np.ndarray]:
    """Short arrays of the code: bounds, means, scales. No operation made them, and no input is."""
    from parity.backends import tf_edits as edits

    made = {id(output) for call in bench.calls for output in call.outputs}
    arrays = [v.array for v in bench.theirs if v.op == "lift_fresh"]
    for call in bench.calls[:_MOST_CALLS]:
        arrays += [a for x in call.inputs if id(x) not in made if (a := edits.array(x)) is not None]
    given = [np.asarray(a) for a in bench.inputs["tf"].values()]
    found: dict[bytes, np.ndarray] = {}
    for array in arrays:
        if array.ndim == 1 and array.dtype.kind == "f" and 1 < array.size <= 64:
            wide = array.astype(np.float64)
            if not any(g.shape == wide.shape and np.array_equal(g, wide) for g in given):
                found.setdefault(wide.tobytes(), wide)
    return list(found.values())[:6]


def _sources(bench: Bench) -> Iterator[tuple[str, np.ndarray]]:
    """Values that both sides have: inputs, entries that agree, paired intermediates."""
    for name, array in bench.inputs["tf"].items():
        if np.asarray(array).dtype.kind in "fiu" and np.size(array) > 1:
            whole = np.asarray(array, dtype=np.float64)
            yield f"the input {name}", whole
            for row in range(min(len(whole), 4)) if whole.ndim > 1 else ():
                yield f"the input {name}[{row}]", whole[row]
    yield from bench.known
    for name in bench.torch:
        if name in bench.tf and name not in bench.before.failing and bench.torch[name].size > 1:
            yield _short(name), bench.torch[name].astype(np.float64)
    found = 0
    for value in bench.ours:
        if value.partner is None or value.backward or value.op == "input" or value.array.size < 2:
            continue
        found += 1
        if found > _MOST_SOURCES:
            return
        yield value.source or value.op, value.array.astype(np.float64)


def counted(bench: Bench) -> Iterator[Direct]:
    """Integers that are counted from another number."""
    name = bench.first
    if name is None or name not in bench.tf:
        return
    a, b = bench.torch[name], bench.tf[name]
    if a.shape != b.shape or a.size < 2 or any(x.dtype.kind not in "iu" for x in (a, b)):
        return
    apart = np.unique(b.astype(np.int64) - a.astype(np.int64))
    if apart.size == 1:
        more = int(apart[0])
        facts = {"was": f"numbers that are {abs(more)} {'higher' if more > 0 else 'lower'}",
                 "wanted": f"{-more:+d}"}  # fmt: skip
        yield Direct("off-by-one", facts, 0.0, 0.4)


def missing(bench: Bench) -> Iterator[Direct]:
    """Torch's entry is tf's plus, minus or times a value that only torch computes."""
    name = bench.first
    if name is None or name not in bench.tf:
        return
    a, b = bench.torch[name].astype(np.float64), bench.tf[name].astype(np.float64)
    if a.shape != b.shape or a.size < 2:
        return
    for value in bench.theirs:
        other = value.array.astype(np.float64) if value.array.dtype.kind == "f" else None
        if value.partner is not None or value.backward or other is None or other.shape != a.shape:
            continue
        if not np.any(other) or value.op in ("input", "detach"):
            continue
        line = f"{value.place}: {value.source}"
        with np.errstate(all="ignore"):
            for sign, found in (("+", b + other), ("-", b - other)):
                if _same(bench, a, found):
                    facts = {"term": value.source, "sign": sign, "torch_line": line}
                    yield Direct("missing-term", facts, float(np.abs(found - a).max()), 1.5)
            if _same(bench, a, b * other) and not _same(bench, a, other):
                facts = {"factor_of": value.source, "torch_line": line}
                yield Direct("missing-factor", facts, float(np.abs(b * other - a).max()), 1.5)


_READINGS = (
    ("negative", "sign"),
    ("axes in the order", "axis-order"),
    ("reversed", "reversed-axis"),
    ("rolled", "off-by-one"),
    ("another order", "element-order"),
    ("rounds to float16", "half-precision"),
)


def generic(bench: Bench) -> Iterator[Direct]:
    """What the array of one side is to the other's, where no cause was found."""
    name = bench.first
    if name is None or name not in bench.tf:
        return
    a, b = bench.torch[name].astype(np.float64), bench.tf[name].astype(np.float64)
    if a.size != b.size or a.size < 2:
        return
    for form, value in _forms(a, b):
        if value.shape == a.shape and _same(bench, a, value):
            facts = {"entry": _short(name), "relation": form}
            cause = next((c for words, c in _READINGS if words in form), "relation")
            yield Direct(cause, facts, float(np.max(np.abs(a - value))), 3.0)
            return
    with np.errstate(all="ignore"):
        if a.shape == b.shape and np.any(b):
            factor = float(np.sum(a * b) / np.sum(b * b))
            if factor and _same(bench, a, factor * b):
                meaning = factor_meaning(factor, sizes=[*a.shape, a.size], close=close(bench))
                said = f"{meaning.text} times tf" if meaning else f"{factor:.8g} times tf"
                yield Direct("relation", {"entry": _short(name), "relation": said},
                             float(np.max(np.abs(a - factor * b))), 3.0)  # fmt: skip
            elif _same(bench, a, b + np.mean(a - b)):
                said = f"tf plus {np.mean(a - b):.8g}"
                yield Direct("relation", {"entry": _short(name), "relation": said}, 0.0, 3.0)
            elif (fitted := _by_component(bench, a, b)) is not None:
                facts = {"entry": _short(name), "relation": fitted[0]}
                yield Direct("relation", facts, fitted[1], 3.0)


def _by_component(bench: Bench, a: np.ndarray, b: np.ndarray) -> tuple[str, float] | None:
    """``a = factor * b + shift`` with numbers of their own for each component of the last axis."""
    if a.ndim < 2 or a.size // a.shape[-1] < _FEWEST_ROWS:
        return None
    x, y = b.reshape(-1, b.shape[-1]), a.reshape(-1, a.shape[-1])
    centred = x - x.mean(0)
    size = (centred**2).sum(0)
    if not np.all(size > 0):
        return None
    factor = (centred * (y - y.mean(0))).sum(0) / size
    shift = y.mean(0) - factor * x.mean(0)
    if not _same(bench, y, factor * x + shift):
        return None
    numbers = [f"{f:.5g} * tf {s:+.5g}" for f, s in zip(factor[:4], shift[:4], strict=True)]
    return "in its components " + ", ".join(numbers), float(np.abs(factor * x + shift - y).max())


def _forms(a: np.ndarray, b: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield "tf in another shape", b.reshape(a.shape)
    yield "the negative of tf", -b.reshape(a.shape)
    for order in permutations(range(b.ndim)) if b.ndim <= 4 else ():
        if order != tuple(range(b.ndim)):
            yield f"tf with its axes in the order {order}", np.transpose(b, order)
    for axis in range(b.ndim):
        yield f"tf reversed along axis {axis}", np.flip(b, axis)
        for step in range(1, min(b.shape[axis], 4)):
            yield f"tf rolled by {step} along axis {axis}", np.roll(b, step, axis)
            yield f"tf rolled by -{step} along axis {axis}", np.roll(b, -step, axis)
    for dtype in ("float16", "float32"):
        if np.array_equal(a.astype(dtype).astype(np.float64), b.reshape(a.shape)):
            yield f"what tf rounds to {dtype}", a
    if np.allclose(np.sort(a.reshape(-1)), np.sort(b.reshape(-1)), **SAME_ARRAY):
        ranks = np.argsort(np.argsort(a.reshape(-1)))
        yield "tf's values in another order", np.sort(b.reshape(-1))[ranks].reshape(a.shape)


def _same(bench: Bench, a: np.ndarray, b: np.ndarray | None) -> bool:
    if b is None or a.shape != b.shape or a.size == 0:
        return False
    x, y = a.astype(np.float64), b.astype(np.float64)
    finite = np.abs(x[np.isfinite(x)])
    scale = float(finite.max()) if finite.size else 1.0
    bound = explained_bound(bench.bound_dtype, scale)
    # constants of the frameworks' own kernels may be float32's
    bound = max(bound, min(float32_rounding_bound(scale) / 16, 1e-3 * bench.before.at_first))
    with np.errstate(invalid="ignore"):
        close_ = (np.abs(x - y) <= bound) | (x == y) | (np.isnan(x) & np.isnan(y))
    return bool(close_.all())


def _get(trace: Trace, name: str) -> np.ndarray | None:
    return trace[name] if name in trace else None


def _short(name: str) -> str:
    return name.removeprefix("output/")
