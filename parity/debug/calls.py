"""Calls one side of a pair of functions: with tensors or with arrays, in either precision.

A function on tensors is differentiated by its framework; one that takes NumPy arrays does its own
conversions, so what it returns is all there is to compare.
"""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from parity import progress
from parity.backends import get_backend
from parity.backends.base import Broadcast
from parity.debug import streams
from parity.debug.inputs import bind
from parity.debug.modules import cotangents
from parity.debug.precision import float64_policy, keras_twin
from parity.debug.subjects import Subject, describe
from parity.errors import InvalidInput
from parity.trace import Trace, flatten

TENSORS, ARRAYS = "tensors", "arrays"
Arrays = Mapping[str, np.ndarray]


@dataclass
class Outcome:
    """What a function returned.

    Attributes:
        trace: ``output/...`` and, for a function on tensors, ``grad/<input>``.
        style: ``tensors`` or ``arrays``: what the function was called with.
        without: inputs to which no gradient flows.
        events: operands that silently broadcast into something larger.
        differentiable: what came out are tensors of the framework.
    """

    trace: Trace
    style: str
    without: set[str] = field(default_factory=set)
    events: list[Broadcast] = field(default_factory=list)
    differentiable: bool = False


@dataclass
class Caller:
    """One side, ready to be called again and again.

    Attributes:
        swapped: the first two inputs change places (a raw loss of Keras takes the target first).
        style: found at the first call.
        stopped: inputs through which no gradient is to flow back.
        rehearsed: where set, the function is called twice, and this in between.
        recorded: it answers with what was recorded elsewhere, and runs nothing.
        masks: inputs of zeros and ones, which no gradient is taken of; found at the first call.
        current: what the function was given last, by name.
        wrap: makes of each array what the function is given, where it takes arrays.
        alter: entered around the call with the function that was made, after its factory ran.
    """

    subject: Subject
    side: str
    seed: int = 0
    swapped: bool = False
    style: str | None = None
    alter: Callable[[Any], AbstractContextManager[Any]] = lambda made: nullcontext()
    wrap: Callable[[np.ndarray], Any] = np.array
    stopped: tuple[str, ...] = ()
    current: dict[str, Any] = field(default_factory=dict)
    masks: frozenset[str] | None = None
    rehearsed: Callable[[], None] | None = None
    recorded: ClassVar[bool] = False

    def __call__(
        self,
        inputs: Arrays,
        dtype: str,
        *,
        inside: Callable[[], AbstractContextManager[Any]] = nullcontext,
        prefer: str = TENSORS,
    ) -> Outcome:
        """Call a fresh function once.

        Args:
            inputs: by position, in their order.
            dtype: floating inputs are cast to it; defaults of the framework follow.
            inside: entered around the call, factory included.
            prefer: the style to try first where none is known yet.

        Raises:
            InvalidInput: the function refuses the inputs in both styles.
        """
        progress.step(f"{self.side} function, call in {dtype}")
        styles = [self.style] if self.style else [prefer, ARRAYS if prefer == TENSORS else TENSORS]
        failures: list[BaseException] = []
        for style in styles:
            try:
                with streams.unmoved(), wide_defaults(dtype), self._guard(dtype), inside():
                    outcome = self._call(style, inputs, dtype)
            except Exception as error:
                failures.append(error)
                continue
            self.style = style
            return outcome
        shapes = {name: tuple(np.shape(a)) for name, a in inputs.items()}
        raise InvalidInput(
            f"{self.subject.label} refuses inputs {shapes} in {dtype}: {describe(failures[0])}"
        ) from failures[0]

    def _guard(self, dtype: str) -> AbstractContextManager[Any]:
        """In a float64 run TensorFlow must refuse mixed dtypes in time: some kernels abort."""
        if self.side != "tf" or dtype != "float64":
            return nullcontext()
        from parity.backends.tf_intercept import intercept

        return intercept(eagerly=False)

    def _call(self, style: str, inputs: Arrays, dtype: str) -> Outcome:
        function = self.made(dtype, inputs)
        with self.alter(function):
            return self._with(function, style, inputs, dtype)

    def _with(self, function: Any, style: str, inputs: Arrays, dtype: str) -> Outcome:
        arrays = {name: typed(a, dtype) for name, a in inputs.items()}
        if self.masks is None:
            self.masks = frozenset(n for n, a in arrays.items() if is_mask(n, a))
        names = bind(list(arrays), function, self.subject.label)
        if self.swapped:
            names[:2] = names[1::-1]
        if style == ARRAYS:
            self.current = {n: a[()] if a.ndim == 0 else self.wrap(a) for n, a in arrays.items()}
            found = self._twice(function, [self.current[n] for n in names])
            return Outcome(_trace(found, {}, self.side), style)
        outputs, gradients = get_backend(self.side).value_and_grad(
            lambda **tensors: self._twice(function, [self._given(n, tensors[n]) for n in names]),
            arrays,
            wrt=[n for n, a in arrays.items() if a.dtype.kind == "f" and n not in self.masks],
            cotangents=cotangents(self.seed),
            dtype=dtype,
        )
        without = {n for n, g in gradients.items() if g is None}
        trace = _trace(outputs, gradients, self.side)
        return Outcome(trace, style, without, differentiable=_tensors(outputs, self.side))

    def _twice(self, function: Any, given: list[Any]) -> Any:
        if self.rehearsed is not None:
            function(*given)
            self.rehearsed()
        return function(*given)

    def _given(self, name: str, tensor: Any) -> Any:
        self.current[name] = tensor
        if name not in self.stopped:
            return tensor
        if self.side == "torch":
            return tensor.detach()
        return sys.modules["tensorflow"].stop_gradient(tensor)

    def made(self, dtype: str, inputs: Arrays) -> Callable[..., Any]:
        """The function itself; a fresh one where there is a factory."""
        subject = self.subject
        if subject.kind == "module":
            return as_function(_module(subject, dtype, inputs))
        if subject.factory is None:
            return as_function(subject.value)
        return as_function(subject.factory())


