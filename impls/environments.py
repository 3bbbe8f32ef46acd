"""Environments of gymnasium and gym behind one interface, seeded without any global state.

Both packages are optional: they are imported when an environment is made. The environment checkers
of both are off: gym 0.26's uses ``np.bool8`` and fails on NumPy 2.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from difflib import get_close_matches
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from impls.errors import ConfigError, NonFiniteError, ShapeError, UnknownEnvironmentError

#: api -> its package and the versions that work here.
APIS: Mapping[str, tuple[str, str]] = {
    "gymnasium": ("gymnasium", ">=1.0"),
    "gym": ("gym", "==0.26.2"),
}
SIMULATORS = ("box2d", "mujoco")
"""Folders of ``<api>/envs`` that need an extra package, and the names of the pip extras for it."""


class Environment:
    """One environment with the step and reset of gymnasium, whichever package it comes from.

    Attributes:
        env: the environment of the package, for what is not offered here.
        observation_size: length of an observation.
        action_size: length of an action; the number of actions where ``discrete``.
        low, high: float64 bounds of a continuous action, ``[action_size]``; empty if discrete.
    """

    def __init__(self, env: Any, env_id: str, api: str) -> None:
        self.env, self.id, self.api = env, env_id, api
        space = env.action_space
        self.discrete = hasattr(space, "n")
        if len(env.observation_space.shape or ()) != 1 or not (
            self.discrete or len(space.shape or ()) == 1
        ):
            raise ConfigError(
                f"env_id={env_id!r}: observations {env.observation_space} and actions {space}; "
                "only flat observations with flat continuous or discrete actions are supported"
            )
        self.observation_size = int(env.observation_space.shape[0])
        self.action_size = int(space.n) if self.discrete else int(space.shape[0])
        self._shape: tuple[int, ...] = () if self.discrete else (self.action_size,)
        self.low = np.zeros(0) if self.discrete else space.low.astype(np.float64)
        self.high = np.zeros(0) if self.discrete else space.high.astype(np.float64)

    def reset(self, *, seed: int | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; without a seed, the environment's own generator goes on."""
        observation, info = self.env.reset(seed=seed)
        return np.array(observation), info

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Apply an action: ``(observation, reward, terminated, truncated, info)``.

        Continuous actions reach the environment as float64, whatever their dtype: with a float32
        action Pendulum and HalfCheetah compute part of the reward in float32.

        Raises:
            ShapeError: the action does not have the shape of the action space.
            NonFiniteError: the action holds NaN or infinity.
            ConfigError: a discrete action out of range.
        """
        result = self.env.step(self._checked(np.asarray(action)))
        observation, reward, terminated, truncated, info = result
        return np.array(observation), float(reward), bool(terminated), bool(truncated), info

    def _checked(self, action: np.ndarray) -> Any:
        if action.shape != self._shape:
            raise ShapeError(f"action has shape {action.shape}, {self.id} takes {self._shape}")
        if not self.discrete:
            action = action.astype(np.float64)
            if not np.isfinite(action).all():
                raise NonFiniteError(
                    f"action[{int(np.argmin(np.isfinite(action)))}] is not finite: {action}"
                )
            return action
        number = action.item()  # comparing an array takes ten times as long as a number
        if action.dtype.kind not in "iu" or not 0 <= number < self.action_size:
            raise ConfigError(f"action={action}: {self.id} takes 0 to {self.action_size - 1}")
        return number

    def close(self) -> None:
        self.env.close()


def make_environment(
    env_id: str, *, api: str = "gymnasium", max_episode_steps: int | None = None
) -> Environment:
    """Make an environment of gymnasium or gym by its registered id.

    Args:
        api: ``gymnasium`` or ``gym``.
        max_episode_steps: steps after which an episode is truncated; the registered limit if None.

    Raises:
        UnknownEnvironmentError: no such id (near names are listed), or a package is missing (the
            pip command is given).
        ConfigError: an unknown api, or spaces that are not flat.
    """
    if api not in APIS:
        raise ConfigError(f"api={api!r}: known are {', '.join(APIS)}")
    package = _import_package(api)
    keywords: dict[str, Any] = {"disable_env_checker": True}
    if max_episode_steps is not None:
        keywords["max_episode_steps"] = max_episode_steps
    simulator = _simulator(package, env_id, api)
    try:
        with _quiet_mujoco() if simulator == "mujoco" else nullcontext():
            env = package.make(env_id, **keywords)
    except (package.error.Error, ImportError) as error:
        name, pin = APIS[api]
        fix = f"; pip install '{name}[{simulator}]{pin}'" if simulator else ""
        raise UnknownEnvironmentError(
            f"env_id={env_id!r}: {api} cannot make it: {error}{fix}"
        ) from error
    return Environment(env, env_id, api)


def random_state(env: Environment) -> np.ndarray:
    """State of the environment's random generator as uint64 numbers, 128-bit values low half first.

    Equal states mean that the two environments will draw the same numbers from here on.
    """
    state = env.env.unwrapped.np_random.bit_generator.state
    return np.array(list(_words(state)), np.uint64)


def collect_transitions(
    env_id: str,
    count: int,
    seed: int,
    *,
    api: str = "gymnasium",
    max_episode_steps: int | None = None,
) -> dict[str, np.ndarray]:
    """Real transitions of a uniformly random policy, one row per step, across episode ends.

    The first episode begins with ``reset(seed=seed)``, the later ones go on with the environment's
    own generator; actions are drawn from ``np.random.default_rng(seed)``. Results are cached: the
    arrays are read-only.

    Args:
        count: rows to collect, at least 1.
        max_episode_steps: shorter time limit, for truncated rows in a small sample.

    Returns:
        ``observation`` and ``next_observation`` [count, obs] float32, ``action`` [count, act]
        float32 or [count] int64, ``reward`` [count] float32, ``terminated`` and ``truncated``
        [count] bool. ``next_observation`` is the last one of its episode where that ends, not the
        one after the reset. Floats are rounded to float32, so that runs in either dtype see the
        same values; the action that was taken is the rounded one.

    Raises:
        ConfigError: ``count`` is below 1.
        UnknownEnvironmentError: see :func:`make_environment`.
    """
    if count < 1:
        raise ConfigError(f"count={count}: at least 1 transition")
    return dict(_collect(env_id, count, seed, api, max_episode_steps))


@lru_cache(maxsize=64)
def _collect(
    env_id: str, count: int, seed: int, api: str, max_episode_steps: int | None
) -> Mapping[str, np.ndarray]:
    env = make_environment(env_id, api=api, max_episode_steps=max_episode_steps)
    rng = np.random.default_rng(seed)
    rows: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    observation, _ = env.reset(seed=seed)
    for _ in range(count):
        action = _random_action(env, rng)
        following, reward, terminated, truncated, _ = env.step(action)
        row = (observation, action, reward, following, terminated, truncated)
        for name, value in zip(rows, row, strict=True):
            rows[name].append(value)
        observation = env.reset()[0] if terminated or truncated else following
    env.close()
    arrays = {name: np.array(values, _COLUMNS[name]) for name, values in rows.items()}
    if env.discrete:
        arrays["action"] = arrays["action"].astype(np.int64)
    for array in arrays.values():
        array.setflags(write=False)
    return arrays


_COLUMNS: Mapping[str, type] = {
    "observation": np.float32,
    "action": np.float32,
    "reward": np.float32,
    "next_observation": np.float32,
    "terminated": np.bool_,
    "truncated": np.bool_,
}


def _random_action(env: Environment, rng: np.random.Generator) -> Any:
    if env.discrete:
        return rng.integers(env.action_size)
    return rng.uniform(env.low, env.high).astype(np.float32)


def _import_package(api: str) -> ModuleType:
    try:
        with _without_notice() if api == "gym" else nullcontext():
            return importlib.import_module(api)
    except ImportError as error:
        raise UnknownEnvironmentError(
            f"api={api!r}: the package {error.name!r} is missing; "
            f"pip install '{''.join(APIS[api])}'"
        ) from error


@contextmanager
def _without_notice() -> Iterator[None]:
    """Keep gym's notice about itself off stderr; whatever else is printed there still appears."""
    try:
        notices: dict[str, str] = importlib.import_module("gym_notices.notices").notices
    except (ImportError, AttributeError):
        yield
        return
    kept = dict(notices)
    notices.clear()
    try:
        yield
    finally:
        notices.update(kept)


