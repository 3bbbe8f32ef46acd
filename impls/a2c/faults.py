"""Bugs planted in A2C, and misuses that it refuses."""

from __future__ import annotations

from impls.a2c.config import A2CConfig
from impls.learner.rollout_faults import learner_errors, rollout_errors
from parity.component import Mutant

MUTANTS = (
    Mutant(
        id="observation-before-the-step",
        find="next_value = self.bootstrap(next_observation)",
        replace="next_value = self.bootstrap(observation)",
        caught_by="composed.update",
        because="bootstraps from the state that the step left",
        case="cart-pole",
    ),
    Mutant(
        id="bootstrap-shifted-by-one-step",
        find="return self.state_values(next_observation)",
        replace="return tf.roll(self.state_values(next_observation), 1, axis=0)",
        caught_by="chain.bootstrap",
        because="the values of the rows are off by one",
        case="cart-pole",
    ),
    Mutant(
        id="terminal-state-bootstrapped",
        find="returns.discounts(terminated, truncated,",
        replace="returns.discounts(tf.zeros_like(terminated), truncated,",
        caught_by="chain.target",
        because="the mask is forgotten in the backward recursion: the next episode flows in",
        case="cart-pole",
    ),
    Mutant(
        id="time-limit-as-end",
        find="terminated, truncated, self.config.gamma",
        replace="terminated | truncated, truncated, self.config.gamma",
        caught_by="chain.target",
        because="done = terminated or truncated: nothing is bootstrapped at a time limit",
        sibling="torch",
        case="pendulum",
    ),
    Mutant(
        id="episode-goes-on-after-a-time-limit",
        find="returns.reward_to_go(reward, discount_t, next_value, truncated=truncated)",
        replace="returns.reward_to_go(reward, discount_t, next_value)",
        caught_by="chain.target",
        because="the recursion is not cut where the environment was reset",
        case="pendulum",
    ),
    Mutant(
        id="rollout-end-not-bootstrapped",
        find="returns.reward_to_go(reward, discount_t, next_value, truncated=truncated)",
        replace="returns.reward_to_go(reward, discount_t, truncated=truncated)",
        caught_by="chain.target",
        because="the return of the rollout alone: zero where it or a time limit ends",
        case="all-ends",
    ),
    Mutant(
        id="recursion-over-the-flat-batch",
        find="target: Tensor = returns.reward_to_go(\n"
        "                reward, discount_t, next_value, truncated=truncated\n"
        "            )",
        replace="columns = [x.T.reshape(-1, 1)"
        " for x in (reward, discount_t, next_value, truncated)]\n"
        "            target: Tensor = returns.reward_to_go(*columns[:3], truncated=columns[3])\n"
        "            target = target.reshape(reward.T.shape).T",
        caught_by="chain.target",
        because="the batch is flattened first: returns run on from one environment into the next",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="whole-return-for-every-step",
        find="            return target",
        replace="            return target[:1].expand_as(target)",
        caught_by="chain.target",
        because="the return of the whole rollout for each of its steps",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="one-step-advantage-sign",
        find="advantage = target - self.state_values(observation)",
        replace="advantage = self.state_values(observation) - target",
        caught_by="chain.advantage",
        because="value minus return",
        case="square",
    ),
    Mutant(
        id="normalised-per-environment",
        find="advantage = advantages.normalize_advantage(advantage)",
        replace="centred = advantage - tf.reduce_mean(advantage, axis=0)\n"
        "            advantage = centred / (tf.math.reduce_std(advantage, axis=0) + 1e-8)",
        caught_by="chain.advantage",
        because="mean and deviation over the steps of one environment",
        case="all-ends",
    ),
    Mutant(
        id="normalised-by-n-minus-one",
        find="advantage = advantages.normalize_advantage(advantage)",
        replace="centred = advantage - advantage.mean()\n"
        "                advantage = centred / (advantage.std() + 1e-8)",
        caught_by="chain.advantage",
        because="torch's own deviation divides by N - 1",
        sibling="torch",
        case="all-ends",
    ),
    Mutant(
        id="flattened-environment-first",
        find="return flat(observation), flat(action), flat(advantage), flat(target)",
        replace="flipped = tf.transpose(observation, [1, 0, 2])\n"
        "        return flat(flipped), flat(action), flat(advantage), flat(target)",
        caught_by="chain.flatten",
        because="observations by environment, everything else by step",
        case="cart-pole",
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
        because="right value, and a gradient for the return",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="value-loss-without-half",
        find='value = policy_losses.value_loss(made["value"], flat_target)',
        replace='value = tf.reduce_mean(tf.square(made["value"] - tf.stop_gradient(flat_target)))',
        caught_by="chain.loss",
        because="the mean squared error in place of half of it",
        case="one-step",
    ),
    Mutant(
        id="entropy-sign",
        find="- c.entropy_coefficient * entropy",
        replace="+ c.entropy_coefficient * entropy",
        caught_by="chain.loss",
        because="certainty is rewarded",
        case="all-ends",
    ),
    Mutant(
        id="log-of-probability-plus-epsilon",
        find="log_prob = self.log_prob(made, flat_action)",
        replace='p = tf.gather(tf.nn.softmax(made["logits"]), flat_action, batch_dims=1)\n'
        "        log_prob = tf.math.log(p + 1e-8)",
        caught_by="chain.gradients_of",
        because="log(p + 1e-8) in place of log-softmax: off by 1e-8 / p",
        case="cart-pole",
    ),
    Mutant(
        id="entropy-of-the-sum",
        find="entropy = torch.mean(self.entropy(made))",
        replace="entropy = torch.sum(self.entropy(made))",
        caught_by="chain.gradients_of",
        because="the bonus grows with the batch",
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
        case="cart-pole",
    ),
    Mutant(
        id="gradient-of-the-policy-loss-alone",
        find="return *parts, self.gradients(tape, parts[0], GROUPS[0])",
        replace="return *parts, {n: g * c for n, g in self.gradients(tape, parts[0], GROUPS[0])"
        '.items() for c in [1.0 - 0.5 * ("value/" in n)]}',
        caught_by="chain.gradients_of",
        because="the value's coefficient is applied once more to the value head",
        case="square",
    ),
    Mutant(
        id="clipped-before-the-norm-is-known",
        find='gradients, made["gradient_norm"] = self.clip(gradients)',
        replace='_, made["gradient_norm"] = self.clip(gradients)',
        caught_by="composed.update",
        because="the norm is logged, the gradients pass as they are",
        case="cart-pole",
    ),
    Mutant(
        id="reference-cut-at-termination-alone",
        find="elif truncated[t, b] or t == steps - 1:",
        replace="elif t == steps - 1:",
        caught_by="chain.target",
        because="the reference lets the next episode in behind a time limit",
        sibling="reference",
        case="pendulum",
    ),
    Mutant(
        id="step-not-applied-to-log-std",
        find="super().__init__(config, dtype=dtype, device=device, variant=variant)",
        replace="super().__init__(config, dtype=dtype, device=device, variant=variant)\n"
        "        inner = self.apply\n"
        "        self.apply = lambda g: inner("
        '{n: x * 0 if n == "log_std" else x for n, x in g.items()})',
        caught_by="chain.apply",
        because="the deviation is left out of the optimizer",
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
        id="applied-twice",
        find="        self.apply(gradients)\n        return made",
        replace="        self.apply(gradients)\n        self.apply(gradients)\n        return made",
        caught_by="lockstep.update",
        because="two steps of the optimizer per rollout",
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
)

CONFIG = A2CConfig(3, 2, hidden_sizes=(11, 7))

ERRORS = rollout_errors(CONFIG) + learner_errors(
    CONFIG, {"negative-value-weight": ({"value_coefficient": -0.5}, "value_coefficient=-0.5")}
)
