"""Sees every torch operation, forward and backward, with the user's line that asked for it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from parity.backends import numpy_draws, numpy_intercept
from parity.debug.sites import Site, chain_of

_LIMIT = 20_000
_LARGEST = 4_000_000
_SMALL = 64
_VIEWS = frozenset("slice select view t transpose detach alias as_strided unsqueeze expand".split())
"""Operations that only look at a tensor, often to write to it."""


@dataclass
class TorchCall:
    """One operation of torch: its values as arrays, its numbers, and where it stands.

    Attributes:
        inputs: positions in the record of the values that it was given; -1 for one that none of
            the recorded operations made.
        held: small tensors among these: numbers and rows of numbers that the code holds.
    """

    op: str
    site: Site
    output: list[np.ndarray]
    numbers: list[float]
    backward: bool
    inputs: list[int] | None = None
    held: list[np.ndarray] = field(default_factory=list)


class Recorder(TorchDispatchMode):
    """Records operations as they run; values are copied, since later ones may change them."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[TorchCall] = []
        # position, the tensor (kept, so that its id is its own), how often it was written to
        self._made: dict[int, tuple[int, Any, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if len(self.calls) < _LIMIT and func.overloadpacket.__name__ not in _VIEWS:
            self._filled(tree_leaves((args, kwargs or {})))
        result = func(*args, **(kwargs or {}))
        if len(self.calls) < _LIMIT:
            leaves = tree_leaves((args, kwargs or {}))
            numbers = [float(x) for x in leaves if isinstance(x, (int, float))]
            made = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
            values = [_array(t) for t in made]
            tensors = [t for t in leaves if isinstance(t, torch.Tensor)]
            given = [self._made.get(id(t), (-1,))[0] for t in tensors]
            small = [t for t in tensors if t.ndim <= 1 and t.numel() <= _SMALL]
            held = [_array(t) for t in small if id(t) not in self._made]
            for tensor in made:
                self._made[id(tensor)] = len(self.calls), tensor, _version(tensor)
            self.calls.append(
                TorchCall(
                    str(func.overloadpacket).removeprefix("aten."),
                    Site(str(func.overloadpacket), chain_of(sys._getframe(1))),
                    [v for v in values if v is not None],
                    numbers,
                    torch._C._current_graph_task_id() != -1,
                    given,
                    [a for a in held if a is not None],
                )
            )
        return result

    def _filled(self, given: list[Any]) -> None:
        """Record tensors anew that were written to through views: ``returns[t] = ...``."""
        for tensor in given:
            known = self._made.get(id(tensor)) if isinstance(tensor, torch.Tensor) else None
            if known is None or _version(tensor) == known[2]:
                continue
            array = _array(tensor)
            if array is not None:
                index, _, _ = known
                site = self.calls[index].site
                self._made[id(tensor)] = len(self.calls), tensor, _version(tensor)
                self.calls.append(TorchCall("filled", site, [array], [], False, [index]))


def _version(tensor: Any) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:  # one made for inference keeps no count
        return 0


class _NumpyListener:
    """Operations of NumPy on the function's arrays, recorded like torch's."""

    def __init__(self, calls: list[TorchCall]) -> None:
        self.calls = calls

    def numpy_call(
        self, op: str, inputs: list[Any], run: Callable[..., Any], frame: FrameType
    ) -> Any:
        result = run()
        site = Site(op, chain_of(frame))
        kept = isinstance(result, (np.ndarray, np.generic)) and bool(site.chain)
        if len(self.calls) < _LIMIT and kept:
            numbers = [float(x) for x in inputs if isinstance(x, (int, float))]
            value = np.array(result)
            self.calls.append(TorchCall(op, site, [value], numbers, False))
        return result


def _array(tensor: torch.Tensor) -> np.ndarray | None:
    if tensor.numel() > _LARGEST or tensor.is_sparse or tensor.is_meta:
        return None
    with torch._C._DisableTorchDispatch():
        plain = tensor.detach()
        if plain.dtype is torch.bfloat16:
            plain = plain.float()
        try:
            return np.array(plain.cpu().numpy())
        except (RuntimeError, TypeError):  # a fake or quantised tensor holds nothing to compare
            return None


@dataclass
class TorchStep:
    """One step of a torch optimizer: what it had, what it was given, what it made of it."""

    optimizer: Any
    parameters: list[Any]
    gradients: list[np.ndarray | None]
    before: list[np.ndarray]
    settings: list[dict[str, Any]]
    after: list[np.ndarray] = field(default_factory=list)


@dataclass
class TorchRecord:
    """What torch executed, the settings of the objects that took part, and optimizer steps."""

    calls: list[TorchCall] = field(default_factory=list)
    settings: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    steps: list[TorchStep] = field(default_factory=list)


@contextmanager
def intercept() -> Iterator[TorchRecord]:
    """Record what torch executes inside."""
    record, seen = TorchRecord(), set()

    def module_called(module: Any, inputs: Any) -> None:
        if id(module) not in seen:
            seen.add(id(module))
            record.settings.append((type(module).__name__, _plain(vars(module))))

    def stepping(optimizer: Any, args: Any, kwargs: Any) -> None:
        record.steps.append(_step(optimizer))
        if id(optimizer) not in seen:
            seen.add(id(optimizer))
            group = optimizer.param_groups[0]
            record.settings.append((type(optimizer).__name__, _plain(group)))

    def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
        record.steps[-1].after = [_copy(p) for p in record.steps[-1].parameters]

    hooks = [
        register_module_forward_pre_hook(module_called),
        register_optimizer_step_pre_hook(stepping),
        register_optimizer_step_post_hook(stepped),
    ]
    recorder = Recorder()
    record.calls = recorder.calls
    try:
        listener = numpy_intercept.listening(_NumpyListener(recorder.calls))
        with recorder, _initialisers(record), listener, numpy_draws.drawing():
            yield record
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def _initialisers(record: TorchRecord) -> Iterator[None]:
    """Calls of ``torch.nn.init`` with their arguments, which are otherwise lost."""
    kept = {}

    def wrapped(name: str, original: Any) -> Any:
        signature = inspect.signature(original)

        def function(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                record.settings.append((f"nn.init.{name}", _plain(bound.arguments)))
            except TypeError:  # the call itself will say so
                pass
            return original(*args, **kwargs)

        return function

    for name, original in vars(torch.nn.init).items():
        if name.endswith("_") and not name.startswith("_") and callable(original):
            kept[name] = original
    try:
        for name, original in kept.items():
            setattr(torch.nn.init, name, wrapped(name, original))
        yield
    finally:
        for name, original in kept.items():
            setattr(torch.nn.init, name, original)


def _step(optimizer: Any) -> TorchStep:
    parameters, settings = [], []
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameters.append(parameter)
            settings.append({k: v for k, v in group.items() if k != "params"})
    gradients = [None if p.grad is None else _copy(p.grad) for p in parameters]
    return TorchStep(optimizer, parameters, gradients, [_copy(p) for p in parameters], settings)


def _copy(tensor: Any) -> np.ndarray:
    found = _array(tensor)
    return np.zeros(0) if found is None else found


def _plain(values: Any) -> dict[str, Any]:
    found = {}
    for name, value in dict(values).items():
        if name.startswith("_") or name == "params":
            continue
        if value is None or isinstance(value, (bool, int, float, str)):
            found[name] = value
        elif isinstance(value, (tuple, list)) and all(isinstance(v, float) for v in value):
            found.update({f"{name}[{i}]": v for i, v in enumerate(value)})
    return found
