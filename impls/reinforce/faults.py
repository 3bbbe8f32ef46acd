"""Bugs planted in REINFORCE, and misuses that it refuses."""

from __future__ import annotations

import numpy as np

from impls.errors import ConfigError, ShapeError
from impls.learner.rollout_faults import (
    ENVIRONMENTS,
    STEPS,
    Arrays,
    change,
    learner_errors,
    rollout_errors,
    update_case,
)
from impls.reinforce.config import ReinforceConfig
from parity.component import Mutant

MUTANTS = (
    Mutant(
        id="total-return-for-reward-to-go",
        find="return tf.stop_gradient(target)\n\n    def weight(",
        replace="return tf.stop_gradient(tf.broadcast_to(target[:1], target.shape))\n\n"
        "    def weight(",
        caught_by="chain.target",
        because="the return of the whole episode for each of its steps",
        case="cart-pole",
    ),
    Mutant(
        id="rewards-behind-the-end",
        find="earned = tf.where(valid, reward, tf.zeros_like(reward))",
        replace="earned = reward",
        caught_by="chain.target",
        because="valid is forgotten: what stands in the padding gets returns",
        case="padded",
    ),
    Mutant(
        id="recursion-past-a-time-limit",
        find="returns.reward_to_go(earned, discount_t, truncated=truncated)",
        replace="returns.reward_to_go(reward, discount_t)",
        caught_by="chain.target",
        because="neither the mask nor the cut: the padding flows into the episode",
        sibling="torch",
        case="padded",
    ),
    Mutant(
        id="gamma-squared",
        find="terminated, truncated, self.config.gamma",
        replace="terminated, truncated, self.config.gamma**2",
        caught_by="chain.target",
        because="gamma enters twice",
        case="gaussian",
    ),
    Mutant(
        id="recursion-over-the-flat-batch",
        find="target = returns.reward_to_go(earned, discount_t, truncated=truncated)",
        replace="columns = [x.T.reshape(-1, 1) for x in (earned, discount_t * ~terminated)]\n"
        "        columns[1] = torch.full_like(columns[0], self.config.gamma)\n"
        "        target = returns.reward_to_go(*columns).reshape(reward.T.shape).T",
        caught_by="chain.target",
        because="episodes are joined end to end: returns run on into the next one",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="last-reward-dropped",
        find="earned = torch.where(valid, reward, torch.zeros_like(reward))",
        replace="earned = torch.where(valid & ~terminated, reward, torch.zeros_like(reward))",
        caught_by="chain.target",
        because="the reward of the step that ends the task is lost",
        sibling="torch",
        case="padded",
    ),
    Mutant(
        id="normalised-over-padding",
        find="centred = target - self._mean(target, valid)",
        replace="centred = target - tf.reduce_mean(target)",
        caught_by="chain.weight",
        because="the zeros behind the ends enter the mean",
        case="cart-pole",
    ),
    Mutant(
        id="deviation-over-padding",
        find="deviation = torch.sqrt(self._mean(torch.square(centred), valid))",
        replace="deviation = torch.std(target, correction=0)",
        caught_by="chain.weight",
        because="the zeros behind the ends enter the deviation",
        sibling="torch",
        case="gaussian",
    ),
    Mutant(
        id="deviation-by-n-minus-one",
        find="deviation = torch.sqrt(self._mean(torch.square(centred), valid))",
        replace="deviation = torch.std(target[valid])",
        caught_by="chain.weight",
        because="torch's own deviation divides by N - 1",
        sibling="torch",
        case="square",
    ),
    Mutant(
        id="normalised-per-episode",
        find="centred = target - self._mean(target, valid)",
        replace="counts = tf.reduce_sum(tf.cast(valid, target.dtype), axis=0)\n"
        "        centred = target - tf.reduce_sum(target, axis=0) / counts",
        caught_by="chain.weight",
        because="each episode is centred on its own mean: all of one step weigh nothing",
        case="cart-pole",
    ),
    Mutant(
        id="flattened-episode-first",
        find="return flat(observation), flat(action), flat(weight), flat(valid)",
        replace="return flat(observation), flat(action), flat(tf.transpose(weight)), flat(valid)",
        caught_by="chain.flatten",
        because="weights by episode, everything else by step",
        case="cart-pole",
    ),
    Mutant(
        id="mean-over-padded-steps",
        find="return tf.reduce_sum(kept) / tf.reduce_sum(tf.cast(valid, rows.dtype))",
        replace="return tf.reduce_mean(kept)",
        caught_by="chain.loss",
        because="divided by T * B, not by the steps that there were",
        case="padded",
    ),
    Mutant(
        id="valid-forgotten-in-the-loss",
        find="kept = torch.where(valid, rows, torch.zeros_like(rows))",
        replace="kept = rows",
        caught_by="chain.loss",
        because="the entropy of padded steps enters the sum",
        sibling="torch",
        case="padded",
    ),
    Mutant(
        id="weight-not-detached",
        find='policy_losses.policy_gradient_loss(log_prob, flat_weight, reduction="none")',
        replace="-log_prob * flat_weight",
        caught_by="chain.loss",
        because="right value, and a gradient for the return",
        case="padded",
    ),
    Mutant(
        id="entropy-sign",
        find="return policy - self.config.entropy_coefficient * entropy, policy, entropy",
        replace="return policy + self.config.entropy_coefficient * entropy, policy, entropy",
        caught_by="chain.loss",
        because="certainty is rewarded",
        case="padded",
    ),
    Mutant(
        id="ascent",
        find='policy_losses.policy_gradient_loss(log_prob, flat_weight, reduction="none")',
        replace='-policy_losses.policy_gradient_loss(log_prob, flat_weight, reduction="none")',
        caught_by="chain.gradients_of",
        because="the objective is minimised",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="log-of-probability-plus-epsilon",
        find="log_prob = self.log_prob(made, flat_action)",
        replace='p = tf.gather(tf.nn.softmax(made["logits"]), flat_action, batch_dims=1)\n'
        "        log_prob = tf.math.log(p + 1e-8)",
        caught_by="chain.gradients_of",
        because="log(p + 1e-8) in place of log-softmax: off by 1e-8 / p",
        case="padded",
    ),
    Mutant(
        id="action-reparameterised",
        find="log_prob = self.log_prob(made, flat_action)",
        replace='sampled = flat_action + made["mean"] - made["mean"].detach()\n'
        "        log_prob = self.log_prob(made, sampled)",
        caught_by="chain.gradients_of",
        because="the action keeps its path to the mean: both gradients cancel",
        sibling="torch",
        case="gaussian",
    ),
    Mutant(
        id="clipped-per-tensor",
        find='variant=variant, valid="bool")',
        replace='variant=variant, valid="bool")\n'
        "        inner, bound = self.clip, self.config.max_gradient_norm\n"
        "        self.clip = lambda g: ("
        "{n: tf.clip_by_norm(x, bound) for n, x in g.items()}, inner(g)[1])",
        caught_by="chain.clip",
        because="each tensor is clipped by its own norm, not all by their joint norm",
        case="cart-pole",
    ),
    Mutant(
        id="other-decay",
        find='variant=variant, valid="bool")',
        replace='variant=variant, valid="bool")\n'
        "        from dataclasses import replace\n\n"
        "        inner = self.optimizers[GROUPS[0]]\n"
        "        inner._config = replace(inner._config, decay=0.9)",
        caught_by="chain.apply",
        because="RMSprop with Keras's rho of 0.9",
        case="padded",
    ),
    Mutant(
        id="gradients-not-clipped",
        find='gradients, made["gradient_norm"] = self.clip(gradients)',
        replace='_, made["gradient_norm"] = self.clip(gradients)',
        caught_by="lockstep.update",
        because="the norm is logged, the gradients pass as they are",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="traced-anew-in-every-update",
        find="made: Tensors = self._step(",
        replace="made: Tensors = self.compiled(self._links)(",
        caught_by="composed.update",
        because="tf.function is made inside of the update: it traces each time",
        case="cart-pole",
        mode="xla",
    ),
    Mutant(
        id="reference-over-all-steps",
        find="of_log_prob=-flat_weight[flat_valid] / steps",
        replace="of_log_prob=-flat_weight[flat_valid] / len(flat_valid)",
        caught_by="chain.gradients_of",
        because="the reference itself divides by the padded steps",
        sibling="reference",
        case="padded",
    ),
)

