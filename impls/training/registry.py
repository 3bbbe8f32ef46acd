"""The algorithms, how they learn, and the settings with which they do so in known environments."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any

from impls.environments import Environment
from impls.errors import ConfigError


@dataclass(frozen=True)
class LoopConfig:
    """Settings of a training loop that are not the algorithm's own."""

    steps: int = 100_000
    """Environment steps in all, over all environments."""
    environments: int = 1
    """Environments stepped side by side."""
    rollout: int = 16
    """On-policy: steps of each environment per update."""
    batch_size: int = 256
    """Off-policy: transitions per update."""
    learning_starts: int = 1_000
    """Off-policy: steps of a uniformly random policy before the first update."""
    train_every: int = 1
    """Off-policy: environment steps between updates."""
    updates: int = 1
    """Off-policy: updates each time."""
    capacity: int = 100_000
    """Off-policy: transitions in the replay buffer."""
    exploration: float = 0.1
    """DDPG and TD3: standard deviation of the action noise, as a share of the largest action."""
    epsilon_end: float = 0.05
    """DQN: share of random actions in the end; it falls from 1 in a straight line."""
    epsilon_steps: int = 10_000
    """DQN: steps until then."""
    prioritized: bool = False
    """DQN: transitions are sampled in proportion to their last TD error, and weighted."""
    priority_alpha: float = 0.6
    """DQN, prioritized: exponent of the priorities (Schaul et al. 2016: 0.6)."""
    priority_beta: float = 0.4
    """DQN, prioritized: exponent of the weights at first; it rises to 1 in a straight line."""
    reward_scale: float = 1.0
    """Factor on the rewards that the learner sees; the log has the environment's own."""
    learning_rate_end: float = 1.0
    """Share of the learning rates that is left in the end; they fall in a straight line."""
    evaluate_every: int = 5_000
    """Steps between evaluations."""
    evaluation_episodes: int = 10
    """Episodes of each evaluation, always with the same seeds."""


@dataclass(frozen=True)
class Algorithm:
    """One algorithm.

    Attributes:
        name: of its component.
        config: name of the configuration class in ``impls.<name>.config``.
        on_policy: learns from rollouts ``[T, B]``; else from a replay buffer.
        actions: ``discrete``, ``continuous`` or ``both``.
        draws: random arrays that an update takes: name -> ``action`` (standard normals, shaped
            like the batch's actions) or ``permutation`` ([epochs, T * B]).
        episodes: learns from whole episodes, padded to the environment's time limit.
        workers: learns from workers, with an environment for each.
        settings: environment id -> settings, of the configuration and of the loop, that learn.
    """

    name: str
    config: str
    on_policy: bool
    actions: str
    draws: Mapping[str, str] = field(default_factory=dict)
    episodes: bool = False
    workers: bool = False
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def config_class(self) -> Any:
        return getattr(importlib.import_module(f"impls.{self.name}.config"), self.config)


PENDULUM = {
    "steps": 20_000,
    "hidden_sizes": (64, 64),
    "batch_size": 128,
    "reward_scale": 0.1,
    "learning_starts": 500,
    "evaluate_every": 1_000,
}

