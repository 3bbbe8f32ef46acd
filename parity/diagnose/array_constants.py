"""Hypotheses about short arrays in the code: weights of channels, means and scales of inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.class_weights import said_row, torch_arrays
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.suspects import calls
from parity.tolerance import SAME_ARRAY

_MOST = 4
_LARGEST = 64


def array_constants(bench: Bench) -> Iterator[Hypothesis]:
    """A short array of the tf side's code set to one of torch's; a plain mean for torch's weights
    of the same axis."""
    rows = torch_arrays(bench, 1)[:_MOST]
    if not rows:
        return
    made = {id(o) for c in bench.calls for o in c.outputs}
    for site in bench.sites:
        value = next(iter(calls(bench, site)), None)
        if value is None:
            continue
        for row in rows:
            yield from _operands(bench, site, value, row, made)
            if site.op in ("Mean", "Sum"):
                yield from _weighted(site, value, row)


def _operands(
    bench: Bench, site: Site, value: Any, row: np.ndarray, made: set[int]
) -> Iterator[Hypothesis]:
    from parity.backends import tf_edits as edits

    given = [np.asarray(a) for a in bench.inputs["tf"].values()]
    for index, operand in enumerate(value.call.inputs[:3]):
        array = edits.array(operand) if id(operand) not in made else None
        if array is None or array.dtype.kind != "f" or not 1 < array.size <= _LARGEST:
            continue
        if array.size != row.size or any(g.shape == array.shape for g in given):
            continue
        held = array.reshape(-1).astype(np.float64)
        if np.allclose(held, row, **SAME_ARRAY):
            continue
        facts = {"was": said_row(held), "wanted": said_row(row)}
        if np.allclose(held[::-1], row, **SAME_ARRAY):
            facts["was"] += ", which are torch's backwards"
        change = edits.operand(index, _in_place(index, row))
        yield Hypothesis("constant", Change((edits.at(site, change),)), facts, site, 0.8)


def _in_place(index: int, row: np.ndarray) -> Any:
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    def value(call: Any) -> Any:
        old = edits.tensor(call.inputs[index])
        return tf.reshape(tf.constant(row, old.dtype), tf.shape(old))

    return value


def _weighted(site: Site, value: Any, row: np.ndarray) -> Iterator[Hypothesis]:
    """What is averaged along one axis, weighted along it as torch does."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    given, over = (edits.array(x) for x in value.call.inputs[:2])
    if given is None or over is None or given.dtype.kind != "f" or np.size(over) != 1:
        return
    axis = int(np.ravel(over)[0]) % max(given.ndim, 1)
    if given.ndim < 2 or given.shape[axis] != row.size:
        return

    def change(call: Any) -> Any:
        x = edits.tensor(call.inputs[0])
        shape = [row.size if i == axis else 1 for i in range(given.ndim)]
        weights = tf.reshape(tf.constant(row, x.dtype), shape)
        return tf.reduce_sum(x * weights, axis, keepdims=call.attributes.get("keep_dims", False))

    was = "mean" if site.op == "Mean" else "sum"
    facts = {"was": f"a plain {was} over axis {axis}", "wanted": f"a sum with {said_row(row)}",
             "of": "weights"}  # fmt: skip
    yield Hypothesis("missing-factor", Change((edits.at(site, change),)), facts, site, 0.8)
