"""Hypotheses about an operation that only the tf side applies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.suspects import at_site, calls, floating, input_name, suspects_first


def bypasses(bench: Bench) -> Iterator[Hypothesis]:
    """An operation that only the tf side has: its operand in place of its result."""
    from parity.backends import tf_edits as edits

    for site in suspects_first(bench):
        value = next(iter(calls(bench, site)), None)
        if value is None or not floating(bench, site) or site.op in ("Identity", "StopGradient"):
            continue
        for index, given in enumerate(value.call.inputs[:2]):
            array = edits.array(given)
            if (
                array is None
                or array.shape != value.array.shape
                or array.dtype != value.array.dtype
            ):
                continue
            other = (
                edits.array(value.call.inputs[1 - index]) if len(value.call.inputs) > 1 else None
            )
            cause = _extra(site.op, other, value.array)
            if site.op in ("RealDiv", "DivNoNan") and index == 0 and _counts(other):
                cause = "loss-reduction"
            facts: dict[str, Any] = {
                "operation": site.op,
                "mask": input_name(bench, array),
                "form": "mask",
            }
            if other is not None and other.ndim == 0 and site.op in ("Mul", "RealDiv"):
                number = f"{float(other):.10g}"
                facts["number"] = number if site.op == "Mul" else f"1/{number}"
            if cause == "loss-reduction":
                facts |= {"was": "mean (a sum over a count)", "wanted": "sum"}
            yield at_site(site, edits.bypass(index), cause, 1.2 + 0.1 * index, **facts)


def _counts(array: np.ndarray | None) -> bool:
    """Whole numbers that are not all alike: how many elements each row has."""
    if array is None or array.size < 2 or np.ptp(array) == 0:
        return False
    return bool(np.all(array == np.round(array)) and array.min() >= 0 and array.max() > 1)


def _is_mask(array: np.ndarray) -> bool:
    return array.size > 1 and set(np.unique(array)) <= {0, 1}


def clips(bench: Bench) -> Iterator[Hypothesis]:
    """Both bounds of a clip taken away at once."""
    from parity.backends import tf_edits as edits

    groups: dict[Any, list[Site]] = {}
    for site in bench.sites:
        if site.op in ("Maximum", "Minimum"):
            groups.setdefault(site.user, []).append(site)
    for group in groups.values():
        if len(group) > 1:
            changes = tuple(edits.at(s, edits.bypass(0)) for s in group)
            yield Hypothesis("clip-extra", Change(changes), {}, group[0], 1.0)


def _extra(op: str, other: np.ndarray | None, value: np.ndarray) -> str:
    if op in ("Softmax", "LogSoftmax", "Sigmoid", "LogSigmoid"):
        return "logits-probabilities"
    if op == "Neg":
        return "sign"
    if _is_mask(value) and (other is None or _is_mask(other)):
        return "mask-other"
    if op == "Mul" and other is not None and _is_mask(other):
        return "mask-extra"
    if op in ("AddV2", "Sub", "AddN"):
        return "extra-term"
    if op in ("Mul", "RealDiv", "DivNoNan"):
        two = other is not None and other.ndim == 0 and abs(float(other)) in (0.5, 2.0)
        return "factor-two" if two else "extra-factor"
    if op in ("Minimum", "Maximum", "ClipByValue"):
        return "clip-extra"
    return "extra-operation"