ALGORITHMS: Mapping[str, Algorithm] = {
    a.name: a
    for a in (
        Algorithm(
            "reinforce",
            "ReinforceConfig",
            on_policy=True,
            actions="both",
            episodes=True,
            settings={
                "CartPole-v1": {
                    "steps": 400_000,
                    "environments": 8,
                    "hidden_sizes": (64,),
                    "learning_rate": 3e-3,
                    "normalize_return": True,
                    "evaluate_every": 10_000,
                }
            },
        ),
        Algorithm(
            "actor_critic",
            "ActorCriticConfig",
            on_policy=True,
            actions="both",
            settings={
                "CartPole-v1": {
                    "steps": 200_000,
                    "environments": 8,
                    "rollout": 1,
                    "reward_scale": 0.1,  # else a fresh critic's errors drown the entropy bonus
                    "shared": False,
                    "hidden_sizes": (64, 64),
                    "learning_rate": 1e-3,
                    "learning_rate_end": 0.05,
                    "evaluate_every": 10_000,
                }
            },
        ),
        Algorithm(
            "a2c",
            "A2CConfig",
            on_policy=True,
            actions="both",
            settings={
                "CartPole-v1": {
                    "steps": 400_000,
                    "environments": 8,
                    "rollout": 16,
                    "hidden_sizes": (64, 64),
                    "shared": False,
                    "optimizer": "adam",
                    "learning_rate": 2e-3,
                    "learning_rate_end": 0.05,
                    "evaluate_every": 10_000,
                },
                "Pendulum-v1": {"continuous": True, "environments": 8, "reward_scale": 0.1},
            },
        ),
        Algorithm(
            "a3c",
            "A3CConfig",
            on_policy=True,
            actions="both",
            workers=True,
            settings={
                "CartPole-v1": {
                    "steps": 400_000,
                    "workers": 8,
                    "rollout": 32,
                    "hidden_sizes": (64, 64),
                    "shared": False,
                    "optimizer": "adam",
                    "learning_rate": 1e-3,
                    "learning_rate_end": 0.05,
                    "evaluate_every": 10_000,
                },
            },
        ),
        Algorithm(
            "ppo",
            "PPOConfig",
            on_policy=True,
            actions="both",
            draws={"permutation": "permutation"},
            settings={
                "CartPole-v1": {
                    "steps": 150_000,
                    "environments": 8,
                    "rollout": 64,
                    "hidden_sizes": (64, 64),
                    "shared": False,
                    "learning_rate": 1e-3,
                    "learning_rate_end": 0.0,
                    "epochs": 6,
                    "minibatches": 4,
                    "entropy_coefficient": 0.0,
                    "gamma": 0.98,
                    "gae_lambda": 0.9,
                    "evaluate_every": 8_192,
                },
                "LunarLander-v3": {
                    "steps": 1_000_000,
                    "environments": 16,
                    "rollout": 256,
                    "reward_scale": 0.1,  # else the critic's gradient is nearly all of the norm
                    "hidden_sizes": (64, 64),
                    "shared": False,
                    "learning_rate": 5e-4,
                    "learning_rate_end": 0.1,
                    "epochs": 5,
                    "minibatches": 16,
                    "gamma": 0.999,
                    "gae_lambda": 0.98,
                    "entropy_coefficient": 0.01,
                    "evaluate_every": 40_960,
                    "evaluation_episodes": 20,
                },
            },
        ),
        Algorithm(
            "dqn",
            "DQNConfig",
            on_policy=False,
            actions="discrete",
            settings={
                "CartPole-v1": {
                    "steps": 60_000,
                    "hidden_sizes": (64, 64),
                    "batch_size": 64,
                    "learning_rate": 1e-3,
                    "learning_rate_end": 0.1,
                    "capacity": 50_000,
                    "epsilon_steps": 10_000,
                    "evaluate_every": 2_000,
                    # of ten, a policy that fails one time in six has passed all
                    "evaluation_episodes": 50,
                },
                "LunarLander-v3": {
                    "steps": 400_000,
                    "train_every": 4,
                    "hidden_sizes": (128, 128),
                    "batch_size": 128,
                    "learning_rate": 5e-4,
                    "learning_rate_end": 0.1,
                    "reward_scale": 0.1,
                    "tau": 0.005,
                    "target_period": 1,
                    "epsilon_steps": 50_000,
                    "epsilon_end": 0.02,
                    "evaluate_every": 20_000,
                    "evaluation_episodes": 20,
                },
            },
        ),
        Algorithm(
            "ddpg",
            "DDPGConfig",
            on_policy=False,
            actions="continuous",
            settings={
                "Pendulum-v1": {
                    **PENDULUM,
                    "critic_weight_decay": 0.0,
                    "tau": 0.005,
                    "actor_learning_rate": 5e-4,
                    "critic_learning_rate": 1e-3,
                }
            },
        ),
        Algorithm(
            "td3",
            "TD3Config",
            on_policy=False,
            actions="continuous",
            draws={"noise": "action"},
            settings={
                "Pendulum-v1": {
                    **PENDULUM,
                    "actor_learning_rate": 1e-3,
                    "critic_learning_rate": 1e-3,
                }
            },
        ),
        Algorithm(
            "sac",
            "SACConfig",
            on_policy=False,
            actions="continuous",
            draws={"noise": "action", "next_noise": "action"},
            settings={"Pendulum-v1": dict(PENDULUM)},
        ),
    )
}


