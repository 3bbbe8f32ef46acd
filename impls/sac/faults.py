"""Bugs planted in SAC, and misuses that it refuses."""

from __future__ import annotations

from impls.learner.faults import batch_errors, draw_errors, learner_errors
from impls.sac.config import SACConfig
from parity.component import Mutant

POLICY_MUTANTS = (
    Mutant(
        id="softplus-temperature",
        find='tf.stop_gradient(tf.exp(self.parameters["temperature"]["log_alpha"]))',
        replace='tf.math.softplus(self.parameters["temperature"]["log_alpha"])',
        caught_by="chain.alpha",
        because="another map from the parameter to a positive temperature",
        case="pendulum",
    ),
    Mutant(
        id="log-prob-without-squashing",
        find="return action, log_prob\n",
        replace="return action, policies.gaussian_log_prob(\n"
        "            mean, log_std, mean + tf.exp(log_std) * noise)\n",
        caught_by="chain.sample",
        because="the density of the Gaussian before tanh: no correction",
        case="square",
    ),
    Mutant(
        id="log-prob-of-unit-actions",
        find="return action, log_prob\n",
        replace="return action, policies.tanh_gaussian_sample(mean, log_std, noise)[1]\n",
        caught_by="chain.sample",
        because="log(max_action) is missing: the density of an action within -1 and 1",
        sibling="torch",
        case="pendulum",
    ),
    Mutant(
        id="log-std-not-clipped",
        find="return mean, tf.clip_by_value(log_std, low, high)",
        replace="return mean, log_std",
        caught_by="chain.sample",
        because="no bounds: seen only where the network reaches them",
        case="square",
    ),
    Mutant(
        id="gradient-through-the-clip",
        find="return mean, tf.clip_by_value(log_std, low, high)",
        replace="clipped = tf.clip_by_value(log_std, low, high)\n"
        "        return mean, log_std + tf.stop_gradient(clipped - log_std)",
        caught_by="chain.actor_gradients",
        because="a gradient beyond the bounds, straight through: right value",
        case="square",
    ),
    Mutant(
        id="halves-swapped",
        find="mean, log_std = torch.chunk(",
        replace="log_std, mean = torch.chunk(",
        caught_by="chain.sample",
        because="the first half is the deviation on one side, the mean on the other",
        sibling="torch",
        case="one-row",
    ),
    Mutant(
        id="halves-interleaved",
        find='mean, log_std = tf.split(self.networks["actor"](observation), 2, axis=-1)',
        replace='both = self.networks["actor"](observation)\n'
        "        mean, log_std = both[:, 0::2], both[:, 1::2]",
        caught_by="chain.sample",
        because="mean and deviation of each dimension side by side: equal for one dimension",
        case="lunar-lander",
    ),
)

