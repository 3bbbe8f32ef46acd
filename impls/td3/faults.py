"""Bugs planted in TD3, and misuses that it refuses."""

from __future__ import annotations

from impls.learner.faults import batch_errors, draw_errors, learner_errors
from impls.td3.config import TD3Config
from parity.component import Mutant

MUTANTS = (
    Mutant(
        id="online-actor-in-target",
        find='action = self.targets["actor"](next_observation)',
        replace='action = self.networks["actor"](next_observation)',
        caught_by="chain.target_action",
        because="the next action comes from the online actor: no target network for the policy",
        case="lunar-lander",
    ),
    Mutant(
        id="noise-not-clipped",
        find="return exploration.smoothed_target_action(action, noise, **self.config.smoothing)",
        replace="scales = {k: v for k, v in self.config.smoothing.items() if k != 'noise_clip'}\n"
        "        return exploration.gaussian_action(action, noise, **scales)",
        caught_by="chain.target_action",
        because="target smoothing with the noise of exploration, which is not clipped",
        case="half-cheetah",
    ),
    Mutant(
        id="target-action-not-clipped",
        find="return exploration.smoothed_target_action(action, noise, **self.config.smoothing)",
        replace="c = self.config\n"
        "            scaled = torch.clamp(c.policy_noise * noise, -c.noise_clip, c.noise_clip)\n"
        '            return action + scaled * self.networks["actor"].max_action',
        caught_by="chain.target_action",
        because="the noise is clipped, the sum is not: actions out of bounds",
        sibling="torch",
        case="half-cheetah",
    ),
    Mutant(
        id="noise-in-units-of-one",
        find="action, noise, **self.config.smoothing)",
        replace="action, noise, **{**self.config.smoothing, 'sigma': self.config.policy_noise})",
        caught_by="chain.target_action",
        because="the scale is a share of max_action and was taken as it is: equal where that is 1",
        case="pendulum",
    ),
    Mutant(
        id="larger-critic",
        find="v_t = tf.minimum(q1_t, q2_t)",
        replace="v_t = tf.maximum(q1_t, q2_t)",
        caught_by="chain.target",
        because="the larger of both estimates: overestimation squared",
        case="pendulum",
    ),
    Mutant(
        id="first-critic-only",
        find="v_t = tf.minimum(q1_t, q2_t)",
        replace="v_t = q1_t",
        caught_by="chain.target",
        because="one critic, as in DDPG",
        case="square",
    ),
    Mutant(
        id="second-critic-only",
        find="v_t = torch.minimum(q1_t, q2_t)",
        replace="v_t = q2_t",
        caught_by="chain.target",
        because="the second critic for the target, the first for the actor",
        sibling="torch",
        case="lunar-lander",
    ),
    Mutant(
        id="mean-of-critics",
        find="v_t = torch.minimum(q1_t, q2_t)",
        replace="v_t = (q1_t + q2_t) / 2",
        caught_by="chain.target",
        because="an average of both critics in the target",
        sibling="torch",
        case="half-cheetah",
    ),
    Mutant(
        id="online-critics-in-target",
        find='q1_t, q2_t = self.targets["critic"](next_observation, next_action)',
        replace='q1_t, q2_t = self.networks["critic"](next_observation, next_action)',
        caught_by="chain.target",
        because="the target is computed with the networks that it trains",
        case="half-cheetah",
    ),
    Mutant(
        id="no-terminated-mask",
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
        id="gamma-squared",
        find="terminated, truncated, self.config.gamma,",
        replace="terminated, truncated, self.config.gamma**2,",
        caught_by="chain.target",
        because="gamma of a two-step return on a one-step target",
        case="half-cheetah",
    ),
    Mutant(
        id="first-td-error-twice",
        find="return losses.td_error(q1_tm1, target), losses.td_error(q2_tm1, target)",
        replace="return losses.td_error(q1_tm1, target), losses.td_error(q1_tm1, target)",
        caught_by="chain.td_error",
        because="a line copied and not edited",
        case="pendulum",
    ),
    Mutant(
        id="missing-stop-gradient",
        find="return losses.twin_critic_loss(q1_tm1, q2_tm1, target)",
        replace="mse = torch.nn.functional.mse_loss\n"
        "        return mse(q1_tm1, target) + mse(q2_tm1, target)",
        caught_by="chain.critic_loss",
        because="the framework's loss in place of ours: right value, and a gradient for the target",
        sibling="torch",
        case="pendulum",
    ),
    Mutant(
        id="critics-averaged-in-loss",
        find="return losses.twin_critic_loss(q1_tm1, q2_tm1, target)",
        replace="return 0.5 * losses.twin_critic_loss(q1_tm1, q2_tm1, target)",
        caught_by="chain.critic_loss",
        because="mean over the critics in place of their sum",
        case="square",
    ),
    Mutant(
        id="second-critic-not-trained",
        find="return losses.twin_critic_loss(q1_tm1, q2_tm1, target)",
        replace="return losses.twin_critic_loss(q1_tm1, tf.stop_gradient(q2_tm1), target)",
        caught_by="chain.critic_gradients",
        because="no gradient for the second critic: right loss",
        case="half-cheetah",
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
        id="keras-epsilon",
        find='self.add("critic", networks.make_twin_critic, config.critic, AdamConfig(critic))',
        replace='self.add("critic", networks.make_twin_critic, config.critic, '
        "AdamConfig(critic, epsilon=1e-7))",
        caught_by="chain.apply_critic",
        because="Keras's default epsilon in place of 1e-8",
        case="half-cheetah",
    ),
    Mutant(
        id="actor-with-other-beta",
        find='self.add("actor", networks.make_actor, config.actor, AdamConfig(actor))',
        replace='self.add("actor", networks.make_actor, config.actor, '
        "AdamConfig(actor, beta1=0.5))",
        caught_by="chain.apply_actor",
        because="a beta that was tuned on one side only",
        sibling="torch",
        case="half-cheetah",
    ),
    Mutant(
        id="actor-on-second-critic",
        find='self.networks["critic"].q1(observation, action)',
        replace='self.networks["critic"].q2(observation, action)',
        caught_by="chain.actor_loss",
        because="the actor follows the second critic",
        case="half-cheetah",
    ),
    Mutant(
        id="actor-on-smaller-critic",
        find='losses.dpg_actor_loss(self.networks["critic"].q1(observation, action))',
        replace='losses.dpg_actor_loss(torch.minimum(*self.networks["critic"]'
        "(observation, action)))",
        caught_by="chain.actor_loss",
        because="the minimum of both critics, as SAC's actor has it",
        sibling="torch",
        case="half-cheetah",
    ),
    Mutant(
        id="actor-loss-sign",
        find="return losses.dpg_actor_loss(",
        replace="return -losses.dpg_actor_loss(",
        caught_by="chain.actor_gradients",
        because="minimises the value",
        case="pendulum",
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
        id="actor-in-every-update",
        find="if self.step % self.config.policy_delay == 0:",
        replace="if self.step % self.config.policy_delay >= 0:",
        caught_by="composed.update",
        because="no delay: the actor learns in every update",
        case="lunar-lander",
    ),
    Mutant(
        id="delay-counted-from-zero",
        find="if self.step % self.config.policy_delay == 0:",
        replace="if (self.step - 1) % self.config.policy_delay == 0:",
        caught_by="lockstep.update",
        because="the actor learns in updates 1, 3, 5 and not in 2, 4, 6",
        sibling="torch",
        case="pendulum",
    ),
    Mutant(
        id="targets-in-every-update",
        find="self.clip_critic(gradients)\n        self.apply_critic(gradients)\n",
        replace="self.clip_critic(gradients)\n        self.apply_critic(gradients)\n"
        "        self.update_targets()\n",
        caught_by="composed.update",
        because="target networks also move in the updates between",
        case="square",
    ),
    Mutant(
        id="targets-before-the-actor",
        find="        self.apply_actor(gradients)\n        self.update_targets()",
        replace="        self.update_targets()\n        self.apply_actor(gradients)",
        caught_by="composed.update",
        because="the target actor follows the actor of one update ago",
        sibling="torch",
        case="pendulum",
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
    Mutant(
        id="delay-frozen-by-tracing",
        find="        step = self._critic_step\n"
        "        if self.step % self.config.policy_delay == 0:\n"
        "            step = self._delayed_step\n"
        '        made: Tensors = step(*fields, draws["noise"])\n',
        replace="""
        def whole(observation: tf.Tensor, *others: tf.Tensor) -> Tensors:
            made = self._critic_links(observation, *others)
            if self.step % self.config.policy_delay == 0:
                made |= self._actor_links(observation)
            return made

        self._critic_step = getattr(self, "_whole", None) or self.compiled(whole)
        self._whole = self._critic_step
        made: Tensors = self._whole(*fields, draws["noise"])
""",
        caught_by="lockstep.update",
        because="one graph for the whole update: whether it is delayed is asked while tracing only",
        case="pendulum-xla",
        mode="xla",
        dtype="float32",
    ),
    Mutant(
        id="traced-anew-in-every-update",
        find="step = self._delayed_step",
        replace="step = self.compiled(self._delayed_links)",
        caught_by="lockstep.update",
        because="tf.function is made inside of the update: it traces each time",
        case="pendulum-xla",
        mode="xla",
        dtype="float32",
    ),
    Mutant(
        id="reference-larger-critic",
        find="smaller = np.where(q1 < q2, q1, q2)",
        replace="smaller = np.where(q1 < q2, q2, q1)",
        caught_by="chain.target",
        because="the reference itself takes the larger critic",
        sibling="reference",
        case="lunar-lander",
    ),
)

CONFIG = TD3Config(3, 2, (0.5, 2.0), (11, 7))

ERRORS = (
    batch_errors(CONFIG, noise=True)
    + draw_errors(CONFIG)
    + learner_errors(
        CONFIG,
        {
            "gamma-above-one": ({"gamma": 1.01}, r"gamma=1.01: must be in \[0, 1\]"),
            "negative-tau": ({"tau": -0.1}, "tau=-0.1"),
            "no-hidden-units": ({"hidden_sizes": (11, 0)}, r"hidden_sizes\[1\]=0"),
            "no-delay": ({"policy_delay": 0}, "policy_delay=0: must be at least 1"),
            "negative-noise": ({"policy_noise": -0.2}, "policy_noise=-0.2"),
            "negative-noise-clip": ({"noise_clip": -0.5}, "noise_clip=-0.5"),
            "infinite-learning-rate": (
                {"critic_learning_rate": float("inf")},
                "critic_learning_rate=inf",
            ),
            "clip-at-nan": ({"max_gradient_norm": float("nan")}, "max_gradient_norm=nan"),
        },
    )
)
