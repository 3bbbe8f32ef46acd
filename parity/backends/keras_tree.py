"""The layers and variables of a Keras model or ``tf.Module``, by the names of the attributes.

Attribute names are what a user wrote and what the torch side has too (``q1/l1``); Keras's own
names count per process (``dense_7``). Functional and sequential models have no attributes: there
the layer's name counts, with generated names numbered anew within each model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from parity.copies import contiguous
from parity.layouts import Native, library_class

# Where Keras and TensorFlow keep lists of what is also an attribute.
_HIDDEN_NAMES = """
_layers _functional _operations _operations_by_depth _tracked _metrics
_trainable_variables _non_trainable_variables _trainable_weights _non_trainable_weights
_seed_generators _loss_tracker _compile_metrics _nodes _inbound_nodes _outbound_nodes
_losses optimizer _train_counter _test_counter _predict_counter
"""
_HIDDEN = frozenset(_HIDDEN_NAMES.split())


def is_layer(value: Any) -> bool:
    """Keras layers and models (``tf_keras`` ones are ``tf.Module``s) and ``tf.Module``s."""
    return isinstance(value, (keras.layers.Layer, tf.Module))


def is_variable(value: Any) -> bool:
    return isinstance(value, (keras.Variable, tf.Variable))


def is_graph(value: Any) -> bool:
    """Functional and sequential models, whose layers are a list and not attributes."""
    return any(cls.__name__ in ("Functional", "Sequential") for cls in type(value).__mro__)


def walk(root: Any) -> list[tuple[str, Any]]:
    """``(path, layer)`` of ``root`` (path ``""``) and everything below it, each object once."""
    found: list[tuple[str, Any]] = []
    seen: set[int] = set()

    def visit(path: str, layer: Any) -> None:
        if id(layer) in seen:
            return
        seen.add(id(layer))
        found.append((path, layer))
        for name, child in children(layer):
            visit(f"{path}/{name}".lstrip("/"), child)

    visit("", root)
    return found


def children(layer: Any) -> Iterator[tuple[str, Any]]:
    """The layers directly below one, by attribute, then those that only the model lists."""
    seen: set[int] = set()
    for name, child in _attributes(layer, is_layer):
        if name == "layer" and hasattr(layer, "forward_layer"):
            continue  # Keras 2's Bidirectional keeps the layer that it has copied, unbuilt
        if id(child) not in seen:
            seen.add(id(child))
            yield name, child
    if is_graph(layer):
        for name, child in _listed(layer):
            if id(child) not in seen:
                yield name, child


def own_variables(layer: Any) -> dict[str, Native]:
    """The variables that one layer itself holds, by attribute name."""
    named = dict(_attributes(layer, is_variable))
    public = {_public(layer, name, variable): variable for name, variable in named.items()}
    seen = {id(variable) for variable in public.values()}
    for attribute in ("_trainable_variables", "_non_trainable_variables"):
        listed = getattr(layer, attribute, ()) if isinstance(layer, keras.layers.Layer) else ()
        for variable in listed:  # add_weight() without keeping the result
            if id(variable) not in seen:
                public[variable.name] = variable
    return {name: _native(variable) for name, variable in public.items()}


def all_variables(layer: Any) -> dict[str, Native]:
    """The variables of a layer and of those below it, by relative path."""
    return {
        f"{path}/{name}".lstrip("/"): native
        for path, part in walk(layer)
        for name, native in own_variables(part).items()
    }


def is_leaf(layer: Any) -> bool:
    """Recorded as one call: the library's own layers, and what has no layers below it."""
    return library_class("tf", layer) is not None or next(children(layer), None) is None


def unbuilt(root: Any) -> bool:
    """True where some layer has not made its variables yet."""
    return any(getattr(layer, "built", True) is False for _, layer in walk(root))


def _attributes(layer: Any, wanted: Any) -> Iterator[tuple[str, Any]]:
    hidden = "_" if is_graph(layer) else "_self_"
    for name, value in list(vars(layer).items()):
        if name not in _HIDDEN and not name.startswith(hidden):
            yield from _spread(name, value, wanted)


def _spread(name: str, value: Any, wanted: Any) -> Iterator[tuple[str, Any]]:
    """The wanted objects in an attribute: itself, or inside lists, tuples and dictionaries."""
    if wanted(value):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _spread(f"{name}/{key}", item, wanted)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _spread(f"{name}/{index}", item, wanted)


def _listed(model: Any) -> Iterator[tuple[str, Any]]:
    counts: dict[str, int] = {}
    for layer in model.layers:
        if type(layer).__name__ == "InputLayer":
            continue
        plain = _snake(type(layer).__name__)
        name = layer.name
        if re.fullmatch(rf"{re.escape(plain)}(_\d+)?", name):
            count = counts[plain] = counts.get(plain, -1) + 1
            name = f"{plain}_{count}" if count else plain
        yield name, layer


def _snake(name: str) -> str:
    """Keras's way of making a layer name from a class name."""
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", re.sub(r"\W+", "", name))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def _public(layer: Any, name: str, variable: Any) -> str:
    """``kernel`` for ``_kernel`` where the layer offers that as a property."""
    bare = name.lstrip("_")
    return bare if bare != name and getattr(layer, bare, None) is variable else name


def _native(variable: Any) -> Native:
    handle = variable.value if isinstance(variable, keras.Variable) else variable
    return Native(
        handle,
        bool(variable.trainable) and tf.as_dtype(variable.dtype).is_floating,
        lambda: np.array(_values(handle)),
        lambda array: variable.assign(contiguous(array)),
        lambda: _values(handle),
    )


def _values(handle: Any) -> np.ndarray:
    """The values of a ``tf.Variable`` now, only to be read; assignments leave this array alone."""
    return np.asarray(handle.read_value())