CRITIC_MUTANTS = (
    Mutant(
        id="entropy-sign-in-target",
        find="q1_t, q2_t, next_log_prob, alpha=alpha)",
        replace="q1_t, q2_t, -next_log_prob, alpha=alpha)",
        caught_by="chain.target",
        because="plus log-probability: the critics value certainty",
        case="pendulum",
    ),
    Mutant(
        id="alpha-missing-in-target",
        find="reward, discount_t, q1_t, q2_t, next_log_prob, alpha=alpha",
        replace="reward, discount_t, q1_t, q2_t, next_log_prob, alpha=1.0",
        caught_by="chain.target",
        because="the entropy is not weighted: equal while the temperature is 1",
        sibling="torch",
        case="pendulum",
    ),
    Mutant(
        id="mean-of-critics",
        find="return sac_losses.soft_target(reward, discount_t, q1_t, q2_t, next_log_prob,",
        replace="q_t = (q1_t + q2_t) / 2.0\n"
        "        return sac_losses.soft_target(reward, discount_t, q_t, q_t, next_log_prob,",
        caught_by="chain.target",
        because="an average of both critics in the target",
        case="lunar-lander",
    ),
    Mutant(
        id="online-critics-in-target",
        find='q1_t, q2_t = self.targets["critic"](next_observation, next_action)',
        replace='q1_t, q2_t = self.networks["critic"](next_observation, next_action)',
        caught_by="chain.target",
        because="the target is computed with the networks that it trains",
        case="lunar-lander",
    ),
    Mutant(
        id="terminal-state-bootstrapped",
        find="returns.discounts(terminated, truncated,",
        replace="returns.discounts(tf.zeros_like(terminated), truncated,",
        caught_by="chain.target",
        because="bootstraps beyond the end of the task",
        case="lunar-lander",
    ),
    Mutant(
        id="time-limit-as-end",
        find="terminated, truncated, self.config.gamma",
        replace="terminated | truncated, truncated, self.config.gamma",
        caught_by="chain.target",
        because="done = terminated or truncated: a time limit ends the sum of rewards",
        sibling="torch",
        case="pendulum",
    ),
    Mutant(
        id="first-td-error-twice",
        find="return target - q1_tm1, target - q2_tm1",
        replace="return target - q1_tm1, target - q1_tm1",
        caught_by="chain.td_error",
        because="a line copied and not edited",
        case="pendulum",
    ),
    Mutant(
        id="missing-stop-gradient",
        find="return sac_losses.soft_critic_loss(q1_tm1, q2_tm1, target)",
        replace="mse = torch.nn.functional.mse_loss\n"
        "        return 0.5 * mse(q1_tm1, target) + 0.5 * mse(q2_tm1, target)",
        caught_by="chain.critic_loss",
        because="the framework's loss in place of ours: right value, and a gradient for the target",
        sibling="torch",
        case="pendulum",
    ),
    Mutant(
        id="critic-loss-without-half",
        find="return sac_losses.soft_critic_loss(q1_tm1, q2_tm1, target)",
        replace="return 2.0 * sac_losses.soft_critic_loss(q1_tm1, q2_tm1, target)",
        caught_by="chain.critic_loss",
        because="the mean squared error of TD3: twice the gradient, which Adam mostly hides",
        case="square",
    ),
    Mutant(
        id="second-critic-not-trained",
        find="return sac_losses.soft_critic_loss(q1_tm1, q2_tm1, target)",
        replace="fixed = tf.stop_gradient(q2_tm1)\n"
        "        return sac_losses.soft_critic_loss(q1_tm1, fixed, target)",
        caught_by="chain.critic_gradients",
        because="no gradient for the second critic: right loss",
        case="lunar-lander",
    ),
    Mutant(
        id="critics-clipped-apart",
        find="return optimizers.clip_by_global_norm(gradients, self.config.max_gradient_norm)",
        replace="made = {n: tf.clip_by_norm(g, self.config.max_gradient_norm)"
        " for n, g in gradients.items()}\n"
        "        return made, tf.linalg.global_norm(list(gradients.values()))",
        caught_by="chain.clip_critic",
        because="each tensor is clipped by its own norm, not all by their joint norm",
        case="pendulum",
    ),
    Mutant(
        id="keras-epsilon",
        find="config.critic, AdamConfig(critic)",
        replace="config.critic, AdamConfig(critic, epsilon=1e-7)",
        caught_by="chain.apply_critic",
        because="Keras's default epsilon in place of 1e-8",
        case="lunar-lander",
    ),
    Mutant(
        id="tau-swapped",
        find='self.update_target("critic", self.config.tau)',
        replace='self.update_target("critic", 1.0 - self.config.tau)',
        caught_by="chain.update_targets",
        because="the target takes all but tau of the online network",
        case="pendulum",
    ),
    Mutant(
        id="reference-larger-critic",
        find="soft_value = np.where(q1 < q2, q1, q2)",
        replace="soft_value = np.where(q1 < q2, q2, q1)",
        caught_by="chain.target",
        because="the reference itself takes the larger critic",
        sibling="reference",
        case="lunar-lander",
    ),
)

