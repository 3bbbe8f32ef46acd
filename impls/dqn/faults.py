"""Bugs planted in DQN, and misuses that it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from impls.dqn.cases import synthetic
from impls.dqn.config import DQNConfig
from impls.errors import ConfigError, DtypeError, ImplError, NonFiniteError, ShapeError
from parity.component import ErrorCase, Mutant, Side

MUTANTS = (
    Mutant(
        id="target-through-the-online-network",
        find='q_t = self.targets["q"](next_observation)',
        replace='q_t = self.networks["q"](next_observation)',
        caught_by="chain.target",
        because="the target is computed with the network that it trains",
        case="cart-pole",
    ),
    Mutant(
        id="one-network-chooses-and-values",
        find='selector_q_t = self.networks["q"](next_observation)',
        replace="selector_q_t = q_t",
        caught_by="chain.target",
        because="double DQN with one network: the maximum again, and its bias",
        sibling="torch",
        case="lunar-lander",
    ),
    Mutant(
        id="networks-of-double-swapped",
        find="double_dqn_target(reward, discount_t, q_t, selector_q_t)",
        replace="double_dqn_target(reward, discount_t, selector_q_t, q_t)",
        caught_by="chain.target",
        because="the target network chooses, the online network values",
        case="lunar-lander",
    ),
    Mutant(
        id="double-forgotten",
        find="if not self.config.double:",
        replace="if True:",
        caught_by="chain.target",
        because="the maximum of the target network whatever the configuration says",
        case="square",
    ),
    Mutant(
        id="terminal-state-bootstrapped",
        find="return returns.discounts(terminated, truncated, gamma, dtype=self.dtype)",
        replace="return returns.discounts(\n"
        "                tf.zeros_like(terminated), truncated, gamma, dtype=self.dtype)",
        caught_by="chain.target",
        because="bootstraps beyond the end of the task",
        case="cart-pole",
    ),
    Mutant(
        id="time-limit-as-end",
        find="return returns.discounts(terminated, truncated, gamma, dtype=self.dtype)",
        replace="return returns.discounts(\n"
        "                terminated | truncated, truncated, gamma, dtype=self.dtype)",
        caught_by="chain.target",
        because="done = terminated or truncated: a time limit ends the sum of rewards",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="gamma-once-for-n-steps",
        find="powers = tf.pow(tf.constant(gamma, goes_on.dtype), tf.cast(steps, goes_on.dtype))",
        replace="powers = tf.constant(gamma, goes_on.dtype)",
        caught_by="chain.target",
        because="an n-step return that is discounted by one step",
        case="replay",
    ),
    Mutant(
        id="gamma-always-for-all-n-steps",
        find="torch.pow(gamma, steps.to(goes_on.dtype))",
        replace="gamma**self.config.n_step",
        caught_by="chain.target",
        because="a window that was cut short is discounted as if it were whole",
        sibling="torch",
        case="replay",
    ),
    Mutant(
        id="weight-forgotten",
        find="q_learning_loss(q_tm1, action, target, weight=weight, delta=delta)",
        replace="q_learning_loss(q_tm1, action, target, delta=delta)",
        caught_by="chain.loss",
        because="prioritized replay without its importance weights",
        case="replay",
    ),
    Mutant(
        id="weight-in-the-gradient-alone",
        find='self.loss_gradients(s, a, made["target"], batch.get("weight"))',
        replace='self.loss_gradients(s, a, made["target"])',
        caught_by="composed.update",
        because="the update drops the weights that the links take",
        case="replay",
    ),
    Mutant(
        id="huber-delta-left-at-one",
        find="delta = self.config.huber_delta",
        replace="delta = 1.0",
        caught_by="chain.loss",
        because="the default of the framework's Huber loss",
        case="one-row",
    ),
    Mutant(
        id="td-error-sign",
        find='return target - value_losses.chosen_value(self.networks["q"](observation), action)',
        replace='q = self.networks["q"](observation)\n'
        "        return value_losses.chosen_value(q, action) - target",
        caught_by="chain.td_error",
        because="prediction minus target, where others expect target minus prediction",
        case="square",
    ),
    Mutant(
        id="td-error-of-the-target-network",
        find='return target - value_losses.chosen_value(self.networks["q"](observation), action)',
        replace='return target - value_losses.chosen_value(self.targets["q"](observation), action)',
        caught_by="chain.td_error",
        because="priorities from an estimate that lags behind",
        sibling="torch",
        case="square",
    ),
    Mutant(
        id="gradient-of-the-sum",
        find='return loss.detach(), self.gradients(loss, "q")',
        replace='return loss.detach(), self.gradients(loss * len(action), "q")',
        caught_by="chain.loss_gradients",
        because="the mean is logged, the sum is descended",
        sibling="torch",
        case="square",
    ),
    Mutant(
        id="epsilon-of-keras",
        find="config.network, AdamConfig(config.learning_rate))",
        replace="config.network, AdamConfig(config.learning_rate, epsilon=1e-7))",
        caught_by="chain.apply_gradients",
        because="Adam's epsilon left at the default of Keras, 1e-7 for 1e-8",
        case="lunar-lander",
    ),
    Mutant(
        id="clipped-per-tensor",
        find="return optimizers.clip_by_global_norm(gradients, self.config.max_gradient_norm)",
        replace="bound = self.config.max_gradient_norm\n"
        "        clipped = {n: tf.clip_by_norm(g, bound) for n, g in gradients.items()}\n"
        "        return clipped, tf.linalg.global_norm(list(gradients.values()))",
        caught_by="chain.clip_gradients",
        because="the norm of each tensor is bounded instead of that of all together",
        case="one-row",
    ),
    Mutant(
        id="clipped-gradients-not-used",
        find='gradients, made["gradient_norm"] = self.clip_gradients(gradients)',
        replace='_, made["gradient_norm"] = self.clip_gradients(gradients)',
        caught_by="composed.update",
        because="the result of clipping is thrown away",
        sibling="torch",
        case="one-row",
    ),
    Mutant(
        id="target-in-every-update",
        find="if self.step % self.config.target_period == 0:",
        replace="if True:",
        caught_by="composed.update",
        because="the target network follows at once",
        case="lunar-lander",
    ),
    Mutant(
        id="target-one-update-early",
        find="if self.step % self.config.target_period == 0:",
        replace="if self.step % self.config.target_period == 1:",
        caught_by="composed.update",
        because="counted from 0 instead of 1",
        sibling="torch",
        case="lunar-lander",
    ),
    Mutant(
        id="copied-although-tau-is-less",
        find='super().update_target("q", self.config.tau)',
        replace='super().update_target("q", 1.0)',
        caught_by="chain.update_target",
        because="a hard copy where the configuration asks for a soft one",
        case="replay",
    ),
    Mutant(
        id="traced-anew-in-every-update",
        find="made: Tensors = self._compiled_chain(dict(batch))",
        replace="made: Tensors = self.compiled(self._chain)(dict(batch))",
        caught_by="lockstep.update",
        because="tf.function is made inside of the update: it traces each time",
        case="cart-pole-xla",
        mode="xla",
        dtype="float32",
    ),
    Mutant(
        id="reference-values-its-own-choice",
        find="valued[b, np.argmax(chooses[b])]",
        replace="np.max(valued[b])",
        caught_by="chain.target",
        because="the reference itself forgets that the online network chooses",
        sibling="reference",
        case="lunar-lander",
    ),
)

CONFIG = DQNConfig(3, 4, (11, 7))
ROWS = 4

Edit = Callable[[dict[str, np.ndarray]], Any]


def _update_with(side: Side, edit: Edit) -> Any:
    """One update on a batch that has been edited."""
    batch, _ = synthetic(CONFIG, ROWS)(np.random.default_rng(0), 1)[0]
    given = {n: a.astype(side.dtype) if a.dtype.kind == "f" else a for n, a in batch.items()}
    edit(given)
    learner = side.impl.make_learner(CONFIG, dtype=side.dtype)
    return learner.update(
        {n: side.backend.tensor(a, device=side.device) for n, a in given.items()}, {}
    )


def _batch(id: str, error: type[ImplError], match: str, edit: Edit) -> ErrorCase:
    return ErrorCase(id, lambda side: _update_with(side, edit), error, match)


def _config(id: str, match: str, **fields: Any) -> ErrorCase:
    def call(side: Side) -> Any:
        return side.impl.make_learner(replace(CONFIG, **fields), dtype=side.dtype)

    return ErrorCase(id, call, ConfigError, match)


def _state(side: Side) -> Any:
    learner = side.impl.make_learner(CONFIG, dtype=side.dtype)
    state = learner.state()
    state["param/q/l1/kernel"] = state["param/q/l1/kernel"].T
    return learner.load_state(state)


ERRORS = (
    _batch(
        "missing-field",
        ShapeError,
        r"batch: missing \['truncated'\]",
        lambda b: b.pop("truncated"),
    ),
    _batch(
        "steps-of-a-one-step-learner",
        ShapeError,
        r"batch: .*unknown \['steps'\]",
        lambda b: b.update(steps=np.ones(ROWS, np.int64)),
    ),
    _batch(
        "one-hot-actions",
        ShapeError,
        r"batch\['action'\] has shape \[4, 4\], expected \[B\]",
        lambda b: b.update(action=np.eye(4, dtype=np.int64)),
    ),
    _batch(
        "actions-as-floats",
        DtypeError,
        r"batch\['action'\] is float(32|64), expected int64",
        lambda b: b.update(action=b["action"].astype(b["reward"].dtype)),
    ),
    _batch(
        "reward-column",
        ShapeError,
        r"batch\['reward'\] has shape \[4, 1\], expected \[B\]",
        lambda b: b.update(reward=b["reward"][:, None]),
    ),
    _batch(
        "rows-differ",
        ShapeError,
        "expected one number of rows B, got .*reward 3",
        lambda b: b.update(reward=b["reward"][1:]),
    ),
    _batch(
        "flag-as-number",
        DtypeError,
        r"batch\['terminated'\] is float(32|64), expected bool",
        lambda b: b.update(terminated=b["terminated"].astype(b["reward"].dtype)),
    ),
    _batch(
        "nan-reward",
        NonFiniteError,
        r"batch\['reward'\]\[2\] is nan",
        lambda b: b["reward"].__setitem__(2, np.nan),
    ),
    _config("gamma-above-one", r"gamma=1.5: must be in \[0, 1\]", gamma=1.5),
    _config("never-a-target", "target_period=0: must be at least 1", target_period=0),
    _config("no-steps", "n_step=0: must be at least 1", n_step=0),
    _config("flat-loss", "huber_delta=0.0: must be finite and above 0", huber_delta=0.0),
    _config("clip-at-zero", "max_gradient_norm=0.0", max_gradient_norm=0.0),
    ErrorCase(
        "state-with-transposed-kernel",
        _state,
        ShapeError,
        r"state\['param/q/l1/kernel'\] has shape \[11, 3\], expected \[3, 11\]",
    ),
    ErrorCase(
        "rate-of-unknown-network",
        lambda side: side.impl.make_learner(CONFIG, dtype=side.dtype).set_learning_rate(
            "critic", 1e-3
        ),
        ConfigError,
        "group='critic' is unknown; known: q",
    ),
    ErrorCase(
        "unknown-variant",
        lambda side: side.impl.make_learner(CONFIG, dtype=side.dtype, variant="fast"),
        ConfigError,
        "variant='fast' is unknown to (torch|tf|reference)",
    ),
    ErrorCase(
        "half-precision",
        lambda side: side.impl.make_learner(CONFIG, dtype="float16"),
        DtypeError,
        "dtype='float16'",
    ),
)
