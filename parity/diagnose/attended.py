"""Hypotheses about what a softmax may see: a mask that is missing, the other way round, shifted or
multiplied where the scores should be taken out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from parity.debug.intermediates import Value
from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.mask_values import binary_values
from parity.diagnose.suspects import calls

_FUNCTIONS = ("Softmax", "LogSoftmax")
_MASKING = ("SelectV2", "Select", "AddV2", "Sub", "Mul")
_OUT = -1e9
_DEPTH = 4
Mask = Callable[[Any], Any]


def masks(bench: Bench) -> Iterator[Hypothesis]:
    """Each softmax on the scores that a mask of the run, or a causal one, leaves."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    sources = list(binary_values(bench))
    for site in bench.sites:
        value = next(iter(calls(bench, site)), None)
        scores = edits.array(value.call.inputs[0]) if value is not None else None
        if site.op not in _FUNCTIONS or value is None or scores is None or scores.ndim < 2:
            continue
        masking = _masking(bench, value)
        for label, mask in _candidates(sources, scores.shape):
            held: list[Any] = []

            def change(call: Any, mask: Mask = mask, held: list[Any] = held) -> Any:
                given = edits.tensor(held[-1] if held else call.inputs[0])
                kept = tf.broadcast_to(tf.cast(mask(call), tf.bool), tf.shape(given))
                return call.run([tf.where(kept, given, tf.constant(_OUT, given.dtype))])

            cause, facts = _cause(masking, label)
            changes = [edits.at(site, change)]
            if masking is not None and masking.site is not None:
                changes.insert(0, edits.at(masking.site, _keeping(masking, held)))
            yield Hypothesis(cause, Change(tuple(changes)), facts, site, 0.9)
        if masking is not None:
            yield from _without(site, masking)


def _candidates(
    sources: list[tuple[str, tuple[int, ...], Mask]], shape: tuple[int, ...]
) -> Iterator[tuple[str, Mask]]:
    """Masks that fit scores of a shape: (what it is called, what makes it)."""
    import tensorflow as tf

    queries, keys = shape[-2:]
    for offset, name in ((0, "causal"), (-1, "causal, without the step itself"),
                         (1, "causal, with the next step")):  # fmt: skip
        triangle = np.tril(np.ones((queries, keys), bool), offset)
        if queries > 1 and not triangle.all():
            yield name, _always(triangle)
    for label, held, source in sources:
        for axes in _fitting(held, shape):
            for inverse in (False, True):

                def mask(
                    call: Any, s: Mask = source, axes: Any = axes, inverse: bool = inverse
                ) -> Any:
                    kept = tf.reshape(tf.cast(tf.convert_to_tensor(s(call)), tf.bool), axes)
                    return tf.logical_not(kept) if inverse else kept

                yield f"{'not ' if inverse else ''}{label}", mask


def _always(mask: np.ndarray) -> Mask:
    return lambda call: mask


def _fitting(mask: tuple[int, ...], shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Shapes with ones put in, in which a mask broadcasts to the scores."""
    missing = len(shape) - len(mask)
    if missing < 0 or not mask or mask[-1] != shape[-1]:
        return
    for front in range(missing + 1):  # rows of the batch come first, keys last
        spread = (*mask[:-1], *(1,) * (missing - front), mask[-1])
        spread = (*(1,) * front, *spread)
        if all(m in (1, s) for m, s in zip(spread, shape, strict=True)):
            yield spread
            return


def _masking(bench: Bench, value: Value) -> Value | None:
    """The operation that masks the scores on the tf side, up to a few steps before the softmax."""
    from parity.backends import tf_edits as edits

    made = {id(o): v for v in bench.ours if v.call is not None for o in v.call.outputs}
    current = made.get(id(value.call.inputs[0]))
    for _ in range(_DEPTH):
        if current is None or current.call is None:
            return None
        operands = [edits.array(x) for x in current.call.inputs]
        if current.op in _MASKING and any(a is not None and _masks(a) for a in operands):
            return current
        following = [made.get(id(x)) for x in current.call.inputs]
        current = next((f for f in following if f is not None and f.array.ndim >= 2), None)
    return None


def _masks(array: np.ndarray) -> bool:
    values = set(np.unique(array).tolist()) if array.size > 1 else set()
    return len(values) == 2 and (values == {0, 1} or min(values) <= -1e4)


def _scores_of(call: Any) -> int:
    """Which operand of a masking operation holds the scores."""
    from parity.backends import tf_edits as edits

    arrays = [edits.array(x) for x in call.inputs]
    fits = [i for i, a in enumerate(arrays) if a is not None and a.size > 2 and not _masks(a)]
    return max(fits, key=lambda i: arrays[i].size)  # type: ignore[union-attr]


def _keeping(masking: Value, held: list[Any]) -> Callable[[Any], Any]:
    """Notes the scores as they went into the masking."""

    def change(call: Any) -> Any:
        held[:] = [call.inputs[_scores_of(masking.call)]]
        return call.run()

    return change


def _cause(masking: Value | None, label: str) -> tuple[str, dict[str, Any]]:
    if masking is None:
        return "mask-missing", {"mask": label, "form": "softmax"}
    facts = {"mask": label, "form": "mask", "masking": masking.source or masking.op}
    if masking.op == "Mul":
        return "mask-multiplied", facts
    if label.startswith("causal"):
        return "off-by-one", {"was": f"`{masking.source}`", "wanted": f"the mask that is {label}"}
    return "mask-polarity", facts


def _without(site: Site, masking: Value) -> Iterator[Hypothesis]:
    from parity.backends import tf_edits as edits

    assert masking.site is not None
    change = edits.at(masking.site, edits.bypass(_scores_of(masking.call)))
    yield Hypothesis("mask-extra", Change((change,)), {}, masking.site, 1.0)
