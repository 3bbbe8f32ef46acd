"""Sees, and may change, every TensorFlow operation that runs eagerly.

All generated operations go through one function of TensorFlow's C extension, above the gradient
tape: what is put in place of a result there is differentiated like the original would have been.
``tf.function`` bodies run eagerly meanwhile, as they could not be seen otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.op_def_pb2 import OpDef
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import backprop, context, core, execute
from tensorflow.python.framework import op_def_registry

from parity.backends import numpy_draws, numpy_intercept
from parity.debug.sites import Site, chain_of

PASS = object()
"""What an edit returns to leave an operation alone."""

#: Bookkeeping without values of the user's.
SILENT = frozenset(["VarHandleOp", "DestroyResourceOp", "DeleteSeedGenerator"])
_LIMIT = 20_000
_APPLY = ("ResourceApply", "ResourceSparseApply")
_FLOATS = (tf.float16, tf.bfloat16, tf.float32, tf.float64)


@dataclass
class OpCall:
    """One operation: what went in, what came out, and where it was asked for."""

    op: str
    inputs: list[Any]
    attributes: dict[str, Any]
    site: Site
    occurrence: int
    backward: bool
    session: Session = field(repr=False)
    output: Any = None
    plain: Callable[..., Any] | None = field(default=None, repr=False)

    def run(
        self,
        inputs: Sequence[Any] | None = None,
        attributes: dict[str, Any] | None = None,
        op: str | None = None,
    ) -> Any:
        """Execute the operation, or one like it, without being intercepted."""
        given = self.inputs if inputs is None else inputs
        if self.plain is not None:  # an operation of NumPy
            return self.plain([np.asarray(x) for x in given], op)
        named = self.attributes if attributes is None else attributes
        flat = [part for pair in named.items() for part in pair]
        return self.session.execute(op or self.op, [*as_tensors(op or self.op, given), *flat])

    @property
    def outputs(self) -> list[Any]:
        if self.output is None:
            return []
        return list(self.output) if isinstance(self.output, (list, tuple)) else [self.output]


Edit = Callable[[OpCall], Any]


class Session:
    """One run of a function under interception.

    Attributes:
        calls: what was executed, in order; filled where ``record`` was asked for.
        latest: site -> the value it made last, which is the value of the same turn of a loop.
    """

    def __init__(self, edit: Edit | None = None, *, record: bool = False) -> None:
        self.edit = edit
        self.record = record
        self.calls: list[OpCall] = []
        self.latest: dict[Site, Any] = {}
        self.backward = 0
        self.rehearsing = False
        self.first: dict[tuple[Site, int], Any] = {}
        self._counts: dict[Site, int] = {}
        self._inside = False
        self._replaced: set[int] = set()

    def again(self) -> None:
        """The rehearsal is over: what it made can be used, and the sites count from one again."""
        self.rehearsing = False
        self._counts, self.latest = {}, {}

    def execute(self, op: str, arguments: Sequence[Any]) -> Any:
        return _fast(context.context(), op, None, *arguments)

    def seen(self, handle: Any, op: str, name: Any, arguments: tuple[Any, ...]) -> Any:
        """Stands in for the C function."""
        if self._inside or op in SILENT:
            return _fast(handle, op, name, *arguments)
        count = _input_count(op)
        if op.startswith(_APPLY):
            _refuse_mixed(op, arguments[:count])
        inputs = [tf.convert_to_tensor(x) if isinstance(x, tf.Variable) else x
                  for x in arguments[:count]]  # fmt: skip
        arguments = (*inputs, *arguments[count:])
        call = self._call(op, inputs, _pairs(arguments[count:]), sys._getframe(2))
        call.output = self._run(call, handle, name, arguments)
        self._keep(call)
        return call.output

    def _call(
        self, op: str, inputs: list[Any], attributes: dict[str, Any], frame: FrameType
    ) -> OpCall:
        site = Site(op, chain_of(frame))
        occurrence = self._counts.get(site, 0)
        self._counts[site] = occurrence + 1
        return OpCall(op, inputs, attributes, site, occurrence, self.backward > 0, self)

    def _keep(self, call: OpCall) -> None:
        if not call.backward:
            self.latest[call.site] = call.output
            if self.rehearsing:
                self.first[call.site, call.occurrence] = call.output
        if self.record and len(self.calls) < _LIMIT:
            self.calls.append(call)

    def _run(self, call: OpCall, handle: Any, name: Any, arguments: tuple[Any, ...]) -> Any:
        if self.edit is not None:
            self._inside = True  # operations that the edit itself asks for are not edited
            try:
                changed = self.edit(call)
            except core._FallbackException as error:
                raise RuntimeError(f"{call.op}: the edit cannot run") from error
            finally:
                self._inside = False
            if changed is not PASS:
                return changed
        return _fast(handle, call.op, name, *arguments)

    def numpy_call(
        self, op: str, inputs: list[Any], run: Callable[..., Any], frame: FrameType
    ) -> Any:
        """An operation of NumPy on one of the function's arrays."""
        if self._inside:
            return run()
        call = self._call(op, inputs, {}, frame)
        if not call.site.chain:  # not on the function's behalf
            return run()
        call.plain = run
        changed: Any = PASS
        if self.edit is not None:
            self._inside = True
            try:
                changed = self.edit(call)
            finally:
                self._inside = False
        result = run() if changed is PASS else np.asarray(changed)
        # the same object is given on, so that what is made from it is known
        call.output = numpy_intercept._wrapped(result)
        self._keep(call)
        return call.output

    def seen_slow(self, op: str, count: int, inputs: list[Any], attrs: Any, ctx: Any) -> Any:
        """Stands in for ``execute``, which takes what the fast path cannot convert."""
        if self._inside or op in SILENT:
            return _slow(op.encode(), count, inputs, attrs, ctx, None)
        call = self._call(op, _regrouped(op, inputs, attrs), _pairs(attrs), sys._getframe(2))
        changed: Any = PASS
        if self.edit is not None:
            self._inside = True
            try:
                changed = self.edit(call)
            finally:
                self._inside = False
        if changed is PASS:
            found = _slow(op.encode(), count, inputs, attrs, ctx, None)
        else:
            found = list(changed) if isinstance(changed, (list, tuple)) else [changed]
            self._replaced.update(id(t) for t in found)
        call.output = found if count > 1 else (found[0] if found else None)
        self._keep(call)
        return found

    def recorded(self, op: str, inputs: Any, attrs: Any, outputs: Any) -> None:
        """Stands in for ``record_gradient``: what an edit made has its own gradient already."""
        if not any(id(t) in self._replaced for t in outputs):
            _record(op, inputs, attrs, outputs)