def watched(caller: Caller, inputs: Arrays, dtype: str, *, prefer: str = TENSORS) -> Outcome:
    """Call it with an eye on operands that silently broadcast."""
    if caller.recorded:
        return caller(inputs, dtype, prefer=prefer)
    backend = get_backend(caller.side)
    events: list[Broadcast] = []

    @contextmanager
    def watch() -> Iterator[None]:
        with backend.watch_broadcasts() as seen, _as_written(backend.name):
            try:
                yield
            finally:
                events[:] = seen

    outcome = caller(inputs, dtype, inside=watch, prefer=prefer)
    outcome.events = list(dict.fromkeys(events))
    return outcome


@contextmanager
def _as_written(side: str) -> Iterator[None]:
    """The watch runs ``tf.function`` bodies eagerly; what a trace freezes would not show."""
    if side != "tf":
        yield
        return
    import tensorflow as tf

    eagerly = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(False)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(eagerly)


_MASK_NAMES = re.compile(r"done|mask|terminal|terminated|truncated|^is_|^not_", re.IGNORECASE)


def is_mask(name: str, array: np.ndarray) -> bool:
    """Zeros and ones: what a function makes of numbers in between is nobody's concern."""
    values = set(np.unique(array).tolist()) if array.size < 1_000_000 else {0.5}
    if values == {0.0, 1.0}:
        return array.size > 1
    return values <= {0.0, 1.0} and bool(_MASK_NAMES.search(name))


def typed(array: np.ndarray, dtype: str) -> np.ndarray:
    """Floats in this dtype, all rounded to float32 first so that both precisions see the same."""
    array = np.asarray(array)
    if array.dtype.kind != "f" or dtype == "given":
        return array
    return array.astype(np.float32).astype(dtype)


def as_function(value: Any) -> Callable[..., Any]:
    """A module or function as something to call with one tensor per input."""
    inputs = getattr(value, "inputs", None)
    if isinstance(inputs, (list, tuple)) and len(inputs) > 1 and hasattr(value, "layers"):
        return lambda *tensors: value(list(tensors))  # a functional Keras model takes a list
    return value  # type: ignore[no-any-return]


@contextmanager
def wide_defaults(dtype: str) -> Iterator[None]:
    """Under float64, what the function itself makes (layers, tensors) is float64 too."""
    torch = sys.modules.get("torch")
    if dtype != "float64":
        yield
        return
    before = torch.get_default_dtype() if torch is not None else None
    try:
        if torch is not None:
            torch.set_default_dtype(torch.float64)
        with float64_policy(None):
            yield
    finally:
        if torch is not None:
            torch.set_default_dtype(before)


def _module(subject: Subject, dtype: str, inputs: Arrays) -> Any:
    """A copy with the same weights: a check must not move the user's own running statistics."""
    value = subject.value
    if subject.side == "torch":
        twin = copy.deepcopy(value)
        return twin.double() if dtype == "float64" else twin
    if dtype != "float64":
        return value
    backend = get_backend("tf")

    def build(module: Any) -> None:
        as_function(module)(*(backend.tensor(typed(a, dtype)) for a in inputs.values()))

    made = keras_twin(subject, build)
    if made.module is None:
        raise InvalidInput(f"{subject.label}: no float64 twin ({made.reason})")
    return made.module


def _tensors(outputs: Any, side: str) -> bool:
    """Whether what came out still belongs to the framework, and so has a gradient."""
    module = sys.modules["torch" if side == "torch" else "tensorflow"]
    return all(isinstance(leaf, module.Tensor) for _, leaf in flatten(outputs))


def _trace(outputs: Any, gradients: Mapping[str, Any], side: str) -> Trace:
    trace = Trace(side=side)
    trace.extend(dict(flatten(outputs)), scope="output")
    for name, gradient in gradients.items():
        if gradient is not None:
            trace.add(f"grad/{name}", gradient)
    return trace
