"""What stateful checks need of a framework: variables, writing to them, and compiled steps.

Like the adapters this is a place that may import a framework, and does so only when it is asked to
do something for a side of that framework.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.errors import InvalidInput

if TYPE_CHECKING:
    from parity.component import Side


@dataclass(frozen=True)
class Step:
    """A step function, run as its side's variant asks.

    Attributes:
        call: the function; compiled unless the variant is ``eager``.
        traces: how often it was traced or compiled so far; 0 in eager mode.
    """

    call: Callable[..., Any]
    traces: Callable[[], int]


def make_variable(side: Side, array: np.ndarray) -> Any:
    """A trainable variable of the side's framework and dtype that holds a copy of ``array``."""
    tensor = side.backend.tensor(array, dtype=side.dtype, device=side.device)
    framework = framework_of(side)
    if framework == "torch":
        import torch

        return torch.nn.Parameter(tensor.detach().clone(), tensor.is_floating_point())
    if framework == "tf":
        import tensorflow as tf

        with tf.device(tensor.device):
            return tf.Variable(tensor)
    return np.array(tensor, copy=True)


def write_variable(variable: Any, array: np.ndarray) -> None:
    """Overwrite a variable of any framework in place; the values are cast to its dtype."""
    if isinstance(variable, np.ndarray):
        variable[...] = array
    elif hasattr(variable, "assign"):
        variable.assign(np.asarray(array, variable.dtype.as_numpy_dtype))
    else:
        import torch

        with torch.no_grad():
            variable.copy_(torch.from_numpy(np.ascontiguousarray(array).reshape(array.shape)))


def make_step(side: Side, function: Callable[..., Any]) -> Step:
    """``function`` as the side's variant runs it.

    ``compile`` is ``torch.compile`` in one graph (a graph break is an error), ``function`` is
    ``tf.function``, ``xla`` is ``tf.function(jit_compile=True)``.

    Raises:
        InvalidInput: the side's framework has no such variant.
    """
    framework = framework_of(side)
    if side.variant == "eager" or framework == "reference":
        return Step(function, lambda: 0)
    if framework == "torch" and side.variant == "compile":
        return _torch_compiled(function)
    if framework == "tf" and side.variant in ("function", "xla"):
        import tensorflow as tf

        traced = tf.function(function, jit_compile=side.variant == "xla" or None)
        return Step(traced, lambda: int(traced.experimental_get_tracing_count()))
    raise InvalidInput(f"side {side.name!r} has no variant {side.variant!r}")


def framework_of(side: Side) -> str:
    """``torch`` for the sides ``torch`` and ``torch-eager``."""
    return side.name.partition("-")[0]


def _torch_compiled(function: Callable[..., Any]) -> Step:
    import torch

    compilations = 0
    inductor = torch._dynamo.lookup_backend("inductor")

    def counting(graph: Any, inputs: Any) -> Any:
        nonlocal compilations
        # The first attempt may end in a request to start again with other inputs (it does where the
        # graph holds Python floats and no cache is warm): only what was compiled counts.
        with warnings.catch_warnings():
            # the compiler's own imports use functions of torch that torch has deprecated
            warnings.simplefilter("ignore", DeprecationWarning)
            compiled = inductor(graph, inputs)
        compilations += 1
        return compiled

    run = torch.compile(_with_own_code(function), fullgraph=True, backend=counting)
    return Step(run, lambda: compilations)


def _with_own_code(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a function or method with a code object of its own.

    torch limits how often one code object is compiled again, so steps made by the same line of a
    check would use up each other's limit.
    """
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, FunctionType):
        return function
    code, name = plain.__code__.replace(), plain.__name__
    copy = FunctionType(code, plain.__globals__, name, plain.__defaults__, plain.__closure__)
    copy.__kwdefaults__ = plain.__kwdefaults__
    return MethodType(copy, function.__self__) if isinstance(function, MethodType) else copy