ACTOR_MUTANTS = (
    Mutant(
        id="alpha-trained-by-the-actor",
        find="return sac_losses.soft_actor_loss(log_prob, q1, q2, alpha=alpha), log_prob",
        replace="return (alpha * log_prob - torch.minimum(q1, q2)).mean(), log_prob",
        caught_by="chain.actor_loss",
        because="the loss written out in place: alpha is not a constant of it",
        sibling="torch",
        case="lunar-lander",
    ),
    Mutant(
        id="actor-on-first-critic",
        find="sac_losses.soft_actor_loss(log_prob, q1, q2, alpha=alpha)",
        replace="sac_losses.soft_actor_loss(log_prob, q1, q1, alpha=alpha)",
        caught_by="chain.actor_loss",
        because="TD3's habit: the first critic alone",
        case="lunar-lander",
    ),
    Mutant(
        id="action-not-reparameterised",
        find='q1, q2 = self.networks["critic"](observation, action)',
        replace='q1, q2 = self.networks["critic"](observation, tf.stop_gradient(action))',
        caught_by="chain.actor_gradients",
        because="no gradient through the action: the actor only learns to be random",
        case="lunar-lander",
    ),
    Mutant(
        id="actor-step-moves-the-critics",
        find='return loss.detach(), log_prob.detach(), self.gradients(loss, "actor")',
        replace="""critics = self.parameters["critic"]
        found = torch.autograd.grad(loss, list(critics.values()), retain_graph=True)
        gradients = self.gradients(loss, "actor")
        self.optimizers["critic"].apply(dict(zip(critics, found, strict=True)))
        return loss.detach(), log_prob.detach(), gradients""",
        caught_by="chain.actor_gradients",
        because="one optimizer over all gradients: the critics follow the actor's loss too",
        sibling="torch",
        case="lunar-lander",
    ),
    Mutant(
        id="actor-not-clipped",
        find="def clip_actor(self, gradients: Mapping[str, Tensor]) -> tuple[Tensors, Tensor]:\n"
        "        return self._clip(gradients)",
        replace="def clip_actor(self, gradients: Mapping[str, Tensor]) -> tuple[Tensors, Tensor]:\n"
        "        return dict(gradients), self._clip(gradients)[1]",
        caught_by="chain.clip_actor",
        because="the norm is logged, the gradients pass as they are",
        sibling="torch",
        case="one-row",
    ),
    Mutant(
        id="actor-with-other-beta",
        find="config.actor, AdamConfig(actor)",
        replace="config.actor, AdamConfig(actor, beta1=0.5)",
        caught_by="chain.apply_actor",
        because="a beta that was tuned on one side only",
        sibling="torch",
        case="lunar-lander",
    ),
)

TEMPERATURE_MUTANTS = (
    Mutant(
        id="log-alpha-in-the-loss",
        find="return sac_losses.temperature_loss(log_alpha, log_prob, "
        "target_entropy=self.config.entropy)",
        replace="excess = tf.stop_gradient(log_prob) + self.config.entropy\n"
        "        return -tf.reduce_mean(log_alpha * excess)",
        caught_by="chain.temperature_loss",
        because="log_alpha in place of alpha: the same sign of the slope, another size",
        case="lunar-lander",
    ),
    Mutant(
        id="target-entropy-sign",
        find="target_entropy=self.config.entropy",
        replace="target_entropy=-self.config.entropy",
        caught_by="chain.temperature_loss",
        because="the entropy is driven to plus its dimensions",
        sibling="torch",
        case="pendulum",
    ),
    Mutant(
        id="policy-trained-by-the-temperature",
        find="return sac_losses.temperature_loss(log_alpha, log_prob, "
        "target_entropy=self.config.entropy)",
        replace="return -tf.exp(log_alpha) * tf.reduce_mean(log_prob + self.config.entropy)",
        caught_by="chain.temperature_loss",
        because="log_prob keeps its gradient: right value, and the actor is pushed twice",
        case="one-row",
    ),
    Mutant(
        id="gradient-of-alpha-for-log-alpha",
        find='return loss.detach(), self.gradients(loss, "temperature")',
        replace='found = self.gradients(loss, "temperature")\n'
        "        return loss.detach(), {n: g / self.alpha() for n, g in found.items()}",
        caught_by="chain.temperature_gradients",
        because="the slope by alpha is applied to its logarithm: equal while alpha is 1",
        sibling="torch",
        case="lunar-lander",
    ),
    Mutant(
        id="temperature-with-other-epsilon",
        find="AdamConfig(config.temperature_learning_rate)",
        replace="AdamConfig(config.temperature_learning_rate, epsilon=1e-7)",
        caught_by="chain.apply_temperature",
        because="Keras's default epsilon for one of three optimizers",
        case="lunar-lander",
    ),
    Mutant(
        id="temperature-learned-though-fixed",
        find="if self.config.learn_temperature:",
        replace="if True:",
        caught_by="composed.update",
        because="the configuration's switch is not read",
        case="square",
    ),
)

