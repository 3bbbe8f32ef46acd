"""What the user names (``file.py:name``, ``package.module:name``) and what kind of thing it is.

A name may stand for an object or for a zero-argument factory. A factory is better: it can be called
again under a float64 policy, and each check starts from a fresh object.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.errors import InvalidInput

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_NUMBERS = re.compile(r"\[[-+.\deE\s\[\]]{20,}\]")
FRAMEWORK_MODULES = {"torch": "torch", "tensorflow": "tf", "keras": "tf", "tf_keras": "tf"}


@dataclass(frozen=True)
class Subject:
    """One side of a pair.

    Attributes:
        label: how the user named it.
        side: ``torch`` or ``tf``; None where nothing about the object tells.
        kind: ``module``, ``function``, ``optimizer``, ``environment`` or ``agent``.
        value: the object.
        factory: makes a fresh one; None where the user gave the object itself.
    """

    label: str
    side: str | None
    kind: str
    value: Any
    factory: Callable[[], Any] | None = None


def load(target: str) -> Any:
    """Import what ``file.py:name`` or ``package.module:name`` points at.

    Raises:
        InvalidInput: no such file, module or name, or importing it failed.
    """
    path, separator, name = target.rpartition(":")
    if not separator or not path or not name:
        example = f", e.g. {target}:make_model" if target.endswith(".py") else ""
        raise InvalidInput(
            f"{target!r}: name a side as file.py:name or package.module:name{example}"
        )
    module = _load_file(Path(path)) if path.endswith(".py") else _load_module(path)
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise InvalidInput(f"{target}: no {part!r} in {path}{_near(part, value)}")
        value = getattr(value, part)
    return value


def require_file(target: str) -> None:
    """Refuse a target whose file is not there, before anything is imported."""
    path = target.rpartition(":")[0]
    if path.endswith(".py") and not Path(path).is_file():
        raise InvalidInput(f"{path}: no such file{_near_file(Path(path))}")


def resolve(value: Any, label: str, seed: int = 0) -> Subject:
    """Find out what an object is; call it if it is a zero-argument factory.

    Args:
        seed: of torch's generator while the factory draws its weights.

    Raises:
        InvalidInput: the factory failed, or the object is of no kind that can be checked.
    """
    known = classify(value)
    if known is not None:
        return Subject(label, known[0] or _inside(value, known[1]), known[1], value)
    if not callable(value):
        raise InvalidInput(
            f"{label}: a {type(value).__name__} is neither a module, an optimizer nor a callable"
        )
    if not takes_nothing(value):
        return Subject(label, framework_of(value), "function", value)
    with _drawing_from(seed):
        made = call_factory(value, label)
    known = classify(made)
    if known is not None:
        side = known[0] or _inside(made, known[1]) or framework_of(value)
        return Subject(label, side, known[1], made, value)
    if callable(made):
        side = framework_of(made) or framework_of(value)
        return Subject(label, side, "function", made, value)
    if _holds_numbers(made):  # no factory after all: a function without inputs
        return Subject(label, framework_of(value), "function", value)
    raise InvalidInput(
        f"{label}: the factory returned a {type(made).__name__}; it should return a module, an "
        "optimizer or a callable"
    )


def _inside(value: Any, kind: str) -> str | None:
    """The framework of the networks that an agent holds."""
    from parity.debug.acting import side_of

    return side_of(value) if kind == "agent" else None


def _holds_numbers(made: Any) -> bool:
    from parity.backends import to_numpy
    from parity.trace import flatten

    leaves = [leaf for _, leaf in flatten(made)]
    try:
        return bool(leaves) and all(to_numpy(leaf).dtype.kind in "biuf" for leaf in leaves)
    except Exception:
        return False


@contextlib.contextmanager
def _drawing_from(seed: int) -> Iterator[None]:
    """The same start each time, so that a report can be reproduced; the state is put back after.

    Weights go from torch to TensorFlow, so it is torch's that decide.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def call_factory(factory: Callable[[], Any], label: str) -> Any:
    """Call it; its own exception becomes one line that says where it was raised."""
    try:
        return factory()
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"{label}: the factory raised {describe(error)}") from error


def classify(value: Any) -> tuple[str | None, str] | None:
    """``(side, kind)`` of what a check knows; None for anything else, such as a function."""
    torch = sys.modules.get("torch")
    if torch is not None:
        if isinstance(value, torch.nn.Module):
            return "torch", "module"
        if isinstance(value, torch.optim.Optimizer):
            return "torch", "optimizer"
    for name in ("keras", "tf_keras"):
        keras = sys.modules.get(name)
        if keras is None or not hasattr(keras, "layers"):
            continue
        if isinstance(value, keras.layers.Layer):
            return "tf", "module"
        if isinstance(value, keras.optimizers.Optimizer):
            return "tf", "optimizer"
    tf = sys.modules.get("tensorflow")
    if tf is not None and isinstance(value, tf.Module) and callable(value):
        return "tf", "module"
    from parity.debug.acting import has_method
    from parity.debug.stepping import is_environment

    if is_environment(value):
        return None, "environment"
    return (None, "agent") if has_method(value) else None


