"""Small environments with one fault each, and the same without."""

from __future__ import annotations

import random
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import (
    ClipReward,
    FrameStackObservation,
    NormalizeObservation,
    RecordEpisodeStatistics,
    TimeLimit,
    TransformReward,
)


class Track(gymnasium.Env):
    """A cart on a line, pulled by its action; ends at the edge, cut after ``limit`` steps."""

    def __init__(self, mass: float = 1.0, limit: int = 25, edge: float = 3.0) -> None:
        self.mass, self.limit, self.edge = mass, limit, edge
        self.observation_space = spaces.Box(-10, 10, (3,), np.float32)
        self.action_space = spaces.Box(-2.0, 2.0, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-1, 1, 2)
        self.t = 0
        return self.observe(), {}

    def observe(self) -> np.ndarray:
        return np.array([*self.state, self.t / 10], np.float32)

    def pull(self, action: np.ndarray) -> np.ndarray:
        return np.asarray(action, np.float64)

    def pay(self, action: np.ndarray) -> float:
        return float(1.7 - self.state[0] ** 2 - 0.1 * (action**2).sum())

    def flags(self, ended: bool, late: bool) -> tuple[bool, bool]:
        return ended, late and not ended

    def step(self, action: Any) -> Any:
        pulled = self.pull(action)
        self.t += 1
        self.state[1] += 0.1 * (pulled[0] + 0.5 * pulled[1]) / self.mass
        self.state[0] += 0.1 * self.state[1]
        flags = self.flags(bool(abs(self.state[0]) > self.edge), self.t >= self.limit)
        return self.observe(), self.pay(pulled), *flags, {"position": float(self.state[0])}


class Clipped(Track):
    def pull(self, action: np.ndarray) -> np.ndarray:
        return np.clip(np.asarray(action, np.float64), -1, 1)


class PaysInFloat32(Track):
    def pay(self, action: np.ndarray) -> float:
        return float(np.float32(super().pay(action)))


class PaysTooMuch(Track):
    def pay(self, action: np.ndarray) -> float:
        return super().pay(action) + 1e-5


class Scaled(Track):
    def pull(self, action: np.ndarray) -> np.ndarray:
        return 2.0 * np.asarray(action, np.float64)


class Late(Track):
    last: np.ndarray | None = None

    def pull(self, action: np.ndarray) -> np.ndarray:
        now = np.asarray(action, np.float64)
        before, self.last = self.last, now
        return now if before is None else before


class AllTerminated(Track):
    def flags(self, ended: bool, late: bool) -> tuple[bool, bool]:
        return ended or late, False


class Unseeded(Track):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        found = super().reset(seed=seed)
        self.state = np.random.default_rng().uniform(-1, 1, 2)
        return self.observe(), found[1]


class SeedDropped(Track):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=7)


class SeedShifted(Track):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=None if seed is None else seed + 1)


class Wide(Track):
    def observe(self) -> np.ndarray:
        return super().observe().astype(np.float64)


class Swapped(Track):
    def observe(self) -> np.ndarray:
        return super().observe()[[1, 0, 2]]


class Halved(Track):
    def observe(self) -> np.ndarray:
        return super().observe() * np.float32(0.5)


class Bonus(Track):
    def pay(self, action: np.ndarray) -> float:
        return super().pay(action) + 0.25


class NothingAtTheEnd(Track):
    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, 0.0 if terminated else reward, terminated, truncated, info


class Autoreset(Track):
    def step(self, action: Any) -> Any:
        observation, *rest = super().step(action)
        if rest[1] or rest[2]:
            observation = self.reset()[0]
        return observation, *rest


class OldForm:
    """gym's first interface: ``seed``, a bare observation, and four values."""

    def __init__(self) -> None:
        self.inner = Track()
        self.action_space = self.inner.action_space
        self.observation_space = self.inner.observation_space
        self.given: int | None = None

    def seed(self, seed: int) -> None:
        self.given = seed

    def reset(self) -> Any:
        given, self.given = self.given, None  # a seed serves once; then the generator goes on
        return self.inner.reset(seed=given)[0]

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = self.inner.step(action)
        if truncated:
            info = {**info, "TimeLimit.truncated": True}
        return observation, reward, terminated or truncated, info


class Raising(Track):
    def step(self, action: Any) -> Any:
        raise RuntimeError("no such motor")


def clip_then_scale() -> gymnasium.Env:
    return TransformReward(ClipReward(Track(), -1, 1), lambda r: 5 * r)


def scale_then_clip() -> gymnasium.Env:
    return ClipReward(TransformReward(Track(), lambda r: 5 * r), -1, 1)


def counted() -> gymnasium.Env:
    return RecordEpisodeStatistics(Track())


def counted_outside() -> gymnasium.Env:
    return RecordEpisodeStatistics(TransformReward(Track(), lambda r: 5 * r))


def counted_inside() -> gymnasium.Env:
    return TransformReward(RecordEpisodeStatistics(Track()), lambda r: 5 * r)


def normalised() -> gymnasium.Env:
    return NormalizeObservation(Track())


def stacked(count: int = 4) -> gymnasium.Env:
    return FrameStackObservation(Track(), count)


def stacked_before_normalising() -> gymnasium.Env:
    return NormalizeObservation(FrameStackObservation(Track(), 4))


def normalised_before_stacking() -> gymnasium.Env:
    return FrameStackObservation(NormalizeObservation(Track()), 4)


def cut(steps: int) -> gymnasium.Env:
    return TimeLimit(Track(limit=10_000, edge=1e9), steps)


class ReseedsItself(Track):
    """Remembers its seed and takes it again at each reset that is given none."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.own = getattr(self, "own", 0) if seed is None else seed
        return super().reset(seed=self.own)


class SeedByDefault(Track):
    def reset(self, *, seed: int = 7, options: Any = None) -> Any:
        return super().reset(seed=seed)


class NewGenerator(Track):
    """A reset without a seed draws from entropy, in place of going on with the generator."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if seed is None:
            self._np_random = np.random.default_rng()
        return super().reset(seed=seed)


class OwnGenerator(Track):
    """Seeded like Track; without a seed it goes on with another kind of generator."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        made = super().reset(seed=seed)
        if seed is not None:
            self.draw = random.Random(seed)
            return made
        self.state = np.array([self.draw.uniform(-1, 1), self.draw.uniform(-1, 1)])
        return self.observe(), {}


class Seedless(Track):
    def reset(self) -> Any:  # type: ignore[override]
        made = super().reset(seed=3)
        return made


class Constant(Track):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.state = np.array([0.3, -0.2])
        return self.observe(), {}