@contextmanager
def _quiet_mujoco() -> Iterator[None]:
    """Turn MuJoCo's remark on a gymnasium model file into nothing, its other warnings into ours.

    MuJoCo would print them and leave a ``MUJOCO_LOG.TXT`` in the working directory.
    """
    import warnings

    try:
        mujoco = importlib.import_module("mujoco")
        before = mujoco.get_mju_user_warning()
    except (ImportError, AttributeError):
        yield
        return
    messages: list[str] = []
    mujoco.set_mju_user_warning(messages.append)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)
        for message in messages:
            if "'settotalmass' is deprecated" not in message:
                warnings.warn(f"MuJoCo: {message}", stacklevel=4)


def _simulator(package: ModuleType, env_id: str, api: str) -> str | None:
    """The simulator that a registered environment needs; an unknown id is refused."""
    registry: Mapping[str, Any] = sys.modules[f"{package.__name__}.envs.registration"].registry
    if env_id not in registry:
        near = get_close_matches(str(env_id), registry, n=3, cutoff=0.6)
        versions = [i for i in registry if i.rpartition("-v")[0] == str(env_id).rpartition("-v")[0]]
        listed = ", ".join(dict.fromkeys(near + versions)) or f"none of {len(registry)} known ids"
        raise UnknownEnvironmentError(f"env_id={env_id!r}: unknown to {api}; similar: {listed}")
    entry = str(registry[env_id].entry_point)
    return next((name for name in SIMULATORS if f".envs.{name}" in entry), None)


def _words(state: Any) -> Iterator[int]:
    """The numbers of a bit generator's state in the order of its keys, as 64-bit words."""
    if isinstance(state, Mapping):
        for value in state.values():
            yield from _words(value)
    elif isinstance(state, np.ndarray):
        yield from (int(x) for x in state.reshape(-1))
    elif not isinstance(state, str):  # the generator's name
        yield int(state) & (2**64 - 1)
        yield int(state) >> 64
