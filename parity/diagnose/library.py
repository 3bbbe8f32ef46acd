"""Hypotheses about calls of the library's functions: another setting of ``keras.losses.huber``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.known_numbers import close, solve, torch_numbers
from parity.diagnose.numbers import constant_meaning, same
from parity.diagnose.objects import CAUSES, CHOICES

_CAUSES = {
    **CAUSES,
    "approximate": "other-activation",
    "alpha": "activation-slope",
    "negative_slope": "activation-slope",
    "antialias": "resize-convention",
    "method": "resize-convention",
    "mode": "padding",
    "direction": "reversed-axis",
    "exclusive": "switch",
    "reverse": "reversed-axis",
    "ord": "norm-kind",
    "constant_values": "padding",
}
_CHOICES: dict[str, tuple[Any, ...]] = {
    **CHOICES,
    "method": ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian"),
    "mode": ("CONSTANT", "REFLECT", "SYMMETRIC", "constant", "reflect", "symmetric", "edge"),
    "direction": ("ASCENDING", "DESCENDING"),
    "ord": ("euclidean", 1, 2, np.inf),
}
_IDLE = frozenset(["keepdims", "validate_indices", "stable", "sparse", "preserve_aspect_ratio"])


def settings(bench: Bench) -> Iterator[Hypothesis]:
    """Each setting of each function that the code calls, set to what the torch side has."""
    numbers = torch_numbers(bench)
    seen: set[tuple[str, str]] = set()
    for call in bench.library_calls:
        for name, value in call.settings.items():
            if (call.name, name) in seen or name in _IDLE or call.name == "tf.clip_by_value":
                continue
            seen.add((call.name, name))
            for new, rank in _values(name, value, numbers):
                yield _hypothesis(call, name, value, new, rank)


def _values(name: str, value: Any, numbers: list[tuple[str, float]]) -> Iterator[tuple[Any, float]]:
    if isinstance(value, bool):
        yield not value, 0.6
    elif name in _CHOICES and isinstance(value, (str, int)):
        alike = [c for c in _CHOICES[name] if isinstance(c, str) == isinstance(value, str)]
        for new in alike:
            if new != value and (not isinstance(value, str) or value.isupper() == new.isupper()):
                yield new, 0.7
    elif name == "axis" and isinstance(value, int):
        yield from ((axis, 0.8) for axis in range(-2, 3) if axis != value)
    elif isinstance(value, float) or (isinstance(value, int) and name in _CAUSES):
        options = [v for n, v in numbers if not float(v).is_integer()][:12]
        options += [v for n, v in numbers if float(v).is_integer() and abs(v) < 20][:6]
        for new in dict.fromkeys([*options, value * value, value**0.5 if value > 0 else 0.0]):
            if new != value:
                yield float(new), 0.75


def solved(bench: Bench) -> Iterator[Hypothesis]:
    """A number among the settings, solved for."""
    numbers = torch_numbers(bench)
    seen: set[tuple[str, str]] = set()
    for call in bench.library_calls:
        for name, value in call.settings.items():
            if not isinstance(value, float) or (call.name, name) in seen:
                continue
            if call.name == "tf.clip_by_value":
                continue  # its bounds are operands of operations, and tried there
            seen.add((call.name, name))
            new = solve(bench, lambda v, c=call, n=name: changed(c, n, v), value)
            if new is None or same(new, value, close(bench)):
                continue
            meaning = constant_meaning(value, new, constants=numbers, close=close(bench))
            yield _hypothesis(call, name, value, new, 0.9 if meaning else 1.6)


def changed(call: Any, name: str, value: Any) -> Change:
    from parity.backends import library_calls

    return Change(inside=(lambda: library_calls.with_setting(call.name, name, value),))


def _hypothesis(call: Any, name: str, old: Any, new: Any, rank: float) -> Hypothesis:
    facts = {"object": call.name, "setting": name, "was": old, "wanted": new, "meaning": None}
    cause = _CAUSES.get(name, "layer-setting")
    return Hypothesis(cause, changed(call, name, new), facts, call.site, rank)


def clipped(bench: Bench) -> Iterator[Hypothesis]:
    """Another way of clipping gradients by their norm."""
    from parity.backends import library_calls

    names = {call.name for call in bench.library_calls}
    for name, wanted, make in _CLIPS:
        if name in names:
            replacement = make(bench)
            change = Change(inside=(partial(library_calls.instead, name, replacement),))
            facts = {"torch": wanted, "tf": f"clipped by {name}", "bound": 0.0}
            yield Hypothesis("gradient-clipping", change, facts, None, 0.6)


def _with_epsilon(bench: Bench) -> Callable[..., Any]:
    import tensorflow as tf

    def clip_by_global_norm(t_list: Any, clip_norm: Any, **_: Any) -> Any:
        norm = tf.linalg.global_norm(t_list)
        scale = tf.minimum(clip_norm / (norm + 1e-6), tf.ones_like(norm))
        return [None if t is None else t * scale for t in t_list], norm

    return clip_by_global_norm


def _each(bench: Bench) -> Callable[..., Any]:
    import tensorflow as tf

    def clip_by_global_norm(t_list: Any, clip_norm: Any, **_: Any) -> Any:
        norm = tf.linalg.global_norm(t_list)
        return [None if t is None else _scaled(t, clip_norm, tf.norm(t)) for t in t_list], norm

    return clip_by_global_norm


def _together(bench: Bench) -> Callable[..., Any]:
    """``clip_by_norm`` by the norm of everything that it is called with."""
    import tensorflow as tf

    recorded = [next(iter(c.arguments.values())) for c in bench.library_calls
                if c.name == "tf.clip_by_norm"]  # fmt: skip

    def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: Any = None) -> Any:
        given = [_current(bench, value) for value in recorded]
        return _scaled(tf.convert_to_tensor(t), clip_norm, tf.linalg.global_norm(given))

    return clip_by_norm


def _by_norm(bench: Bench) -> Callable[..., Any]:
    """``clip_by_value`` as a clip by the norm, which torch has with 1e-6 added to it."""
    import tensorflow as tf

    def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: Any = None) -> Any:
        t = tf.convert_to_tensor(t)
        return _scaled(t, clip_value_max, tf.norm(t) + 1e-6)

    return clip_by_value


def _by_value(bench: Bench) -> Callable[..., Any]:
    import tensorflow as tf

    def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: Any = None) -> Any:
        return tf.clip_by_value(t, -clip_norm, clip_norm)

    return clip_by_norm


def _all_by_value(bench: Bench) -> Callable[..., Any]:
    import tensorflow as tf

    def clip_by_global_norm(t_list: Any, clip_norm: Any, **_: Any) -> Any:
        kept = [None if t is None else tf.clip_by_value(t, -clip_norm, clip_norm) for t in t_list]
        return kept, tf.linalg.global_norm(t_list)

    return clip_by_global_norm


def _current(bench: Bench, value: Any) -> Any:
    """The input that a recorded value was, in the run that is on; else the value as it was."""
    array = np.asarray(value)
    for name, held in bench.inputs["tf"].items():
        if np.shape(held) == array.shape and np.array_equal(np.asarray(held, array.dtype), array):
            return bench.callers["tf"].current[name]
    return value


def _scaled(tensor: Any, bound: Any, norm: Any) -> Any:
    import tensorflow as tf

    return tensor * tf.minimum(tf.cast(bound, tensor.dtype) / norm, tf.ones_like(norm))


_CLIPS: tuple[tuple[str, str, Callable[[Bench], Callable[..., Any]]], ...] = (
    ("tf.clip_by_global_norm", "clipped by their global norm plus 1e-6", _with_epsilon),
    ("tf.clip_by_global_norm", "clipped each by its own norm", _each),
    ("tf.clip_by_norm", "clipped by their global norm", _together),
    ("tf.clip_by_value", "clipped by their norm", _by_norm),
    ("tf.clip_by_norm", "clipped by value", _by_value),
    ("tf.clip_by_global_norm", "clipped by value", _all_by_value),
)