ORDER_MUTANTS = (
    Mutant(
        id="one-noise-for-both",
        find='self._critic_links(batch, draws["next_noise"], alpha)',
        replace='self._critic_links(batch, draws["noise"], alpha)',
        caught_by="composed.update",
        because="the target's sample and the actor's share their noise",
        case="square",
    ),
    Mutant(
        id="actor-through-old-critics",
        find="""made = {"alpha": alpha, **self._critic_links(batch, draws["next_noise"], alpha)}
        losses, log_prob = self._actor_links(batch["observation"], draws["noise"], alpha)
""",
        replace="""losses, log_prob = self._actor_links(
            batch["observation"], draws["noise"], alpha)
        made = {"alpha": alpha, **self._critic_links(batch, draws["next_noise"], alpha)}
""",
        caught_by="lockstep.update",
        because="the actor steps first: through critics of one update ago",
        sibling="torch",
        case="pendulum",
    ),
    Mutant(
        id="temperature-before-the-actor",
        find="""losses, log_prob = self._actor_links(batch["observation"], draws["noise"], alpha)
        made |= losses
        if self.config.learn_temperature:
            made["temperature_loss"], gradients = self.temperature_gradients(log_prob)
            self.apply_temperature(gradients)
""",
        replace="""log_prob = self.sample(batch["observation"], draws["noise"])[1]
        made["temperature_loss"], gradients = self.temperature_gradients(log_prob)
        self.apply_temperature(gradients)
        alpha = self.alpha()
        made |= self._actor_links(batch["observation"], draws["noise"], alpha)[0]
""",
        caught_by="lockstep.update",
        because="the actor sees the temperature of the next update",
        case="lunar-lander",
    ),
    Mutant(
        id="temperature-by-a-new-sample",
        find="self.temperature_gradients(log_prob)",
        replace='self.temperature_gradients(self.sample(batch["observation"], draws["noise"])[1])',
        caught_by="lockstep.update",
        because="log_prob is computed once more, by the actor after its step",
        sibling="torch",
        case="lunar-lander",
    ),
    Mutant(
        id="targets-before-the-critics",
        find="alpha = self.alpha()\n        made =",
        replace="alpha = self.alpha()\n        self.update_targets()\n        made =",
        caught_by="composed.update",
        because="target networks move before the target is computed, and after the update again",
        case="square",
    ),
    Mutant(
        id="alpha-frozen-by-tracing",
        find="alpha = self.alpha()\n        made =",
        replace="with tf.init_scope():\n"
        "            alpha = tf.constant(float(self.alpha().numpy()), self.dtype)\n"
        "        made =",
        caught_by="composed.update",
        because="alpha as a Python number: eager code reads it anew, a traced graph never again",
        case="pendulum",
        mode="xla",
    ),
    Mutant(
        id="learning-rate-frozen-by-tracing",
        find="self.optimizers[group].set_learning_rate(value)",
        replace="self.optimizers[group]._learning_rate = tf.constant(value, tf.float64)",
        caught_by="composed.update",
        because="a new tensor in place of a new value: eager code sees it, a traced graph does not",
        case="pendulum",
        mode="xla",
    ),
)

MUTANTS = (
    *POLICY_MUTANTS,
    *CRITIC_MUTANTS,
    *ACTOR_MUTANTS,
    *TEMPERATURE_MUTANTS,
    *ORDER_MUTANTS,
)

CONFIG = SACConfig(3, 2, (0.5, 2.0), (11, 7))
BOTH = ("noise", "next_noise")

ERRORS = (
    batch_errors(CONFIG, noise=True, draws=BOTH)
    + draw_errors(CONFIG, draws=BOTH)
    + learner_errors(
        CONFIG,
        {
            "gamma-above-one": ({"gamma": 1.01}, r"gamma=1.01: must be in \[0, 1\]"),
            "negative-tau": ({"tau": -0.1}, "tau=-0.1"),
            "no-hidden-units": ({"hidden_sizes": (11, 0)}, r"hidden_sizes\[1\]=0"),
            "three-bounds-for-two-dimensions": (
                {"max_action": (1.0, 1.0, 1.0)},
                "max_action=.* has 3 entries",
            ),
            "no-temperature": ({"initial_temperature": 0.0}, "initial_temperature=0.0"),
            "infinite-target-entropy": (
                {"target_entropy": float("-inf")},
                "target_entropy=-inf: must be None or finite",
            ),
            "deviation-bounds-swapped": (
                {"log_std_min": 2.0, "log_std_max": -20.0},
                "log_std_min=2.0, log_std_max=-20.0",
            ),
            "negative-temperature-rate": (
                {"temperature_learning_rate": -3e-4},
                "temperature_learning_rate=-0.0003",
            ),
            "clip-at-nan": ({"max_gradient_norm": float("nan")}, "max_gradient_norm=nan"),
        },
    )
)
