"""How each kind of layer stores its tensors in each framework, and the canonical form between them.

One table, one entry per kind. A layer is looked up by its class and never by the shapes of its
tensors: a square kernel looks the same both ways round. Library layers that are in no entry can be
recorded but not moved; a user's own parameters are moved as they are, by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity.backends.base import Slot, first_present

Read = Callable[..., np.ndarray]
Write = Callable[..., tuple[np.ndarray, ...]]

#: Slot kinds of tensors that no entry of the table speaks for.
OWN = "parameter"
UNLISTED = "unlisted"


@dataclass(frozen=True)
class Native:
    """One tensor of a framework: its handle, and how to read and write it as an array."""

    handle: Any
    trainable: bool
    get: Callable[[], np.ndarray]
    set: Callable[[np.ndarray], None]


@dataclass(frozen=True)
class TensorLayout:
    """One canonical tensor and the native ones that it is made of.

    Attributes:
        name: canonical name (``kernel``).
        native: attribute names on the framework's layer. Two entries may share a native tensor
            (packed query, key and value); several natives may make one (LSTM's two biases).
        read: ``read(layer, *natives) -> canonical array``.
        write: ``write(layer, canonical, *current natives) -> new natives``.
        gradient: ``gradient(layer, *native gradients) -> canonical gradient``; ``read`` where None.
    """

    name: str
    native: tuple[str, ...]
    read: Read
    write: Write
    gradient: Read | None = None


def permuted(name: str, native: str, axes: Sequence[int] | None = None) -> TensorLayout:
    """One native tensor whose axes stand in another order: ``canonical = native.transpose(axes)``.

    ``axes=None`` keeps the order.
    """
    if axes is None:
        return TensorLayout(name, (native,), lambda _, a: a, lambda _, a, __: (a,))
    back = tuple(int(i) for i in np.argsort(axes))
    return TensorLayout(
        name,
        (native,),
        lambda _, a: np.ascontiguousarray(a.transpose(axes)),
        lambda _, a, __: (np.ascontiguousarray(a.transpose(back)),),
    )


@dataclass(frozen=True)
class LayerLayout:
    """One kind of layer.

    Attributes:
        kind: the name by which both frameworks' layers are paired.
        classes: framework -> names of the library classes of this kind (subclasses included).
        tensors: framework -> layouts; the canonical names must be the same in each.
        ignored: native tensors that are moved nowhere -> why they hold nothing to move.
    """

    kind: str
    classes: Mapping[str, tuple[str, ...]]
    tensors: Mapping[str, tuple[TensorLayout, ...]]
    ignored: Mapping[str, str] = field(default_factory=dict)


LAYOUTS: tuple[LayerLayout, ...] = (
    # canonical: Keras. torch computes x @ weight.T, so its weight is [out, in].
    LayerLayout(
        kind="dense",
        classes={"torch": ("Linear",), "tf": ("Dense",)},
        tensors={
            "torch": (permuted("kernel", "weight", (1, 0)), permuted("bias", "bias")),
            "tf": (permuted("kernel", "kernel"), permuted("bias", "bias")),
        },
    ),
)

_LIBRARY: Mapping[str, tuple[str, ...]] = {
    "torch": ("torch.nn.modules.", "torch.ao.nn."),
    "tf": ("keras.src.layers.", "tf_keras.src.layers.", "tf_keras.src.engine."),
}
_BASES = ("Module", "Sequential", "ModuleList", "ModuleDict", "Layer", "Model", "Functional")


def library_class(framework: str, layer: Any) -> str | None:
    """Name of the framework's own layer class that this is or derives from; None for the user's."""
    for cls in type(layer).__mro__:
        if cls.__module__.startswith(_LIBRARY[framework]) and cls.__name__ not in _BASES:
            return cls.__name__
    return None


def layout_of(framework: str, layer: Any) -> LayerLayout | None:
    """The table's entry for a layer, by the library class it is or derives from."""
    for cls in type(layer).__mro__:
        if not cls.__module__.startswith(_LIBRARY[framework]):
            continue
        for layout in LAYOUTS:
            if cls.__name__ in layout.classes.get(framework, ()):
                return layout
    return None


def kind_of(framework: str, layer: Any) -> str:
    """The kind of a layer (``dense``); its class name where the table has none."""
    layout = layout_of(framework, layer)
    return layout.kind if layout is not None else type(layer).__name__


def layer_slots(framework: str, path: str, layer: Any, own: Mapping[str, Native]) -> list[Slot]:
    """The slots of the tensors that one layer itself holds.

    Args:
        own: attribute name -> tensor, in definition order. Every one ends up in exactly one slot,
            unless the kind's entry says why it is moved nowhere.
    """
    layout = layout_of(framework, layer)
    found, used = [], set(layout.ignored if layout else ())
    if layout is not None:
        for tensor in layout.tensors.get(framework, ()):
            if all(name in own for name in tensor.native):
                natives = tuple(own[name] for name in tensor.native)
                found.append(_slot(_join(path, tensor.name), layout.kind, layer, tensor, natives))
                used.update(tensor.native)
    library = library_class(framework, layer)
    kind = OWN if library is None else f"{UNLISTED} {library}"
    for name, native in own.items():
        if name not in used:
            plain = permuted(name, name)
            found.append(_slot(_join(path, name), kind, layer, plain, (native,)))
    return found


def _slot(
    path: str, kind: str, layer: Any, tensor: TensorLayout, natives: tuple[Native, ...]
) -> Slot:
    def get() -> np.ndarray:
        return tensor.read(layer, *(native.get() for native in natives))

    def put(array: np.ndarray) -> None:
        new = tensor.write(layer, array, *(native.get() for native in natives))
        for native, value in zip(natives, new, strict=True):
            native.set(value)

    def gradient(gradients: Sequence[np.ndarray | None]) -> np.ndarray | None:
        if first_present(gradients) is None:
            return None
        filled = [
            np.zeros_like(native.get()) if g is None else g
            for g, native in zip(gradients, natives, strict=True)
        ]
        return (tensor.gradient or tensor.read)(layer, *filled)

    trainable = all(native.trainable for native in natives)
    handles = tuple(native.handle for native in natives)
    return Slot(path, kind, tuple(get().shape), trainable, get, put, handles, gradient)


def _join(*parts: str) -> str:
    return "/".join(part for part in parts if part)