def framework_of(function: Callable[..., Any]) -> str | None:
    """Which framework a function's code refers to; None if neither, or both."""
    found = {
        FRAMEWORK_MODULES[root]
        for module in _modules_used(function, set())
        if (root := module.split(".")[0]) in FRAMEWORK_MODULES
    }
    return found.pop() if len(found) == 1 else None


def _modules_used(function: Any, seen: set[int]) -> Iterator[str]:
    """Names of the modules that a function's code, and the functions it uses, refer to."""
    function = inspect.unwrap(function)
    function = getattr(function, "python_function", function)  # tf.function
    if isinstance(function, types.MethodType):
        function = function.__func__
    if not isinstance(function, types.FunctionType):
        call = inspect.getattr_static(type(function), "__call__", None)
        if isinstance(call, types.FunctionType):
            function = call
        else:
            yield str(getattr(function, "__module__", "") or "")
            return
    if id(function) in seen:
        return
    seen.add(id(function))
    yield from _modules_in_code(function, function.__code__, seen)
    for cell in function.__closure__ or ():
        try:
            yield from _modules_of(cell.cell_contents, seen)
        except ValueError:  # an empty cell: a function still being defined
            continue


def _modules_in_code(
    function: types.FunctionType, code: types.CodeType, seen: set[int]
) -> Iterator[str]:
    for name in code.co_names:
        if name in function.__globals__:
            yield from _modules_of(function.__globals__[name], seen)
        elif name in FRAMEWORK_MODULES:  # imported inside the function
            yield name
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _modules_in_code(function, constant, seen)


def _modules_of(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, types.ModuleType):
        yield value.__name__
    elif isinstance(value, (types.FunctionType, types.MethodType)):
        root = (value.__module__ or "").split(".")[0]
        if root in FRAMEWORK_MODULES:
            yield root
        else:
            yield from _modules_used(value, seen)
    elif isinstance(value, type):
        yield value.__module__
    else:
        yield type(value).__module__


def takes_nothing(value: Any) -> bool:
    """True for what can be called without arguments, and takes no open list of them."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return False
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return not any(p.default is p.empty and p.kind not in variadic for p in parameters) and not any(
        p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters
    )


def _load_file(path: Path) -> types.ModuleType:
    if not path.is_file():
        raise InvalidInput(f"{path}: no such file{_near_file(path)}")
    path = path.resolve()
    name = f"_parity_subject_{path.stem}_{abs(hash(str(path))):x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))  # so that the file can import its neighbours
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        raise InvalidInput(f"{path}: importing it raised {describe(error)}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def _load_module(name: str) -> types.ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")  # as `python -m` does: the user's package is in the working folder
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"{name}: no module named {error.name!r}{_near_module(str(error.name))}"
        ) from None
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"{name}: importing it raised {describe(error)}") from error


def describe(error: BaseException) -> str:
    """``ValueError: text (file.py:12)``: the user's own line, not one of a library."""
    place = ""
    if isinstance(error, SyntaxError) and error.filename:
        return f"SyntaxError: {error.msg} ({Path(error.filename).name}:{error.lineno})"
    for frame in inspect.getinnerframes(error.__traceback__) if error.__traceback__ else ():
        if not any(part in frame.filename for part in ("site-packages", "/parity/", "<frozen")):
            place = f" ({Path(frame.filename).name}:{frame.lineno})"
    return f"{type(error).__name__}: {_reason(str(error))}{place}"


def _reason(text: str) -> str:
    """The first line that says why: Keras begins with where, and prints whole arrays."""
    first, *more = [part for part in _COLOURS.sub("", text).split("\n\n") if part.strip()] or [""]
    if more and first.startswith("Exception encountered when calling"):
        return " ".join(_NUMBERS.sub("[...]", more[0]).split())
    return first.strip().split("\n")[0]


def _near(name: str, owner: Any) -> str:
    return _suggested(name, [n for n in dir(owner) if not n.startswith("_")])


def _near_file(path: Path) -> str:
    folder = path.parent
    names = [p.name for p in folder.glob("*.py")] if folder.is_dir() else []
    return _suggested(path.name, names)


def _near_module(name: str) -> str:
    """Neighbours of a module that is not there, in its package."""
    import pkgutil

    parent, _, last = name.rpartition(".")
    where = getattr(sys.modules.get(parent), "__path__", None) if parent else ["."]
    return _suggested(last, [m.name for m in pkgutil.iter_modules(where)] if where else [])


def _suggested(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=3)
    return f"; did you mean {' or '.join(near)}?" if near else ""