CONFIG = ReinforceConfig(3, 2, hidden_sizes=(11, 7))


def _more() -> tuple[Arrays, Arrays]:
    return {"valid": np.arange(STEPS)[:, None] < np.array([4, 2, 3])}, {}


def _hole(valid: np.ndarray) -> np.ndarray:
    changed = valid.copy()
    changed[1, 2] = False
    return changed


ERRORS = (
    *rollout_errors(CONFIG, _more),
    update_case(
        "no-mask",
        ShapeError,
        r"batch: missing \['valid'\]",
        lambda batch, draws: batch.update({"x": batch.pop("valid")}),
        config=CONFIG,
        more=_more,
    ),
    update_case(
        "mask-with-a-hole",
        ConfigError,
        r"batch\['valid'\]\[:, 2\] is not True from the first step",
        change("valid", _hole),
        config=CONFIG,
        more=_more,
    ),
    update_case(
        "episode-without-a-step",
        ConfigError,
        r"batch\['valid'\]\[:, 0\] is not True from the first step",
        change("valid", lambda a: a & (np.arange(ENVIRONMENTS) > 0)),
        config=CONFIG,
        more=_more,
    ),
    *learner_errors(
        CONFIG,
        {
            "negative-learning-rate-at-start": (
                {"learning_rate": -1.0},
                "learning_rate=-1.0: must be finite",
            )
        },
    ),
)
