"""Bugs planted in training from a stream, and misuses that it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, EmptyBufferError, ShapeError
from impls.stream_training.config import StreamTrainingConfig
from impls.td3.config import TD3Config
from parity.component import ErrorCase, Mutant, Side
from parity.errors import InvalidInput

FREE, LOCKSTEP = "seeded.update", "seeded-lockstep.update"

MUTANTS = (
    Mutant(
        id="step-not-folded-in",
        find='stream = self.config, self._streams["replay"].fold_in(self._updates)',
        replace='stream = self.config, self._streams["replay"]',
        caught_by=FREE,
        because="the same batch in every update",
        case="gaussian",
    ),
    Mutant(
        id="one-key-for-two-purposes",
        find='self._noise("smoothing", self._updates, ',
        replace='self._noise("replay", self._updates, ',
        caught_by=LOCKSTEP,
        because="smoothing noise drawn with the key of the indices: it follows from the batch",
        case="gaussian",
    ),
    Mutant(
        id="purposes-swapped",
        find="self._streams = {name: self._root.split(name).torch(device) for name in PURPOSES}",
        replace="self._streams = {\n"
        "            name: self._root.split(other).torch(device)\n"
        "            for name, other in zip(PURPOSES, (PURPOSES[1], PURPOSES[0], PURPOSES[2]))\n"
        "        }",
        caught_by=LOCKSTEP,
        because="streams assigned by position in another order",
        sibling="torch",
        case="gaussian",
    ),
    Mutant(
        id="purposes-not-split",
        find="{name: self._root.split(name).tf() for name in PURPOSES}",
        replace="{name: self._root.tf() for name in PURPOSES}",
        caught_by=LOCKSTEP,
        because="every draw from the seed's own stream",
        case="gaussian",
    ),
    Mutant(
        id="step-frozen-by-tracing",
        find='stream = self.config, self._streams["replay"].fold_in(self._updates)',
        replace='stream = self.config, self._streams["replay"].fold_in(self._learner.step + 1)',
        caught_by=FREE,
        because="a Python number is folded in: eager code counts on, the graph keeps the first",
        case="gaussian",
        mode="xla",
    ),
    Mutant(
        id="fill-frozen-by-tracing",
        find="stream, self._buffer.size, c.batch_size",
        replace="stream, self._collections * c.collected, c.batch_size",
        caught_by=FREE,
        because="the fill as a Python number: later transitions are never sampled",
        case="gaussian",
        mode="xla",
    ),
    Mutant(
        id="sampled-from-the-capacity",
        find="return _replay_indices(stream, size, count, capacity, replace)",
        replace="return _replay_indices(stream, capacity, count, capacity, replace)",
        caught_by="function.replay_indices",
        because="empty slots are drawn too: rows of zeros, and no error in a compiled step",
        sibling="torch",
        case="without-replacement",
    ),
    Mutant(
        id="always-with-replacement",
        find="    if replace:\n        return stream.integers(count, 0, size)",
        replace="    if size is not None:\n        return stream.integers(count, 0, size)",
        caught_by="function.replay_indices",
        because="rows may come twice though the configuration says otherwise",
        sibling="torch",
        case="without-replacement",
    ),
    Mutant(
        id="modulo-in-place-of-a-range",
        find="return stream.integers(count, 0, size)",
        replace='return stream.bits(count, dtype="int64") % tf.cast(size, tf.int64)',
        caught_by="function.replay_indices",
        because="random bits modulo the size: other indices, and biased",
        case="with-replacement",
    ),
    Mutant(
        id="smoothing-noise-of-one-row",
        find='self._noise("smoothing", self._updates, tuple(batch["action"].shape))',
        replace='self._noise("smoothing", self._updates, (1, batch["action"].shape[1]))\n'
        '        noise = tf.repeat(noise, batch["action"].shape[0], axis=0)',
        caught_by=LOCKSTEP,
        because="one draw for the whole batch, repeated",
        case="gaussian",
    ),
    Mutant(
        id="noise-drawn-in-network-dtype",
        find="normal(shape, dtype=self.config.draw_dtype)",
        replace="normal(shape, dtype=self.dtype)",
        caught_by=LOCKSTEP,
        because="other numbers in float64 than in float32",
        sibling="torch",
        case="gaussian",
    ),
    Mutant(
        id="exploration-not-scaled",
        find="gaussian_action(action, noise, sigma=c.scale, low=low, high=bounds)",
        replace="gaussian_action(action, noise, sigma=c.sigma, low=low, high=bounds)",
        caught_by=FREE,
        because="sigma is a share of max_action and was taken as it is",
        case="gaussian",
    ),
    Mutant(
        id="exploration-follows-the-updates",
        find='self._noise("exploration", self._acts, c.action_shape)',
        replace='self._noise("exploration", self._updates, c.action_shape)',
        caught_by=FREE,
        because="two actions between two updates get the same noise",
        sibling="torch",
        case="gaussian",
    ),
    Mutant(
        id="process-starts-anew",
        find="        self._ou.assign(x_t)\n",
        replace="",
        caught_by=FREE,
        because="the Ornstein-Uhlenbeck state is not kept: white noise",
        case="ou",
    ),
    Mutant(
        id="process-goes-on-after-an-end",
        find="self._ou.masked_fill_(ended[:, None], 0.0)",
        replace="self._ou.masked_fill_(~ended[:, None], 0.0)",
        caught_by=FREE,
        because="the mask's polarity: all processes but the ended one start afresh",
        sibling="torch",
        case="ou",
    ),
    Mutant(
        id="one-seed-for-all-environments",
        find='self._root.split("environment").fold_in(i).fold_in(self._collections)',
        replace='self._root.split("environment").fold_in(self._collections)',
        caught_by=FREE,
        because="every environment lives through the same episodes",
        case="gaussian",
    ),
    Mutant(
        id="same-episodes-in-every-collection",
        find='self._root.split("environment").fold_in(i).fold_in(self._collections)',
        replace='self._root.split("environment").fold_in(i).fold_in(0)',
        caught_by=FREE,
        because="the second collection repeats the first",
        sibling="torch",
        case="gaussian",
    ),
    Mutant(
        id="weights-from-the-root",
        find='initial_state(self.config, self._root.split("weights"))',
        replace="initial_state(self.config, self._root)",
        caught_by=FREE,
        because="weights drawn from another stream than the other side's",
        case="orthogonal",
    ),
    Mutant(
        id="other-batch-for-the-actor",
        find='observation = self._buffer.sample(self._slots)["observation"]',
        replace='observation = self._buffer.sample(self._slots)["next_observation"]',
        caught_by=LOCKSTEP,
        because="the actor is trained on the following observations",
        sibling="torch",
        case="gaussian",
    ),
    Mutant(
        id="epoch-not-folded-in",
        find='_stream(seed, "minibatches").fold_in(step).permutation(rows)',
        replace='_stream(seed, "minibatches").permutation(rows)',
        caught_by="function.minibatches",
        because="the same minibatches in every epoch",
    ),
    Mutant(
        id="left-over-rows-first",
        find="order[: rows // size * size].reshape(-1, size)",
        replace="order[rows % size :].reshape(-1, size)",
        caught_by="function.minibatches",
        because="the rows that are left over are dropped from the front",
        sibling="torch",
    ),
    Mutant(
        id="one-key-for-whether-and-what",
        find='stream.split("action").integers(',
        replace='stream.split("uniform").integers(',
        caught_by="function.epsilon_greedy_action",
        because="the random action depends on how small the uniform was",
        case="some",
    ),
    Mutant(
        id="probabilities-as-logits",
        find=".fold_in(step).categorical(logits)",
        replace=".fold_in(step).categorical(torch.softmax(logits, dim=-1))",
        caught_by="function.sample_action",
        because="softmax twice: a policy that is too flat",
        sibling="torch",
    ),
    Mutant(
        id="dropout-not-rescaled",
        find="return (hidden * mask) @ kernel2 + bias2",
        replace="return tf.where(mask > 0, hidden, tf.zeros_like(hidden)) @ kernel2 + bias2",
        caught_by="function.dropout_network",
        because="the factor 1 / (1 - rate) is missing",
    ),
    Mutant(
        id="dropout-rate-is-keep-rate",
        find="stream.dropout_mask(rate, ",
        replace="stream.dropout_mask(1.0 - rate, ",
        caught_by="function.dropout_network",
        because="the probability to keep a unit taken for the probability to drop it",
        sibling="torch",
    ),
)

CONFIG = StreamTrainingConfig(
    TD3Config(3, 1, 2.0, (11,)), "Pendulum-v1", environments=2, rows=7, capacity=19, batch_size=5
)


def _trainer(side: Side, **fields: Any) -> Any:
    return side.impl.make_trainer(replace(CONFIG, **fields), seed=7, dtype=side.dtype)


def _config(id: str, match: str, **fields: Any) -> ErrorCase:
    return ErrorCase(id, lambda side: _trainer(side, **fields), ConfigError, match)


def _act(shape: tuple[int, ...], dtype: str | None = None) -> Any:
    def call(side: Side) -> Any:
        observation = side.backend.tensor(np.ones(shape, dtype or side.dtype))
        return _trainer(side).act(observation)

    return call


def _end(ended: np.ndarray) -> Any:
    return lambda side: _trainer(side).end_episodes(side.backend.tensor(ended))


def _call(name: str, arrays: dict[str, np.ndarray], **options: Any) -> Any:
    def call(side: Side) -> Any:
        tensors = {n: side.backend.tensor(a, dtype=side.dtype) for n, a in arrays.items()}
        return getattr(side.impl, name)(**tensors, **options)

    return call


def _replay(size: int, count: int, capacity: int, replace: bool) -> Any:
    arrays = {"step": np.array(1), "size": np.array(size)}
    options = {"count": count, "capacity": capacity, "replace": replace}
    return _call("replay_indices", arrays, seed=7, **options)


def _load(edit: Any) -> Any:
    def call(side: Side) -> Any:
        trainer = _trainer(side)
        state = trainer.state()
        edit(state)
        trainer.load_state(state)

    return call


def _dense(rate: float = 0.5, **shapes: tuple[int, ...]) -> Any:
    sizes = {"x": (5, 3), "kernel1": (3, 11), "bias1": (11,), "kernel2": (11, 2), "bias2": (2,)}
    arrays = {name: np.ones(shape) for name, shape in {**sizes, **shapes}.items()}
    return _call("dropout_network", {**arrays, "step": np.array(1)}, seed=7, rate=rate)


STEP = {"step": np.array(1)}

ERRORS = (
    _config("no-environments", "environments=0: must be at least 1", environments=0),
    _config("no-rows", "rows=0: must be at least 1", rows=0),
    _config("small-capacity", "capacity=13: must hold one collection, 14", capacity=13),
    _config("large-batch", "batch_size=15: at most one collection, 14", batch_size=15),
    _config("unknown-exploration", "exploration='white' is unknown", exploration="white"),
    _config("unknown-initializer", "initializer='lecun' is unknown", initializer="lecun"),
    _config("unknown-draws", "draw_dtype='float16' is unknown", draw_dtype="float16"),
    _config("negative-sigma", "sigma=-0.1", sigma=-0.1),
    _config("no-time", "dt=0.0: must be above 0", dt=0.0),
    ErrorCase(
        "seed-no-number",
        lambda side: side.impl.make_trainer(CONFIG, seed=0.5, dtype=side.dtype),
        InvalidInput,
        "seed=0.5: a whole number is needed",
    ),
    ErrorCase(
        "unknown-variant",
        lambda side: side.impl.make_trainer(CONFIG, seed=7, dtype=side.dtype, variant="jit"),
        ConfigError,
        "variant='jit' is unknown",
    ),
    ErrorCase(
        "other-environment",
        lambda side: _trainer(side, env_id="MountainCarContinuous-v0"),
        ShapeError,
        r"observation has shape .*2",
    ),
    ErrorCase(
        "rows-of-observations", _act((3, 3)), ShapeError, "observation has 3 rows, expected one for"
    ),
    ErrorCase("observation-size", _act((2, 4)), ShapeError, r"observation has shape \(2, 4\)"),
    ErrorCase("whole-observation", _act((2, 3), "int64"), DtypeError, "observation is int64"),
    ErrorCase("ended-shape", _end(np.ones(3, bool)), ShapeError, r"ended has shape \(3,\)"),
    ErrorCase("ended-number", _end(np.ones(2, np.int64)), DtypeError, "ended is int64, must be"),
    ErrorCase(
        "state-without-process",
        _load(lambda state: state.pop("trainer/ou")),
        ConfigError,
        r"state: missing \['trainer/ou'\]",
    ),
    ErrorCase(
        "state-of-other-capacity",
        _load(lambda state: state.update({"buffer/reward": np.zeros(20)})),
        ShapeError,
        r"state\['buffer/reward'\] has shape \[20\], expected \[19\]",
    ),
    ErrorCase("empty-buffer", _replay(0, 3, 9, True), EmptyBufferError, "size=0: there is nothing"),
    ErrorCase(
        "more-than-filled",
        _replay(4, 5, 9, False),
        EmptyBufferError,
        "count=5: the buffer holds only 4 transitions",
    ),
    ErrorCase(
        "large-minibatch",
        _call("minibatches", STEP, seed=7, rows=5, size=6),
        ConfigError,
        r"size=6: must be in \[1, rows\], rows=5",
    ),
    ErrorCase(
        "values-without-rows",
        _call("epsilon_greedy_action", {"q": np.ones(5), **STEP}, seed=7, epsilon=0.1),
        ShapeError,
        r"q has shape \(5,\)",
    ),
    ErrorCase(
        "epsilon-above-one",
        _call("epsilon_greedy_action", {"q": np.ones((5, 3)), **STEP}, seed=7, epsilon=1.1),
        ConfigError,
        "epsilon=1.1: must be in",
    ),
    ErrorCase(
        "whole-logits",
        _call("sample_action", {"logits": np.ones((5, 3), np.int64), **STEP}, seed=7),
        InvalidInput,
        "logits: floating numbers are needed",
    ),
    ErrorCase(
        "weights-do-not-fit", _dense(kernel2=(10, 2)), ShapeError, r"kernel2 has shape \(10, 2\)"
    ),
    ErrorCase("drops-all", _dense(rate=1.0), InvalidInput, r"rate=1.0: must be in \[0, 1\)"),
)
