"""Bugs planted in the one-step actor-critic, and misuses that it refuses."""

from __future__ import annotations

from impls.actor_critic.config import ActorCriticConfig
from impls.learner.rollout_faults import learner_errors, rollout_errors
from parity.component import Mutant

MUTANTS = (
    Mutant(
        id="same-observation-twice",
        find="return self.state_values(observation), self.state_values(next_observation)",
        replace="return self.state_values(observation), self.state_values(observation)",
        caught_by="chain.value_estimates",
        because="bootstraps from the state that the step left",
        case="cart-pole",
    ),
    Mutant(
        id="terminal-state-bootstrapped",
        find="returns.discounts(terminated, truncated,",
        replace="returns.discounts(tf.zeros_like(terminated), truncated,",
        caught_by="chain.target",
        because="bootstraps beyond the end of the task",
        case="all-ends",
    ),
    Mutant(
        id="time-limit-as-end",
        find="terminated, truncated, self.config.gamma",
        replace="terminated | truncated, truncated, self.config.gamma",
        caught_by="chain.target",
        because="done = terminated or truncated: nothing is bootstrapped at a time limit",
        sibling="torch",
        case="all-ends",
    ),
    Mutant(
        id="flags-swapped",
        find="terminated, truncated, self.config.gamma",
        replace="truncated, terminated, self.config.gamma",
        caught_by="chain.target",
        because="the two flags in the other order",
        case="square",
    ),
    Mutant(
        id="return-over-several-steps",
        find="returns.td_target(reward, discount_t, next_value)",
        replace="returns.reward_to_go(reward, discount_t, next_value, truncated=truncated)",
        caught_by="chain.target",
        because="the n-step return of A2C: the same where there is one step",
        sibling="torch",
        case="square",
    ),
    Mutant(
        id="advantage-sign",
        find="return tf.stop_gradient(target - value)",
        replace="return tf.stop_gradient(value - target)",
        caught_by="chain.advantage",
        because="value minus target",
        case="one-row",
    ),
    Mutant(
        id="target-for-advantage",
        find="return (target - value).detach()",
        replace="return target.detach()",
        caught_by="chain.advantage",
        because="no baseline",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="flattened-environment-first",
        find="return flat(observation), flat(action), flat(advantage), flat(target)",
        replace="return flat(observation), flat(action), flat(tf.transpose(advantage)), "
        "flat(target)",
        caught_by="chain.flatten",
        because="advantages by environment, everything else by step",
        case="square",
    ),
    Mutant(
        id="advantage-not-detached",
        find="policy = policy_losses.policy_gradient_loss(log_prob, flat_advantage)",
        replace="policy = -tf.reduce_mean(log_prob * flat_advantage)",
        caught_by="chain.loss",
        because="right value, and a gradient for the advantage",
        case="cart-pole",
    ),
    Mutant(
        id="target-not-detached",
        find='value = policy_losses.value_loss(made["value"], flat_target)',
        replace='value = 0.5 * torch.nn.functional.mse_loss(made["value"], flat_target)',
        caught_by="chain.loss",
        because="right value, and a gradient for the target",
        sibling="torch",
        case="pendulum",
    ),
    Mutant(
        id="value-loss-without-half",
        find='value = policy_losses.value_loss(made["value"], flat_target)',
        replace='value = tf.reduce_mean(tf.square(made["value"] - tf.stop_gradient(flat_target)))',
        caught_by="chain.loss",
        because="the mean squared error in place of half of it",
        case="one-row",
    ),
    Mutant(
        id="entropy-sign",
        find="- c.entropy_coefficient * entropy",
        replace="+ c.entropy_coefficient * entropy",
        caught_by="chain.loss",
        because="certainty is rewarded",
        sibling="torch",
        case="all-ends",
    ),
    Mutant(
        id="log-of-probability-plus-epsilon",
        find="log_prob = self.log_prob(made, flat_action)",
        replace='p = torch.softmax(made["logits"], -1).gather(1, flat_action[:, None])[:, 0]\n'
        "        log_prob = torch.log(p + 1e-8)",
        caught_by="chain.gradients_of",
        because="log(p + 1e-8) in place of log-softmax: off by 1e-8 / p",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="value-gradient-stops-at-the-trunk",
        find='value = policy_losses.value_loss(made["value"], flat_target)',
        replace="features = tf.stop_gradient(self.network.trunk(flat_observation))\n"
        "        v = tf.squeeze(self.network.value(features), -1)\n"
        "        value = policy_losses.value_loss(v, flat_target)",
        caught_by="chain.gradients_of",
        because="right losses; the trunk learns from the policy alone",
        case="square",
    ),
    Mutant(
        id="log-prob-averaged-over-dimensions",
        find="log_prob = self.log_prob(made, flat_action)",
        replace="log_prob = self.log_prob(made, flat_action) / flat_action.shape[-1]",
        caught_by="chain.gradients_of",
        because="the mean over the dimensions of an action in place of the sum",
        sibling="torch",
        case="square",
    ),
    Mutant(
        id="clipped-per-tensor",
        find="super().__init__(config, dtype=dtype, device=device, variant=variant)",
        replace="super().__init__(config, dtype=dtype, device=device, variant=variant)\n"
        "        inner, bound = self.clip, self.config.max_gradient_norm\n"
        "        self.clip = lambda g: ("
        "{n: tf.clip_by_norm(x, bound) for n, x in g.items()}, inner(g)[1])",
        caught_by="chain.clip",
        because="each tensor is clipped by its own norm, not all by their joint norm",
        case="cart-pole",
    ),
    Mutant(
        id="default-epsilon",
        find="super().__init__(config, dtype=dtype, device=device, variant=variant)",
        replace="super().__init__(config, dtype=dtype, device=device, variant=variant)\n"
        "        from dataclasses import replace\n\n"
        "        inner = self.optimizers[GROUPS[0]]\n"
        "        inner._config = replace(inner._config, epsilon=1e-8)",
        caught_by="chain.apply",
        because="Adam's own epsilon in place of the configured 1e-5",
        sibling="torch",
        case="all-ends",
    ),
    Mutant(
        id="value-after-the-step",
        find='self.advantage(value, made["target"])',
        replace='self.advantage(next_value, made["target"])',
        caught_by="composed.update",
        because="the error is taken to the value of the next state",
        case="pendulum",
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
        id="reference-time-limit-as-end",
        find="return np.where(terminated, reward,",
        replace="return np.where(terminated | truncated, reward,",
        caught_by="chain.target",
        because="the reference takes a time limit for the end",
        sibling="reference",
        case="all-ends",
    ),
)

CONFIG = ActorCriticConfig(3, 2, hidden_sizes=(11, 7))

ERRORS = rollout_errors(CONFIG) + learner_errors(
    CONFIG, {"negative-value-weight": ({"value_coefficient": -0.5}, "value_coefficient=-0.5")}
)