def algorithm(name: str) -> Algorithm:
    """An algorithm by its name.

    Raises:
        ConfigError: there is no such; near names are listed.
    """
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    near = get_close_matches(name, ALGORITHMS, n=2, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise ConfigError(f"algorithm {name!r} is unknown; known: {', '.join(ALGORITHMS)}{hint}")


def configure(
    chosen: Algorithm, environment: Environment, settings: Mapping[str, str]
) -> tuple[Any, LoopConfig]:
    """The configurations of the algorithm and of its loop, for one environment.

    Args:
        settings: name -> text, as given on the command line; over what is known to learn.

    Raises:
        ConfigError: the algorithm does not take the environment's actions, a setting is unknown or
            its value unreadable.
    """
    if chosen.actions == "discrete" and not environment.discrete:
        raise ConfigError(f"{chosen.name} needs discrete actions; {environment.id} has continuous")
    if chosen.actions == "continuous" and environment.discrete:
        raise ConfigError(f"{chosen.name} needs continuous actions; {environment.id} has discrete")
    kind = chosen.config_class()
    own = {f.name: f.default for f in fields(kind)}
    loop = {f.name: f.default for f in fields(LoopConfig)}
    values: dict[str, Any] = {
        "observation_size": environment.observation_size,
        "action_size": environment.action_size,
        "check_finite": False,  # what a loop stores was checked when it came in
    }
    if "max_action" in own and not environment.discrete:
        values["max_action"] = bounds(environment)
    if "continuous" in own:
        values["continuous"] = not environment.discrete
    known = chosen.settings.get(environment.id, {})
    if "weighted" in own:
        text = settings.get("prioritized", str(known.get("prioritized", False)))
        values["weighted"] = _parsed("prioritized", text, False)
    for name in settings:
        if name == "weighted" and name in own:
            raise ConfigError("--set weighted: batches are where --set prioritized=true")
        if name == "environments" and chosen.workers:
            raise ConfigError("--set environments: each worker has one; --set workers=N")
        if name in values and name != "check_finite":
            raise ConfigError(f"--set {name}: the environment decides that")
        if name not in own and name not in loop:
            near = get_close_matches(name, [*own, *loop], n=3, cutoff=0.5)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise ConfigError(f"--set {name}: {chosen.name} has no such setting{hint}")
    given = {n: _parsed(n, t, {**own, **loop}[n]) for n, t in settings.items()}
    merged = {**values, **known, **given}
    config = kind(**{n: v for n, v in merged.items() if n in own})
    looped = replace(LoopConfig(), **{n: v for n, v in merged.items() if n in loop})
    _require(looped)
    if looped.prioritized and "weighted" not in own:
        raise ConfigError(f"--set prioritized: dqn learns so; {chosen.name} does not")
    return config, looped


def bounds(environment: Environment) -> tuple[float, ...]:
    """The largest action per dimension.

    Raises:
        ConfigError: the bounds are not symmetric around zero, or there are none.
    """
    high = environment.high
    if not (abs(high) < 1e6).all() or not (environment.low == -high).all():
        raise ConfigError(
            f"{environment.id}: actions from {environment.low} to {high}; only finite bounds "
            "around zero are supported"
        )
    return tuple(float(x) for x in high)


def _require(loop: LoopConfig) -> None:
    for name in ("steps", "environments", "rollout", "batch_size", "train_every", "updates",
                 "capacity", "epsilon_steps", "evaluate_every", "evaluation_episodes"):  # fmt: skip
        if getattr(loop, name) < 1:
            raise ConfigError(f"{name}={getattr(loop, name)}: must be at least 1")
    for name in ("learning_starts", "exploration", "learning_rate_end"):
        if getattr(loop, name) < 0:
            raise ConfigError(f"{name}={getattr(loop, name)}: must be at least 0")
    for name in ("epsilon_end", "priority_beta"):
        if not 0 <= getattr(loop, name) <= 1:
            raise ConfigError(f"{name}={getattr(loop, name)}: must be in [0, 1]")


def _parsed(name: str, text: str, default: Any) -> Any:
    """The value of a setting, of the kind that its default has."""
    lowered = text.strip().lower()
    try:
        if isinstance(default, bool):
            return {"true": True, "1": True, "false": False, "0": False}[lowered]
        if lowered == "none":
            return None
        if isinstance(default, tuple):
            return tuple(int(part) for part in text.split(",") if part.strip())
        if isinstance(default, int):
            return int(text)
        if isinstance(default, str):
            return text
        return float(text)
    except (KeyError, ValueError):
        kind = "true or false" if isinstance(default, bool) else type(default).__name__
        raise ConfigError(f"--set {name}={text}: not a value of the kind {kind}") from None
