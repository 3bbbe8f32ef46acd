"""Layers that were recorded elsewhere: their class, settings and weights, without their framework.

A stand-in has the class names of the layer, so that everything that looks a layer up by its class
finds it, and its plain attributes (``eps``, ``padding``, ``data_format``). It cannot be called: a
hypothesis that needs to run it is not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from parity.backends import to_numpy
from parity.errors import InvalidInput
from parity.recording.trees import Sink
from parity.trace import Trace, join

_DEPTH = 2
"""Layers within layers (the cell of an RNN, both directions) that keep their settings."""


class RecordedElsewhere(InvalidInput):
    """Something was to run that is only a recording here."""


class RecordedTensor:
    """A parameter of a recorded layer, with the few methods that read one."""

    def __init__(self, array: np.ndarray | None, dtype: str) -> None:
        self._array = array
        self.dtype = dtype

    def detach(self) -> RecordedTensor:
        return self

    def cpu(self) -> RecordedTensor:
        return self

    def numpy(self) -> np.ndarray:
        if self._array is None:
            raise RecordedElsewhere("the values of this tensor were not recorded")
        return self._array

    def is_floating_point(self) -> bool:
        return "float" in self.dtype


class RecordedLayer:
    """Root of the classes that :func:`layer_from` makes."""

    def __init__(self, attributes: Mapping[str, Any], tensors: Mapping[str, RecordedTensor]):
        vars(self).update(attributes)
        vars(self).update({n: t for n, t in tensors.items() if n.isidentifier()})
        self._tensors = dict(tensors)
        self._parity_slots: Callable[[], list[Any]] = list

    def parity_slots(self) -> list[Any]:
        """What ``parity.weights.slots`` answers for this layer."""
        return self._parity_slots()

    def parameters(self) -> list[RecordedTensor]:
        return list(self._tensors.values())

    def named_parameters(self) -> Iterator[tuple[str, RecordedTensor]]:
        yield from self._tensors.items()

    def get_config(self) -> dict[str, Any]:
        raise RecordedElsewhere("this layer was recorded elsewhere and cannot be made anew")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RecordedElsewhere("this layer was recorded elsewhere and cannot be called")


def facts_of(layer: Any, *, depth: int = _DEPTH) -> dict[str, Any]:
    """Class names and plain attributes of a layer, as JSON."""
    classes = [[c.__module__, c.__name__] for c in type(layer).__mro__ if c is not object]
    attributes = {}
    for name in _names(layer):
        try:
            found = _fact(getattr(layer, name), depth)
        except Exception:  # a property that only works later
            continue
        if found is not None:
            attributes[name] = found
    return {"classes": classes, "attributes": attributes}


def _names(layer: Any) -> list[str]:
    """The attributes that may be settings: the layer's own, and what its config names."""
    names = [n for n in vars(layer) if not n.startswith("__")]
    config = getattr(layer, "get_config", None)
    if callable(config):
        with suppress(Exception):  # a layer of the user's own without a config
            names += list(config())
        names += ["compute_dtype", "padding", "data_format", "strides", "pool_size"]
    for held in ("_parameters", "_buffers"):  # torch keeps these, and those that are None, apart
        names += list(getattr(layer, held, None) or ())
    names.append("training")
    return list(dict.fromkeys(names))


def _fact(value: Any, depth: int) -> Any:
    """A setting as JSON; None for what is none."""
    if value is None:
        return {"is": None}
    if isinstance(value, (bool, int, float, str)):
        return {"is": value} if np.isfinite(_number(value)) else {"number": str(value)}
    if isinstance(value, (np.generic, np.ndarray)):
        array = np.asarray(value)
        return _fact(array.item(), depth) if array.ndim == 0 else None
    if isinstance(value, (list, tuple)):
        items = [_fact(v, depth) for v in value]
        if len(items) > 64 or any(item is None for item in items):
            return None
        return {"list" if isinstance(value, list) else "tuple": items}
    if depth and hasattr(type(value), "get_config") and hasattr(value, "name"):
        return {"layer": facts_of(value, depth=depth - 1)}
    if hasattr(value, "__name__") and hasattr(value, "__module__") and callable(value):
        return {"function": [str(value.__module__), str(value.__name__)]}
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return {"tensor": str(value.dtype)}
    return None


def _number(value: Any) -> float:
    return float(value) if isinstance(value, float) else 0.0


def _value(fact: Mapping[str, Any]) -> Any:
    ((kind, content),) = fact.items()
    if kind == "is":
        return content
    if kind == "number":
        return float(content)
    if kind in ("list", "tuple"):
        items = [_value(item) for item in content]
        return items if kind == "list" else tuple(items)
    if kind == "layer":
        return layer_from(content, {})
    if kind == "function":
        return _function(*content)
    if kind == "tensor":
        return RecordedTensor(None, content)
    raise InvalidInput(f"this recording holds a setting of an unknown kind: {kind!r}")


def _function(module: str, name: str) -> Callable[..., Any]:
    """Something with the name of an activation, which cannot be called."""

    def recorded(*args: Any, **kwargs: Any) -> Any:
        raise RecordedElsewhere(f"{module}.{name} was recorded elsewhere and cannot be called")

    recorded.__module__, recorded.__name__, recorded.__qualname__ = module, name, name
    return recorded


def layer_from(facts: Mapping[str, Any], tensors: Mapping[str, RecordedTensor]) -> Any:
    """A stand-in with the class names and attributes of :func:`facts_of`."""
    made: type = RecordedLayer
    for module, name in reversed(facts["classes"]):
        made = type(str(name), (made,), {"__module__": str(module)})
    attributes = {name: _value(fact) for name, fact in facts["attributes"].items()}
    reserved = ("parameters", "named_parameters", "get_config", "parity_slots")
    return made({n: v for n, v in attributes.items() if n not in reserved}, tensors)


def put_tensors(sink: Sink, scope: str, layer: Any) -> dict[str, Any]:
    """Write the framework's own tensors of a torch layer; name -> entry and dtype.

    Some causes compare these (a kernel that was reshaped where it had to be transposed).
    """
    named = getattr(layer, "named_parameters", None)
    if not callable(named):
        return {}
    found = {}
    for name, tensor in named():
        entry = join(scope, str(name))
        sink.add(entry, to_numpy(tensor))
        found[str(name)] = [entry, str(tensor.dtype)]
    return found


def tensors_from(trace: Trace, facts: Mapping[str, Any], dtype: str) -> dict[str, RecordedTensor]:
    """What :func:`put_tensors` wrote, in the floating dtype of the run."""
    found = {}
    for name, (entry, stored) in facts.items():
        array = trace[entry]
        if array.dtype.kind == "f":
            array, stored = array.astype(dtype), stored.replace("float32", dtype)
        found[name] = RecordedTensor(array, stored)
    return found
