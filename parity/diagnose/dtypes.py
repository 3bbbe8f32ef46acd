"""Hypotheses about dtypes: integers that wrap around, casts that lose digits, half precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.tolerance import float32_rounding_bound

_NARROW = ("float16", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "int64")


def widened(bench: Bench) -> Iterator[Hypothesis]:
    """Integer inputs given in a dtype that cannot overflow, and casts left out."""
    small = [n for n, a in bench.inputs["tf"].items() if np.asarray(a).dtype.kind in "iub"]
    for wanted in ("float32", "int64"):
        target = bench.bound_dtype if wanted == "float32" else wanted
        narrow = [n for n in small if str(np.asarray(bench.inputs["tf"][n]).dtype) != wanted]

        def cast(
            given: Mapping[str, np.ndarray], names: Any = tuple(narrow), dtype: str = target
        ) -> Any:
            return {n: np.asarray(a).astype(dtype) if n in names else a for n, a in given.items()}

        if narrow:
            was = str(np.asarray(bench.inputs["tf"][narrow[0]]).dtype)
            facts = {"was": was, "wanted": wanted, "names": narrow}
            yield Hypothesis("integer-overflow", Change(inputs=(cast,)), facts, None, 0.6)
    yield from _casts(bench)
    yield from _wider(bench)


def _casts(bench: Bench) -> Iterator[Hypothesis]:
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    sites = [
        s for s, vs in bench.sites.items()
        if s.op == "Cast" and vs[0].call is not None and _loses(vs[0])
    ]  # fmt: skip
    for group in ([s] for s in sites):
        change = Change(tuple(edits.at(s, edits.bypass(0)) for s in group))
        to = str(bench.sites[group[0]][0].array.dtype)
        cause = "half-precision" if "float" in to else "integer-cast"
        yield Hypothesis(cause, change, {"dtype": to}, group[0], 0.7)

        def rounded(call: Any) -> Any:
            return tf.cast(tf.round(edits.tensor(call.inputs[0])), call.attributes["DstT"])

        if cause == "integer-cast":
            change = Change((edits.at(group[0], rounded),))
            yield Hypothesis("rounding-mode", change,
                             {"was": "cut off", "wanted": "rounded"}, group[0], 0.7)  # fmt: skip
    if len(sites) > 1:
        change = Change(tuple(edits.at(s, edits.bypass(0)) for s in sites))
        yield Hypothesis("half-precision", change, {"dtype": "several"}, sites[0], 0.8)


def _wider(bench: Bench) -> Iterator[Hypothesis]:
    """Large integers cast to float32, which counts to 16,777,216."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits
    from parity.diagnose.suspects import at_site

    for site, values in bench.sites.items():
        value = values[0]
        if site.op != "Cast" or value.call is None or value.array.dtype != np.float32:
            continue
        given = edits.array(value.call.inputs[0])
        if given is None or given.dtype.kind not in "iu":
            continue
        change = edits.attribute("DstT", tf.float64)
        bound = float32_rounding_bound(float(np.abs(given).max(initial=0)), 1)
        facts = {"error": bench.before.at_first, "bound": bound}
        yield at_site(site, change, "float32-inside", 0.7, **facts)


def _loses(value: Any) -> bool:
    from parity.backends import tf_edits as edits

    given = edits.array(value.call.inputs[0])
    return (
        given is not None
        and given.dtype.kind in "f"
        and (value.array.dtype.itemsize < given.dtype.itemsize or value.array.dtype.kind in "iu")
    )


def float32_inside(bench: Bench) -> tuple[str, float, float] | None:
    """Where the tf side computes in float32 though it was given float64: (place, error, bound)."""
    if bench.bound_dtype != "float64" or bench.first is None or bench.first not in bench.tf:
        return None
    a, b = bench.torch[bench.first], bench.tf[bench.first]
    if a.shape != b.shape or a.dtype.kind != "f" or not np.isfinite(a).all():
        return None
    error = float(np.max(np.abs(a.astype(np.float64) - b))) if a.size else 0.0
    bound = float32_rounding_bound(float(np.max(np.abs(a))) if a.size else 1.0)
    if error > bound:
        return None
    narrow = next(
        (
            v
            for v in bench.ours
            if v.call is not None
            and v.op != "input"
            and not v.backward
            and v.array.dtype == np.float32
            and v.array.size > 0
        ),
        None,
    )
    if narrow is None and not _float32_constant(bench):
        return None
    return (narrow.place if narrow is not None else _float32_constant(bench)), error, bound


def _float32_constant(bench: Bench) -> str:
    """The place of a constant operand that was rounded to float32 before it was used."""
    from parity.backends import tf_edits as edits

    made = {id(o) for c in bench.calls for o in c.outputs}
    for value in bench.ours:
        if value.call is None or value.backward or value.array.dtype != np.float64:
            continue
        numbers = [a for a in value.call.attributes.values() if isinstance(a, float)]
        if any(a != float(np.float32(a)) for a in numbers):
            return value.place or value.op  # settings of operations are float32
        for operand in value.call.inputs:
            array = edits.array(operand)
            if id(operand) in made or array is None or array.dtype.kind != "f" or array.size != 1:
                continue
            number = float(array.reshape(-1)[0])
            short = float(f"{number:.6g}")
            if (
                number == float(np.float32(number))
                and number != short
                and not float(number * 1024).is_integer()
            ):
                return value.place or value.op
    return ""
