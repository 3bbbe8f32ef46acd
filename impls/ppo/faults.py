"""Bugs planted in PPO, and misuses that it refuses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from impls.errors import ConfigError, DtypeError, NonFiniteError, ShapeError
from impls.learner.rollout_faults import (
    ENVIRONMENTS,
    STEPS,
    Arrays,
    change,
    learner_errors,
    rollout_errors,
    update_case,
)
from impls.ppo.config import PPOConfig
from parity.component import Mutant

MUTANTS = (
    Mutant(
        id="next-values-shifted",
        find="return self.state_values(observation), self.state_values(next_observation)",
        replace="value = self.state_values(observation)\n"
        "        return value, tf.concat([value[1:], value[-1:]], axis=0)",
        caught_by="chain.value_estimates",
        because="the value of the next row, which is the next episode's behind an end",
        case="cart-pole",
    ),
    Mutant(
        id="terminal-state-bootstrapped",
        find="returns.discounts(terminated, truncated,",
        replace="returns.discounts(tf.zeros_like(terminated), truncated,",
        caught_by="chain.advantage",
        because="the mask is forgotten in the backward recursion",
        case="cart-pole",
    ),
    Mutant(
        id="time-limit-as-end",
        find="terminated, truncated, c.gamma",
        replace="terminated | truncated, truncated, c.gamma",
        caught_by="chain.advantage",
        because="done = terminated or truncated: nothing is bootstrapped at a time limit",
        sibling="torch",
        case="pendulum",
    ),
    Mutant(
        id="advantage-runs-on-after-a-time-limit",
        find="lambda_=c.gae_lambda, truncated=truncated",
        replace="lambda_=c.gae_lambda",
        caught_by="chain.advantage",
        because="the recursion is not cut where the environment was reset",
        case="pendulum",
    ),
    Mutant(
        id="lambda-for-gamma",
        find="lambda_=c.gae_lambda, truncated=truncated",
        replace="lambda_=c.gae_lambda**2, truncated=truncated",
        caught_by="chain.advantage",
        because="lambda enters the product twice",
        sibling="torch",
        case="all-ends",
    ),
    Mutant(
        id="target-without-the-value",
        find="return advantage, advantage + tf.stop_gradient(value)",
        replace="return advantage, advantage + tf.stop_gradient(next_value)",
        caught_by="chain.advantage",
        because="the value of the state behind the step is added",
        case="square",
    ),
    Mutant(
        id="recursion-over-the-flat-batch",
        find="advantage = advantages.gae(\n"
        "            reward, discount_t, value, next_value, lambda_=c.gae_lambda, "
        "truncated=truncated\n        )",
        replace="x = [a.T.reshape(-1, 1)"
        " for a in (reward, discount_t, value, next_value, truncated)]\n"
        "        advantage = advantages.gae(*x[:4], lambda_=c.gae_lambda, truncated=x[4])\n"
        "        advantage = advantage.reshape(reward.T.shape).T",
        caught_by="chain.advantage",
        because="the batch is flattened first: one environment runs on into the next",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="log-prob-flattened-environment-first",
        find="return tuple(x.flatten(0, 1) for x in fields)",
        replace="flat = [x.flatten(0, 1) for x in fields]\n"
        "        flat[2] = log_prob.T.flatten()\n"
        "        return tuple(flat)",
        caught_by="chain.flatten",
        because="log-probabilities by environment, everything else by step",
        sibling="torch",
        case="all-ends",
    ),
    Mutant(
        id="permutation-not-used",
        find="index = tf.reshape(permutation, [-1, rows])",
        replace="index = tf.reshape(tf.sort(permutation, axis=-1), [-1, rows])",
        caught_by="chain.gather",
        because="minibatches of neighbouring steps",
        case="cart-pole",
    ),
    Mutant(
        id="one-permutation-for-all-epochs",
        find="index = permutation.reshape(-1, rows)",
        replace="index = permutation[:1].expand_as(permutation).reshape(-1, rows)",
        caught_by="chain.gather",
        because="shuffled once, before the epochs",
        sibling="torch",
        case="pendulum",
    ),
    Mutant(
        id="minibatches-interleaved",
        find="index = tf.reshape(permutation, [-1, rows])",
        replace="index = tf.reshape(tf.transpose(tf.reshape(permutation, "
        "[self.config.epochs, rows, -1]), [0, 2, 1]), [-1, rows])",
        caught_by="chain.gather",
        because="every n-th row of the permutation in place of a part of it",
        case="all-ends",
    ),
    Mutant(
        id="advantages-shuffled-on-their-own",
        find="return tuple(tf.gather(x, index) for x in fields)",
        replace="made = [tf.gather(x, index) for x in fields]\n"
        "        made[4] = tf.gather(flat_advantage, index[::-1])\n"
        "        return tuple(made)",
        caught_by="chain.gather",
        because="another order for the advantages than for the actions",
        case="square",
    ),
    Mutant(
        id="first-minibatch-every-time",
        find="return tuple(x[k] for x in fields)",
        replace="return tuple(x[0] for x in fields)",
        caught_by="composed.update",
        because="the index of the minibatch is not used",
        case="cart-pole",
    ),
    Mutant(
        id="last-minibatch-first",
        find="return tuple(x[k] for x in fields)",
        replace="return tuple(x[len(x) - 1 - k] for x in fields)",
        caught_by="chain.minibatch",
        because="minibatches in reverse",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="normalised-by-n-minus-one",
        find="advantages.normalize_advantage(mb_advantage)",
        replace="(mb_advantage - mb_advantage.mean()) / (mb_advantage.std() + 1e-8)",
        caught_by="chain.normalize",
        because="torch's own deviation divides by M - 1",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="normalised-over-the-rollout",
        find="        if self.config.normalize_advantage:\n"
        "            advantage = self.normalize(advantage)\n",
        replace="",
        caught_by="composed.update",
        because="the minibatch is taken as if its rollout had been normalised",
        case="pendulum",
    ),
    Mutant(
        id="ratio-of-new-to-new",
        find="log_prob, mb_log_prob, mb_advantage, clip=c.ratio_clip",
        replace="log_prob, tf.stop_gradient(log_prob), mb_advantage, clip=c.ratio_clip",
        caught_by="chain.loss",
        because="the log-probability is computed anew: the ratio is always 1",
        case="cart-pole",
    ),
    Mutant(
        id="ratio-inverted",
        find="log_prob, mb_log_prob, mb_advantage, clip=c.ratio_clip",
        replace="2 * mb_log_prob - log_prob, mb_log_prob, mb_advantage, clip=c.ratio_clip",
        caught_by="chain.loss",
        because="old over new",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="old-log-prob-not-detached",
        find="policy = policy_losses.clipped_surrogate_loss(\n"
        "            log_prob, mb_log_prob, mb_advantage, clip=c.ratio_clip\n        )",
        replace="ratio = torch.exp(log_prob - mb_log_prob)\n"
        "        kept = ratio.clamp(1 - c.ratio_clip, 1 + c.ratio_clip)\n"
        "        gain = mb_advantage.detach()\n"
        "        policy = -torch.mean(torch.minimum(ratio * gain, kept * gain))",
        caught_by="chain.loss",
        because="right value, and a gradient for the old log-probability",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="max-for-min",
        find="policy = policy_losses.clipped_surrogate_loss(\n"
        "            log_prob, mb_log_prob, mb_advantage, clip=c.ratio_clip\n        )",
        replace="ratio = tf.exp(log_prob - tf.stop_gradient(mb_log_prob))\n"
        "        kept = tf.clip_by_value(ratio, 1 - c.ratio_clip, 1 + c.ratio_clip)\n"
        "        gain = tf.stop_gradient(mb_advantage)\n"
        "        policy = -tf.reduce_mean(tf.maximum(ratio * gain, kept * gain))",
        caught_by="chain.loss",
        because="the larger of the two gains",
        case="pendulum",
    ),
    Mutant(
        id="clipped-on-one-side",
        find="policy = policy_losses.clipped_surrogate_loss(\n"
        "            log_prob, mb_log_prob, mb_advantage, clip=c.ratio_clip\n        )",
        replace="ratio = tf.exp(log_prob - tf.stop_gradient(mb_log_prob))\n"
        "        kept = tf.minimum(ratio, 1 + c.ratio_clip)\n"
        "        gain = tf.stop_gradient(mb_advantage)\n"
        "        policy = -tf.reduce_mean(tf.minimum(ratio * gain, kept * gain))",
        caught_by="chain.loss",
        because="the ratio has an upper bound only",
        case="all-ends",
    ),
    Mutant(
        id="value-loss-without-half",
        find='value = policy_losses.value_loss(made["value"], mb_target)',
        replace='value = tf.reduce_mean(tf.square(made["value"] - tf.stop_gradient(mb_target)))',
        caught_by="chain.loss",
        because="the mean squared error in place of half of it",
        case="pendulum",
    ),
    Mutant(
        id="value-clipped-around-the-target",
        find='made["value"], mb_value, mb_target, clip=c.value_clip',
        replace='made["value"], mb_target, mb_target, clip=c.value_clip',
        caught_by="lockstep.update",
        because="the return where the old value belongs",
        case="square",
    ),
    Mutant(
        id="value-clip-of-the-ratio",
        find='made["value"], mb_value, mb_target, clip=c.value_clip',
        replace='made["value"], mb_value, mb_target, clip=c.ratio_clip',
        caught_by="lockstep.update",
        because="one clip for both",
        sibling="torch",
        case="square",
    ),
    Mutant(
        id="entropy-sign",
        find="- c.entropy_coefficient * entropy",
        replace="+ c.entropy_coefficient * entropy",
        caught_by="chain.gradients_of",
        because="certainty is rewarded",
        case="all-ends",
    ),
    Mutant(
        id="log-of-probability-plus-epsilon",
        find="log_prob = self.log_prob(made, mb_action)",
        replace='p = tf.gather(tf.nn.softmax(made["logits"]), mb_action, batch_dims=1)\n'
        "        log_prob = tf.math.log(p + 1e-8)",
        caught_by="chain.gradients_of",
        because="log(p + 1e-8) in place of log-softmax: off by 1e-8 / p",
        case="all-ends",
    ),
    Mutant(
        id="value-gradient-stops-at-the-trunk",
        find='value = policy_losses.value_loss(made["value"], mb_target)',
        replace="features = self.network.trunk(mb_observation).detach()\n"
        "            v = self.network.value(features).squeeze(-1)\n"
        "            value = policy_losses.value_loss(v, mb_target)",
        caught_by="chain.gradients_of",
        because="right losses; the trunk learns from the policy alone",
        sibling="torch",
        case="all-ends",
    ),
    Mutant(
        id="clipped-per-tensor",
        find="variant=variant, log_prob=dtype)",
        replace="variant=variant, log_prob=dtype)\n"
        "        inner, bound = self.clip, self.config.max_gradient_norm\n"
        "        self.clip = lambda g: ("
        "{n: tf.clip_by_norm(x, bound) for n, x in g.items()}, inner(g)[1])",
        caught_by="chain.clip",
        because="each tensor is clipped by its own norm, not all by their joint norm",
        case="cart-pole",
    ),
    Mutant(
        id="keras-epsilon",
        find="variant=variant, log_prob=dtype)",
        replace="variant=variant, log_prob=dtype)\n"
        "        from dataclasses import replace\n\n"
        "        inner = self.optimizers[GROUPS[0]]\n"
        "        inner._config = replace(inner._config, epsilon=1e-7)",
        caught_by="chain.apply",
        because="Keras's default epsilon in place of the configured one",
        case="cart-pole",
    ),
    Mutant(
        id="learning-rate-per-minibatch",
        find="self.apply(gradients)\n        return made",
        replace="self.apply({n: g / self.config.minibatches for n, g in gradients.items()})\n"
        "        return made",
        caught_by="lockstep.update",
        because="the gradient is divided by the number of minibatches",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="traced-anew-for-every-minibatch",
        find="steps.append(self._step(",
        replace="steps.append(self.compiled(self._minibatch_links)(",
        caught_by="composed.update",
        because="tf.function is made inside of the loop: it traces each time",
        case="cart-pole",
        mode="xla",
    ),
    Mutant(
        id="reference-positive-advantages-alone",
        find="limit = np.where(advantage >= 0.0, 1.0 + clip, 1.0 - clip)",
        replace="limit = np.full_like(advantage, 1.0 + clip)",
        caught_by="chain.loss",
        because="the reference has one bound for either sign",
        sibling="reference",
        case="cart-pole",
    ),
)

CONFIG = PPOConfig(3, 2, hidden_sizes=(11, 7), epochs=2, minibatches=3)
ROWS = STEPS * ENVIRONMENTS


def _more() -> tuple[Arrays, Arrays]:
    order = np.arange(ROWS)
    log_prob = np.linspace(-1.0, -0.1, ROWS).reshape(STEPS, ENVIRONMENTS)
    return {"log_prob": log_prob}, {"permutation": np.stack([order, order[::-1]])}


def _permuted(edit: Callable[[np.ndarray], np.ndarray]) -> Callable[[Arrays, Arrays], None]:
    return lambda batch, draws: draws.update(permutation=edit(draws["permutation"]))


def _twice(order: np.ndarray) -> np.ndarray:
    changed = order.copy()
    changed[1, 0] = changed[1, 1]
    return changed


ERRORS = (
    *rollout_errors(CONFIG, _more),
    update_case(
        "no-permutation",
        ShapeError,
        r"draws: missing \['permutation'\]",
        lambda batch, draws: draws.clear(),
        config=CONFIG,
        more=_more,
    ),
    update_case(
        "one-permutation",
        ShapeError,
        r"draws\['permutation'\] has shape \[1, 12\], expected \[epochs, T \* B\] = \[2, 12\]",
        _permuted(lambda a: a[:1]),
        config=CONFIG,
        more=_more,
    ),
    update_case(
        "permutation-as-number",
        DtypeError,
        r"draws\['permutation'\] is float32, expected int64",
        _permuted(lambda a: a.astype(np.float32)),
        config=CONFIG,
        more=_more,
    ),
    update_case(
        "row-twice",
        ConfigError,
        r"draws\['permutation'\]\[1\] is no order of 0 to 11",
        _permuted(_twice),
        config=CONFIG,
        more=_more,
    ),
    update_case(
        "nan-log-prob",
        NonFiniteError,
        r"batch\['log_prob'\]\[0, 0\] is nan",
        change("log_prob", lambda a: a * np.nan),
        config=CONFIG,
        more=_more,
    ),
    update_case(
        "rows-do-not-divide",
        ShapeError,
        "4 x 3 = 12 rows does not divide into minibatches=5",
        lambda batch, draws: None,
        config=PPOConfig(3, 2, hidden_sizes=(11,), epochs=2, minibatches=5),
        more=_more,
    ),
    *learner_errors(
        CONFIG,
        {
            "negative-value-weight": ({"value_coefficient": -0.5}, "value_coefficient=-0.5"),
            "lambda-above-one": ({"gae_lambda": 1.5}, "gae_lambda=1.5"),
            "clip-of-one": ({"ratio_clip": 1.0}, "clip=1.0"),
            "value-clip-of-zero": ({"value_clip": 0.0}, "clip=0.0"),
            "no-epoch": ({"epochs": 0}, "epochs=0: must be at least 1"),
            "no-minibatch": ({"minibatches": 0}, "minibatches=0: must be at least 1"),
        },
    ),
)
