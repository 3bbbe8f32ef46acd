"""Environments of any of the usual interfaces, stepped with given actions and recorded.

An environment has ``reset`` and ``step``. Understood are gymnasium's forms, gym's old ones
(``reset() -> observation``, ``step -> observation, reward, ended, info``, ``seed(...)``) and plain
classes like them. In the old form an end is a truncation where the info says
``TimeLimit.truncated``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity import progress
from parity.backends import to_numpy
from parity.debug.subjects import describe
from parity.errors import InvalidInput
from parity.trace import Trace, flatten, join

LONGEST = 1100
"""Steps that a check takes at most where the user names no number."""
USUAL = 300
"""Steps where the environment tells no limit."""
FIELDS = ("reward", "terminated", "truncated")


def is_environment(value: Any) -> bool:
    """Whether an object can be reset and stepped."""
    return not isinstance(value, type) and all(
        callable(getattr(value, name, None)) for name in ("reset", "step")
    )


@dataclass
class Rollout:
    """What one environment answered to a list of actions.

    Attributes:
        trace: ``reset/<field>``, then ``step/<t>/action``, ``observation`` (the one after the
            step), ``reward``, ``terminated``, ``truncated``, ``info/...``; behind the end of an
            episode ``step/<t>/reset/...``.
        ends: the steps at which an episode ended.
    """

    trace: Trace
    ends: list[int] = field(default_factory=list)
    stopped: str = ""
    """Why it stopped before the last action: the environment raised."""


def split(name: str) -> tuple[int, str]:
    """``step/3/reward`` -> ``(3, "reward")``; what stands before the steps has the step -1."""
    parts = name.split("/", 2)
    if parts[0] == "step" and len(parts) == 3:
        return int(parts[1]), parts[2]
    return -1, name.removeprefix("reset/")


def is_action(name: str) -> bool:
    """Whether an entry holds what was given, not what was answered."""
    field_ = split(name)[1]
    return field_ == "action" or field_.startswith("action/")


def reset(environment: Any, seed: int, label: str) -> tuple[Any, Mapping[str, Any]]:
    """``(observation, info)`` of a seeded reset, by whichever interface there is.

    Raises:
        InvalidInput: it raised.
    """
    try:
        made = _seeded_reset(environment, seed)
    except Exception as error:
        raise InvalidInput(f"{label}: reset raised {describe(error)}") from error
    return observed(made)


def observed(made: Any) -> tuple[Any, Mapping[str, Any]]:
    """``(observation, info)`` of what a reset returned; old ones return no info."""
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], Mapping):
        return made[0], made[1]
    return made, {}


def _seeded_reset(environment: Any, seed: int) -> Any:
    takes = _takes_seed(environment)
    if takes or takes is None:
        return environment.reset(seed=seed)
    if callable(getattr(environment, "seed", None)):
        environment.seed(seed)
    return environment.reset()


def takes_seed(environment: Any) -> bool:
    """Whether it can be seeded at all, by its reset or by the older ``seed``."""
    return _takes_seed(environment) is not False or callable(getattr(environment, "seed", None))


def _takes_seed(environment: Any) -> bool | None:
    """Whether its reset takes a seed; None where it does not say what it takes."""
    import inspect

    try:
        parameters = inspect.signature(environment.reset).parameters.values()
    except (TypeError, ValueError):
        return None
    return any(p.name == "seed" or p.kind is p.VAR_KEYWORD for p in parameters)


def step(environment: Any, action: Any, label: str) -> tuple[Any, Any, bool, bool, Any]:
    """``(observation, reward, terminated, truncated, info)`` of one step.

    Raises:
        InvalidInput: it raised, or answered with something else.
    """
    try:
        made = environment.step(action)
    except Exception as error:
        shown = np.array2string(np.asarray(action), precision=3, threshold=4)
        raise InvalidInput(
            f"{label}: step with the action {shown} raised {describe(error)}"
        ) from error
    if not isinstance(made, tuple) or len(made) not in (4, 5):
        what = f"{len(made)} values" if isinstance(made, tuple) else f"a {type(made).__name__}"
        raise InvalidInput(
            f"{label}: step returned {what}; it should return (observation, reward, terminated, "
            "truncated, info), or gym's older four values"
        )
    if len(made) == 5:
        observation, reward, terminated, truncated, info = made
        return observation, reward, _flag(terminated), _flag(truncated), info
    observation, reward, ended, info = made
    limit = isinstance(info, Mapping) and bool(info.get("TimeLimit.truncated", False))
    return observation, reward, _flag(ended) and not limit, _flag(ended) and limit, info


def _flag(value: Any) -> bool:
    return bool(np.asarray(to_numpy(value)).any())


def run(
    environment: Any, actions: Sequence[Any], *, seed: int, label: str, side: str = ""
) -> Rollout:
    """Step through the actions; episode k begins with the seed ``seed + k``.

    Raises:
        InvalidInput: the first reset or step raised, or a step answered with something else. A
            step that raises later ends the rollout, which says so.
    """
    progress.step(f"{label}, {len(actions)} steps")
    rollout = Rollout(Trace(side=side))
    episode = 0
    observation, info = reset(environment, seed, label)
    _add(rollout.trace, "reset/observation", leaves(observation, label))
    _add(rollout.trace, "reset/info", numbers(info))
    for t, action in enumerate(actions):
        try:
            observation, reward, terminated, truncated, info = step(environment, action, label)
        except InvalidInput as error:
            if t == 0:
                raise
            rollout.stopped = f"at step {t}: {error}"
            break
        _note(rollout.trace, t, label, (action, observation, reward, terminated, truncated, info))
        progress.did("steps")
        if terminated or truncated:
            rollout.ends.append(t)
            episode += 1
            observation, info = reset(environment, seed + episode, label)
            _add(rollout.trace, f"step/{t}/reset/observation", leaves(observation, label))
    return rollout


def _note(trace: Trace, t: int, label: str, values: tuple[Any, ...]) -> None:
    action, observation, reward, terminated, truncated, info = values
    scope = join("step", str(t))
    _add(trace, join(scope, "action"), leaves(action, label))
    _add(trace, join(scope, "observation"), leaves(observation, label))
    trace.add(join(scope, "reward"), _reward(reward, label))
    trace.add(join(scope, "terminated"), terminated)
    trace.add(join(scope, "truncated"), truncated)
    _add(trace, join(scope, "info"), numbers(info))


def _add(trace: Trace, scope: str, entries: Mapping[str, np.ndarray]) -> None:
    for name, array in entries.items():
        trace.add(join(scope, name), array)


def _reward(reward: Any, label: str) -> np.ndarray:
    array = np.asarray(to_numpy(reward))
    if array.dtype.kind not in "biuf" or array.size != 1:
        raise InvalidInput(f"{label}: the reward is {reward!r}; it should be one number")
    # whole numbers are rewards like others; a float32 reward stays one
    return (array.astype(np.float64) if array.dtype.kind in "biu" else array).reshape(())


def leaves(observation: Any, label: str) -> dict[str, np.ndarray]:
    """The arrays of an observation; one array is named by nothing.

    Raises:
        InvalidInput: it holds something else than numbers.
    """
    plain = not isinstance(observation, (Mapping, tuple))
    found = {"": observation} if plain else dict(flatten(observation))
    arrays = {}
    for name, leaf in found.items():
        array = np.asarray(to_numpy(leaf))
        if array.dtype.kind not in "biuf":
            raise InvalidInput(
                f"{label}: the observation{f' {name!r}' if name else ''} is a "
                f"{type(leaf).__name__} without numbers"
            )
        arrays[name] = array
    return arrays


def numbers(info: Any) -> dict[str, np.ndarray]:
    """What an info holds of numbers, in the order of its names."""
    if not isinstance(info, Mapping):
        return {}
    found = {}
    with suppress(Exception):  # an info may hold anything
        for name, leaf in flatten(info):
            array = np.asarray(to_numpy(leaf))
            ours = name.split("/")[-1].startswith("_") or name == "TimeLimit.truncated"
            if array.dtype.kind in "biuf" and array.size and not ours:
                found[name] = array.astype(np.float64)
    return dict(sorted(found.items()))


def chain(environment: Any) -> list[Any]:
    """The wrappers from the outside in, the bare environment last."""
    found, seen = [environment], {id(environment)}
    while True:
        inner = found[-1].__dict__.get("env") if hasattr(found[-1], "__dict__") else None
        if inner is None or id(inner) in seen or not is_environment(inner):
            return found
        seen.add(id(inner))
        found.append(inner)


def steps_for(environments: Sequence[Any]) -> int:
    """How many steps reach the time limit, where the environments tell it."""
    limits = []
    for environment in environments:
        specification = getattr(environment, "spec", None)
        limits.append(getattr(specification, "max_episode_steps", None))
        limits += [getattr(e, "_max_episode_steps", None) for e in chain(environment)]
    known = [n for n in limits if isinstance(n, int) and n > 0]
    return min(max(known) + 20, LONGEST) if known else USUAL


def draw_actions(environment: Any, count: int, rng: np.random.Generator, label: str) -> list[Any]:
    """Actions from the environment's own space, a fifth of them on a bound.

    Raises:
        InvalidInput: it has no action space, or one of a kind that is not known.
    """
    space = getattr(environment, "action_space", None)
    if space is None:
        raise InvalidInput(
            f"{label} has no action_space; give the actions: --input actions=float32[200,2], or "
            "--inputs file.py:function, one row for each step"
        )
    return [_draw(space, rng, label) for _ in range(count)]


def _draw(space: Any, rng: np.random.Generator, label: str) -> Any:
    kind = type(space).__name__
    if kind == "Box":
        return _box(space, rng)
    if kind == "Discrete":
        return np.int64(rng.integers(int(space.n)) + int(getattr(space, "start", 0)))
    if kind == "MultiDiscrete":
        return rng.integers(np.asarray(space.nvec)).astype(space.dtype)
    if kind == "MultiBinary":
        return rng.integers(0, 2, space.shape).astype(space.dtype)
    if kind == "Tuple":
        return tuple(_draw(s, rng, label) for s in space.spaces)
    if kind == "Dict":
        return {name: _draw(s, rng, label) for name, s in space.spaces.items()}
    raise InvalidInput(
        f"{label}: no actions can be drawn from a space of kind {kind}; give them: "
        "--inputs file.py:function, one row for each step"
    )


def _box(space: Any, rng: np.random.Generator) -> np.ndarray:
    low, high = (np.asarray(b, np.float64) for b in (space.low, space.high))
    bounded = np.isfinite(low) & np.isfinite(high)
    # float bounds of float32 may be as wide as 3e38
    bounded &= np.abs(np.where(bounded, high, 0.0)) < 1e30
    width = np.where(bounded, high - np.where(bounded, low, 0.0), 1.0)
    values = np.where(bounded, low, 0.0) + width * rng.uniform(size=low.shape)
    values = np.where(bounded, values, 1.5 * rng.standard_normal(low.shape))
    if rng.uniform() < 0.2:
        values = np.where(bounded, np.where(rng.uniform(size=low.shape) < 0.5, low, high), values)
    return values.astype(space.dtype)


def spaces(environment: Any) -> Iterator[tuple[str, np.ndarray]]:
    """What the spaces declare, as entries: sizes and bounds."""
    for which in ("observation_space", "action_space"):
        space = getattr(environment, which, None)
        for name in ("low", "high", "n", "nvec", "start"):
            value = getattr(space, name, None)
            with suppress(Exception):
                array = np.asarray(value)
                if value is not None and array.dtype.kind in "biuf":
                    yield join(which, name), array


def rows(array: np.ndarray) -> list[Any]:
    """Given actions, one for each step: whole numbers as NumPy scalars."""
    return [row[()] if row.ndim == 0 else row for row in np.asarray(array)]
