"""How each kind of layer stores its tensors in each framework, and the canonical form between them.

One table, one entry per kind. A layer is looked up by its class and never by the shapes of its
tensors: a square kernel looks the same both ways round. Library layers that are in no entry can be
recorded but not moved; a user's own parameters are moved as they are, by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from parity.backends.base import Slot, first_present
from parity.copies import fresh
from parity.layouts import attention, convolution, plain, recurrent
from parity.layouts.base import LayerLayout, Native, TensorLayout, permuted

__all__ = [
    "LAYOUTS",
    "OWN",
    "UNLISTED",
    "LayerLayout",
    "Native",
    "TensorLayout",
    "is_composite",
    "kind_of",
    "layer_slots",
    "layout_of",
    "library_class",
    "permuted",
]

#: Slot kinds of tensors that no entry of the table speaks for.
OWN = "parameter"
UNLISTED = "unlisted"

LAYOUTS: tuple[LayerLayout, ...] = (
    *plain.LAYOUTS,
    *convolution.LAYOUTS,
    *recurrent.LAYOUTS,
    *attention.LAYOUTS,
)

_LIBRARY: Mapping[str, tuple[str, ...]] = {
    "torch": ("torch.nn.modules.", "torch.ao.nn."),
    "tf": ("keras.src.layers.", "tf_keras.src.layers.", "tf_keras.src.engine."),
}
_BASES = ("Module", "Sequential", "ModuleList", "ModuleDict", "Layer", "Model", "Functional")
#: Wrappers that apply another layer as it is, to each time step.
_WRAPPERS = ("TimeDistributed",)


def library_class(framework: str, layer: Any) -> str | None:
    """Name of the framework's own layer class that this is or derives from; None for the user's."""
    for cls in type(layer).__mro__:
        if cls.__module__.startswith(_LIBRARY[framework]) and cls.__name__ not in _BASES:
            return cls.__name__
    return None


def layout_of(framework: str, layer: Any) -> LayerLayout | None:
    """The table's entry for a layer, by the library class it is or derives from."""
    layer = unwrapped(layer)[0]
    for cls in type(layer).__mro__:
        if not cls.__module__.startswith(_LIBRARY[framework]):
            continue
        for layout in LAYOUTS:
            if cls.__name__ in layout.classes.get(framework, ()):
                if layout.accepts is None or layout.accepts(framework, layer):
                    return layout
    return None


def unwrapped(layer: Any) -> tuple[Any, str]:
    """The layer that a wrapper applies, and the prefix of its tensors; else the layer itself."""
    prefix = ""
    while any(cls.__name__ in _WRAPPERS for cls in type(layer).__mro__):
        layer, prefix = layer.layer, f"{prefix}layer/"
    return layer, prefix


def is_composite(framework: str, layer: Any) -> bool:
    """True where the layer's tensors are those of layers below it: they are asked for together."""
    layout = layout_of(framework, layer)
    return layout is not None and (framework in layout.composite or bool(unwrapped(layer)[1]))


def kind_of(framework: str, layer: Any) -> str:
    """The kind of a layer (``dense``); its class name where the table has none."""
    layout = layout_of(framework, layer)
    return layout.kind if layout is not None else type(layer).__name__


def layer_slots(framework: str, path: str, layer: Any, own: Mapping[str, Native]) -> list[Slot]:
    """The slots of the tensors that one layer itself holds.

    Args:
        own: attribute name -> tensor, in definition order; for composite layers those of the
            layers below as well (``cell/kernel``). Every one ends up in exactly one slot, unless
            the kind's entry says why it is moved nowhere.
    """
    layout = layout_of(framework, layer)
    found, used = [], set(layout.ignored if layout else ())
    if layout is not None:
        inner, prefix = unwrapped(layer)
        for tensor in layout.tensors_of(framework, inner):
            tensor = tensor.inside("", prefix)
            if all(name in own for name in tensor.native):
                natives = tuple(own[name] for name in tensor.native)
                kind = tensor.kind or layout.kind
                found.append(_slot(_join(path, tensor.name), kind, inner, tensor, natives))
                used.update(tensor.native)
    library = library_class(framework, layer)
    kind = OWN if library is None else f"{UNLISTED} {library}"
    for name, native in own.items():
        if name not in used:
            plain_ = permuted(name, name)
            found.append(_slot(_join(path, name), kind, layer, plain_, (native,)))
    return found


def _slot(
    path: str, kind: str, layer: Any, tensor: TensorLayout, natives: tuple[Native, ...]
) -> Slot:
    def look() -> np.ndarray:
        return tensor.read(layer, *(native.look() for native in natives))

    def get() -> np.ndarray:
        return fresh(look())

    def put(array: np.ndarray) -> None:
        new = tensor.write(layer, array, *(native.look() for native in natives))
        for native, value in zip(natives, new, strict=True):
            native.set(value)

    def gradient(gradients: Sequence[np.ndarray | None]) -> np.ndarray | None:
        if first_present(gradients) is None:
            return None
        filled = [
            np.zeros_like(native.look()) if g is None else g
            for g, native in zip(gradients, natives, strict=True)
        ]
        return (tensor.gradient or tensor.read)(layer, *filled)

    trainable = all(native.trainable for native in natives)
    handles = tuple(native.handle for native in natives)
    shape = _shape(layer, tensor, handles, look)
    return Slot(path, kind, shape, trainable, get, put, handles, gradient, look)


_SHAPES: dict[Any, tuple[int, ...]] = {}


def _shape(
    layer: Any, tensor: TensorLayout, handles: tuple[Any, ...], get: Callable[[], np.ndarray]
) -> tuple[int, ...]:
    """The canonical shape: follows from the native ones, and reading large tensors takes time."""
    natives = tuple(tuple(handle.shape) for handle in handles)
    key = type(layer), getattr(layer, "equation", None), tensor.name, tensor.native, natives
    if key not in _SHAPES:
        _SHAPES[key] = tuple(get().shape)
    return _SHAPES[key]


def _join(*parts: str) -> str:
    return "/".join(part for part in parts if part)
