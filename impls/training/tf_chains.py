"""TensorFlow behind another side: loaded, run and read in a few calls.

An update has some hundred small arrays. Assigning them one by one takes ten times as long as the
update itself, so they cross packed, one vector per dtype, and a graph takes them apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import tensorflow as tf

from impls.training.chains import Arrays, Chain, Walk, flat, named
from impls.training.sides import Side

Layout = tuple[tuple[Any, np.dtype[Any], tuple[int, ...]], ...]
"""Name, dtype and shape of each packed array."""
Vectors = Mapping[str, Any]
"""Dtype -> all arrays of that dtype, end to end in the order of the layout."""


def packed(arrays: Mapping[Any, np.ndarray]) -> tuple[Layout, Vectors]:
    """Arrays on their way into a graph."""
    parts: dict[np.dtype[Any], list[np.ndarray]] = {}
    for array in arrays.values():
        parts.setdefault(array.dtype, []).append(array.reshape(-1))
    vectors = {kind.name: tf.constant(np.concatenate(p)) for kind, p in parts.items()}
    return tuple((k, a.dtype, a.shape) for k, a in arrays.items()), vectors


def unpacked(layout: Layout, vectors: Vectors) -> dict[Any, tf.Tensor]:
    """The arrays, within the graph."""
    found: dict[Any, tf.Tensor] = {}
    for key, sizes, shapes in _pieces(layout):
        pieces = tf.split(vectors[key], list(sizes.values()))
        found |= {n: tf.reshape(p, shapes[n]) for n, p in zip(sizes, pieces, strict=True)}
    return {name: found[name] for name, _, _ in layout}


def packed_tensors(tensors: Mapping[Any, tf.Tensor]) -> tuple[Layout, Vectors]:
    """Tensors on their way out of a graph: the layout is known while it is traced."""
    parts: dict[str, list[tf.Tensor]] = {}
    for tensor in tensors.values():
        parts.setdefault(tensor.dtype.name, []).append(tf.reshape(tensor, [-1]))
    layout = tuple(
        (k, np.dtype(t.dtype.as_numpy_dtype), tuple(t.shape)) for k, t in tensors.items()
    )
    return layout, {kind: tf.concat(p, 0) for kind, p in parts.items()}


def unpacked_arrays(layout: Layout, vectors: Vectors) -> dict[Any, np.ndarray]:
    """The arrays, outside of the graph."""
    found: dict[Any, np.ndarray] = {}
    for key, sizes, shapes in _pieces(layout):
        ends = np.cumsum(list(sizes.values())).tolist()
        vector = vectors[key].numpy()
        for (name, size), end in zip(sizes.items(), ends, strict=True):
            found[name] = vector[end - size : end].reshape(shapes[name])
    return found


@lru_cache(maxsize=64)
def _pieces(layout: Layout) -> list[tuple[str, dict[Any, int], dict[Any, tuple[int, ...]]]]:
    """By dtype: the size and the shape of each array, in order."""
    made = []
    for kind in dict.fromkeys(kind for _, kind, _ in layout):
        shapes = {name: shape for name, of, shape in layout if of == kind}
        made.append((kind.name, {n: math.prod(s) for n, s in shapes.items()}, shapes))
    return made


class Graph:
    """A function from named tensors to named tensors that is called with arrays.

    One graph per layout of what goes in.
    """

    def __init__(self, function: Callable[[dict[Any, tf.Tensor]], dict[Any, tf.Tensor]]) -> None:
        self.function = function
        self._graphs: dict[Layout, tuple[Any, list[Layout]]] = {}

    def __call__(self, arrays: Mapping[Any, np.ndarray]) -> dict[Any, np.ndarray]:
        layout, vectors = packed(arrays)
        if layout not in self._graphs:
            self._graphs[layout] = self._made(layout)
        graph, out = self._graphs[layout]
        returned = graph(vectors)
        return unpacked_arrays(out[0], returned)

    def _made(self, layout: Layout) -> tuple[Any, list[Layout]]:
        out: list[Layout] = []

        def run(vectors: Vectors) -> Vectors:
            shown, made = packed_tensors(self.function(unpacked(layout, vectors)))
            out[:] = [shown]
            return made

        return tf.function(run, autograph=False), out


class Mirror:
    """A learner's state through its variables, all at once."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner
        self.variables = variables_of(learner)
        self.kinds = {n: np.dtype(v.dtype.as_numpy_dtype) for n, v in self.variables.items()}
        self._assign, self._read = Graph(self.assign), Graph(lambda none: self.read(self.variables))

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        """As the learner's own."""
        self._assign(self.held(state))
        self.learner.step = int(state["step"])

    def state(self) -> Arrays:
        """As the learner's own."""
        return {**self._read({}), "step": np.array(self.learner.step, np.int64)}

    def held(self, state: Mapping[str, np.ndarray]) -> Arrays:
        """The entries that are variables, in their dtypes."""
        return {n: state[n].astype(kind, copy=False) for n, kind in self.kinds.items()}

    def assign(self, values: Mapping[str, tf.Tensor]) -> dict[Any, tf.Tensor]:
        for name, value in values.items():
            self.variables[name].assign(value, read_value=False)
        return {}

    def read(self, names: Iterable[str]) -> dict[Any, tf.Tensor]:
        return {n: tf.identity(self.variables[n]) for n in names if n in self.variables}


