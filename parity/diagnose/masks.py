"""Hypotheses about masks: a mask missing, another mask, another value where a mask says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.mask_values import TRANSFORMS, Source, binary_values, fits, is_binary, masked
from parity.diagnose.suspects import calls, floating, suspects_first


def masks(bench: Bench) -> Iterator[Hypothesis]:
    """A value that is multiplied by a mask on the torch side only, or by another mask."""
    yield from _tried(bench, ("mask", "inverse"))


def shifted_masks(bench: Bench) -> Iterator[Hypothesis]:
    """The same with a mask that is shifted by a step, or cumulated."""
    yield from _tried(bench, tuple(n for n in TRANSFORMS if n not in ("mask", "inverse")))


def _tried(bench: Bench, names: tuple[str, ...]) -> Iterator[Hypothesis]:
    from parity.backends import tf_edits as edits

    sources = list(binary_values(bench))
    for site in suspects_first(bench):
        value = next(iter(calls(bench, site)), None)
        if value is None or not floating(bench, site) or site.op in ("Fill", "Identity"):
            continue
        for label, shape, source in sources:
            if site.op in ("Mean", "Sum") and "mask" in names:
                yield from _masked_mean(bench, site, value, label, shape, source)
            if not fits(shape, value.array.shape):
                continue
            for name in names:
                function = TRANSFORMS[name]
                if len(shape) == 0 and name not in ("mask", "inverse"):
                    continue
                change = edits.at(site, masked(source, function))
                facts = {"mask": label, "form": name}
                rank = 1.2 if name in ("mask", "inverse") else 1.4
                yield Hypothesis("mask-missing", Change((change,)), facts, site, rank)
            if site.op == "Mul":
                yield from _other_mask(bench, site, label, shape, source, names)


def _is_masked(array: np.ndarray, mask: np.ndarray, form: str) -> bool:
    """Whether the mask was applied already: then only the divisor is wrong."""
    kept = np.asarray(mask if form == "mask" else 1 - mask)
    while kept.ndim < array.ndim and kept.shape[-1:] != array.shape[-1:]:
        kept = kept[..., None]
    return not np.any(array[np.broadcast_to(kept, array.shape) == 0])


def _array_of(bench: Bench, label: str) -> np.ndarray | None:
    """The mask that a label stands for, where it comes from an input."""
    name, equals, number = label.partition(" == ")
    if name not in bench.inputs["tf"] or (equals and not number.lstrip("-").isdigit()):
        return None
    held = np.asarray(bench.inputs["tf"][name])
    return (held == int(number)).astype(np.int64) if equals else held


def _masked_mean(
    bench: Bench, site: Site, value: Any, label: str, shape: tuple[int, ...], source: Source
) -> Iterator[Hypothesis]:
    """A mean over all elements in place of one over those that the mask leaves."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    given = edits.array(value.call.inputs[0])
    if given is None or not fits(shape, given.shape):
        return
    for name in ("mask", "inverse"):

        def change(call: Any, name: str = name) -> Any:
            x = edits.tensor(call.inputs[0])
            mask = TRANSFORMS[name](tf.cast(source(call), x.dtype)) * tf.ones_like(x)
            axes, keep = call.inputs[1], call.attributes.get("keep_dims", False)
            total = tf.reduce_sum(x * mask, axes, keepdims=keep)
            return total / tf.reduce_sum(mask, axes, keepdims=keep) if site.op == "Mean" else total

        held = _array_of(bench, label)
        masked = held is not None and site.op == "Mean" and _is_masked(given, held, name)
        facts = {"mask": label, "form": f"a mean over the {name}", "masked": masked}
        cause = "weighted-mean" if masked else "mask-missing"
        yield Hypothesis(cause, Change((edits.at(site, change),)), facts, site, 1.15)


def _other_mask(
    bench: Bench,
    site: Site,
    label: str,
    shape: tuple[int, ...],
    source: Source,
    names: tuple[str, ...],
) -> Iterator[Hypothesis]:
    from parity.backends import tf_edits as edits

    for index in (0, 1):
        # in a loop, one turn's mask may be all ones
        turns = [edits.array(v.call.inputs[index]) for v in calls(bench, site)]
        arrays = [a for a in turns if a is not None and a.shape == shape]
        if not arrays or len(arrays) != len(turns) or not is_binary(np.stack(arrays)):
            continue
        for name in names:
            function = TRANSFORMS[name]
            wanted = edits.operand(index, _cast_like(index, source, function))
            facts = {"mask": label, "form": name}
            change = Change((edits.at(site, wanted),))
            yield Hypothesis("mask-other", change, facts, site, 1.1)


def _cast_like(index: int, source: Source, function: Callable[[Any], Any]) -> Source:
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    def value(call: Any) -> Any:
        wanted = edits.tensor(call.inputs[index]).dtype
        return function(tf.cast(source(call), wanted))

    return value


def selected(bench: Bench) -> Iterator[Hypothesis]:
    """Another value where a mask says so: the final observation in place of the next episode's."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    masks = [(n, np.asarray(a)) for n, a in bench.inputs["tf"].items() if is_binary(np.asarray(a))]
    given = {n: np.asarray(a) for n, a in bench.inputs["tf"].items()}
    for site in suspects_first(bench):
        value = next(iter(calls(bench, site)), None)
        if value is None or not floating(bench, site):
            continue
        for mask, held in masks:
            for name, other in given.items():
                if other.shape != value.array.shape or other.dtype.kind != "f":
                    continue
                if held.shape != other.shape[: held.ndim]:
                    continue
                for inverse in (False, True):

                    def change(
                        call: Any, m: str = mask, o: str = name, inverse: bool = inverse
                    ) -> Any:
                        y = call.run()
                        chosen = tf.cast(bench.input(m)(call), tf.bool)
                        while chosen.shape.rank < y.shape.rank:
                            chosen = chosen[..., None]
                        chosen = tf.logical_not(chosen) if inverse else chosen
                        return tf.where(chosen, tf.cast(bench.input(o)(call), y.dtype), y)

                    facts = {"mask": mask, "form": "inverse" if inverse else "mask", "other": name}
                    yield Hypothesis(
                        "mask-missing", Change((edits.at(site, change),)), facts, site, 1.2
                    )