def as_tensors(op: str, inputs: Sequence[Any]) -> list[Any]:
    """Inputs as tensors, in the dtypes that the operation needs: the fast path takes no others."""
    definition: OpDef | None = op_def_registry.get(op)
    arguments = list(definition.input_arg) if definition is not None else []
    if len(arguments) != len(inputs):
        return list(inputs)
    kinds = {
        a.type_attr: x.dtype
        for a, x in zip(arguments, inputs, strict=True)
        if a.type_attr and isinstance(x, tf.Tensor)
    }
    found = []
    for argument, value in zip(arguments, inputs, strict=True):
        if isinstance(value, tf.Tensor) or argument.number_attr or argument.type_list_attr:
            found.append(value)
            continue
        dtype = tf.as_dtype(argument.type) if argument.type else kinds.get(argument.type_attr)
        found.append(tf.convert_to_tensor(value, dtype=dtype))
    return found


def _refuse_mixed(op: str, inputs: Sequence[Any]) -> None:
    """The kernels of optimizers end the whole process where their variables differ in dtype."""
    found = {str(d) for d in map(_handle_dtype, inputs) if d is not None}
    if len(found) > 1:
        raise TypeError(f"{op}: variables of dtypes {' and '.join(sorted(found))}")


def _handle_dtype(value: Any) -> Any:
    data = getattr(value, "_handle_data", None)
    if data is None or not data.shape_and_type:
        return value.dtype.name if getattr(value, "dtype", None) in _FLOATS else None
    return tf.as_dtype(data.shape_and_type[0].dtype).name


def _pairs(flat: Any) -> dict[str, Any]:
    parts = list(flat or ())
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _regrouped(op: str, inputs: Sequence[Any], attrs: Any) -> list[Any]:
    """Flat inputs as the operation's arguments: those that are lists become lists again."""
    definition: OpDef | None = op_def_registry.get(op)
    if definition is None:
        return list(inputs)
    named, rest = _pairs(attrs), list(inputs)
    found: list[Any] = []
    for argument in definition.input_arg:
        length = named.get(argument.number_attr) if argument.number_attr else None
        if length is None and argument.number_attr:
            length = len(rest) - (len(definition.input_arg) - len(found) - 1)
        if length is None:
            found.append(rest.pop(0) if rest else None)
        else:
            found.append([rest.pop(0) for _ in range(int(length))])
    return found


_definitions: dict[str, int] = {}


def _input_count(op: str) -> int:
    if op not in _definitions:
        definition: OpDef | None = op_def_registry.get(op)
        _definitions[op] = len(definition.input_arg) if definition is not None else 0
    return _definitions[op]


_fast = pywrap_tfe.TFE_Py_FastPathExecute
_slow = execute.execute
_record = execute.record_gradient  # set by backprop, which is imported above
assert backprop is not None
_gradient = pywrap_tfe.TFE_Py_TapeGradient


@contextmanager
def intercept(
    edit: Edit | None = None, *, record: bool = False, eagerly: bool = True
) -> Iterator[Session]:
    """Run TensorFlow code with its operations recorded, or changed by ``edit``.

    Args:
        edit: sees each operation of the forward pass before it runs; returns a result to put in
            its place, or ``PASS``.
        record: keep every call, with its values.
        eagerly: run the bodies of ``tf.function`` eagerly too.
    """
    session = Session(edit, record=record)

    def fast(handle: Any, op: str, name: Any, *arguments: Any) -> Any:
        return session.seen(handle, op, name, arguments)

    def slow(op: Any, count: int, inputs: Any, attrs: Any, ctx: Any, name: Any = None) -> Any:
        text = op.decode() if isinstance(op, bytes) else str(op)
        return session.seen_slow(text, count, list(inputs), attrs, ctx)

    def gradient(*arguments: Any) -> Any:
        session.backward += 1
        try:
            return _gradient(*arguments)
        finally:
            session.backward -= 1

    before = tf.config.functions_run_eagerly()
    listener = numpy_intercept.listening(session)
    tf.config.run_functions_eagerly(eagerly)
    pywrap_tfe.TFE_Py_FastPathExecute = fast
    pywrap_tfe.TFE_Py_TapeGradient = gradient
    execute.execute = slow
    execute.record_gradient = session.recorded
    try:
        with listener, numpy_draws.drawing():
            yield session
    finally:
        pywrap_tfe.TFE_Py_FastPathExecute = _fast
        pywrap_tfe.TFE_Py_TapeGradient = _gradient
        execute.execute = _slow
        execute.record_gradient = _record
        tf.config.run_functions_eagerly(before)
