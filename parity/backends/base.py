"""What a framework must offer to the checks. A third framework is one more subclass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity.backends import to_numpy


@dataclass
class LayerCall:
    """One call of one layer, in execution order.

    ``inputs`` and ``output`` are copied arrays in the framework's own layout; ``output_gradient``
    is the gradient of the scalar that was differentiated, None where none flowed.
    """

    path: str
    kind: str
    inputs: list[np.ndarray]
    output: np.ndarray
    output_gradient: np.ndarray | None = None


@dataclass
class ModuleRecord:
    """A forward and backward pass of a module.

    ``parameter_gradients`` and ``input_gradients`` are in canonical layout (dense kernels
    ``[in, out]``) and named by path (``l1/kernel``).
    """

    output: Any
    calls: list[LayerCall] = field(default_factory=list)
    input_gradients: dict[str, np.ndarray | None] = field(default_factory=dict)
    parameter_gradients: dict[str, np.ndarray | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Slot:
    """One tensor of a module's state and how to reach it.

    Attributes:
        path: canonical path, e.g. ``l1/kernel``.
        kind: layer kind that owns it (``dense``), which decides the layout.
        shape: canonical shape.
        trainable: False for running statistics and the like.
        get: returns the canonical array; ``set`` takes one of exactly that shape.
    """

    path: str
    kind: str
    shape: tuple[int, ...]
    trainable: bool
    get: Callable[[], np.ndarray]
    set: Callable[[np.ndarray], None]


class Backend(ABC):
    """Adapter of one framework. All arrays that cross it are NumPy."""

    name: str

    @abstractmethod
    def tensor(self, array: np.ndarray, *, dtype: str | None = None, device: str = "cpu") -> Any:
        """A new tensor with a copy of ``array``; ``dtype`` applies to floating values only."""

    def to_numpy(self, value: Any) -> np.ndarray:
        """The values of a tensor of this framework."""
        return to_numpy(value)

    @abstractmethod
    def value_and_grad(
        self,
        function: Callable[..., Any],
        inputs: Mapping[str, np.ndarray],
        *,
        wrt: Sequence[str],
        cotangents: Callable[[str, tuple[int, ...]], np.ndarray],
        dtype: str,
        device: str = "cpu",
    ) -> tuple[Any, dict[str, np.ndarray | None]]:
        """Call ``function(**tensors)`` and differentiate ``sum(output * cotangent)``.

        Returns the (nested) outputs and, for each name in ``wrt``, the gradient or None where the
        output does not depend on the input.
        """

    @abstractmethod
    def is_module(self, subject: Any) -> bool:
        """True for what this framework calls a module, layer or model."""

    @abstractmethod
    def record_module(
        self,
        module: Any,
        inputs: Sequence[np.ndarray],
        *,
        cotangents: Callable[[str, tuple[int, ...]], np.ndarray],
        dtype: str,
        device: str = "cpu",
        training: bool = False,
    ) -> ModuleRecord:
        """Forward and backward pass of ``module`` with every leaf layer recorded."""

    @abstractmethod
    def call_layer(
        self, module: Any, path: str, inputs: Sequence[np.ndarray], *, device: str = "cpu"
    ) -> np.ndarray:
        """Call the one layer at ``path`` with the given inputs and return its output."""

    @abstractmethod
    def slots(self, module: Any) -> list[Slot]:
        """Every tensor of the module's state once, in definition order."""

    @abstractmethod
    def watch_broadcasts(self) -> Any:
        """Context manager; yields a list that fills with :class:`Broadcast` events."""


@dataclass(frozen=True)
class Broadcast:
    """Two tensors of different rank grew beyond both of them: (B,) with (B, 1) gave (B, B)."""

    operation: str
    shapes: tuple[tuple[int, ...], ...]
    result: tuple[int, ...]
    where: str


def iter_floats(arrays: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Names of the entries that hold floating values."""
    return (name for name, array in arrays.items() if np.asarray(array).dtype.kind == "f")
