"""What a framework must offer to the checks. A third framework is one more subclass."""

from __future__ import annotations

import inspect
import linecache
import math
import os
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from parity.backends import to_numpy
from parity.errors import InvalidInput


@dataclass
class LayerGradients:
    """The backward pass of one layer alone.

    Attributes:
        inputs: one gradient per recorded input; None for integers and where none flows.
        parameters: canonical name within the layer (``kernel``) -> gradient, canonical layout.
    """

    inputs: list[np.ndarray | None]
    parameters: dict[str, np.ndarray | None]


@dataclass
class LayerCall:
    """One call of one layer, in execution order.

    Attributes:
        path: of the layer (``q1/l1``); the second call of the same layer is ``q1/l1#2``.
        kind: layer kind (``dense``), or the class name where the kind is in no table.
        inputs: the tensors among the arguments, in order, as arrays in the framework's own
            layout, which no later operation of the model changes; only to be read.
        output: likewise; a tuple, list or mapping of arrays where the layer returns several.
        output_gradient: gradient of the scalar that was differentiated, of the output's structure;
            None where none flowed.
        fused: an activation that the framework applies inside the layer (Keras
            ``Dense(activation=...)``), recorded under ``<path>/activation``.
        layer: the layer object itself.
        names: for each input the name of the argument that it came in.
        where: ``file.py:12: source`` of the user's line that called the layer; empty where a
            model of the framework's own did (functional, sequential).
        replay: calls this layer again as it was called, with other values for ``inputs``.
        rerun: ``rerun(layer, inputs, **keywords)``: likewise with another layer, and with keywords
            of the call replaced.
        replay_gradients: likewise its backward pass alone, ``(inputs, output gradient)``.
    """

    path: str
    kind: str
    inputs: list[np.ndarray]
    output: Any
    output_gradient: Any = None
    fused: bool = False
    layer: Any = field(default=None, repr=False)
    names: tuple[str, ...] = ()
    where: str = ""
    replay: Callable[[Sequence[np.ndarray]], Any] | None = field(default=None, repr=False)
    rerun: Callable[..., Any] | None = field(default=None, repr=False)
    replay_gradients: Callable[[Sequence[np.ndarray], Any], LayerGradients] | None = field(
        default=None, repr=False
    )


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


