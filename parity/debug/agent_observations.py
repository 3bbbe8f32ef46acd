"""What one agent does to its observations before its network, and the other does not.

Each candidate is tried: the agent that may lack it is given the observations so changed, and must
then answer as the other does. Arrays and numbers that the agents hold are the candidates' own.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from parity.backends import to_numpy
from parity.debug.acting import Agent
from parity.errors import ParityError
from parity.tolerance import ACTION_RELATION

SIDES = ("torch", "tf")
MOST = 24
"""Observations that are asked about."""
FEWEST = 3
"""Observations on which the answers must differ, for a change to be more than chance."""
NUMBERS = 24
"""Arrays and numbers of one agent that are tried."""
EPSILONS = (0.0, 1e-8, 1e-6, 1e-5)
"""Added to a variance under its root, or to a deviation."""

Candidate = tuple[str, Callable[[np.ndarray], np.ndarray]]


def difference(
    agents: Mapping[str, Agent], met: Sequence[Any]
) -> tuple[str, str, float, float] | None:
    """The first change of the observations that makes the agents answer alike.

    Returns:
        ``(the side that makes it, what it does, error before, error after)``; None where none does.
    """
    seen = [np.asarray(observation) for observation in met[:MOST]]
    if any(agent.recorded is not None for agent in agents.values()):
        return None
    if any(o.shape != seen[0].shape or o.dtype.kind not in "biuf" for o in seen):
        return None
    answers = {side: _answers(agents[side], seen) for side in SIDES}
    given = {side: made for side, made in answers.items() if made is not None}
    if len(given) < len(SIDES):
        return None
    before = _gap(given["torch"], given["tf"])
    if _rows_apart(given["torch"], given["tf"]) < FEWEST:
        return None  # a few discrete actions agree by chance
    for doer, other in (SIDES, SIDES[::-1]):
        for text, change in _candidates(agents[doer], seen):
            made = _answers(agents[other], [np.ascontiguousarray(change(o)) for o in seen])
            after = np.inf if made is None else _gap(given[doer], made)
            if after <= ACTION_RELATION:
                return doer, text, before, after
    return None


def _answers(agent: Agent, observations: Sequence[np.ndarray]) -> np.ndarray | None:
    """The action for each observation alone; None where the agent does not take one."""
    found = []
    try:
        for observation in observations:
            agent.begin()
            found.append(np.asarray(agent.act(copy.deepcopy(observation))[0], np.float64))
    except (ParityError, ArithmeticError, AttributeError, TypeError, ValueError, IndexError):
        return None
    alike = {a.shape for a in found}
    return np.stack(found) if len(alike) == 1 else None


def _gap(one: np.ndarray, other: np.ndarray) -> float:
    if one.shape != other.shape:
        return np.inf
    return float(np.abs(one - other).max()) / max(1.0, float(np.abs(one).max()))


def _rows_apart(one: np.ndarray, other: np.ndarray) -> int:
    if one.shape != other.shape:
        return len(one)
    apart = np.abs(one - other).reshape(len(one), -1).max(1)
    return int((apart > ACTION_RELATION * max(1.0, float(np.abs(one).max()))).sum())


def _candidates(doer: Agent, seen: Sequence[np.ndarray]) -> Iterator[Candidate]:
    shape = seen[0].shape
    held = list(_numbers(doer, shape))
    arrays = [(n, v) for n, v in held if v.ndim]
    for (a, shift), (b, scale) in permutations(arrays, 2):
        for text, over in _divisors(b, scale):
            yield f"({_OBSERVATION} - {a}) / {text}", _affine(shift, over)
    for name, value in held:
        yield f"{_OBSERVATION} - {name}", _affine(value, np.ones(()))
        for text, over in _divisors(name, value):
            yield f"{_OBSERVATION} / {text}", _affine(np.zeros(()), over)
        yield f"{_OBSERVATION} * {name}", _times(value)
        if not value.ndim and value > 0:
            yield _clip(name, float(value))
    yield f"{_OBSERVATION} / 255", _affine(np.zeros(()), np.asarray(255.0))
    yield f"{_OBSERVATION} / 127.5 - 1", lambda o: _cast(np.asarray(o) / 127.5 - 1, o)
    for bound in (1.0, 5.0, 10.0):
        yield _clip(f"{bound:g}", bound)
    yield f"-{_OBSERVATION}", lambda o: -o
    if len(shape) > 1:
        for order in list(permutations(range(len(shape))))[1:]:
            if tuple(shape[i] for i in order) == shape or len(shape) == 3:
                yield f"{_OBSERVATION}.transpose{order}", partial(np.transpose, axes=order)
    for axis in range(len(shape)):
        if shape[axis] > 1:
            text = f"{_OBSERVATION} backwards along axis {axis}"
            yield text, partial(np.flip, axis=axis)


_OBSERVATION = "observation"


def _affine(shift: np.ndarray, scale: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    def change(observation: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return _cast((np.asarray(observation) - shift) / scale, observation)

    return change


def _times(factor: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda observation: _cast(observation * factor, observation)


def _clip(text: str, bound: float) -> Candidate:
    return (
        f"{_OBSERVATION} clipped to [-{text}, {text}]",
        lambda observation: _cast(np.clip(observation, -bound, bound), observation),
    )


def _cast(changed: np.ndarray, observation: np.ndarray) -> np.ndarray:
    """In the dtype of the observation; whole numbers become float32."""
    kept = observation.dtype if observation.dtype.kind == "f" else np.float32
    return np.asarray(changed).astype(kept)


def _divisors(name: str, value: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """A deviation, or the root of a variance, with what may be added to it."""
    if not np.all(value > 0):
        return
    for epsilon in EPSILONS:
        said = f" + {epsilon:g}" if epsilon else ""
        yield f"({name}{said})" if said else name, value + epsilon
        if value.ndim:
            yield f"sqrt({name}{said})", np.sqrt(value + epsilon)


def _numbers(agent: Agent, shape: tuple[int, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """Numbers, and arrays that fit an observation, among what an agent holds or its code names."""
    count = 0
    seen = set()
    for name, value in _named(agent):
        if isinstance(value, (bool, str)) or value is None or name in seen:
            continue
        seen.add(name)
        try:
            array = np.asarray(to_numpy(value), np.float64)
            np.broadcast_shapes(array.shape, shape)
        except (TypeError, ValueError):
            continue
        if array.ndim > len(shape) or not np.isfinite(array).all():
            continue
        if array.ndim and array.shape != shape and array.size > 1:
            continue
        yield name, array.reshape(()) if array.size == 1 else array
        count += 1
        if count == NUMBERS:
            return


def _named(agent: Agent) -> Iterator[tuple[str, Any]]:
    """Attributes of the agent and of the plain objects that it holds; globals of its methods."""
    owner = agent.value
    held = dict(getattr(owner, "__dict__", {}))
    yield from held.items()
    for name, value in held.items():
        if type(value).__module__ == type(owner).__module__:
            for inner, number in getattr(value, "__dict__", {}).items():
                yield f"{name}.{inner}", number
    functions = [agent.call, *(v for _, v in inspect.getmembers(type(owner), inspect.isfunction))]
    for function in functions:
        function = getattr(function, "__func__", function)
        names = getattr(getattr(function, "__code__", None), "co_names", ())
        found = getattr(function, "__globals__", {})
        yield from ((name, found[name]) for name in names if name in found)
        constants = getattr(getattr(function, "__code__", None), "co_consts", ())
        yield from ((f"{c:g}", c) for c in constants if isinstance(c, (int, float)) and c)
    yield from ((n, v) for n, v in vars(type(owner)).items() if not callable(v))
