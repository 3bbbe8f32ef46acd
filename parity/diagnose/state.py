"""Hypotheses about state and randomness: what a trace froze, seeds, draws, what was not updated."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis

_STATEFUL = re.compile(
    r"target|param|weight|after|updat|mean|var|state|kernel|bias|count|ema", re.I
)
_RANDOM = ("Random", "StatelessRandom", "StatelessTruncated", "Multinomial", "StatelessMultinomial")


def random_streams(bench: Bench) -> Iterator[Hypothesis]:
    """Draws of the tf side replaced by what the torch side drew."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    for site, values in bench.sites.items():
        if not site.op.startswith(_RANDOM):
            continue
        shapes = {v.array.shape for v in values}
        for shape in shapes:
            drawn = _unmatched(bench, shape)
            if len(values) == 1:
                sequences = [[d] for d in drawn]
            else:
                sequences = [drawn[i:] for i in range(max(1, len(drawn) - len(values) + 1))]
            draws = [v.array for v in bench.theirs
                     if v.op.startswith("Random.") and v.array.shape == shape]  # fmt: skip
            if len(draws) >= len(values):
                sequences = [draws[: len(values)], *sequences]
            alike = len(values) > 1 and all(
                np.array_equal(v.array, values[0].array) for v in values
            )
            for sequence in sequences[:40]:

                def replaced(call: Any, s: Any = sequence) -> Any:
                    held = s[min(call.occurrence, len(s) - 1)]
                    value = call.run()
                    if call.plain is not None:
                        return np.reshape(held, np.shape(value)).astype(np.asarray(value).dtype)
                    return tf.cast(tf.reshape(tf.constant(held), tf.shape(value)), value.dtype)

                facts = {"operation": site.op}
                cause = "shared-seed" if alike else "random-stream"
                yield Hypothesis(cause, Change((edits.at(site, replaced),)), facts,
                                 site, 0.6, bound=True)  # fmt: skip


def _unmatched(bench: Bench, shape: tuple[int, ...]) -> list[np.ndarray]:
    return [
        v.array for v in bench.theirs
        if v.partner is None and v.array.shape == shape and not v.backward and v.op != "input"
    ]  # fmt: skip


def seeding(bench: Bench) -> Iterator[Hypothesis]:
    """A seed that is set again and again: only the first setting counts."""
    for label, make in (("environment", _first_reset_only), ("generator", _first_seed_only)):
        yield Hypothesis("reseeded", Change(inside=(make,)), {"what": label}, None, 0.5)
    yield Hypothesis(
        "seeded-once", Change(inside=(_every_reset,)), {"what": "environment"}, None, 0.6
    )


@contextmanager
def _first_reset_only() -> Iterator[None]:
    with _resets(lambda count, seed, first: None if count else seed):
        yield


@contextmanager
def _every_reset() -> Iterator[None]:
    with _resets(lambda count, seed, first: first if count else seed):
        yield


