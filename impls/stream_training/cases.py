"""What training from a stream is checked on: seeds in, whole updates and single draws out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from impls.stream_training.config import StreamTrainingConfig
from impls.td3.config import TD3Config
from parity.checks.from_seed import SeededLockstepCheck, SeededUpdateCheck
from parity.checks.function import FunctionCheck
from parity.component import Check
from parity.tolerance import Tolerance

SEED = 2026
TRACES = 2
"""Graphs of a compiled trainer: the critics' part and the delayed part."""

COMPOSED = {
    "float64": {"*": Tolerance(1e-10, "20 updates, each continuing from its own side's results")}
}

GAUSSIAN = StreamTrainingConfig(
    TD3Config(3, 1, 2.0, (11,), max_gradient_norm=0.5, tau=0.01),
    "Pendulum-v1",
    rows=17,
    capacity=83,
    max_episode_steps=7,
    reward_scale=0.1,
)
"""Two collections fit the buffer, which is never full."""

OU = StreamTrainingConfig(
    TD3Config(8, 2, 1.0, (11,), policy_delay=3, gamma=0.9),
    "LunarLanderContinuous-v3",
    environments=3,
    rows=90,
    capacity=401,
    batch_size=29,
    replace=False,
    exploration="ou",
    sigma=0.2,
    initializer="glorot_uniform",
    reward_scale=0.1,
)
"""The second collection overwrites the oldest transitions."""

ORTHOGONAL = StreamTrainingConfig(
    TD3Config(3, 1, 2.0, (11, 7), policy_delay=1),
    "Pendulum-v1",
    environments=1,
    rows=31,
    capacity=31,
    batch_size=31,
    replace=False,
    initializer="orthogonal",
    draw_dtype="float64",
    max_episode_steps=7,
    reward_scale=0.1,
)
"""Every batch is the whole buffer, in another order; noise drawn in float64."""


def _expected_zeros(config: StreamTrainingConfig) -> tuple[str, ...]:
    """What is zero on purpose: slots and counters at first, and what this case does not use."""
    found = ["initial/slot/*", "initial/trainer/*", "initial/step"]
    found.append("update/0[01]/state/slot/actor/*")
    if config.initializer != "kaiming_uniform":
        found += ["initial/*/bias", "update/0[01]/state/param/actor/*/bias"]
        found += ["update/0[01]/state/target/*/bias"]
    if config.exploration == "gaussian":
        found.append("update/*/state/trainer/ou")
    if config.env_id == "Pendulum-v1":
        found.append("*/buffer/terminated")
    if config.capacity == config.collected:
        found.append("*/buffer/cursor")
    return tuple(found)


def _collect(trainer: Any) -> None:
    trainer.collect()


def _slower(group: str) -> Callable[[Any], None]:
    return lambda trainer: trainer.set_learning_rate(group, 1e-4)


def _explore(trainer: Any, index: int, tensor: Callable[[np.ndarray], Any]) -> Mapping[str, Any]:
    """Act on what the trainer itself holds, twice; after a few updates one episode ends."""
    stored = trainer.state()["buffer/observation"]
    count = trainer.config.environments
    if index == 4:
        trainer.end_episodes(tensor(np.arange(count) == 0))
    actions = (trainer.act(tensor(stored[k : k + count])) for k in (index, index + 5))
    return dict(zip(("first", "second"), actions, strict=True))


def trainer_case(config: StreamTrainingConfig, case: str, **fields: Any) -> dict[str, Any]:
    """Arguments of a check on a trainer: acts, changes rates, and collects while it trains."""
    return {
        "name": "update",
        "case": case,
        "config": config,
        "seed": SEED,
        "traces": TRACES,
        "ask": _explore,
        "changes": {1: _slower("critic"), 2: _slower("actor"), 3: _collect},
        "expect_zero": _expected_zeros(config),
        "needs": ("gymnasium", "box2d") if "Lander" in config.env_id else ("gymnasium",),
        **fields,
    }


TRAINER_CHECKS: tuple[Check, ...] = (
    # The only one that torch compiles: the draws alone are 300 operations, which takes seconds.
    SeededUpdateCheck(
        **trainer_case(GAUSSIAN, "gaussian"),
        dtypes=("float64",),
        modes=("eager", "compiled", "xla"),
        tolerances=COMPOSED,
    ),
    SeededUpdateCheck(
        **trainer_case(OU, "ou"), dtypes=("float64",), updates=8, tolerances=COMPOSED
    ),
    SeededUpdateCheck(
        **trainer_case(ORTHOGONAL, "orthogonal"),
        dtypes=("float64",),
        updates=5,
        tolerances=COMPOSED,
    ),
    SeededLockstepCheck(**trainer_case(GAUSSIAN, "gaussian"), updates=6),
    SeededLockstepCheck(**trainer_case(OU, "ou"), updates=20, dtypes=("float32",)),
)


def _step(value: int, **scalars: int) -> Callable[[np.random.Generator], dict[str, np.ndarray]]:
    arrays = {name: np.array(number) for name, number in {"step": value, **scalars}.items()}
    return lambda rng: arrays


def _scores(name: str, rows: int, actions: int, step: int) -> Callable[[Any], dict[str, Any]]:
    return lambda rng: {name: rng.normal(size=(rows, actions)), "step": np.array(step)}


def _dense(rng: np.random.Generator) -> dict[str, np.ndarray]:
    sizes = {"x": (13, 3), "kernel1": (3, 11), "bias1": (11,), "kernel2": (11, 2), "bias2": (2,)}
    return {**{n: rng.normal(size=s) for n, s in sizes.items()}, "step": np.array(7)}


BOTH = ("eager", "xla")
"""Modes of one case of each function; torch compiles these draws within the trainer's step."""


def _replay(case: str, size: int, replace: bool, **fields: Any) -> FunctionCheck:
    return FunctionCheck(
        name="replay_indices",
        case=case,
        inputs=_step(5, size=size),
        options={"seed": SEED, "count": 13, "capacity": 101, "replace": replace},
        dtypes=("float64",),
        **fields,
    )


FUNCTION_CHECKS: tuple[Check, ...] = (
    _replay("with-replacement", 47, True, modes=BOTH),
    _replay("without-replacement", 47, False, modes=BOTH),
    _replay("without-all", 13, False),
    _replay("one-row", 1, True, expect_zero=("output/value",)),
    *(
        FunctionCheck(
            name="minibatches",
            case=f"epoch-{epoch}",
            inputs=_step(epoch),
            options={"seed": SEED, "rows": 47, "size": 7},
            modes=BOTH if epoch else ("eager",),
            dtypes=("float64",),
        )
        for epoch in (0, 3)
    ),
    *(
        FunctionCheck(
            name="epsilon_greedy_action",
            case=case,
            inputs=_scores("q", 101, 5, step),
            options={"seed": SEED, "epsilon": epsilon},
            modes=BOTH if case == "some" else ("eager",),
            dtypes=("float64",),
        )
        for case, epsilon, step in (("some", 0.3, 7), ("greedy", 0.0, 7), ("random", 1.0, 8))
    ),
    FunctionCheck(
        name="sample_action",
        case="policy",
        inputs=_scores("logits", 101, 5, 7),
        options={"seed": SEED},
        modes=BOTH,
        dtypes=("float64",),
    ),
    FunctionCheck(
        name="dropout_network",
        case="training",
        inputs=_dense,
        options={"seed": SEED, "rate": 0.3},
        gradients=("x", "kernel1", "bias1", "kernel2", "bias2"),
    ),
)

CHECKS = (*TRAINER_CHECKS, *FUNCTION_CHECKS)
