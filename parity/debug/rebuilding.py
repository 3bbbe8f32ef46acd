"""Making a Keras object a second time, whose weights are then copied from the first.

Nothing of the new object's own start is kept, so its large kernels need not be drawn at random; and
a sequential model need not be built anew after each of its layers.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LARGE = 1 << 20
"""Elements from which drawing takes longer than a user's code could want the drawn numbers."""


@contextmanager
def quickly() -> Iterator[None]:
    """Keras 3 objects that are made inside start from zeros where large, and are built once."""
    keras = sys.modules.get("keras")
    if keras is None or not hasattr(keras, "Sequential"):
        yield
        return
    undo: list[tuple[type, str, Any]] = []

    def replace(owner: type, name: str, value: Any) -> None:
        undo.append((owner, name, vars(owner)[name]))
        setattr(owner, name, value)

    for cls in _random_initializers(keras):
        replace(cls, "__call__", _undrawn(vars(cls)["__call__"]))
    add = vars(keras.Sequential).get("add")
    if add is not None and "rebuild" in inspect.signature(add).parameters:
        _add_once(keras.Sequential, replace)
    try:
        yield
    finally:
        for owner, name, value in reversed(undo):
            setattr(owner, name, value)


def _random_initializers(keras: Any) -> list[type]:
    known = [c for c in vars(keras.initializers).values() if isinstance(c, type)]
    parents = {c for cls in known for c in cls.__mro__}
    return [c for c in parents if _is_random(c) and "__call__" in vars(c)]


def _is_random(cls: type) -> bool:
    return any(c.__name__ == "RandomInitializer" for c in cls.__mro__)


def _undrawn(draw: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, shape: Any, dtype: Any = None, **options: Any) -> Any:
        if math.prod(shape) < LARGE:
            return draw(self, shape, dtype=dtype, **options)
        return sys.modules["keras"].ops.zeros(shape, dtype=dtype)

    return call


def _add_once(sequential: Any, replace: Callable[[type, str, Any], None]) -> None:
    """``Sequential.from_config`` adds layer by layer, and each time builds all that it has."""
    add, from_config = sequential.add, vars(sequential)["from_config"].__func__
    held: list[bool] = []

    def add_held(self: Any, layer: Any, rebuild: bool = True) -> None:
        add(self, layer, rebuild=rebuild and not held)

    def whole(cls: Any, *args: Any, **kwargs: Any) -> Any:
        held.append(True)
        try:
            model = from_config(cls, *args, **kwargs)
        finally:
            held.pop()
        if model._functional is None and model._layers:
            model._maybe_rebuild()
        return model

    replace(sequential, "add", add_held)
    replace(sequential, "from_config", classmethod(whole))