class GraphWalker:
    """All links in one graph, each on forced inputs and from a forced state."""

    def __init__(self, side: Side, chain: Chain) -> None:
        self.side, self.chain = side, chain
        self.mirror = Mirror(side.learner)
        self.float = np.dtype(side.learner.dtype)
        self._graph = Graph(self._links)

    def follow(self, led: Walk) -> Walk:
        """See :meth:`impls.training.chains.Walker.follow`."""
        found = self._graph(self._forced(led))
        walk = Walk(led.before, led.values, [{} for _ in self.chain.links])
        for (at, entry), array in found.items():
            (walk.rest if at is None else walk.made[at])[entry] = array
        if "step" in self.chain.rest:
            walk.rest["step"] = led.before["step"]  # counted by whole updates, in Python
        return walk

    def _forced(self, led: Walk) -> dict[Any, np.ndarray]:
        """State before, inputs, and the state after each link that writes."""
        forced: dict[Any, np.ndarray] = {
            ("before", name): value for name, value in self.mirror.held(led.before).items()
        }
        for key in self.chain.used:
            for name, value in flat({"": led.values[key]}).items():
                kind = self.float if value.dtype.kind == "f" else value.dtype
                forced["value", key, name[1:]] = value.astype(kind, copy=False)
        for i, names in enumerate(self.chain.written):
            forced |= {("after", i, name): led.made[i][name] for name in names}
        return forced

    def _links(self, forced: dict[Any, tf.Tensor]) -> dict[Any, tf.Tensor]:
        mirror, chain = self.mirror, self.chain
        values: dict[Any, Any] = {}
        for key, value in forced.items():
            if key[0] == "value":
                _, of, part = key
                values[of] = {**values.get(of, {}), part: value} if part else value
        mirror.assign({key[1]: v for key, v in forced.items() if key[0] == "before"})
        found: dict[Any, tf.Tensor] = {}
        for i, link in enumerate(chain.links):
            method = getattr(self.side.learner, link.name)
            returned = method(*(values[key] for key in chain.inputs[i]))
            entries = {**flat(named(link, returned)), **mirror.read(chain.written[i])}
            found |= {(i, name): value for name, value in entries.items()}
            mirror.assign({name: forced["after", i, name] for name in chain.written[i]})
        return found | {(None, name): v for name, v in mirror.read(chain.rest).items()}


def variables_of(learner: Any) -> dict[str, tf.Variable]:
    """The state as variables: everything that ``learner.state()`` has but the count of updates."""
    found: dict[str, tf.Variable] = {}
    for group, optimizer in learner.optimizers.items():
        found |= {f"slot/{group}/{n}": v for n, v in optimizer.slots().items()}
        found |= {f"param/{group}/{n}": v for n, v in learner.parameters[group].items()}
    for group, values in learner.target_parameters.items():
        found |= {f"target/{group}/{n}": v for n, v in values.items()}
    rates = {group: optimizer.learning_rate for group, optimizer in learner.optimizers.items()}
    found |= {f"learning_rate/{group}": v for group, v in rates.items()}
    left = learner.state().keys() ^ {*found, "step"}
    if left:
        raise AssertionError(f"{type(learner).__name__}: not variables: {sorted(left)}")
    return found