def first_present(gradients: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """The first gradient that is one: right where the canonical tensor is the native one."""
    return next((g for g in gradients if g is not None), None)


@dataclass(frozen=True)
class Slot:
    """One tensor of a module's state and how to reach it.

    Attributes:
        path: canonical path, e.g. ``l1/kernel``.
        kind: layer kind that owns it (``dense``), which decides the layout.
        shape: canonical shape.
        trainable: False for running statistics and the like.
        get: returns the canonical array; ``set`` takes one of exactly that shape.
        natives: the framework's own tensors that the slot is made of.
        gradient: gradients of ``natives`` (arrays, None where none flowed) to the canonical one.
        view: like ``get`` without a copy where that can be; see :meth:`look`.
    """

    path: str
    kind: str
    shape: tuple[int, ...]
    trainable: bool
    get: Callable[[], np.ndarray]
    set: Callable[[np.ndarray], None]
    natives: tuple[Any, ...] = ()
    gradient: Callable[[Sequence[np.ndarray | None]], np.ndarray | None] = first_present
    view: Callable[[], np.ndarray] | None = field(default=None, repr=False)

    def look(self) -> np.ndarray:
        """The canonical array, which may share the module's memory: to be read at once."""
        return self.get() if self.view is None else self.view()


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

        Returns the framework's (nested) outputs and, for each name in ``wrt``, the gradient or None
        where the output does not depend on the input.

        Raises:
            InvalidInput: an input in ``wrt`` does not hold floating values.
        """

    def compiled(self, function: Callable[..., Any], variant: str) -> Callable[..., Any]:
        """``function`` as this variant runs it: ``eager``, ``compile``, ``function`` or ``xla``."""
        if variant != "eager":
            raise InvalidInput(f"{self.name} has no variant {variant!r}")
        return function

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
        backward: bool = True,
        without: Collection[str] = (),
    ) -> ModuleRecord:
        """Forward pass, and backward pass unless not wanted, with every leaf layer recorded.

        Args:
            without: paths of parameters whose gradients are not wanted.
        """

    @abstractmethod
    def call_layer(
        self, module: Any, path: str, inputs: Sequence[np.ndarray], *, device: str = "cpu"
    ) -> np.ndarray:
        """Call the one layer at ``path`` with the given inputs and return its output."""

    def layer_output(
        self, module: Any, call: LayerCall, inputs: Sequence[np.ndarray], *, device: str = "cpu"
    ) -> Any:
        """What the layer of a recorded call makes of other inputs."""
        if call.replay is not None:
            return call.replay(inputs)
        return self.call_layer(module, call.path, inputs, device=device)

    def layer_gradients(
        self, module: Any, call: LayerCall, inputs: Sequence[np.ndarray], output_gradient: Any
    ) -> LayerGradients | None:
        """The backward pass of one layer alone; None where the module cannot say."""
        if call.replay_gradients is None:
            return None
        return call.replay_gradients(inputs, output_gradient)

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


def grown(shapes: Sequence[tuple[int, ...]], result: tuple[int, ...]) -> bool:
    """True where operands of different rank made a result larger than each of them.

    (T, B) with (B,) does not grow; (B,) with (B, 1) grows to (B, B).
    """
    ranked = [shape for shape in shapes if shape]
    if len({len(shape) for shape in ranked}) < 2:
        return False
    return math.prod(result) > max(math.prod(shape) for shape in ranked)


def user_line(*libraries: ModuleType) -> str:
    """``file:line: source`` of the innermost frame outside this package and ``libraries``."""
    roots = (_HERE, *(str(Path(library.__file__ or "").parent) for library in libraries))
    inside = tuple(root + os.sep for root in roots)
    for frame in reversed(traceback.extract_stack()):
        if not frame.filename.startswith((*inside, "<")):
            return f"{frame.filename}:{frame.lineno}: {(frame.line or '').strip()}"
    return "unknown"


def called_arguments(*libraries: ModuleType) -> list[Any]:
    """What the library function that the user called last was given: see :func:`user_line`.

    A wrapper's ``*args`` and ``**kwargs`` are given one by one. Empty where no such call is on the
    stack.
    """
    roots = tuple(str(Path(library.__file__ or "").parent) + os.sep for library in libraries)
    called, frame = None, sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_HERE + os.sep, *roots, "<")):
        if frame.f_code.co_filename.startswith(roots):
            called = frame
        frame = frame.f_back  # type: ignore[assignment]
    if called is None:
        return []
    given = inspect.getargvalues(called)
    values = [given.locals[name] for name in given.args if name in given.locals]
    values += given.locals.get(given.varargs or "", ())
    values += given.locals.get(given.keywords or "", {}).values()
    return values


def argument_names(
    function: Callable[..., Any], args: Sequence[int], kwargs: Any
) -> tuple[str, ...]:
    """The argument that each tensor came in.

    Args:
        args: how many tensors each positional argument holds; ``kwargs`` likewise, by name, in the
            order in which the framework flattens them.
    """
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for index, count in enumerate(args):
        names += [parameters[index] if index < len(parameters) else f"args{index}"] * count
    for name, count in dict(kwargs).items():
        names += [name] * count
    return tuple(names)


def calling_line(*libraries: ModuleType) -> str:
    """``file.py:12: source`` of the innermost user frame below a recording; empty without one."""
    roots = (_HERE, *(str(Path(library.__file__ or "").parent) for library in libraries))
    inside = tuple(root + os.sep for root in roots)
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name == "record_module" and code.co_filename.startswith(_HERE):
            return ""
        if (
            not code.co_filename.startswith((*inside, "<"))
            and "site-packages" not in code.co_filename
        ):
            line = linecache.getline(code.co_filename, frame.f_lineno).strip()
            return f"{code.co_filename}:{frame.f_lineno}: {line}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


_HERE = str(Path(__file__).resolve().parents[1])
