"""Numbers that a function's own code holds: literals, closure variables, globals, attributes.

Any of them can be set to another value for the length of one run, under the name that the user
gave it; that is how a constant which differs between the sides is found and named.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from parity.debug.sites import is_library

_DEPTH = 6


@dataclass(frozen=True)
class Constant:
    """One number in the code of a function.

    Attributes:
        key: finds the same number again in a function made by calling the factory again.
        name: the user's name; empty for a literal.
        value: a bool, int or float.
        where: ``file.py:12`` or ``function in file.py``.
        kind: ``closure``, ``global``, ``default``, ``literal`` or ``attribute``.
        put: sets another value and returns what sets the old one again.
    """

    key: str
    name: str
    value: Any
    where: str
    kind: str
    put: Callable[[Any], Callable[[], None]]


def constants_of(function: Any, factory: Any = None) -> list[Constant]:
    """Every number that the code of ``function`` and of the user's functions in it refers to."""
    found: dict[str, Constant] = {}
    seen: set[int] = set()
    for root, label in ((function, "f"), (factory, "made by")):
        if root is None:
            continue
        for constant in _of(root, label, seen, 0):
            found.setdefault(constant.key, constant)
    return list(found.values())


@contextmanager
def put(constants: list[Constant], values: dict[str, Any]) -> Iterator[None]:
    """Other values for some constants, by key."""
    undo = []
    try:
        for constant in constants:
            if constant.key in values:
                undo.append(constant.put(values[constant.key]))
        yield
    finally:
        for restore in reversed(undo):
            restore()


def _of(root: Any, path: str, seen: set[int], depth: int) -> Iterator[Constant]:
    function = unwrapped(root)
    if isinstance(root, functools.partial):
        yield from _partial(root, path)
    owner = getattr(root, "__self__", None)
    if owner is None and not isinstance(function, types.FunctionType):
        owner = root
        call = inspect.getattr_static(type(root), "__call__", None)
        function = call if isinstance(call, types.FunctionType) else None
    if owner is not None and not isinstance(owner, types.ModuleType):
        yield from _attributes(owner, path, seen)
    if not isinstance(function, types.FunctionType) or id(function) in seen or depth > _DEPTH:
        return
    seen.add(id(function))
    if is_library(function.__code__):
        return
    yield from _defaults(function, path)
    yield from _closure(function, path, seen, depth)
    yield from _globals(function, path, seen, depth)
    yield from _literals(function, path)


def unwrapped(function: Any) -> Any:
    """The plain function inside a ``tf.function``, a partial, a bound or a decorated one."""
    for _ in range(8):
        inner = getattr(function, "python_function", None) or getattr(function, "func", None)
        inner = inner or getattr(function, "__func__", None)
        inner = inner or getattr(function, "__wrapped__", None)
        if inner is None or not callable(inner):
            return function
        function = inner
    return function


def _number(value: Any) -> bool:
    return isinstance(value, (bool, int, float)) or (
        type(value).__module__ == "numpy"
        and getattr(value, "shape", None) == ()
        and getattr(value, "dtype", None) is not None
        and value.dtype.kind in "biuf"
    )


def _place(function: types.FunctionType) -> str:
    code = function.__code__
    return f"{code.co_filename.rsplit('/', 1)[-1]}:{code.co_firstlineno}"


def _defaults(function: types.FunctionType, path: str) -> Iterator[Constant]:
    names = [
        n for n, p in inspect.signature(function).parameters.items() if p.default is not p.empty
    ]
    for name in names:
        value = inspect.signature(function).parameters[name].default
        if not _number(value):
            continue

        def put(new: Any, name: str = name) -> Callable[[], None]:
            positional, keywords = function.__defaults__, dict(function.__kwdefaults__ or {})
            if name in keywords:
                function.__kwdefaults__ = {**keywords, name: new}
            else:
                order = [n for n in names if n not in keywords]
                changed = list(positional or ())
                changed[order.index(name)] = new
                function.__defaults__ = tuple(changed)

            def restore() -> None:
                function.__defaults__ = positional
                function.__kwdefaults__ = keywords or None

            return restore

        yield Constant(f"{path}({name})", name, value, _place(function), "default", put)


def _closure(
    function: types.FunctionType, path: str, seen: set[int], depth: int
) -> Iterator[Constant]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        if _number(value):

            def put(new: Any, cell: Any = cell) -> Callable[[], None]:
                old = cell.cell_contents
                cell.cell_contents = new

                def restore() -> None:
                    cell.cell_contents = old

                return restore

            yield Constant(f"{path}.{name}", name, value, _place(function), "closure", put)
        elif not isinstance(value, types.ModuleType):
            yield from _inside(value, f"{path}.{name}", seen, depth)


