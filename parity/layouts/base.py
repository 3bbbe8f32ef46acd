"""What a layout is: canonical tensors, and the native ones that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

Read = Callable[..., np.ndarray]
Write = Callable[..., tuple[np.ndarray, ...]]


@dataclass(frozen=True)
class Native:
    """One tensor of a framework: its handle, and how to read and write it as an array."""

    handle: Any
    trainable: bool
    get: Callable[[], np.ndarray]
    set: Callable[[np.ndarray], None]
    look: Callable[[], np.ndarray]
    """The values without a copy where that can be: to be read at once, and not written to."""


@dataclass(frozen=True)
class TensorLayout:
    """One canonical tensor and the native ones that it is made of.

    Attributes:
        name: canonical name (``kernel``).
        native: attribute names on the framework's layer; ``cell/kernel`` is an attribute of a
            layer inside it. Two entries may share a native tensor (packed query, key and value);
            several natives may make one (LSTM's two biases).
        read: ``read(layer, *natives) -> canonical array``.
        write: ``write(layer, canonical, *current natives) -> new natives``.
        gradient: ``gradient(layer, *native gradients) -> canonical gradient``; ``read`` where None.
        kind: of this tensor alone, where the layer is made of parts that have kinds of their own.
    """

    name: str
    native: tuple[str, ...]
    read: Read
    write: Write
    gradient: Read | None = None
    kind: str | None = None

    def inside(self, prefix: str, native: str) -> TensorLayout:
        """The same tensor of a layer that is held by another one."""
        return replace(
            self, name=prefix + self.name, native=tuple(native + name for name in self.native)
        )


Dynamic = Callable[[Any], tuple[TensorLayout, ...]]


@dataclass(frozen=True)
class LayerLayout:
    """One kind of layer.

    Attributes:
        kind: the name by which both frameworks' layers are paired.
        classes: framework -> names of the library classes of this kind (subclasses included).
        tensors: framework -> layouts; the canonical names must be the same in each.
        dynamic: framework -> function of the layer that returns them, where they depend on it
            (how many layers an LSTM has); used instead of ``tensors``.
        accepts: ``accepts(framework, layer)``, where the class alone does not tell the kind
            (Keras's ``RNN`` around a cell).
        ignored: native tensors that are moved nowhere -> why they hold nothing to move.
        composite: frameworks in which layers of this kind hold tensors in layers below them.
    """

    kind: str
    classes: Mapping[str, tuple[str, ...]]
    tensors: Mapping[str, tuple[TensorLayout, ...]]
    ignored: Mapping[str, str] = field(default_factory=dict)
    dynamic: Mapping[str, Dynamic] = field(default_factory=dict)
    accepts: Callable[[str, Any], bool] | None = None
    composite: tuple[str, ...] = ()

    def tensors_of(self, framework: str, layer: Any) -> tuple[TensorLayout, ...]:
        """The canonical tensors of one layer."""
        if framework in self.dynamic:
            return self.dynamic[framework](layer)
        return self.tensors.get(framework, ())


def permuted(
    name: str, native: str, axes: Sequence[int] | None = None, *, kind: str | None = None
) -> TensorLayout:
    """One native tensor whose axes stand in another order: ``canonical = native.transpose(axes)``.

    ``axes=None`` keeps the order.
    """
    if axes is None:
        return TensorLayout(name, (native,), lambda _, a: a, lambda _, a, __: (a,), kind=kind)
    back = tuple(int(i) for i in np.argsort(axes))
    return TensorLayout(
        name,
        (native,),
        lambda _, a: a.transpose(axes),
        lambda _, a, __: (a.transpose(back),),
        kind=kind,
    )


def reshaped(
    name: str,
    native: str,
    shape: Callable[[tuple[int, ...]], tuple[int, ...]],
    *,
    kind: str | None = None,
) -> TensorLayout:
    """One native tensor with axes split or joined; ``shape`` maps the native shape."""
    return TensorLayout(
        name,
        (native,),
        lambda _, a: a.reshape(shape(a.shape)),
        lambda _, a, now: (a.reshape(now.shape) if a.size == now.size else a,),
        kind=kind,
    )


def same(*names: str, **natives: str) -> tuple[TensorLayout, ...]:
    """Tensors that are stored as they are, under their own or another name."""
    return tuple(permuted(n, n) for n in names) + tuple(permuted(c, n) for c, n in natives.items())