@contextmanager
def _resets(choose: Callable[[int, Any, Any], Any]) -> Iterator[None]:
    """Environments' ``reset`` gets the seed that ``choose(count, seed, first)`` says."""
    counts: dict[int, list[Any]] = {}
    depth = [0]

    def wrapped(original: Any) -> Any:
        def reset(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not depth[0]:
                seeds = counts.setdefault(id(self), [])
                given = kwargs.get("seed")
                chosen = choose(len(seeds), given, seeds[0] if seeds else given)
                seeds.append(given)
                kwargs = {**kwargs, "seed": chosen}
            depth[0] += 1
            try:
                return original(self, *args, **kwargs)
            finally:
                depth[0] -= 1

        return reset

    undo: list[tuple[type, Any]] = []
    try:
        for name in ("gymnasium", "gym"):
            module = sys.modules.get(name)
            for cls in _subclasses(module.Env) if module is not None else ():
                if "reset" in vars(cls):
                    undo.append((cls, vars(cls)["reset"]))
                    cls.reset = wrapped(vars(cls)["reset"])
        yield
    finally:
        for cls, original in reversed(undo):
            cls.reset = original


def _subclasses(root: type) -> list[Any]:
    found: dict[type, None] = {}
    waiting = [root]
    while waiting:
        cls = waiting.pop()
        if cls not in found:
            found[cls] = None
            waiting += cls.__subclasses__()
    return list(found)


@contextmanager
def _first_seed_only() -> Iterator[None]:
    """NumPy's, torch's and TensorFlow's seeding functions work once for each seed."""
    places = [(np.random, "seed"), (np.random, "default_rng"), (np.random, "RandomState")]
    tf, keras = sys.modules.get("tensorflow"), sys.modules.get("keras")
    if tf is not None:
        places.append((tf.random, "set_seed"))
    if keras is not None:
        places.append((keras.utils, "set_random_seed"))
    made: dict[Any, Any] = {}

    def once(name: str, original: Any) -> Any:
        if isinstance(original, type):
            return _single(original)

        def function(*args: Any, **kwargs: Any) -> Any:
            key = (name, repr(args), repr(kwargs))
            if key not in made:
                made[key] = original(*args, **kwargs)
            return made[key]

        return function

    kept = [(owner, name, getattr(owner, name)) for owner, name in places]
    try:
        for owner, name, original in kept:
            setattr(owner, name, once(name, original))
        yield
    finally:
        for owner, name, original in kept:
            setattr(owner, name, original)


def _single(original: type) -> Any:
    """A class that makes one object for each set of arguments."""
    made: dict[Any, Any] = {}

    class Meta(type):
        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            key = (repr(args), repr(kwargs))
            if key not in made:
                made[key] = original(*args, **kwargs)
            return made[key]

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, original)

    return Meta(original.__name__, (), {})


def traced_functions(bench: Bench) -> list[tuple[str, bool]]:
    """The user's functions that ``tf.function`` traces: (name and place, whether they draw)."""
    found = []
    seen: set[Any] = set()
    for site in bench.sites:
        if site.user is None:
            continue
        code = site.user[0]
        if code in seen or not _is_traced(code):
            continue
        seen.add(code)
        place = f"{code.co_name} ({code.co_filename.rsplit('/', 1)[-1]}:{code.co_firstlineno})"
        words = set(code.co_names)
        draws = bool(words & {"random", "randn", "normal", "uniform", "standard_normal", "rand"})
        found.append((place, draws))
    return found


def _is_traced(code: Any) -> bool:
    """The line of the function, or the one before it, bears the decorator."""
    import linecache

    lines = [linecache.getline(code.co_filename, code.co_firstlineno + d) for d in (-1, 0)]
    return any("tf.function" in line or "@function" in line for line in lines)


def unchanged(bench: Bench) -> tuple[str, str] | None:
    """Where the first entry that differs is what it was at the start: (entry, what it equals)."""
    name = bench.first
    if name is None or name not in bench.tf:
        return None
    held, wanted = bench.tf[name], bench.torch[name]
    if held.shape != wanted.shape or held.dtype.kind != "f" or held.size < 2:
        return None
    starts = _starts(bench)
    if not _STATEFUL.search(name):
        starts = [s for s in starts if s[0] == "its initial value"]
    for label, array in starts:
        if array.shape == held.shape and np.array_equal(array.astype(held.dtype), held):
            if not np.array_equal(array.astype(held.dtype), wanted):
                return name, label
    return None


def _starts(bench: Bench) -> list[tuple[str, np.ndarray]]:
    """First values of variables that are assigned once, and the inputs."""
    from parity.backends import tf_edits as edits

    assigned: dict[int, list[np.ndarray]] = {}
    for call in bench.calls:
        if call.op.startswith("Assign") and len(call.inputs) > 1:
            array = edits.array(call.inputs[1])
            if array is not None:
                assigned.setdefault(id(call.inputs[0]), []).append(array)
    found = [("its initial value", values[0]) for values in assigned.values() if len(values) == 1]
    return found + [(f"the input {n}", np.asarray(a)) for n, a in bench.inputs["tf"].items()]


def stale(bench: Bench) -> tuple[str, str] | None:
    """Where an entry repeats an earlier one of its own side, as torch's does not."""
    name = bench.first
    if name is None or name not in bench.tf:
        return None
    held = bench.tf[name]
    for other in bench.tf:
        if other == name:
            break
        array = bench.tf[other]
        if (
            array.shape == held.shape
            and held.size > 1
            and np.any(held)
            and np.array_equal(array, held)
        ):
            if other in bench.torch and not np.array_equal(bench.torch[other], bench.torch[name]):
                return name, other
    return None
