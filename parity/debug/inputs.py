"""Inputs of a user's pair: a function that makes them, or a short description to draw from.

A description is ``NAME=DTYPE[SHAPE]`` with optional bounds: ``state=float32[13,3]``,
``action=int64[13]:0..4``, ``mask=bool[13]``. Floats are standard normal, or uniform between bounds.
"""

from __future__ import annotations

import inspect
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parity.debug.subjects import describe, load
from parity.errors import InvalidInput

_SPEC = re.compile(
    r"""^(?:(?P<name>[A-Za-z_]\w*)=)?          # state=
        (?P<dtype>[a-z]+\d*)                   # float32
        \[(?P<shape>[\d,\s]*)\]                # [13,3]
        (?::(?P<low>[-+.\deE]+)\.\.(?P<high>[-+.\deE]+))?$  # :0..4
    """,
    re.VERBOSE,
)
_DTYPES = ("float32", "float64", "float16", "int32", "int64", "uint8", "bool")


def parse(description: str, *, position: int = 0, seed: int = 0) -> tuple[str, np.ndarray]:
    """One array from ``NAME=DTYPE[SHAPE]`` or ``NAME=DTYPE[SHAPE]:LOW..HIGH``.

    Integers are drawn from ``LOW`` to ``HIGH`` exclusive, as ``range`` counts. The draw depends on
    the seed and the name alone, so adding an input does not change the others.

    Raises:
        InvalidInput: the description cannot be read.
    """
    match = _SPEC.match(description.strip())
    if match is None:
        raise InvalidInput(
            f"input {description!r}: write NAME=DTYPE[SHAPE], e.g. state=float32[13,3] or "
            "action=int64[13]:0..4"
        )
    dtype, name = match["dtype"], match["name"] or f"input{position}"
    if dtype not in _DTYPES:
        raise InvalidInput(f"input {description!r}: dtype is one of {', '.join(_DTYPES)}")
    shape = tuple(int(n) for n in match["shape"].replace(" ", "").split(",") if n)
    bounds = None
    if match["low"] is not None:
        try:
            bounds = float(match["low"]), float(match["high"])
        except ValueError:
            raise InvalidInput(f"input {description!r}: bounds are two numbers") from None
        if not bounds[0] < bounds[1]:
            raise InvalidInput(f"input {description!r}: the lower bound must be below the upper")
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    return name, _draw(rng, dtype, shape, bounds, description)


def _draw(
    rng: np.random.Generator,
    dtype: str,
    shape: tuple[int, ...],
    bounds: tuple[float, float] | None,
    description: str,
) -> np.ndarray:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype.startswith("float"):
        drawn = rng.standard_normal(shape) if bounds is None else rng.uniform(*bounds, shape)
        # float32 values whatever the dtype: both precisions must see the same numbers
        return np.asarray(drawn, dtype=np.float32).astype(dtype)
    if bounds is None:
        raise InvalidInput(
            f"input {description!r}: integers need bounds, e.g. {description.strip()}:0..4"
        )
    return rng.integers(int(bounds[0]), int(bounds[1]), shape).astype(dtype)


def from_descriptions(descriptions: Sequence[str], *, seed: int = 0) -> dict[str, np.ndarray]:
    """All ``--input`` options of a command line, in their order."""
    arrays: dict[str, np.ndarray] = {}
    for position, description in enumerate(descriptions):
        name, array = parse(description, position=position, seed=seed)
        if name in arrays:
            raise InvalidInput(f"input {name!r} is given twice")
        arrays[name] = array
    return arrays


def from_function(target: str, *, seed: int = 0) -> dict[str, np.ndarray]:
    """The arrays that ``file.py:function`` returns; it may take the seed as its one argument."""
    function = load(target)
    if not callable(function):
        return as_arrays(function, target)
    try:
        wants_seed = bool(inspect.signature(function).parameters)
        made = function(seed) if wants_seed else function()
    except Exception as error:
        raise InvalidInput(f"{target}: raised {describe(error)}") from error
    return as_arrays(made, target)


def bind(names: Sequence[str], function: Any, label: str) -> list[str]:
    """The inputs in the order in which a callable takes them.

    By name where every input is called like a parameter; else by position.

    Raises:
        InvalidInput: an input is called like a parameter at another position, and not all are: the
            two readings would pair different values.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return list(names)
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    order = [p.name for p in parameters if p.kind in plain]
    if names and all(name in order for name in names):
        found = [name for name in order if name in names]
        if found == order[: len(found)]:
            return found
    for position, name in enumerate(names):
        if name in order and order.index(name) != position:
            raise InvalidInput(
                f"{label} takes ({', '.join(order)}), the inputs are ({', '.join(names)}): "
                f"{name!r} would go to {order[position] if position < len(order) else 'nothing'}; "
                "call all inputs by the parameters' names, or none"
            )
    return list(names)


def read_map(path: Path) -> dict[str, str]:
    """A map file: one ``torch layer: tf layer`` per line; ``#`` starts a comment.

    Raises:
        InvalidInput: the file is missing or a line is not of that form.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror or error}") from None
    names = {}
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        left, colon, right = (part.strip().strip("'\"") for part in text.partition(":"))
        if not (left and colon and right):
            raise InvalidInput(f"{path}:{number}: write 'torch layer: tf layer', not {text!r}")
        names[left] = right
    return names


def as_arrays(inputs: Any, label: str = "inputs") -> dict[str, np.ndarray]:
    """Inputs in any of the usual forms, as a name -> array mapping in call order.

    Takes an array, a sequence of arrays, or a mapping; tensors of either framework are converted.
    """
    from parity.backends import to_numpy

    if isinstance(inputs, Mapping):
        named = dict(inputs)
    elif isinstance(inputs, (list, tuple)):
        named = {f"input{i}": value for i, value in enumerate(inputs)}
    else:
        named = {"input0": inputs}
    arrays = {}
    for name, value in named.items():
        array = to_numpy(value)
        if array.dtype.kind not in "biuf":
            raise InvalidInput(f"{label}: {name!r} holds {array.dtype} values; give numbers")
        arrays[str(name)] = array
    return arrays