def _inside(value: Any, path: str, seen: set[int], depth: int) -> Iterator[Constant]:
    if isinstance(value, (type, types.ModuleType)):
        return
    root = (getattr(type(value), "__module__", "") or "").split(".")[0]
    if root in ("torch", "tensorflow", "keras", "tf_keras", "numpy") and not callable(value):
        return
    if isinstance(value, (list, tuple)) and len(value) <= 8:
        yield from _items(value, path)
    elif callable(value) or hasattr(value, "__dict__"):
        yield from _of(value, path, seen, depth + 1)


def _items(values: Any, path: str) -> Iterator[Constant]:
    if not isinstance(values, list):
        return
    for index, value in enumerate(values):
        if not _number(value):
            continue

        def put(new: Any, index: int = index) -> Callable[[], None]:
            old = values[index]
            values[index] = new

            def restore() -> None:
                values[index] = old

            return restore

        name = f"{path.rpartition('.')[2]}[{index}]"
        yield Constant(f"{path}[{index}]", name, value, "", "global", put)


def _globals(
    function: types.FunctionType, path: str, seen: set[int], depth: int
) -> Iterator[Constant]:
    space = function.__globals__
    for name in _names(function.__code__):
        if name not in space:
            continue
        value = space[name]
        if _number(value):

            def put(new: Any, name: str = name) -> Callable[[], None]:
                old = space[name]
                space[name] = new

                def restore() -> None:
                    space[name] = old

                return restore

            yield Constant(f"global {name}", name, value, _place(function), "global", put)
        else:
            yield from _inside(value, f"global {name}", seen, depth)


def _names(code: types.CodeType) -> list[str]:
    found = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found += _names(constant)
    return list(dict.fromkeys(found))


def _literals(function: types.FunctionType, path: str) -> Iterator[Constant]:
    for trail, code in _codes(function.__code__, ()):
        for index, value in enumerate(code.co_consts):
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                continue

            def put(
                new: Any, trail: tuple[int, ...] = trail, index: int = index
            ) -> Callable[[], None]:
                old = function.__code__
                function.__code__ = _replaced(old, trail, index, new)

                def restore() -> None:
                    function.__code__ = old

                return restore

            where = f"{code.co_filename.rsplit('/', 1)[-1]}:{code.co_firstlineno}"
            key = f"{path}#{'.'.join(map(str, (*trail, index)))}"
            yield Constant(key, "", value, where, "literal", put)


def _codes(
    code: types.CodeType, trail: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], types.CodeType]]:
    yield trail, code
    for index, constant in enumerate(code.co_consts):
        if isinstance(constant, types.CodeType):
            yield from _codes(constant, (*trail, index))


def _replaced(
    code: types.CodeType, trail: tuple[int, ...], index: int, value: Any
) -> types.CodeType:
    constants = list(code.co_consts)
    if trail:
        inner = constants[trail[0]]
        constants[trail[0]] = _replaced(inner, trail[1:], index, value)
    else:
        constants[index] = value
    return code.replace(co_consts=tuple(constants))


def _attributes(owner: Any, path: str, seen: set[int]) -> Iterator[Constant]:
    if id(owner) in seen:
        return
    seen.add(id(owner))
    root = (type(owner).__module__ or "").split(".")[0]
    for name, value in list(getattr(owner, "__dict__", {}).items()):
        if not _number(value) or name.startswith("_"):
            continue
        if root in ("torch", "tensorflow", "keras", "tf_keras"):
            continue  # settings of layers are compared as settings, with their own conventions

        def put(new: Any, name: str = name) -> Callable[[], None]:
            old = getattr(owner, name)
            object.__setattr__(owner, name, new)

            def restore() -> None:
                object.__setattr__(owner, name, old)

            return restore

        where = type(owner).__name__
        yield Constant(f"{path}->{name}", name, value, where, "attribute", put)


def _partial(root: Any, path: str) -> Iterator[Constant]:
    for name, value in root.keywords.items():
        if not _number(value):
            continue

        def put(new: Any, name: str = name) -> Callable[[], None]:
            old = root.keywords[name]
            root.keywords[name] = new

            def restore() -> None:
                root.keywords[name] = old

            return restore

        yield Constant(f"{path}({name})", name, value, "partial", "default", put)
